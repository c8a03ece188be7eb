"""Grade a candidate: plan the inputs, use the candidate, judge what came.

Only `use` (run.py) touches the candidate. `plan` and `judge` never do, so the middle step can move
to another process without the expected values going with it.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnbook.exercises import facts
from attnbook.exercises.compare import Difference, alike, article, difference
from attnbook.exercises.exercise import (
    Call,
    Exercise,
    Finding,
    Mistake,
    Outcome,
    Probe,
    Result,
)
from attnbook.exercises.run import describe, unfinished, use

SMALL = 9  # numbers in an example that is shown whole
# What an exercise's own judge, symptom or recovery runs into when it reads a result that makes no
# sense. That must not cost the student a verdict.
STUMBLES = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError)

REPEAT = Probe(
    "two calls agree",
    "calling it twice with the same input gives the same result",
    lambda rng: [],
    cause="The result changes from call to call: something random, or something remembered from "
    "an earlier call, is at work.",
)


@dataclass(frozen=True)
class Trial:
    """One call, and the probe it belongs to."""

    probe: Probe
    call: Call


def plan(exercise: Exercise, seed: int) -> list[Trial]:
    """The calls an exercise makes, in order; the same for the same seed."""
    if exercise.kind in ("object", "answer"):
        return [Trial(Probe("value", exercise.summary, lambda rng: []), Call(how="value"))]
    trials = []
    for probe in exercise.probes:
        rng = np.random.default_rng([seed, zlib.crc32(f"{exercise.id}/{probe.name}".encode())])
        trials += [Trial(probe, call) for call in probe.calls(rng)]
    first = trials[0].probe
    repeat = dataclasses.replace(REPEAT, tolerance=first.tolerance, judge=first.judge)
    return [*trials, Trial(repeat, trials[0].call)]


def answer(ask: Callable[[Call], Result], trials: Sequence[Trial]) -> list[Result]:
    """Ask for the result of every call; stops at the first that does not end or is unfinished."""
    results: list[Result] = []
    for trial in trials:
        results.append(ask(trial.call))
        if results[-1].timed_out or unfinished(results[-1].kind):
            break
    return results


def judge(
    exercise: Exercise, trials: Sequence[Trial], results: Sequence[Result], seed: int
) -> Outcome:
    """The verdict on the results of a candidate (which is not needed any more)."""
    if results and unfinished(results[0].kind):
        return Outcome(exercise, "not attempted")
    if exercise.kind in ("object", "answer"):
        return _judge_value(exercise, results[0], seed)
    expected = [use(exercise.reference, t.call, exercise.library) for t in trials[: len(results)]]
    differences = [
        _wrong_with(exercise, trial, got, want)
        for trial, got, want in zip(trials, results, expected, strict=False)
    ]
    wrong = [n for n, found in enumerate(differences) if found]
    if not wrong:
        printed = any(result.printed for result in results)
        return Outcome(exercise, "passed", notes=(_PRINTS,) if printed else ())
    return _explain(exercise, trials, results, expected, differences, wrong)


def _wrong_with(
    exercise: Exercise, trial: Trial, got: Result, want: Result
) -> Difference | Finding | None:
    """How a result departs from the reference, or what the probe's judge finds where it has one."""
    found = difference(got, want, _returned(exercise, trial.call), trial.probe.tolerance)
    if trial.probe.judge is None or found is None or found.aspect in ("error", "time", "nothing"):
        return found
    try:
        with np.errstate(all="ignore"):
            finding = trial.probe.judge(trial.call, got.value)
    except STUMBLES:
        wanted = f"({', '.join(exercise.returns)})" if exercise.returns else exercise.summary
        return Difference("type", f"It returned {article(got.kind)}; expected {wanted}.")
    unchanged = dataclasses.replace(got, changed=())
    return finding or difference(got, unchanged)  # right: then only an argument may have suffered


def _returned(exercise: Exercise, call: Call) -> tuple[str, ...]:
    """Names of what a call gives back: a gradient call gives a gradient for each argument."""
    if call.how != "gradient":
        return exercise.returns
    names = _names(exercise.signature)
    return tuple(f"gradient of {names[index]}" for index in call.options["of"])


