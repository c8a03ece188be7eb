"""Grade many mixed submissions and print how fast that is and how much memory it takes.

python tools/bench_grading.py [--submissions 100] [--workers 2]

Eight kinds in turn: solved, untouched, three with typical mistakes, half done, one that raises, and
(once in fifty) one that never ends. A hundred take a few minutes.
"""

from __future__ import annotations

import argparse
import copy
import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from attnbook.assignments.assignment import Assignment
from attnbook.assignments.grade import grade_folder
from attnbook.assignments.release import student_notebook
from attnbook.assignments.sandbox import Limits
from attnbook.exercises import get

NUMPY = ("softmax", "log_sum_exp", "disagreeing_vectors", "soft_lookup", "kernel_regression")
TORCH = ("batched_attention", "split_heads", "merge_heads", "attention_backward")
WRONG = {
    "softmax": "def softmax(scores, axis=-1):\n    e = np.exp(scores)\n    return e / e.sum()",
    "soft_lookup": "def soft_lookup(query, keys, values, temperature=1.0):\n    1 / 0",
    "merge_heads": "def merge_heads(x):\n    return x.reshape(x.shape[0], x.shape[2], -1)",
}
ENDLESS = "def softmax(scores, axis=-1):\n    while True:\n        pass"


def submissions(assignment: Assignment, count: int) -> Iterator[dict[str, Any]]:
    """Notebooks of the kinds above."""
    asked = list(assignment.points)
    right = {i: get(i).solution_source for i in asked}
    wrong = {i: text for i, text in WRONG.items() if i in asked}
    kinds = [right, {}, right | wrong, {i: right[i] for i in asked[: len(asked) // 2]}]
    kinds += [{**right, i: text} for i, text in wrong.items()]
    base = student_notebook(assignment)
    for number in range(count):
        answers = kinds[number % len(kinds)]
        if number % 50 == 49:
            answers = {**right, "softmax": ENDLESS}
        notebook = copy.deepcopy(base)
        for cell in notebook["cells"]:
            cell["source"] = answers.get(cell["id"], cell["source"])
        yield notebook


def measure(asked: tuple[str, ...], count: int, workers: int) -> None:
    assignment = Assignment("bench", {i: get(i).points for i in asked})
    with tempfile.TemporaryDirectory() as folder:
        hand_ins = Path(folder, "in")
        hand_ins.mkdir()
        for number, notebook in enumerate(submissions(assignment, count)):
            (hand_ins / f"student{number:03}.ipynb").write_text(json.dumps(notebook))
        start = time.perf_counter()
        limits = Limits(seconds_per_cell=10)
        graded = grade_folder(hand_ins, assignment, Path(folder, "out"), 1, limits, workers)
        span = time.perf_counter() - start
    mean = sum(one.points for one in graded) / len(graded)
    print(f"{len(graded)} submissions of {len(asked)} exercises, {workers} at once")
    print(f"{span:10.1f} s, {60 * count / span:.0f} a minute; {mean:.1f} points on average")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--submissions", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    measure(NUMPY, options.submissions // 2, options.workers)
    measure((*NUMPY, *TORCH), options.submissions - options.submissions // 2, options.workers)
    # Of all processes ended so far the largest; they are the submissions' and the two graders'.
    kilobytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(
        f"{kilobytes / 1024 / (1024 if sys.platform == 'darwin' else 1):10.0f} MB, largest process"
    )


if __name__ == "__main__":
    main()
