"""Write book/instructors/exercises.md from the exercises themselves.

python tools/exercise_pages.py           bring the page up to date
python tools/exercise_pages.py --check   exit 1 when it is not
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from attnbook.assignments.assignment import counted  # noqa: E402
from attnbook.exercises import in_chapter  # noqa: E402
from attnbook.exercises.exercise import Exercise  # noqa: E402
from tools.course import Course  # noqa: E402

PAGE = ROOT / "book" / "instructors" / "exercises.md"
START = """# What each exercise tests

This page is written by `tools/exercise_pages.py` from the exercises themselves. For every exercise
it lists the promises that are put to the test, on numbers drawn anew for each grading, and the
mistakes that are recognised by name. A mistake that is not on the list is still rejected; the
student is then told what was tested, the smallest failing input, and what came out.
"""
LEVELS = {1: "easy", 2: "medium", 3: "hard"}


def page(course: Course) -> str:
    """The whole page."""
    parts = [START]
    for chapter in course.ready:
        exercises = in_chapter(chapter.slug)
        if exercises:
            points = sum(exercise.points for exercise in exercises)
            minutes = sum(exercise.minutes for exercise in exercises)
            link = f"[{chapter.name}](../../notebooks/{chapter.slug}.ipynb)"
            parts.append(f"## Chapter {chapter.number}\n\n{link}: "
                         f"{counted(len(exercises), 'exercise')}, {counted(points, 'point')}, "
                         f"about {minutes} minutes.\n")  # fmt: skip
            parts += [entry(exercise) for exercise in exercises]
    return "\n".join(parts)


def entry(exercise: Exercise) -> str:
    """One exercise: facts, promises, mistakes."""
    facts = (
        f"{LEVELS[exercise.difficulty].capitalize()}, {exercise.minutes} minutes, "
        f"{counted(exercise.points, 'point')}: {exercise.summary}."
    )
    lines = [f"### {exercise.heading}", "", facts, ""]
    if exercise.probes:
        lines += ["Put to the test:", "", *(f"- {probe.says}" for probe in exercise.probes), ""]
    named = counted(len(exercise.mistakes), "mistake")
    lines += [f"<details>\n<summary>Recognised by name: {named}</summary>", ""]
    lines += [*(f"- {mistake.name}" for mistake in exercise.mistakes), "", "</details>", ""]
    if exercise.vary:
        lines += ["`--variant` gives it other numbers.", ""]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only say whether it is up to date")
    check = parser.parse_args().check
    wanted = page(Course())
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == wanted:
        return 0
    if check:
        print(f"{PAGE.relative_to(ROOT)} is not up to date: python tools/exercise_pages.py")
        return 1
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(wanted, encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
