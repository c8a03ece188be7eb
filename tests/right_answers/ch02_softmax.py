"""Right answers to chapter 2 written in ways a check must not reject."""

import functools
import math

import numpy as np

from attnbook.exercises.ch02_softmax import temperature_for as bisect
from attnbook.numpy_attention import log_sum_exp, softmax


def softmax_loop(scores, axis=-1):
    scores = np.asarray(scores)
    dtype = scores.dtype if scores.dtype.kind == "f" else float
    moved = np.moveaxis(scores, axis, -1)
    out = np.zeros(moved.shape, dtype)
    for place in np.ndindex(moved.shape[:-1]):
        top = max(moved[place])
        e = [math.exp(s - top) for s in moved[place]]
        out[place] = [x / sum(e) for x in e]
    return np.moveaxis(out, -1, axis)


def softmax_apply_along_axis(scores, axis=-1):
    def row(s):
        e = np.exp(s - s.max())
        return e / e.sum()

    return np.apply_along_axis(row, axis, scores)


def softmax_through_log(scores, axis=-1):
    scores = np.asarray(scores)
    shifted = scores - scores.max(axis, keepdims=True)
    return np.exp(shifted - np.log(np.exp(shifted).sum(axis, keepdims=True)))


def softmax_wider_inside(scores, axis=-1):
    scores = np.asarray(scores)
    dtype = scores.dtype if scores.dtype.kind == "f" else np.float64
    wide = scores.astype(np.float64)
    e = np.exp(wide - np.expand_dims(np.amax(wide, axis=axis), axis))
    return (e / np.expand_dims(np.sum(e, axis=axis), axis)).astype(dtype)


def softmax_transposed(scores, axis=-1):
    swapped = np.swapaxes(scores, axis, -1)
    e = np.exp(swapped - swapped.max(-1)[..., None])
    return np.swapaxes(e / e.sum(-1)[..., None], axis, -1)


def softmax_pairwise(scores, axis=-1):
    s = np.moveaxis(np.asarray(scores), axis, -1)
    with np.errstate(over="ignore"):
        w = 1 / np.exp(s[..., None, :] - s[..., :, None]).sum(-1)
    w = np.where(np.isneginf(s), 0, w)
    return np.moveaxis(w, -1, axis).astype(s.dtype if s.dtype.kind == "f" else float)


def softmax_in_place_on_a_copy(scores, axis=-1):
    e = np.array(scores, dtype=np.result_type(scores, np.float16))
    if np.asarray(scores).dtype.kind != "f":
        e = e.astype(float)
    e -= e.max(axis=axis, keepdims=True)
    np.exp(e, out=e)
    e /= e.sum(axis=axis, keepdims=True)
    return e


def softmax_other_shift(scores, axis=-1):
    scores = np.asarray(scores)
    e = np.exp(scores - scores.max(axis=axis, keepdims=True) - 1)
    return e / np.sum(e, axis=axis, keepdims=True)


def softmax_renamed(x, axis=-1):
    return softmax(x, axis)


def softmax_einsum(scores, axis=-1):
    s = np.moveaxis(np.asarray(scores), axis, -1)
    e = np.exp(s - s.max(-1, keepdims=True))
    total = np.einsum("...i->...", e)
    return np.moveaxis(np.einsum("...i,...->...i", e, 1 / total), -1, axis).astype(e.dtype)


def softmax_helpers(scores, axis=-1):
    def largest():
        return np.max(scores, axis=axis, keepdims=True)

    def exponentials():
        return np.exp(scores - largest())

    return exponentials() / exponentials().sum(axis=axis, keepdims=True)


def softmax_prints(scores, axis=-1):
    print("scores:", scores)
    return softmax(scores, axis)


class Softmax:
    """A callable object is a function for all a check can tell."""

    def __call__(self, scores, axis=-1):
        return softmax(scores, axis)


def softmax_noncontiguous(scores, axis=-1):
    return np.repeat(softmax(scores, axis)[..., None], 2, -1)[..., 0]


def log_sum_exp_logaddexp(scores, axis=-1):
    scores = np.asarray(scores)
    if scores.dtype.kind != "f":
        scores = scores.astype(float)
    return np.logaddexp.reduce(scores, axis=axis)


