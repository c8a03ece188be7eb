"""Chapter 1: dot_scores, cosine_scores, disagreeing_vectors, one_hot."""

from __future__ import annotations

import functools

import numpy as np

from attnbook.exercises.exercise import Call, Exercise, Finding, Mistake, Probe

CHAPTER = "01-dot-products"


# --- 1.1 dot_scores ---------------------------------------------------------------------------


def dot_scores(queries, keys):
    """Agreement of every query with every key: all dot products in one matrix product.

    queries (n_q, d) · keys (n_k, d) -> (n_q, n_k)
    """
    return queries @ keys.T  # (n_q, d) @ (d, n_k)


def _keys_not_transposed(queries, keys):
    return queries @ keys


def _keys_against_queries(queries, keys):
    return keys @ queries.T


def _reshaped(queries, keys):
    return queries @ keys.reshape(keys.shape[1], keys.shape[0])


def _queries_turned(queries, keys):
    return queries.T @ keys


def _elementwise(queries, keys):
    return queries * keys


def _pairs_in_step(queries, keys):
    return np.sum(queries * keys, axis=-1)


def _summed_up(queries, keys):
    return (queries @ keys.T).sum()


def _first_query_only(queries, keys):
    return keys @ queries[0]


def _only_queries(queries, keys):
    return queries @ queries.T


def _only_keys(queries, keys):
    return keys @ keys.T


def _mean(queries, keys):
    return queries @ keys.T / queries.shape[-1]


def _divided_by_root(queries, keys):
    return queries @ keys.T / np.sqrt(queries.shape[-1])


def _cosines(queries, keys):
    return cosine_scores(queries, keys)


def _squared_distances(queries, keys):
    return ((queries[:, None] - keys[None]) ** 2).sum(-1)


def _distances(queries, keys):
    return np.sqrt(_squared_distances(queries, keys))


def _last_dimension_only(queries, keys):
    return queries[:, -1:] @ keys[:, -1:].T


def _first_dimension_only(queries, keys):
    return queries[:, :1] @ keys[:, :1].T


def _added_over_keys(queries, keys):
    return (queries @ keys.T).sum(axis=1)


def _first_pair_only(queries, keys):
    return queries[0] @ keys[0]


def _as_weights(queries, keys):
    scores = queries @ keys.T
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def _both_turned(queries, keys):
    return queries.T @ keys.T


def _whole_numbers(queries, keys):
    return (queries @ keys.T).astype(int)


def _sizes(queries, keys):
    return np.abs(queries @ keys.T)


def _positive_part(queries, keys):
    return np.maximum(queries @ keys.T, 0)


def _sum_of_sums(queries, keys):
    return (queries[:, None] + keys[None]).sum(-1)


def _pairs_by_zip(queries, keys):
    return np.array([query @ key for query, key in zip(queries, keys, strict=False)])


def _one_long_row(queries, keys):
    return (queries @ keys.T).reshape(-1)


def _first_row_filled(queries, keys):
    scores = queries @ keys.T
    scores[1:] = 0
    return scores


def _total_goes_on(queries, keys):
    scores = queries @ keys.T
    return np.cumsum(scores).reshape(scores.shape).astype(scores.dtype)


def _last_dimension_missing(queries, keys):
    return queries[:, :-1] @ keys[:, :-1].T


def _two_decimals(queries, keys):
    return (queries @ keys.T).round(2)


def _keys_turned_first(queries, keys):
    return keys.T @ queries


def _star_with_turned_keys(queries, keys):
    return queries * keys.T


def _draw(rng, n_q, n_k, d):
    return Call((rng.normal(size=(n_q, d)), rng.normal(size=(n_k, d))))


def _whole_tables(rng: np.random.Generator) -> list[Call]:
    """Whole numbers first, easy to follow by hand; all sizes different."""
    small = (
        np.array([[1.0, 0.0, 2.0], [3.0, -1.0, 1.0]]),
        np.array([[2.0, 5.0, 1.0]]),
    )
    return [Call(small), _draw(rng, 2, 4, 3), _draw(rng, 5, 3, 4), _draw(rng, 3, 7, 2)]


def _square_tables(rng: np.random.Generator) -> list[Call]:
    first = (np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 0.0], [2.0, 1.0]]))
    return [Call(first), _draw(rng, 3, 3, 3), _draw(rng, 4, 4, 3)]


def _edge_tables(rng: np.random.Generator) -> list[Call]:
    return [_draw(rng, 1, 1, 3), _draw(rng, 1, 4, 2), _draw(rng, 3, 2, 1), _draw(rng, 4, 1, 5)]


def _kinds(rng: np.random.Generator) -> list[Call]:
    queries, keys = rng.normal(size=(2, 3)), rng.normal(size=(3, 3))
    return [Call((queries.astype(kind), keys.astype(kind))) for kind in (np.float32, np.float16)]


