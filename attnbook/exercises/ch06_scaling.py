"""Chapter 6: predicted_std, scaled_scores, leave_unscaled, qk_norm_scores."""

from __future__ import annotations

import math

import numpy as np

from attnbook.exercises.exercise import Call, Exercise, Mistake, Probe

CHAPTER = "06-scaling"


# --- 6.1 predicted_std ------------------------------------------------------------------------


def predicted_std(d_k, sigma_q, sigma_k):
    """Spread of the dot product of two random vectors with d_k independent entries of mean zero.

    sigma_q, sigma_k: standard deviation of one entry. One product spreads by sigma_q * sigma_k;
    variances of d_k independent products add up, so the spread grows with the square root.
    """
    return sigma_q * sigma_k * math.sqrt(d_k)


def _root_missing(d_k, sigma_q, sigma_k):
    return sigma_q * sigma_k * d_k


def _variance(d_k, sigma_q, sigma_k):
    return (sigma_q * sigma_k) ** 2 * d_k


def _one_product(d_k, sigma_q, sigma_k):
    return sigma_q * sigma_k


def _sigmas_added(d_k, sigma_q, sigma_k):
    return (sigma_q + sigma_k) * math.sqrt(d_k)


def _sigmas_as_sum_of_squares(d_k, sigma_q, sigma_k):
    return math.sqrt(d_k * (sigma_q**2 + sigma_k**2))


def _sigmas_forgotten(d_k, sigma_q, sigma_k):
    return math.sqrt(d_k)


def _variances_given(d_k, sigma_q, sigma_k):
    return math.sqrt(d_k * sigma_q * sigma_k)


def _divided(d_k, sigma_q, sigma_k):
    return sigma_q * sigma_k / math.sqrt(d_k)


def _first_only(d_k, sigma_q, sigma_k):
    return sigma_q * math.sqrt(d_k)


def _spreads(rng: np.random.Generator) -> list[Call]:
    calls = [Call((4, 1.0, 1.0)), Call((9, 2.0, 0.5)), Call((1, 3.0, 2.0)), Call((64, 0.5, 3.0))]
    for _ in range(3):
        sigmas = (float(s) for s in rng.uniform(0.2, 4, size=2))
        calls.append(Call((int(rng.integers(2, 700)), *sigmas)))
    return calls


PREDICTED_STD = Exercise(
    id="predicted_std",
    number="6.1",
    chapter=CHAPTER,
    signature="predicted_std(d_k, sigma_q, sigma_k)",
    summary="the spread of a dot product from the spread of its entries",
    difficulty=1,
    minutes=8,
    points=2,
    solution=predicted_std,
    returns=("std",),
    read="Why the root",
    hints=(
        "Begin with one product. If one number spreads by 2 and the other by 3, by how much does "
        "their product spread? Then ask what adds up: the spreads, or their squares?",
        "The variance of one product is (σ_q σ_k)². Variances of independent numbers add up, so "
        "d_k of them make d_k (σ_q σ_k)². You are asked for the standard deviation.",
        "Take the square root of d_k (σ_q σ_k)²: the two sigmas come out of the root, d_k stays in.",
    ),
    probes=(
        Probe(
            "values",
            "the standard deviation of a dot product of `d_k` independent products",
            _spreads,
            cause="One product spreads by σ_q σ_k; the variances of d_k products add up.",
        ),
    ),
    mistakes=(
        Mistake(
            "spreads added up",
            _root_missing,
            "You multiply by d_k, as if all products leaned the same way. They cancel in part: the "
            "variances add up, not the spreads.",
            "Replace `d_k` by its square root.",
        ),
        Mistake(
            "variance instead of standard deviation",
            _variance,
            "This is the variance; the standard deviation is its square root.",
            "Take `math.sqrt` of the whole.",
        ),
        Mistake(
            "one product only",
            _one_product,
            "This is the spread of a single product. The dot product adds up d_k of them.",
            "Multiply by the square root of `d_k`.",
        ),
        Mistake(
            "sigmas added",
            _sigmas_added,
            "The two standard deviations are added; the entries are multiplied, and so are their "
            "spreads.",
            "Use `sigma_q * sigma_k`.",
        ),
        Mistake(
            "squares of the sigmas added",
            _sigmas_as_sum_of_squares,
            "σ_q² + σ_k² is the variance of a sum of two numbers. Here they are multiplied.",
            "The variance of one product is (σ_q σ_k)².",
        ),
        Mistake(
            "sigmas left out",
            _sigmas_forgotten,
            "√d_k alone is right only where both spreads are 1.",
            "Multiply by `sigma_q * sigma_k`.",
        ),
        Mistake(
            "sigmas under the root",
            _variances_given,
            "The sigmas stand under the root, as if they were variances. They are standard deviations.",
            "Take the root of `d_k` alone.",
        ),
        Mistake(
            "divided by the root",
            _divided,
            "You divide by √d_k. That is the cure; here the spread before the cure is asked for, and "
            "it grows with the width.",
            "Multiply by the square root of `d_k`.",
        ),
        Mistake(
            "second sigma left out",
            _first_only,
            "Only one of the two spreads is used.",
            "Both factors of each product spread: use `sigma_q * sigma_k`.",
        ),
    ),
)


