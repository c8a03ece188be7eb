"""Grade submissions: run each in a process of its own, judge its answers here."""

from __future__ import annotations

import ast
import concurrent.futures
import contextlib
import functools
import hashlib
import json
import re
import secrets
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from attnbook.assignments import given
from attnbook.assignments.assignment import Assignment, AssignmentError
from attnbook.assignments.sandbox import Ended, Limits, Sandbox
from attnbook.assignments.submissions import Cell, Submission, collect
from attnbook.exercises import engine, get, ids, report
from attnbook.exercises.exercise import Exercise, Outcome, Result

RESTARTS = 5  # a submission that keeps killing its process is given up after these


@dataclass
class Grade:
    """The verdict on one exercise of one student."""

    exercise: str
    status: str
    points: int
    max_points: int
    mistake: str | None
    message: str
    html: str
    notes: list[str] = field(default_factory=list)
    found_by_name: bool = False


@dataclass
class Graded:
    """The verdict on one submission."""

    student: str
    path: str
    fingerprint: str
    grades: list[Grade]
    notes: list[str]

    @property
    def points(self) -> int:
        return sum(grade.points for grade in self.grades)


def grade_submission(
    submission: Submission, assignment: Assignment, seed: int, limits: Limits
) -> Graded:
    """Grade one submission. Whatever it does, every exercise gets a verdict and a reason."""
    exercises = assignment.exercises()
    notes = list(submission.notes)
    if submission.problem:
        notes.append(f"The submission could not be graded: {submission.problem}.")
        grades = [_graded(Outcome(exercise, "not attempted"), []) for exercise in exercises]
    else:
        runner = _Runner(submission, assignment, limits)
        try:
            by_id = {
                exercise.id: runner.grade(exercise, _seed_for(seed, exercise.id))
                for exercise in _foundations_first(exercises)
            }
        finally:
            runner.close()
        grades = [by_id[exercise.id] for exercise in exercises]
        notes += _by_name(grades) + runner.notes
    return Graded(submission.student, str(submission.path), submission.fingerprint, grades, notes)


def _foundations_first(exercises: list[Exercise]) -> list[Exercise]:
    """Each exercise after those of the assignment that it builds on."""
    by_id = {exercise.id: exercise for exercise in exercises}
    in_course_order = sorted(exercises, key=lambda exercise: ids().index(exercise.id))
    order = [i for e in in_course_order for i in [*given.needed(e), e.id] if i in by_id]
    return [by_id[i] for i in dict.fromkeys(order)]


@functools.cache
def _same_question(one: str, other: str) -> bool:
    """Does the course's answer to one exercise answer the other too? Then it is not lent for it."""
    return engine.grade(get(other), get(one).reference).status == "passed"


def _by_name(grades: list[Grade]) -> list[str]:
    """One note for all exercises whose cell was known by the name it defines only."""
    names = [grade.exercise for grade in grades if grade.found_by_name]
    if not names:
        return []
    return [f"Found by name, for the ids of the cells are missing or changed: {', '.join(names)}."]