DOT_SCORES = Exercise(
    id="dot_scores",
    number="1.1",
    chapter=CHAPTER,
    signature="dot_scores(queries, keys)",
    summary="the dot product of every query with every key",
    difficulty=1,
    minutes=10,
    points=2,
    solution=dot_scores,
    returns=("scores",),
    read="All pairs at once",
    hints=(
        "A matrix product takes rows from the left and columns from the right. Your queries are "
        "rows already. What has to happen to the keys, so that they become columns?",
        "Write the shapes under each other: (n_q, d) @ (?, ?) must give (n_q, n_k). The inner two "
        "sizes must be equal, the outer two remain.",
        "`keys.T` has the shape (d, n_k): each key is a column of it. Put it on the right of `@`.",
    ),
    probes=(
        Probe(
            "values",
            "entry [i, j] is the dot product of query i with key j",
            _whole_tables,
            cause="Each score needs one row of `queries` and one row of `keys`, multiplied number by "
            "number and added up.",
        ),
        Probe(
            "square tables",
            "the same, with as many queries as keys or as dimensions",
            _square_tables,
            cause="When the sizes are equal a wrong product fits too. Which axis of which table is "
            "added up?",
            read="The transpose trap",
        ),
        Probe(
            "edges",
            "one query alone, one key alone, one dimension alone",
            _edge_tables,
            cause="Look at the shape first: it has two axes, (n_q, n_k), even when one of them has length "
            "1. If it is right, some size is fixed in your code.",
        ),
        Probe(
            "dtype",
            "float32 tables give float32 scores, float16 gives float16",
            _kinds,
        ),
    ),
    mistakes=(
        Mistake(
            "keys not transposed",
            _keys_not_transposed,
            "The right-hand side of `@` is used by columns, but the keys are rows: they were not "
            "turned.",
            "Use `keys.T`, of shape (d, n_k), on the right of `@`.",
            "The transpose trap",
        ),
        Mistake(
            "queries turned instead of keys",
            _queries_turned,
            "`queries.T` stands on the left, so the sum runs over the words. It should run over the "
            "dimensions.",
            "Leave the queries as they are and turn the keys.",
            "The transpose trap",
        ),
        Mistake(
            "both turned",
            _both_turned,
            "Both tables were turned. The keys have to be, the queries are in place already.",
            "Leave out the first `.T`.",
            "The transpose trap",
        ),
        Mistake(
            "rows and columns swapped",
            _keys_against_queries,
            "The numbers are right but the table is on its side: a row belongs to a key and a column "
            "to a query.",
            "Queries come first, on the left of `@`: the result is (n_q, n_k).",
            "All pairs at once",
        ),
        Mistake(
            "reshaped instead of transposed",
            _reshaped,
            "`reshape` gives the keys the right shape but cuts them up: each column then holds numbers "
            "of several words.",
            "`keys.T` keeps every word whole; `reshape` only pours the numbers into new rows.",
            "The transpose trap",
        ),
        Mistake(
            "multiplied but not added up",
            _elementwise,
            "`*` multiplies number by number and adds nothing up.",
            "Use the matrix product `@`, which does both.",
            "Agreement, one pair at a time",
        ),
        Mistake(
            "only pairs in step",
            _pairs_in_step,
            "Query 0 meets key 0 only, query 1 meets key 1 only, and so on. Every query should meet "
            "every key.",
            "The matrix product `@` makes all pairs.",
            "All pairs at once",
        ),
        Mistake(
            "pairs made by zip",
            _pairs_by_zip,
            "`zip` walks through both tables in step: query 0 meets key 0 only, query 1 meets key 1 "
            "only, and it stops with the shorter table.",
            "Put one loop inside the other, or use the matrix product `@`, which makes all pairs.",
            "All pairs at once",
        ),
        Mistake(
            "all scores in one long row",
            _one_long_row,
            "The numbers are right but lie in one long row: nothing tells where a query ends.",
            "The result is a table, (n_q, n_k): one row for each query.",
            "All pairs at once",
        ),
        Mistake(
            "only the first row filled",
            _first_row_filled,
            "The first row is right and the others are 0. Most often a `return` stands inside the "
            "loop over the queries.",
            "Move `return` back, so that it lines up with the outer `for`.",
            "All pairs at once",
        ),
        Mistake(
            "the total goes on",
            _total_goes_on,
            "Each score still holds the scores before it: the total is not set back to 0 for a new "
            "pair.",
            "Begin each pair with a total of 0, inside the loop over the keys.",
            "Agreement, one pair at a time",
        ),
        Mistake(
            "the last dimension missing",
            _last_dimension_missing,
            "The last dimension is left out. `range(d - 1)` stops one too early: the end of a range "
            "is not part of it.",
            "Let the loop run over `range(d)`.",
            "Agreement, one pair at a time",
        ),
        Mistake(
            "rounded",
            _two_decimals,
            "The scores are rounded to two decimals. The check shows few digits, but compares all.",
            "Leave out the rounding.",
            "Agreement, one pair at a time",
        ),
        Mistake(
            "keys turned, but on the left",
            _keys_turned_first,
            "`keys.T` stands on the left of `@`. The rows of the result come from the left, and they "
            "should be queries.",
            "`queries` first, `keys.T` second.",
            "All pairs at once",
        ),
        Mistake(
            "star in place of the matrix product",
            _star_with_turned_keys,
            "`*` multiplies number by number and needs two equal shapes. The matrix product is "
            "written `@`.",
            "The turned keys are right; write `@` before them.",
            "All pairs at once",
        ),
        Mistake(
            "all scores added into one",
            _summed_up,
            "One number comes back: the scores of all pairs were added up.",
            "Add up over the dimensions only, so that each pair keeps a score of its own.",
            "All pairs at once",
        ),
        Mistake(
            "scores of a query added up",
            _added_over_keys,
            "Each query has a single number: its scores with all keys were added up.",
            "Add up over the dimensions only, so that each pair keeps a score of its own.",
            "All pairs at once",
        ),
        Mistake(
            "first pair only",
            _first_pair_only,
            "One number comes back, the score of the first query with the first key. Most often a "
            "`return` stands inside a loop.",
            "Collect all scores in an array of the shape (n_q, n_k), and return it after the loops.",
            "All pairs at once",
        ),
        Mistake(
            "weights instead of scores",
            _as_weights,
            "Each row is positive and sums to one: the scores went through a softmax. That is chapter "
            "2; here the scores themselves are asked for.",
            "Leave out `np.exp` and the division.",
            "Agreement, one pair at a time",
        ),
        Mistake(
            "first query only",
            _first_query_only,
            "Only the first query is compared with the keys.",
            "Use all rows of `queries`: the result is (n_q, n_k).",
            "All pairs at once",
        ),
        Mistake(
            "queries with themselves",
            _only_queries,
            "The queries are compared with the queries; the keys are not used.",
            "The second factor is made from `keys`.",
            "All pairs at once",
        ),
        Mistake(
            "keys with themselves",
            _only_keys,
            "The keys are compared with the keys; the queries are not used.",
            "The first factor is `queries`.",
            "All pairs at once",
        ),
        Mistake(
            "mean instead of sum",
            _mean,
            "You divide by the number of dimensions: that is the mean of the products, not their sum.",
            "Leave out the division, or use `sum` in place of `mean`.",
            "Agreement, one pair at a time",
        ),
        Mistake(
            "divided by the root of the width",
            _divided_by_root,
            "You divide by the square root of the number of dimensions. Attention does so later "
            "(chapter 6); here the plain dot product is asked for.",
            "Leave out the division.",
            "Agreement, one pair at a time",
        ),
        Mistake(
            "cosine instead of dot product",
            _cosines,
            "You divide by the lengths of the vectors: that is the cosine, and comes in the next "
            "exercise.",
            "Leave the vectors as long as they are.",
            "Agreement, one pair at a time",
        ),
        Mistake(
            "squared distances",
            _squared_distances,
            "These are squared distances. They are small where two words agree; a dot product is "
            "large there.",
            "Multiply the numbers of the two words; do not subtract them.",
            "Agreement, one pair at a time",
        ),
        Mistake(
            "distances",
            _distances,
            "These are distances between the vectors. They are small where two words agree; a dot "
            "product is large there.",
            "Multiply the numbers of the two words; do not subtract them.",
            "Agreement, one pair at a time",
        ),
        Mistake(
            "only the last dimension counts",
            _last_dimension_only,
            "Only the product of the last dimension is left. Most often a loop says `=` where it "
            "should say `+=`.",
            "Start each score at 0 and add to it with `+=`.",
            "Agreement, one pair at a time",
        ),
        Mistake(
            "only the first dimension counts",
            _first_dimension_only,
            "Only the product of the first dimension is left. Most often a `return` or a `break` "
            "stands inside the loop.",
            "Go through all dimensions before you use the sum.",
            "Agreement, one pair at a time",
        ),
        Mistake(
            "cut to whole numbers",
            _whole_numbers,
            "The decimals are lost: an array of whole numbers was made, or `int` was used.",
            "Make the result with `np.zeros((n_q, n_k))`, which holds decimals.",
            "Agreement, one pair at a time",
        ),
        Mistake(
            "sign lost",
            _sizes,
            "Every score is positive. A negative one means disagreement and has to stay negative.",
            "Leave out the absolute value.",
            "Agreement, one pair at a time",
        ),
        Mistake(
            "negative scores set to zero",
            _positive_part,
            "Negative scores became 0. Disagreement is information too and has to stay.",
            "Leave out the `maximum`.",
            "Agreement, one pair at a time",
        ),
        Mistake(
            "added instead of multiplied",
            _sum_of_sums,
            "The numbers of the two words are added together; they have to be multiplied, dimension by "
            "dimension, and the products added up.",
            "Use `*` inside the sum, or `@` for the whole.",
            "Agreement, one pair at a time",
        ),
    ),
)