# --- 6.2 scaled_scores ------------------------------------------------------------------------


def scaled_scores(query, key):
    """Scores whose spread does not depend on the width.

    query (n_q, d_k) · key (n_k, d_k) -> (n_q, n_k)
    """
    d_k = query.shape[-1]
    return query @ key.T / d_k**0.5  # (n_q, d_k) @ (d_k, n_k) -> (n_q, n_k)


def _raw(query, key):
    return query @ key.T


def _divided_by(divisor):
    """A wrong answer that divides by something else."""

    def scores(query, key):
        return _raw(query, key) / query.dtype.type(divisor(query, key))

    return scores


def _d_k(query, key):
    return query.shape[-1]


def _np_sqrt(query, key):
    return query @ key.T / np.float64(math.sqrt(query.shape[-1]))


def _only_diagonal(query, key):
    n = min(len(query), len(key))
    return (query[:n] * key[:n]).sum(-1) / query.shape[-1] ** 0.5


def _swapped(query, key):
    return key @ query.T / query.shape[-1] ** 0.5


def _weights(query, key):
    scores = scaled_scores(query, key)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _cosines(query, key):
    lengths = np.linalg.norm(query, axis=1)[:, None] * np.linalg.norm(key, axis=1)
    return query @ key.T / lengths


def _measured_std(query, key):
    scores = query @ key.T
    return scores / scores.std()


def _subtracts(query, key):
    return query @ key.T - query.dtype.type(query.shape[-1] ** 0.5)


def _query_only_with_d_k(query, key):
    return (query / query.shape[-1] ** 0.25) @ key.T


DIVISORS = {
    "not scaled": (lambda q, k: 1.0, "You do not divide at all."),
    "divided by d_k": (lambda q, k: _d_k(q, k), "You divide by d_k; its square root is asked for."),
    "multiplied by the root": (
        lambda q, k: _d_k(q, k) ** -0.5,
        "You multiply by √d_k, which makes the spread grow even faster.",
    ),
    "multiplied by d_k": (lambda q, k: 1 / _d_k(q, k), "You multiply by d_k."),
    "divided by the root of n_k": (
        lambda q, k: len(k) ** 0.5,
        "You divide by the square root of the number of keys. How many keys there are has nothing to "
        "do with how many products one score adds up.",
    ),
    "divided by the root of n_q": (
        lambda q, k: len(q) ** 0.5,
        "You divide by the square root of the number of queries: `shape[0]`, or `len(query)`, counts "
        "rows. The width is the last axis.",
    ),
    "divided by n_k": (lambda q, k: len(k), "You divide by the number of keys."),
    "divided by n_q": (lambda q, k: len(q), "You divide by the number of queries."),
    "divided by the root of 2 d_k": (
        lambda q, k: (2 * _d_k(q, k)) ** 0.5,
        "You divide by the square root of twice the width, as if query and key were one long vector.",
    ),
    "divided by the fourth root": (
        lambda q, k: _d_k(q, k) ** 0.25,
        "You divide by the fourth root of d_k. That is right if query *and* key are divided by it; "
        "one of them was left out.",
    ),
    "divided by a logarithm": (
        lambda q, k: math.log(_d_k(q, k) + 1e-12),
        "You divide by the logarithm of the width; the spread grows with its square root.",
    ),
    "divided by √64": (
        lambda q, k: 8.0,
        "You divide by 8, which is √64, whatever the width. Many a model has heads of width 64; "
        "these have not.",
    ),
    "divided by √512": (
        lambda q, k: 512**0.5,
        "You divide by √512, whatever the width. 512 is the width of a whole model (d_model in "
        "Vaswani et al. 2017), not of these queries.",
    ),
    "divided by a constant": (
        lambda q, k: 2.0,
        "You divide by the same number at every width.",
    ),
}


