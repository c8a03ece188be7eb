"""Attention in NumPy, grown chapter by chapter; read it from top to bottom.

Scores are compared, turned into weights that sum to one, and used to mix values.
Vaswani et al. 2017, section 3.2.
"""

from __future__ import annotations

import math

import numpy as np


def dot_scores(queries, keys):
    """Agreement of every query with every key: all dot products in one matrix product.

    queries (n_q, d) · keys (n_k, d) -> (n_q, n_k); floats keep their dtype.
    Raises ValueError naming both shapes when they do not fit.
    """
    queries, keys = _floating(queries), _floating(keys)
    _agree("queries", queries, -1, "keys", keys, -1, "d")
    return queries @ keys.T  # (n_q, d) @ (d, n_k)


def cosine_scores(queries, keys):
    """Agreement in direction alone: dot products after every vector is brought to length one.

    queries (n_q, d) · keys (n_k, d) -> (n_q, n_k), each from -1 to 1; a zero vector scores 0.
    Raises ValueError naming both shapes when they do not fit.
    """
    return dot_scores(_unit_rows(queries), _unit_rows(keys))


def softmax(scores, axis=-1):
    """Turn scores into positive weights that sum to one along an axis.

    scores (...) any real dtype; floats keep their dtype, integers become float64.
    Returns weights of the same shape. Stable: the largest score of each slice is subtracted
    first, which changes nothing (softmax only sees differences) and keeps exp from overflowing.
    Bridle 1990.
    """
    scores = np.asarray(scores)
    if not np.issubdtype(scores.dtype, np.floating):
        scores = scores.astype(np.float64)
    shifted = scores - scores.max(axis=axis, keepdims=True)  # largest becomes 0
    exponentials = np.exp(shifted)  # same shape, each in (0, 1]
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def log_sum_exp(scores, axis=-1):
    """Logarithm of the sum of exponentials along an axis, without overflow.

    scores (...) -> scores' shape without `axis`; a slice that is all -inf gives -inf.
    It is a smooth maximum: at most log(n) above the largest of n scores.
    Blanchard et al. 2021.
    """
    scores = np.asarray(scores)
    if not np.issubdtype(scores.dtype, np.floating):
        scores = scores.astype(np.float64)
    largest = scores.max(axis=axis, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0).astype(scores.dtype)  # -inf - -inf is NaN
    with np.errstate(divide="ignore"):  # log(0) = -inf is the right answer for an empty slice
        result = np.log(np.exp(scores - largest).sum(axis=axis, keepdims=True)) + largest
    return np.squeeze(result, axis=axis)


def soft_lookup(query, keys, values, temperature=1.0):
    """Look a query up by likeness: a weighted sum of all values.

    query (d,) · keys (n, d) · values (n, d_v) -> (d_v,); row i of keys belongs to row i of values.
    temperature > 0: towards 0 the best key's value alone, towards infinity the mean of the values.
    Bahdanau et al. 2015 mix in this way; Luong et al. 2015 score by dot product.
    """
    scores = keys @ query / temperature  # (n,) how well each key fits
    weights = softmax(scores)  # (n,) positive, sum to one
    return weights @ values  # (d_v,) so much of each value


def self_attention(x):
    """Replace each token by a mixture of all tokens, weighted by their dot products.

    x (n, d) -> (n, d); softmax(x xT) x, no parameters and no scaling.
    """
    scores = x @ x.T  # (n, n), row = the token that looks, column = the token looked at
    weights = softmax(scores)  # (n, n), rows sum to one
    return weights @ x  # (n, d)


def project_qkv(x, w_q, w_k, w_v):
    """Give each token its question, its offer and what it hands over.

    x (..., n, d_model) · w_q, w_k (d_model, d_k) · w_v (d_model, d_v)
    Returns query (..., n, d_k), key (..., n, d_k), value (..., n, d_v).
    Raises ValueError naming both shapes when they do not fit. Vaswani et al. 2017, section 3.2.2.
    """
    for name, w in (("w_q", w_q), ("w_k", w_k), ("w_v", w_v)):
        _agree("x", x, -1, name, w, 0, "d_model")
    return x @ w_q, x @ w_k, x @ w_v