# --- 1.2 cosine_scores ------------------------------------------------------------------------


def cosine_scores(queries, keys):
    """Agreement in direction alone; a zero vector scores 0 with everything.

    queries (n_q, d) · keys (n_k, d) -> (n_q, n_k), each from -1 to 1
    """
    query_lengths = np.linalg.norm(queries, axis=-1, keepdims=True)  # (n_q, 1)
    key_lengths = np.linalg.norm(keys, axis=-1, keepdims=True)  # (n_k, 1)
    query_lengths[query_lengths == 0] = 1  # a zero vector: 0 / 1 = 0
    key_lengths[key_lengths == 0] = 1
    return dot_scores(queries / query_lengths, keys / key_lengths)


def _lengths(vectors):
    return np.linalg.norm(vectors, axis=-1, keepdims=True)


def _or_one(lengths):
    return np.where(lengths == 0, 1, lengths)


def _as_they_are(lengths):
    return lengths


def _with_and_without_guard(name, wrong, says, hint) -> tuple[Mistake, Mistake]:
    """The mistake, and the same by somebody who has not come to the zero vectors yet."""
    return (
        Mistake(name, wrong, says, hint),
        Mistake(
            f"{name}, zero vectors not handled",
            functools.partial(wrong, safe=_as_they_are),
            says,
            hint,
        ),
    )


def _lengths_ignored(queries, keys):
    return queries @ keys.T


def _nan_for_zero(queries, keys):
    return (queries @ keys.T) / (_lengths(queries) * _lengths(keys).T)


def _one_for_zero(queries, keys):
    return np.nan_to_num(_nan_for_zero(queries, keys), nan=1.0)


def _only_query_lengths(queries, keys, safe=_or_one):
    return queries / safe(_lengths(queries)) @ keys.T


def _only_key_lengths(queries, keys, safe=_or_one):
    return queries @ (keys / safe(_lengths(keys))).T


def _squared_lengths(queries, keys, safe=_or_one):
    return queries @ keys.T / safe(_lengths(queries) ** 2 * _lengths(keys).T ** 2)


def _columns_normalised(queries, keys, safe=_or_one):
    def unit(x):
        return x / safe(np.linalg.norm(x, axis=0, keepdims=True))

    return unit(queries) @ unit(keys).T


def _table_lengths(queries, keys, safe=_or_one):
    return queries @ keys.T / safe(np.linalg.norm(queries) * np.linalg.norm(keys))


def _sums_as_lengths(queries, keys, safe=_or_one):
    def size(x):
        return safe(np.abs(x).sum(-1, keepdims=True))

    return queries / size(queries) @ (keys / size(keys)).T


def _plain_sums_as_lengths(queries, keys, safe=_or_one):
    def size(x):
        return safe(x.sum(-1, keepdims=True))

    return queries / size(queries) @ (keys / size(keys)).T


def _largest_as_length(queries, keys, safe=_or_one):
    def size(x):
        return safe(np.abs(x).max(-1, keepdims=True))

    return queries / size(queries) @ (keys / size(keys)).T


def _lengths_added(queries, keys, safe=_or_one):
    return queries @ keys.T / safe(_lengths(queries) + _lengths(keys).T)


def _lengths_in_step(queries, keys):
    lengths = np.linalg.norm(queries, axis=-1) * np.linalg.norm(keys, axis=-1)
    return queries @ keys.T / lengths


def _lengths_as_rows(queries, keys):
    def unit(x):
        return x / np.linalg.norm(x, axis=-1)

    return unit(queries) @ unit(keys).T


def _key_lengths_as_column(queries, keys):
    return queries @ keys.T / _lengths(queries) / _lengths(keys)


def _angles(queries, keys):
    return np.arccos(np.clip(cosine_scores(queries, keys), -1, 1))


def _cosine_distance(queries, keys):
    return 1 - cosine_scores(queries, keys)


def _cosine_sizes(queries, keys):
    return np.abs(cosine_scores(queries, keys))


def _cosine_positive_part(queries, keys):
    return np.maximum(cosine_scores(queries, keys), 0)


def _cosine_swapped(queries, keys):
    return cosine_scores(keys, queries)