class _Runner:
    """Keeps one submission running, starting it again without the cell that killed it."""

    def __init__(self, submission: Submission, assignment: Assignment, limits: Limits):
        self.cells = list(submission.cells)
        self.ids = list(assignment.points)
        self.libraries = tuple(sorted({get(i).library for i in self.ids} | {"numpy"}))
        self.limits = limits
        self.notes: list[str] = []
        self.sandbox: Sandbox | None = None
        self.starts = 0
        self.skipped: set[int] = set()
        self.defined: dict[int, list[str]] = {}
        self.graded: set[str] = set()
        self.passed: dict[str, str] = {}  # exercise -> the name its code has in the notebook
        self.lent = False

    def close(self) -> None:
        if self.sandbox:
            self.sandbox.close()

    def grade(self, exercise: Exercise, seed: int) -> Grade:
        names, notes, by_name = [exercise.id], [], False
        try:
            self._start()
            names, notes, by_name = self._names(exercise)
            lent = self._lend(exercise)
            about = self._ask("describe", exercise, names)
            if about["kind"] == "unfinished" and not self._mentioned(exercise):
                return _ungraded(exercise, "No cell of this exercise was found in the notebook.")

            def ask(call: Any) -> Result:
                return self._ask("use", exercise, names, call=call)

            outcome = engine.grade_with(exercise, about, ask, seed)
            if lent and outcome.status != "not attempted":
                words = ", ".join(lent)
                notes.append(f"Tested with the course's own {words}: yours did not pass.")
        except Ended as ended:
            self.sandbox = None
            sentence = f"While it was being tested, {ended}."
            outcome = Outcome(exercise, "error", difference=sentence, mistake="ends its process")
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            # What came over the pipe is data from an untrusted process and may be anything.
            sentence = f"What it answered could not be read ({type(error).__name__})."
            outcome = Outcome(exercise, "error", difference=sentence, mistake="unreadable answer")
        finally:
            self.graded.add(exercise.id)
        if outcome.status == "passed":
            self.passed[exercise.id] = names[0]
        return _graded(outcome, notes, by_name and outcome.status != "not attempted")

    def _lend(self, exercise: Exercise) -> list[str]:
        """Put the course's own in place of what this exercise builds on and the student got wrong.

        A check in the notebook does the same, so one mistake costs one exercise. Only exercises
        whose grade is settled are lent. Returns those that this exercise's code mentions.
        """
        said = " ".join(c.source for c in self.cells if self._belongs(c, exercise))
        mentioned = {i for i in self.graded if re.search(rf"\b{i}\b", said)}
        built_on = given.needed(exercise)
        earlier = [i for i in ids()[: ids().index(exercise.id)] if i in mentioned]
        under = [i for i in built_on if i in self.graded]
        under += [i for i in earlier if i not in under and not _same_question(i, exercise.id)]
        wrong = [i for i in under if i not in self.passed]
        names = {i: i for i in wrong}
        names |= {i: self.passed[i] for i in under if self.passed.get(i, i) != i}  # renamed ones
        if not names and not self.lent:
            return []
        self.lent = bool(names)
        below = {name: None for i in wrong for name in [*given.needed(get(i)), i]}
        lines = given.imports([get(name) for name in below]) if below else []
        source = "\n".join(lines) + "\n\n\n" + given.source(below)
        message = {"do": "lend", "source": source, "names": names, "seconds": 60}
        self.sandbox.ask(message, 65)
        return [i for i in wrong if i in mentioned]

    def _ask(self, do: str, exercise: Exercise, names: list[str], **more: Any) -> Any:
        message = {"do": do, "exercise": exercise.id, "names": names, "library": exercise.library}
        return self.sandbox.ask({**message, **more}, self.limits.seconds_per_cell)

    def _start(self) -> None:
        """Make sure a process is running with all the cells run that can be."""
        while self.sandbox is None:
            if self.starts > RESTARTS:
                raise Ended("the notebook ended its process again and again")
            self.starts += 1
            self.sandbox = Sandbox(self.limits, self.libraries)
            self.lent = False
            self.defined = {}
            failed = self._run([n for n in range(len(self.cells)) if n not in self.skipped])
            if self.sandbox and failed:  # a cell may need names that a later cell defines
                failed = self._run(failed)
            if self.sandbox and self.starts == 1 + len(self.skipped):
                self.notes += [f"{self.cells[n].name} stopped: {e}." for n, e in failed.items()]

    def _run(self, numbers: Any) -> dict[int, str]:
        """Run cells in order; {number: error} of those that stopped for a missing name or other."""
        failed: dict[int, str] = {}
        for number in numbers:
            cell = self.cells[number]
            message = {
                "do": "cell",
                "source": _plain_python(cell.source),
                "name": f"<{cell.name}>",
                "seconds": self.limits.seconds_per_cell,
            }
            try:
                reply = self.sandbox.ask(message, self.limits.seconds_per_cell + 5)
                error, defined = reply["error"], [str(name) for name in reply["defined"]]
            except Ended as ended:
                self.skipped.add(number)
                self.notes.append(f"{cell.name} was left out: {ended}.")
                self.sandbox = None
                return {}
            self.defined[number] = defined
            if error:
                failed[number] = str(error)[:300]
        return failed

    def _names(self, exercise: Exercise) -> tuple[list[str], list[str], bool]:
        """Where to look for the candidate, what to tell about it, and was only its name known?"""
        own = [n for n, cell in enumerate(self.cells) if cell.exercise == exercise.id]
        notes = []
        if len(own) > 1:
            notes.append(
                f"The cell of {exercise.id} appears {len(own)} times; the last one counts."
            )
        everywhere = {name for names in self.defined.values() for name in names}
        for number in reversed(own):
            here = self.defined.get(number, [])
            if exercise.id in here:
                return [exercise.id], notes, False
            renamed = _functions(self.cells[number], here)
            if len(renamed) == 1 and exercise.id not in everywhere:
                return (
                    renamed,
                    [*notes, f"Found as {renamed[0]}, in the cell of {exercise.id}."],
                    False,
                )
        return [exercise.id], notes, exercise.id in everywhere

    def _mentioned(self, exercise: Exercise) -> bool:
        """Does some cell belong to the exercise or define its name?"""
        return any(self._belongs(cell, exercise) for cell in self.cells)

    def _belongs(self, cell: Cell, exercise: Exercise) -> bool:
        defines = re.compile(rf"^(def|class)\s+{exercise.id}\b|^{exercise.id}\s*=", re.M)
        return cell.exercise == exercise.id or bool(defines.search(cell.source))


def _functions(cell: Cell, defined: list[str]) -> list[str]:
    """Names the cell defines by def or class at its left margin."""
    return [name for name in defined if re.search(rf"^(def|class) {name}\b", cell.source, re.M)]


