"""Right answers to chapter 3 written in ways a check must not reject."""

import functools
import math

import numpy as np

from attnbook.exercises.ch03_soft_lookup import kernel_regression, leave_one_out_error
from attnbook.numpy_attention import log_sum_exp, soft_lookup, softmax


def lookup_loop(query, keys, values, temperature=1.0):
    scores = []
    for key in keys:
        score = 0.0
        for q, k in zip(query, key, strict=True):
            score += q * k
        scores.append(score / temperature)
    top = max(scores)
    exponentials = [math.exp(s - top) for s in scores]
    output = np.zeros(values.shape[1], values.dtype if values.dtype.kind == "f" else float)
    for e, value in zip(exponentials, values, strict=True):
        output += e / sum(exponentials) * value
    return output


def lookup_einsum(query, keys, values, temperature=1.0):
    scores = np.einsum("d,nd->n", query, keys) / temperature
    return np.einsum("n,nv->v", softmax(scores), values)


def lookup_broadcast(query, keys, values, temperature=1.0):
    weights = softmax((keys * query).sum(-1) / temperature)
    return (weights[:, None] * values).sum(0)


def lookup_query_divided(query, keys, values, temperature=1.0):
    return softmax(keys @ (query / temperature)) @ values


def lookup_keys_divided(query, keys, values, temperature=1.0):
    return softmax(query @ (keys / temperature).T) @ values


def lookup_as_matrices(query, keys, values, temperature=1.0):
    row = query[None, :] @ keys.T  # (1, n)
    return (softmax(row / temperature, axis=-1) @ values)[0]


def lookup_column(query, keys, values, temperature=1.0):
    column = keys @ query[:, None]  # (n, 1)
    return np.squeeze(values.T @ softmax(column / temperature, axis=0), axis=1)


def lookup_average(query, keys, values, temperature=1.0):
    average = np.average(values, axis=0, weights=softmax(keys @ query / temperature))
    return average.astype(values.dtype if values.dtype.kind == "f" else float)


def lookup_through_log(query, keys, values, temperature=1.0):
    scores = keys @ query / temperature
    return np.exp(scores - log_sum_exp(scores)) @ values


def lookup_wide_inside(query, keys, values, temperature=1.0):
    wide = [np.asarray(array, np.float64) for array in (query, keys, values)]
    dtype = values.dtype if values.dtype.kind == "f" else np.float64
    return soft_lookup(*wide, temperature).astype(dtype)


def lookup_own_softmax(query, keys, values, temperature=1.0):
    scores = keys @ query / temperature
    e = np.exp(scores - scores.max())
    e /= e.sum()
    return e @ values


def lookup_divided_at_the_end(query, keys, values, temperature=1.0):
    scores = keys.dot(query) / temperature
    e = np.exp(scores - np.max(scores))
    return np.dot(e, values) / e.sum()


def lookup_renamed(q, k, v, temperature=1.0):
    return soft_lookup(q, k, v, temperature)


def lookup_any_keywords(*args, **kwargs):
    return soft_lookup(*args, **kwargs)


def lookup_running(query, keys, values, temperature=1.0):
    """One entry after the other, the maximum corrected on the way."""
    top, total, mixed = -np.inf, 0.0, 0.0
    for key, value in zip(keys, values, strict=True):
        score = key @ query / temperature
        new_top = max(top, score)
        total = total * np.exp(top - new_top) + np.exp(score - new_top)
        mixed = mixed * np.exp(top - new_top) + np.exp(score - new_top) * value
        top = new_top
    return (mixed / total).astype(values.dtype if values.dtype.kind == "f" else float)


class Lookup:
    def __call__(self, query, keys, values, temperature=1.0):
        return soft_lookup(query, keys, values, temperature)


def restore_nearest(keys, values, shuffled_keys):
    distances = np.linalg.norm(shuffled_keys[:, None] - keys[None], axis=-1)
    return values[distances.argmin(axis=1)]


def restore_lexsort(keys, values, shuffled_keys):
    restored = np.empty_like(values)
    restored[np.lexsort(shuffled_keys.T)] = values[np.lexsort(keys.T)]
    return restored


def restore_loop(keys, values, shuffled_keys):
    rows = []
    for shuffled in shuffled_keys:
        for key, value in zip(keys, values, strict=True):
            if np.array_equal(key, shuffled):
                rows.append(value)
    return np.array(rows)


def restore_one_hot(keys, values, shuffled_keys):
    same = (shuffled_keys[:, None] == keys).all(-1)  # (n, n)
    return same.astype(values.dtype) @ values


def restore_bytes(keys, values, shuffled_keys):
    place = {key.tobytes(): i for i, key in enumerate(keys)}
    return values[[place[key.tobytes()] for key in shuffled_keys]]


def restore_lists(keys, values, shuffled_keys):
    listed = keys.tolist()
    return np.take(values, [listed.index(key) for key in shuffled_keys.tolist()], axis=0)


def restore_where(keys, values, shuffled_keys):
    i, j = np.where((shuffled_keys[:, None, :] == keys[None, :, :]).all(axis=2))
    assert (i == np.arange(len(keys))).all()
    return values[j]


