"""Chapter 7: padding_mask, causal_mask, boolean_to_additive, attention with a mask, a leak hunt."""

from __future__ import annotations

import math

import numpy as np

from attnbook import numpy_attention
from attnbook.exercises.exercise import Call, Exercise, Mistake, Probe
from attnbook.numpy_attention import boolean_to_additive, softmax

CHAPTER = "07-masks"


# --- 7.1 padding_mask -------------------------------------------------------------------------


def padding_mask(lengths, max_len):
    """Which places of a padded batch hold a token: (batch,) lengths -> (batch, max_len) bool."""
    places = np.arange(max_len)  # (max_len,) counting from 0
    return places < lengths[:, None]  # (max_len,) against (batch, 1): (batch, max_len)


def _filler_is_true(lengths, max_len):
    return ~padding_mask(lengths, max_len)


def _one_place_too_many(lengths, max_len):
    return np.arange(max_len) <= lengths[:, None]


def _one_place_too_few(lengths, max_len):
    return np.arange(1, max_len + 1) < lengths[:, None]


def _tokens_at_the_end(lengths, max_len):
    return padding_mask(lengths, max_len)[:, ::-1]


def _places_as_rows(lengths, max_len):
    return padding_mask(lengths, max_len).T


def _first_length_for_all(lengths, max_len):
    return padding_mask(np.full_like(lengths, lengths[0]), max_len)


def _longest_for_all(lengths, max_len):
    return padding_mask(np.full_like(lengths, lengths.max()), max_len)


def _as_wide_as_the_longest(lengths, max_len):
    return padding_mask(lengths, int(lengths.max()))


def _last_token_only(lengths, max_len):
    return np.arange(max_len) == lengths[:, None] - 1


def _never_empty(lengths, max_len):
    return padding_mask(np.maximum(lengths, 1), max_len)


def _zeros_and_minus_infinity(lengths, max_len):
    return np.where(padding_mask(lengths, max_len), 0.0, -np.inf)


def _a_table_for_each(lengths, max_len):
    mask = padding_mask(lengths, max_len)
    return mask[:, :, None] & mask[:, None, :]


def _extra_axis(lengths, max_len):
    return padding_mask(lengths, max_len)[:, None, :]


def _everything_but_one(lengths, max_len):
    return np.arange(max_len) != lengths[:, None]


def _lengths_along_the_row(lengths, max_len):
    return np.arange(max_len) < lengths


def _batches(rng: np.random.Generator) -> list[Call]:
    drawn = [(int(b), int(n)) for b, n in ((4, 6), (5, 3), (2, 7))]
    return [
        Call((np.array([1, 3]), 3)),
        Call((np.array([2, 4, 1]), 4)),
        Call((np.array([3, 1]), 5)),
        *[Call((rng.permutation(np.r_[1, rng.integers(1, n, size=b - 1)]), n)) for b, n in drawn],
    ]


PADDING_MASK = Exercise(
    id="padding_mask",
    number="7.1",
    chapter=CHAPTER,
    signature="padding_mask(lengths, max_len)",
    summary="which places of a padded batch hold a token",
    difficulty=1,
    minutes=8,
    points=2,
    solution=padding_mask,
    reference_=numpy_attention.padding_mask,
    returns=("mask",),
    read="A mask says who may be seen",
    hints=(
        "A place holds a token if its number, counted from 0, is smaller than the length. Make the "
        "numbers of all places once and compare.",
        "`np.arange(max_len)` has shape (max_len,). To compare it with every length, give the lengths "
        "an axis of length one at the end: `lengths[:, None]` has shape (batch, 1).",
        "`np.arange(max_len) < lengths[:, None]` broadcasts to (batch, max_len) and is boolean "
        "already.",
    ),
    probes=(
        Probe(
            "values",
            "row i is True at the first lengths[i] places and False after them",
            _batches,
            cause="Place j of row i holds a token exactly if j < lengths[i], counting from 0.",
        ),
        Probe(
            "full and empty",
            "a sentence that fills its row has no filler, and one of length 0 nothing else",
            lambda rng: [
                Call((np.array([0, 2]), 2)),
                Call((np.array([3, 3]), 3)),
                Call((np.array([0, 4, 0, 1]), 5)),
            ],
            cause="Length 0 gives a row of False, and length max_len a row of True.",
        ),
    ),
    mistakes=(
        Mistake(
            "mask inverted",
            _filler_is_true,
            "True stands at the filler and False at the tokens. In this book True means: may be seen.",
            "Turn the comparison round: `<`, not `>=`.",
        ),
        Mistake(
            "one place too many",
            _one_place_too_many,
            "One place too many is True: the first filler is let in.",
            "Places count from 0, so the last token of a sentence of length 3 stands at place 2: use "
            "`<`, not `<=`.",
        ),
        Mistake(
            "one place too few",
            _one_place_too_few,
            "The last token of every sentence is hidden.",
            "Count the places from 0, `np.arange(max_len)`.",
        ),
        Mistake(
            "filler at the front",
            _tokens_at_the_end,
            "The tokens stand at the end of each row. Here the filler comes after the tokens.",
            "The first lengths[i] places are True.",
        ),
        Mistake(
            "transposed",
            _places_as_rows,
            "Rows and columns are swapped: a row should be a sentence.",
            "Give the new axis to the lengths, `lengths[:, None]`, not to the places.",
        ),
        Mistake(
            "lengths without an axis of their own",
            _lengths_along_the_row,
            "The lengths, (batch,), are laid along the places, (max_len,). That is an error as a rule, "
            "and one wrong row where the two happen to be equal.",
            "Give the lengths an axis of length one at the end: `lengths[:, None]`.",
        ),
        Mistake(
            "first length for all",
            _first_length_for_all,
            "Every row uses the length of the first sentence.",
            "Each row needs its own length: `lengths[:, None]`.",
        ),
        Mistake(
            "longest length for all",
            _longest_for_all,
            "Every row uses the length of the longest sentence, so the filler of the shorter ones is "
            "let in.",
            "Each row needs its own length: `lengths[:, None]`.",
        ),
        Mistake(
            "as wide as the longest sentence",
            _as_wide_as_the_longest,
            "Your rows are as long as the longest sentence. They must have max_len places, also when "
            "no sentence fills them.",
            "Use `np.arange(max_len)`.",
        ),
        Mistake(
            "last token only",
            _last_token_only,
            "Only the last token of each sentence is True.",
            "All places before it hold tokens too: use `<`, not `==`.",
        ),
        Mistake(
            "an empty sentence gets a token",
            _never_empty,
            "A sentence of length 0 has one True. It holds nothing, so nothing may be seen in it.",
            "Leave the row all False; the attention function decides what an empty row gives.",
        ),
        Mistake(
            "zeros and −∞ instead of a boolean",
            _zeros_and_minus_infinity,
            "You return 0 and −∞, the mask that is added to scores. A boolean mask is asked for.",
            "Return the comparison itself; a later exercise turns it into numbers.",
        ),
        Mistake(
            "a square table for each sentence",
            _a_table_for_each,
            "You return a (max_len, max_len) table for each sentence. A padding mask has one value for "
            "each place; it says who may be seen, not by whom.",
            "Stop at shape (batch, max_len).",
        ),
        Mistake(
            "axis of length one too many",
            _extra_axis,
            "The values are right, but the shape is (batch, 1, max_len). That axis is added later, "
            "when the mask meets the scores.",
            "Return shape (batch, max_len).",
        ),
        Mistake(
            "everything but one place",
            _everything_but_one,
            "Only the first place after the tokens is False; the filler behind it is let in.",
            "Use `<`, not `!=`.",
        ),
    ),
)