def _correlations(queries, keys):
    def centred(x):
        return x - x.mean(-1, keepdims=True)

    return cosine_scores(centred(queries), centred(keys))


def _times_key_lengths(queries, keys):
    return queries @ keys.T / _or_one(_lengths(queries)) * _lengths(keys).T


def _times_lengths(queries, keys):
    return (queries * _lengths(queries)) @ (keys * _lengths(keys)).T


def _cosine_of_the_dot(queries, keys):
    return np.cos(queries @ keys.T)


def _degrees(queries, keys):
    return np.degrees(_angles(queries, keys))


def _numbers_of_rows(queries, keys):
    return queries @ keys.T / (len(queries) * len(keys))


def _cosine_rounded(queries, keys):
    return cosine_scores(queries, keys).round(3)


def _cosine_two_decimals(queries, keys):
    return cosine_scores(queries, keys).round(2)


def _two_dimensions(queries, keys):
    def length(x):
        return np.sqrt((x[:, :1] ** 2) + (x[:, 1:2] ** 2))

    return queries / length(queries) @ (keys / length(keys)).T


def _all_zero_if_any(queries, keys):
    if (queries == 0).all(axis=1).any() or (keys == 0).all(axis=1).any():
        return np.zeros((len(queries), len(keys)))
    return cosine_scores(queries, keys)


def _constant_below(queries, keys):
    return queries @ keys.T / (_lengths(queries) * _lengths(keys).T + 1e-6)


def _a_constant_is_added(call, result):
    """Are the cosines those with a constant added to the lengths, or to their product?"""
    queries, keys = call.args
    if queries.dtype in (np.float32, np.float16):
        return True  # too coarse to tell: the other calls decide
    if np.shape(result.value) != (len(queries), len(keys)):
        return False
    q, k = np.broadcast_arrays(_lengths(queries), _lengths(keys).T)
    dots = queries @ keys.T
    clear = np.abs(dots) > 1e-3 * q * k  # no cosine near 0, no zero vector
    q, k, given = q[clear], k[clear], result.value[clear]
    if given.size == 0 or not (given * dots[clear] > 0).all():
        return False  # nothing to go by, a wrong sign, or NaN
    below = dots[clear] / given  # what was divided by
    once = below - q * k  # the constant, if below = |q||k| + constant
    each = (np.sqrt((q - k) ** 2 + 4 * below) - q - k) / 2  # if (|q| + constant)(|k| + constant)
    return any((c > 0).all() and np.ptp(c) < 1e-2 * c.min() for c in (once, each))


def _normalises_in_place(queries, keys):
    if queries.dtype.kind != "f":
        return cosine_scores(queries, keys)
    queries /= _or_one(_lengths(queries))
    keys /= _or_one(_lengths(keys))
    return queries @ keys.T


def _cosine_cut(queries, keys):
    whole = queries.dtype.kind != "f"
    scores = cosine_scores(queries, keys)
    return scores.astype(int) if whole else scores


def _cosine_tables(rng: np.random.Generator) -> list[Call]:
    """Whole numbers first: lengths 5 and 13, sums of absolute values that differ from them."""
    small = (np.array([[3.0, 4.0]]), np.array([[5.0, 12.0], [-4.0, 3.0], [6.0, 8.0]]))
    return [Call(small), _draw(rng, 2, 4, 3), _draw(rng, 5, 3, 4), _draw(rng, 3, 7, 2)]


def _short_and_long(rng: np.random.Generator) -> list[Call]:
    queries, keys = rng.normal(size=(2, 3)), rng.normal(size=(3, 3))
    return [
        Call((queries * 1e-3, keys * 1e-3)),
        Call((queries * 1e3, keys * 1e-3)),
        Call((queries * np.array([[1e3], [1e-3]]), keys * np.array([[1.0], [1e3], [1e-3]]))),
    ]


def _with_zero_vectors(rng: np.random.Generator) -> list[Call]:
    zero, some, other = np.zeros((1, 2)), np.array([[1.0, 2.0]]), rng.normal(size=(3, 4))
    other[1] = 0
    return [
        Call((zero, some)),
        Call((some, np.array([[0.0, 0.0], [2.0, 1.0]]))),
        Call((zero, zero)),
        Call((other, np.concatenate([np.zeros((1, 4)), rng.normal(size=(4, 4))]))),
    ]


def _whole_numbers_in(rng: np.random.Generator) -> list[Call]:
    return [
        Call((np.array([[1, 2]]), np.array([[2, 1], [0, 0], [-3, 1]]))),
        Call((rng.integers(-4, 5, size=(2, 3)), rng.integers(-4, 5, size=(4, 3)))),
    ]


