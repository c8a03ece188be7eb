"""Grades as files: our own table, and what Canvas and Moodle import.

Canvas matches rows by its own columns (Student, ID, SIS User ID, SIS Login ID, Section), which
only its gradebook export knows: give that file as the roster and the ids are carried over.
Moodle maps one identifying column and one grade column, chosen when the file is imported.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from attnbook.assignments.assignment import Assignment, AssignmentError
from attnbook.assignments.grade import Graded

CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
MOODLE = ("Username", "ID number", "Email address")


def write_grades(path: Path, assignment: Assignment, graded: Sequence[Graded]) -> None:
    """One row a student: points per exercise, the sum, mistakes and notes."""
    ids = list(assignment.points)
    rows = []
    for one in graded:
        points = [grade.points for grade in one.grades]
        mistakes = [f"{g.exercise}: {g.mistake}" for g in one.grades if g.mistake]
        notes = [*one.notes, *(f"{g.exercise}: {note}" for g in one.grades for note in g.notes)]
        cells = [one.student, *points, one.points, assignment.total]
        rows.append([*cells, "; ".join(mistakes), " ".join(notes)])
    _write(path, ["student", *ids, "points", "max_points", "mistakes", "notes"], rows)


def write_canvas(
    path: Path, assignment: Assignment, graded: Sequence[Graded], roster: list[dict[str, str]]
) -> None:
    """The columns of Canvas's gradebook import, with the points possible in the second row."""
    rows = [["    Points Possible", "", "", "", "", assignment.total]]
    for one in graded:
        person = _person(one.student, roster)
        row = [person.get(column, "") for column in CANVAS]
        if not any(row):
            row = [one.student, "", "", one.student, ""]
        rows.append([*row, one.points])
    _write(path, [*CANVAS, assignment.name], rows)


def write_moodle(
    path: Path, assignment: Assignment, graded: Sequence[Graded], roster: list[dict[str, str]]
) -> None:
    """Identifying columns, the grade, and feedback in a sentence."""
    rows = []
    for one in graded:
        person = _person(one.student, roster)
        row = [person.get(column, "") for column in MOODLE]
        if not any(row):
            row = [one.student, "", ""]
        said = "; ".join(f"{g.exercise} {g.points}/{g.max_points}" for g in one.grades)
        rows.append([*row, one.points, said])
    _write(path, [*MOODLE, assignment.name, f"{assignment.name} (feedback)"], rows)


def read_roster(path: Path | None) -> list[dict[str, str]]:
    """A list of students: a Canvas or Moodle export, or any table with the same column names.

    Raises AssignmentError when the file cannot be read or has none of those columns.
    """
    if path is None:
        return []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            people = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise AssignmentError(f"The roster {path} cannot be read ({error}).") from None
    if people and not set(people[0]) & {*CANVAS, *MOODLE}:
        known = ", ".join([*CANVAS, *MOODLE])
        raise AssignmentError(f"The roster {path} has none of the columns {known}.")
    return [{key: value or "" for key, value in person.items() if key} for person in people]


def _person(student: str, roster: list[dict[str, str]]) -> dict[str, str]:
    """The roster's row with this student's name, login, number or address in one of its fields.

    Canvas names a download lastfirst_ID_…: the name part and the number are both tried.
    """
    wanted = {student.casefold(), student.rpartition("_")[2].casefold()} - {""}
    for person in roster:
        fields = {person.get(column, "").strip().casefold() for column in (*CANVAS, *MOODLE)}
        fields -= {person.get("Section", "").strip().casefold(), ""}
        if wanted & fields:
            return person
    return {}


def _write(path: Path, header: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([_safe(cell) for cell in header])
        writer.writerows([[_safe(cell) for cell in row] for row in rows])


def _safe(cell: object) -> object:
    """A text that a spreadsheet would run as a formula gets a quotation mark in front."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in "=+-@\t\r" and cell else cell