# --- 7.2 causal_mask --------------------------------------------------------------------------


def causal_mask(n_q, n_k=None):
    """Which keys each query may see when nobody looks ahead: (n_q, n_k) bool.

    The queries are the last n_q of n_k positions.
    """
    if n_k is None:
        n_k = n_q
    key_positions = np.arange(n_k)  # (n_k,) 0, 1, ..., n_k - 1
    query_positions = np.arange(n_k - n_q, n_k)  # (n_q,) the last n_q of them
    return key_positions <= query_positions[:, None]  # (n_q, n_k)


def _indices_compared(n_q, n_k=None):
    return np.tril(np.ones((n_q, n_q if n_k is None else n_k), dtype=bool))


def _itself_hidden(n_q, n_k=None):
    n_k = n_q if n_k is None else n_k
    return np.arange(n_k) < np.arange(n_k - n_q, n_k)[:, None]


def _one_of_the_future(n_q, n_k=None):
    n_k = n_q if n_k is None else n_k
    return np.arange(n_k) <= np.arange(n_k - n_q, n_k)[:, None] + 1


def _true_is_hidden(n_q, n_k=None):
    return ~causal_mask(n_q, n_k)


def _future_and_itself(n_q, n_k=None):
    n_k = n_q if n_k is None else n_k
    return np.arange(n_k) >= np.arange(n_k - n_q, n_k)[:, None]


def _upper_by_index(n_q, n_k=None):
    return np.triu(np.ones((n_q, n_q if n_k is None else n_k), dtype=bool))


def _row_for_every_key(n_q, n_k=None):
    return causal_mask(n_q if n_k is None else n_k)


def _number_of_keys_ignored(n_q, n_k=None):
    return causal_mask(n_q)


def _none_not_handled(n_q, n_k=None):
    return causal_mask(n_q, n_k + 0)


def _all_visible(n_q, n_k=None):
    return np.ones((n_q, n_q if n_k is None else n_k), dtype=bool)


def _added_numbers(n_q, n_k=None):
    return np.where(causal_mask(n_q, n_k), 0.0, -np.inf)


def _shifted_the_wrong_way(n_q, n_k=None):
    n_k = n_q if n_k is None else n_k
    return np.tril(np.ones((n_q, n_k), dtype=bool), k=n_q - n_k)


def _only_itself(n_q, n_k=None):
    n_k = n_q if n_k is None else n_k
    return np.arange(n_k) == np.arange(n_k - n_q, n_k)[:, None]


def _keys_as_rows(n_q, n_k=None):
    return causal_mask(n_q, n_k).T


def _shifted_one_too_far(n_q, n_k=None):
    n_k = n_q if n_k is None else n_k
    return np.tril(np.ones((n_q, n_k), dtype=bool), k=n_k - n_q + (n_k > n_q))


def _cache_hidden(n_q, n_k=None):
    n_k = n_q if n_k is None else n_k
    old = np.zeros((n_q, n_k - n_q), dtype=bool)
    return np.concatenate([old, causal_mask(n_q)], axis=1)


CAUSAL_MASK = Exercise(
    id="causal_mask",
    number="7.2",
    chapter=CHAPTER,
    signature="causal_mask(n_q, n_k=None)",
    summary="who may be seen when nobody looks ahead, with or without a cache",
    difficulty=2,
    minutes=10,
    points=2,
    solution=causal_mask,
    reference_=numpy_attention.causal_mask,
    returns=("mask",),
    read="Positions, not indices",
    hints=(
        "Write down the position of every key and of every query. With 2 queries and 5 keys the "
        "queries stand at positions 3 and 4.",
        "The keys stand at `np.arange(n_k)`, the queries at `np.arange(n_k - n_q, n_k)`. A key may be "
        "seen if its position is not larger than the query's.",
        "`np.arange(n_k) <= np.arange(n_k - n_q, n_k)[:, None]`, after n_k has been set to n_q where "
        "it is None.",
    ),
    probes=(
        Probe(
            "square",
            "without n_k, query i sees the keys 0 to i and none after",
            lambda rng: [Call((n,)) for n in (3, 2, 1, 5)],
            cause="Query i may see key j exactly if j <= i.",
            read="The future",
        ),
        Probe(
            "given",
            "n_k equal to n_q gives the same as leaving it out",
            lambda rng: [Call((3, 3)), Call((4,), {"n_k": 4})],
            read="The future",
        ),
        Probe(
            "positions",
            "with more keys than queries, the queries are the last of the positions",
            lambda rng: [
                Call((1, 4)),
                Call((2, 4)),
                Call((3, 5)),
                Call((1, int(rng.integers(5, 9)))),
                Call((int(rng.integers(2, 5)), int(rng.integers(6, 9)))),
            ],
            cause="Query i stands at position n_k − n_q + i, and it sees the keys up to there.",
        ),
    ),
    mistakes=(
        Mistake(
            "aligned at the top left",
            _indices_compared,
            "You compare the indices of row and column. With a cache query 0 is not at position 0: a "
            "single new query would see the first key only.",
            "Query i stands at position n_k − n_q + i. With `np.tril` that is `k=n_k - n_q`.",
        ),
        Mistake(
            "itself hidden",
            _itself_hidden,
            "Every query is hidden from itself, so the first one sees nothing at all.",
            "A token may see itself: use `<=`, not `<`.",
            "The future",
        ),
        Mistake(
            "one token of the future leaks",
            _one_of_the_future,
            "Each query sees one key too many: its own future.",
            "The last key a query sees is the one at its own position. With `np.tril` on a square "
            "table that is `k=0`.",
            "The future",
        ),
        Mistake(
            "mask inverted",
            _true_is_hidden,
            "True marks the future. In this book True means: may be seen.",
            "Turn the comparison round, or put `~` before it.",
            "The future",
        ),
        Mistake(
            "past hidden instead of the future",
            _future_and_itself,
            "Each query sees itself and what comes after it. It should see itself and what came "
            "before.",
            "Use `<=` in place of `>=`, or `np.tril` in place of `np.triu`.",
            "The future",
        ),
        Mistake(
            "upper triangle by index",
            _upper_by_index,
            "This is the upper triangle: each query sees what comes after it. It should see itself "
            "and what came before.",
            "Use `np.tril` in place of `np.triu`, and move its diagonal by `k=n_k - n_q`.",
            "The future",
        ),
        Mistake(
            "a row for every key",
            _row_for_every_key,
            "The table has a row for each of the n_k positions, also for those whose queries were "
            "handled before.",
            "The queries are the last n_q positions: keep the last n_q rows.",
        ),
        Mistake(
            "n_k ignored",
            _number_of_keys_ignored,
            "The mask is always square: n_k is not used.",
            "A row needs a column for each of the n_k keys.",
        ),
        Mistake(
            "n_k may be None",
            _none_not_handled,
            "n_k is None when only one number is given, and the code computes with it.",
            "Begin with `if n_k is None: n_k = n_q`.",
            "The future",
        ),
        Mistake(
            "everything visible",
            _all_visible,
            "Every query sees every key, the future too.",
            "Compare the positions of keys and queries.",
            "The future",
        ),
        Mistake(
            "zeros and −∞ instead of a boolean",
            _added_numbers,
            "You return 0 and −∞, the mask that is added to scores. A boolean mask is asked for.",
            "Return the comparison itself.",
            "The future",
        ),
        Mistake(
            "shifted the wrong way",
            _shifted_the_wrong_way,
            "The diagonal has moved to the wrong side, so that with a cache the first queries see "
            "nothing.",
            "The queries are the last positions: `k=n_k - n_q` in `np.tril`, not `k=n_q - n_k`.",
        ),
        Mistake(
            "only itself visible",
            _only_itself,
            "Each query sees itself alone.",
            "What came before may be seen as well: `<=`, not `==`.",
            "The future",
        ),
        Mistake(
            "transposed",
            _keys_as_rows,
            "Rows and columns are swapped: a row should be a query.",
            "Give the new axis to the queries: `query_positions[:, None]`.",
        ),
        Mistake(
            "one too far with a cache",
            _shifted_one_too_far,
            "With more keys than queries each query sees one token of its future.",
            "The first query stands at position n_k − n_q, and sees the keys up to that one.",
        ),
        Mistake(
            "cache hidden",
            _cache_hidden,
            "The keys before the first query are hidden. They are its past: a cache is kept so that "
            "it may be seen.",
            "All columns before position n_k − n_q are True.",
        ),
    ),
)