PYTHON_CELLS = ("%%time", "%%timeit", "%%capture", "%%prun", "%%memit", "%%ipytest")


def _plain_python(source: str) -> str:
    """Python that does what the cell does, with magics and shell lines doing nothing."""
    lines = source.lstrip("\n").splitlines()
    if lines and lines[0].startswith("%%"):
        if lines[0].split()[0] not in PYTHON_CELLS:
            return ""  # another language, or a file to write
        source = "\n".join(["", *lines[1:]])
    if _is_python(source):
        return source  # a line of it may well begin with %
    with contextlib.suppress(Exception):  # its parser may stumble over anything
        from IPython.core.inputtransformer2 import TransformerManager

        return TransformerManager().transform_cell(source)
    return source


def _is_python(source: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as an invalid escape in the student's text
            ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _seed_for(seed: int, exercise_id: str) -> int:
    """The same for all students, different for every exercise."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{exercise_id}".encode()).digest()[:6], "big")


def _ungraded(exercise: Exercise, sentence: str) -> Grade:
    return _graded(Outcome(exercise, "not attempted"), [sentence])


def _graded(outcome: Outcome, notes: list[str], found_by_name: bool = False) -> Grade:
    bundle = report.bundle(outcome)
    return Grade(
        outcome.exercise.id,
        outcome.status,
        outcome.points,
        outcome.max_points,
        outcome.mistake,
        bundle["text/plain"],
        bundle["text/html"],
        notes,
        found_by_name,
    )


# --- a batch ------------------------------------------------------------------------------------


def read_seed(path: Path | None, out: Path) -> int:
    """The secret number behind the cases: from a file, else made once and kept in `out`.

    A file that holds something else than digits is a number too. Raises AssignmentError when it is
    empty.
    """
    path = path or out / "seed.txt"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{secrets.randbits(62)}\n", encoding="utf-8")
    secret = path.read_bytes().strip()
    if not secret:
        raise AssignmentError(f"{path} is empty; it must hold the secret number behind the cases.")
    return int(secret) if secret.isdigit() else int.from_bytes(hashlib.sha256(secret).digest()[:7])


def grade_folder(
    folder: Path,
    assignment: Assignment,
    out: Path,
    seed: int,
    limits: Limits,
    workers: int = 1,
    progress: Callable[[list[Graded], int], None] = lambda graded, total: None,
) -> list[Graded]:
    """Grade every submission below `folder`. Finished ones are kept in `out` and not done again."""
    submissions = collect(folder, list(assignment.points))
    keep = out / "submissions"
    keep.mkdir(parents=True, exist_ok=True)
    key = hashlib.sha256(json.dumps([asdict(assignment), seed]).encode()).hexdigest()
    graded: list[Graded] = []
    waiting = []
    for submission in submissions:
        kept = _kept(keep, submission, key)
        if kept:
            graded.append(kept)
        else:
            waiting.append(submission)
    progress(graded, len(submissions))
    with concurrent.futures.ProcessPoolExecutor(workers) as pool:
        jobs = {
            pool.submit(grade_submission, submission, assignment, seed, limits): submission
            for submission in waiting
        }
        try:
            for job in concurrent.futures.as_completed(jobs):
                graded.append(_result(job, jobs[job], assignment))
                if job.exception() is None:  # else the next run tries again
                    _keep(keep, graded[-1], key)
                progress(graded, len(submissions))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return sorted(graded, key=lambda one: one.student)


def _result(job: Any, submission: Submission, assignment: Assignment) -> Graded:
    """A submission never takes the batch down with it, even by a fault of the grader's own."""
    try:
        return job.result()
    except Exception as error:
        note = f"The grader failed on it ({type(error).__name__}: {error}); look at it by hand."
        grades = [_ungraded(exercise, note) for exercise in assignment.exercises()]
        return Graded(
            submission.student, str(submission.path), submission.fingerprint, grades, [note]
        )


def _file(keep: Path, student: str) -> Path:
    safe = re.sub(r"[^\w.-]", "_", student)[:80]
    return keep / f"{safe}-{hashlib.sha256(student.encode()).hexdigest()[:8]}.json"


def _keep(keep: Path, graded: Graded, key: str) -> None:
    path = _file(keep, graded.student)
    partial = path.with_suffix(".part")
    partial.write_text(json.dumps({"key": key, **asdict(graded)}, indent=1), encoding="utf-8")
    partial.replace(path)  # an interruption leaves the old file or the new one, never half of one


def _kept(keep: Path, submission: Submission, key: str) -> Graded | None:
    """What an earlier run found, if submission, assignment and seed are still the same."""
    try:
        data = json.loads(_file(keep, submission.student).read_text(encoding="utf-8"))
        if data.pop("key") != key or data["fingerprint"] != submission.fingerprint:
            return None
        return Graded(**{**data, "grades": [Grade(**grade) for grade in data["grades"]]})
    except (OSError, ValueError, KeyError, TypeError):
        return None
