"""A course of one short chapter, for the tests of the pipeline."""

from __future__ import annotations

from pathlib import Path

from attnbook.exercises import in_chapter

SLUG = "02-softmax"

MAP = """\
parts:
  - {number: 1, title: Similarity and weights}
chapters:
  - {number: 1, slug: 01-dot-products, title: Dot products, promise: p, part: 1, level: beginner,
     reading_minutes: 30, run_seconds: 5, needs: NumPy, prerequisites: [], status: planned}
  - {number: 2, slug: 02-softmax, title: Softmax, promise: p, part: 1, level: beginner,
     reading_minutes: 35, run_seconds: 5, needs: NumPy, prerequisites: [01-dot-products],
     status: ready}
  - {number: 3, slug: 03-soft-lookup, title: Soft look-up, promise: p, part: 1, level: beginner,
     reading_minutes: 30, run_seconds: 5, needs: NumPy, prerequisites: [02-softmax],
     status: planned}
"""

QUIZ = """\
questions:
  - id: largest
    question: Which weight of $(0, 1, 2)$ is the largest?
    choices:
      - {text: the first, reason: It belongs to the smallest score.}
      - {text: the last, reason: The exponential grows with the score.}
    compute: "(np.argmax([0, 1, 2]) == 2) + 1"
"""

HEAD = """\
---
kernelspec:
  name: python3
  display_name: Python 3 (ipykernel)
---

# Softmax

Scores become weights.

<!-- strip -->

+++

<details>
<summary>Think of it this way</summary>

A cake is shared.

</details>

```{code-cell} ipython3
---
tags: [setup]
---
import matplotlib.pyplot as plt
import numpy as np

from attnbook import check, summary
```

## Numbers

```{code-cell} ipython3
scores = np.array([0.0, 1.0, 2.0])
print(scores.sum())
```
"""

EXERCISE = """
<!-- exercise: {id} -->

Write it.

```{{code-cell}} ipython3
---
tags: [stub]
exercise: {id}
---
{stub}
```

```{{code-cell}} ipython3
---
tags: [check]
exercise: {id}
---
{id} = check("{id}", {id})
```

<!-- hints: {id} -->
"""

TAIL = """
The reader's function is used.

```{code-cell} ipython3
print(softmax(scores).round(2))
```

```{code-cell} ipython3
---
mystnb:
  image:
    alt: The last bar is the highest.
---
plt.bar(range(3), softmax(scores))
plt.show()
```

```{code-cell} ipython3
---
tags: [nbval-ignore-output]
---
drawn = np.random.default_rng().normal()
print(drawn)
assert abs(drawn) < 100
```

```{code-cell} ipython3
---
tags: [summary]
---
summary()
```

## Quiz

<!-- quiz -->

## Where next

<!-- where-next -->
"""


def chapter_text() -> str:
    exercises = [
        EXERCISE.format(id=exercise.id, stub=f"def {exercise.signature}:\n    return ...")
        for exercise in in_chapter(SLUG)
    ]
    return HEAD + "".join(exercises) + TAIL


def write_course(root: Path, url: str = "") -> Path:
    """Lay the sample course out in `root`; returns the chapter's source."""
    for folder in ("chapters", "quizzes", "solutions"):
        (root / "book" / folder).mkdir(parents=True)
    config = f'repository:\n  url: "{url}"\n  branch: main\n'
    (root / "_config.yml").write_text(config, encoding="utf-8")
    (root / "book" / "course.yml").write_text(MAP, encoding="utf-8")
    (root / "book" / "quizzes" / f"{SLUG}.yml").write_text(QUIZ, encoding="utf-8")
    source = root / "book" / "chapters" / f"{SLUG}.md"
    source.write_text(chapter_text(), encoding="utf-8")
    return source