COSINE_SCORES = Exercise(
    id="cosine_scores",
    number="1.2",
    chapter=CHAPTER,
    signature="cosine_scores(queries, keys)",
    summary="the cosine of the angle between every query and every key",
    difficulty=2,
    minutes=15,
    points=3,
    solution=cosine_scores,
    returns=("cosines",),
    read="Length against direction",
    hints=(
        "A cosine is the dot product of two vectors of length one. So: bring every row to length "
        "one, then use what you have.",
        "`np.linalg.norm(queries, axis=-1, keepdims=True)` has the shape (n_q, 1): one length for "
        "each row, ready to divide by. What happens when such a length is 0?",
        "Replace a length of 0 by 1 before you divide (`lengths[lengths == 0] = 1`): the zero vector "
        "then stays a zero vector. Divide both tables, then `dot_scores(…, …)`.",
    ),
    probes=(
        Probe(
            "values",
            "entry [i, j] is the cosine of the angle between query i and key j",
            _cosine_tables,
            cause="Divide the dot product of a pair by the length of the query and by the length of "
            "the key.",
        ),
        Probe(
            "short and long vectors",
            "vectors a thousand times shorter or longer keep their cosines",
            _short_and_long,
            tolerance=1e-4,
            cause="Something besides the direction enters: a constant added to the lengths, say, "
            "counts when the vectors are short.",
        ),
        Probe(
            "zero vectors",
            "a vector of zeros scores 0 with everything",
            _with_zero_vectors,
            cause="The length of a zero vector is 0, and 0 divided by 0 is NaN: handle it before you "
            "divide.",
        ),
        Probe(
            "edges",
            "one query alone, one key alone, one dimension alone",
            _edge_tables,
            cause="Look at the shape first: it has two axes, (n_q, n_k), even when one of them has length "
            "1. If it is right, some size is fixed in your code.",
        ),
        Probe(
            "whole numbers",
            "tables of whole numbers give float64 cosines",
            _whole_numbers_in,
            cause="A cosine lies between −1 and 1: an array of whole numbers cannot hold it.",
        ),
        Probe("dtype", "float32 tables give float32 cosines, float16 gives float16", _kinds),
    ),
    mistakes=(
        Mistake(
            "lengths ignored",
            _lengths_ignored,
            "These are dot products. Long vectors still score high because they are long.",
            "Divide each row by its length first.",
        ),
        Mistake(
            "zero vector gives NaN",
            _nan_for_zero,
            "A zero vector has length 0, and 0 divided by 0 is NaN (not a number).",
            "Before dividing, replace a length of 0 by 1: 0 divided by 1 is the 0 you want.",
        ),
        Mistake(
            "zero vector scores one",
            _one_for_zero,
            "A zero vector has no direction, so it cannot agree fully with anything: its score is 0.",
            "Replace NaN by 0, or a length of 0 by 1 before dividing.",
        ),
        *_with_and_without_guard(
            "only the queries brought to length one",
            _only_query_lengths,
            "The lengths of the keys still count: only the queries were divided by theirs.",
            "Divide the keys by their lengths too.",
        ),
        *_with_and_without_guard(
            "only the keys brought to length one",
            _only_key_lengths,
            "The lengths of the queries still count: only the keys were divided by theirs.",
            "Divide the queries by their lengths too.",
        ),
        *_with_and_without_guard(
            "squared lengths",
            _squared_lengths,
            "You divide by the squares of the lengths: the square root is missing.",
            "A length is the square root of the sum of squares: `np.sqrt`, or `np.linalg.norm`.",
        ),
        *_with_and_without_guard(
            "columns instead of rows",
            _columns_normalised,
            "The columns were brought to length one: each dimension, not each word.",
            "Give `axis=-1` to the length, with `keepdims=True`.",
        ),
        *_with_and_without_guard(
            "one length for the whole table",
            _table_lengths,
            "`np.linalg.norm` without `axis` gives one length for the whole table.",
            "Give it `axis=-1, keepdims=True`: one length for each row.",
        ),
        *_with_and_without_guard(
            "sum of absolute values as length",
            _sums_as_lengths,
            "You divide by the sum of the absolute values. The length of an arrow comes from squares: "
            "(3, 4) has length 5, not 7.",
            "Use `np.linalg.norm`, or the square root of the sum of squares.",
        ),
        *_with_and_without_guard(
            "plain sum as length",
            _plain_sums_as_lengths,
            "You divide each row by its sum. The length of an arrow comes from squares: (3, 4) has "
            "length 5, not 7.",
            "Use `np.linalg.norm`, or the square root of the sum of squares.",
        ),
        *_with_and_without_guard(
            "largest number as length",
            _largest_as_length,
            "You divide each row by its largest number. The length of an arrow comes from all of them: "
            "(3, 4) has length 5, not 4.",
            "Use `np.linalg.norm`, or the square root of the sum of squares.",
        ),
        *_with_and_without_guard(
            "lengths added",
            _lengths_added,
            "The lengths of query and key are added; they have to be multiplied.",
            "Divide by the product of the two lengths.",
        ),
        Mistake(
            "lengths of queries and keys in step",
            _lengths_in_step,
            "The length of query 0 is multiplied with that of key 0 only, and so on. Every pair needs "
            "its own two lengths.",
            "Divide the rows of each table by their own lengths before the matrix product.",
        ),
        Mistake(
            "axis of the lengths lost",
            _lengths_as_rows,
            "The lengths lie along the wrong axis: without `keepdims=True` they have the shape (n,) and "
            "line up with the dimensions, not with the words.",
            "Give `np.linalg.norm` both `axis=-1` and `keepdims=True`: the shape is then (n, 1).",
        ),
        Mistake(
            "lengths of the keys in a column",
            _key_lengths_as_column,
            "In the table of scores each key is a column, so the lengths of the keys have to lie in a "
            "row, (1, n_k). Here they stand in a column, (n_k, 1).",
            "Divide the keys by their lengths before the matrix product, or turn these lengths with "
            "`.T`.",
        ),
        Mistake(
            "angle instead of cosine",
            _angles,
            "These are the angles themselves. The cosine is asked for: 1 for the same direction.",
            "Leave out `arccos`.",
        ),
        Mistake(
            "angle in degrees instead of cosine",
            _degrees,
            "These are the angles in degrees. The cosine is asked for: 1 for the same direction.",
            "Leave out `arccos` and `degrees`.",
        ),
        Mistake(
            "cosine of the dot product",
            _cosine_of_the_dot,
            "`np.cos` takes an angle, and a dot product is none. No `np.cos` is needed: the law "
            "gives the cosine by dividing.",
            "Divide the dot product by both lengths.",
            "Length times length times cosine",
        ),
        Mistake(
            "multiplied by the lengths of the keys",
            _times_key_lengths,
            "`x / a * b` divides by `a` and then multiplies by `b`. Both lengths have to be below the "
            "line.",
            "Write `x / (a * b)`, or `x / a / b`.",
        ),
        Mistake(
            "multiplied by both lengths",
            _times_lengths,
            "The rows are multiplied by their lengths; they have to be divided.",
            "A row divided by its length has length one.",
        ),
        Mistake(
            "how many rows as length",
            _numbers_of_rows,
            "`len` counts the rows of a table. The length of an arrow is something else: the square "
            "root of the sum of its squares.",
            "Use `np.linalg.norm` with `axis=-1, keepdims=True`.",
            "Length times length times cosine",
        ),
        Mistake(
            "rounded to three decimals",
            _cosine_rounded,
            "The cosines are rounded. The check shows few digits, but compares all.",
            "Leave out the rounding.",
        ),
        Mistake(
            "rounded to two decimals",
            _cosine_two_decimals,
            "The cosines are rounded. The check shows few digits, but compares all.",
            "Leave out the rounding.",
        ),
        Mistake(
            "length of the first two dimensions",
            _two_dimensions,
            "The lengths come from the first two dimensions, as the ruler of the text has it. Vectors "
            "may have more of them, or one.",
            "`np.linalg.norm` with `axis=-1` takes all dimensions.",
            "Length times length times cosine",
        ),
        Mistake(
            "one zero vector makes all zero",
            _all_zero_if_any,
            "As soon as one vector is zero, every score is set to 0. Only the scores of that vector "
            "should be.",
            "Treat each length by itself: replace those that are 0 by 1.",
        ),
        Mistake(
            "distance instead of similarity",
            _cosine_distance,
            "You return one minus the cosine, which is small where two vectors agree.",
            "Return the cosine itself.",
        ),
        Mistake(
            "sign lost",
            _cosine_sizes,
            "Every cosine is positive. Opposite directions have to give −1.",
            "Leave out the absolute value.",
        ),
        Mistake(
            "negative cosines set to zero",
            _cosine_positive_part,
            "Negative cosines became 0. Opposite directions have to give −1.",
            "Let the range run from −1 to 1.",
        ),
        Mistake(
            "rows and columns swapped",
            _cosine_swapped,
            "The numbers are right but the table is on its side: a row belongs to a key and a column "
            "to a query.",
            "Queries come first: the result is (n_q, n_k).",
            "All pairs at once",
        ),
        Mistake(
            "mean subtracted first",
            _correlations,
            "The mean of each row was subtracted first: that is a correlation, not a cosine.",
            "Leave the vectors where they are; only divide by their lengths.",
        ),
        Mistake(
            "constant added to the lengths",
            _constant_below,
            "A constant is added below the line. It keeps zero away, but it makes the cosines of short "
            "vectors too small.",
            "Replace a length of exactly 0 by 1, and leave all others alone.",
            symptom=_a_constant_is_added,
        ),
        Mistake(
            "changes its input",
            _normalises_in_place,
            "`/=` writes the shortened vectors into the caller's table.",
            "Write `queries / lengths` to make a new array.",
        ),
        Mistake(
            "cut to whole numbers",
            _cosine_cut,
            "With whole numbers as input the cosines are cut to whole numbers too: the array for the "
            "result took over the dtype of the table.",
            "Do not fill an array made with `zeros_like`; divide, and let NumPy make the result.",
        ),
    ),
)


