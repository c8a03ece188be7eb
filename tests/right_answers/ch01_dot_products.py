"""Right answers to chapter 1 written in ways a check must not reject."""

import functools
import math

import numpy as np

from attnbook import numpy_attention
from attnbook.exercises.ch01_dot_products import cosine_scores, dot_scores, one_hot


def dot_three_loops(queries, keys):
    scores = np.zeros((len(queries), len(keys)), queries.dtype)
    for i in range(len(queries)):
        for j in range(len(keys)):
            for d in range(queries.shape[1]):
                scores[i, j] += queries[i, d] * keys[j, d]
    return scores


def dot_comprehension(queries, keys):
    return np.array([[query @ key for key in keys] for query in queries])


def dot_rows_stacked(queries, keys):
    return np.stack([keys @ query for query in queries])


def dot_columns_stacked(q, k):
    return np.stack([q @ key for key in k], axis=1)


def dot_einsum(queries, keys):
    return np.einsum("id,jd->ij", queries, keys)


def dot_inner(queries, keys):
    return np.inner(queries, keys)


def dot_broadcast(queries, keys):
    return (queries[:, None, :] * keys[None, :, :]).sum(axis=2)


def dot_tensordot(queries, keys):
    return np.tensordot(queries, keys, axes=([1], [1]))


def dot_turned_twice(queries, keys):
    return (keys @ queries.T).T


def dot_swapaxes(queries, keys):
    return np.matmul(queries, np.swapaxes(keys, 0, 1))


def dot_method(queries, keys):
    return queries.dot(keys.transpose())


def dot_outer_sum(queries, keys):
    """One dimension after the other, each as an outer product."""
    return sum(np.outer(queries[:, d], keys[:, d]) for d in range(queries.shape[1]))


def dot_from_distances(queries, keys):
    """From |q - k|^2 = |q|^2 + |k|^2 - 2 q·k, computed wide."""
    q, k = queries.astype(np.float64), keys.astype(np.float64)
    distance = ((q[:, None] - k[None]) ** 2).sum(-1)
    squares = (q**2).sum(-1)[:, None] + (k**2).sum(-1)
    return ((squares - distance) / 2).astype(queries.dtype)


def dot_plain_python(queries, keys):
    rows = [
        [sum(float(a) * float(b) for a, b in zip(q, k, strict=True)) for k in keys] for q in queries
    ]
    return np.array(rows, dtype=queries.dtype)


def dot_into_an_empty_array(queries, keys):
    scores = np.empty((len(queries), len(keys)), queries.dtype)
    np.matmul(queries, keys.T, out=scores)
    return scores


def dot_along_the_axis(queries, keys):
    return np.apply_along_axis(lambda query: keys @ query, 1, queries)


class Dot:
    """A callable object is a function for all a check can tell."""

    def __call__(self, queries, keys):
        return queries @ keys.T


def cosine_loops(queries, keys):
    out = np.zeros((len(queries), len(keys)), np.result_type(queries, np.float16))
    if queries.dtype.kind != "f":
        out = out.astype(np.float64)
    for i, q in enumerate(queries):
        for j, k in enumerate(keys):
            below = math.sqrt(float(q @ q)) * math.sqrt(float(k @ k))
            if below > 0:
                out[i, j] = float(q @ k) / below
    return out


def cosine_nan_to_num(queries, keys):
    with np.errstate(invalid="ignore"):
        q = queries / np.linalg.norm(queries, axis=1, keepdims=True)
        k = keys / np.linalg.norm(keys, axis=1, keepdims=True)
        return np.nan_to_num(q @ k.T)


def cosine_where_at_the_end(queries, keys):
    below = np.linalg.norm(queries, axis=1)[:, None] * np.linalg.norm(keys, axis=1)
    with np.errstate(all="ignore"):
        return np.where(below == 0, np.zeros_like(below), queries @ keys.T / below)


def cosine_divide_where(queries, keys):
    below = np.outer(np.linalg.norm(queries, axis=-1), np.linalg.norm(keys, axis=-1))
    return np.divide(queries @ keys.T, below, out=np.zeros_like(below), where=below != 0)


def cosine_maximum(queries, keys):
    """A floor under the lengths, far below any length that occurs."""
    tiny = 1e-12 if queries.dtype != np.float16 else 1e-4
    q = queries / np.maximum(np.linalg.norm(queries, axis=1, keepdims=True), tiny)
    k = keys / np.maximum(np.linalg.norm(keys, axis=1, keepdims=True), tiny)
    return (q @ k.T).astype(np.result_type(queries, keys) if queries.dtype.kind == "f" else float)


def cosine_tiny_constant(queries, keys):
    kind = queries.dtype if queries.dtype.kind == "f" else np.float64
    q, k = queries.astype(np.float64), keys.astype(np.float64)
    below = np.sqrt((q**2).sum(1))[:, None] * np.sqrt((k**2).sum(1)) + 1e-12
    return (q @ k.T / below).astype(kind)


def cosine_wide(queries, keys):
    kind = queries.dtype if queries.dtype.kind == "f" else np.float64
    return cosine_scores(queries.astype(np.float64), keys.astype(np.float64)).astype(kind)


def cosine_einsum(q, k):
    def unit(x):
        lengths = np.sqrt(np.einsum("id,id->i", x, x))
        return x / np.where(lengths > 0, lengths, lengths + 1)[:, None]

    return np.einsum("id,jd->ij", unit(q), unit(k))


