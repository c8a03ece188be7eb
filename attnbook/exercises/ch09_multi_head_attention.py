"""Chapter 9: multi_head_attention, MultiHeadSelfAttention, from_module_state, ablate_head."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from attnbook.exercises.compare import alike
from attnbook.exercises.exercise import Call, Exercise, Mistake, Probe, Result
from attnbook.numpy_attention import (
    causal_mask,
    padding_mask,
    scaled_dot_product_attention,
    softmax,
)
from attnbook.torch_attention import merge_heads, split_heads

CHAPTER = "09-multi-head-attention"

# Headings of the chapter, for `read=`.
WHAT_A_HEAD_IS = "What a head is"
ONE_PRODUCT = "From a loop to one product"
SPLIT_TRAP = "The wrong way first: reshape without transpose"
W_O = "w_o mixes the heads"
MASKS = "One mask for all heads"
MODULE = "The layer as a module"
IMPORT = "Weights in and out"
ABLATION = "Switch one head off"


# --- 9.1 multi_head_attention -----------------------------------------------------------------


def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    """Several attentions side by side, each on its own columns, mixed by w_o at the end."""
    *lead, n, d_model = x.shape
    d_k = d_model // n_heads

    def heads_of(w):
        projected = (x @ w).reshape(*lead, n, n_heads, d_k)  # a token's columns, in groups
        return np.swapaxes(projected, -3, -2)  # (..., n_heads, n, d_k)

    query, key, value = heads_of(w_q), heads_of(w_k), heads_of(w_v)
    if mask is not None:
        mask = np.expand_dims(mask, -3)  # (..., 1, n, n): the same for all heads
    output, _ = scaled_dot_product_attention(query, key, value, mask)  # (..., n_heads, n, d_k)
    merged = np.swapaxes(output, -3, -2).reshape(*lead, n, d_model)  # heads side by side again
    return merged @ w_o  # (..., n, d_model)


def _split(x, n_heads):
    x = x.reshape(*x.shape[:-1], n_heads, -1)
    return np.swapaxes(x, -3, -2)


def _merge(heads):
    heads = np.swapaxes(heads, -3, -2)
    return heads.reshape(*heads.shape[:-2], -1)


def _head_axis(mask, x, n_heads):
    return None if mask is None else np.expand_dims(mask, -3)


def _weigh(scores, mask):
    return softmax(scores if mask is None else np.where(mask, scores, -np.inf))


def _wrong(
    project=lambda x, w: x @ w,
    split=_split,
    merge=_merge,
    roles=lambda q, k, v: (q, k, v),
    scale=lambda d_model, d_k: math.sqrt(d_k),
    mask_for=_head_axis,
    weigh=_weigh,
    out=lambda merged, w_o: merged @ w_o,
):
    """Multi-head attention with one step replaced."""

    def wrong(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
        q, k, v = (split(project(x, w), n_heads) for w in (w_q, w_k, w_v))
        q, k, v = roles(q, k, v)
        scores = q @ np.swapaxes(k, -2, -1) / scale(x.shape[-1], x.shape[-1] // n_heads)
        return out(merge(weigh(scores, mask_for(mask, x, n_heads)) @ v), w_o)

    return wrong


def _split_by_reshape(x, n_heads):
    *lead, n, d_model = x.shape
    return x.reshape(*lead, n_heads, n, d_model // n_heads)


def _merge_by_reshape(heads):
    *lead, n_heads, n, d_k = heads.shape
    return heads.reshape(*lead, n, n_heads * d_k)


def _split_interleaved(x, n_heads):
    *lead, n, d_model = x.shape
    return np.moveaxis(x.reshape(*lead, n, d_model // n_heads, n_heads), -1, -3)


def _merge_interleaved(heads):
    *lead, n_heads, n, d_k = heads.shape
    return np.moveaxis(heads, -3, -1).reshape(*lead, n, n_heads * d_k)


def _split_first_only(x, n_heads):
    return np.repeat(_split(x, n_heads)[..., :1, :, :], n_heads, axis=-3)


def _weigh_over(axis):
    def weigh(scores, mask):
        return softmax(scores if mask is None else np.where(mask, scores, -1e30), axis)

    return weigh


def _weigh_jointly(scores, mask):
    scores = scores if mask is None else np.where(mask, scores, -np.inf)
    exponentials = np.exp(scores - scores.max(axis=(-2, -1), keepdims=True))
    return exponentials / exponentials.sum(axis=(-2, -1), keepdims=True)


def _masked_afterwards(scores, mask):
    return softmax(scores) if mask is None else softmax(scores) * mask


def _masked_to_zero(scores, mask):
    return softmax(scores if mask is None else scores * mask)


def _mask_added(scores, mask):
    return softmax(scores if mask is None else scores + mask)


def _weigh_naively(scores, mask):
    exponentials = np.exp(scores if mask is None else np.where(mask, scores, -np.inf))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def _inverted(mask, x, n_heads):
    return None if mask is None else ~np.expand_dims(mask, -3)


def _inverted_with_zeros(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    """As with chapter 7's function, which gives zeros where nothing may be seen."""
    return multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads, None if mask is None else ~mask)


def _transposed_mask(mask, x, n_heads):
    if mask is None:
        return None
    full = np.broadcast_to(mask, (*x.shape[:-1], x.shape[-2]))
    return np.expand_dims(np.swapaxes(full, -1, -2), -3)


def _mask_of_the_first(mask, x, n_heads):
    if mask is None:
        return None
    full = np.broadcast_to(mask, (*x.shape[:-1], x.shape[-2]))
    return full.reshape(-1, *full.shape[-2:])[0]


def _axis_after_the_first(mask, x, n_heads):
    return None if mask is None else mask[:, None]


def _filled_with_ten(scores, mask):
    return softmax(scores if mask is None else np.where(mask, scores, -10.0))


def _one_sentence_only(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    n, d_model = x.shape
    return multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads, mask)


def _one_batch_axis_only(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    batch, n, d_model = x.shape
    return multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads, mask)


def _mask_as_it_is(mask, x, n_heads):
    return mask


def _mask_in_another_order(mask, x, n_heads):
    """Batch and heads flattened as (batch, heads), the masks repeated as (heads, batch)."""
    if mask is None:
        return None
    *lead, n, _ = x.shape
    full = np.broadcast_to(mask, (*lead, n, n)).reshape(-1, n, n)
    return np.tile(full, (n_heads, 1, 1)).reshape(*lead, n_heads, n, n)


def _always_causal(mask, x, n_heads):
    causal = causal_mask(x.shape[-2])
    return causal if mask is None else np.expand_dims(mask, -3) & causal


def _mask_ignored(mask, x, n_heads):
    return None


