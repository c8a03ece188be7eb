"""The nouns of an exercise: what is asked, how it is probed, what is said about an answer."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np


@dataclass(frozen=True)
class Call:
    """One use of the candidate. Arrays are NumPy here; a torch exercise receives them as tensors.

    `how` names the way of using it (see run.py): "call", "gradient", "module", "value".
    `options` holds what that way needs beyond the arguments, as plain data.
    """

    args: tuple = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    how: str = "call"
    options: dict[str, Any] = field(default_factory=dict)

    def size(self) -> int:
        """Numbers in the largest argument: small calls make readable examples."""
        values = [*self.args, *self.kwargs.values()]
        return max((np.size(value) for value in values if value is not None), default=0)


@dataclass(frozen=True)
class Result:
    """What came of one call, as plain data: it can cross from one process to another."""

    value: Any = None  # NumPy arrays, numbers, strings, tuples of these
    kind: Any = "None"  # "array", "tensor", "number", "list", ... or a tuple of kinds
    error: str | None = None  # "ValueError: the sentence"
    line: str | None = None  # the line of the candidate that raised
    timed_out: bool = False
    printed: bool = False
    changed: tuple[str, ...] = ()  # names of the arguments it changed in place


@dataclass(frozen=True)
class Finding:
    """What a judge found wrong: a known mistake's name, what was tested, what to show."""

    mistake: str
    tested: str
    shown: tuple[tuple[str, Any], ...] = ()
    aspect: ClassVar[str] = "judged"  # beside the aspects of a Difference


@dataclass(frozen=True)
class Probe:
    """One promise, put to the test.

    `says` completes the sentence "Tested: ...". `calls(rng)` makes the inputs, small ones first.
    Right means: equal to the reference on every call, within `tolerance` (by dtype when None).
    `cause` and `read` are used when no known mistake explains the failure.
    `judge(call, value)` decides in place of the reference where a call has many right results.
    """

    name: str
    says: str
    calls: Callable[[np.random.Generator], list[Call]]
    tolerance: float | None = None
    cause: str | None = None
    read: str | None = None
    judge: Callable[[Call, Any], Finding | None] | None = None


@dataclass(frozen=True)
class Mistake:
    """A known wrong answer: an implementation (or value) that makes it, and what to say.

    Give `symptom(call, result)` where the wrong outputs are random or otherwise not comparable.
    """

    name: str
    wrong: Any
    says: str
    hint: str = ""
    read: str | None = None
    symptom: Callable[[Call, Result], bool] | None = None


@dataclass(frozen=True)
class Variant:
    """The same question with other numbers.

    `slots` maps texts of the prompt, each occurring there, to what they become; `solution` and
    `mistakes` are those of the new numbers.
    """

    slots: dict[str, str]
    solution: str
    mistakes: tuple[Mistake, ...]


@dataclass(frozen=True)
class Exercise:
    """Everything known about one exercise. `id` is the name of the function or variable asked for.

    number    as in its heading, "2.1"; chapter is the slug, "02-softmax"
    signature "softmax(scores, axis=-1)", or in words what an object or an answer must be
    summary   what it is about, in half a sentence; of an object or an answer, what was tested
    kind      "function", "class", "object" (judged by `judge`), "answer" (judged by value)
    solution  the function or class itself, or the source text of an object or an answer
    reference what is compared with and handed back; the solution unless `reference_` is given
    returns   names of what a function returns, for messages
    library   "numpy", or "torch" where arguments are tensors
    tolerance of an answer, relative and absolute; each probe of a function has its own
    read      heading of the chapter that teaches it; hints go from nudge to near-answer
    recover   reads (name, cause, hint) off failing calls that no known mistake explains, or None
    vary      the question with other numbers, drawn anew for each variant of an assignment
    """

    id: str
    number: str
    chapter: str
    signature: str
    summary: str
    difficulty: int
    minutes: int
    points: int
    solution: Any
    hints: tuple[str, str, str]
    read: str
    mistakes: tuple[Mistake, ...]
    kind: str = "function"
    probes: tuple[Probe, ...] = ()
    judge: Callable[[Any, np.random.Generator], Finding | None] | None = None
    reference_: Any = None
    returns: tuple[str, ...] = ()
    library: str = "numpy"
    tolerance: float = 1e-6
    recover: Callable[[Sequence[Call], Sequence[Result], Sequence[Result]], Any] | None = None
    vary: Callable[[np.random.Generator], Variant] | None = None

    def varied(self, seed: int) -> tuple[Exercise, dict[str, str]]:
        """The exercise with the numbers of a seed, and the slots to fill in its prompt.

        Seed 0 is the exercise as the chapter prints it; most exercises have no numbers to change
        (their cases are drawn from the seed in any case).
        """
        if seed == 0 or self.vary is None:
            return self, {}
        variant = self.vary(np.random.default_rng(seed))
        changes = {"solution": variant.solution, "mistakes": variant.mistakes}
        return dataclasses.replace(self, **changes), variant.slots

    @property
    def heading(self) -> str:
        """The heading that names the exercise everywhere."""
        return f"Exercise {self.number} · {self.id}"

    @functools.cached_property
    def reference(self) -> Any:
        """The right function, class or value."""
        if self.reference_ is not None:
            return self.reference_
        if not isinstance(self.solution, str):
            return self.solution
        scope: dict[str, Any] = {"np": np}
        exec(self.solution, scope)  # our own text, from this package
        return scope[self.id]

    @property
    def solution_source(self) -> str:
        """Source that, put in the stub's place, solves the exercise."""
        if isinstance(self.solution, str):
            return self.solution.strip()
        return textwrap.dedent(inspect.getsource(self.solution)).strip()

    def mistake_named(self, name: str) -> Mistake | None:
        """The known mistake of that name."""
        return next((mistake for mistake in self.mistakes if mistake.name == name), None)


@dataclass(frozen=True)
class Outcome:
    """The verdict on one candidate. `message` is what a student reads, in plain text."""

    exercise: Exercise
    status: str  # "not attempted" | "passed" | "failed" | "error"
    tested: str = ""
    shown: tuple[tuple[str, Any], ...] = ()  # the smallest failing input, by argument name
    expected: Any = None
    got: Any = None
    difference: str = ""  # one sentence: what differs
    mistake: str | None = None
    cause: str = ""
    hint: str = ""
    read: str = ""
    notes: Sequence[str] = ()

    @property
    def points(self) -> int:
        return self.exercise.points if self.status == "passed" else 0

    @property
    def max_points(self) -> int:
        return self.exercise.points

    @property
    def message(self) -> str:
        from attnbook.exercises import report

        return report.text(self)
