"""Find submissions and read them, whatever state they are in."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path

LARGEST_FILE = 50 * 1024 * 1024


@dataclass(frozen=True)
class Cell:
    """A code cell: its source, and the exercise its id or metadata speaks of, if any."""

    source: str
    exercise: str | None
    name: str  # shown in messages


@dataclass(frozen=True)
class Submission:
    """One student's notebook. `problem` says in a sentence why it cannot be read, if so."""

    student: str
    path: Path
    cells: tuple[Cell, ...] = ()
    problem: str = ""
    notes: tuple[str, ...] = field(default=())

    @property
    def fingerprint(self) -> str:
        """Changes when the file does."""
        try:
            return hashlib.sha256(self.path.read_bytes()).hexdigest()
        except OSError:
            return "unreadable"


def collect(folder: Path, exercise_ids: list[str]) -> list[Submission]:
    """All submissions below a folder, by student, each student once.

    STUDENT.ipynb, STUDENT/anything.ipynb, and the names that Moodle and Canvas give to downloads
    are understood. Of several notebooks of one student the newest counts, with a note.
    """
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*.ipynb")):
        if ".ipynb_checkpoints" in path.parts or not path.is_file():
            continue
        found.setdefault(student_of(path, folder), []).append(path)
    empty = [d for d in sorted(folder.iterdir()) if d.is_dir() and not any(d.rglob("*.ipynb"))]
    submissions = [
        Submission(student_of(d / "none.ipynb", folder), d, problem="there is no notebook in it")
        for d in empty
        if not d.name.startswith(".")
    ]
    for student, paths in found.items():
        newest = max(paths, key=lambda path: (path.stat().st_mtime, str(path)))
        notes = ()
        if len(paths) > 1:
            notes = (f"{len(paths)} notebooks were handed in; the newest, {newest.name}, counts.",)
        submissions.append(read(student, newest, exercise_ids, notes))
    return sorted(submissions, key=lambda submission: submission.student)


def student_of(path: Path, folder: Path) -> str:
    """The student's name as the file or folder names give it."""
    parts = path.relative_to(folder).parts
    name = parts[0] if len(parts) > 1 else path.stem
    moodle = re.match(r"(.+?)_\d+_assignsubmission_file", name)
    if moodle:
        return moodle.group(1)
    canvas = re.match(r"([a-z]+?)(?:_LATE)?_(\d+)_\d+_.+", name)
    return f"{canvas.group(1)}_{canvas.group(2)}" if canvas else name


def read(student: str, path: Path, exercise_ids: list[str], notes: tuple[str, ...]) -> Submission:
    """Read one notebook. Missing metadata, kernels and ids are no obstacle; broken JSON is."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            return Submission(student, path, problem="the file is larger than 50 MB", notes=notes)
        data = json.loads(path.read_text(encoding="utf-8", errors="replace"))
        raw = data["cells"]
        if not isinstance(raw, list):
            raise TypeError("cells is not a list")
    except ValueError as error:
        return Submission(student, path, problem=f"it is not valid JSON ({error})", notes=notes)
    except (KeyError, TypeError, RecursionError):
        return Submission(student, path, problem="it is JSON but not a notebook", notes=notes)
    except OSError as error:
        return Submission(student, path, problem=f"it cannot be read ({error})", notes=notes)
    cells = []
    for number, cell in enumerate(raw):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", "")
            source = "".join(map(str, source)) if isinstance(source, list) else str(source)
            cells.append(Cell(source, _exercise_of(cell, exercise_ids), f"cell {number + 1}"))
    if not cells:
        return Submission(student, path, problem="it has no code cell", notes=notes)
    return Submission(student, path, tuple(cells), notes=notes)


def _exercise_of(cell: dict, exercise_ids: list[str]) -> str | None:
    """The exercise whose stub this cell is: by its metadata, else by its id."""
    metadata = cell.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    named, tags = metadata.get("exercise"), metadata.get("tags") or []
    if named in exercise_ids and "check" not in tags:
        return named
    return cell.get("id") if cell.get("id") in exercise_ids else None
