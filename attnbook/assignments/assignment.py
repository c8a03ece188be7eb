"""An assignment: which exercises, how many points each, and the numbers that make it a variant."""

from __future__ import annotations

import dataclasses
import difflib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from attnbook.exercises import CHAPTERS, get, ids
from attnbook.exercises.exercise import Exercise

FILE_NAME = "assignment.json"


class AssignmentError(ValueError):
    """Something an instructor wrote cannot be used; the sentence says what was expected."""


@dataclass(frozen=True)
class Assignment:
    """What was released. It holds no solution and no secret, and may be shown to anyone."""

    name: str
    points: dict[str, int]  # exercise id -> points, in the order of the assignment
    variant: int = 0
    due: str = ""

    def exercises(self) -> list[Exercise]:
        """The exercises with this assignment's points and numbers."""
        return [
            dataclasses.replace(get(i).varied(self.variant)[0], points=p)
            for i, p in self.points.items()
        ]

    @property
    def total(self) -> int:
        return sum(self.points.values())

    @property
    def minutes(self) -> int:
        return sum(exercise.minutes for exercise in self.exercises())

    def save(self, folder: Path) -> Path:
        path = folder / FILE_NAME
        path.write_text(json.dumps(dataclasses.asdict(self), indent=2) + "\n", encoding="utf-8")
        return path


def counted(number: int, noun: str) -> str:
    """The number with its noun: "1 point", "2 points"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def load(path: Path) -> Assignment:
    """Read an assignment from its file, or from the folder that holds it.

    Raises AssignmentError with one sentence when there is none or it names an unknown exercise.
    """
    path = path / FILE_NAME if path.is_dir() else path
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        assignment = Assignment(**data)
        points = {str(i): int(p) for i, p in assignment.points.items()}
    except FileNotFoundError:
        raise AssignmentError(
            f"There is no {path}: give the folder that `release` wrote, or its {FILE_NAME}."
        ) from None
    except (ValueError, TypeError, AttributeError) as error:
        raise AssignmentError(f"{path} is not an assignment ({error}).") from None
    unknown = [i for i in points if i not in ids()]
    if unknown:
        raise AssignmentError(f"{path} names exercises this course does not have: {unknown}.")
    return dataclasses.replace(assignment, points=points)


def choose(wanted: str) -> list[str]:
    """Exercise ids from a list such as "softmax,7.4,chapter:9".

    Names, numbers and whole chapters may be mixed; each exercise comes once, in the order given.
    Raises AssignmentError naming the nearest exercise for a name that is not one.
    """
    chosen: list[str] = []
    for part in (part.strip() for part in wanted.split(",")):
        if part:
            chosen += [i for i in _resolve(part) if i not in chosen]
    if not chosen:
        raise AssignmentError("No exercise was named: write for example --exercises softmax,2.2.")
    return chosen


def _resolve(part: str) -> Iterable[str]:
    if part.startswith("chapter:"):
        number = part.removeprefix("chapter:")
        for slug, (_, names) in CHAPTERS.items():
            if number in (slug, slug.split("-")[0], str(int(slug.split("-")[0]))):
                return names
        have = ", ".join(str(int(slug.split("-")[0])) for slug in CHAPTERS)
        raise AssignmentError(f"There is no chapter {number!r} with exercises; there are: {have}.")
    if part in ids():
        return [part]
    for i in ids():
        if get(i).number == part:
            return [i]
    near = difflib.get_close_matches(part, ids(), n=3)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    raise AssignmentError(f"There is no exercise {part!r}.{hint}")


def points_for(chosen: list[str], wanted: str) -> dict[str, int]:
    """Points per exercise: the course's own, changed by a list such as "softmax=3,2.2=1".

    Raises AssignmentError for an exercise that is not in the assignment or a number below 0.
    """
    points = {i: get(i).points for i in chosen}
    for part in (part.strip() for part in wanted.split(",")):
        if not part:
            continue
        name, _, number = part.partition("=")
        if not number.strip().isdigit():
            raise AssignmentError(
                f"--points wants name=number with a whole number, such as softmax=3, got {part!r}."
            )
        for i in _resolve(name.strip()):
            if i not in points:
                raise AssignmentError(f"--points names {i}, which is not in the assignment.")
            points[i] = int(number)
    return points