# --- 7.3 boolean_to_additive ------------------------------------------------------------------


def _infinity_times_zero(mask, dtype=np.float64):
    return ((1 - mask) * -np.inf).astype(dtype)


def _visible_is_hidden(mask, dtype=np.float64):
    return np.where(mask, -np.inf, 0.0).astype(dtype)


def _ones_and_zeros(mask, dtype=np.float64):
    return mask.astype(dtype)


def _minus_a_billion(mask, dtype=np.float64):
    return np.where(mask, 0.0, -1e9).astype(dtype)


def _minus_ten_thousand(mask, dtype=np.float64):
    return np.where(mask, 0.0, -1e4).astype(dtype)


def _smallest_number(mask, dtype=np.float64):
    return np.where(mask, 0.0, np.finfo(dtype).min).astype(dtype)


def _one_and_minus_infinity(mask, dtype=np.float64):
    return np.where(mask, 1.0, -np.inf).astype(dtype)


def _plus_infinity(mask, dtype=np.float64):
    return np.where(mask, 0.0, np.inf).astype(dtype)


def _minus_one(mask, dtype=np.float64):
    return np.where(mask, 0.0, -1.0).astype(dtype)


def _billion_in_that_type(mask, dtype=np.float64):
    hidden = 1 - mask.astype(dtype)
    return hidden * np.array(-1e9).astype(dtype)


CONVERTED = Exercise(
    id="boolean_to_additive",
    number="7.3",
    chapter=CHAPTER,
    signature="boolean_to_additive(mask, dtype=np.float64)",
    summary="a boolean mask as numbers to be added to the scores",
    difficulty=1,
    minutes=8,
    points=2,
    solution=boolean_to_additive,
    returns=("additive",),
    read="Three conventions",
    hints=(
        "What may be added to a score without changing it? And what makes the weight exactly 0, "
        "whatever the score is?",
        "Choose between the two numbers, do not multiply: 0 times −∞ is not a number. `np.where(mask, "
        "a, b)` takes a where the mask is True and b elsewhere.",
        "`np.where(mask, 0.0, -np.inf)` makes float64; `.astype(dtype)` turns it into the type asked "
        "for.",
    ),
    probes=(
        Probe(
            "values",
            "True becomes 0 and False becomes −∞",
            lambda rng: [
                Call((np.array([True, False]),)),
                Call((np.array([[True, False, False], [True, True, False]]),)),
                Call((numpy_attention.causal_mask(3, 5),)),
                Call((rng.random((2, 3, 4)) < 0.5,)),
            ],
            cause="0 leaves a score as it is, and −∞ makes its weight exactly 0.",
        ),
        Probe(
            "all and none",
            "a mask that hides nothing is all 0, one that hides everything all −∞",
            lambda rng: [Call((np.ones(2, dtype=bool),)), Call((np.zeros((1, 3), dtype=bool),))],
        ),
        Probe(
            "dtype",
            "the numbers have the type asked for, float16 and float32 too",
            lambda rng: [
                Call((np.array([True, False, True]), "float16")),
                Call((rng.random((2, 4)) < 0.5, "float32")),
                Call((np.array([[True, False]]),), {"dtype": "float16"}),
            ],
            cause="`.astype(dtype)` turns the finished array into the type asked for.",
            read="How low is low enough?",
        ),
    ),
    mistakes=(
        Mistake(
            "zero times infinity",
            _infinity_times_zero,
            "You multiply by −∞. Where the mask is True that computes 0 · −∞, which is NaN.",
            "Choose instead of multiplying: `np.where`.",
        ),
        Mistake(
            "mask inverted",
            _visible_is_hidden,
            "The visible keys get −∞ and the hidden ones 0. Here True means: may be seen.",
            "Swap the two numbers in `np.where`.",
        ),
        Mistake(
            "ones and zeros",
            _ones_and_zeros,
            "This is the mask written as 1 and 0. Added to scores it hides nothing: a visible key "
            "gains one point over a hidden one, that is all.",
            "The numbers to add are 0 and −∞.",
        ),
        Mistake(
            "−1e9 instead of −∞",
            _minus_a_billion,
            "You fill with −1e9. It overflows in float16, and a row that hides everything comes out "
            "even, as if all were visible.",
            "Use `-np.inf`.",
            "How low is low enough?",
        ),
        Mistake(
            "−1e4 instead of −∞",
            _minus_ten_thousand,
            "You fill with −1e4. A hidden key still wins where the visible ones score lower than that.",
            "Use `-np.inf`.",
            "How low is low enough?",
        ),
        Mistake(
            "the type's smallest number instead of −∞",
            _smallest_number,
            "You fill with the smallest finite number. That hides well, but a row that hides "
            "everything comes out even, and adding a negative score overflows. −∞ is asked for.",
            "Use `-np.inf`.",
            "How low is low enough?",
        ),
        Mistake(
            "one for the visible keys",
            _one_and_minus_infinity,
            "You add 1 to every visible score. Softmax does not notice, as it sees differences only, "
            "but a mask should leave visible scores alone.",
            "The neutral number of adding is 0.",
        ),
        Mistake(
            "plus infinity",
            _plus_infinity,
            "Hidden keys get +∞: they would win against all others.",
            "The weight is 0 when the score is −∞: mind the sign.",
        ),
        Mistake(
            "minus one for the hidden keys",
            _minus_one,
            "You lower hidden scores by one point. Their weight is divided by e; it is not 0.",
            "Use `-np.inf`.",
        ),
        Mistake(
            "−1e9 in half precision",
            _billion_in_that_type,
            "You multiply by −1e9 in the type asked for. float16 ends at 65504, so −1e9 becomes −∞ "
            "there, and 0 · −∞ is NaN.",
            "Choose with `np.where`, then convert.",
            "How low is low enough?",
        ),
    ),
)


# --- 7.4 scaled_dot_product_attention ---------------------------------------------------------