def scaled_scores(query, key):
    """Scores whose spread does not grow with the width: query keyT / sqrt(d_k).

    query (..., n_q, d_k) · key (..., n_k, d_k) -> (..., n_q, n_k); float dtypes are kept.
    Raises ValueError naming both shapes when they do not fit. Vaswani et al. 2017, eq. 1.
    """
    query, key = _floating(query), _floating(key)
    _agree("query", query, -1, "key", key, -1, "d_k")
    # math.sqrt, not np.sqrt: a NumPy float64 scalar would lift float32 scores to float64.
    return query @ np.swapaxes(key, -1, -2) / math.sqrt(query.shape[-1])


def padding_mask(lengths, max_len):
    """Which positions hold a token: True for the first lengths[i] of max_len, False for padding.

    lengths (batch,) integers from 0 to max_len -> (batch, max_len) bool.
    Raises ValueError when lengths has not one axis or a length does not fit.
    """
    lengths = np.asarray(lengths)
    if lengths.ndim != 1:
        raise ValueError(f"lengths must be (batch,), one an example; got shape {lengths.shape}.")
    if lengths.size and (lengths.min() < 0 or lengths.max() > max_len):
        raise ValueError(f"lengths must lie between 0 and max_len = {max_len}; got {lengths}.")
    return np.arange(max_len) < lengths[:, None]  # (1, max_len) < (batch, 1)


def causal_mask(n_q, n_k=None):
    """Which keys each query may see when no one looks ahead: (n_q, n_k) bool.

    The queries are the last n_q of n_k positions, so positions are compared, not indices: the mask
    is right with a cache too. n_k is n_q unless given. Raises ValueError when n_k < n_q.
    """
    n_k = n_q if n_k is None else n_k
    if n_k < n_q:
        raise ValueError(f"queries are among the keys' positions: n_k >= n_q; got {n_k} < {n_q}.")
    query_positions = np.arange(n_k - n_q, n_k)
    key_positions = np.arange(n_k)
    return key_positions <= query_positions[:, None]  # (n_q, n_k)


def boolean_to_additive(mask, dtype=np.float64):
    """The mask as numbers to be added to the scores: True -> 0, False -> -inf.

    mask (...) bool -> (...) of dtype.
    """
    return np.where(mask, 0.0, -np.inf).astype(dtype)


def additive_to_boolean(mask):
    """0 -> True, -inf or a large negative fill -> False: mask (...) of numbers -> (...) bool.

    Raises ValueError for a 0/1 mask, which added to scores hides nothing.
    """
    mask = np.asarray(mask)
    if (mask > 0).any():
        raise ValueError("an additive mask holds 0 and -inf; got positive numbers (a 0/1 mask?).")
    return mask == 0


def to_module_mask(mask):
    """The mask as torch's nn.MultiheadAttention reads it, True = hidden: (...) bool -> (...)."""
    return ~np.asarray(mask, dtype=bool)


def scaled_dot_product_attention(query, key, value, mask=None):
    """Mix values by how well each query matches each key.

    query (..., n_q, d_k) · key (..., n_k, d_k) · value (..., n_k, d_v)
    mask  broadcasts to (..., n_q, n_k), bool, True = may attend; a row of False gives zeros.
    Returns output (..., n_q, d_v), weights (..., n_q, n_k).
    Raises ValueError naming both shapes when they do not fit, TypeError for a mask not boolean.
    Vaswani et al. 2017, eq. 1.
    """
    value = _floating(value)
    _agree("key", key, -2, "value", value, -2, "n_k")
    scores = scaled_scores(query, key)  # (..., n_q, n_k)
    if mask is not None:
        scores = np.where(_boolean_mask(mask, scores), scores, scores.dtype.type(-np.inf))
    largest = scores.max(axis=-1, keepdims=True)
    largest = np.where(np.isneginf(largest), 0, largest).astype(scores.dtype)  # an empty row
    exponentials = np.exp(scores - largest)  # 0 where hidden
    total = exponentials.sum(axis=-1, keepdims=True)
    weights = exponentials / np.where(total == 0, 1, total).astype(scores.dtype)  # (..., n_q, n_k)
    return weights @ value, weights  # (..., n_q, d_v)