# --- 1.3 disagreeing_vectors ------------------------------------------------------------------


def disagreeing_vectors():
    """A query and two keys: the dot product prefers key_a, the cosine prefers key_b."""
    query = np.array([1.0, 0.0])
    key_a = np.array([2.0, 2.0])  # long, 45 degrees off: dot 2, cosine 0.71
    key_b = np.array([1.0, 0.5])  # short, 27 degrees off: dot 1, cosine 0.89
    return query, key_a, key_b


def _judge_disagreement(value, rng) -> Finding | None:
    if not isinstance(value, (tuple, list, np.ndarray)):
        raise TypeError("not a tuple")
    try:
        parts = [np.asarray(part, dtype=np.float64) for part in value]
    except (TypeError, ValueError):
        return Finding("not numbers", "that each vector holds numbers, and nothing else")
    if len(parts) != 3:
        return Finding("not three vectors", f"how many things come back: {len(parts)}, not 3")
    if any(part.ndim != 1 for part in parts) or len({part.shape for part in parts}) > 1:
        shapes = ", ".join(str(part.shape) for part in parts)
        return Finding("not of one size", f"the shapes of the three vectors: {shapes}")
    if not all(np.isfinite(part).all() for part in parts):
        return Finding("not finite", "that all numbers are finite")
    query, key_a, key_b = parts
    if not query.any() or not key_a.any() or not key_b.any():
        return Finding("a vector of zeros", "that no vector is all zeros")
    unit = [part / np.linalg.norm(part) for part in parts]
    dots, cosines = (query @ key_a, query @ key_b), (unit[0] @ unit[1], unit[0] @ unit[2])
    shown = (
        ("dot(query, key_a)", float(dots[0])),
        ("dot(query, key_b)", float(dots[1])),
        ("cosine(query, key_a)", float(cosines[0])),
        ("cosine(query, key_b)", float(cosines[1])),
    )
    if abs(cosines[0] - cosines[1]) < 1e-9:
        return Finding("a tie in the cosine", "that the cosine prefers one of the keys", shown)
    if abs(dots[0] - dots[1]) <= 1e-9 * max(map(abs, dots)):
        return Finding("a tie in the dot product", "that the dot product prefers one key", shown)
    if (dots[0] > dots[1]) == (cosines[0] > cosines[1]):
        return Finding("the same ranking", "that the two rankings disagree", shown)
    return None


DISAGREEING_VECTORS = Exercise(
    id="disagreeing_vectors",
    number="1.3",
    chapter=CHAPTER,
    signature="a tuple (query, key_a, key_b)",
    summary="three vectors on which dot product and cosine disagree",
    difficulty=2,
    minutes=10,
    points=2,
    kind="object",
    solution=disagreeing_vectors,
    judge=_judge_disagreement,
    read="Length against direction",
    hints=(
        "Think of arrows in the plane. The cosine looks only at where they point. What can you "
        "change about an arrow without changing where it points?",
        "Let the query point along the first axis. Give one key the query's direction and the other "
        "a different one. Which of the two has to be long?",
        "With the query (1, 0) the dot product is the first number of the key. Take (1, 0) as one "
        "key and, as the other, a key off to the side whose first number is larger than 1.",
    ),
    mistakes=(
        Mistake(
            "the same ranking",
            (np.array([1.0, 0.0]), np.array([2.0, 0.5]), np.array([1.0, 3.0])),
            "Both prefer the same key.",
            "Make the key that points away longer, until its dot product overtakes the other one.",
        ),
        Mistake(
            "a tie in the cosine",
            (np.array([1.0, 2.0]), np.array([3.0, 6.0]), np.array([1.0, 2.0])),
            "Both keys lie at the same angle to the query, so the cosine prefers neither. Making a "
            "key longer does not change its cosine.",
            "Turn one of the keys a little further away from the query.",
        ),
        Mistake(
            "a tie in the dot product",
            (np.array([1.0, 0.0]), np.array([1.0, 5.0]), np.array([1.0, 0.0])),
            "Both keys have the same dot product with the query, so it prefers neither.",
            "Make the key that points away a little longer.",
        ),
        Mistake(
            "a vector of zeros",
            (np.array([1.0, 0.0]), np.array([0.0, 0.0]), np.array([-1.0, 2.0])),
            "A zero vector has no direction, and scores 0 under both rules.",
            "Give every vector at least one number that is not 0.",
        ),
        Mistake(
            "not of one size",
            (np.array([1.0, 0.0]), np.array([2.0, 2.0, 0.0]), np.array([1.0, 0.0])),
            "A dot product needs two vectors with the same number of dimensions, and each has one "
            "axis only.",
            "Write each as a list of numbers, all three of the same length.",
            "Agreement, one pair at a time",
        ),
        Mistake(
            "not three vectors",
            (np.array([1.0, 0.0]), np.array([2.0, 2.0])),
            "Three vectors are asked for: the query, then two keys.",
            "End with `return query, key_a, key_b`.",
        ),
        Mistake(
            "not numbers",
            ("boat", "river", "boat"),
            "Something among the vectors is no list of numbers: a word, say, or a list within a list.",
            "Write each vector out, as in `[1, 0]` or `np.array([1.0, 0.0])`.",
        ),
        Mistake(
            "not finite",
            (np.array([1.0, 0.0]), np.array([np.inf, 1.0]), np.array([1.0, 0.0])),
            "An infinite number or NaN has no place in an arrow: its length is not a number.",
            "Small whole numbers are enough.",
        ),
    ),
)


