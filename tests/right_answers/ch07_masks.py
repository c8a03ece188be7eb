"""Right answers to chapter 7 written in ways a check must not reject."""

import functools
import math

import numpy as np
import torch
import torch.nn.functional as F

from attnbook import numpy_attention
from attnbook.numpy_attention import log_sum_exp, softmax

# --- padding_mask -----------------------------------------------------------------------------


def padding_loop(lengths, max_len):
    mask = np.zeros((len(lengths), max_len), dtype=bool)
    for row, length in enumerate(lengths):
        for place in range(length):
            mask[row, place] = True
    return mask


def padding_slices(lengths, max_len):
    mask = np.full((len(lengths), max_len), False)
    for row, length in zip(mask, lengths, strict=True):
        row[:length] = True
    return mask


def padding_lists(lengths, max_len):
    return np.array([[True] * int(n) + [False] * int(max_len - n) for n in lengths])


def padding_comprehension(lengths, max_len):
    return np.array([[place < n for place in range(max_len)] for n in lengths])


def padding_triangle(lengths, max_len):
    return np.tri(max_len + 1, max_len, -1, dtype=bool)[lengths]


def padding_outer(lengths, max_len):
    return np.greater.outer(lengths, np.arange(max_len))


def padding_not_filler(lengths, max_len):
    return ~(np.arange(max_len)[None] >= np.reshape(lengths, (-1, 1)))


def padding_stacked(lengths, max_len):
    places = np.arange(max_len)
    return np.stack([places < n for n in lengths])


def padding_transposed_twice(lengths, max_len):
    return (np.arange(max_len)[:, None] < lengths).T


def padding_cumsum(lengths, max_len):
    ones = np.ones((len(lengths), max_len), dtype=int)
    return np.cumsum(ones, axis=1) <= np.expand_dims(lengths, 1)


def padding_indices(lengths, max_len):
    _, columns = np.indices((len(lengths), max_len))
    return columns < lengths.reshape(-1, 1)


def padding_where(lengths, max_len):
    return np.where(np.arange(max_len) < lengths[:, np.newaxis], True, False)


def padding_torch(lengths, max_len):
    return (torch.arange(max_len) < torch.as_tensor(lengths)[:, None]).numpy()


def padding_from_numbers(lengths, max_len):
    mask = np.zeros((len(lengths), max_len))
    for i, n in enumerate(lengths):
        mask[i, :n] = 1.0
    return mask.astype(bool)


# --- causal_mask ------------------------------------------------------------------------------


def causal_tril(n_q, n_k=None):
    n_k = n_q if n_k is None else n_k
    return np.tril(np.ones((n_q, n_k), dtype=bool), k=n_k - n_q)


def causal_not_triu(n_q, n_k=None):
    n_k = n_k or n_q
    return ~np.triu(np.full((n_q, n_k), True), k=n_k - n_q + 1)


def causal_tri(n_q, n_k=None):
    n_k = n_q if n_k is None else n_k
    return np.tri(n_q, n_k, n_k - n_q, dtype=bool)


def causal_loop(n_q, n_k=None):
    if n_k is None:
        n_k = n_q
    mask = np.zeros((n_q, n_k), dtype=bool)
    for i in range(n_q):
        for j in range(n_k):
            if j <= n_k - n_q + i:
                mask[i, j] = True
    return mask


def causal_slices(n_q, n_k=None):
    n_k = n_q if n_k is None else n_k
    mask = np.zeros((n_q, n_k), dtype=bool)
    for i in range(n_q):
        mask[i, : n_k - n_q + i + 1] = True
    return mask


def causal_last_rows(n_q, n_k=None):
    n_k = n_q if n_k is None else n_k
    return np.tril(np.ones((n_k, n_k), dtype=bool))[-n_q:]


def causal_cache_beside(n_q, n_k=None):
    cached = 0 if n_k is None else n_k - n_q
    return np.hstack([np.ones((n_q, cached), dtype=bool), np.tri(n_q, dtype=bool)])


def causal_lists(n_q, n_k=None):
    n_k = n_q if n_k is None else n_k
    return np.array([[j - (n_k - n_q) <= i for j in range(n_k)] for i in range(n_q)])