def _across_the_batch(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    *lead, n, d_model = x.shape
    flat = x.reshape(-1, d_model)
    allowed = None
    if mask is not None:
        full = np.broadcast_to(mask, (*lead, n, n)).reshape(-1, n, n)
        allowed = np.tile(full.reshape(-1, n), (1, len(full)))
    result = multi_head_attention(flat, w_q, w_k, w_v, w_o, n_heads, allowed)
    return result.reshape(x.shape)


def _one_head(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    return multi_head_attention(x, w_q, w_k, w_v, w_o, 1, mask)


def _heads_averaged(heads):
    return np.concatenate([heads.mean(axis=-3)] * heads.shape[-3], axis=-1)


def _input_split(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    """Each head sees only its own slice of the input."""
    d_k = x.shape[-1] // n_heads
    parts = []
    for h in range(n_heads):
        own = slice(h * d_k, (h + 1) * d_k)
        q, k, v = (x[..., own] @ w[own, own] for w in (w_q, w_k, w_v))
        parts.append(_weigh(q @ np.swapaxes(k, -2, -1) / math.sqrt(d_k), mask) @ v)
    return np.concatenate(parts, axis=-1) @ w_o


def _weights(rng, d_model):
    return tuple(rng.normal(size=(d_model, d_model)) for _ in range(4))


def _some_true(rng, *shape):
    """A random mask with its diagonal True: no row is empty."""
    return (rng.random(shape) < 0.5) | np.eye(shape[-1], dtype=bool)


def _case(rng, lead, n, d_model, n_heads, mask=None, times=1.0):
    x = rng.normal(size=(*lead, n, d_model)) * times
    return Call((x, *_weights(rng, d_model), n_heads), {} if mask is None else {"mask": mask})


def _one_sentence(rng):
    return [
        _case(rng, (), 3, 2, 2),
        _case(rng, (), 2, 3, 3),
        _case(rng, (), 5, 6, 2),
        _case(rng, (), 4, 10, 5),
        _case(rng, (), 3, 8, 1),
    ]


def _batches(rng):
    return [
        _case(rng, (2,), 5, 12, 3),
        _case(rng, (5,), 4, 6, 2),
        _case(rng, (3,), 2, 20, 5),
        _case(rng, (2, 3), 4, 10, 5),
        _case(rng, (4,), 1, 6, 3),
    ]


def _one_token(rng):
    return [_case(rng, (), 1, 2, 2), _case(rng, (), 1, 6, 3)]


def _columns(rng):
    """Identity projections show which column belongs to which head."""
    calls = []
    for n, d_model, n_heads in ((3, 4, 2), (5, 12, 3)):
        x = rng.normal(size=(n, d_model))
        eye = np.eye(d_model)
        calls.append(Call((x, eye, eye, eye, eye, n_heads)))
        calls.append(Call((x, eye, eye, eye, 2 * eye[::-1], n_heads)))
    return calls


def _shared_masks(rng):
    return [
        _case(rng, (), 3, 2, 2, causal_mask(3)),
        _case(rng, (), 4, 6, 3, _some_true(rng, 4, 4)),
        _case(rng, (2,), 5, 12, 3, causal_mask(5)),
        _case(rng, (3,), 4, 10, 5, np.eye(4, dtype=bool)),
    ]


def _masks_per_example(rng):
    lengths = padding_mask([2, 5], 5)[:, None, :]
    three = padding_mask([4, 1, 3], 4)[:, None, :]
    return [
        _case(rng, (2,), 5, 12, 3, lengths),
        _case(rng, (2,), 5, 12, 3, lengths & causal_mask(5)),
        _case(rng, (3,), 4, 6, 2, three),
        _case(rng, (5,), 3, 8, 4, _some_true(rng, 5, 3, 3)),
        _case(rng, (3,), 4, 12, 3, three & _some_true(rng, 3, 4, 4) | np.eye(4, dtype=bool)),
        _case(rng, (2, 3), 4, 10, 5, _some_true(rng, 2, 3, 4, 4)),
    ]


def _large(rng):
    return [
        _case(rng, (), 3, 2, 2, times=100.0),
        _case(rng, (2,), 5, 12, 4, causal_mask(5), times=300.0),
    ]


def _float32(rng):
    calls = [_case(rng, (), 3, 2, 2), _case(rng, (2,), 5, 12, 3, causal_mask(5))]
    return [
        Call(
            tuple(a.astype(np.float32) if isinstance(a, np.ndarray) else a for a in c.args),
            c.kwargs,
        )
        for c in calls
    ]


_SPLIT_SAYS = (
    "You cut the array into heads with `reshape` alone. That fills head after head with whatever "
    "numbers come next in memory, so a head gets columns of several tokens mixed up."
)
_MERGE_SAYS = (
    "After attention you go back to (…, n, d_model) with `reshape` alone. The heads are still in "
    "front of the tokens there, so a token's row is filled with numbers of other tokens."
)

MULTI_HEAD_ATTENTION = Exercise(
    id="multi_head_attention",
    number="9.1",
    chapter=CHAPTER,
    signature="multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads, mask=None)",
    summary="several attentions side by side, mixed by w_o, with a mask for all heads",
    difficulty=3,
    minutes=25,
    points=4,
    solution=multi_head_attention,
    returns=("output",),
    read=ONE_PRODUCT,
    hints=(
        "Get it right for one sentence first, with a loop over the heads: head `h` uses the columns "
        "`h * d_k : (h + 1) * d_k` of `x @ w_q`, `x @ w_k` and `x @ w_v`. Put the outputs side by "
        "side with `np.concatenate(…, axis=-1)`, then multiply by `w_o`. This works with a batch "
        "too, if you index with `[..., start:stop]`.",
        "Without the loop: `(x @ w).reshape(*x.shape[:-1], n_heads, d_k)`, then "
        "`np.swapaxes(…, -3, -2)`. The mask needs an axis for the heads: `mask[..., None, :, :]`.",
        "`output, _ = scaled_dot_product_attention(query, key, value, mask)` does all heads at once. "
        "Then go back the way you came: `np.swapaxes(output, -3, -2).reshape(x.shape) @ w_o`.",
    ),
    probes=(
        Probe(
            "one sentence",
            "one sentence, no mask: head h attends with columns h·d_k to (h+1)·d_k of the "
            "projections",
            _one_sentence,
            cause="Compare with the loop over heads: project, slice the columns, attend, concatenate, "
            "multiply by w_o.",
            read=WHAT_A_HEAD_IS,
        ),
        Probe(
            "one token",
            "a sentence of one token gives x @ w_v @ w_o: there is nobody else to look at",
            _one_token,
            cause="With one token every weight is 1, so scores and softmax cannot matter here.",
            read=W_O,
        ),
        Probe(
            "columns",
            "with identity matrices for the projections each head keeps its own block of columns",
            _columns,
            cause="Head h owns a contiguous block of columns, and hands back the same block.",
            read=WHAT_A_HEAD_IS,
        ),
        Probe(
            "batch",
            "sentences in a batch, with one or two axes in front, do not see each other",
            _batches,
            cause="Count axes from the end (-1, -2, -3), so that any number may stand in front.",
        ),
        Probe(
            "one mask for all",
            "a mask of shape (n, n) holds for every head and every sentence",
            _shared_masks,
            cause="Where the mask is False the weight must be exactly 0, in every head.",
            read=MASKS,
        ),
        Probe(
            "a mask for each sentence",
            "masks of shape (batch, 1, n) and (batch, n, n): each sentence has its own",
            _masks_per_example,
            cause="The mask has an axis for the batch, the scores have batch and heads: insert the "
            "heads axis with `mask[..., None, :, :]`.",
            read=MASKS,
        ),
        Probe(
            "large scores",
            "scores of many thousands give finite output, and hidden keys stay hidden",
            _large,
            cause="The softmax must subtract the largest score of each row first, and hidden scores "
            "must be −∞, or far below anything that can occur.",
        ),
        Probe(
            "dtype",
            "float32 in, float32 out",
            _float32,
            cause="`np.sqrt(d_k)` is a NumPy float64 and lifts float32 scores to float64; "
            "`math.sqrt(d_k)` does not. New arrays need `dtype=x.dtype`.",
            read=ONE_PRODUCT,
        ),
    ),
    mistakes=(
        Mistake(
            "reshape instead of transpose at the split",
            _wrong(split=_split_by_reshape),
            _SPLIT_SAYS,
            "Reshape to (…, n, n_heads, d_k), which only cuts each token's row, then swap the axes of "
            "tokens and heads.",
            SPLIT_TRAP,
        ),
        Mistake(
            "merged without transposing back",
            _wrong(merge=_merge_by_reshape),
            _MERGE_SAYS,
            "Swap tokens and heads back first: `np.swapaxes(output, -3, -2)`, then reshape.",
            SPLIT_TRAP,
        ),
        Mistake(
            "reshape instead of transpose, both ways",
            _wrong(split=_split_by_reshape, merge=_merge_by_reshape),
            "Both on the way in and on the way out you reshape without swapping axes. The two do not "
            "cancel: in between, tokens attended to pieces of other tokens.",
            "In: reshape to (…, n, n_heads, d_k), then swap. Out: swap, then reshape.",
            SPLIT_TRAP,
        ),
        Mistake(
            "scaled by the width of the model",
            _wrong(scale=lambda d_model, d_k: math.sqrt(d_model)),
            "You divide the scores by √d_model. Each head's dot products have only d_k terms.",
            "Divide by `math.sqrt(d_k)` with `d_k = d_model // n_heads`.",
            WHAT_A_HEAD_IS,
        ),
        Mistake(
            "not scaled",
            _wrong(scale=lambda d_model, d_k: 1.0),
            "The scores are not divided by √d_k.",
            "Divide by `math.sqrt(d_k)` with `d_k = d_model // n_heads`.",
            WHAT_A_HEAD_IS,
        ),
        Mistake(
            "divided by d_k without the root",
            _wrong(scale=lambda d_model, d_k: d_k),
            "You divide the scores by d_k; it should be its square root.",
            "Use `math.sqrt(d_k)`.",
            WHAT_A_HEAD_IS,
        ),
        Mistake(
            "interleaved heads",
            _wrong(split=_split_interleaved, merge=_merge_interleaved),
            "Your head h owns the columns h, h + n_heads, h + 2·n_heads … In this course (and in "
            "PyTorch) it owns a block of neighbouring columns.",
            "Reshape the last axis to (n_heads, d_k), in this order, not (d_k, n_heads).",
            WHAT_A_HEAD_IS,
        ),
        Mistake(
            "heads interleaved at the split only",
            _wrong(split=_split_interleaved),
            "On the way in the last axis is cut as (d_k, n_heads), on the way out as (n_heads, d_k): "
            "the columns come back in another order.",
            "Cut it as (n_heads, d_k) both ways.",
            WHAT_A_HEAD_IS,
        ),
        Mistake(
            "heads interleaved at the merge only",
            _wrong(merge=_merge_interleaved),
            "On the way in the last axis is cut as (n_heads, d_k), on the way out as (d_k, n_heads): "
            "the columns come back in another order.",
            "Swap tokens and heads back, nothing else, and reshape to (…, n, d_model).",
            WHAT_A_HEAD_IS,
        ),
        Mistake(
            "w_o missing",
            _wrong(out=lambda merged, w_o: merged),
            "You return the heads side by side; they are not multiplied by w_o.",
            "The last line is `merged @ w_o`.",
            W_O,
        ),
        Mistake(
            "weights transposed",
            _wrong(project=lambda x, w: x @ w.T, out=lambda merged, w_o: merged @ w_o.T),
            "You multiply by the transposed matrices. That is how nn.Linear stores its weight; here "
            "the matrices are (in, out), so it is `x @ w_q`.",
            "Leave out the `.T`.",
            WHAT_A_HEAD_IS,
        ),
        Mistake(
            "output matrix transposed",
            _wrong(out=lambda merged, w_o: merged @ w_o.T),
            "The heads side by side are multiplied by the transpose of w_o.",
            "The last line is `merged @ w_o`: the columns of the merged heads meet the rows of w_o.",
            W_O,
        ),
        Mistake(
            "softmax over the queries",
            _wrong(weigh=_weigh_over(-2)),
            "The softmax runs along the axis of queries: columns sum to one where rows should.",
            "The weights of one query over all keys sum to one: `axis=-1`.",
        ),
        Mistake(
            "softmax over the heads",
            _wrong(weigh=_weigh_over(-3)),
            "The softmax runs along the axis of heads, so that the heads compete for each pair of "
            "tokens.",
            "Each head shares out its own weights over the keys: `axis=-1`.",
        ),
        Mistake(
            "one softmax for the whole table",
            _wrong(weigh=_weigh_jointly),
            "The softmax runs over all pairs of a head at once: the whole table sums to one.",
            "Each row sums to one by itself: `axis=-1`.",
        ),
        Mistake(
            "mask inverted",
            _wrong(mask_for=_inverted),
            "The mask is read the wrong way round: what may be seen is hidden.",
            "True = may attend. Hide where the mask is False.",
            MASKS,
        ),
        Mistake(
            "mask inverted, empty rows zero",
            _inverted_with_zeros,
            "The mask is read the wrong way round: what may be seen is hidden.",
            "True = may attend. Hide where the mask is False.",
            MASKS,
        ),
        Mistake(
            "mask transposed",
            _wrong(mask_for=_transposed_mask),
            "Rows and columns of the mask are swapped: rows are queries, columns are keys.",
            "Use the mask as it comes, with an axis inserted for the heads.",
            MASKS,
        ),
        Mistake(
            "mask of the first sentence for all",
            _wrong(mask_for=_mask_of_the_first),
            "Every sentence gets the mask of the first one.",
            "Keep the batch axis of the mask: `mask[..., None, :, :]`, not `mask[0]`.",
            MASKS,
        ),
        Mistake(
            "mask without an axis for the heads",
            _wrong(mask_for=_mask_as_it_is),
            "The mask (batch, n, n) meets the scores (batch, n_heads, n, n) as it is. NumPy lines "
            "axes up from the right, so the batch axis of the mask falls on the heads: an error, or, "
            "with as many sentences as heads, a silent mix-up.",
            "Insert an axis of length one before the last two: `mask[..., None, :, :]`.",
            MASKS,
        ),
        Mistake(
            "masks in another order than the heads",
            _wrong(mask_for=_mask_in_another_order),
            "Batch and heads are flattened into one axis, sentence by sentence, but the masks are "
            "repeated as a whole, head by head. Sentences get each other's masks.",
            "Do not repeat the mask at all: an axis of length one, `mask[..., None, :, :]`, fits "
            "every head.",
            MASKS,
        ),
        Mistake(
            "mask ignored",
            _wrong(mask_for=_mask_ignored),
            "The result is the same with and without a mask.",
            "Hand the mask on, with an axis inserted for the heads.",
            MASKS,
        ),
        Mistake(
            "always causal",
            _wrong(mask_for=_always_causal),
            "No token ever sees a later one, also when no mask is given.",
            "Hide only what the mask hides.",
            MASKS,
        ),
        Mistake(
            "mask after the softmax",
            _wrong(weigh=_masked_afterwards),
            "The weights are set to zero after the softmax, so the rows no longer sum to one.",
            "Set the hidden scores to −∞ before the softmax.",
            MASKS,
        ),
        Mistake(
            "hidden scores set to zero",
            _wrong(weigh=_masked_to_zero),
            "Hidden scores become 0, and exp(0) is 1: hidden keys keep a weight.",
            "Set them to −∞: `np.where(mask, scores, -np.inf)`.",
            MASKS,
        ),
        Mistake(
            "boolean mask added",
            _wrong(weigh=_mask_added),
            "The boolean mask is added to the scores, which adds 1 where it is True and hides nothing.",
            "Use `np.where(mask, scores, -np.inf)`.",
            MASKS,
        ),
        Mistake(
            "finite fill too small",
            _wrong(weigh=_filled_with_ten),
            "Hidden scores are set to a number such as −10 or −10 000. Scores that lie below it are "
            "beaten by the hidden ones.",
            "Set them to −∞: `np.where(mask, scores, -np.inf)`.",
            MASKS,
        ),
        Mistake(
            "axis for the heads at a fixed place",
            _wrong(mask_for=_axis_after_the_first),
            "`mask[:, None]` puts the new axis after the first one. That is right for (batch, n, n) "
            "and wrong for (n, n), which becomes (n, 1, n).",
            "Count from the end: `mask[..., None, :, :]`, or `np.expand_dims(mask, -3)`.",
            MASKS,
        ),
        Mistake(
            "one sentence only",
            _one_sentence_only,
            "It works for a single sentence (n, d_model) and fails when axes stand in front of it.",
            "Read the last two sizes only, `n, d_model = x.shape[-2:]`, and index with "
            "`[..., start:stop]`.",
            ONE_PRODUCT,
        ),
        Mistake(
            "exactly one batch axis",
            _one_batch_axis_only,
            "It works for (batch, n, d_model) only: a single sentence, or two axes in front, fail.",
            "Keep whatever stands in front: `*lead, n, d_model = x.shape`, and swap the axes -3 and "
            "-2.",
            ONE_PRODUCT,
        ),
        Mistake(
            "attention across the batch",
            _across_the_batch,
            "Tokens of different sentences attend to each other: batch and tokens share one axis.",
            "Only the last two axes may take part in the product of queries and keys.",
        ),
        Mistake(
            "all heads use the first block",
            _wrong(split=_split_first_only),
            "Every head works on the first d_k columns: all heads are the same.",
            "Head h takes the columns h·d_k to (h+1)·d_k.",
            WHAT_A_HEAD_IS,
        ),
        Mistake(
            "one head only",
            _one_head,
            "The result is that of a single head as wide as the model: n_heads makes no difference.",
            "Split the projections into n_heads blocks of columns before the product.",
            WHAT_A_HEAD_IS,
        ),
        Mistake(
            "heads averaged",
            _wrong(merge=_heads_averaged),
            "The heads are averaged, so that each loses what it alone had found.",
            "Put them side by side: the merged row is head 0, head 1, … one after the other.",
            WHAT_A_HEAD_IS,
        ),
        Mistake(
            "input cut instead of the projections",
            _input_split,
            "Each head sees only its own slice of the input, and uses only a block of each matrix. "
            "Every head reads the whole token; what is cut is the *projection*.",
            "Multiply the whole x by the whole w_q first, then take the columns of the head.",
            WHAT_A_HEAD_IS,
        ),
        Mistake(
            "query and key swapped",
            _wrong(roles=lambda q, k, v: (k, q, v)),
            "Queries and keys have changed places: the table of scores is transposed.",
            "It is `query @ key.T` in each head: rows are queries.",
        ),
        Mistake(
            "keys mixed instead of values",
            _wrong(roles=lambda q, k, v: (q, k, k)),
            "The weights mix the keys; they should mix the values.",
            "Multiply the weights by the value projection.",
        ),
        Mistake(
            "naive softmax",
            _wrong(weigh=_weigh_naively),
            "`exp` of large scores overflows, and infinity divided by infinity is NaN.",
            "Call `scaled_dot_product_attention` of chapter 7, which subtracts the largest score first.",
            ONE_PRODUCT,
        ),
    ),
)


# --- 9.2 MultiHeadSelfAttention ---------------------------------------------------------------


class MultiHeadSelfAttention(nn.Module):
    """Masked multi-head self-attention: x (batch, n, d_model) -> (batch, n, d_model)."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        query = split_heads(self.w_q(x), self.n_heads)  # (batch, n_heads, n, d_k)
        key = split_heads(self.w_k(x), self.n_heads)
        value = split_heads(self.w_v(x), self.n_heads)
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(-3), -math.inf)  # a mask for all heads
        output = scores.softmax(dim=-1) @ value  # (batch, n_heads, n, d_k)
        return self.w_o(merge_heads(output))  # (batch, n, d_model)


def _module_split_by_view(x, n_heads):
    batch, n, d_model = x.shape
    return x.reshape(batch, n_heads, n, d_model // n_heads)


def _module_merge_by_view(x):
    batch, n_heads, n, d_k = x.shape
    return x.reshape(batch, n, n_heads * d_k)


def _module_split_interleaved(x, n_heads):
    batch, n, d_model = x.shape
    return x.reshape(batch, n, d_model // n_heads, n_heads).permute(0, 3, 1, 2)


def _module_merge_interleaved(x):
    return x.permute(0, 2, 3, 1).flatten(2)


def _module_first_only(x, n_heads):
    return split_heads(x, n_heads)[:, :1].expand(-1, n_heads, -1, -1)


def _module_hide(scores, mask):
    return scores if mask is None else scores.masked_fill(~mask, -math.inf)


def _module_mask(mask, x, n_heads):
    return None if mask is None else mask.unsqueeze(-3)


def _full(mask, x):
    return mask.expand(x.shape[0], x.shape[1], x.shape[1])


def _module_repeated(mask, x, n_heads):
    """As many masks as (batch, heads), but in the order (heads, batch)."""
    if mask is None:
        return None
    batch, n = x.shape[:2]
    return _full(mask, x).repeat(n_heads, 1, 1).view(batch, n_heads, n, n)


def _module_causal(mask, x, n_heads):
    causal = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).tril()
    return causal if mask is None else mask.unsqueeze(-3) & causal


class _Projections(nn.Module):
    """What all wrong modules share: the four projections."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        for name in ("w_q", "w_k", "w_v", "w_o"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=self.bias))

    bias = True


def _wrong_module(
    split: Callable = split_heads,
    merge: Callable = merge_heads,
    roles: Callable = lambda q, k, v: (q, k, v),
    scale: Callable = lambda d_model, d_k: math.sqrt(d_k),
    mask_for: Callable = _module_mask,
    weigh: Callable = lambda scores, mask: _module_hide(scores, mask).softmax(-1),
    out: Callable = lambda module, merged: module.w_o(merged),
    bias: bool = True,
) -> type:
    """A class of modules with one step replaced."""

    def forward(self, x, mask=None):
        q, k, v = (split(w(x), self.n_heads) for w in (self.w_q, self.w_k, self.w_v))
        q, k, v = roles(q, k, v)
        scores = q @ k.transpose(-2, -1) / scale(x.shape[-1], x.shape[-1] // self.n_heads)
        return out(self, merge(weigh(scores, mask_for(mask, x, self.n_heads)) @ v))

    return type("MultiHeadSelfAttention", (_Projections,), {"forward": forward, "bias": bias})


class _AcrossTheBatch(_Projections):
    """Batch and tokens take each other's place, as with a layer that wants (n, batch, d_model)."""

    def forward(self, x, mask=None):
        x = x.transpose(0, 1)
        q, k, v = (split_heads(w(x), self.n_heads) for w in (self.w_q, self.w_k, self.w_v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        return self.w_o(merge_heads(scores.softmax(-1) @ v)).transpose(0, 1)


class _DropoutInTraining(_Projections):
    """Dropout on the weights that looks at the mode, as most published layers have it."""

    def forward(self, x, mask=None):
        q, k, v = (split_heads(w(x), self.n_heads) for w in (self.w_q, self.w_k, self.w_v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        weights = _module_hide(scores, _module_mask(mask, x, self.n_heads)).softmax(-1)
        weights = F.dropout(weights, 0.1, training=self.training)
        return self.w_o(merge_heads(weights @ v))


class _LengthRemembered(_Projections):
    """A causal-or-not table made at the first call and kept."""

    n = None

    def forward(self, x, mask=None):
        if self.n is None:
            self.n = x.shape[1]
        batch, _, d_model = x.shape
        shape = (batch, self.n, self.n_heads, d_model // self.n_heads)
        q, k, v = (w(x).reshape(shape).transpose(1, 2) for w in (self.w_q, self.w_k, self.w_v))
        scores = _module_hide(
            q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]),
            mask if mask is None else mask.unsqueeze(-3),
        )
        return self.w_o((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, self.n, d_model))


class _MaskRemembered(_Projections):
    """The first mask it gets is kept for all later calls."""

    mask = None

    def forward(self, x, mask=None):
        self.mask = mask if self.mask is None else self.mask
        q, k, v = (split_heads(w(x), self.n_heads) for w in (self.w_q, self.w_k, self.w_v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        kept = None if self.mask is None else self.mask.unsqueeze(-3)
        return self.w_o(merge_heads(_module_hide(scores, kept).softmax(-1) @ v))


class _NoGradients(MultiHeadSelfAttention):
    """All of forward under no_grad."""

    def forward(self, x, mask=None):
        with torch.no_grad():
            return super().forward(x, mask)


class _Frozen(MultiHeadSelfAttention):
    """The output projection asks for no gradient."""

    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.w_o.requires_grad_(False)


class _NoSuper(MultiHeadSelfAttention):
    """super().__init__() is not called before the layers are made."""

    def __init__(self, d_model, n_heads):
        self.n_heads = n_heads
        self.w_q = nn.Linear(d_model, d_model)


class _InputAdded(MultiHeadSelfAttention):
    """With the residual path of a transformer block."""

    def forward(self, x, mask=None):
        return x + super().forward(x, mask)


class _ProjectionsUnused(_Projections):
    """Queries, keys and values are the input itself."""

    def forward(self, x, mask=None):
        parts = split_heads(x, self.n_heads)
        scores = parts @ parts.transpose(-2, -1) / math.sqrt(parts.shape[-1])
        weights = _module_hide(scores, _module_mask(mask, x, 0)).softmax(-1)
        return self.w_o(merge_heads(weights @ parts))


def _module_causal_by_default(mask, x, n_heads):
    return _module_causal(None, x, n_heads) if mask is None else mask.unsqueeze(-3)


class _OneLayerForAll(nn.Module):
    """Query, key and value from one fused layer with a name of its own."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.w_qkv = nn.Linear(d_model, 3 * d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        q, k, v = (split_heads(part, self.n_heads) for part in self.w_qkv(x).chunk(3, dim=-1))
        scores = _module_hide(
            q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), _module_mask(mask, x, 0)
        )
        return self.w_o(merge_heads(scores.softmax(-1) @ v))


class _NarrowProjections(_Projections):
    """One narrow projection, used by every head."""

    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        for name in ("w_q", "w_k", "w_v"):
            setattr(self, name, nn.Linear(d_model, d_model // n_heads))

    def forward(self, x, mask=None):
        q, k, v = self.w_q(x), self.w_k(x), self.w_v(x)
        scores = _module_hide(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), mask)
        return self.w_o((scores.softmax(-1) @ v).repeat(1, 1, self.n_heads))


class _FromTheLibrary(nn.Module):
    """PyTorch's own module inside, under its own names."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.attention = nn.MultiheadAttention(d_model, n_heads, batch_first=True)

    def forward(self, x, mask=None):
        return self.attention(x, x, x, attn_mask=mask)[0]


def _random_results(call: Call, result: Result) -> bool:
    """The first and the last use of a module have the same input and another result.

    A call with a single use says nothing either way.
    """
    values = result.value
    if "calls" not in call.options:
        return isinstance(values, np.ndarray)
    if not isinstance(values, tuple) or len(values) < 2:
        return False
    return not alike(Result(values[0]), Result(values[-1]))


def _random_in_training(call: Call, result: Result) -> bool:
    return call.options.get("train", False) and _random_results(call, result)


NAMES = ("w_q", "w_k", "w_v", "w_o")


def _state(rng: np.random.Generator, d_model: int) -> dict[str, np.ndarray]:
    state = {}
    for name in NAMES:
        state[f"{name}.weight"] = rng.normal(size=(d_model, d_model)) / math.sqrt(d_model)
        state[f"{name}.bias"] = rng.normal(size=d_model)
    return state


def _uses(rng, d_model: int, n_heads: int, *inputs: tuple, **options: Any) -> Call:
    """Uses one module on each (batch, n, mask), and on the first once more at the end."""
    dtype = options.get("dtype", "float64")
    times = options.pop("times", 1.0)
    calls = []
    for batch, n, mask in inputs:
        x = (rng.normal(size=(batch, n, d_model)) * times).astype(dtype)
        calls.append(((x,) if mask is None else (x, mask), {}))
    state = {name: array.astype(dtype) for name, array in _state(rng, d_model).items()}
    options |= {"init": (d_model, n_heads), "state": state, "calls": [*calls, calls[0]]}
    return Call(how="module", options=options)


def _small_use(rng) -> Call:
    """One use, so that the message shows one result."""
    x = rng.normal(size=(1, 3, 2))
    return Call((x,), how="module", options={"init": (2, 2), "state": _state(rng, 2)})


def _parameters(rng):
    return [
        Call(how="module", options={"init": init, "report": "parameters"})
        for init in ((2, 1), (12, 3))
    ]


def _module_plain(rng):
    return [
        _small_use(rng),
        _uses(rng, 6, 2, (4, 5, None)),
        _uses(rng, 12, 4, (2, 5, None)),
    ]


def _module_one_token(rng):
    return [_uses(rng, 6, 3, (8, 1, None))]


def _module_masks(rng):
    padding = padding_mask([2, 5], 5)[:, None, :]
    own = padding_mask([4, 1, 3], 4)[:, None, :]
    return [
        _uses(rng, 2, 2, (1, 3, causal_mask(3))),
        _uses(rng, 12, 3, (2, 5, padding)),
        _uses(rng, 12, 4, (2, 5, padding & causal_mask(5))),
        _uses(rng, 12, 3, (3, 4, own & causal_mask(4))),  # as many sentences as heads
        _uses(rng, 6, 2, (5, 4, _some_true(rng, 5, 4, 4))),
    ]


def _module_again(rng):
    padding = padding_mask([3, 1, 2, 3], 3)[:, None, :]
    return [
        _uses(rng, 10, 5, (2, 4, None), (3, 7, None), (4, 3, None)),
        _uses(rng, 12, 3, (2, 5, causal_mask(5)), (4, 3, padding), (1, 6, None)),
    ]


def _module_gradients(rng):
    inputs = (2, 5, padding_mask([3, 5], 5)[:, None, :] & causal_mask(5))
    return [_uses(rng, 6, 3, inputs, report="gradients")]


def _module_large(rng):
    return [_uses(rng, 12, 3, (2, 4, causal_mask(4)), times=1000.0)]


def _module_training(rng):
    return [_uses(rng, 12, 3, (2, 5, causal_mask(5)), train=True)]


def _module_float32(rng):
    return [_uses(rng, 12, 3, (2, 5, causal_mask(5)), dtype="float32")]


MULTI_HEAD_SELF_ATTENTION = Exercise(
    id="MultiHeadSelfAttention",
    number="9.2",
    chapter=CHAPTER,
    signature="MultiHeadSelfAttention(d_model, n_heads)",
    summary="the layer as a PyTorch module, with causal and padding masks",
    difficulty=3,
    minutes=25,
    points=5,
    kind="class",
    library="torch",
    solution=MultiHeadSelfAttention,
    read=MODULE,
    hints=(
        "`__init__` makes four `nn.Linear(d_model, d_model)` and keeps `n_heads`; call "
        "`super().__init__()` first. `forward` is exercise 9.1 with `self.w_q(x)` in place of "
        "`x @ w_q`.",
        "`split_heads(self.w_q(x), self.n_heads)` gives (batch, n_heads, n, d_k). The mask needs an "
        "axis for the heads, `mask.unsqueeze(-3)`; hide with `scores.masked_fill(~mask, -math.inf)`.",
        "`scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])`, then "
        "`self.w_o(merge_heads(scores.softmax(dim=-1) @ value))`. "
        "`F.scaled_dot_product_attention(query, key, value, attn_mask=mask)` may take the place of "
        "scores, softmax and product.",
    ),
    probes=(
        Probe(
            "parameters",
            "the parameters are the weights and biases of w_q, w_k, w_v and w_o, "
            "each nn.Linear(d_model, d_model)",
            _parameters,
            cause="Names and shapes must be exactly these, so that weights can be loaded by name.",
            read=MODULE,
        ),
        Probe(
            "values",
            "without a mask the output is that of the four projections and n_heads attentions",
            _module_plain,
            cause="Project, split into heads, attend, merge, project with w_o.",
        ),
        Probe(
            "one token",
            "a sentence of one token gives w_o(w_v(x))",
            _module_one_token,
            cause="With one token every weight is 1, so scores and softmax cannot matter here.",
            read=W_O,
        ),
        Probe(
            "masks",
            "causal masks (n, n), padding masks (batch, 1, n) and masks (batch, n, n), another one "
            "for each sentence",
            _module_masks,
            cause="The mask gets an axis of length one for the heads: `mask.unsqueeze(-3)`.",
            read=MASKS,
        ),
        Probe(
            "used again",
            "the same module is used on batches of other sizes and lengths, then on the first again",
            _module_again,
            cause="Nothing of one call may be kept for the next: sizes come from x each time.",
        ),
        Probe(
            "gradients",
            "the gradient reaches all eight parameters and equals autograd's",
            _module_gradients,
            cause="Something cuts the graph: `.detach()`, `.data`, `.numpy()` or `torch.no_grad()`.",
        ),
        Probe(
            "large inputs",
            "inputs in the thousands give finite output",
            _module_large,
            tolerance=1e-5,
            cause="Use `softmax(dim=-1)`, which subtracts the largest score of each row.",
        ),
        Probe("dtype", "a float32 module gives float32 output", _module_float32),
        Probe(
            "training mode",
            "in training mode the output is the same as in eval mode",
            _module_training,
            cause="The exercise asks for no dropout and nothing else that depends on the mode.",
        ),
    ),
    mistakes=(
        Mistake(
            "super().__init__() not called",
            _NoSuper,
            "A module can take in layers only after `nn.Module` has been prepared.",
            "Begin `__init__` with `super().__init__()`.",
            MODULE,
        ),
        Mistake(
            "a parameter frozen",
            _Frozen,
            "One of the parameters asks for no gradient (`requires_grad` is False), so it could never "
            "be trained.",
            "Leave the parameters as `nn.Linear` makes them.",
            MODULE,
        ),
        Mistake(
            "view instead of transpose at the split",
            _wrong_module(split=_module_split_by_view),
            "You cut the tensor into heads with `view` or `reshape` alone. That fills head after head "
            "with whatever numbers come next in memory: columns of several tokens mixed up.",
            "View as (batch, n, n_heads, d_k), then `.transpose(1, 2)`; `split_heads` does it.",
            SPLIT_TRAP,
        ),
        Mistake(
            "merged without transposing back",
            _wrong_module(merge=_module_merge_by_view),
            "After attention you go back to (batch, n, d_model) with `view` or `reshape` alone. The "
            "heads still stand before the tokens, so a row is filled with numbers of other tokens.",
            "`.transpose(1, 2)` first, then reshape; `merge_heads` does it.",
            SPLIT_TRAP,
        ),
        Mistake(
            "view instead of transpose, both ways",
            _wrong_module(split=_module_split_by_view, merge=_module_merge_by_view),
            "Both on the way in and on the way out the axes are not swapped. The two do not cancel: "
            "in between, tokens attended to pieces of other tokens.",
            "In: view, then transpose. Out: transpose, then reshape.",
            SPLIT_TRAP,
        ),
        Mistake(
            "scaled by the width of the model",
            _wrong_module(scale=lambda d_model, d_k: math.sqrt(d_model)),
            "You divide the scores by √d_model. Each head's dot products have only d_k terms.",
            "Divide by the root of the head's own width: `math.sqrt(query.shape[-1])`, after the split.",
            WHAT_A_HEAD_IS,
        ),
        Mistake(
            "not scaled",
            _wrong_module(scale=lambda d_model, d_k: 1.0),
            "The scores are not divided by √d_k.",
            "Divide by `math.sqrt(query.shape[-1])`, after the split.",
            WHAT_A_HEAD_IS,
        ),
        Mistake(
            "divided by d_k without the root",
            _wrong_module(scale=lambda d_model, d_k: d_k),
            "You divide the scores by d_k; it should be its square root.",
            "Use `math.sqrt(query.shape[-1])`.",
            WHAT_A_HEAD_IS,
        ),
        Mistake(
            "interleaved heads",
            _wrong_module(split=_module_split_interleaved, merge=_module_merge_interleaved),
            "Your head h owns the columns h, h + n_heads, h + 2·n_heads … In this course (and in "
            "nn.MultiheadAttention) it owns a block of neighbouring columns.",
            "View the last axis as (n_heads, d_k), in this order, not (d_k, n_heads).",
            WHAT_A_HEAD_IS,
        ),
        Mistake(
            "w_o not used",
            _wrong_module(out=lambda module, merged: merged),
            "You return the merged heads; w_o exists but is not used.",
            "End with `return self.w_o(merged)`.",
            W_O,
        ),
        Mistake(
            "no bias",
            _wrong_module(bias=False),
            "The four layers have no bias (`bias=False`); the weights of others, "
            "nn.MultiheadAttention among them, have one.",
            "`nn.Linear(d_model, d_model)` has a bias unless told otherwise.",
            MODULE,
        ),
        Mistake(
            "one fused layer",
            _OneLayerForAll,
            "Query, key and value come from one fused layer. That is a good way to compute, but the "
            "parameters then have other names and cannot be loaded.",
            "Keep four layers `w_q`, `w_k`, `w_v`, `w_o`; fuse their weights inside `forward` if you "
            "like.",
            MODULE,
        ),
        Mistake(
            "heads share one projection",
            _NarrowProjections,
            "w_q, w_k and w_v are only d_k wide, and every head uses the same projection: all heads "
            "are one and the same.",
            "Each is `nn.Linear(d_model, d_model)`: n_heads blocks of d_k columns, one for each head.",
            WHAT_A_HEAD_IS,
        ),
        Mistake(
            "the library's module inside",
            _FromTheLibrary,
            "The module wraps nn.MultiheadAttention: its parameters have other names, and its "
            "boolean mask means the opposite (True = hidden).",
            "Build it from four `nn.Linear` layers.",
            MODULE,
        ),
        Mistake(
            "all heads use the first block",
            _wrong_module(split=_module_first_only),
            "Every head works on the first d_k columns of the projections: all heads are the same.",
            "Head h takes the columns h·d_k to (h+1)·d_k; `split_heads` does it.",
            WHAT_A_HEAD_IS,
        ),
        Mistake(
            "softmax over the heads",
            _wrong_module(
                weigh=lambda scores, mask: (
                    scores.masked_fill(~mask, -1e30).softmax(1)
                    if mask is not None
                    else scores.softmax(1)
                )
            ),
            "The softmax runs along axis 1. After the split that is the axis of heads, not of tokens.",
            "Each row of weights sums to one over the keys: `softmax(dim=-1)`.",
        ),
        Mistake(
            "softmax over the queries",
            _wrong_module(
                weigh=lambda scores, mask: (
                    scores.masked_fill(~mask, -1e30).softmax(-2)
                    if mask is not None
                    else scores.softmax(-2)
                )
            ),
            "The softmax runs along the axis of queries: columns sum to one where rows should.",
            "The weights of one query over all keys sum to one: `softmax(dim=-1)`.",
        ),
        Mistake(
            "mask inverted",
            _wrong_module(
                mask_for=lambda mask, x, h: None if mask is None else ~mask.unsqueeze(-3)
            ),
            "The mask is read the wrong way round: what may be seen is hidden. nn.MultiheadAttention "
            "reads True as hidden; here True = may attend.",
            "`masked_fill` fills where its mask is True, so give it `~mask`.",
            MASKS,
        ),
        Mistake(
            "mask of the first sentence for all",
            _wrong_module(mask_for=lambda mask, x, h: None if mask is None else _full(mask, x)[0]),
            "Every sentence gets the mask of the first one.",
            "Keep the batch axis of the mask: `mask.unsqueeze(-3)`, not `mask[0]`.",
            MASKS,
        ),
        Mistake(
            "mask without an axis for the heads",
            _wrong_module(mask_for=lambda mask, x, h: mask),
            "The mask (batch, n, n) meets the scores (batch, n_heads, n, n) as it is. Axes are lined "
            "up from the right, so the batch axis of the mask falls on the heads: an error, or, with "
            "as many sentences as heads, a silent mix-up.",
            "Insert an axis of length one: `mask.unsqueeze(-3)`.",
            MASKS,
        ),
        Mistake(
            "masks in another order than the heads",
            _wrong_module(mask_for=_module_repeated),
            "The masks are repeated once for each head with `repeat`, which puts whole batches one "
            "after the other; your heads lie sentence by sentence. Sentences get each other's masks.",
            "Do not repeat the mask at all: an axis of length one, `mask.unsqueeze(-3)`, fits every "
            "head.",
            MASKS,
        ),
        Mistake(
            "mask ignored",
            _wrong_module(mask_for=lambda mask, x, h: None),
            "The result is the same with and without a mask.",
            "Hide where the mask is False: `scores.masked_fill(~mask.unsqueeze(-3), -math.inf)`.",
            MASKS,
        ),
        Mistake(
            "always causal",
            _wrong_module(mask_for=_module_causal),
            "No token ever sees a later one, also when no mask is given.",
            "Hide only what the mask hides.",
            MASKS,
        ),
        Mistake(
            "mask after the softmax",
            _wrong_module(
                weigh=lambda s, mask: s.softmax(-1) if mask is None else s.softmax(-1) * mask
            ),
            "The weights are set to zero after the softmax, so the rows no longer sum to one.",
            "Set the hidden scores to −∞ before the softmax.",
            MASKS,
        ),
        Mistake(
            "hidden scores set to zero",
            _wrong_module(weigh=lambda s, mask: (s if mask is None else s * mask).softmax(-1)),
            "Hidden scores become 0, and exp(0) is 1: hidden keys keep a weight.",
            "Fill them with −∞: `masked_fill(~mask, -math.inf)`.",
            MASKS,
        ),
        Mistake(
            "finite fill too small",
            _wrong_module(
                weigh=lambda s, mask: (s if mask is None else s.masked_fill(~mask, -10.0)).softmax(
                    -1
                )
            ),
            "Hidden scores are set to a number such as −10 or −10 000. Scores that lie below it are "
            "beaten by the hidden ones.",
            "Fill with −∞: `masked_fill(~mask, -math.inf)`.",
            MASKS,
        ),
        Mistake(
            "axis for the heads at a fixed place",
            _wrong_module(mask_for=lambda mask, x, h: None if mask is None else mask.unsqueeze(1)),
            "`mask.unsqueeze(1)` puts the new axis after the first one. That is right for "
            "(batch, n, n) and wrong for (n, n), which becomes (n, 1, n).",
            "Count from the end: `mask.unsqueeze(-3)`.",
            MASKS,
        ),
        Mistake(
            "causal when no mask is given",
            _wrong_module(mask_for=_module_causal_by_default),
            "Without a mask no token sees a later one. No mask means: everybody sees everybody.",
            "Hide only what the mask hides; leave out `is_causal` or the triangle of your own.",
            MASKS,
        ),
        Mistake(
            "input added to the output",
            _InputAdded,
            "The input is added to the output. That is the residual path of a transformer block "
            "(chapter 13), not a part of this layer.",
            "Return what `self.w_o` gives.",
            W_O,
        ),
        Mistake(
            "projections not used",
            _ProjectionsUnused,
            "Queries, keys and values are the input itself: w_q, w_k and w_v exist but are not used.",
            "Split `self.w_q(x)`, `self.w_k(x)` and `self.w_v(x)`.",
            MODULE,
        ),
        Mistake(
            "no gradients at all",
            _NoGradients,
            "The output is right, but not one parameter gets a gradient: `forward` runs under "
            "`torch.no_grad()`, or detaches its result. The layer could never learn.",
            "Leave `no_grad` to whoever calls the layer.",
            MODULE,
        ),
        Mistake(
            "attention across the batch",
            _AcrossTheBatch,
            "Batch and tokens have changed places: each token attends to the tokens at its place in "
            "the other sentences. Layers for (n, batch, d_model) do this to a batch-first input.",
            "Here x is (batch, n, d_model): no transpose before the projections.",
            MODULE,
        ),
        Mistake(
            "query and key swapped",
            _wrong_module(roles=lambda q, k, v: (k, q, v)),
            "Queries and keys have changed places: the table of scores is transposed.",
            "It is `query @ key.transpose(-2, -1)`: rows are queries.",
        ),
        Mistake(
            "keys mixed instead of values",
            _wrong_module(roles=lambda q, k, v: (q, k, k)),
            "The weights mix the keys; they should mix the values.",
            "Multiply the weights by the value projection.",
        ),
        Mistake(
            "weights detached",
            _wrong_module(
                weigh=lambda scores, mask: _module_hide(scores, mask).softmax(-1).detach()
            ),
            "The output is right, but no gradient comes through the attention weights: they are cut "
            "off with `.detach()`, `.data` or a trip through NumPy. w_q and w_k would never learn.",
            "Keep every step a torch operation on tensors.",
            MODULE,
        ),
        Mistake(
            "length kept from the first call",
            _LengthRemembered,
            "The number of tokens is taken from the first call and kept; later inputs of another "
            "length no longer fit.",
            "Read `batch, n, d_model = x.shape` in every call.",
            MODULE,
        ),
        Mistake(
            "mask kept from the first call",
            _MaskRemembered,
            "The mask of the first call is stored in the module and used again in later calls.",
            "Use the mask that comes as argument; store nothing in `forward`.",
            MODULE,
        ),
        Mistake(
            "dropout in training",
            _DropoutInTraining,
            "In training mode, and only there, two calls with the same input differ: dropout is at "
            "work. It is written the right way, but this layer has none.",
            "Leave it out here. Chapter 9's layer is compared with PyTorch's number by number, "
            "and both must give the same in either mode.",
            MODULE,
            symptom=_random_in_training,
        ),
        Mistake(
            "dropout while in use",
            _wrong_module(weigh=lambda s, mask: F.dropout(_module_hide(s, mask).softmax(-1), 0.3)),
            "Two calls with the same input differ: dropout is at work although the module is in "
            "eval mode. `F.dropout(x, p)` and the `dropout_p` of F.scaled_dot_product_attention do "
            "not look at the mode.",
            "No dropout is asked for here. Elsewhere hand on `training=self.training`.",
            MODULE,
            symptom=_random_results,
        ),
    ),
)


# --- 9.3 from_module_state --------------------------------------------------------------------


def from_module_state(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias):
    """State dict for MultiHeadSelfAttention from the four tensors of nn.MultiheadAttention."""
    w_q, w_k, w_v = in_proj_weight.chunk(3)  # (d_model, d_model) each, stacked in this order
    b_q, b_k, b_v = in_proj_bias.chunk(3)  # (d_model,) each
    return {
        "w_q.weight": w_q,
        "w_q.bias": b_q,
        "w_k.weight": w_k,
        "w_k.bias": b_k,
        "w_v.weight": w_v,
        "w_v.bias": b_v,
        "w_o.weight": out_proj_weight,
        "w_o.bias": out_proj_bias,
    }


def _imported(weights, biases, out_weight, out_bias):
    """A state dict from lists in the order q, k, v."""
    state = {f"{name}.weight": w for name, w in zip(NAMES, weights, strict=False)}
    state |= {f"{name}.bias": b for name, b in zip(NAMES, biases, strict=False)}
    return state | {"w_o.weight": out_weight, "w_o.bias": out_bias}


def _in_order(order):
    def wrong(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias):
        weights, biases = in_proj_weight.chunk(3), in_proj_bias.chunk(3)
        return _imported(
            [weights[i] for i in order], [biases[i] for i in order], out_proj_weight, out_proj_bias
        )

    return wrong


def _all_transposed(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias):
    weights = [w.T for w in in_proj_weight.chunk(3)]
    return _imported(weights, in_proj_bias.chunk(3), out_proj_weight.T, out_proj_bias)


def _in_transposed(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias):
    weights = [w.T for w in in_proj_weight.chunk(3)]
    return _imported(weights, in_proj_bias.chunk(3), out_proj_weight, out_proj_bias)


def _out_transposed(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias):
    return _imported(
        in_proj_weight.chunk(3), in_proj_bias.chunk(3), out_proj_weight.T, out_proj_bias
    )


def _every_third_row(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias):
    weights = [in_proj_weight[i::3] for i in range(3)]
    return _imported(
        weights, [in_proj_bias[i::3] for i in range(3)], out_proj_weight, out_proj_bias
    )


def _viewed_as_columns(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias):
    d = in_proj_weight.shape[1]
    parts = in_proj_weight.T.reshape(3, d, d)
    return _imported(list(parts), in_proj_bias.chunk(3), out_proj_weight, out_proj_bias)


def _cut_along_columns(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias):
    weights = in_proj_weight.tensor_split(3, dim=1)
    return _imported(weights, in_proj_bias.chunk(3), out_proj_weight, out_proj_bias)


def _chunked_along_columns(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias):
    w_q, w_k, w_v = in_proj_weight.chunk(3, dim=1)
    return _imported((w_q, w_k, w_v), in_proj_bias.chunk(3), out_proj_weight, out_proj_bias)


def _biases_reversed(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias):
    biases = in_proj_bias.chunk(3)[::-1]
    return _imported(in_proj_weight.chunk(3), biases, out_proj_weight, out_proj_bias)


def _output_left_out(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias):
    state = from_module_state(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias)
    return {name: tensor for name, tensor in state.items() if not name.startswith("w_o")}


def _zero_biases(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias):
    zeros = torch.zeros_like(out_proj_bias)
    return _imported(in_proj_weight.chunk(3), [zeros] * 3, out_proj_weight, zeros)


def _in_biases_zero(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias):
    zeros = torch.zeros_like(out_proj_bias)
    return _imported(in_proj_weight.chunk(3), [zeros] * 3, out_proj_weight, out_proj_bias)


def _biases_in_another_order(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias):
    biases = [in_proj_bias.chunk(3)[i] for i in (2, 0, 1)]
    return _imported(in_proj_weight.chunk(3), biases, out_proj_weight, out_proj_bias)


def _first_for_all(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias):
    weights, biases = in_proj_weight.chunk(3), in_proj_bias.chunk(3)
    return _imported([weights[0]] * 3, [biases[0]] * 3, out_proj_weight, out_proj_bias)


def _without_biases(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias):
    state = from_module_state(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias)
    return {name: tensor for name, tensor in state.items() if name.endswith("weight")}


def _without_ends(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias):
    state = from_module_state(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias)
    return {name.removesuffix(".weight"): tensor for name, tensor in state.items()}


def _module_states(rng):
    calls = []
    for d_model in (2, 3, 5, 8):
        shapes = ((3 * d_model, d_model), (3 * d_model,), (d_model, d_model), (d_model,))
        dtype = np.float32 if d_model == 5 else np.float64
        calls.append(Call(tuple(rng.normal(size=shape).astype(dtype) for shape in shapes)))
    return calls


FROM_MODULE_STATE = Exercise(
    id="from_module_state",
    number="9.3",
    chapter=CHAPTER,
    signature="from_module_state(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias)",
    summary="nn.MultiheadAttention's four tensors become the eight of your module",
    difficulty=2,
    minutes=12,
    points=2,
    library="torch",
    solution=from_module_state,
    returns=("state",),
    read=IMPORT,
    hints=(
        "`in_proj_weight` has three times as many rows as columns. What stands above each other?",
        "`in_proj_weight.chunk(3)` cuts along the rows: first the weight of the queries, then keys, "
        "then values. The biases lie in the same order. `nn.Linear` stores its weight as (out, in) "
        "in both modules, so nothing needs transposing.",
        "`w_q, w_k, w_v = in_proj_weight.chunk(3)`, `b_q, b_k, b_v = in_proj_bias.chunk(3)`, and a "
        'dict with the keys `"w_q.weight"`, `"w_q.bias"` … `"w_o.weight"`, `"w_o.bias"`; the last '
        "two are `out_proj_weight` and `out_proj_bias` as they are.",
    ),
    probes=(
        Probe(
            "values",
            "the eight tensors of the state dict, by name",
            _module_states,
            cause="The rows of in_proj_weight are those of the queries, then keys, then values.",
        ),
    ),
    mistakes=(
        Mistake(
            "all weights transposed",
            _all_transposed,
            "The weights are transposed. Both modules store them as nn.Linear does, (out, in).",
            "Leave out the `.T`. (For the NumPy function, whose matrices are (in, out), you need it.)",
        ),
        Mistake(
            "projections transposed",
            _in_transposed,
            "The weights of queries, keys and values are transposed. Both modules store them as "
            "nn.Linear does, (out, in).",
            "Leave out the `.T`.",
        ),
        Mistake(
            "output weight transposed",
            _out_transposed,
            "`w_o.weight` is transposed. Both modules store it as nn.Linear does, (out, in).",
            "Hand `out_proj_weight` on as it is.",
        ),
        Mistake(
            "keys first",
            _in_order((1, 0, 2)),
            "Queries and keys have changed places.",
            "The order is queries, keys, values.",
        ),
        Mistake(
            "order reversed",
            _in_order((2, 1, 0)),
            "The blocks are taken as values, keys, queries.",
            "The order is queries, keys, values.",
        ),
        Mistake(
            "keys and values swapped",
            _in_order((0, 2, 1)),
            "Keys and values have changed places.",
            "The order is queries, keys, values.",
        ),
        Mistake(
            "every third row",
            _every_third_row,
            "You take every third row for the queries. The three weights do not alternate: they are "
            "stacked as blocks.",
            "`in_proj_weight.chunk(3)` cuts three blocks of d_model rows.",
        ),
        Mistake(
            "cut along the columns",
            _cut_along_columns,
            "You cut along the columns. The columns are the inputs, which all three share; the rows "
            "are the outputs.",
            "Cut along axis 0: `in_proj_weight.chunk(3)`.",
        ),
        Mistake(
            "cut along the columns with chunk",
            _chunked_along_columns,
            "You cut along the columns. The columns are the inputs, which all three share; the rows "
            "are the outputs.",
            "Cut along axis 0: `in_proj_weight.chunk(3)`.",
        ),
        Mistake(
            "reshaped after a transpose",
            _viewed_as_columns,
            "A transpose before the reshape cuts every row into pieces: the blocks are mixed up.",
            "Cut along the rows of in_proj_weight as it is: `chunk(3)`.",
        ),
        Mistake(
            "first block for all three",
            _first_for_all,
            "Queries, keys and values all get the first block.",
            "Take the second block for the keys and the third for the values.",
        ),
        Mistake(
            "biases in another order",
            _biases_in_another_order,
            "The weights are right, but the biases stand in another order.",
            "The biases are stacked like the weights: queries, keys, values.",
        ),
        Mistake(
            "biases reversed",
            _biases_reversed,
            "The weights are right, but the biases are taken as values, keys, queries.",
            "The biases are stacked like the weights: queries, keys, values.",
        ),
        Mistake(
            "output projection left out",
            _output_left_out,
            "The output projection is missing: its weight and its bias.",
            'Add `"w_o.weight"` and `"w_o.bias"`, which come as they are.',
        ),
        Mistake(
            "biases set to zero",
            _zero_biases,
            "All biases are zero. In a fresh nn.MultiheadAttention they are, in a trained one not.",
            "Take them from `in_proj_bias` and `out_proj_bias`.",
        ),
        Mistake(
            "projection biases set to zero",
            _in_biases_zero,
            "The biases of queries, keys and values are zero.",
            "Cut `in_proj_bias` as you cut `in_proj_weight`.",
        ),
        Mistake(
            "biases left out",
            _without_biases,
            "The dict holds the four weights only; the four biases are missing.",
            'Add `"w_q.bias"`, `"w_k.bias"`, `"w_v.bias"` and `"w_o.bias"`.',
        ),
        Mistake(
            "names without .weight",
            _without_ends,
            "The weights are named `w_q` instead of `w_q.weight`: a Linear layer has two tensors, "
            "and each has its own name.",
            'The names are `"w_q.weight"`, `"w_q.bias"` and so on.',
        ),
    ),
)


# --- 9.4 ablate_head --------------------------------------------------------------------------


def ablate_head(weight, n_heads, head):
    """Copy of w_o's weight (out, in), as nn.Linear stores it, through which `head` says nothing."""
    d_k = weight.shape[1] // n_heads
    ablated = weight.clone()
    ablated[:, head * d_k : (head + 1) * d_k] = 0  # the columns read what this head found
    return ablated


def _blanked(rows: Callable | None = None, columns: Callable | None = None) -> Callable:
    """Set to zero the rows or columns that a rule names; the rule gets (n_heads, head, d_k)."""

    def wrong(weight, n_heads, head):
        ablated = weight.clone()
        d_k = weight.shape[1] // n_heads
        if rows:
            ablated[rows(n_heads, head, d_k)] = 0
        if columns:
            ablated[:, columns(n_heads, head, d_k)] = 0
        return ablated

    return wrong


def _block(n_heads, head, d_k):
    return slice(head * d_k, (head + 1) * d_k)


def _only_this_head(weight, n_heads, head):
    return weight - ablate_head(weight, n_heads, head)


def _rescaled(weight, n_heads, head):
    return ablate_head(weight, n_heads, head) * n_heads / (n_heads - 1)


def _in_place(weight, n_heads, head):
    d_k = weight.shape[1] // n_heads
    weight[:, head * d_k : (head + 1) * d_k] = 0
    return weight


def _columns_deleted(weight, n_heads, head):
    d_k = weight.shape[1] // n_heads
    return torch.cat([weight[:, : head * d_k], weight[:, (head + 1) * d_k :]], dim=1)


def _mean_left(weight, n_heads, head):
    ablated = weight.clone()
    own = _block(n_heads, head, weight.shape[1] // n_heads)
    ablated[:, own] = weight[:, own].mean(dim=1, keepdim=True)
    return ablated


def _nearly_zero(weight, n_heads, head):
    ablated = weight.clone()
    ablated[:, _block(n_heads, head, weight.shape[1] // n_heads)] *= 1e-9
    return ablated


def _square_only(weight, n_heads, head):
    ablated = weight.clone()
    own = _block(n_heads, head, weight.shape[1] // n_heads)
    ablated[own, own] = 0
    return ablated


def _unchanged(weight, n_heads, head):
    return weight.clone()


def _weights_to_ablate(rng):
    calls = []
    for n_heads, d_k in ((3, 1), (2, 2), (3, 4), (4, 3), (2, 5)):
        weight = rng.normal(size=(n_heads * d_k, n_heads * d_k))
        calls += [Call((weight, n_heads, head)) for head in range(n_heads)]
    calls.append(Call((rng.normal(size=(6, 6)).astype(np.float32), 3, 1)))
    return calls


ABLATE_HEAD = Exercise(
    id="ablate_head",
    number="9.4",
    chapter=CHAPTER,
    signature="ablate_head(weight, n_heads, head)",
    summary="the output weight with one head switched off",
    difficulty=2,
    minutes=10,
    points=2,
    library="torch",
    solution=ablate_head,
    returns=("ablated",),
    read=ABLATION,
    hints=(
        "Which numbers of the merged heads come from head `h`? Which entries of the weight multiply "
        "them?",
        "`nn.Linear` computes `x @ weight.T`: input column c meets *column* c of the stored weight. "
        "So head h owns the columns `h * d_k` to `(h + 1) * d_k`.",
        "`ablated = weight.clone()`, then set `ablated[:, head * d_k : (head + 1) * d_k] = 0`, with "
        "`d_k = weight.shape[1] // n_heads`.",
    ),
    probes=(
        Probe(
            "values",
            "the columns that read this head are zero, all others as they were",
            _weights_to_ablate,
            tolerance=1e-15,
            cause="Head h owns the columns h·d_k to (h+1)·d_k of the stored weight (out, in).",
        ),
    ),
    mistakes=(
        Mistake(
            "rows instead of columns",
            _blanked(rows=_block),
            "You set rows to zero. nn.Linear stores its weight as (out, in): a row belongs to an "
            "*output*, so this silences some outputs of all heads.",
            "The head's numbers come in through the columns.",
        ),
        Mistake(
            "rows and columns",
            _blanked(rows=_block, columns=_block),
            "You set the head's rows to zero as well as its columns. A row belongs to an *output*, "
            "and every head writes to it.",
            "Set the columns only.",
        ),
        Mistake(
            "only where rows and columns meet",
            _square_only,
            "Only the square where the head's rows and columns meet is zero. The head reaches *every* "
            "output, so its columns are zero from top to bottom.",
            "Index with `[:, start:stop]`.",
        ),
        Mistake(
            "last column forgotten",
            _blanked(columns=lambda n_heads, head, d_k: slice(head * d_k, (head + 1) * d_k - 1)),
            "The last column of the head is left: a slice does not include its end.",
            "The block is `head * d_k : (head + 1) * d_k`.",
        ),
        Mistake(
            "nearly zero",
            _nearly_zero,
            "The head's columns are very small, but not zero: the head still whispers.",
            "Set them to 0.",
        ),
        Mistake(
            "interleaved columns",
            _blanked(columns=lambda n_heads, head, d_k: slice(head, None, n_heads)),
            "You take every n_heads-th column. A head owns a block of neighbouring columns.",
            "The block is `head * d_k : (head + 1) * d_k`.",
            WHAT_A_HEAD_IS,
        ),
        Mistake(
            "one column only",
            _blanked(columns=lambda n_heads, head, d_k: head),
            "You set one column to zero; a head is d_k columns wide.",
            "The block is `head * d_k : (head + 1) * d_k`.",
            WHAT_A_HEAD_IS,
        ),
        Mistake(
            "block starts at head times n_heads",
            _blanked(
                columns=lambda n_heads, head, d_k: slice(head * n_heads, (head + 1) * n_heads)
            ),
            "Your block is n_heads wide and starts at head·n_heads; a head is d_k wide.",
            "Use `d_k = weight.shape[1] // n_heads`.",
            WHAT_A_HEAD_IS,
        ),
        Mistake(
            "heads counted from one",
            _blanked(columns=lambda n_heads, head, d_k: slice((head - 1) * d_k, head * d_k)),
            "You count the heads from 1; they count from 0, as everything in Python does.",
            "The block is `head * d_k : (head + 1) * d_k`.",
        ),
        Mistake(
            "every head but this one",
            _only_this_head,
            "You keep this head and switch off all others.",
            "Set the head's own columns to zero and leave the rest.",
        ),
        Mistake(
            "everything up to this head",
            _blanked(columns=lambda n_heads, head, d_k: slice(0, (head + 1) * d_k)),
            "All heads up to this one are switched off.",
            "Start the slice at `head * d_k`.",
        ),
        Mistake(
            "the rest scaled up",
            _rescaled,
            "The other heads are scaled up to make good for the missing one, as dropout does. Then "
            "their own contribution changes as well.",
            "Leave all other columns as they are.",
        ),
        Mistake(
            "columns removed",
            _columns_deleted,
            "You removed the columns, so the weight no longer fits the merged heads.",
            "Keep the shape: set them to zero.",
        ),
        Mistake(
            "mean left in place",
            _mean_left,
            "You put the mean of the head's columns in their place; switched off means zero.",
            "Set the columns to zero.",
        ),
        Mistake(
            "nothing changed",
            _unchanged,
            "The weight comes back as it was.",
            "Set the head's columns of the copy to zero.",
        ),
        Mistake(
            "changes its input",
            _in_place,
            "The weight you were given is changed: the module it came from has lost that head for good.",
            "Work on `weight.clone()`.",
        ),
    ),
)

EXERCISES = (MULTI_HEAD_ATTENTION, MULTI_HEAD_SELF_ATTENTION, FROM_MODULE_STATE, ABLATE_HEAD)