def restore_cold_kernel(keys, values, shuffled_keys):
    """A soft look-up so cold that it is hard."""
    rows = [kernel_regression(key, keys, values, 1e-5) for key in shuffled_keys]
    return np.stack(rows).astype(values.dtype)


def kernel_loop(query, keys, values, bandwidth):
    scores = [-sum((q - k) ** 2 for q, k in zip(query, key, strict=True)) for key in keys]
    scores = np.array(scores) / (2 * bandwidth**2)
    e = np.exp(scores - max(scores))
    return sum(w * v for w, v in zip(e / sum(e), values, strict=True)).astype(values.dtype)


def kernel_norm(query, keys, values, bandwidth):
    distances = np.linalg.norm(query - keys, axis=1)
    return softmax(-0.5 * (distances / bandwidth) ** 2) @ values


def kernel_expanded(query, keys, values, bandwidth):
    """The dot-product form: |q|^2 left out, |k|^2 kept."""
    scores = keys @ query - 0.5 * (keys * keys).sum(-1)
    return softmax(scores / bandwidth**2) @ values


def kernel_scaled_first(query, keys, values, bandwidth):
    z = (keys - query) / bandwidth
    return softmax(np.einsum("nd,nd->n", z, z) * -0.5) @ values


def kernel_shifted_by_nearest(query, keys, values, bandwidth):
    squares = np.square(keys - query[None]).sum(1)
    kernel = np.exp(-(squares - squares.min()) / (2 * bandwidth**2))
    return (kernel[:, None] * values).sum(0) / kernel.sum()


def kernel_by_lookup(query, keys, values, bandwidth):
    """One number more for each key makes a soft look-up of it."""
    longer = np.concatenate([keys, -0.5 * (keys**2).sum(-1, keepdims=True)], axis=1)
    query = np.append(query, query.dtype.type(1))
    return soft_lookup(query, longer, values, bandwidth**2)


def kernel_wide(query, keys, values, bandwidth):
    output = kernel_regression(
        query.astype(float), keys.astype(float), values.astype(float), bandwidth
    )
    return output.astype(values.dtype)


def loo_matrix(keys, values, bandwidth):
    squares = ((keys[:, None] - keys[None]) ** 2).sum(-1)
    np.fill_diagonal(squares, np.inf)
    return ((softmax(-squares / (2 * bandwidth**2)) @ values - values) ** 2).mean()


def loo_delete(keys, values, bandwidth):
    total = 0
    for i in range(len(keys)):
        predicted = kernel_regression(
            keys[i], np.delete(keys, i, axis=0), np.delete(values, i, axis=0), bandwidth
        )
        total += ((values[i] - predicted) ** 2).mean()
    return total / len(keys)


def loo_where(keys, values, bandwidth):
    squares = np.linalg.norm(keys[:, None] - keys, axis=-1) ** 2
    scores = np.where(np.eye(len(keys), dtype=bool), -np.inf, -squares / (2 * bandwidth**2))
    return np.mean(np.square(values - softmax(scores) @ values))


def loo_array(keys, values, bandwidth):
    return np.array(leave_one_out_error(keys, values, bandwidth))


def loo_concatenated(keys, values, bandwidth):
    predictions = []
    for i in range(len(keys)):
        rest_keys = np.concatenate([keys[:i], keys[i + 1 :]])
        rest_values = np.concatenate([values[:i], values[i + 1 :]])
        predictions.append(kernel_regression(keys[i], rest_keys, rest_values, bandwidth))
    return float(((np.array(predictions) - values) ** 2).sum() / values.size)


def loo_rolled(keys, values, bandwidth):
    """Turn the notebook until entry i stands last, then leave the last one out."""
    errors = []
    for _ in range(len(keys)):
        keys, values = np.roll(keys, 1, axis=0), np.roll(values, 1, axis=0)
        guess = kernel_regression(keys[-1], keys[:-1], values[:-1], bandwidth)
        errors.append(guess - values[-1])
    return np.mean(np.square(errors))


RIGHT = {
    "soft_lookup": [
        lookup_loop,
        lookup_einsum,
        lookup_broadcast,
        lookup_query_divided,
        lookup_keys_divided,
        lookup_as_matrices,
        lookup_column,
        lookup_average,
        lookup_through_log,
        lookup_wide_inside,
        lookup_own_softmax,
        lookup_divided_at_the_end,
        lookup_renamed,
        lookup_any_keywords,
        lookup_running,
        Lookup(),
        functools.partial(soft_lookup),
    ],
    "restore_pairs": [
        restore_nearest,
        restore_lexsort,
        restore_loop,
        restore_one_hot,
        restore_bytes,
        restore_lists,
        restore_where,
        restore_cold_kernel,
    ],
    "kernel_regression": [
        kernel_loop,
        kernel_norm,
        kernel_expanded,
        kernel_scaled_first,
        kernel_shifted_by_nearest,
        kernel_by_lookup,
        kernel_wide,
    ],
    "leave_one_out_error": [
        loo_matrix,
        loo_delete,
        loo_where,
        loo_array,
        loo_concatenated,
        loo_rolled,
    ],
}