def causal_fromfunction(n_q, n_k=None):
    n_k = n_q if n_k is None else n_k
    return np.fromfunction(lambda i, j: i + n_k - n_q >= j, (n_q, n_k))


def causal_outer(n_q, n_k=None):
    n_k = n_q if n_k is None else n_k
    return np.greater_equal.outer(np.arange(n_k)[n_k - n_q :], np.arange(n_k))


def causal_transposed(n_q, n_k=None):
    n_k = n_q if n_k is None else n_k
    return (np.arange(n_k)[:, None] <= np.arange(n_k - n_q, n_k)).T


def causal_padding(n_q, n_k=None):
    n_k = n_q if n_k is None else n_k
    return padding_outer(np.arange(n_k - n_q + 1, n_k + 1), n_k)


def causal_torch(n_q, n_k=None):
    n_k = n_q if n_k is None else n_k
    return torch.ones(n_q, n_k, dtype=torch.bool).tril(n_k - n_q).numpy()


def causal_numbers(n_q, n_k=None):
    n_k = n_q if n_k is None else n_k
    return np.tril(np.ones((n_q, n_k)), n_k - n_q) == 1


# --- boolean_to_additive ----------------------------------------------------------------------


def additive_where_in_type(mask, dtype=np.float64):
    return np.where(mask, np.array(0, dtype), np.array(-np.inf, dtype))


def additive_assigned(mask, dtype=np.float64):
    numbers = np.zeros(mask.shape, dtype)
    numbers[~mask] = -np.inf
    return numbers


def additive_logarithm(mask, dtype=np.float64):
    return np.log(mask.astype(dtype))


def additive_table(mask, dtype=np.float64):
    return np.array([-np.inf, 0], dtype=dtype)[mask.astype(int)]


def additive_full(mask, dtype=np.float64):
    numbers = np.full_like(mask, -np.inf, dtype=dtype)
    np.putmask(numbers, mask, 0)
    return numbers


def additive_torch(mask, dtype=np.float64):
    return (
        torch.zeros(mask.shape)
        .masked_fill(~torch.as_tensor(mask), -torch.inf)
        .numpy()
        .astype(dtype)
    )


def additive_loop(mask, dtype=np.float64):
    numbers = np.empty(mask.shape, dtype)
    for place in np.ndindex(mask.shape):
        numbers[place] = 0 if mask[place] else -math.inf
    return numbers


# --- scaled_dot_product_attention -------------------------------------------------------------


def attention_loop(query, key, value, mask=None):
    dtype = np.result_type(query, key, value)
    dtype = dtype if dtype.kind == "f" else np.dtype(float)
    lead, (n_q, d_k), (n_k, d_v) = query.shape[:-2], query.shape[-2:], value.shape[-2:]
    full = np.broadcast_to(True if mask is None else mask, (*lead, n_q, n_k))
    weights = np.zeros((*lead, n_q, n_k), dtype)
    output = np.zeros((*lead, n_q, d_v), dtype)
    for place in np.ndindex(*lead, n_q):
        seen = [j for j in range(n_k) if full[(*place, j)]]
        keys = key[place[:-1]]
        scores = [
            sum(float(a) * float(b) for a, b in zip(query[place], keys[j], strict=True))
            / math.sqrt(d_k)
            for j in seen
        ]
        exponentials = [math.exp(s - max(scores)) for s in scores]
        for j, e in zip(seen, exponentials, strict=True):
            weights[(*place, j)] = e / sum(exponentials)
            output[place] += (e / sum(exponentials) * value[(*place[:-1], j)]).astype(dtype)
    return output, weights


def attention_einsum(query, key, value, mask=None):
    scores = np.einsum("...qd,...kd->...qk", query, key) / math.sqrt(query.shape[-1])
    if mask is None:
        mask = np.array(True)
    hidden = np.where(mask, scores, -np.inf)
    e = np.exp(hidden - np.nan_to_num(hidden.max(-1, keepdims=True), neginf=0))
    total = e.sum(-1, keepdims=True)
    weights = np.divide(e, total, out=np.zeros_like(e), where=total != 0)
    return np.einsum("...qk,...kv->...qv", weights, value), weights


