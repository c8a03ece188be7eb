"""Make an assignment of chosen exercises: a notebook to hand out, a rubric, and a file to keep.

python -m attnbook release --exercises softmax,2.2,chapter:3 --name hw1 --out hw1
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from attnbook.assignments.assignment import Assignment, AssignmentError, choose, counted, points_for


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `release`."""
    parser.add_argument(
        "--exercises",
        required=True,
        metavar="LIST",
        help="names, numbers and whole chapters, for example softmax,2.2,chapter:3",
    )
    parser.add_argument("--name", required=True, help="name of the assignment, for example hw3")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder to write to")
    parser.add_argument(
        "--points", default="", metavar="LIST", help="other points, for example softmax=3,2.2=1"
    )
    parser.add_argument("--due", default="", help="a date for the title, in any form you like")
    parser.add_argument(
        "--variant", type=int, default=0, metavar="SEED", help="other numbers in the checks"
    )


def run(options: argparse.Namespace) -> int:
    """Write the student's notebook, the rubric and assignment.json."""
    from attnbook.assignments.release import release

    try:
        if not re.fullmatch(r"[\w.-]+", options.name):
            raise AssignmentError(
                "--name may hold letters, digits, dots, hyphens and underscores; "
                f"got {options.name!r}."
            )
        if options.variant < 0:
            raise AssignmentError(f"--variant must be 0 or a number above; got {options.variant}.")
        chosen = choose(options.exercises)
        points = points_for(chosen, options.points)
        assignment = Assignment(options.name, points, options.variant, options.due)
        paths = release(assignment, options.out)
    except (AssignmentError, OSError) as error:
        print(f"attnbook: {error}", file=sys.stderr)
        return 2
    for exercise in assignment.exercises():
        print(f"  {exercise.number:<6}{exercise.id:<34}{counted(exercise.points, 'point'):>9}")
    parts = counted(len(points), "exercise"), counted(assignment.total, "point")
    print(f"{', '.join(parts)}, about {counted(assignment.minutes, 'minute')}.")
    print("Hand out   ", paths[0])
    print("Keep       ", paths[2], "(grading needs it) and", paths[1])
    return 0