_PRINTS = "Your code prints while it works; the check kept that off the page."


def grade(exercise: Exercise, candidate: Any, seed: int = 0) -> Outcome:
    """Plan, use and judge in this process."""
    return grade_with(
        exercise, describe(candidate), lambda call: use(candidate, call, exercise.library), seed
    )


def grade_with(
    exercise: Exercise, about: dict[str, Any], ask: Callable[[Call], Result], seed: int
) -> Outcome:
    """Plan and judge here; `ask` uses the candidate, wherever it lives; `about` describes it."""
    misuse = _misuse(exercise, about)
    if misuse:
        return misuse
    trials = plan(exercise, seed)
    outcome = judge(exercise, trials, answer(ask, trials), seed)
    if about["globals"] and outcome.status in ("failed", "error") and outcome.mistake is None:
        listed = ", ".join(f"`{name}`" for name in about["globals"])
        outcome = dataclasses.replace(
            outcome,
            mistake="depends on a notebook variable",
            cause=f"Your code reads {listed} from the notebook instead of from its arguments, so "
            "it cannot follow when the arguments change.",
        )
    return outcome


def _misuse(exercise: Exercise, about: dict[str, Any]) -> Outcome | None:
    """What was handed over is not the kind of thing asked for."""
    kind, name = about["kind"], exercise.id

    def no(what: str, hint: str, mistake: str) -> Outcome:
        tested = "what you handed to the check"
        return Outcome(exercise, "error", tested, difference=what, hint=hint, mistake=mistake)

    if exercise.kind in ("object", "answer"):
        return None
    if kind == "unfinished":
        return Outcome(exercise, "not attempted")
    given = article(about["type"])
    if exercise.kind == "class" and kind != "class":
        return no(
            f"The check was handed {given}; it needs the class `{name}` itself.",
            f'Write `check("{name}", {name})`, without parentheses after the name.',
            "not a class",
        )
    if exercise.kind == "function" and kind == "class":
        return no(
            f"`{about['name']}` is a class; this exercise asks for a function.",
            f"Begin with `def {exercise.signature}:`.",
            "class instead of function",
        )
    if exercise.kind == "function" and kind == "value":
        return no(
            f"The check was handed {given}; it needs the function itself.",
            f'Write `check("{name}", {name})`, without calling it.',
            "result instead of function",
        )
    return None


def _explain(exercise, trials, results, expected, differences, wrong) -> Outcome:
    first = wrong[0]
    found: Difference | Finding = differences[first]
    if isinstance(found, Finding):
        return _from_finding(exercise, found, _shown(exercise, trials[first].call))
    probe: Probe = trials[first].probe
    # The example: the smallest failing call of the same probe; of any probe if that one is large.
    same = [n for n in wrong if trials[n].probe is probe]
    example = min(same, key=lambda n: trials[n].call.size())
    if trials[example].call.size() > SMALL:
        alike_found = [n for n in wrong if differences[n].aspect == found.aspect]
        example = min(alike_found, key=lambda n: trials[n].call.size())
        probe = trials[example].probe
    found = differences[example]
    name, cause, hint, read = _diagnose(
        exercise, trials, results, expected, differences, wrong, probe, found
    )
    return Outcome(
        exercise,
        "error" if found.aspect in ("error", "time") else "failed",
        probe.says,
        _shown(exercise, trials[example].call),
        expected[example].value,
        results[example].value,
        found.sentence,
        name,
        cause,
        hint or exercise.hints[0],
        read or exercise.read,
    )