# --- 1.4 one_hot ------------------------------------------------------------------------------


def one_hot(indices, n_rows):
    """For each index a row of zeros with a single 1 at that index.

    indices (n,) whole numbers below n_rows -> (n, n_rows) float64;
    one_hot(indices, n_rows) @ table equals table[indices].
    """
    rows = np.zeros((len(indices), n_rows))
    rows[np.arange(len(indices)), indices] = 1  # row i, column indices[i]
    return rows


def _columns_hot(indices, n_rows):
    return one_hot(indices, n_rows).T


def _largest_decides(indices, n_rows):
    return np.eye(max(indices) + 1)[indices]


def _square_from_indices(indices, n_rows):
    return np.eye(len(indices))[indices]


def _counted_from_one(indices, n_rows):
    return np.eye(n_rows)[np.asarray(indices) - 1]


def _all_in_one_row(indices, n_rows):
    row = np.zeros(n_rows)
    row[indices] = 1
    return row


def _every_row_all_of_them(indices, n_rows):
    rows = np.zeros((len(indices), n_rows))
    rows[:, indices] = 1
    return rows


def _whole_rows_filled(indices, n_rows):
    rows = np.zeros((len(indices), n_rows))
    rows[indices] = 1
    return rows


def _index_written(indices, n_rows):
    return one_hot(indices, n_rows) * np.asarray(indices)[:, None]


def _identity(indices, n_rows):
    return np.eye(len(indices), n_rows)


def _whole_identity(indices, n_rows):
    return np.eye(n_rows)


def _zeros_and_ones_swapped(indices, n_rows):
    return 1 - one_hot(indices, n_rows)


def _order_lost(indices, n_rows):
    return one_hot(np.sort(indices), n_rows)


def _repeats_dropped(indices, n_rows):
    return one_hot(np.unique(indices), n_rows)


def _earlier_ones_left(indices, n_rows):
    return np.maximum.accumulate(one_hot(indices, n_rows), axis=0)


def _index_names_the_row(indices, n_rows):
    rows = np.zeros((len(indices), n_rows))
    rows[indices, np.arange(len(indices))] = 1
    return rows


def _index_names_both(indices, n_rows):
    rows = np.zeros((len(indices), n_rows))
    rows[indices, indices] = 1
    return rows


def _first_index_only(indices, n_rows):
    return np.eye(n_rows)[indices[0]]


def _ones_up_to_the_index(indices, n_rows):
    return (np.arange(n_rows) <= np.asarray(indices)[:, None]).astype(float)


def _index_fills_the_row(indices, n_rows):
    return np.repeat(indices[:, None], n_rows, axis=1).astype(float)


def _last_index_only(indices, n_rows):
    return np.eye(n_rows)[indices[-1]]


def _first_row_only(indices, n_rows):
    rows = one_hot(indices, n_rows)
    rows[1:] = 0
    return rows


def _nothing_written(indices, n_rows):
    return np.zeros((len(indices), n_rows))


def _ones_everywhere(indices, n_rows):
    return np.ones((len(indices), n_rows))


def _one_place_right(indices, n_rows):
    return np.eye(n_rows)[(indices + 1) % n_rows]


def _one_column_more(indices, n_rows):
    return np.eye(n_rows + 1)[indices + 1]


def _square_table(indices, n_rows):
    rows = np.zeros((n_rows, n_rows))
    for i in range(len(indices)):
        rows[i, indices[i]] = 1
    return rows


def _places(rng: np.random.Generator) -> list[Call]:
    return [
        Call((np.array([2, 0]), 3)),
        Call((np.array([1, 4, 0]), 6)),
        Call((rng.permutation(7)[:4], 7)),
        Call((rng.integers(0, 5, size=3), 5)),
    ]


def _repeats(rng: np.random.Generator) -> list[Call]:
    return [Call((np.array([1, 1, 0]), 4)), Call((rng.integers(0, 2, size=6), 3))]


def _lengths_of_list(rng: np.random.Generator) -> list[Call]:
    return [
        Call((np.array([3]), 5)),
        Call((np.array([0]), 1)),
        Call((np.array([2, 0, 2, 1, 0, 1, 2]), 4)),
    ]