def attention_through_pytorch(query, key, value, mask=None):
    q, k, v = (
        torch.as_tensor(a) if a.dtype.kind == "f" else torch.as_tensor(a).double()
        for a in (query, key, value)
    )
    eye = torch.eye(k.shape[-2], dtype=v.dtype).expand(*k.shape[:-1], k.shape[-2])
    m = None if mask is None else torch.as_tensor(mask)
    output = F.scaled_dot_product_attention(q, k, v, attn_mask=m)
    return output.numpy(), F.scaled_dot_product_attention(q, k, eye, attn_mask=m).numpy()


def attention_torch_by_hand(query, key, value, mask=None):
    q, k, v = (torch.as_tensor(a) for a in (query, key, value))
    if not q.is_floating_point():
        q, k, v = q.double(), k.double(), v.double()
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~torch.as_tensor(mask), -torch.inf)
    weights = scores.softmax(-1).nan_to_num(0.0)
    return (weights @ v.to(weights.dtype)).numpy(), weights.numpy()


def attention_scale_on_query(query, key, value, mask=None):
    scores = (query / math.sqrt(query.shape[-1])) @ np.swapaxes(key, -1, -2)
    if mask is None:
        return softmax(scores) @ value, softmax(scores)
    sees = np.any(mask, axis=-1, keepdims=True)
    weights = softmax(np.where(sees, np.where(mask, scores, -np.inf), 0))
    weights = weights * sees
    return weights @ value, weights


def attention_scale_shared(query, key, value, mask=None):
    root = query.shape[-1] ** 0.25
    scores = (query / root) @ np.moveaxis(key / root, -1, -2)
    return _finish(scores, value, mask)


def _finish(scores, value, mask):
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    weights = np.nan_to_num(softmax(scores), nan=0.0)
    return weights @ value, weights


def attention_smallest_number(query, key, value, mask=None):
    scores = query @ key.swapaxes(-2, -1) / query.shape[-1] ** 0.5
    if mask is None:
        weights = softmax(scores)
    else:
        weights = softmax(np.where(mask, scores, np.finfo(scores.dtype).min))
        weights = np.where(mask, weights, 0)
    return np.matmul(weights, value), weights


def attention_multiplied_exponentials(query, key, value, mask=None):
    scores = query @ key.swapaxes(-2, -1) / math.sqrt(query.shape[-1])
    mask = np.broadcast_to(True if mask is None else mask, scores.shape)
    top = np.max(scores, axis=-1, keepdims=True, where=mask, initial=np.finfo(scores.dtype).min)
    e = np.exp(np.minimum(scores - top, 0)) * mask
    weights = e / np.maximum(e.sum(-1, keepdims=True), np.finfo(e.dtype).tiny)
    return weights @ value, weights


def attention_log_sum_exp(query, key, value, mask=None):
    scores = query @ key.swapaxes(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    total = log_sum_exp(scores)[..., None]
    weights = np.exp(scores - np.where(np.isinf(total), 0, total)).astype(scores.dtype)
    return weights @ value, weights


def attention_indexed(query, key, value, mask=None):
    scores = np.array(query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1]))
    if mask is None:
        mask = np.ones(scores.shape, dtype=bool)
    mask = np.broadcast_to(mask, scores.shape)
    scores[~mask] = -np.inf
    weights = softmax(scores)
    weights[~mask] = 0
    return weights @ value, weights


def attention_added_mask(query, key, value, mask=None):
    scores = query @ np.swapaxes(key, -1, -2) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores + np.log(mask).astype(scores.dtype)
    return _finish(scores, value, None)


def attention_wide_inside(query, key, value, mask=None):
    dtype = query.dtype if query.dtype.kind == "f" else np.float64
    wide = [np.asarray(a, np.float64) for a in (query, key, value)]
    output, weights = numpy_attention.scaled_dot_product_attention(*wide, mask)
    return output.astype(dtype), weights.astype(dtype)


