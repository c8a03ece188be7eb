"""Facts that can be recovered from wrong outputs alone, when no known mistake explains them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from attnbook.exercises.exercise import Call, Result

Pairs = Sequence[tuple[np.ndarray, np.ndarray]]


def recover(
    calls: Sequence[Call], got: Sequence[Result], expected: Sequence[Result]
) -> tuple[str, str] | None:
    """(name, sentence) of the first fact true of every failing pair, or None."""
    if calls and all(_is_an_argument(c, g) for c, g in zip(calls, got, strict=True)):
        return "returns its input", "What comes back is one of the arguments, as it went in."
    pairs = [
        (np.asarray(g, np.float64), np.asarray(e, np.float64))
        for one, two in zip(got, expected, strict=True)
        for g, e in _leaves(one.value, two.value)
        if np.asarray(e).dtype not in (np.float16, np.float32)  # too coarse to recover a factor
    ]
    if not pairs:
        return None
    for fact in FACTS:
        try:
            found = fact(pairs)
        except (ValueError, FloatingPointError, ZeroDivisionError, IndexError):
            found = None
        if found:
            return found
    return None


def _leaves(got, expected):
    if isinstance(got, tuple) and isinstance(expected, tuple) and len(got) == len(expected):
        for g, e in zip(got, expected, strict=True):
            yield from _leaves(g, e)
    elif all(v is not None and np.asarray(v).dtype.kind in "fiub" for v in (got, expected)):
        yield got, expected


def _is_an_argument(call: Call, result: Result) -> bool:
    value = result.value
    if isinstance(value, np.ndarray) and value.dtype.kind not in "fiub":
        return False  # nothing that numbers can be compared with
    return any(isinstance(arg, np.ndarray) and np.array_equal(arg, value) for arg in call.args)


def _transposed(pairs: Pairs):
    tables = [(g, e) for g, e in pairs if e.ndim >= 2 and e.shape[-1] != e.shape[-2]]
    if tables and all(
        g.shape == np.swapaxes(e, -1, -2).shape
        and np.allclose(g, np.swapaxes(e, -1, -2), atol=1e-5)
        for g, e in tables
    ):
        return "transposed", "Your numbers are right but transposed: rows and columns are swapped."
    return None


def _extra_axis(pairs: Pairs):
    if all(g.shape != e.shape and g.squeeze().shape == e.squeeze().shape for g, e in pairs) and all(
        np.allclose(g.squeeze(), e.squeeze(), atol=1e-5) for g, e in pairs
    ):
        return (
            "axis of length one",
            "The numbers are right, but an axis of length one is left over or lost "
            "(look at `keepdims` and at slices such as `[:1]`).",
        )
    return None


def _constant_factor(pairs: Pairs):
    factors, telling = [], True
    for g, e in pairs:
        big = np.abs(e) > 1e-6
        if g.shape != e.shape or not np.isfinite(g).all() or not big.any():
            return None
        ratio = g[big] / e[big]
        if np.ptp(ratio) > 1e-4 * max(1.0, abs(ratio.flat[0])) or not np.allclose(g[~big], 0):
            return None
        factors.append(float(ratio.flat[0]))
        telling &= ratio.size > 1  # any number is a multiple of any other
    if all(abs(f - 1) < 1e-4 for f in factors):
        return None
    if all(abs(f) < 1e-9 for f in factors):
        return "all zeros", "Every number is zero."
    if np.ptp(factors) < 1e-4:
        if abs(factors[0] + 1) < 1e-4:
            return "wrong sign", "Every number has the wrong sign."
        return "constant factor", f"Every number is {factors[0]:.4g} times what it should be."
    if not telling:
        return None
    shown = ", ".join(f"{f:.4g}" for f in factors[:3])
    return (
        "factor that varies",
        f"Each result is a multiple of the right one, by a factor that changes with the input "
        f"({shown}, …): which size or sum did you divide or multiply by?",
    )


def _constant_offset(pairs: Pairs):
    if all(
        g.shape == e.shape and np.isfinite(g).all() and e.size > 1 and np.ptp(g - e) < 1e-6
        for g, e in pairs
    ):
        return "constant offset", "Within each result every number is off by the same amount."
    return None


def _reordered(pairs: Pairs):
    if all(
        g.shape == e.shape and e.size > 1 and np.allclose(np.sort(g, None), np.sort(e, None))
        for g, e in pairs
    ):
        return "right numbers, wrong places", "The numbers are right but stand in the wrong places."
    return None


def _columns_sum_to_one(pairs: Pairs):
    tables = [
        (g, e)
        for g, e in pairs
        if e.ndim == 2 and np.allclose(e.sum(-1), 1) and e.shape[-1] != e.shape[-2]
    ]
    if tables and all(g.shape == e.shape and np.allclose(g.sum(-2), 1) for g, e in tables):
        return "columns sum to one", "Your columns sum to one; the rows should."
    return None


FACTS: tuple[Callable[[Pairs], tuple[str, str] | None], ...] = (
    _transposed,
    _extra_axis,
    _constant_factor,
    _constant_offset,
    _columns_sum_to_one,
    _reordered,
)
