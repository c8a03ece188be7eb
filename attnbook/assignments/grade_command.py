"""Grade a folder of submissions: grades.csv, files for Canvas and Moodle, feedback pages.

    python -m attnbook grade submissions --assignment hw1 --out hw1-grades

Each submission runs in a process of its own, with limits of time and memory, that never holds an
expected value. An interrupted run goes on where it stopped when the command is given again.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from attnbook.assignments import exports, feedback
from attnbook.assignments.assignment import AssignmentError, counted, load
from attnbook.assignments.grade import Graded, grade_folder, read_seed
from attnbook.assignments.sandbox import Limits, can_limit
from attnbook.progress import progress_bar


def add_arguments(parser: argparse.ArgumentParser) -> None:
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


def run(options: argparse.Namespace) -> int:
    """Grade a folder of submissions and write all the files."""
    out: Path = options.out
    try:
        if not options.submissions.is_dir():
            raise AssignmentError(f"There is no folder {options.submissions}.")
        numbers = (options.workers, options.seconds_per_cell, options.memory_gb)
        if min(numbers) <= 0:
            raise AssignmentError(
                "--workers, --seconds-per-cell and --memory-gb must be above 0; got "
                f"{numbers[0]}, {numbers[1]:g} and {numbers[2]:g}."
            )
        if not can_limit() and not options.trusted:
            raise AssignmentError(
                "This system cannot limit the memory and time of a submission. Grade on Linux or "
                "macOS, or say --trusted if you trust every submission to run on this machine."
            )
        assignment = load(options.assignment)
        roster = exports.read_roster(options.roster)
        if options.submissions.resolve() in (out.resolve(), *out.resolve().parents):
            raise AssignmentError(
                f"--out {out} lies in the folder of submissions, where everything is taken for a "
                "student's: choose a folder elsewhere."
            )
        out.mkdir(parents=True, exist_ok=True)
        seed = read_seed(options.seed_file, out)
    except (AssignmentError, OSError) as error:
        print(f"attnbook: {error}", file=sys.stderr)
        return 2
    limits = Limits(
        seconds_per_cell=options.seconds_per_cell,
        memory_bytes=int(options.memory_gb * 1024**3),
        enforced=can_limit(),
    )

    try:
        with progress_bar(unit="submission", file=sys.stderr) as bar:

            def progress(graded: list[Graded], total: int) -> None:
                bar.total = total
                bar.update(len(graded) - bar.n)

            folder, workers = options.submissions, options.workers
            graded = grade_folder(folder, assignment, out, seed, limits, workers, progress)
    except KeyboardInterrupt:
        print("Interrupted. The same command goes on where it stopped.", file=sys.stderr)
        return 130
    try:
        exports.write_grades(out / "grades.csv", assignment, graded)
        exports.write_canvas(out / "canvas.csv", assignment, graded, roster)
        exports.write_moodle(out / "moodle.csv", assignment, graded, roster)
        feedback.write_pages(out, assignment, graded)
    except OSError as error:
        print(
            f"attnbook: {error}. Is it open in another program? What is graded is kept: close it "
            "and give the command again.",
            file=sys.stderr,
        )
        return 2
    mean = sum(one.points for one in graded) / len(graded) if graded else 0
    print(
        f"{counted(len(graded), 'submission')}, {mean:.1f} of {assignment.total} points on average."
    )
    for name in ("grades.csv", "canvas.csv", "moodle.csv", "class.html", "feedback"):
        print(f"  {out / name}")
    if roster:
        _compare(graded, roster)
    if not graded:
        print(f"No notebook was found in {options.submissions}.", file=sys.stderr)
        return 1
    return 0


def _compare(graded: list[Graded], roster: list[dict[str, str]]) -> None:
    """Say who is in the roster without a submission, and the other way round."""
    found = [exports.find_person(one, roster) for one in graded]
    missing = [exports.label(person) for person in roster if person not in found]
    unknown = [one.student for one, person in zip(graded, found, strict=True) if not person]
    if missing:
        print("In the roster, and nothing handed in:", "; ".join(missing))
    if unknown:
        print("Not in the roster, or there twice (match them by hand):", "; ".join(unknown))
