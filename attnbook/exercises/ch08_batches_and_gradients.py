"""Chapter 8: batched attention, heads as an axis, the backward pass by hand, three silent bugs."""

from __future__ import annotations

import math

import numpy as np
import torch

from attnbook.exercises.exercise import Call, Exercise, Mistake, Probe, Result

CHAPTER = "08-batches-and-gradients"

# Headings of the chapter, for `read=`.
ONE_PAGE = "From NumPy to PyTorch on one page"
BATCH = "Many sentences at once"
BREAKS = "What breaks when a batch axis appears"
PADDING = "A mask for each example"
EMPTY = "Rows with nothing to see, and their gradient"
HEADS = "Heads: one axis more"
WHO_OWNS = "Which token owns cell 7?"
MERGE = "Put the heads back together"
BACKWARD = "The backward pass by hand"
MASKED = "Exactly zero where masked"
BUGS = "Three bugs that nobody noticed"


# --- 8.1 batched_attention --------------------------------------------------------------------


def batched_attention(query, key, value, mask=None):
    """Scaled dot-product attention with any axes in front: (output, weights)."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (..., n_q, n_k)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
        empty = ~mask.any(dim=-1, keepdim=True)  # (..., n_q, 1) rows with nothing to see
        scores = scores.masked_fill(empty, 0.0)  # keep NaN out of them
    weights = scores.softmax(dim=-1)  # (..., n_q, n_k)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)  # and leave those rows empty
    return weights @ value, weights  # (..., n_q, d_v), (..., n_q, n_k)


def _hide(scores, mask):
    return scores if mask is None else scores.masked_fill(~mask, -math.inf)


def _weigh(scores, mask, dim=-1):
    weights = _hide(scores, mask).softmax(dim=dim)
    return weights.nan_to_num(0.0) if mask is not None else weights


def _wrong(
    turn=lambda key: key.transpose(-2, -1),
    scale=lambda q, k, v: math.sqrt(q.shape[-1]),
    weigh=_weigh,
    mask_for=lambda mask, scores: mask,
    mix=lambda weights, k, v: weights @ v,
):
    """Batched attention with one step replaced."""

    def wrong(query, key, value, mask=None):
        scores = query @ turn(key) / scale(query, key, value)
        if mask is not None:
            mask = mask_for(mask, scores)
        weights = weigh(scores, mask)
        return mix(weights, key, value), weights

    return wrong


def _along(dim):
    return lambda scores, mask: _weigh(scores, mask, dim)


def _jointly(scores, mask):
    hidden = _hide(scores, mask)
    return hidden.flatten(-2).softmax(-1).nan_to_num(0.0).reshape(scores.shape)


def _naively(scores, mask):
    exponentials = _hide(scores, mask).exp()
    return (exponentials / exponentials.sum(dim=-1, keepdim=True)).nan_to_num(0.0)


def _filled_with(number):
    def weigh(scores, mask):
        return (scores if mask is None else scores.masked_fill(~mask, number)).softmax(-1)

    return weigh


def _not_mended(scores, mask):
    return _hide(scores, mask).softmax(-1)


def _hidden_afterwards(scores, mask):
    weights = scores.softmax(-1)
    return weights if mask is None else weights * mask


def _added_as_numbers(scores, mask):
    return (scores if mask is None else scores + mask).softmax(-1)


def _multiplied(scores, mask):
    return (scores if mask is None else scores * mask).softmax(-1)


def _nan_in_the_gradient(scores, mask):
    if mask is None:
        return scores.softmax(-1)
    added = torch.zeros_like(mask, dtype=scores.dtype).masked_fill(~mask, -math.inf)
    return (scores + added).softmax(-1).nan_to_num(0.0)


def _first_mask_for_all(mask, scores):
    return mask.expand(scores.shape).flatten(0, -3)[0] if scores.ndim > 2 else mask


def _any_mask_will_do(mask, scores):
    if scores.ndim == 2:
        return mask
    return mask.expand(scores.shape).flatten(0, -3).any(dim=0)


def _reshaped(key):
    return key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])


def _all_axes_turned(key):
    return key.permute(*range(key.ndim - 1, -1, -1))


def _first_two_axes_turned(key):
    return key.transpose(0, 1)


def _across_the_batch(query, key, value, mask=None):
    """All sentences as one long sentence."""
    if query.ndim == 2:
        return batched_attention(query, key, value, mask)
    n_q, n_k = query.shape[-2], key.shape[-2]
    lead = query.shape[:-2]
    flat = [t.reshape(-1, t.shape[-1]) for t in (query, key, value)]
    allowed = None
    if mask is not None:
        full = mask.expand(*lead, n_q, n_k).reshape(-1, n_q, n_k)
        allowed = torch.cat([full.reshape(-1, n_k)] * len(full), dim=-1)
    output, weights = batched_attention(*flat, allowed)
    return output.reshape(*lead, n_q, -1), weights.reshape(*lead, n_q, -1)[..., :n_k]


def _weights_cut_off(query, key, value, mask=None):
    _, weights = batched_attention(query, key, value, mask)
    return weights.detach() @ value, weights.detach()


def _all_cut_off(query, key, value, mask=None):
    return batched_attention(query.detach(), key.detach(), value.detach(), mask)


def _three_axes_only(query, key, value, mask=None):
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    weights = _weigh(scores, mask)
    return weights @ value, weights


def _shape_unpacked(query, key, value, mask=None):
    _batch, _n_q, d_k = query.shape
    scores = query @ key.transpose(-2, -1) / math.sqrt(d_k)
    weights = _weigh(scores, mask)
    return weights @ value, weights


def _mask_as_index(scores, mask):
    if mask is not None:
        scores[~mask] = -math.inf
    return scores.softmax(-1).nan_to_num(0.0)


def _index_refused(call: Call, result: Result) -> bool:
    return "shape of the mask" in (result.error or "")


def _weights_overwritten(scores, mask):
    weights = _hide(scores, mask).softmax(-1)
    weights[weights.isnan()] = 0.0
    return weights


def _overwriting_refused(call: Call, result: Result) -> bool:
    return "modified by an inplace operation" in (result.error or "")


def _axes_added(mask, scores):
    return mask[:, None, None, :] if mask.ndim == 2 else mask[:, None]


def _weights_first(query, key, value, mask=None):
    return batched_attention(query, key, value, mask)[::-1]


def _scores_returned(query, key, value, mask=None):
    output, _ = batched_attention(query, key, value, mask)
    return output, _hide(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), mask)


def _mask_not_used(query, key, value, mask=None):
    return batched_attention(query, key, value)


def _drawn(rng, lead, n_q, n_k, d_k, d_v, dtype=np.float64):
    """query, key and value with the axes `lead` in front."""
    shapes = ((n_q, d_k), (n_k, d_k), (n_k, d_v))
    return tuple(rng.normal(size=(*lead, *shape)).astype(dtype) for shape in shapes)


def _no_empty_row(rng, *shape):
    """A random mask in which every row has a True and, where it is long enough, a False."""
    mask = rng.random(shape) < 0.5
    first = rng.integers(shape[-1], size=shape[:-1])[..., None]
    np.put_along_axis(mask, first, True, axis=-1)
    if shape[-1] > 1:
        np.put_along_axis(mask, (first + 1) % shape[-1], False, axis=-1)
    return mask


def _one_sentence(rng):
    return [Call(_drawn(rng, (), 2, 3, 2, 1)), Call(_drawn(rng, (), 4, 3, 5, 2))]


def _batches(rng):
    return [
        Call(_drawn(rng, (2,), 1, 2, 2, 1)),
        Call(_drawn(rng, (3,), 4, 5, 2, 6)),
        Call(_drawn(rng, (1,), 3, 4, 6, 2)),
        Call(_drawn(rng, (5,), 5, 5, 5, 5)),
    ]


def _more_axes(rng):
    return [
        Call(_drawn(rng, (1, 2), 1, 2, 2, 2)),
        Call(_drawn(rng, (2, 3), 4, 5, 6, 7)),
        Call(_drawn(rng, (2, 1, 3), 5, 4, 7, 6)),
    ]


def _masks_per_example(rng):
    lengths = np.array([3, 1])
    padding = (np.arange(3) < lengths[:, None])[:, None, :]  # (2, 1, 3)
    longer = (np.arange(6) < np.array([4, 6, 2])[:, None])[:, None, None, :]  # (3, 1, 1, 6)
    return [
        Call(_drawn(rng, (2,), 1, 3, 1, 1), {"mask": padding}),
        Call(_drawn(rng, (2,), 4, 3, 5, 2), {"mask": padding}),
        Call(_drawn(rng, (3, 2), 5, 6, 4, 7), {"mask": longer}),
        Call(_drawn(rng, (3,), 4, 5, 2, 6), {"mask": _no_empty_row(rng, 3, 4, 5)}),
        Call(_drawn(rng, (2, 3), 4, 5, 6, 7), {"mask": _no_empty_row(rng, 2, 3, 4, 5)}),
    ]


def _one_mask_for_all(rng):
    causal = np.tril(np.ones((4, 4), dtype=bool))
    return [
        Call(_drawn(rng, (), 2, 3, 2, 1), {"mask": _no_empty_row(rng, 2, 3)}),
        Call(_drawn(rng, (2,), 4, 4, 3, 5), {"mask": causal}),
        Call(_drawn(rng, (2, 3), 4, 5, 6, 7), {"mask": _no_empty_row(rng, 4, 5)}),
    ]


def _empty_rows(rng):
    small = np.array([[True, False, True], [False, False, False]])
    larger = _no_empty_row(rng, 3, 4, 5)
    larger[1] = False
    larger[2, 0] = False
    return [
        Call(_drawn(rng, (), 2, 3, 2, 1), {"mask": small}),
        Call(_drawn(rng, (3,), 4, 5, 2, 6), {"mask": larger}),
    ]


def _large_scores(rng):
    query, key, value = _drawn(rng, (2,), 1, 3, 1, 1)
    mask = np.array([[[True, True, False]], [[True, False, False]]])
    return [
        Call((query * 1e3, key * 1e3, value)),
        Call((query * 0 + 200, key * 0 + [[1.0], [2.0], [90.0]], value), {"mask": mask}),
        Call((-(query**2) * 1e3 - 2e4, np.abs(key) + 1, value), {"mask": mask}),
    ]


def _kept_types(rng):
    mask = _no_empty_row(rng, 2, 4, 3)
    return [
        Call(_drawn(rng, (), 2, 3, 2, 1, np.float32)),
        Call(_drawn(rng, (2,), 4, 3, 5, 6, np.float32), {"mask": mask}),
    ]


def _gradients(rng):
    def gradient(lead, sizes, mask=None):
        args = _drawn(rng, lead, *sizes)
        options = {"of": (0, 1, 2), "grad_output": rng.normal(size=(*lead, sizes[0], sizes[3]))}
        args = args if mask is None else (*args, mask)
        return Call(args, how="gradient", options=options)

    empty = _no_empty_row(rng, 3, 4, 5)
    empty[1, 2] = False
    return [
        gradient((), (2, 3, 2, 1)),
        gradient((2, 3), (4, 5, 6, 7)),
        gradient((), (2, 3, 2, 1), _no_empty_row(rng, 2, 3)),
        gradient((), (2, 3, 2, 1), np.array([[True, False, True], [False, False, False]])),
        gradient((3,), (4, 5, 2, 6), empty),
    ]


BATCHED_ATTENTION = Exercise(
    id="batched_attention",
    number="8.1",
    chapter=CHAPTER,
    signature="batched_attention(query, key, value, mask=None)",
    summary="scaled dot-product attention for any number of sentences at once",
    difficulty=2,
    minutes=20,
    points=3,
    solution=batched_attention,
    returns=("output", "weights"),
    library="torch",
    read=BREAKS,
    hints=(
        "Write what you would write for one sentence, and count every axis from the end: the keys "
        "are turned with `transpose(-2, -1)`, the softmax runs along `dim=-1`. Then it does not matter "
        "how many axes stand in front.",
        "`scores.masked_fill(~mask, -math.inf)` hides what is False, before the softmax. A row that is "
        "all −∞ gives NaN: such rows need a step of their own, so that they end as zeros.",
        "`empty = ~mask.any(dim=-1, keepdim=True)` marks those rows. Fill them with 0 before the "
        "softmax (so that no NaN arises, nor in the gradient), and after it set every hidden weight to "
        "0: `weights.masked_fill(~mask, 0.0)`. With `mask=None` leave all of that out.",
    ),
    probes=(
        Probe(
            "one sentence",
            "one sentence without axes in front: softmax(query keyᵀ / √d_k) value, and its weights",
            _one_sentence,
            cause="Scores, divided by √d_k; softmax along the keys; weights times values.",
            read=BATCH,
        ),
        Probe(
            "batch",
            "with a batch axis every sentence gets what it would get alone",
            _batches,
            cause="Count axes from the end, -1 and -2: then a batch axis in front changes nothing.",
        ),
        Probe(
            "more axes",
            "with two or three axes in front, such as batch and heads, each slice stands alone",
            _more_axes,
            cause="Count axes from the end, -1 and -2: then any axes may stand in front.",
        ),
        Probe(
            "one mask for all",
            "a mask (n_q, n_k) hides the same keys in every example",
            _one_mask_for_all,
            cause="Where the mask is False the score becomes −∞ before the softmax.",
            read=PADDING,
        ),
        Probe(
            "a mask for each example",
            "a mask with axes of its own hides other keys in every example",
            _masks_per_example,
            cause="The mask broadcasts to the shape of the scores; leave its axes as they are.",
            read=PADDING,
        ),
        Probe(
            "large scores",
            "large scores stay finite, and hidden keys stay hidden however well they fit",
            _large_scores,
            cause="Use `softmax`, which subtracts the largest score, and hide with −∞.",
            read=PADDING,
        ),
        Probe(
            "empty rows",
            "a query that may see nothing gets zeros, as output and as weights",
            _empty_rows,
            cause="The softmax of a row that is all −∞ is NaN; such rows must become zeros.",
            read=EMPTY,
        ),
        Probe(
            "gradient",
            "gradients reach query, key and value, in float64, with and without a mask",
            _gradients,
            cause="Something on the way cuts the gradient off or changes it: `.detach()`, `.item()`, "
            "NumPy, or an operation that meets NaN.",
            read=EMPTY,
        ),
        Probe(
            "dtype",
            "float32 in, float32 out",
            _kept_types,
        ),
    ),
    mistakes=(
        Mistake(
            "softmax over axis 1",
            _wrong(weigh=_along(1)),
            "The softmax runs along axis 1. For one sentence that was the keys; with a batch axis in "
            "front it is the queries.",
            "Count from the end: `dim=-1` is the keys with any number of axes.",
        ),
        Mistake(
            "softmax over axis 0",
            _wrong(weigh=_along(0)),
            "The softmax runs along axis 0: the queries of one sentence, or worse, the sentences of "
            "a batch, compete with each other.",
            "Each query shares its weight out over the keys: `dim=-1`.",
        ),
        Mistake(
            "softmax over the queries",
            _wrong(weigh=_along(-2)),
            "The softmax runs along the queries: your columns sum to one where the rows should.",
            "Each query shares its weight out over the keys: `dim=-1`.",
        ),
        Mistake(
            "joint softmax over the whole table",
            _wrong(weigh=_jointly),
            "The whole table of weights sums to one. Each row should.",
            "Use `softmax(dim=-1)` on the table as it is.",
            BATCH,
        ),
        Mistake(
            "not scaled",
            _wrong(scale=lambda q, k, v: 1.0),
            "The scores are not divided by √d_k.",
            "Divide by `math.sqrt(query.shape[-1])`.",
            BATCH,
        ),
        Mistake(
            "divided by d_k",
            _wrong(scale=lambda q, k, v: q.shape[-1]),
            "You divide the scores by d_k; it should be its square root.",
            "Divide by `math.sqrt(query.shape[-1])`.",
            BATCH,
        ),
        Mistake(
            "multiplied by √d_k",
            _wrong(scale=lambda q, k, v: 1 / math.sqrt(q.shape[-1])),
            "The scores are multiplied by √d_k.",
            "Divide by it.",
            BATCH,
        ),
        Mistake(
            "scaled by the number of keys",
            _wrong(scale=lambda q, k, v: math.sqrt(k.shape[-2])),
            "You divide by the square root of the number of keys. The length of the vectors decides.",
            "`query.shape[-1]` is d_k.",
            BATCH,
        ),
        Mistake(
            "scaled by the width of the values",
            _wrong(scale=lambda q, k, v: math.sqrt(v.shape[-1])),
            "You divide by √d_v. The scores are dot products of queries and keys, of length d_k.",
            "`query.shape[-1]` is d_k.",
            BATCH,
        ),
        Mistake(
            "scaled by a size counted from the front",
            _wrong(scale=lambda q, k, v: math.sqrt(q.shape[1])),
            "The scale comes from `shape[1]`. For one sentence that is d_k; with a batch axis in front "
            "it is the number of queries.",
            "Count from the end: `query.shape[-1]`.",
        ),
        Mistake(
            "keys reshaped instead of transposed",
            _wrong(turn=_reshaped),
            "`reshape` gives the keys the right shape and leaves the numbers in their old order: parts "
            "of different keys end up in one column.",
            "Turn them with `key.transpose(-2, -1)`.",
        ),
        Mistake(
            "all axes turned round",
            _wrong(turn=_all_axes_turned),
            "`.T` turns *all* axes round, the batch axis too. With one sentence nobody notices.",
            "`key.transpose(-2, -1)` swaps the last two and leaves the rest.",
        ),
        Mistake(
            "axes 0 and 1 swapped",
            _wrong(turn=_first_two_axes_turned),
            "`transpose(0, 1)` swaps the first two axes. For one sentence these are the right ones; "
            "with a batch axis in front they are not.",
            "Count from the end: `key.transpose(-2, -1)`.",
        ),
        Mistake(
            "three axes taken for granted",
            _three_axes_only,
            "`transpose(1, 2)` counts on one batch axis in front, no more and no less.",
            "Count from the end: `key.transpose(-2, -1)` serves any number of axes.",
        ),
        Mistake(
            "shape unpacked into three sizes",
            _shape_unpacked,
            "`batch, n, d = query.shape` counts on exactly three axes.",
            "Ask for what you need, counted from the end: `query.shape[-1]`.",
        ),
        Mistake(
            "sentences see each other",
            _across_the_batch,
            "The batch is treated as one long sentence: queries look at the keys of other examples.",
            "Leave the axes in front where they are; `@` multiplies each example by itself.",
            BATCH,
        ),
        Mistake(
            "mask ignored",
            _mask_not_used,
            "The mask changes nothing.",
            "Set the scores to −∞ where the mask is False, before the softmax.",
            PADDING,
        ),
        Mistake(
            "mask inverted",
            _wrong(mask_for=lambda mask, scores: ~mask),
            "The keys that may be seen are hidden, and the others are seen. True means: may attend.",
            "Fill where the mask is False: `masked_fill(~mask, -math.inf)`.",
            PADDING,
        ),
        Mistake(
            "first example's mask for all",
            _wrong(mask_for=_first_mask_for_all),
            "The mask of the first example is used for all of them.",
            "Use the mask as it is: it broadcasts, and each example meets its own.",
            PADDING,
        ),
        Mistake(
            "masks of the examples mixed",
            _wrong(mask_for=_any_mask_will_do),
            "A key counts as visible as soon as one example of the batch may see it.",
            "Use the mask as it is: it broadcasts, and each example meets its own.",
            PADDING,
        ),
        Mistake(
            "axes added to the mask",
            _wrong(mask_for=_axes_added),
            "You give the mask further axes. It comes with the axes that it needs, and broadcasts to "
            "the scores as it is.",
            "Use the mask as it comes; the caller has placed its axes.",
            PADDING,
        ),
        Mistake(
            "mask used as an index",
            _wrong(weigh=_mask_as_index),
            "`scores[~mask]` needs a mask of exactly the shape of the scores: an index does not "
            "broadcast.",
            "`scores.masked_fill(~mask, -math.inf)` broadcasts, and leaves `scores` as they were.",
            PADDING,
            symptom=_index_refused,
        ),
        Mistake(
            "mask after the softmax",
            _wrong(weigh=_hidden_afterwards),
            "The weights of hidden keys are set to zero after the softmax, so the rest sums to less "
            "than one.",
            "Hide the scores before the softmax, with −∞.",
            PADDING,
        ),
        Mistake(
            "masked scores set to zero",
            _wrong(weigh=_multiplied),
            "Hidden scores become 0, and a score of 0 is a score like any other.",
            "Set them to −∞: `masked_fill(~mask, -math.inf)`.",
            PADDING,
        ),
        Mistake(
            "boolean added to the scores",
            _wrong(weigh=_added_as_numbers),
            "The mask is added to the scores as 0 and 1. That raises the visible keys by one and hides "
            "nothing.",
            "Set hidden scores to −∞: `masked_fill(~mask, -math.inf)`.",
            PADDING,
        ),
        Mistake(
            "finite fill too small",
            _wrong(weigh=_filled_with(-1e4)),
            "Hidden scores are filled with a finite number. A score that is large enough beats it.",
            "Fill with `-math.inf`.",
            PADDING,
        ),
        Mistake(
            "empty rows uniform",
            _wrong(weigh=_filled_with(-1e30)),
            "With a finite fill a row with nothing to see shares its weight equally over the hidden "
            "keys.",
            "After the softmax set every hidden weight to 0.",
            EMPTY,
        ),
        Mistake(
            "empty rows NaN",
            _wrong(weigh=_not_mended),
            "A row with nothing to see is all −∞, and its softmax is NaN.",
            "Fill such rows with 0 before the softmax, and set hidden weights to 0 after it.",
            EMPTY,
        ),
        Mistake(
            "NaN in the gradient",
            _wrong(weigh=_nan_in_the_gradient),
            "The output is right, since NaN is replaced after the softmax. But the backward pass goes "
            "through the softmax that made it, and the gradient is NaN.",
            "Keep NaN from arising: fill empty rows with 0 before the softmax.",
            EMPTY,
        ),
        Mistake(
            "weights overwritten",
            _wrong(weigh=_weights_overwritten),
            "You write into the weights after the softmax. Autograd still needs them as they were, and "
            "refuses.",
            "Make a new tensor: `weights.masked_fill(…)` or `torch.where(…)`.",
            EMPTY,
            symptom=_overwriting_refused,
        ),
        Mistake(
            "softmax without the largest score subtracted",
            _wrong(weigh=_naively),
            "`exp` of the scores as they are overflows, and infinity divided by infinity is NaN.",
            "Use `scores.softmax(dim=-1)`, which subtracts the largest score of each row.",
            BATCH,
        ),
        Mistake(
            "weights cut off from the gradient",
            _weights_cut_off,
            "The numbers are right, but no gradient reaches query and key: `.detach()`, `.data` or a "
            "detour through NumPy cuts it off.",
            "Compute with tensors from beginning to end.",
            ONE_PAGE,
        ),
        Mistake(
            "all cut off from the gradient",
            _all_cut_off,
            "The numbers are right, but no gradient reaches query, key or value: `.detach()`, `.data` "
            "or a detour through NumPy cuts it off.",
            "Compute with tensors from beginning to end.",
            ONE_PAGE,
        ),
        Mistake(
            "weights first",
            _weights_first,
            "The weights come back first and the output second.",
            "End with `return weights @ value, weights`.",
            BATCH,
        ),
        Mistake(
            "scores returned",
            _scores_returned,
            "The second result holds the scores. The weights are asked for.",
            "Return what comes out of the softmax.",
            BATCH,
        ),
    ),
)


# --- 8.2 split_heads --------------------------------------------------------------------------


def split_heads(x, n_heads):
    """Cut the width into heads: (batch, n, d_model) -> (batch, n_heads, n, d_k)."""
    batch, n, d_model = x.shape
    x = x.reshape(batch, n, n_heads, d_model // n_heads)  # a token's columns, in n_heads groups
    return x.transpose(1, 2)  # (batch, n_heads, n, d_k)


def _split_without_transpose(x, n_heads):
    batch, n, d_model = x.shape
    return x.reshape(batch, n_heads, n, d_model // n_heads)


def _split_not_turned(x, n_heads):
    batch, n, d_model = x.shape
    return x.reshape(batch, n, n_heads, d_model // n_heads)


def _split_interleaved(x, n_heads):
    batch, n, d_model = x.shape
    return x.reshape(batch, n, d_model // n_heads, n_heads).permute(0, 3, 1, 2)


def _split_too_far(x, n_heads):
    return split_heads(x, n_heads).transpose(2, 3)


def _split_heads_first(x, n_heads):
    return split_heads(x, n_heads).transpose(0, 1)


def _split_turned_first(x, n_heads):
    batch, n, d_model = x.shape
    return x.transpose(1, 2).reshape(batch, n_heads, n, d_model // n_heads)


def _split_heads_are_the_width(x, n_heads):
    return split_heads(x, x.shape[-1] // n_heads)


def _split_backwards(x, n_heads):
    return split_heads(x, n_heads).flip(1)


def _split_first_only(x, n_heads):
    return split_heads(x, n_heads)[:, :1].repeat(1, n_heads, 1, 1)


def _split_full_width(x, n_heads):
    return x[:, None].repeat(1, n_heads, 1, 1)


def _split_flat(x, n_heads):
    return split_heads(x, n_heads).flatten(0, 1)


def _split_tokens(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=1), dim=1)


def _split_from_the_batch(x, n_heads):
    batch, n, d_model = x.shape
    return x.reshape(n_heads, batch, n, d_model // n_heads).transpose(0, 1)


def _split_list(x, n_heads):
    return list(split_heads(x, n_heads).unbind(dim=1))


def _split_float_width(x, n_heads):
    batch, n, d_model = x.shape
    return x.reshape(batch, n, n_heads, d_model / n_heads).transpose(1, 2)


def _float_refused(call: Call, result: Result) -> bool:
    return "TypeError" in (result.error or "") and "float" in (result.error or "")


def _split_cut_off(x, n_heads):
    return split_heads(x, n_heads).detach().clone()


def _numbered(*shape):
    """Cells with the numbers 0, 1, 2, ..., so that a failing example can be read."""
    return np.arange(math.prod(shape), dtype=np.float64).reshape(shape)


def _to_split(rng):
    sizes = [(3, 5, 8, 4), (2, 3, 10, 5), (4, 5, 6, 2), (5, 2, 12, 3)]
    drawn = [Call((rng.normal(size=(b, n, d)), heads)) for b, n, d, heads in sizes]
    return [Call((_numbered(1, 2, 4), 2)), Call((_numbered(1, 3, 2), 2)), *drawn]


def _edges_to_split(rng):
    return [
        Call((_numbered(1, 2, 3), 1)),
        Call((_numbered(2, 1, 4), 4)),
        Call((rng.normal(size=(2, 4, 5)), 1)),
        Call((rng.normal(size=(3, 4, 5)), 5)),
    ]


def _square_to_split(rng):
    sizes = [(2, 2, 4, 2), (4, 4, 4, 2), (3, 3, 9, 3)]
    return [Call((rng.normal(size=(b, n, d)), heads)) for b, n, d, heads in sizes]


def _types_to_split(rng):
    return [
        Call((_numbered(1, 2, 4).astype(np.float32), 2)),
        Call((np.arange(24).reshape(2, 3, 4), 2)),
    ]


def _not_in_a_row(rng):
    """Tensors whose numbers do not lie one after the other in memory."""
    return [
        Call((np.swapaxes(_numbered(1, 4, 2), 1, 2), 2)),
        Call((np.swapaxes(rng.normal(size=(3, 8, 5)), 1, 2), 4)),
    ]


def _gradients_of_split(rng):
    return [
        Call(
            (rng.normal(size=(b, n, d)), heads),
            how="gradient",
            options={"of": (0,), "grad_output": rng.normal(size=(b, heads, n, d // heads))},
        )
        for b, n, d, heads in [(1, 2, 4, 2), (3, 5, 8, 4)]
    ]


SPLIT_HEADS = Exercise(
    id="split_heads",
    number="8.2",
    chapter=CHAPTER,
    signature="split_heads(x, n_heads)",
    summary="cut the width of every token into heads, and make the heads an axis",
    difficulty=2,
    minutes=12,
    points=2,
    solution=split_heads,
    returns=("heads",),
    library="torch",
    read=WHO_OWNS,
    hints=(
        "Two steps. First cut each token's columns into groups, without touching any other axis. Then "
        "bring the axes into the wanted order. The first step alone cannot give the wanted shape.",
        "After the first step the shape is (batch, n, n_heads, d_k): `reshape` may do it, since it only "
        "cuts the last axis in two. Which two axes are now in the wrong order?",
        "`x.reshape(batch, n, n_heads, d_model // n_heads).transpose(1, 2)`.",
    ),
    probes=(
        Probe(
            "values",
            "head h gets the columns h·d_k to (h + 1)·d_k of every token",
            _to_split,
            cause="Every row of every head must come from one token. Number the cells and look where "
            "they go.",
        ),
        Probe(
            "edges",
            "one head, and as many heads as columns",
            _edges_to_split,
            cause="Nothing special happens here: d_k is d_model // n_heads.",
        ),
        Probe(
            "equal sizes",
            "it also holds where batch, tokens, heads or head width have equal sizes",
            _square_to_split,
            cause="Equal sizes let two axes be confused without any error.",
        ),
        Probe(
            "memory order",
            "it holds for tensors that were transposed before",
            _not_in_a_row,
            cause="After a transpose the numbers do not lie in order in memory: use `reshape`.",
            read=MERGE,
        ),
        Probe("dtype", "the dtype is kept", _types_to_split),
        Probe(
            "gradient",
            "the gradient flows back to the columns it came from",
            _gradients_of_split,
            cause="Something on the way cuts the gradient off: `.detach()` or a new tensor.",
            read=ONE_PAGE,
        ),
    ),
    mistakes=(
        Mistake(
            "reshaped without a transpose",
            _split_without_transpose,
            "The shape is right, but the cells are dealt out in memory order: head 0 gets the whole of "
            "the first tokens, not a slice of every token.",
            "Cut the width first, (batch, n, n_heads, d_k), then swap axes 1 and 2.",
        ),
        Mistake(
            "axes not swapped",
            _split_not_turned,
            "The width is cut, but the heads still stand behind the tokens: (batch, n, n_heads, d_k).",
            "Swap axes 1 and 2: `.transpose(1, 2)`.",
        ),
        Mistake(
            "heads interleaved",
            _split_interleaved,
            "Head h gets every n_heads-th column. It should get d_k columns that stand side by side.",
            "Cut into (n_heads, d_k), in this order, not into (d_k, n_heads).",
        ),
        Mistake(
            "tokens and width swapped",
            _split_too_far,
            "Within each head rows and columns are swapped: (batch, n_heads, d_k, n).",
            "Swap axes 1 and 2 only.",
        ),
        Mistake(
            "heads before the batch",
            _split_heads_first,
            "The head axis stands first, before the batch: (n_heads, batch, n, d_k).",
            "The wanted order is batch, head, token, column.",
        ),
        Mistake(
            "transposed before the cut",
            _split_turned_first,
            "You swap axes first and cut afterwards. The cut then goes through the tokens, and a row "
            "mixes several of them.",
            "Cut the last axis of `x` first, then swap axes 1 and 2.",
        ),
        Mistake(
            "number of heads and head width confused",
            _split_heads_are_the_width,
            "n_heads is used as the width of a head, so there are d_k heads.",
            "The width of a head is `d_model // n_heads`.",
            HEADS,
        ),
        Mistake(
            "head width not a whole number",
            _split_float_width,
            "`d_model / n_heads` is a decimal number in Python, and a size must be a whole one.",
            "Use `//`: `d_model // n_heads`.",
            HEADS,
            symptom=_float_refused,
        ),
        Mistake(
            "heads in reverse order",
            _split_backwards,
            "Head 0 has the last columns and the last head the first.",
            "Head h owns columns h·d_k to (h + 1)·d_k.",
            HEADS,
        ),
        Mistake(
            "first head for all",
            _split_first_only,
            "All heads hold the columns of the first.",
            "The slice must move on with the head: `h * d_k` to `(h + 1) * d_k`.",
            HEADS,
        ),
        Mistake(
            "every head has the full width",
            _split_full_width,
            "Each head gets a copy of all columns. The width is to be shared out.",
            "A head is `d_model // n_heads` wide.",
            HEADS,
        ),
        Mistake(
            "batch and heads in one axis",
            _split_flat,
            "Batch and heads are joined in one axis.",
            "Keep four axes: (batch, n_heads, n, d_k).",
            HEADS,
        ),
        Mistake(
            "tokens cut instead of the width",
            _split_tokens,
            "You cut along the tokens. Every head sees all tokens, and a slice of their columns.",
            "Cut the last axis.",
            HEADS,
        ),
        Mistake(
            "cut through the batch",
            _split_from_the_batch,
            "The heads are cut out of the batch axis, so that a head mixes sentences.",
            "Keep the batch axis first in the `reshape`.",
        ),
        Mistake(
            "a list of heads",
            _split_list,
            "You return a list with a tensor for each head. One tensor with a head axis is asked for.",
            "`torch.stack(heads, dim=1)` makes one tensor of them.",
            HEADS,
        ),
        Mistake(
            "cut off from the gradient",
            _split_cut_off,
            "The numbers are right, but no gradient flows back to `x`.",
            "Leave out `.detach()`, `.data` and `torch.tensor(…)`.",
            ONE_PAGE,
        ),
    ),
)


# --- 8.3 merge_heads --------------------------------------------------------------------------


def merge_heads(x):
    """Put the heads side by side again: (batch, n_heads, n, d_k) -> (batch, n, n_heads * d_k)."""
    batch, n_heads, n, d_k = x.shape
    x = x.transpose(1, 2)  # (batch, n, n_heads, d_k): a token's slices next to each other
    return x.reshape(batch, n, n_heads * d_k)


def _merge_without_transpose(x):
    batch, n_heads, n, d_k = x.shape
    return x.reshape(batch, n, n_heads * d_k)


def _merge_interleaved(x):
    batch, n_heads, n, d_k = x.shape
    return x.permute(0, 2, 3, 1).reshape(batch, n, n_heads * d_k)


def _merge_with_view(x):
    batch, n_heads, n, d_k = x.shape
    return x.transpose(1, 2).view(batch, n, n_heads * d_k)


def _view_refused(call: Call, result: Result) -> bool:
    return "view size is not compatible" in (result.error or "")


def _merge_sum(x):
    return x.sum(dim=1)


def _merge_mean(x):
    return x.mean(dim=1)


def _merge_along_tokens(x):
    return torch.cat(x.unbind(dim=1), dim=1)


def _merge_not_joined(x):
    return x.transpose(1, 2)


def _merge_backwards(x):
    return merge_heads(x.flip(1))


def _merge_wrong_axes(x):
    batch, n_heads, n, d_k = x.shape
    return x.transpose(2, 3).reshape(batch, n, n_heads * d_k)


def _merge_token_axis_last(x):
    return merge_heads(x).transpose(1, 2)


def _merge_through_the_batch(x):
    batch, n_heads, n, d_k = x.shape
    return x.permute(2, 0, 1, 3).reshape(batch, n, n_heads * d_k)


def _merge_tokens_first(x):
    return merge_heads(x).transpose(0, 1)


def _merge_batch_gone(x):
    return merge_heads(x).flatten(0, 1)


def _merge_one_head(x):
    return x[:, :1].repeat(1, x.shape[1], 1, 1).transpose(1, 2).flatten(2)


def _merge_cut_off(x):
    return merge_heads(x).detach()


def _merge_resized(x):
    batch, n_heads, n, d_k = x.shape
    return x.contiguous().view(batch, n_heads * d_k, n).transpose(1, 2)


def _to_merge(rng):
    sizes = [(3, 4, 5, 2), (2, 5, 3, 4), (4, 2, 5, 3), (5, 3, 2, 4)]
    return [
        Call((_numbered(1, 2, 2, 2),)),
        Call((_numbered(1, 2, 3, 1),)),
        *[Call((rng.normal(size=size),)) for size in sizes],
    ]


def _edges_to_merge(rng):
    return [
        Call((_numbered(1, 1, 2, 3),)),
        Call((_numbered(2, 4, 1, 1),)),
        Call((rng.normal(size=(2, 1, 4, 5)),)),
        Call((rng.normal(size=(3, 5, 4, 1)),)),
    ]


def _square_to_merge(rng):
    return [Call((rng.normal(size=size),)) for size in [(2, 2, 2, 2), (3, 4, 4, 2), (3, 2, 4, 4)]]


def _types_to_merge(rng):
    return [
        Call((_numbered(1, 2, 2, 2).astype(np.float32),)),
        Call((np.arange(24).reshape(1, 2, 3, 4),)),
    ]


def _split_before(rng):
    """As they come out of split_heads: the tokens of a head do not lie in a row in memory."""
    return [
        Call((np.swapaxes(_numbered(1, 2, 2, 2), 1, 2),)),
        Call((np.swapaxes(rng.normal(size=(3, 5, 4, 2)), 1, 2),)),
    ]


def _gradients_of_merge(rng):
    return [
        Call(
            (rng.normal(size=(b, heads, n, d_k)),),
            how="gradient",
            options={"of": (0,), "grad_output": rng.normal(size=(b, n, heads * d_k))},
        )
        for b, heads, n, d_k in [(1, 2, 2, 2), (3, 4, 5, 2)]
    ]


MERGE_HEADS = Exercise(
    id="merge_heads",
    number="8.3",
    chapter=CHAPTER,
    signature="merge_heads(x)",
    summary="put the heads of every token side by side again",
    difficulty=2,
    minutes=10,
    points=2,
    solution=merge_heads,
    returns=("merged",),
    library="torch",
    read=MERGE,
    hints=(
        "Undo the two steps of `split_heads`, the last one first.",
        "First bring the slices of a token next to each other: (batch, n, n_heads, d_k). Only then "
        "join the last two axes.",
        "`x.transpose(1, 2).reshape(batch, n, n_heads * d_k)`. `view` refuses here, since after the "
        "transpose the numbers do not lie in order in memory; `reshape` copies them.",
    ),
    probes=(
        Probe(
            "values",
            "row t of the result holds the rows t of all heads, side by side",
            _to_merge,
            cause="Every row of the result must come from one token. Number the cells and look where "
            "they go.",
        ),
        Probe(
            "edges",
            "one head, one token, heads of width one",
            _edges_to_merge,
            cause="Nothing special happens here.",
        ),
        Probe(
            "equal sizes",
            "it also holds where batch, heads, tokens or head width have equal sizes",
            _square_to_merge,
            cause="Equal sizes let two axes be confused without any error.",
        ),
        Probe(
            "memory order",
            "it undoes split_heads, whose result is a transposed tensor",
            _split_before,
            cause="After a transpose the numbers do not lie in order in memory: use `reshape`.",
        ),
        Probe("dtype", "the dtype is kept", _types_to_merge),
        Probe(
            "gradient",
            "the gradient flows back to the head and token it came from",
            _gradients_of_merge,
            cause="Something on the way cuts the gradient off: `.detach()` or a new tensor.",
            read=ONE_PAGE,
        ),
    ),
    mistakes=(
        Mistake(
            "reshaped without a transpose",
            _merge_without_transpose,
            "The shape is right, but a row of the result holds several tokens of one head, not all "
            "heads of one token.",
            "Swap axes 1 and 2 first, then join the last two.",
        ),
        Mistake(
            "heads interleaved",
            _merge_interleaved,
            "The columns of the heads alternate. The heads should stand one after the other.",
            "Before you join them, the order is (batch, n, n_heads, d_k).",
        ),
        Mistake(
            "view on a transposed tensor",
            _merge_with_view,
            "After a transpose the numbers do not lie in order in memory, and `view`, which never "
            "copies, refuses.",
            "Use `reshape` in place of `view`, or put `.contiguous()` before it.",
            symptom=_view_refused,
        ),
        Mistake(
            "heads added up",
            _merge_sum,
            "The heads are added together, so their differences are lost. They are put side by side.",
            "The result is n_heads · d_k wide.",
        ),
        Mistake(
            "heads averaged",
            _merge_mean,
            "The heads are averaged, so their differences are lost. They are put side by side.",
            "The result is n_heads · d_k wide.",
        ),
        Mistake(
            "joined along the tokens",
            _merge_along_tokens,
            "The heads are put one below the other, which makes more tokens. They belong side by side.",
            "Join along the last axis.",
        ),
        Mistake(
            "not joined",
            _merge_not_joined,
            "The axes are in the right order, but heads and columns are still two axes.",
            "Join the last two: `.reshape(batch, n, n_heads * d_k)` or `.flatten(2)`.",
        ),
        Mistake(
            "heads in reverse order",
            _merge_backwards,
            "The last head stands first.",
            "Head 0 comes first, as in `split_heads`.",
        ),
        Mistake(
            "wrong axes swapped",
            _merge_wrong_axes,
            "You swap tokens and columns. Heads and tokens must change places.",
            "`x.transpose(1, 2)`, then join the last two axes.",
        ),
        Mistake(
            "tokens as the last axis",
            _merge_token_axis_last,
            "Rows and columns are swapped: a row should be a token.",
            "The wanted shape is (batch, n, d_model).",
        ),
        Mistake(
            "columns first",
            _merge_resized,
            "Heads and columns are joined in front of the tokens in memory order, so that a row mixes "
            "tokens.",
            "Swap axes 1 and 2 first, then join the last two.",
        ),
        Mistake(
            "batch and tokens mixed",
            _merge_through_the_batch,
            "The token axis stands before the batch when you reshape, so sentences are mixed.",
            "Keep the batch axis first: `x.transpose(1, 2)`.",
        ),
        Mistake(
            "tokens before the batch",
            _merge_tokens_first,
            "Batch and tokens have changed places.",
            "The wanted shape is (batch, n, d_model).",
        ),
        Mistake(
            "batch axis lost",
            _merge_batch_gone,
            "Batch and tokens are joined in one axis.",
            "Keep three axes: (batch, n, d_model).",
        ),
        Mistake(
            "first head for all",
            _merge_one_head,
            "The first head is repeated, and the others are lost.",
            "Every head has its own place in the row.",
        ),
        Mistake(
            "cut off from the gradient",
            _merge_cut_off,
            "The numbers are right, but no gradient flows back to `x`.",
            "Leave out `.detach()`, `.data` and `torch.tensor(…)`.",
            ONE_PAGE,
        ),
    ),
)


# --- 8.4 attention_backward -------------------------------------------------------------------


def attention_backward(query, key, value, grad_output, mask=None):
    """Gradients of sum(output * grad_output) for query, key and value, by hand."""
    _, weights = batched_attention(query, key, value, mask)  # (..., n_q, n_k)
    grad_value = weights.transpose(-2, -1) @ grad_output  # (..., n_k, d_v)
    grad_weights = grad_output @ value.transpose(-2, -1)  # (..., n_q, n_k)
    average = (weights * grad_weights).sum(dim=-1, keepdim=True)  # (..., n_q, 1)
    grad_scores = weights * (grad_weights - average)  # (..., n_q, n_k)
    grad_scores = grad_scores / math.sqrt(query.shape[-1])  # through the scaling
    grad_query = grad_scores @ key  # (..., n_q, d_k)
    grad_key = grad_scores.transpose(-2, -1) @ query  # (..., n_k, d_k)
    return grad_query, grad_key, grad_value


def _through_softmax(weights, grad_weights):
    return weights * (grad_weights - (weights * grad_weights).sum(-1, keepdim=True))


def _wrong_backward(
    forward=lambda q, k, v, mask: batched_attention(q, k, v, mask)[1],
    back=_through_softmax,
    scale=lambda q, k: math.sqrt(q.shape[-1]),
    of_value=lambda weights, scores, grad: weights.transpose(-2, -1) @ grad,
    last=lambda gq, gk, gv: (gq, gk, gv),
):
    """The backward pass with one step replaced."""

    def wrong(query, key, value, grad_output, mask=None):
        weights = forward(query, key, value, mask)
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        grad_value = of_value(weights, scores, grad_output)
        grad_scores = back(weights, grad_output @ value.transpose(-2, -1)) / scale(query, key)
        return last(grad_scores @ key, grad_scores.transpose(-2, -1) @ query, grad_value)

    return wrong


def _weights_not_scaled(query, key, value, mask):
    return batched_attention(query * math.sqrt(query.shape[-1]), key, value, mask)[1]


def _weights_down_the_columns(query, key, value, mask):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return _weigh(scores, mask, -2)


def _scaled_by_the_values(query, key, value, grad_output, mask=None):
    times = math.sqrt(query.shape[-1]) / math.sqrt(value.shape[-1])
    grad_query, grad_key, grad_value = attention_backward(query, key, value, grad_output, mask)
    return grad_query * times, grad_key * times, grad_value


def _value_scaled_too(query, key, value, grad_output, mask=None):
    grad_query, grad_key, grad_value = attention_backward(query, key, value, grad_output, mask)
    return grad_query, grad_key, grad_value / math.sqrt(query.shape[-1])


def _grad_output_ignored(query, key, value, grad_output, mask=None):
    return attention_backward(query, key, value, torch.ones_like(grad_output), mask)


def _masked_gradient_only(query, key, value, grad_output, mask=None):
    _, weights = batched_attention(query, key, value)
    grad_scores = _through_softmax(weights, grad_output @ value.transpose(-2, -1))
    if mask is not None:
        grad_scores = grad_scores.masked_fill(~mask, 0.0)
    grad_scores = grad_scores / math.sqrt(query.shape[-1])
    grad_value = weights.transpose(-2, -1) @ grad_output
    return grad_scores @ key, grad_scores.transpose(-2, -1) @ query, grad_value


def _value_not_turned(query, key, value, grad_output, mask=None):
    grads = attention_backward(query, key, value, grad_output, mask)
    _, weights = batched_attention(query, key, value, mask)
    return (*grads[:2], weights @ grad_output)


def _key_not_turned(query, key, value, grad_output, mask=None):
    """grad_scores @ query: runs where there are as many queries as keys."""
    gq, _, gv = attention_backward(query, key, value, grad_output, mask)
    _, weights = batched_attention(query, key, value, mask)
    grad_scores = _through_softmax(weights, grad_output @ value.transpose(-2, -1))
    return gq, grad_scores @ query / math.sqrt(query.shape[-1]), gv


def _batch_added_up(query, key, value, grad_output, mask=None):
    grads = attention_backward(query, key, value, grad_output, mask)
    return tuple(g.sum(dim=0, keepdim=True).expand_as(g) if g.ndim > 2 else g for g in grads)


def _mean_loss(query, key, value, grad_output, mask=None):
    return attention_backward(query, key, value, grad_output / grad_output.numel(), mask)


def _query_not_scaled(query, key, value, grad_output, mask=None):
    gq, gk, gv = attention_backward(query, key, value, grad_output, mask)
    return gq * math.sqrt(query.shape[-1]), gk, gv


def _key_not_scaled(query, key, value, grad_output, mask=None):
    gq, gk, gv = attention_backward(query, key, value, grad_output, mask)
    return gq, gk * math.sqrt(query.shape[-1]), gv


def _in_float32(query, key, value, grad_output, mask=None):
    tensors = (t.float() for t in (query, key, value, grad_output))
    return tuple(t.double() for t in attention_backward(*tensors, mask))


def _turned_with_t(query, key, value, grad_output, mask=None):
    _, weights = batched_attention(query, key, value, mask)
    grad_weights = grad_output @ _all_axes_turned(value)
    grad_scores = _through_softmax(weights, grad_weights) / math.sqrt(query.shape[-1])
    grad_value = _all_axes_turned(weights) @ grad_output
    return grad_scores @ key, _all_axes_turned(grad_scores) @ query, grad_value


def _off_by_rounding(call: Call, result: Result) -> bool:
    """Right to a few digits, and float64 by name only."""
    if not isinstance(result.value, tuple) or len(result.value) != 3:
        return False
    args = [torch.from_numpy(np.array(a)) for a in call.args]
    masks = {name: torch.from_numpy(np.array(m)) for name, m in call.kwargs.items()}
    return all(
        got.shape == want.shape and got.dtype == np.float64 and np.allclose(got, want, atol=1e-5)
        for got, want in zip(result.value, attention_backward(*args, **masks), strict=True)
    )


def _query_and_key_confused(query, key, value, grad_output, mask=None):
    _, weights = batched_attention(query, key, value, mask)
    grad_scores = _through_softmax(weights, grad_output @ value.transpose(-2, -1))
    grad_scores = grad_scores / math.sqrt(query.shape[-1])
    grad_value = weights.transpose(-2, -1) @ grad_output
    return grad_scores @ query, grad_scores.transpose(-2, -1) @ key, grad_value


def _backward(rng, lead, sizes, mask=None):
    args = (*_drawn(rng, lead, *sizes), rng.normal(size=(*lead, sizes[0], sizes[3])))
    return Call(args, {} if mask is None else {"mask": mask})


def _one_sentence_backward(rng):
    return [
        _backward(rng, (), (1, 2, 2, 1)),
        _backward(rng, (), (2, 3, 2, 1)),
        _backward(rng, (), (4, 3, 5, 2)),
        _backward(rng, (), (3, 3, 3, 3)),
    ]


def _batches_backward(rng):
    return [
        _backward(rng, (2,), (1, 1, 2, 1)),
        _backward(rng, (3,), (4, 5, 2, 6)),
        _backward(rng, (2, 3), (4, 5, 6, 7)),
    ]


def _masks_backward(rng):
    padding = (np.arange(3) < np.array([3, 1])[:, None])[:, None, :]  # (2, 1, 3)
    return [
        _backward(rng, (), (2, 3, 2, 1), _no_empty_row(rng, 2, 3)),
        _backward(rng, (2,), (4, 3, 5, 2), padding),
        _backward(rng, (3,), (4, 4, 2, 6), np.tril(np.ones((4, 4), dtype=bool))),
        _backward(rng, (2, 3), (4, 5, 6, 7), _no_empty_row(rng, 2, 3, 4, 5)),
    ]


def _empty_rows_backward(rng):
    small = np.array([[True, False, True], [False, False, False]])
    larger = _no_empty_row(rng, 3, 4, 5)
    larger[1, 2] = False
    return [
        _backward(rng, (), (2, 3, 2, 1), small),
        _backward(rng, (3,), (4, 5, 2, 6), larger),
    ]


ATTENTION_BACKWARD = Exercise(
    id="attention_backward",
    number="8.4",
    chapter=CHAPTER,
    signature="attention_backward(query, key, value, grad_output, mask=None)",
    summary="the gradients of attention for query, key and value, by hand",
    difficulty=3,
    minutes=25,
    points=3,
    solution=attention_backward,
    returns=("grad_query", "grad_key", "grad_value"),
    library="torch",
    read=BACKWARD,
    hints=(
        "Go back through the forward pass, last line first: output, weights, scores, then query and "
        "key. Each gradient has the shape of what it belongs to, and that leaves little choice.",
        "For a product $C = AB$: the gradient of $A$ is $G_C B^\\top$, that of $B$ is $A^\\top G_C$. "
        "Use it for `weights @ value` and for `query @ keyᵀ`. Between them lies the softmax.",
        "`grad_weights = grad_output @ value.transpose(-2, -1)`; "
        "`average = (weights * grad_weights).sum(dim=-1, keepdim=True)`; "
        "`grad_scores = weights * (grad_weights - average) / math.sqrt(query.shape[-1])`. From there "
        "two products give `grad_query` and `grad_key`.",
    ),
    probes=(
        Probe(
            "one sentence",
            "in float64 all three gradients equal autograd's to within 1e-8",
            _one_sentence_backward,
            tolerance=1e-8,
            cause="Compare one gradient after the other, grad_value first: it needs the least.",
        ),
        Probe(
            "batches and heads",
            "with axes in front each slice has its own gradients",
            _batches_backward,
            tolerance=1e-8,
            cause="Count axes from the end, -1 and -2, and add up over the last ones only.",
        ),
        Probe(
            "masks",
            "with a mask no gradient passes through a hidden place",
            _masks_backward,
            tolerance=1e-8,
            cause="Hand the mask on to the forward pass; the zeros of its weights do the rest.",
            read=MASKED,
        ),
        Probe(
            "empty rows",
            "a query that may see nothing has gradient zero, not NaN",
            _empty_rows_backward,
            tolerance=1e-8,
            cause="The weights of such a row are zeros, and so are all its gradients.",
            read=MASKED,
        ),
    ),
    mistakes=(
        Mistake(
            "scale forgotten on the way back",
            _wrong_backward(scale=lambda q, k: 1.0),
            "`grad_query` and `grad_key` lack the factor 1/√d_k: the scores were divided by it on the "
            "way forward, so their gradients are too.",
            "Divide `grad_scores` by `math.sqrt(query.shape[-1])`.",
        ),
        Mistake(
            "scale forgotten for the queries",
            _query_not_scaled,
            "`grad_query` lacks the factor 1/√d_k, and `grad_key` has it. The scaling lies before both.",
            "Divide `grad_scores` once, before you use it for either.",
        ),
        Mistake(
            "scale forgotten for the keys",
            _key_not_scaled,
            "`grad_key` lacks the factor 1/√d_k, and `grad_query` has it. The scaling lies before both.",
            "Divide `grad_scores` once, before you use it for either.",
        ),
        Mistake(
            "scaled twice",
            _wrong_backward(scale=lambda q, k: q.shape[-1]),
            "`grad_query` and `grad_key` are divided by d_k: √d_k came in twice.",
            "Divide once, by `math.sqrt(query.shape[-1])`.",
        ),
        Mistake(
            "scale multiplied",
            _wrong_backward(scale=lambda q, k: 1 / math.sqrt(q.shape[-1])),
            "`grad_query` and `grad_key` are multiplied by √d_k. A division stays a division on the way "
            "back.",
            "Divide `grad_scores` by `math.sqrt(query.shape[-1])`.",
        ),
        Mistake(
            "scaled by the width of the values",
            _scaled_by_the_values,
            "You divide by √d_v. On the way forward the scores were divided by √d_k.",
            "Divide `grad_scores` by `math.sqrt(query.shape[-1])`.",
        ),
        Mistake(
            "values scaled too",
            _value_scaled_too,
            "`grad_value` is divided by √d_k. The values never pass through the scaling.",
            "Divide `grad_scores` only.",
        ),
        Mistake(
            "weights of scores that are not scaled",
            _wrong_backward(forward=_weights_not_scaled),
            "The weights are computed from scores that were not divided by √d_k.",
            "Use the weights of your `batched_attention`.",
        ),
        Mistake(
            "row sum missing",
            _wrong_backward(back=lambda w, g: w * g),
            "The softmax is passed with `weights * grad_weights` alone: the diagonal of diag(w). The "
            "second part of the Jacobian, w wᵀ, is missing.",
            "Subtract the row's average first: "
            "`weights * (grad_weights - (weights * grad_weights).sum(dim=-1, keepdim=True))`.",
        ),
        Mistake(
            "sigmoid's slope instead of the Jacobian",
            _wrong_backward(back=lambda w, g: w * (1 - w) * g),
            "Each weight is passed with its own slope w(1 − w) only, as if it did not depend on the "
            "other scores of its row.",
            "Use the whole Jacobian: `weights * (grad_weights - average)`.",
        ),
        Mistake(
            "plain mean in place of the weighted average",
            _wrong_backward(back=lambda w, g: w * (g - g.mean(-1, keepdim=True))),
            "You subtract the plain mean of the row. The average is taken with the weights.",
            "`(weights * grad_weights).sum(dim=-1, keepdim=True)`.",
        ),
        Mistake(
            "sum without the weights",
            _wrong_backward(back=lambda w, g: w * (g - g.sum(-1, keepdim=True))),
            "You subtract the plain sum of the row. Each term has to be multiplied by its weight.",
            "`(weights * grad_weights).sum(dim=-1, keepdim=True)`.",
        ),
        Mistake(
            "all axes turned round",
            _turned_with_t,
            "`.T` turns *all* axes round, the batch axis too. With one sentence nobody notices.",
            "`weights.transpose(-2, -1)` swaps the last two and leaves the rest.",
            BREAKS,
        ),
        Mistake(
            "keepdim forgotten",
            _wrong_backward(back=lambda w, g: w * (g - (w * g).sum(-1))),
            "Without `keepdim=True` the average loses its axis: it does not line up with its row, or "
            "lines up with the columns where there are as many queries as keys.",
            "`(weights * grad_weights).sum(dim=-1, keepdim=True)`.",
        ),
        Mistake(
            "sum over the queries",
            _wrong_backward(back=lambda w, g: w * (g - (w * g).sum(-2, keepdim=True))),
            "The average runs down the columns, over the queries. Each query's row has its own softmax.",
            "Add up along the keys: `dim=-1, keepdim=True`.",
        ),
        Mistake(
            "sum over everything",
            _wrong_backward(back=lambda w, g: w * (g - (w * g).sum())),
            "One sum for the whole tensor is subtracted. Each query's row has its own softmax.",
            "Add up along the keys: `dim=-1, keepdim=True`.",
        ),
        Mistake(
            "softmax left out",
            _wrong_backward(back=lambda w, g: g),
            "The gradient of the weights is used as that of the scores. The softmax stands between "
            "them.",
            "`weights * (grad_weights - average)`.",
        ),
        Mistake(
            "average not multiplied by the weights",
            _wrong_backward(back=lambda w, g: w * g - (w * g).sum(-1, keepdim=True)),
            "The average is subtracted outside the bracket: it must be multiplied by the weights too.",
            "`weights * (grad_weights - average)`, with the bracket.",
        ),
        Mistake(
            "scores in place of weights for the values",
            _wrong_backward(of_value=lambda w, s, g: s.transpose(-2, -1) @ g),
            "`grad_value` is made from the scores. The output was made with the weights.",
            "`weights.transpose(-2, -1) @ grad_output`.",
        ),
        Mistake(
            "weights not transposed for the values",
            _value_not_turned,
            "`grad_value` uses the weights as they are. A value collects from all queries that looked "
            "at it, so the weights must be transposed.",
            "`weights.transpose(-2, -1) @ grad_output`.",
        ),
        Mistake(
            "gradient of the scores not transposed for the keys",
            _key_not_turned,
            "`grad_key` uses the gradient of the scores as it is. A key collects from all queries that "
            "looked at it, so it must be transposed.",
            "`grad_scores.transpose(-2, -1) @ query`.",
        ),
        Mistake(
            "query and key confused",
            _query_and_key_confused,
            "`grad_query` is made with the queries and `grad_key` with the keys. In a product each "
            "factor's gradient is made with the *other* factor.",
            "`grad_scores @ key` and `grad_scores.transpose(-2, -1) @ query`.",
        ),
        Mistake(
            "grad_query and grad_key swapped",
            _wrong_backward(last=lambda gq, gk, gv: (gk, gq, gv)),
            "The results come back in another order.",
            "Return `grad_query, grad_key, grad_value`.",
        ),
        Mistake(
            "grad_output ignored",
            _grad_output_ignored,
            "The result does not depend on `grad_output`: every output number counts as one.",
            "`grad_output` says how strongly the loss answers to each output number; begin with it.",
        ),
        Mistake(
            "wrong sign",
            _wrong_backward(last=lambda gq, gk, gv: (-gq, -gk, gv)),
            "`grad_query` and `grad_key` have the wrong sign.",
            "`grad_weights - average`, not the other way round.",
        ),
        Mistake(
            "mask ignored",
            lambda query, key, value, grad_output, mask=None: attention_backward(
                query, key, value, grad_output
            ),
            "The mask changes nothing: gradients reach keys that nobody could see.",
            "Hand it on: `batched_attention(query, key, value, mask)`.",
            MASKED,
        ),
        Mistake(
            "mask on the gradient only",
            _masked_gradient_only,
            "The gradient is set to zero where the mask is False, but the weights come from a softmax "
            "that saw the hidden keys.",
            "Hand the mask to the forward pass; its zero weights stop the gradient by themselves.",
            MASKED,
        ),
        Mistake(
            "softmax over the queries",
            _wrong_backward(forward=_weights_down_the_columns),
            "The weights come from a softmax over the queries.",
            "Use the weights of your `batched_attention`.",
        ),
        Mistake(
            "empty rows NaN",
            _wrong_backward(
                forward=lambda q, k, v, mask: _not_mended(
                    q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), mask
                )
            ),
            "The weights of a row with nothing to see are NaN, and NaN spreads to every gradient.",
            "Use the weights of your `batched_attention`, which are zeros there.",
            MASKED,
        ),
        Mistake(
            "gradients of the batch added up",
            _batch_added_up,
            "The gradients of all examples are added together. Only what the examples *share*, such as "
            "a weight matrix, adds up.",
            "Leave the axes in front alone.",
        ),
        Mistake(
            "computed in float32",
            _in_float32,
            "The gradients are right to seven digits or so, and not to more: somewhere on the way you "
            "compute in float32.",
            "Leave the dtype as it comes: no `.float()`, and no new tensors of the default type.",
            "The same numbers on a GPU?",
            symptom=_off_by_rounding,
        ),
        Mistake(
            "divided by the number of outputs",
            _mean_loss,
            "All gradients are divided by the number of outputs, as for a mean. A sum is asked for.",
            "Begin with `grad_output` as it is.",
        ),
    ),
)


# --- 8.5 repaired_layer -----------------------------------------------------------------------


def repaired_layer(x, lengths, n_heads):
    """Self-attention of padded sentences with several heads: (batch, n, d_model) -> the same."""
    batch, n, d_model = x.shape
    heads = split_heads(x, n_heads)  # (batch, n_heads, n, d_k)
    places = torch.arange(n, device=x.device)  # (n,) one for each token, not for each column
    mask = places < lengths[:, None]  # (batch, n)
    output, _ = batched_attention(heads, heads, heads, mask[:, None, None, :])
    return merge_heads(output)  # (batch, n, d_model)


def _with_bugs(split=False, width=False, merge=False):
    """The layer with some of the three bugs left in."""

    def layer(x, lengths, n_heads):
        batch, n, d_model = x.shape
        heads = (_split_without_transpose if split else split_heads)(x, n_heads)
        mask = torch.arange(d_model if width else n) < lengths[:, None]
        output, _ = batched_attention(heads, heads, heads, mask[:, None, None, :])
        return (_merge_without_transpose if merge else merge_heads)(output)

    return layer


def _layer(split=split_heads, merge=merge_heads, mask_for=lambda mask: mask[:, None, None, :]):
    def layer(x, lengths, n_heads):
        heads = split(x, n_heads)
        mask = torch.arange(x.shape[1]) < lengths[:, None]
        return merge(batched_attention(heads, heads, heads, mask_for(mask))[0])

    return layer


def _scaled_by_the_whole_width(x, lengths, n_heads):
    heads = split_heads(x, n_heads)
    mask = torch.arange(x.shape[1]) < lengths[:, None]
    output, _ = batched_attention(heads / math.sqrt(n_heads), heads, heads, mask[:, None, None, :])
    return merge_heads(output)


def _mask_bare(x, lengths, n_heads):
    return _layer(mask_for=lambda mask: mask)(x, lengths, n_heads)


def _mask_left_out(x, lengths, n_heads):
    heads = split_heads(x, n_heads)
    return merge_heads(batched_attention(heads, heads, heads)[0])


def _one_head_only(x, lengths, n_heads):
    return repaired_layer(x, lengths, 1)


def _first_length_only(x, lengths, n_heads):
    return repaired_layer(x, lengths[:1].expand_as(lengths), n_heads)


def _lengths_off_by_one(x, lengths, n_heads):
    return repaired_layer(x, lengths + 1, n_heads)


def _padding_rows_zeroed(x, lengths, n_heads):
    mask = torch.arange(x.shape[1]) < lengths[:, None]
    return repaired_layer(x, lengths, n_heads) * mask[:, :, None]


def _equal_sizes(rng):
    """As many tokens as columns: the case in which the published layer runs."""
    calls = [Call((rng.normal(size=(1, 2, 2)), np.array([2]), 2))]
    for batch, n, heads in [(3, 4, 2), (2, 6, 3)]:
        lengths = np.r_[n, rng.integers(1, n, size=batch - 1)]
        calls.append(Call((rng.normal(size=(batch, n, n)), lengths, heads)))
    return calls


def _other_sizes(rng):
    calls = [Call((rng.normal(size=(1, 3, 2)), np.array([2]), 2))]
    for batch, n, d_model, heads in [(2, 5, 4, 2), (3, 4, 10, 5), (4, 7, 6, 2)]:
        lengths = np.r_[rng.integers(1, n, size=batch - 1), n]
        calls.append(Call((rng.normal(size=(batch, n, d_model)), lengths, heads)))
    return calls


_SPLIT_BUG = "The split deals the cells out in memory order, so that a head's row mixes tokens."
_WIDTH_BUG = "The mask counts columns, d_model of them, where it should count tokens."
_MERGE_BUG = "The heads are merged in memory order, so that a row of the output mixes tokens."
_ONE_LEFT = "Two of the three bugs are mended. One is left. "
_TWO_LEFT = "One of the three bugs is mended. Two are left. "

REPAIRED_LAYER = Exercise(
    id="repaired_layer",
    number="8.5",
    chapter=CHAPTER,
    signature="repaired_layer(x, lengths, n_heads)",
    summary="find and mend three silent bugs in a layer that runs",
    difficulty=2,
    minutes=15,
    points=2,
    solution=repaired_layer,
    returns=("output",),
    library="torch",
    read=BUGS,
    hints=(
        "Go through the layer line by line, and ask of each line that names a shape: which token owns "
        "this cell? and: is this the size I mean, or one that happens to be equal?",
        "One bug is in the split, one in the size of the mask, one in the merge. You have written "
        "functions for two of them.",
        "Use `split_heads(x, n_heads)` and `merge_heads(output)`, and let `places` count the tokens: "
        "`torch.arange(n, device=x.device)`.",
    ),
    probes=(
        Probe(
            "equal sizes",
            "with as many tokens as columns every head attends within its own columns",
            _equal_sizes,
            cause="Work through split, mask and merge, each by itself.",
        ),
        Probe(
            "other sizes",
            "with other numbers of tokens, columns, heads and sentences the layer still holds",
            _other_sizes,
            cause="Is a size used that happened to be equal to another?",
        ),
    ),
    mistakes=(
        Mistake(
            "split bug left",
            _with_bugs(split=True),
            _ONE_LEFT + _SPLIT_BUG,
            "Use `split_heads`.",
        ),
        Mistake(
            "mask bug left",
            _with_bugs(width=True),
            _ONE_LEFT + _WIDTH_BUG,
            "`torch.arange(n, device=x.device)`.",
        ),
        Mistake(
            "merge bug left",
            _with_bugs(merge=True),
            _ONE_LEFT + _MERGE_BUG,
            "Use `merge_heads`.",
        ),
        Mistake(
            "split and mask bugs left",
            _with_bugs(split=True, width=True),
            _TWO_LEFT + _SPLIT_BUG,
            "Use `split_heads`. Then compare the size of the mask with the number of tokens.",
        ),
        Mistake(
            "mask and merge bugs left",
            _with_bugs(width=True, merge=True),
            _TWO_LEFT + _MERGE_BUG,
            "Use `merge_heads`. Then compare the size of the mask with the number of tokens.",
        ),
        Mistake(
            "split and merge bugs left",
            _with_bugs(split=True, merge=True),
            _TWO_LEFT
            + "Split and merge undo each other, so a round trip does not show them: the heads "
            "in between are wrong.",
            "Use `split_heads` and `merge_heads`.",
        ),
        Mistake(
            "all three bugs left",
            _with_bugs(split=True, width=True, merge=True),
            "This is the layer as it was published: all three bugs are in it.",
            "Begin with the first line that names a shape. Which token owns which cell?",
        ),
        Mistake(
            "mask on the queries",
            _layer(mask_for=lambda mask: mask[:, None, :, None]),
            "The mask hides padded *queries*. It must hide padded keys, from every query.",
            "The keys are the last axis: `mask[:, None, None, :]`.",
            PADDING,
        ),
        Mistake(
            "mask without axes for heads and queries",
            _mask_bare,
            "The mask is handed on as (batch, n). Read from the end, its rows then count as queries.",
            "Write the axes out: `mask[:, None, None, :]`.",
            PADDING,
        ),
        Mistake(
            "mask without an axis for the heads",
            _layer(mask_for=lambda mask: mask[:, None, :]),
            "The mask is handed on as (batch, 1, n). Read from the end, its examples then count as "
            "heads.",
            "Two axes of length one are needed: `mask[:, None, None, :]`.",
            PADDING,
        ),
        Mistake(
            "mask inverted",
            _layer(mask_for=lambda mask: ~mask[:, None, None, :]),
            "The padding is seen and the tokens are hidden.",
            "True means: may attend.",
            PADDING,
        ),
        Mistake(
            "mask left out",
            _mask_left_out,
            "Padding is seen like any token.",
            "Hand the mask on, with axes for heads and queries: `mask[:, None, None, :]`.",
            PADDING,
        ),
        Mistake(
            "one head only",
            _one_head_only,
            "The result is that of a single head of full width.",
            "Split into `n_heads` heads.",
            HEADS,
        ),
        Mistake(
            "scaled by the whole width",
            _scaled_by_the_whole_width,
            "The scores are divided by √d_model. A head's dot products have d_k terms.",
            "Divide by √d_k, the width of a head; your `batched_attention` does it.",
            HEADS,
        ),
        Mistake(
            "first length for all",
            _first_length_only,
            "The length of the first sentence is used for all of them.",
            "Each sentence has its own: `places < lengths[:, None]`.",
            PADDING,
        ),
        Mistake(
            "one padded place let in",
            _lengths_off_by_one,
            "One place too many may be seen in each sentence.",
            "Places count from 0: `<`, not `<=`.",
            PADDING,
        ),
        Mistake(
            "padded rows zeroed",
            _padding_rows_zeroed,
            "The output rows of padded places are set to zero. The layer never did that: it hides "
            "padded keys, and nobody looks at the padded rows.",
            "Leave the rows of padded places as they come.",
            PADDING,
        ),
    ),
)

EXERCISES = (BATCHED_ATTENTION, SPLIT_HEADS, MERGE_HEADS, ATTENTION_BACKWARD, REPAIRED_LAYER)