def scaled_dot_product_attention(query, key, value, mask=None):
    """Mix values by how well each query matches each key it may see.

    query (..., n_q, d_k) · key (..., n_k, d_k) · value (..., n_k, d_v)
    mask broadcasts to (..., n_q, n_k), bool, True = may attend; a row of False gives zeros.
    Returns output (..., n_q, d_v), weights (..., n_q, n_k).
    """
    scores = query @ np.swapaxes(key, -1, -2) / math.sqrt(query.shape[-1])  # (..., n_q, n_k)
    if mask is None:
        weights = softmax(scores)  # (..., n_q, n_k)
    else:
        sees_any = mask.any(axis=-1, keepdims=True)  # (..., n_q, 1)
        scores = np.where(mask, scores, -np.inf)  # hidden: e to the power of -inf is 0
        scores = np.where(sees_any, scores, 0)  # an empty row would be NaN
        weights = np.where(sees_any, softmax(scores), 0)  # (..., n_q, n_k)
    return weights @ value, weights  # (..., n_q, d_v)


def _scores(query, key, factor=None):
    factor = 1 / math.sqrt(query.shape[-1]) if factor is None else factor
    return query @ np.swapaxes(key, -1, -2) * factor


def _weigh(scores, mask, axis=-1, fill=-np.inf):
    """Right apart from what the caller varies: the fill, the axis, the scores."""
    if mask is None:
        return softmax(scores, axis)
    sees_any = mask.any(axis=-1, keepdims=True)
    hidden = np.where(mask, scores, scores.dtype.type(fill))
    return np.where(sees_any, softmax(np.where(sees_any, hidden, 0), axis), 0)


def _not_scaled(query, key, value, mask=None):
    weights = _weigh(_scores(query, key, 1), mask)
    return weights @ value, weights


def _divided_by_width(query, key, value, mask=None):
    weights = _weigh(_scores(query, key, 1 / query.shape[-1]), mask)
    return weights @ value, weights


def _root_of_keys(query, key, value, mask=None):
    weights = _weigh(_scores(query, key, 1 / math.sqrt(key.shape[-2])), mask)
    return weights @ value, weights


def _root_of_value_width(query, key, value, mask=None):
    weights = _weigh(_scores(query, key, 1 / math.sqrt(value.shape[-1])), mask)
    return weights @ value, weights


def _multiplied(query, key, value, mask=None):
    weights = _weigh(_scores(query, key, math.sqrt(query.shape[-1])), mask)
    return weights @ value, weights


def _masked_after(query, key, value, mask=None):
    weights = softmax(_scores(query, key))
    if mask is not None:
        weights = weights * mask
    return weights @ value, weights


def _masked_after_renormalised(query, key, value, mask=None):
    weights = softmax(_scores(query, key))
    if mask is not None:
        weights = weights * mask
        total = weights.sum(axis=-1, keepdims=True)
        weights = weights / np.where(mask.any(axis=-1, keepdims=True), total, 1)
    return weights @ value, weights


def _small_number_below_the_line(query, key, value, mask=None):
    weights = softmax(_scores(query, key))
    if mask is not None:
        weights = weights * mask
        weights = weights / (weights.sum(axis=-1, keepdims=True) + 1e-9)
    return weights @ value, weights


def _mask_turned_round(query, key, value, mask=None):
    return scaled_dot_product_attention(query, key, value, None if mask is None else ~mask)


def _hidden_score_zero(query, key, value, mask=None):
    scores = _scores(query, key)
    weights = softmax(scores if mask is None else scores * mask)
    return weights @ value, weights


def _mask_added(query, key, value, mask=None):
    scores = _scores(query, key)
    weights = softmax(scores if mask is None else scores + mask)
    return weights @ value, weights


def _fill_ten(query, key, value, mask=None):
    weights = _weigh(_scores(query, key), mask, fill=-10.0)
    return weights @ value, weights


def _fill_ten_thousand(query, key, value, mask=None):
    weights = _weigh(_scores(query, key), mask, fill=-1e4)
    return weights @ value, weights


def _billion_multiplied(query, key, value, mask=None):
    scores = _scores(query, key)
    if mask is None:
        return softmax(scores) @ value, softmax(scores)
    penalty = (1 - mask.astype(scores.dtype)) * scores.dtype.type(-1e9)
    weights = softmax(scores + penalty)
    weights = np.where(mask.any(axis=-1, keepdims=True), weights, 0)
    return weights @ value, weights


def _fill_billion(query, key, value, mask=None):
    scores = _scores(query, key)
    weights = softmax(scores if mask is None else np.where(mask, scores, -1e9))
    return weights @ value, weights


def _billion_added(query, key, value, mask=None):
    scores = _scores(query, key)
    weights = softmax(scores if mask is None else scores + np.where(mask, 0.0, -1e9))
    return weights @ value, weights


def _mask_as_index(query, key, value, mask=None):
    scores = _scores(query, key)
    if mask is not None:
        scores[~mask] = -np.inf
    weights = np.nan_to_num(softmax(scores))
    return weights @ value, weights


def _truth_of_an_array(query, key, value, mask=None):
    scores = _scores(query, key)
    if mask:
        scores = np.where(mask, scores, -np.inf)
    weights = np.nan_to_num(softmax(scores))
    return weights @ value, weights


def _empty_is_nan(query, key, value, mask=None):
    scores = _scores(query, key)
    weights = softmax(scores if mask is None else np.where(mask, scores, -np.inf))
    return weights @ value, weights


def _empty_is_even(query, key, value, mask=None):
    scores = _scores(query, key)
    lowest = np.finfo(scores.dtype).min
    weights = softmax(scores if mask is None else np.where(mask, scores, lowest))
    return weights @ value, weights


def _empty_output_zero_only(query, key, value, mask=None):
    output, weights = scaled_dot_product_attention(query, key, value, mask)
    if mask is None:
        return output, weights
    sees_any = mask.any(axis=-1, keepdims=True)
    return output, np.where(sees_any, weights, weights.dtype.type(1 / key.shape[-2]))


def _mask_transposed(query, key, value, mask=None):
    turned = None if mask is None else np.swapaxes(np.atleast_2d(mask), -1, -2)
    return scaled_dot_product_attention(query, key, value, turned)


def _along_axis_one(query, key, value, mask=None):
    weights = _weigh(_scores(query, key), mask, axis=1)
    return weights @ value, weights


def _over_queries(query, key, value, mask=None):
    weights = _weigh(_scores(query, key), mask, axis=-2)
    return weights @ value, weights


def _jointly(query, key, value, mask=None):
    scores = _scores(query, key)
    weights = _weigh(scores, mask, axis=(-2, -1))
    return weights @ value, weights


def _keys_reshaped(query, key, value, mask=None):
    reshaped = key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])
    weights = _weigh(query @ reshaped / math.sqrt(query.shape[-1]), mask)
    return weights @ value, weights


def _keys_not_turned(query, key, value, mask=None):
    weights = _weigh(query @ key / math.sqrt(query.shape[-1]), mask)
    return weights @ value, weights


def _plain_transpose(query, key, value, mask=None):
    weights = _weigh(query @ key.T / math.sqrt(query.shape[-1]), mask)
    return weights @ value, weights


def _keys_mixed(query, key, value, mask=None):
    weights = scaled_dot_product_attention(query, key, value, mask)[1]
    return weights @ key, weights