ONE_HOT = Exercise(
    id="one_hot",
    number="1.4",
    chapter=CHAPTER,
    signature="one_hot(indices, n_rows)",
    summary="rows that pick rows: a single 1, everything else 0",
    difficulty=2,
    minutes=10,
    points=2,
    solution=one_hot,
    returns=("rows",),
    read="A look-up is a matrix product",
    hints=(
        "How many rows does the result have, and how many numbers has each? Start from a table of "
        "zeros of that shape.",
        "Row i gets its 1 in column `indices[i]`. A loop over i is fine.",
        "`rows = np.zeros((len(indices), n_rows))`, then `rows[i, indices[i]] = 1` for every i. "
        "Without a loop: the identity matrix `np.eye(n_rows)` already holds every one-hot row.",
    ),
    probes=(
        Probe(
            "values",
            "row i is zero except for a 1 in column `indices[i]`",
            _places,
            cause="Result [i, j] is 1 when j equals `indices[i]`, and 0 otherwise.",
        ),
        Probe(
            "repeats",
            "an index that comes twice gives two equal rows",
            _repeats,
            cause="Each index has a row of its own, in the order given.",
        ),
        Probe(
            "other lengths",
            "one index alone, and more indices than `n_rows`",
            _lengths_of_list,
            cause="The result has the shape (number of indices, n_rows), whatever the two are.",
        ),
    ),
    mistakes=(
        Mistake(
            "columns instead of rows",
            _columns_hot,
            "Each index has its 1 in a column of its own; it should have a row of its own.",
            "The shape is (number of indices, n_rows): the index counts columns.",
        ),
        Mistake(
            "width taken from the largest index",
            _largest_decides,
            "The rows end at the largest index used. They have to be `n_rows` wide, or they do not fit "
            "the table.",
            "Use `n_rows` as the width.",
        ),
        Mistake(
            "width taken from the number of indices",
            _square_from_indices,
            "The rows are as wide as there are indices. They have to be `n_rows` wide, or they do not "
            "fit the table.",
            "Use `n_rows` as the width.",
        ),
        Mistake(
            "counted from one",
            _counted_from_one,
            "The 1 stands one place too far left: Python counts from 0.",
            "Use the index as it is, without minus one.",
        ),
        Mistake(
            "all ones in a single row",
            _all_in_one_row,
            "All indices share a single row. Each should have a row of its own, with a single 1.",
            "Start from `np.zeros((len(indices), n_rows))`.",
        ),
        Mistake(
            "every row has all the ones",
            _every_row_all_of_them,
            "Every row has the ones of all indices: `rows[:, indices] = 1` writes them everywhere, and "
            "a single list of zeros used for every row collects them.",
            "Name the row as well: `rows[i, indices[i]] = 1`, in one table of zeros.",
        ),
        Mistake(
            "whole rows filled",
            _whole_rows_filled,
            "`rows[indices] = 1` fills whole rows: with one index in the brackets, it counts rows.",
            "Name row and column: `rows[i, indices[i]] = 1`.",
        ),
        Mistake(
            "row and column swapped in the brackets",
            _index_names_the_row,
            "The index is used as the row and the counter as the column; it has to be the other way "
            "round.",
            "Row first, then column: `rows[i, indices[i]] = 1`.",
        ),
        Mistake(
            "index used as row and column",
            _index_names_both,
            "The index names the row as well as the column, so the ones stand on the diagonal.",
            "The row is counted, the column is the index: `rows[i, indices[i]] = 1`.",
        ),
        Mistake(
            "ones left over from earlier rows",
            _earlier_ones_left,
            "Each row still holds the ones of the rows before: the same row of zeros was used again.",
            "Make a fresh row of zeros for every index, or write into one table of zeros.",
        ),
        Mistake(
            "the index in place of the 1",
            _index_written,
            "The right places hold the index; they should hold 1.",
            "Write 1 there, whatever the index is.",
        ),
        Mistake(
            "indices not used",
            _identity,
            "The ones run down the diagonal whatever the indices are.",
            "Row i has its 1 in column `indices[i]`, not in column i.",
        ),
        Mistake(
            "the whole identity matrix",
            _whole_identity,
            "You return every one-hot row there is. Only those of the indices are asked for, in their "
            "order.",
            "Pick the rows: the identity matrix with the indices in brackets.",
        ),
        Mistake(
            "zeros and ones swapped",
            _zeros_and_ones_swapped,
            "Everything is 1 except the place that should be.",
            "Start from zeros and write the 1.",
        ),
        Mistake(
            "order lost",
            _order_lost,
            "The rows come sorted; they should come in the order of the indices.",
            "Row i belongs to `indices[i]`.",
        ),
        Mistake(
            "repeats dropped",
            _repeats_dropped,
            "An index that comes twice has one row only, or the rows were sorted: `unique` and `set` do "
            "both.",
            "Give each index a row of its own.",
        ),
        Mistake(
            "first index only",
            _first_index_only,
            "Only the first index has a row.",
            "Give each index a row of its own.",
        ),
        Mistake(
            "the index all along the row",
            _index_fills_the_row,
            "Row i is filled with its index from end to end: with a single index in the brackets, "
            "`rows[i]` is the whole row.",
            "Name row and column, and write a 1: `rows[i, indices[i]] = 1`.",
        ),
        Mistake(
            "last index only",
            _last_index_only,
            "Only the last index has a row: each round of the loop makes a new one, and the rows "
            "before are lost.",
            "Keep all rows, in one table of zeros made before the loop.",
        ),
        Mistake(
            "only the first row filled",
            _first_row_only,
            "The first row is right and the others are empty. Most often a `return` stands inside the "
            "loop.",
            "Move `return` back, so that it lines up with `for`.",
        ),
        Mistake(
            "nothing written",
            _nothing_written,
            "The shape is right and every number is 0: no 1 has been written.",
            "Row i gets its 1 in column `indices[i]`.",
        ),
        Mistake(
            "ones everywhere",
            _ones_everywhere,
            "The shape is right and every number is 1. Each row has one 1 only.",
            "Start from `np.zeros`, and write the 1 in column `indices[i]`.",
        ),
        Mistake(
            "one place too far right",
            _one_place_right,
            "The 1 stands one place too far right: Python counts from 0.",
            "Use the index as it is, without plus one.",
        ),
        Mistake(
            "one column more",
            _one_column_more,
            "The rows are one column too wide, and the 1 stands one place too far right: you count "
            "from 1.",
            "Use `n_rows` as the width, and the index as it is.",
        ),
        Mistake(
            "as many rows as the table has",
            _square_table,
            "The result has `n_rows` rows. That is its width; it has one row for each index.",
            "Start from `np.zeros((len(indices), n_rows))`.",
        ),
        Mistake(
            "ones up to the index",
            _ones_up_to_the_index,
            "Every column up to the index is 1. Only the index itself should be.",
            "Compare with `==`, not with `<=`.",
        ),
    ),
)

EXERCISES = (DOT_SCORES, COSINE_SCORES, DISAGREEING_VECTORS, ONE_HOT)