def _diagnose(exercise, trials, results, expected, differences, wrong, probe, found):
    """(name, cause, hint, read): known mistake, then what the failure itself says, then facts."""
    late = all(differences[n].aspect in ("dtype", "type") for n in wrong)
    mistake = None if late else _recognise(exercise, trials, results, expected, differences)
    if mistake:
        return mistake.name, mistake.says, mistake.hint, mistake.read
    if found.aspect == "error":
        name, cause, hint = _about_error(results[wrong[0]].error or "", exercise)
        return name, probe.cause if not cause and probe.cause else cause, hint, probe.read
    fact = _recovered(exercise, trials, results, expected, differences, probe, found.aspect)
    if fact:
        return (*fact, probe.read)
    if found.aspect in _GENERAL:
        name, cause = _GENERAL[found.aspect]
        hint = _GENERAL_HINTS.get(found.aspect, "")
        if found.aspect == "dtype" and exercise.library == "torch":
            cause, hint = _TORCH_DTYPE
        if probe.name == "dtype" and probe.cause:  # the exercise knows its own trap better
            cause = probe.cause
        return name, cause, hint, probe.read
    # Only this probe's calls: a fact about the first failure need not hold for later ones.
    same = [n for n in wrong if trials[n].probe is probe and differences[n].aspect in _NUMERIC]
    failing = (
        [trials[n].call for n in same],
        [results[n] for n in same],
        [expected[n] for n in same],
    )
    fact = facts.recover(*failing)
    if fact:
        return (*fact, "", probe.read)
    return None, probe.cause or "", "", probe.read


def _recovered(exercise, trials, results, expected, differences, probe, aspect):
    """What the exercise itself can read off the calls of a probe that fail in the same way."""
    same = [
        n
        for n, found in enumerate(differences)
        if found and found.aspect == aspect and trials[n].probe is probe
    ]
    if exercise.recover is None or not same:
        return None
    found = [[values[n] for n in same] for values in (results, expected)]
    try:
        return exercise.recover([trials[n].call for n in same], *found)
    except STUMBLES:
        return None


_NUMERIC = ("value", "shape", "nan")
_GENERAL = {
    "time": ("never ends", "A loop whose condition stays true, or far too much work."),
    "nothing": ("returns nothing", "A function without `return` gives back None."),
    "changed": (
        "changes its input",
        "An operation such as `x -= …` or `x[...] = …` writes into the caller's array. "
        "Make a new array, or copy first.",
    ),
    "dtype": (
        "dtype not kept",
        "A new array has a type of its own, whatever went in: `np.zeros`, `np.empty` and lists of "
        "decimals make float64, comparisons make bool.",
    ),
    "type": ("wrong type", ""),
    "count": ("wrong number of results", ""),
}

_GENERAL_HINTS = {  # where the exercise's own first hint would lead away from the fault
    "dtype": "Name the type when you make the array, `np.zeros(…, dtype=…)`, or turn the result "
    "with `.astype(…)`.",
    "type": "Compare what you return with what the prompt asks for.",
    "count": "Compare what you return with what the prompt asks for.",
    "nothing": "End the function with `return` and the result.",
}

_TORCH_DTYPE = (
    "A new tensor has a type of its own, whatever went in: `torch.zeros` and `.float()` make "
    "float32, a comparison makes bool.",
    "Make it like the input, `torch.zeros(…, dtype=x.dtype, device=x.device)` or "
    "`torch.zeros_like(x)`, or turn the result with `.to(x.dtype)`.",
)

_ERRORS = {
    "RecursionError": ("calls itself for ever", "The function calls itself by its own name."),
    "NameError": (
        "name not defined",
        "A name is used that is not defined: a misspelling, or a set-up cell that was not run.",
    ),
    "UnboundLocalError": (
        "name not defined",
        "A variable is read before it is given a value inside the function.",
    ),
    "TypeError": ("raises an error", "A call or an operation got something it cannot work with."),
    "ValueError": ("raises an error", "Most often two shapes that do not fit together."),
    "RuntimeError": ("raises an error", "Most often two shapes that do not fit together."),
    "IndexError": ("raises an error", "An index runs past the end of an axis: is a size fixed?"),
    "MemoryError": ("out of memory", "An array far larger than the input was asked for."),
    "SystemExit": ("ends the program", "The code calls exit() or quit(); return instead."),
}