def _recover(calls, results, expected):
    """Which divisor was used, from the outputs alone: named with its value, whatever it is."""
    divisors, widths = [], []
    for call, result in zip(calls, results, strict=True):
        query, key = (np.asarray(a, np.float64) for a in call.args)
        raw = query @ key.T
        got = np.asarray(result.value, np.float64)
        if got.shape != raw.shape or np.abs(got).max() < 1e-9:
            return None
        big = np.abs(raw) > 1e-3
        ratios = raw[big] / got[big]
        if not np.isfinite(ratios).all() or np.ptp(ratios) > 1e-2 * abs(ratios[0]):
            return None
        divisors.append(float(np.median(ratios)))
        widths.append(query.shape[-1])
    if len(divisors) < 2:
        return None
    d, w = divisors[0], widths[0]
    if np.ptp(divisors) < 1e-2 * abs(d):
        square = f" = √{round(d * d)}" if abs(d * d - round(d * d)) < 0.05 and d > 1 else ""
        return (
            "divided by a constant",
            f"You divide by {d:.4g}{square} at every width. Here the width is {w}, so the divisor "
            f"should be √{w} = {math.sqrt(w):.4g}; at another width another.",
        )
    return (
        "wrong scale",
        f"You divide by {d:.4g} where the width is {w}; √{w} = {math.sqrt(w):.4g} was expected.",
    )


def _pairs(rng: np.random.Generator, shapes, dtype=np.float64) -> list[Call]:
    """Queries and keys of the given (n_q, n_k, d_k); entries not all of one sign."""
    return [
        Call((rng.normal(size=(q, d)).astype(dtype), rng.normal(size=(k, d)).astype(dtype)))
        for q, k, d in shapes
    ]


SCALED_SCORES = Exercise(
    id="scaled_scores",
    number="6.2",
    chapter=CHAPTER,
    signature="scaled_scores(query, key)",
    summary="scores whose spread does not depend on the width",
    difficulty=1,
    minutes=10,
    points=3,
    solution=scaled_scores,
    returns=("scores",),
    read="The cure",
    recover=_recover,
    hints=(
        "First the scores of chapter 1: every query with every key, one matrix product. Then one "
        "division. How many products does a single score add up?",
        "That number is the length of a query, the *last* axis: `query.shape[-1]`. Its square root "
        "is the divisor.",
        "`query @ key.T` divided by `query.shape[-1] ** 0.5`. (`np.sqrt` would give a float64 number "
        "that turns float32 scores into float64.)",
    ),
    probes=(
        Probe(
            "values",
            "each query with each key, divided by the square root of the width",
            lambda rng: _pairs(rng, [(2, 3, 4), (3, 2, 1), (4, 5, 9), (3, 7, 16)]),
            cause="Entry [i, j] is the dot product of query i with key j, over √d_k.",
        ),
        Probe(
            "three widths",
            "the divisor is 2 at width 4, 5 at width 25 and 12 at width 144",
            lambda rng: _pairs(rng, [(2, 3, 4), (2, 3, 25), (2, 3, 144)]),
            cause="The divisor has to follow the width, and nothing else.",
        ),
        Probe(
            "many queries or keys",
            "the number of queries and of keys does not matter",
            lambda rng: _pairs(rng, [(1, 3, 4), (11, 2, 4), (2, 13, 4)]),
            cause="The divisor is the root of the last axis, not of the first.",
        ),
        Probe(
            "dtype",
            "float32 gives float32, float16 gives float16",
            lambda rng: _pairs(rng, [(2, 3, 4)], np.float32) + _pairs(rng, [(3, 2, 5)], np.float16),
            cause="`np.sqrt(d_k)` is a float64 number and turns float32 scores into float64 "
            "(NumPy 2). `d_k ** 0.5` and `math.sqrt(d_k)` are plain Python numbers and do not.",
        ),
        Probe(
            "integers",
            "integer tables give float64 scores",
            lambda rng: [
                Call((rng.integers(-3, 4, size=(2, 5)), rng.integers(-3, 4, size=(3, 5))))
            ],
        ),
    ),
    mistakes=(
        *(
            Mistake(
                name,
                _divided_by(divisor),
                says,
                "A score adds up d_k products, so its spread grows like √d_k: divide by that.",
                "The wrong width" if "n_" in name or "512" in name or "64" in name else None,
            )
            for name, (divisor, says) in DIVISORS.items()
        ),
        Mistake(
            "rows and columns swapped",
            _swapped,
            "Your rows are keys and your columns are queries.",
            "Queries first: `query @ key.T`.",
        ),
        Mistake(
            "only pairs in step",
            _only_diagonal,
            "Query 1 meets only key 1, query 2 only key 2. Every query has to meet every key.",
            "Use the matrix product `query @ key.T`.",
        ),
        Mistake(
            "weights instead of scores",
            _weights,
            "These are weights: a softmax was applied. Scores are asked for.",
            "Leave out the softmax.",
        ),
        Mistake(
            "cosines instead of scaled scores",
            _cosines,
            "You divide by the lengths of the two vectors. Then their lengths no longer count; scaled "
            "scores keep them, and divide by one number for all.",
            "Divide by the root of the width.",
        ),
        Mistake(
            "divided by the measured spread",
            _measured_std,
            "You divide by the standard deviation of the very scores at hand. It comes out near √d_k "
            "for random entries, but then the scores of one pair depend on all others.",
            "Use the root of the width, which is known beforehand.",
        ),
        Mistake(
            "root subtracted",
            _subtracts,
            "You subtract √d_k. Softmax does not see a number subtracted from all scores (chapter 2).",
            "Divide by it.",
        ),
    ),
)


