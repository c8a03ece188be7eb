"""The commands `release` and `grade`."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from attnbook.assignments.assignment import Assignment, AssignmentError, choose, load, points_for


def add_release(parser: argparse.ArgumentParser) -> None:
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


def run_release(arguments: argparse.Namespace) -> int:
    """Write the student's notebook, the rubric and assignment.json."""
    from attnbook.assignments.release import release

    try:
        if not re.fullmatch(r"[\w.-]+", arguments.name):
            raise AssignmentError("--name may hold letters, digits, dots, hyphens, underscores.")
        chosen = choose(arguments.exercises)
        points = points_for(chosen, arguments.points)
        assignment = Assignment(arguments.name, points, arguments.variant, arguments.due)
        paths = release(assignment, arguments.out)
    except (AssignmentError, OSError) as error:
        return _refuse(error)
    for exercise in assignment.exercises():
        print(f"  {exercise.number:<6}{exercise.id:<34}{exercise.points:>3} points")
    print(
        f"{len(points)} exercises, {assignment.total} points, about {assignment.minutes} minutes."
    )
    print("Hand out   ", paths[0])
    print("Keep       ", paths[2], "(grading needs it) and", paths[1])
    return 0


def add_grade(parser: argparse.ArgumentParser) -> None:
    """Arguments of `grade`."""
    parser.add_argument(
        "submissions", type=Path, help="folder with one notebook or folder a student"
    )
    parser.add_argument(
        "--assignment", required=True, type=Path, metavar="DIR", help="what `release` wrote"
    )
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder for results")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="at once (default 2)")
    parser.add_argument(
        "--seed-file",
        type=Path,
        metavar="F",
        help="file with the secret number behind the cases (default: made once, OUT/seed.txt)",
    )
    parser.add_argument(
        "--roster",
        type=Path,
        metavar="CSV",
        help="Canvas or Moodle export of your course, to carry its ids into the import files",
    )
    parser.add_argument(
        "--seconds-per-cell", type=float, default=60.0, metavar="S", help="default 60"
    )
    parser.add_argument("--memory-gb", type=float, default=4.0, metavar="GB", help="default 4")
    parser.add_argument(
        "--trusted",
        action="store_true",
        help="grade without limits of memory, on a system that cannot set them",
    )


def run_grade(arguments: argparse.Namespace) -> int:
    """Grade a folder of submissions and write all the files."""
    from attnbook.assignments import exports, feedback
    from attnbook.assignments.grade import Graded, grade_folder, read_seed
    from attnbook.assignments.sandbox import Limits, can_limit

    out: Path = arguments.out
    try:
        if not arguments.submissions.is_dir():
            raise AssignmentError(f"There is no folder {arguments.submissions}.")
        if arguments.workers < 1:
            raise AssignmentError(f"--workers must be at least 1, got {arguments.workers}.")
        if not can_limit() and not arguments.trusted:
            raise AssignmentError(
                "This system cannot limit the memory and time of a submission. Grade on Linux or "
                "macOS, or say --trusted if you trust every submission to run on this machine."
            )
        assignment = load(arguments.assignment)
        roster = exports.read_roster(arguments.roster)
        out.mkdir(parents=True, exist_ok=True)
        seed = read_seed(arguments.seed_file, out)
    except (AssignmentError, OSError) as error:
        return _refuse(error)
    limits = Limits(
        seconds_per_cell=arguments.seconds_per_cell,
        memory_bytes=int(arguments.memory_gb * 1024**3),
        enforced=can_limit(),
    )

    def progress(graded: list[Graded], total: int) -> None:
        filled = 30 * len(graded) // total if total else 30
        print(
            f"\r[{'#' * filled}{'.' * (30 - filled)}] {len(graded)} of {total}",
            end="",
            file=sys.stderr,
            flush=True,
        )

    try:
        graded = grade_folder(
            arguments.submissions, assignment, out, seed, limits, arguments.workers, progress
        )
    except KeyboardInterrupt:
        print("\nInterrupted. The same command goes on where it stopped.", file=sys.stderr)
        return 130
    print(file=sys.stderr)
    exports.write_grades(out / "grades.csv", assignment, graded)
    exports.write_canvas(out / "canvas.csv", assignment, graded, roster)
    exports.write_moodle(out / "moodle.csv", assignment, graded, roster)
    feedback.write_pages(out, assignment, graded)
    mean = sum(one.points for one in graded) / len(graded) if graded else 0
    print(f"{len(graded)} submissions, {mean:.1f} of {assignment.total} points on average.")
    for name in ("grades.csv", "canvas.csv", "moodle.csv", "class.html", "feedback"):
        print(f"  {out / name}")
    if not graded:
        print(f"No notebook was found in {arguments.submissions}.", file=sys.stderr)
        return 1
    return 0


def _refuse(error: Exception) -> int:
    print(f"attnbook: {error}", file=sys.stderr)
    return 2