# (type, words of its sentence, what that means to a beginner, what to do)
_SENTENCES = (
    (
        "IndexError",
        "only integers",
        "What stands in the square brackets is no whole number.",
        "`for i in x` hands out the numbers in `x`; `for i in range(len(x))` hands out their "
        "places, 0, 1, 2 and so on.",
    ),
    (
        "IndexError",
        "out of bounds",
        "An index runs past the end of an axis: the places of n entries are 0 to n − 1.",
        "Compare the end of each `range(…)`, and each size that is a fixed number, with the shapes "
        "of the failing input.",
    ),
    (
        "IndexError",
        "invalid index to scalar",
        "Square brackets stand behind a single number, which has no entries.",
        "Look at the shape of what stands before the brackets: is it () already?",
    ),
    (
        "IndexError",
        "too many indices",
        "The square brackets name more axes than the array has.",
        "Count the sizes in its shape: there is one axis for each.",
    ),
    (
        "TypeError",
        "is not iterable",
        "A loop runs over the entries of something, and a single number has none.",
        "To count up to a number write `range(…)` around it, as in `for i in range(len(x))`.",
    ),
    (
        "TypeError",
        "is not callable",
        "Round brackets stand behind something that is no function.",
        "`.T` and `.shape` take no brackets, and an entry is read with square ones.",
    ),
    (
        "TypeError",
        "as a data type",
        "The shape of a new array is one argument; a second one is taken for its dtype.",
        "Put the sizes into brackets of their own: `np.zeros((rows, columns))`.",
    ),
    (
        "UnboundLocalError",
        "",
        "A variable is read before it is given a value inside the function.",
        "Give it a first value above the line that reads it, and outside the loop.",
    ),
)


def _about_error(error: str, exercise: Exercise) -> tuple[str, str, str]:
    """(name, cause, next step) of an error; an empty step leaves it to the exercise."""
    name, _, sentence = error.partition(":")
    if name == "TypeError" and ("argument" in sentence or "keyword" in sentence):
        return (
            "wrong parameters",
            f"The exercise calls it as `{exercise.signature}`: keep the names and their order.",
            "",
        )
    known, cause = _ERRORS.get(name, ("raises an error", ""))
    for kind, words, says, hint in _SENTENCES:
        if name == kind and words in sentence:
            return known, says, hint
    return known, cause, ""


def _recognise(exercise: Exercise, trials, results, expected, differences) -> Mistake | None:
    """The known mistake with the candidate's outputs on every failing call and most others."""
    wrong = [n for n, found in enumerate(differences) if found]
    best, best_score = None, 0.5
    for mistake in exercise.mistakes:
        if mistake.symptom:
            agrees = [_shows(mistake, trials[n].call, results[n]) for n in wrong]
            if agrees and all(agrees):
                return mistake
            continue
        if not callable(mistake.wrong):
            continue
        score = _agreement(mistake, exercise, trials, results, expected, differences)
        if score > best_score:
            best, best_score = mistake, score
    return best


def _shows(mistake: Mistake, call: Call, result: Result) -> bool:
    """Does the result show the mistake's symptom?"""
    try:
        return bool(mistake.symptom(call, result))
    except STUMBLES:
        return False


def _agreement(mistake: Mistake, exercise, trials, results, expected, differences) -> float:
    """Share of all calls on which they agree; 0 as soon as a failing call tells them apart.

    On a failing call the mistake must fail in the same way (a wrong dtype is not a wrong value).
    """
    order = sorted(range(len(results)), key=lambda n: differences[n] is None)  # failing first
    agree = 0
    for n in order:
        tolerance = trials[n].probe.tolerance
        theirs = use(mistake.wrong, trials[n].call, exercise.library)
        same = alike(results[n], theirs, tolerance)
        if differences[n]:
            names = _returned(exercise, trials[n].call)
            found = difference(theirs, expected[n], names, tolerance)
            if not same or found is None or found.aspect != differences[n].aspect:
                return 0.0
        agree += same
    return agree / len(order)


def _shown(exercise: Exercise, call: Call) -> tuple[tuple[str, Any], ...]:
    """The arguments of a call by name."""
    names = _names(exercise.signature)
    if call.how == "module":
        init = ", ".join(map(str, call.options.get("init", ())))
        first = (("module", f"{exercise.id}({init})"),)
        args = call.options["calls"][0][0] if "calls" in call.options else call.args
        return first + tuple(zip(("x", "mask"), args, strict=False)) + tuple(call.kwargs.items())
    names += [f"argument {n + 1}" for n in range(len(names), len(call.args))]
    return tuple(zip(names, call.args, strict=False)) + tuple(call.kwargs.items())