# --- 6.3 leave_unscaled -----------------------------------------------------------------------

LEAVE_UNSCALED = Exercise(
    id="leave_unscaled",
    number="6.3",
    chapter=CHAPTER,
    signature='a letter, such as "A"',
    summary="the case in which the division by the root does harm",
    difficulty=2,
    minutes=6,
    points=1,
    kind="answer",
    solution='leave_unscaled = "C"',
    read="When not to scale",
    hints=(
        "For each case ask how far the scores spread *before* any division. `predicted_std` tells "
        "you for independent entries. Where is the spread at 1 or below already?",
        "Cosines never leave the range from −1 to 1, however wide the vectors are.",
        "Three of the cases have entries of spread 1, or scores that grow with the width. The fourth "
        "has vectors of length one.",
    ),
    mistakes=(
        Mistake(
            "width alone decides",
            "A",
            "The width of 1024 is large, and with entries that spread by 1 the scores spread by 32: "
            "here the division is needed most.",
        ),
        Mistake(
            "many keys",
            "B",
            "The number of keys has no part in it: each score adds up 64 products, and spreads by 8.",
        ),
        Mistake(
            "entries of another spread",
            "D",
            "The entries spread by 2, so the scores spread by 4 √d_k: they need the division, and even "
            "then spread by 4.",
        ),
    ),
)


# --- 6.4 qk_norm_scores -----------------------------------------------------------------------


def qk_norm_scores(query, key, scale):
    """Scores from directions alone: scale times the cosine of query and key.

    query (n_q, d_k) · key (n_k, d_k) -> (n_q, n_k), each between -scale and scale.
    A vector of zeros has no direction and scores 0. Henry et al. 2020.
    """
    query_lengths = np.linalg.norm(query, axis=-1, keepdims=True)  # (n_q, 1)
    key_lengths = np.linalg.norm(key, axis=-1, keepdims=True)  # (n_k, 1)
    query = query / np.where(query_lengths == 0, 1, query_lengths)  # (n_q, d_k) of length one
    key = key / np.where(key_lengths == 0, 1, key_lengths)  # (n_k, d_k) of length one
    return scale * (query @ key.T)  # (n_q, n_k)


def _qk(normalise_query=True, normalise_key=True, axis=-1, factor=lambda s, d: s, root=True):
    """Wrong answers that differ from the right one in one respect."""

    def scores(query, key, scale):
        def unit(rows):
            lengths = (rows**2).sum(axis, keepdims=True)
            lengths = np.sqrt(lengths) if root else lengths
            return rows / np.where(lengths == 0, 1, lengths)

        q = unit(query) if normalise_query else query
        k = unit(key) if normalise_key else key
        return factor(scale, query.shape[-1]) * (q @ k.T)

    return scores


