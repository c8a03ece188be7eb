"""Grades as files: our own table, and what Canvas and Moodle import.

Canvas matches rows by its own columns (Student, ID, SIS User ID, SIS Login ID, Section), which
only its gradebook export knows: give that file as the roster and the ids are carried over.
Moodle maps one identifying column and one grade column, chosen when the file is imported.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from attnbook.assignments.assignment import Assignment, AssignmentError
from attnbook.assignments.grade import Graded
from attnbook.assignments.submissions import canvas_number, moodle_number

CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
MOODLE = ("Username", "ID number", "Email address")


def write_grades(path: Path, assignment: Assignment, graded: Sequence[Graded]) -> None:
    """One row a student: points per exercise, the sum, mistakes and notes."""
    ids = list(assignment.points)
    rows = []
    for one in graded:
        points = [grade.points for grade in one.grades]
        wrong = [grade for grade in one.grades if grade.status in ("failed", "error")]
        mistakes = [f"{grade.exercise}: {grade.mistake or 'not recognised'}" for grade in wrong]
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
        person = find_person(one, roster)
        row = [person.get(column, "") for column in CANVAS]
        if not any(row):
            row = [one.student, canvas_number(one.path), "", "", ""]
            row[3] = "" if row[1] else one.student
        rows.append([*row, one.points])
    _write(path, [*CANVAS, _canvas_column(assignment, roster)], rows)


def _canvas_column(assignment: Assignment, roster: list[dict[str, str]]) -> str:
    """The assignment's column as Canvas's export heads it, "hw1 (1234)", else its name alone.

    A name without the number makes a new assignment in Canvas.
    """
    heads = list(roster[0]) if roster else []
    named = re.compile(rf"{re.escape(assignment.name)} \(\d+\)", re.I)
    return next((head for head in heads if named.fullmatch(head.strip())), assignment.name)


def write_moodle(
    path: Path, assignment: Assignment, graded: Sequence[Graded], roster: list[dict[str, str]]
) -> None:
    """Identifying columns, the grade, and feedback in a sentence."""
    rows = []
    for one in graded:
        person = find_person(one, roster)
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
        text = path.read_text(encoding="utf-8-sig")
        first = text.partition("\n")[0]
        comma = max(",;\t", key=first.count)  # Canvas and Moodle export by the user's language
        people = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=comma))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise AssignmentError(f"The roster {path} cannot be read ({error}).") from None
    known = [*CANVAS, *MOODLE, "Full name", "Identifier"]
    if people and not {str(head).strip() for head in people[0]} & {*known}:
        raise AssignmentError(f"The roster {path} has none of the columns {', '.join(known)}.")
    return [
        {key.strip(): (value or "").strip() for key, value in person.items() if key}
        for person in people
        if "Points Possible" not in (person.get("Student") or "")
    ]


def find_person(one: Graded, roster: list[dict[str, str]]) -> dict[str, str]:
    """The only row of the roster that fits the submission's name; nothing if two do, or none.

    A number that Canvas or Moodle put into the name decides; else the name, login, number or
    address, or the part of the address before the @.
    """
    moodle, canvas = moodle_number(one.path), canvas_number(one.path)
    tests = [
        lambda person: moodle and person.get("Identifier", "").split()[-1:] == [moodle],
        lambda person: canvas and person.get("ID") == canvas,
        lambda person: _plain(one.student) in _names(person),
        lambda person: _plain(one.student) == _plain(_address(person).partition("@")[0]),
    ]
    for test in tests:
        found = [person for person in roster if test(person)]
        if found:
            return found[0] if len(found) == 1 else {}
    return {}


def label(person: dict[str, str]) -> str:
    """What to call a person of the roster in a message."""
    full = person.get("Student") or person.get("Full name") or " ".join(_parts(person))
    return full or next((value for value in person.values() if value), "?")


def _names(person: dict[str, str]) -> set[str]:
    """All by which a file may name the person, without case, blanks and punctuation."""
    given_family = _parts(person)
    values = [person.get(column, "") for column in (*CANVAS[:-1], *MOODLE, "Full name")]
    values += [" ".join(given_family), " ".join(reversed(given_family))]
    values.append(" ".join(reversed(person.get("Student", "").split(",", 1))))  # Lee, Ada
    return {_plain(value) for value in values} - {""}


def _parts(person: dict[str, str]) -> list[str]:
    family = person.get("Last name") or person.get("Surname") or ""
    return [part for part in (person.get("First name", ""), family) if part]


def _address(person: dict[str, str]) -> str:
    return person.get("Email address", "") or person.get("SIS Login ID", "")


def _plain(text: str) -> str:
    return re.sub(r"[\W_]", "", text).casefold()


def _write(path: Path, header: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([_safe(cell) for cell in header])
        writer.writerows([[_safe(cell) for cell in row] for row in rows])


def _safe(cell: object) -> object:
    """A text that a spreadsheet would run as a formula gets a quotation mark in front."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in "=+-@\t\r" and cell else cell