def attention_only_the_visible(query, key, value, mask=None):
    """Gathers the visible keys of each query and never computes the other scores."""
    dtype = query.dtype if query.dtype.kind == "f" else np.float64
    shape = (*query.shape[:-1], key.shape[-2])
    full = np.broadcast_to(True if mask is None else mask, shape)
    weights = np.zeros(shape, dtype)
    for place in np.ndindex(*query.shape[:-1]):
        seen = np.flatnonzero(full[place])
        if len(seen):
            scores = key[place[:-1]][seen] @ query[place] / math.sqrt(query.shape[-1])
            weights[place][seen] = softmax(scores)
    return (weights @ value).astype(dtype), weights


def attention_row_by_row(query, key, value, mask=None):
    """One example at a time, through a function of one example."""
    if query.ndim == 2:
        if mask is not None and np.ndim(mask) > 2:
            mask = mask.reshape(mask.shape[-2:])
        return attention_scale_on_query(query, key, value, mask)
    if mask is not None:
        mask = np.broadcast_to(mask, (*query.shape[:-1], key.shape[-2]))
    parts = [
        attention_row_by_row(query[i], key[i], value[i], None if mask is None else mask[i])
        for i in range(len(query))
    ]
    return np.stack([p[0] for p in parts]), np.stack([p[1] for p in parts])


def attention_online(query, key, value, mask=None):
    """One key after the other, with the maximum and the sum corrected on the way."""
    dtype = query.dtype if query.dtype.kind == "f" else np.dtype(float)
    scores = query.astype(float) @ key.astype(float).swapaxes(-1, -2) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    top = np.full(scores.shape[:-1], -np.inf)
    total = np.zeros(scores.shape[:-1])
    for j in range(scores.shape[-1]):
        new = np.maximum(top, scores[..., j])
        safe = np.where(np.isinf(new), 0, new)
        total = total * np.exp(top - safe) + np.exp(scores[..., j] - safe)
        top = new
    safe = np.where(np.isinf(top), 0, top)[..., None]
    weights = np.exp(scores - safe) / np.where(total == 0, 1, total)[..., None]
    return (weights @ value).astype(dtype), weights.astype(dtype)


def attention_list(query, key, value, mask=None):
    return list(numpy_attention.scaled_dot_product_attention(query, key, value, mask))


def attention_noncontiguous(query, key, value, mask=None):
    output, weights = numpy_attention.scaled_dot_product_attention(query, key, value, mask)
    return output[..., ::-1][..., ::-1], np.asfortranarray(weights)


class Attention:
    """A callable object."""

    def __call__(self, query, key, value, mask=None):
        return attention_einsum(query, key, value, mask)


def attention_renamed(q, k, v, m=None):
    return numpy_attention.scaled_dot_product_attention(q, k, v, m)


RIGHT = {
    "padding_mask": [
        padding_loop,
        padding_slices,
        padding_lists,
        padding_comprehension,
        padding_triangle,
        padding_outer,
        padding_not_filler,
        padding_stacked,
        padding_transposed_twice,
        padding_cumsum,
        padding_indices,
        padding_where,
        padding_torch,
        padding_from_numbers,
    ],
    "causal_mask": [
        causal_tril,
        causal_not_triu,
        causal_tri,
        causal_loop,
        causal_slices,
        causal_last_rows,
        causal_cache_beside,
        causal_lists,
        causal_fromfunction,
        causal_outer,
        causal_transposed,
        causal_padding,
        causal_torch,
        causal_numbers,
    ],
    "boolean_to_additive": [
        additive_where_in_type,
        additive_assigned,
        additive_logarithm,
        additive_table,
        additive_full,
        additive_torch,
        additive_loop,
        numpy_attention.boolean_to_additive,
    ],
    "scaled_dot_product_attention": [
        attention_loop,
        attention_einsum,
        attention_through_pytorch,
        attention_torch_by_hand,
        attention_scale_on_query,
        attention_scale_shared,
        attention_smallest_number,
        attention_multiplied_exponentials,
        attention_log_sum_exp,
        attention_indexed,
        attention_added_mask,
        attention_wide_inside,
        attention_only_the_visible,
        attention_row_by_row,
        attention_online,
        attention_list,
        attention_noncontiguous,
        Attention(),
        attention_renamed,
        functools.partial(attention_einsum),
    ],
    "first_moved": [(3, 5, 0), [3, 5, 0], np.array([3, 5, 0]), (3.0, 5.0, 0.0), ("3", "5", "0")],
}
