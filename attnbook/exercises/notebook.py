"""What a notebook calls: check, show_solution, summary."""

from __future__ import annotations

import dataclasses
import functools
import html
import os
from typing import Any

from attnbook.exercises import engine, get, report
from attnbook.exercises.exercise import Exercise, Outcome

_progress: dict[str, Outcome] = {}
_given: dict[int, tuple[str, Any]] = {}  # values handed back, by identity (kept alive here)


class CheckFailed(AssertionError):
    """Raised by `check` in strict mode; its text is the message a student reads."""


def strict() -> bool:
    """Strict mode: ATTNBOOK_STRICT is set, or nbgrader is executing the notebook."""
    return os.environ.get("ATTNBOOK_STRICT", "") not in ("", "0") or bool(
        os.environ.get("NBGRADER_EXECUTION")
    )


def check(exercise_id: str, candidate: Any, seed: int = 0, points: int | None = None) -> Any:
    """Say whether `candidate` solves the exercise, and if not, what is wrong and why.

    Returns the candidate if it is right, else the course's own, so that later cells work.
    An answer (a number or a choice) is always returned as it is.
    An assignment gives its own `seed` for the numbers, and its own `points`.
    Raises CheckFailed in strict mode (ATTNBOOK_STRICT=1) unless the exercise is passed.
    """
    exercise = _find(exercise_id)
    if exercise is None:
        return candidate
    if _was_given(candidate, exercise_id):
        return _rerun(exercise, candidate)
    exercise, _ = exercise.varied(seed)
    if points is not None:
        exercise = dataclasses.replace(exercise, points=points)
    outcome = engine.grade(exercise, candidate, seed)
    _progress[exercise_id] = outcome
    back = _handed_back(exercise, candidate, outcome)
    _show(report.bundle(outcome, handed_back=back is not candidate))
    if strict() and outcome.status != "passed":
        raise CheckFailed(outcome.message)
    return back


def show_solution(exercise_id: str) -> None:
    """Show the course's solution of an exercise."""
    exercise = _find(exercise_id)
    if exercise is None:
        return
    source = exercise.solution_source
    _show({"text/plain": source, "text/markdown": f"```python\n{source}\n```"})


def summary() -> None:
    """Show the verdict of every exercise checked in this notebook so far, and the points."""
    _show(report.summary_bundle(_progress))


def _find(exercise_id: Any) -> Exercise | None:
    """The exercise, or a sentence with the nearest ids where there is none."""
    if isinstance(exercise_id, str):
        try:
            return get(exercise_id)
        except KeyError as error:
            words = error.args[0]
    else:
        words = (
            "Write the exercise's name first, in quotation marks: "
            'check("softmax", softmax) or show_solution("softmax").'
        )
    _show({"text/plain": words, "text/html": f"<p>{html.escape(words)}</p>"})
    if strict():
        raise CheckFailed(words)
    return None


def _handed_back(exercise: Exercise, candidate: Any, outcome: Outcome) -> Any:
    if outcome.status == "passed" or exercise.kind == "answer":
        return candidate
    return _mark(exercise)


def _mark(exercise: Exercise) -> Any:
    """The reference, recognisable when it comes back."""
    reference = exercise.reference
    if exercise.kind == "class":
        return type(exercise.id, (reference,), {"__attnbook_given__": exercise.id})
    if exercise.kind == "function" or callable(reference):

        @functools.wraps(reference)
        def given(*args: Any, **kwargs: Any) -> Any:
            return reference(*args, **kwargs)

        given.__attnbook_given__ = exercise.id
        return given
    _given[id(reference)] = (exercise.id, reference)
    return reference


def _was_given(candidate: Any, exercise_id: str) -> bool:
    """Is this what an earlier check handed back? A subclass or wrapper is the reader's."""
    own = getattr(candidate, "__dict__", {})
    if own.get("__attnbook_given__") == exercise_id:
        return True
    return _given.get(id(candidate), (None, None))[0] == exercise_id


def _rerun(exercise: Exercise, candidate: Any) -> Any:
    """The check cell was run twice without the reader's own cell in between."""
    words = (
        f"○ Exercise {exercise.number} · {exercise.id}: run your own cell again first. "
        f"The name `{exercise.id}` still holds the course's own version from the last check."
    )
    _show({"text/plain": words, "text/html": f'<p class="attn-report attn-untried">{words}</p>'})
    if strict():
        raise CheckFailed(words)
    return candidate


def _show(bundle: dict[str, str]) -> None:
    """Display in a notebook, print elsewhere."""
    try:
        from IPython import get_ipython
        from IPython.display import publish_display_data
    except ImportError:
        get_ipython = None
    if get_ipython is None or get_ipython() is None or not hasattr(get_ipython(), "kernel"):
        print(bundle["text/plain"])
        return
    publish_display_data(bundle)