def _names(signature: str) -> list[str]:
    """The parameters' names."""
    return [part.split("=")[0].strip() for part in _parameters(signature)]


def _parameters(signature: str) -> list[str]:
    inside = signature[signature.index("(") + 1 : signature.rindex(")")] if "(" in signature else ""
    return [part for part in inside.split(",") if part.strip()]


def _judge_value(exercise: Exercise, result: Result, seed: int) -> Outcome:
    """Objects are judged by their exercise's own judge, answers by their value."""
    if result.error or result.timed_out or result.kind == "None":
        found = difference(result, Result(value=0, kind="number"))
        if found.aspect == "nothing" and exercise.kind == "answer":
            found = Difference("nothing", f"`{exercise.id}` is None: it holds no answer.")
        return Outcome(
            exercise,
            "error",
            exercise.summary,
            difference=found.sentence,
            mistake=_GENERAL.get(found.aspect, ("raises an error",))[0],
            hint=exercise.hints[0],
            read=exercise.read,
        )
    if exercise.kind == "answer":
        return _judge_answer(exercise, result)
    try:
        with np.errstate(all="ignore"):
            finding = exercise.judge(result.value, np.random.default_rng(seed))
    except STUMBLES:
        return Outcome(
            exercise,
            "failed",
            exercise.summary,
            difference=f"It is {article(result.kind)}; expected {exercise.signature}.",
            mistake="wrong type",
            hint=exercise.hints[0],
            read=exercise.read,
        )
    return Outcome(exercise, "passed") if finding is None else _from_finding(exercise, finding)


def _from_finding(exercise: Exercise, finding: Finding, shown: tuple = ()) -> Outcome:
    """A judge's finding, with the words of the known mistake it names."""
    mistake = exercise.mistake_named(finding.mistake)
    return Outcome(
        exercise,
        "failed",
        finding.tested,
        (*shown, *finding.shown),
        mistake=finding.mistake,
        cause=mistake.says if mistake else "",
        hint=(mistake.hint if mistake else "") or exercise.hints[0],
        read=(mistake.read if mistake else None) or exercise.read,
    )


def _judge_answer(exercise: Exercise, result: Result) -> Outcome:
    if _same_answer(result.value, exercise.reference, exercise.tolerance):
        return Outcome(exercise, "passed")
    mistake = next(
        (m for m in exercise.mistakes if _same_answer(result.value, m.wrong, exercise.tolerance)),
        None,
    )
    given = repr(result.value) if isinstance(result.value, str) else _plain(result.value)
    return Outcome(
        exercise,
        "failed",
        exercise.summary,
        difference=f"You answered {given}."
        if given is not None
        else f"It is {article(result.kind)}; expected {exercise.signature}.",
        mistake=mistake.name if mistake else None,
        cause=mistake.says if mistake else "",
        hint=(mistake.hint if mistake else "") or exercise.hints[0],
        read=(mistake.read if mistake else None) or exercise.read,
    )


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.ndarray) and value.size == 1 else value


def _bare(text: str) -> str:
    return "".join(text.split()).strip("().").casefold()


def _same_answer(given: Any, wanted: Any, tolerance: float) -> bool:
    """Letters without regard to case or blanks; numbers within tolerance, or as text."""
    if not isinstance(wanted, (tuple, list)):
        given = _plain(given)
    if isinstance(wanted, str):
        return isinstance(given, str) and _bare(given) == _bare(wanted)
    if isinstance(wanted, (tuple, list)):
        values = given.tolist() if isinstance(given, np.ndarray) else given
        return (
            isinstance(values, (tuple, list))
            and len(values) == len(wanted)
            and all(_same_answer(g, w, tolerance) for g, w in zip(values, wanted, strict=True))
        )
    try:
        given, wanted = float(given), float(wanted)
    except (TypeError, ValueError, OverflowError):
        return False
    return bool(np.isclose(given, wanted, rtol=tolerance, atol=tolerance))