def _values_compared(query, key, value, mask=None):
    return scaled_dot_product_attention(query, value, value, mask)


def _roles_swapped(query, key, value, mask=None):
    return scaled_dot_product_attention(key, query, value, mask)


def _softmax_twice(query, key, value, mask=None):
    weights = softmax(_weigh(_scores(query, key), mask))
    return weights @ value, weights


def _no_softmax(query, key, value, mask=None):
    weights = _scores(query, key)
    if mask is not None:
        weights = weights * mask
    return weights @ value, weights


def _arg_max(query, key, value, mask=None):
    weights = _weigh(_scores(query, key) * 1e9, mask)
    return weights @ value, weights


def _first_mask_for_all(query, key, value, mask=None):
    if mask is not None and mask.ndim > 2:
        mask = mask[:1]
    return scaled_dot_product_attention(query, key, value, mask)


def _mask_ignored(query, key, value, mask=None):
    return scaled_dot_product_attention(query, key, value)


def _always_causal(query, key, value, mask=None):
    n_q, n_k = query.shape[-2], key.shape[-2]
    past = np.tril(np.ones((n_q, n_k), dtype=bool))
    return scaled_dot_product_attention(query, key, value, past if mask is None else past & mask)


def _order_swapped(query, key, value, mask=None):
    return scaled_dot_product_attention(query, key, value, mask)[::-1]


def _no_maximum(query, key, value, mask=None):
    exponentials = np.exp(_scores(query, key))
    if mask is not None:
        exponentials = np.where(mask, exponentials, exponentials.dtype.type(0))
    total = exponentials.sum(axis=-1, keepdims=True)
    weights = exponentials / np.where(total == 0, 1, total)
    return weights @ value, weights


def _maximum_of_hidden(query, key, value, mask=None):
    scores = _scores(query, key)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    if mask is not None:
        exponentials = exponentials * mask
    total = exponentials.sum(axis=-1, keepdims=True)
    weights = exponentials / np.where(total == 0, 1, total)
    return weights @ value, weights


def _changes_query(query, key, value, mask=None):
    result = scaled_dot_product_attention(query, key, value, mask)
    if query.dtype.kind == "f":
        query /= math.sqrt(query.shape[-1])
    return result


def _draw(rng, n_q, n_k, d_k, d_v, lead=(), spread=1.0):
    return (
        rng.normal(0, spread, size=(*lead, n_q, d_k)),
        rng.normal(0, spread, size=(*lead, n_k, d_k)),
        rng.normal(size=(*lead, n_k, d_v)),
    )


def _draw_mask(rng, n_q, n_k, lead=()):
    """A random mask in which every query sees a key and misses one."""
    mask = rng.random((*lead, n_q, n_k)) < 0.5
    order = rng.permuted(np.broadcast_to(np.arange(n_k), mask.shape), axis=-1)
    np.put_along_axis(mask, order[..., :1], True, axis=-1)
    np.put_along_axis(mask, order[..., 1:2], False, axis=-1)
    return mask


def _without_mask(rng: np.random.Generator) -> list[Call]:
    """All sizes different; the first one small enough to be shown whole."""
    return [
        Call(_draw(rng, 1, 2, 4, 3)),
        Call(_draw(rng, 3, 5, 4, 2)),
        Call(_draw(rng, 4, 2, 6, 3)),
        Call(_draw(rng, 2, 7, 5, 3)),
    ]


def _weights_seen(rng: np.random.Generator) -> list[Call]:
    """With the identity as values the output is the table of weights."""
    calls = []
    for n_q, n_k, d_k in ((2, 3, 4), (5, 4, 3), (1, 6, 2)):
        query, key, _ = _draw(rng, n_q, n_k, d_k, 1)
        calls.append(Call((query, key, np.eye(n_k))))
    return calls


def _widths(rng: np.random.Generator) -> list[Call]:
    calls = [Call((np.ones((1, 4)), np.array([[1.0] * 4, [0.0] * 4]), np.eye(2)))]
    return calls + [Call(_draw(rng, 2, 3, d_k, 5)) for d_k in (4, 9, 16)]


def _all_sizes_equal(rng: np.random.Generator) -> list[Call]:
    calls = [Call(_draw(rng, 3, 3, 3, 3)), Call(_draw(rng, 4, 4, 4, 4))]
    return calls + [
        Call((*_draw(rng, 3, 3, 3, 3), np.array([[1, 0, 0], [1, 0, 1], [1, 1, 0]]) > 0))
    ]


def _with_batch_axes(rng: np.random.Generator) -> list[Call]:
    return [
        Call(_draw(rng, 2, 3, 4, 5, lead=(2,))),
        Call(_draw(rng, 4, 5, 2, 3, lead=(6,))),
        Call(_draw(rng, 2, 5, 4, 7, lead=(2, 3))),
    ]


def _shuffled_pairs(rng: np.random.Generator) -> list[Call]:
    query, key, value = _draw(rng, 2, 3, 4, 5)
    orders = ([0, 1, 2], [2, 0, 1], [1, 2, 0])
    return [Call((query, key[order], value[order])) for order in orders]


def _masked(rng: np.random.Generator) -> list[Call]:
    small = Call((*_draw(rng, 2, 3, 4, 1), np.array([[True, True, False], [False, True, True]])))
    return [small] + [
        Call((*_draw(rng, n_q, n_k, d_k, d_v), _draw_mask(rng, n_q, n_k)))
        for n_q, n_k, d_k, d_v in ((3, 5, 4, 2), (5, 4, 3, 6))
    ]


def _one_key_each(rng: np.random.Generator) -> list[Call]:
    """Query i may see one key only, and that is not its own."""
    cycle = np.roll(np.eye(3, dtype=bool), 1, axis=1)
    wide = np.eye(5, dtype=bool)[rng.permutation(5)[:3]]
    return [
        Call((*_draw(rng, 3, 3, 2, 1), cycle)),
        Call((*_draw(rng, 3, 5, 4, 2), wide)),
    ]


def _for_each_example(rng: np.random.Generator) -> list[Call]:
    lengths = numpy_attention.padding_mask([3, 1], 3)
    more = numpy_attention.padding_mask([2, 5, 3, 4], 5)
    heads = _draw_mask(rng, 4, 5, lead=(2, 3))
    return [
        Call((*_draw(rng, 2, 3, 4, 5, lead=(2,)), lengths[:, None, :])),
        Call((*_draw(rng, 3, 5, 2, 6, lead=(4,)), more[:, None, :])),
        Call((*_draw(rng, 4, 3, 5, 2, lead=(3,)), _draw_mask(rng, 4, 3, lead=(3,)))),
        Call((*_draw(rng, 4, 5, 6, 7, lead=(2, 3)), heads)),
        Call((*_draw(rng, 2, 3, 4, 5, lead=(6,)), np.array([[True, False, True]]))),
        Call((*_draw(rng, 2, 3, 4, 5), np.array([True, False, True]))),
    ]


def _content_replaced(rng: np.random.Generator) -> list[Call]:
    query, key, value = _draw(rng, 2, 3, 2, 1)
    mask = np.array([[True, True, False], [True, True, False]])
    calls = []
    for fill in (0.0, 50.0, -50.0, 1e5, -1e5, 1e30, -1e30):
        other_key, other_value = key.copy(), value.copy()
        other_key[2], other_value[2] = fill, fill
        calls.append(Call((query, other_key, other_value, mask)))
    return calls


