"""Find submissions and read them, whatever state they are in."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

LARGEST_FILE = 50 * 1024 * 1024
NOTEBOOK = r"\.ipynb(\.txt|\.json)?$"  # some browsers add an ending of their own
CANVAS = re.compile(r"([^\W_]+?)(_LATE)?_(\d+)_\d+_.")  # student, late or not, the user's number
OTHER_FILES = {".py", ".txt", ".json", ".html", ".pdf", ".docx", ".zip", ".gz", ".7z", ".rar"}


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
    are understood. Of several notebooks of one student the newest counts, with a note. Who handed
    in something else is listed too, with the reason.
    """
    notebooks: dict[str, list[Path]] = {}
    others: dict[str, list[Path]] = {}
    paths = [path for path in sorted(folder.rglob("*")) if not _hidden(path, folder)]
    names = _students(paths, folder)
    for path, student in names.items():
        if path.is_file() and re.search(NOTEBOOK, path.name, re.I):
            notebooks.setdefault(student, []).append(path)
        elif path.is_dir() or path.suffix.lower() in OTHER_FILES:
            others.setdefault(student, []).append(path)
    submissions = [
        Submission(student, paths[0], problem=_no_notebook(paths))
        for student, paths in others.items()
        if student not in notebooks
    ]
    for student, paths in notebooks.items():
        newest = max(paths, key=lambda path: (path.stat().st_mtime, str(path)))
        notes = []
        if len(paths) > 1:
            name = _readable(newest.name)
            notes = [f"{len(paths)} notebooks were handed in; the newest, {name}, counts."]
        canvas = CANVAS.match(newest.name)
        if canvas and canvas[2]:
            notes.append("Canvas marks it as late.")
        submissions.append(read(student, newest, exercise_ids, tuple(notes)))
    return sorted(submissions, key=lambda submission: submission.student)


def _hidden(path: Path, folder: Path) -> bool:
    parts = path.relative_to(folder).parts
    return any(part.startswith(".") or part == "__MACOSX" for part in parts)


def _no_notebook(paths: list[Path]) -> str:
    files = [_readable(path.name) for path in paths if not path.is_dir()]
    return "there is no notebook in it" + (f", but {', '.join(files[:5])}" if files else "")


def _students(paths: list[Path], folder: Path) -> dict[Path, str]:
    """The student of every path; two of one name, which Moodle numbers, are told apart."""
    names = {path: student_of(path, folder) for path in paths}
    numbers: dict[str, set[str]] = {}
    for path, name in names.items():
        numbers.setdefault(name, set()).add(moodle_number(path.relative_to(folder).as_posix()))
    return {
        path: f"{name} ({moodle_number(path.relative_to(folder).as_posix())})"
        if len(numbers[name]) > 1
        else name
        for path, name in names.items()
    }


def moodle_number(path: str) -> str:
    """The number by which Moodle's downloads tell participants apart, or nothing."""
    found = re.search(r"_(\d+)_assignsubmission_", path)
    return found.group(1) if found else ""


def canvas_number(path: str) -> str:
    """The user's number in the name that Canvas gives a download, or nothing."""
    found = CANVAS.match(Path(path).name)
    return found[3] if found else ""


def student_of(path: Path, folder: Path) -> str:
    """The student's name as the file or folder names give it."""
    parts = path.relative_to(folder).parts
    name = _readable(parts[0])
    if len(parts) == 1 and not path.is_dir():
        name = re.sub(rf"{NOTEBOOK}|\.[^.]*$", "", name, count=1, flags=re.I)
    moodle = re.match(r"(.+?)_\d+_assignsubmission_", name)
    if moodle:
        return moodle.group(1)
    canvas = CANVAS.match(name)
    return f"{canvas[1]}_{canvas[3]}" if canvas else name


def _readable(name: str) -> str:
    """A file's name with bytes that are no UTF-8, as some archives leave them, written out."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def read(student: str, path: Path, exercise_ids: list[str], notes: tuple[str, ...]) -> Submission:
    """Read one notebook. Missing metadata, kernels and ids are no obstacle; broken JSON is."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            return Submission(student, path, problem="the file is larger than 50 MB", notes=notes)
        data = json.loads(path.read_text(encoding="utf-8-sig", errors="replace"))
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
    named, tags = metadata.get("exercise"), metadata.get("tags")
    is_check = isinstance(tags, list) and "check" in tags
    if named in exercise_ids and not is_check:
        return named
    return cell.get("id") if cell.get("id") in exercise_ids else None