def cosine_only_rows_with_length(queries, keys):
    def unit(x):
        y = x.astype(x.dtype if x.dtype.kind == "f" else float)
        some = y.any(axis=1)
        y[some] /= np.linalg.norm(y[some], axis=1, keepdims=True)
        return y

    return unit(queries) @ unit(keys).T


def cosine_one_key_at_a_time(queries, keys):
    return np.concatenate([cosine_scores(queries, key[None]) for key in keys], axis=1)


def cosine_one_added_where_zero(queries, keys):
    def unit(x):
        length = np.linalg.norm(x, axis=1, keepdims=True)
        return x / (length + (length == 0))

    return unit(queries) @ unit(keys).T


def cosine_clipped(queries, keys):
    return np.clip(cosine_scores(queries, keys), -1, 1)


def scaled_by_the_largest_first(queries, keys):
    def unit(x):
        largest = np.abs(x).max(1, keepdims=True)
        x = x / np.where(largest == 0, np.ones_like(largest), largest)
        length = np.linalg.norm(x, axis=1, keepdims=True)
        return x / np.where(length == 0, np.ones_like(length), length)

    return unit(queries) @ unit(keys).T


def disagree_boat():
    """The chapter's own: a boat is more of a river than of a boat."""
    return np.array([2.0, 1, 0, 1]), np.array([3.0, 0, 0, 2]), np.array([2.0, 1, 0, 1])


def disagree_other_way_round():
    return [1, 0], [1, 0], [5, 5]


def disagree_negative():
    """Both point away; the short one less strongly so, by the dot product."""
    return np.array([1, 0]), np.array([-1, 0]), np.array([-5, 5])


def one_hot_eye(indices, n_rows):
    return np.eye(n_rows)[indices]


def one_hot_loop(indices, n_rows):
    rows = np.zeros((len(indices), n_rows))
    for i, index in enumerate(indices):
        rows[i, index] = 1
    return rows


def one_hot_compare(indices, n_rows):
    return (np.arange(n_rows) == np.reshape(indices, (-1, 1))).astype(float)


def one_hot_nested_lists(indices, n_rows):
    return np.array([[1.0 if j == i else 0.0 for j in range(n_rows)] for i in indices])


def one_hot_put_along(indices, n_rows):
    rows = np.zeros((len(indices), n_rows))
    np.put_along_axis(rows, indices[:, None], 1, axis=1)
    return rows


def one_hot_take(indices, n_rows):
    return np.take(np.identity(n_rows), indices, axis=0)


def one_hot_flat(indices, n_rows):
    rows = np.zeros(len(indices) * n_rows)
    rows[np.arange(len(indices)) * n_rows + indices] = 1
    return rows.reshape(-1, n_rows)


def one_hot_outer(indices, n_rows):
    return np.equal.outer(indices, np.arange(n_rows)) * 1.0


def one_hot_added(indices, n_rows):
    rows = np.zeros((len(indices), n_rows))
    np.add.at(rows, (np.arange(len(indices)), indices), 1)
    return rows


def one_hot_stacked(indices, n_rows):
    def row(index):
        return np.concatenate([np.zeros(index), [1.0], np.zeros(n_rows - index - 1)])

    return np.vstack([row(int(index)) for index in indices])


RIGHT = {
    "dot_scores": [
        numpy_attention.dot_scores,
        dot_three_loops,
        dot_comprehension,
        dot_rows_stacked,
        dot_columns_stacked,
        dot_einsum,
        dot_inner,
        dot_broadcast,
        dot_tensordot,
        dot_turned_twice,
        dot_swapaxes,
        dot_method,
        dot_outer_sum,
        dot_from_distances,
        dot_plain_python,
        dot_into_an_empty_array,
        dot_along_the_axis,
        Dot(),
        functools.partial(dot_scores),
        lambda queries, keys: np.asarray(keys @ queries.T, order="F").T.copy(),
    ],
    "cosine_scores": [
        numpy_attention.cosine_scores,
        cosine_loops,
        cosine_nan_to_num,
        cosine_where_at_the_end,
        cosine_divide_where,
        cosine_maximum,
        cosine_tiny_constant,
        cosine_wide,
        cosine_einsum,
        cosine_only_rows_with_length,
        cosine_one_key_at_a_time,
        scaled_by_the_largest_first,
        cosine_one_added_where_zero,
        cosine_clipped,
    ],
    "disagreeing_vectors": [
        disagree_boat,
        disagree_other_way_round,
        disagree_negative,
        (np.array([1.0, 0.0]), np.array([3.0, 3.0]), np.array([2.0, 0.0])),
        np.array([[1.0, 0.0], [3.0, 3.0], [2.0, 0.0]]),
        [(0, 0, 1), (9, 9, 3), (0.1, 0, 1)],
        (np.array([True, False]), np.float16([2, 2]), np.int8([1, 0])),
        (np.array([1e-8, 0]), np.array([3e-8, 3e-8]), np.array([2e-8, 0])),
        (np.full(300, 1.0), np.full(300, 0.1), np.repeat([3.0, 0.0], 150)),
    ],
    "one_hot": [
        one_hot_eye,
        one_hot_loop,
        one_hot_compare,
        one_hot_nested_lists,
        one_hot_put_along,
        one_hot_take,
        one_hot_flat,
        one_hot_stacked,
        one_hot_outer,
        one_hot_added,
        lambda indices, n_rows: one_hot(list(indices), n_rows),
    ],
}