def _future_changed(rng: np.random.Generator) -> list[Call]:
    query, key, value = _draw(rng, 3, 3, 2, 1)
    mask = numpy_attention.causal_mask(3)
    other_key, other_value = key.copy(), value.copy()
    other_key[2], other_value[2] = rng.normal(0, 3, size=2), 7.0
    cached = numpy_attention.causal_mask(2, 5)
    return [
        Call((query, key, value, mask)),
        Call((query, other_key, other_value, mask)),
        Call((*_draw(rng, 2, 5, 4, 3), cached)),
    ]


def _visible_scores_low(rng: np.random.Generator) -> list[Call]:
    """The keys that may be seen fit far worse than the one that may not."""
    calls = []
    for size in (30.0, 600.0, 1e5, 2e6):
        query = np.full((1, 4), math.sqrt(size))
        key = np.array([[-1.0] * 4, [-1.0, -1.0, -1.0, -1.0], [0.0] * 4]) * math.sqrt(size)
        key[1] += rng.uniform(-1, 1, size=4) / math.sqrt(size)
        calls.append(Call((query, key[:, :], np.eye(3), np.array([[True, True, False]]))))
    return calls


def _nobody_visible(rng: np.random.Generator) -> list[Call]:
    last_row = np.array([[True, False, True], [False, False, False]])
    lengths = numpy_attention.padding_mask([0, 4, 2], 4)[:, None, :]
    return [
        Call((*_draw(rng, 1, 2, 4, 3), np.array([[False, False]]))),
        Call((*_draw(rng, 2, 3, 4, 1), last_row)),
        Call((*_draw(rng, 2, 4, 5, 6, lead=(3,)), lengths)),
    ]


def _extreme_scores(rng: np.random.Generator) -> list[Call]:
    return [
        Call((np.array([[200.0] * 4]), np.array([[5.0] * 4, [4.999] * 4]), np.eye(2))),
        Call(_draw(rng, 2, 3, 4, 5, spread=100.0)),
        Call((*_draw(rng, 3, 4, 2, 5, spread=100.0), _draw_mask(rng, 3, 4))),
        Call((np.zeros((1, 4)), rng.normal(size=(2, 4)), rng.normal(size=(2, 3)))),
        Call((*[1e-6 * part for part in _draw(rng, 2, 5, 4, 3)[:2]], np.eye(5))),
    ]


def _float_kinds(rng: np.random.Generator) -> list[Call]:
    def cast(call, dtype):
        return Call(tuple(a.astype(dtype) if a.dtype.kind == "f" else a for a in call))

    return [
        cast(_draw(rng, 1, 2, 4, 3), np.float32),
        cast((*_draw(rng, 2, 3, 4, 5), _draw_mask(rng, 2, 3)), np.float32),
        cast((*_draw(rng, 2, 3, 5, 4), np.array([[True, False, True], [False] * 3])), np.float32),
    ]


def _half_precision(rng: np.random.Generator) -> list[Call]:
    calls = [
        _draw(rng, 1, 2, 4, 3),
        (*_draw(rng, 1, 2, 4, 3), np.array([[True, False]])),
        (*_draw(rng, 3, 5, 4, 2), _draw_mask(rng, 3, 5)),
        (*_draw(rng, 2, 3, 5, 4), np.array([[True, False, True], [False] * 3])),
    ]
    return [
        Call(tuple(a.astype(np.float16) if a.dtype.kind == "f" else a for a in c)) for c in calls
    ]


def _integers(rng: np.random.Generator) -> list[Call]:
    query, key, value = np.array([[1, 0, 2, 1]]), np.array([[0, 1, 1, 0], [1, 1, 0, 2]]), np.eye(2)
    return [
        Call((query, key, value.astype(np.int64))),
        Call((query, key, np.array([[1, 2, 3], [4, 5, 6]]), np.array([[False, True]]))),
    ]