def log_sum_exp_loop(scores, axis=-1):
    moved = np.moveaxis(np.asarray(scores), axis, -1)
    out = np.empty(moved.shape[:-1], moved.dtype if moved.dtype.kind == "f" else float)
    for place in np.ndindex(out.shape):
        top = moved[place].max()
        if top == -np.inf:
            out[place] = -np.inf
        else:
            out[place] = top + math.log(sum(math.exp(s - top) for s in moved[place]))
    return out


def log_sum_exp_wide(scores, axis=-1):
    scores = np.asarray(scores)
    dtype = scores.dtype if scores.dtype.kind == "f" else float
    wide = scores.astype(np.float64)
    top = np.max(wide, axis=axis)
    safe = np.where(np.isinf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        return (safe + np.log(np.exp(wide - np.expand_dims(safe, axis)).sum(axis))).astype(dtype)


def log_sum_exp_reduce(scores, axis=-1):
    rows = np.moveaxis(np.asarray(scores, np.result_type(scores, np.float16)), axis, 0)
    rows = rows if np.asarray(scores).dtype.kind == "f" else rows.astype(float)
    return functools.reduce(np.logaddexp, rows)


def log_sum_exp_last_first(scores, axis=-1):
    s = np.swapaxes(scores, axis, 0)
    return log_sum_exp(np.swapaxes(s, axis, 0), axis)


def jacobian_loop(weights):
    n = len(weights)
    out = np.zeros((n, n), weights.dtype)
    for i in range(n):
        for j in range(n):
            out[i, j] = weights[i] * ((1 if i == j else 0) - weights[j])
    return out


def jacobian_broadcast(weights):
    return weights[:, None] * (np.eye(len(weights), dtype=weights.dtype) - weights[None, :])


def jacobian_einsum(weights):
    return np.diagflat(weights) - np.einsum("i,j->ij", weights, weights)


def jacobian_list_of_rows(weights):
    rows = [-w * weights for w in weights]
    for i, w in enumerate(weights):
        rows[i][i] += w
    return np.stack(rows)


def jacobian_matmul(weights):
    column = weights.reshape(-1, 1)
    return np.diag(weights) - column @ column.T


def temperature_newton_on_log(scores, largest):
    scores = np.asarray(scores, float)
    low, high = -14.0, 14.0
    while high - low > 1e-10:
        middle = (low + high) / 2
        if softmax(scores / np.exp(middle)).max() > largest:
            low = middle
        else:
            high = middle
    return np.exp(low)


def temperature_array(scores, largest):
    return np.array(bisect(scores, largest))


def temperature_grid_refined(scores, largest):
    low, high = 1e-4, 1e5
    for _ in range(14):
        grid = np.geomspace(low, high, 50)
        top = np.array([softmax(np.asarray(scores) / t).max() for t in grid])
        k = int(np.clip(np.searchsorted(-top, -largest), 1, 49))
        low, high = grid[k - 1], grid[k]
    return float(high)


def temperature_secant(scores, largest):
    gaps = max(scores) - np.asarray(scores, float)
    beta_low, beta_high = 0.0, 1e6
    for _ in range(120):
        beta = 0.5 * (beta_low + beta_high)
        if 1 / np.exp(-gaps * beta).sum() < largest:
            beta_low = beta
        else:
            beta_high = beta
    return 1 / beta


RIGHT = {
    "softmax": [
        softmax_loop,
        softmax_apply_along_axis,
        softmax_through_log,
        softmax_wider_inside,
        softmax_transposed,
        softmax_pairwise,
        softmax_in_place_on_a_copy,
        softmax_other_shift,
        softmax_renamed,
        softmax_einsum,
        softmax_helpers,
        softmax_prints,
        Softmax(),
        softmax_noncontiguous,
        functools.partial(softmax),
        lambda scores, axis=-1: np.exp(
            scores - np.expand_dims(log_sum_exp(scores, axis), axis)
        ).astype(softmax(scores).dtype),
    ],
    "log_sum_exp": [
        log_sum_exp_logaddexp,
        log_sum_exp_loop,
        log_sum_exp_wide,
        log_sum_exp_reduce,
        log_sum_exp_last_first,
    ],
    "softmax_jacobian": [
        jacobian_loop,
        jacobian_broadcast,
        jacobian_einsum,
        jacobian_list_of_rows,
        jacobian_matmul,
    ],
    "temperature_for": [
        temperature_newton_on_log,
        temperature_array,
        temperature_grid_refined,
        temperature_secant,
    ],
}