def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    """Several attentions side by side, each on its own columns, mixed by w_o at the end.

    x (..., n, d_model) · w_q, w_k, w_v, w_o (d_model, d_model) -> (..., n, d_model)
    Head h owns columns h*d_k ... (h+1)*d_k of the projections. A mask with as many axes as x or
    fewer is the same for all heads; one axis more is per head, (..., n_heads, n, n).
    Raises ValueError when n_heads does not divide the width or a shape does not fit, TypeError for
    a mask not boolean.
    Vaswani et al. 2017, section 3.2.2.
    """
    x = _floating(x)
    query, key, value = project_qkv(x, w_q, w_k, w_v)  # (..., n, d_model) each
    query, key, value = (_split_heads(part, n_heads) for part in (query, key, value))
    mask = _per_head_mask(mask, x)
    output, _ = scaled_dot_product_attention(query, key, value, mask)  # (..., n_heads, n, d_k)
    output = np.swapaxes(output, -3, -2)  # (..., n, n_heads, d_k)
    output = output.reshape(*output.shape[:-2], -1)  # (..., n, d_model), heads side by side
    _agree("the merged heads", output, -1, "w_o", w_o, 0, "width")
    return output @ w_o


# --- small helpers ------------------------------------------------------------------------------


def _floating(array):
    """Floats as they are, anything else as float64."""
    array = np.asarray(array)
    return array if np.issubdtype(array.dtype, np.floating) else array.astype(np.float64)


def _unit_rows(vectors):
    """Each row divided by its length; a row of zeros stays zeros."""
    vectors = _floating(vectors)
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)  # (n, 1)
    lengths[lengths == 0] = 1  # 0 / 1 = 0
    return vectors / lengths


def _agree(name_a, a, axis_a, name_b, b, axis_b, what):
    """Raise ValueError unless both have two axes or more, and these two the same length."""
    for name, array in ((name_a, a), (name_b, b)):
        if np.ndim(array) < 2:
            raise ValueError(
                f"{name} {np.shape(array)} must have at least two axes: write a single vector v "
                "as v[None, :]."
            )
    if np.shape(a)[axis_a] != np.shape(b)[axis_b]:
        raise ValueError(
            f"{name_a} {np.shape(a)} and {name_b} {np.shape(b)} must agree in {what}: axis "
            f"{axis_a} of {name_a} and axis {axis_b} of {name_b}."
        )


def _boolean_mask(mask, scores):
    """The mask, checked to be boolean and to fit the scores."""
    mask = np.asarray(mask)
    if mask.dtype != bool:
        raise TypeError(
            f"a mask must be boolean, True = may attend; got {mask.dtype}. A 0/1 number mask "
            "added to scores hides nothing: write mask.astype(bool)."
        )
    try:
        return np.broadcast_to(mask, scores.shape)
    except ValueError:
        raise ValueError(
            f"mask {mask.shape} does not broadcast to scores {scores.shape}, "
            "that is (..., n_q, n_k)."
        ) from None


def _split_heads(x, n_heads):
    """(..., n, width) -> (..., n_heads, n, width / n_heads)."""
    n, width = x.shape[-2:]
    if n_heads < 1 or width % n_heads:
        raise ValueError(f"n_heads must divide the width; got width {width}, n_heads {n_heads}.")
    x = x.reshape(*x.shape[:-2], n, n_heads, width // n_heads)
    return np.swapaxes(x, -3, -2)


def _per_head_mask(mask, x):
    """Give a mask its head axis unless it has one; refuse a bare (batch, n) padding mask."""
    if mask is None or np.ndim(mask) > x.ndim:
        return mask
    mask, n = np.asarray(mask), x.shape[-2]
    if x.ndim > 2 and mask.ndim == 2 and mask.shape[0] not in (1, n):
        raise ValueError(
            f"a mask of shape {mask.shape} is not (n, n) = ({n}, {n}); for a padding mask of shape "
            f"(batch, n) write mask[:, None, :], so that it hides keys."
        )
    return mask if mask.ndim < 2 else np.expand_dims(mask, -3)