ATTENTION = Exercise(
    id="scaled_dot_product_attention",
    number="7.4",
    chapter=CHAPTER,
    signature="scaled_dot_product_attention(query, key, value, mask=None)",
    summary="attention with a mask: the output and the weights",
    difficulty=3,
    minutes=20,
    points=5,
    solution=scaled_dot_product_attention,
    reference_=numpy_attention.scaled_dot_product_attention,
    returns=("output", "weights"),
    read="Attention with a mask, whole",
    hints=(
        "Four steps: scores (scaled), mask, softmax along the keys, weighted sum of the values. Write "
        "them without a mask first and let the check tell you what is missing.",
        "`np.swapaxes(key, -1, -2)` turns the last two axes and leaves batch axes alone. The mask "
        "goes between the scores and the softmax: `np.where(mask, scores, -np.inf)`.",
        "For empty rows let `sees_any = mask.any(axis=-1, keepdims=True)`. Where it is False put "
        "harmless scores, 0, into the softmax, and set the weights to 0 afterwards. Return "
        "`weights @ value, weights`.",
    ),
    probes=(
        Probe(
            "values",
            "without a mask: softmax of the scaled scores, times the values",
            _without_mask,
            cause="The formula is softmax(query keyᵀ / √d_k) value, softmax along the keys.",
        ),
        Probe(
            "rows",
            "with the identity as values the output shows the weights, and each row sums to one",
            _weights_seen,
            cause="With the identity as values the output must equal the weights.",
        ),
        Probe(
            "scale",
            "scores are divided by √d_k: widths 4, 9 and 16",
            _widths,
            cause="The divisor is the square root of the width of a query, its last axis.",
        ),
        Probe("square", "all sizes equal, where many mistakes raise no error", _all_sizes_equal),
        Probe(
            "batch axes",
            "with axes in front each example is treated by itself",
            _with_batch_axes,
            cause="Turn the last two axes of the keys only: `np.swapaxes(key, -1, -2)`.",
        ),
        Probe(
            "order of the pairs",
            "shuffling the keys together with their values does not change the output",
            _shuffled_pairs,
            cause="Each value must stay with its key.",
        ),
        Probe(
            "mask",
            "a hidden key has weight 0, and the visible ones share the whole weight",
            _masked,
            cause="Hidden scores become −∞ before the softmax.",
            read="Before the softmax, never after",
        ),
        Probe(
            "one key each",
            "a query that may see a single key returns exactly its value",
            _one_key_each,
            cause="mask[i, j] speaks of query i and key j.",
        ),
        Probe(
            "a mask for each example",
            "each example has a mask of its own, or all share one that broadcasts",
            _for_each_example,
            cause="The mask broadcasts to (..., n_q, n_k); hand it to `np.where` as it comes.",
            read="Two masks at once",
        ),
        Probe(
            "hidden content",
            "what stands at a hidden place does not matter, however large it is",
            _content_replaced,
            cause="A hidden key or value reaches the output.",
            read="Before the softmax, never after",
        ),
        Probe(
            "the future",
            "with a causal mask, changing the last token moves no earlier row",
            _future_changed,
            read="The future",
        ),
        Probe(
            "low scores",
            "visible keys share the whole weight even if they fit far worse than a hidden one",
            _visible_scores_low,
            cause="A hidden score that is finite can be larger than a visible one.",
            read="How low is low enough?",
        ),
        Probe(
            "empty row",
            "a query that may see nothing gets zeros, in the output and in the weights",
            _nobody_visible,
            cause="With every score at −∞ the softmax computes −∞ − (−∞), which is NaN.",
            read="Nobody to look at",
        ),
        Probe(
            "huge and tiny scores",
            "scores of many thousands stay finite, and scores near zero give even weights",
            _extreme_scores,
            cause="`exp` overflows at about 710: use a softmax that subtracts the largest score.",
        ),
        Probe(
            "dtype",
            "float32 in, float32 out, in both results",
            _float_kinds,
            cause="`np.sqrt(d_k)` is a float64 number and lifts everything to float64; `math.sqrt` "
            "and `d_k ** 0.5` do not.",
        ),
        Probe(
            "half precision",
            "float16 works, masks and empty rows included",
            _half_precision,
            cause="float16 ends at 65504; a fill such as −1e9 overflows.",
            read="How low is low enough?",
        ),
        Probe("integers", "whole numbers give float64 results", _integers),
    ),
    mistakes=(
        Mistake(
            "no scaling",
            _not_scaled,
            "The scores are not divided by anything.",
            "Divide them by the square root of the width of a query, `math.sqrt(query.shape[-1])`.",
        ),
        Mistake(
            "divided by d_k, not by its root",
            _divided_by_width,
            "The scores are divided by d_k; the square root is missing.",
            "Divide by `math.sqrt(query.shape[-1])`.",
        ),
        Mistake(
            "divided by the root of the number of keys",
            _root_of_keys,
            "You divide by √n_k, the root of the number of keys. The width of a query is meant.",
            "The width is the last axis of the query: `query.shape[-1]`.",
        ),
        Mistake(
            "divided by the root of the value's width",
            _root_of_value_width,
            "You divide by √d_v. The width of query and key, d_k, is meant; the values play no part "
            "in the scores.",
            "Use `query.shape[-1]`, not `value.shape[-1]`.",
        ),
        Mistake(
            "multiplied by the root",
            _multiplied,
            "The scores are multiplied by √d_k, so they grow where they should shrink.",
            "Divide by `math.sqrt(query.shape[-1])`.",
        ),
        Mistake(
            "mask after the softmax",
            _masked_after,
            "The weights are computed among all keys and the hidden ones are set to 0 afterwards: "
            "what the hidden keys had taken is lost, and the row sums to less than one.",
            "Set hidden scores to −∞ before the softmax.",
            "Before the softmax, never after",
        ),
        Mistake(
            "mask after the softmax, then divided by the sum",
            _masked_after_renormalised,
            "Dividing by the sum repairs the row only while something is left of it. Beside a hidden "
            "key that scores much higher, the visible weights have been rounded to 0.",
            "Set hidden scores to −∞ before the softmax.",
            "Before the softmax, never after",
        ),
        Mistake(
            "a small number below the line",
            _small_number_below_the_line,
            "The weights are masked after the softmax and divided by their sum plus a small number. "
            "The smaller the visible weights, the more that number takes from them.",
            "Set hidden scores to −∞ before the softmax.",
            "Before the softmax, never after",
        ),
        Mistake(
            "mask inverted",
            _mask_turned_round,
            "True is treated as hidden. In this book True means: may be seen.",
            "Put −∞ where the mask is False: `np.where(mask, scores, -np.inf)`.",
            "A mask says who may be seen",
        ),
        Mistake(
            "hidden scores set to 0",
            _hidden_score_zero,
            "Hidden scores become 0, and e to the power of 0 is 1: a hidden key gets as much as a "
            "visible one with score 0.",
            "Hidden scores become −∞: `np.where(mask, scores, -np.inf)`.",
            "Before the softmax, never after",
        ),
        Mistake(
            "boolean added to the scores",
            _mask_added,
            "The mask is added as 1 and 0. Visible keys gain one point, a factor of e; nothing is "
            "hidden.",
            "Choose with `np.where(mask, scores, -np.inf)`.",
            "Before the softmax, never after",
        ),
        Mistake(
            "fill of −10",
            _fill_ten,
            "Hidden scores become −10, so a hidden key keeps some weight, and all of it when the "
            "visible ones score lower.",
            "Use `-np.inf`.",
            "How low is low enough?",
        ),
        Mistake(
            "fill of −1e4",
            _fill_ten_thousand,
            "Hidden scores become −1e4. A visible key may score lower than that, and then the hidden "
            "one takes all.",
            "Use `-np.inf`.",
            "How low is low enough?",
        ),
        Mistake(
            "−1e9 in half precision",
            _billion_multiplied,
            "You add (1 − mask) · −1e9. float16 ends at 65504, so −1e9 becomes −∞ there, and 0 · −∞ "
            "is NaN at every visible key.",
            "Choose in place of multiplying: `np.where(mask, scores, -np.inf)`.",
            "How low is low enough?",
        ),
        Mistake(
            "fill of −1e9",
            _fill_billion,
            "Hidden scores become −1e9. In a row that may see nothing all of them are equal, so the "
            "hidden keys share the weight evenly; in half precision −1e9 overflows.",
            "Fill with `-np.inf`, and set the weights of empty rows to 0: find them with "
            "`mask.any(axis=-1, keepdims=True)`.",
            "Nobody to look at",
        ),
        Mistake(
            "−1e9 added to the scores",
            _billion_added,
            "You add −1e9 to hidden scores. A larger score wins against it, and in a row that may see "
            "nothing all scores fall alike, which a softmax does not notice.",
            "Choose in place of adding: `np.where(mask, scores, -np.inf)`.",
            "How low is low enough?",
        ),
        Mistake(
            "mask used as an index",
            _mask_as_index,
            "`scores[~mask]` needs a mask of exactly the shape of the scores. This one has to be "
            "broadcast first.",
            "`np.where(mask, scores, -np.inf)` broadcasts by itself.",
            "Two masks at once",
        ),
        Mistake(
            "truth of a whole array",
            _truth_of_an_array,
            "`if mask:` asks a whole array for one truth value.",
            "Write `if mask is not None:`.",
        ),
        Mistake(
            "empty row gives NaN",
            _empty_is_nan,
            "In a row that may see nothing every score is −∞, and the softmax computes −∞ − (−∞).",
            "Find these rows with `mask.any(axis=-1, keepdims=True)` and make their weights 0.",
            "Nobody to look at",
        ),
        Mistake(
            "empty row gives even weights",
            _empty_is_even,
            "In a row that may see nothing all scores equal your fill, so the hidden keys share the "
            "weight evenly.",
            "Find these rows with `mask.any(axis=-1, keepdims=True)` and make their weights 0.",
            "Nobody to look at",
        ),
        Mistake(
            "empty row: only the output is zero",
            _empty_output_zero_only,
            "For a query that may see nothing the output is zero, but the weights that you return are "
            "not.",
            "Set the weights to 0 before you multiply by the values; then both are right.",
            "Nobody to look at",
        ),
        Mistake(
            "mask transposed",
            _mask_transposed,
            "You read mask[i, j] as query j and key i.",
            "A row of the mask is a query, as in the scores: use it without turning it.",
        ),
        Mistake(
            "softmax along axis 1",
            _along_axis_one,
            "The softmax runs along axis 1. For one sentence these are the keys; with axes in front "
            "they are something else.",
            "Count from the end: the keys are always axis −1.",
        ),
        Mistake(
            "softmax over the queries",
            _over_queries,
            "The softmax runs along the queries: the columns sum to one, and the queries compete for "
            "each key.",
            "Each query shares out its own weight: softmax along the last axis.",
        ),
        Mistake(
            "joint softmax over the whole table",
            _jointly,
            "The whole table sums to one, not each row.",
            "Softmax along the last axis.",
        ),
        Mistake(
            "keys reshaped instead of transposed",
            _keys_reshaped,
            "`reshape` brings the keys to the right shape and the wrong order: it reads on row by row.",
            "Swap the two axes: `np.swapaxes(key, -1, -2)`.",
        ),
        Mistake(
            "keys not transposed",
            _keys_not_turned,
            "`query @ key` takes the products with the columns of the keys. It works only where the "
            "sizes happen to fit.",
            "Swap the last two axes of the keys first: `np.swapaxes(key, -1, -2)`.",
        ),
        Mistake(
            "transpose breaks with batch axes",
            _plain_transpose,
            "`key.T` turns all axes round, the batch axes too.",
            "Swap the last two only: `np.swapaxes(key, -1, -2)`.",
            "A published snippet, mended line by line",
        ),
        Mistake(
            "keys mixed instead of values",
            _keys_mixed,
            "The weights are right, and they mix the keys.",
            "The output is `weights @ value`.",
        ),
        Mistake(
            "values used as keys",
            _values_compared,
            "The queries are compared with the values.",
            "The scores are made from query and key.",
        ),
        Mistake(
            "query and key swapped",
            _roles_swapped,
            "The keys ask and the queries answer: the table of scores is transposed.",
            "Queries are the rows: `query @ np.swapaxes(key, -1, -2)`.",
        ),
        Mistake(
            "softmax applied twice",
            _softmax_twice,
            "Softmax is applied to weights that came out of a softmax. They are squeezed towards equal "
            "shares, and hidden keys come back to life.",
            "Apply it once.",
        ),
        Mistake(
            "no softmax",
            _no_softmax,
            "The scores themselves are used as weights.",
            "Softmax belongs between the mask and the values.",
        ),
        Mistake(
            "arg-max instead of softmax",
            _arg_max,
            "All the weight goes to the best key.",
            "Softmax gives every visible key a share.",
        ),
        Mistake(
            "first example's mask for all",
            _first_mask_for_all,
            "Every example uses the mask of the first one.",
            "Use the mask as it comes, without `mask[0]`.",
            "Two masks at once",
        ),
        Mistake(
            "mask ignored",
            _mask_ignored,
            "The mask has no influence on the result.",
            "`np.where` returns a new array: `scores = np.where(mask, scores, -np.inf)`.",
            "Before the softmax, never after",
        ),
        Mistake(
            "always causal",
            _always_causal,
            "The future is hidden although nobody asked for it.",
            "Hide what `mask` says and nothing else.",
        ),
        Mistake(
            "order of the results swapped",
            _order_swapped,
            "You return the weights first. The output comes first.",
            "End with `return weights @ value, weights`.",
        ),
        Mistake(
            "no maximum subtracted",
            _no_maximum,
            "You take `exp` of the scores as they are; above about 710 it overflows, and far below 0 "
            "everything is rounded to 0.",
            "Use the softmax of chapter 2.",
            "Before the softmax, never after",
        ),
        Mistake(
            "largest score taken among hidden keys too",
            _maximum_of_hidden,
            "The score you subtract before `exp` may belong to a hidden key. If it lies far above the "
            "visible ones, they are all rounded to 0.",
            "Hide first, then take the largest of what is left.",
            "Before the softmax, never after",
        ),
        Mistake(
            "changes its input",
            _changes_query,
            "`query /= …` writes into the caller's array.",
            "Write `query = query / …` to make a new array.",
        ),
    ),
)