def _no_guard(query, key, scale):
    q = query / np.linalg.norm(query, axis=-1, keepdims=True)
    k = key / np.linalg.norm(key, axis=-1, keepdims=True)
    return scale * (q @ k.T)


def _whole_table(query, key, scale):
    return scale * (query / np.linalg.norm(query)) @ (key / np.linalg.norm(key)).T


def _norm_calls(rng: np.random.Generator, factor=1.0) -> list[Call]:
    calls = []
    for (n_q, n_k, d_k), scale in zip(
        [(2, 3, 4), (3, 2, 9), (4, 5, 7)], (1.0, 10.0, 2.5), strict=True
    ):
        query, key = rng.normal(size=(n_q, d_k)), rng.normal(size=(n_k, d_k))
        calls.append(Call((factor * query, factor * key, scale)))
    return calls


QK_NORM_SCORES = Exercise(
    id="qk_norm_scores",
    number="6.4",
    chapter=CHAPTER,
    signature="qk_norm_scores(query, key, scale)",
    summary="scores that are bounded whatever the width and the length",
    difficulty=2,
    minutes=10,
    points=2,
    solution=qk_norm_scores,
    returns=("scores",),
    read="What the division cannot do",
    hints=(
        "Give every query and every key the length one first. What is the dot product of two vectors "
        "of length one?",
        "`np.linalg.norm(query, axis=-1, keepdims=True)` is the length of each row. A row of zeros "
        "has length 0: divide it by 1 instead.",
        "Divide both tables by their lengths, with `np.where(lengths == 0, 1, lengths)`, take the "
        "matrix product and multiply by `scale`. No root of the width anywhere.",
    ),
    probes=(
        Probe(
            "values",
            "`scale` times the cosine of each query with each key",
            _norm_calls,
            cause="Each row is divided by its own length; then the matrix product, times `scale`.",
        ),
        Probe(
            "length does not matter",
            "vectors a thousand times longer have the same scores",
            lambda rng: _norm_calls(rng, 1000.0),
            cause="Something of the lengths is left in the scores.",
        ),
        Probe(
            "zeros",
            "a vector of zeros scores 0 with everything",
            lambda rng: [
                Call((np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[1.0, 0.0], [0.0, 0.0]]), 2.0))
            ],
            cause="A row of zeros has length 0, and 0 divided by 0 is NaN.",
        ),
    ),
    mistakes=(
        Mistake(
            "keys not normalised",
            _qk(normalise_key=False),
            "The queries have length one, the keys have not.",
            "Do the same to both.",
        ),
        Mistake(
            "queries not normalised",
            _qk(normalise_query=False),
            "The keys have length one, the queries have not.",
            "Do the same to both.",
        ),
        Mistake(
            "neither normalised",
            _qk(False, False),
            "The scores are plain dot products times `scale`: they grow with the lengths.",
            "Divide each row by its length first.",
        ),
        Mistake(
            "columns normalised",
            _qk(axis=0),
            "You give each *column* the length one. A query is a row.",
            "Take the length along the last axis: `axis=-1`.",
        ),
        Mistake(
            "divided by the squared length",
            _qk(root=False),
            "You divide by the sum of squares; the length is its square root.",
            "Use `np.linalg.norm`, or `np.sqrt` of the sum.",
        ),
        Mistake(
            "scale left out",
            _qk(factor=lambda s, d: 1.0),
            "These are cosines; `scale` is not used. Cosines alone make a softmax that can hardly "
            "choose.",
            "Multiply by `scale`.",
        ),
        Mistake(
            "divided by scale",
            _qk(factor=lambda s, d: 1 / s),
            "You divide by `scale`; it is a factor, not a temperature.",
            "Multiply by `scale`.",
        ),
        Mistake(
            "root of the width as well",
            _qk(factor=lambda s, d: s / d**0.5),
            "You divide by √d_k on top. With vectors of length one that makes all scores nearly equal.",
            "Leave the root out.",
        ),
        Mistake(
            "zeros give NaN",
            _no_guard,
            "A row of zeros has length 0, and 0 divided by 0 is NaN.",
            "Replace a length of 0 by 1 before dividing.",
        ),
        Mistake(
            "one length for the whole table",
            _whole_table,
            "You divide by the length of the whole table; each row has its own.",
            "`axis=-1, keepdims=True`.",
        ),
    ),
)

EXERCISES = (PREDICTED_STD, SCALED_SCORES, LEAVE_UNSCALED, QK_NORM_SCORES)
