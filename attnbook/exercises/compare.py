"""Compare what a candidate gave with what was expected, and say the difference in a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from attnbook.exercises.exercise import Result

TOLERANCES = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-6}  # relative and absolute


@dataclass(frozen=True)
class Difference:
    """How a result departs from the expected one; `aspect` orders what to say first."""

    aspect: str  # error time nothing type count shape nan value dtype changed
    sentence: str


def difference(got: Result, expected: Result, returns: tuple[str, ...] = (), tolerance=None):
    """The first difference between two results, or None when they agree.

    Values come before dtype, dtype before an argument changed in place: a wrong number is the
    more useful thing to hear about.
    """
    if got.timed_out:
        return Difference("time", "It did not finish in time: is there a loop that never ends?")
    if got.error and not expected.error:
        where = f", at the line `{got.line}`" if got.line else ""
        return Difference("error", f"It raised {got.error.rstrip('.')}{where}.")
    if expected.error:
        if not got.error:
            return Difference("type", "It returned a value where an error was expected.")
        return None
    found = _compare(got.value, got.kind, expected.value, expected.kind, returns, tolerance)
    if found is None and got.changed and not expected.changed:
        names = " and ".join(f"`{name}`" for name in got.changed)
        found = Difference("changed", f"The result is right, but it changed {names} in place.")
    return found


def _compare(got, got_kind, expected, expected_kind, returns, tolerance) -> Difference | None:
    if got_kind == "None":
        return Difference("nothing", "It returned None: is a `return` missing?")
    if isinstance(expected, tuple):
        return _compare_tuples(got, got_kind, expected, expected_kind, returns, tolerance)
    name = f"`{returns[0]}`" if len(returns) == 1 else "the result"
    return _compare_leaf(got, got_kind, expected, expected_kind, name, tolerance)


def _compare_tuples(got, got_kind, expected, expected_kind, returns, tolerance):
    names = [f"`{name}`" for name in returns] or [f"value {n + 1}" for n in range(len(expected))]
    wanted = "(" + ", ".join(name.strip("`") for name in names) + ")"
    if not isinstance(got, tuple):
        return Difference("type", f"It returned {article(got_kind)}; expected {wanted}.")
    if len(got) != len(expected):
        return Difference(
            "count", f"It returned {len(got)} values; expected {len(expected)}: {wanted}."
        )
    found = [
        _compare_leaf(g, gk, e, ek, name, tolerance)
        for g, gk, e, ek, name in zip(got, got_kind, expected, expected_kind, names, strict=True)
    ]
    found = [one for one in found if one is not None]
    late = ("dtype", "changed")
    return next((one for one in found if one.aspect not in late), found[0] if found else None)


def _compare_leaf(got, got_kind, expected, expected_kind, name, tolerance) -> Difference | None:
    if isinstance(expected, dict):
        return _compare_dicts(got, got_kind, expected, expected_kind, name, tolerance)
    if isinstance(expected, tuple):
        return _compare_tuples(got, got_kind, expected, expected_kind, (), tolerance)
    if got_kind == "None":
        return Difference("nothing", f"{name} is None.")
    if got_kind == "unfinished":
        return Difference("nothing", f"{name} is still `...`.")
    scalar = np.shape(expected) == ()
    numeric = ("array", "tensor", "list", "masked array") + (("number",) if scalar else ())
    if isinstance(got, tuple) and expected_kind in ("array", "tensor"):
        return Difference(
            "type",
            f"{name} is {len(got)} separate values; expected {article(expected_kind)}. "
            "(If they are its rows, `stack` joins them.)",
        )
    if expected_kind in ("array", "tensor", "number") and got_kind not in numeric:
        want = "a number" if scalar else article(expected_kind)
        return Difference("type", f"{name} is {article(got_kind)}; expected {want}.")
    if isinstance(got, (tuple, dict)):  # rows of unequal length, texts and lists: no one shape
        want = article(expected_kind)
        return Difference("type", f"{name} is {article(got_kind)}; expected {want}.")
    if np.shape(got) != np.shape(expected):
        return Difference("shape", f"{name} has shape {shape(got)}; expected {shape(expected)}.")
    found = _compare_values(np.asarray(got), np.asarray(expected), name, tolerance)
    if found:
        return found
    if expected_kind in ("array", "tensor") and not scalar and got_kind != expected_kind:
        return Difference(
            "type",
            f"The numbers are right, but {name} is {article(got_kind)}; "
            f"expected {article(expected_kind)}.",
        )
    got_dtype, want_dtype = np.asarray(got).dtype, np.asarray(expected).dtype
    plain = "number" in (got_kind, expected_kind)  # a Python number has no dtype to keep
    if not plain and got_dtype != want_dtype:
        return Difference(
            "dtype", f"The numbers are right, but {name} is {got_dtype}; expected {want_dtype}."
        )
    return None


def _compare_dicts(got, got_kind, expected, expected_kind, name, tolerance) -> Difference | None:
    if not isinstance(got, dict):
        return Difference("type", f"{name} is {article(got_kind)}; expected a dict.")
    for what, names in (
        ("missing", expected.keys() - got),
        ("not asked for", got.keys() - expected),
    ):
        if names:
            listed = ", ".join(f"`{one}`" for one in sorted(names))
            return Difference("value", f"{listed} {'is' if len(names) == 1 else 'are'} {what}.")
    found = [
        _compare_leaf(got[key], got_kind[key], value, expected_kind[key], f"`{key}`", tolerance)
        for key, value in expected.items()
    ]
    return next((one for one in found if one is not None), None)


def _compare_values(got: np.ndarray, expected: np.ndarray, name: str, tolerance):
    if got.dtype.kind not in "fiubc" or expected.dtype.kind not in "fiubc":
        same = got.dtype.kind == expected.dtype.kind and np.array_equal(got, expected)
        return None if same else Difference("value", f"{name} differs.")
    near = _close(got, expected, tolerance)
    if near.all():
        return None
    if np.isnan(got.astype(np.float64)).any() and not np.isnan(expected.astype(np.float64)).any():
        count = int(np.isnan(got.astype(np.float64)).sum())
        return Difference("nan", f"{name} holds {count} NaN of {got.size} numbers; expected none.")
    if got.shape == ():
        return Difference(
            "value", "{} is {}; expected {}.".format(name, *told_apart(got, expected))
        )
    wrong = int((~near).sum())
    first = tuple(int(i) for i in np.argwhere(~near)[0])
    place = ", ".join(map(str, first))
    shown, wanted = told_apart(got[first], expected[first])
    return Difference(
        "value",
        f"{wrong} of {got.size} numbers differ; the first is at [{place}]: {shown}, "
        f"expected {wanted}.",
    )


def _close(got: np.ndarray, expected: np.ndarray, tolerance) -> np.ndarray:
    if tolerance is None:
        dtypes = {str(got.dtype), str(expected.dtype)}
        tolerance = max(TOLERANCES.get(dtype, 0.0) for dtype in dtypes) or TOLERANCES["float64"]
    got, expected = got.astype(np.float64), expected.astype(np.float64)
    return np.isclose(got, expected, rtol=tolerance, atol=tolerance, equal_nan=True)


def alike(one: Result, other: Result, tolerance: float | None = None) -> bool:
    """Do two results carry the same numbers (dtype and container aside)? Used to name mistakes."""
    if one.error or other.error or one.timed_out or other.timed_out:
        same_kind = (one.error or "").split(":")[0] == (other.error or "").split(":")[0]
        return same_kind and one.timed_out == other.timed_out
    return bool(one.changed) == bool(other.changed) and _alike(one.value, other.value, tolerance)


def _alike(one: Any, other: Any, tolerance: float | None) -> bool:
    if isinstance(one, (tuple, list)) or isinstance(other, (tuple, list)):
        return (
            isinstance(one, (tuple, list))
            and isinstance(other, (tuple, list))
            and len(one) == len(other)
            and all(_alike(a, b, tolerance) for a, b in zip(one, other, strict=True))
        )
    if isinstance(one, dict) or isinstance(other, dict):
        return (
            isinstance(one, dict)
            and isinstance(other, dict)
            and one.keys() == other.keys()
            and all(_alike(one[key], other[key], tolerance) for key in one)
        )
    if one is None or other is None or isinstance(one, str) or isinstance(other, str):
        return type(one) is type(other) and one == other
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape or one.dtype.kind not in "fiub" or other.dtype.kind not in "fiub":
        return False
    return bool(_close(one, other, tolerance).all())


def article(kind: Any) -> str:
    """A kind in words: "a list", "a NumPy array"."""
    if isinstance(kind, tuple):
        return f"a tuple of {len(kind)}"
    if isinstance(kind, dict):
        return "a dict"
    words = {"array": "a NumPy array", "tensor": "a torch tensor", "None": "None", "text": "text"}
    return words.get(kind, ("an " if kind[:1] in "aeiou" else "a ") + kind)


def shape(value: Any) -> str:
    """A shape as Python writes it, "(2, 3)"; () is called a single number."""
    return str(np.shape(value)) if np.shape(value) else "() (a single number)"


def told_apart(got: Any, expected: Any) -> tuple[str, str]:
    """Two numbers with as few digits, from four on, as it takes to see that they differ."""
    values = [np.asarray(value).item() for value in (got, expected)]
    for digits in (4, 6, 9, 17):
        shown = tuple(str(v) if isinstance(v, (bool, int)) else f"{v:.{digits}g}" for v in values)
        if shown[0] != shown[1]:
            break
    return shown