# --- 7.5 first_moved --------------------------------------------------------------------------


def _two_layers(x, mask, normalise):
    """Two layers of self-attention with what surrounds it in a transformer: a sum and a norm."""
    for _ in range(2):
        mixed, _ = scaled_dot_product_attention(x, x, x, mask)  # (n, d)
        x = normalise(x + mixed)  # (n, d)
    return x


def _normalise_each_token(x):
    return (x - x.mean(axis=-1, keepdims=True)) / x.std(axis=-1, keepdims=True)


def _normalise_each_column(x):
    return (x - x.mean(axis=-2, keepdims=True)) / x.std(axis=-2, keepdims=True)


def model_a(x):
    """Two layers whose causal mask is drawn one place too far to the right."""
    mask = np.tril(np.ones((len(x), len(x)), dtype=bool), k=1)  # the leak
    return _two_layers(x, mask, _normalise_each_token)


def model_b(x):
    """Two layers, each token normalised by its own mean and spread."""
    return _two_layers(x, causal_mask(len(x)), _normalise_each_token)


def model_c(x):
    """Two layers with a right mask, and a norm along the wrong axis."""
    return _two_layers(x, causal_mask(len(x)), _normalise_each_column)  # the leak


FIRST_MOVED = Exercise(
    id="first_moved",
    number="7.5",
    chapter=CHAPTER,
    kind="answer",
    signature="first_moved = (position in A, in B, in C)",
    summary="the first position of each model's output that moves when token 5 is replaced",
    difficulty=2,
    minutes=10,
    points=2,
    solution="first_moved = (3, 5, 0)",
    read="Change the future",
    hints=(
        "Do not guess what is inside. Replace token 5, run the model on both inputs, and look which "
        "rows of the output differ.",
        "`moved(model_a, tokens, 5)` lists the rows that differ. The first of the list is the number "
        "asked for. Do it for all three.",
        "`[int(moved(model, tokens, 5)[0]) for model in (model_a, model_b, model_c)]` holds the three "
        "numbers. In a model without a leak the first row that moves is the replaced one itself.",
    ),
    mistakes=(
        Mistake(
            "one layer only",
            (4, 5, 0),
            "In A the mask lets each token see one token of its future, and A has two layers: what "
            "position 4 has seen in the first, position 3 sees in the second.",
            "Look at the list that `moved` gives for A.",
        ),
        Mistake(
            "only the masks judged",
            (3, 5, 5),
            "C has a right mask, and yet its early rows move. A mask guards the attention; it does "
            "not guard what stands beside it.",
            "Replace token 5 in the input of C and look at row 0 of its output.",
        ),
        Mistake(
            "only the masks judged, and one layer",
            (4, 5, 5),
            "You seem to have thought about masks. Measure instead: A has two layers, and C leaks "
            "beside its mask.",
            "Run `moved` on each of the three.",
        ),
        Mistake(
            "no leak anywhere",
            (5, 5, 5),
            "That would be three models without a leak. Two of the three have one.",
            "Run `moved` on each of the three.",
        ),
        Mistake(
            "number of rows that move",
            (3, 1, 6),
            "These are the numbers of rows that move. The first row that moves is asked for.",
            "Take the first entry of each list.",
        ),
        Mistake(
            "counted from one",
            (4, 6, 1),
            "You count positions from 1; here they count from 0.",
            "Take the entries of the lists as they are.",
        ),
        Mistake(
            "distance to the replaced token",
            (2, 0, 5),
            "These are the distances from the first moved row to token 5. The position itself is "
            "asked for.",
            "Take the first entry of each list.",
        ),
    ),
)

EXERCISES = (PADDING_MASK, CAUSAL_MASK, CONVERTED, ATTENTION, FIRST_MOVED)
