"""Chapter 6: scaled_scores, predicted_std, calm_vectors, qk_norm_scores."""

from __future__ import annotations

import math

import numpy as np

from attnbook.exercises.exercise import Call, Exercise, Finding, Mistake, Probe
from attnbook.numpy_attention import softmax

CHAPTER = "06-scaling"


# --- 6.1 scaled_scores ------------------------------------------------------------------------


def scaled_scores(query, key):
    """Dot products of all queries with all keys, divided by the root of their width.

    query (n_q, d_k) · key (n_k, d_k) -> (n_q, n_k); the floating type is kept
    """
    d_k = query.shape[-1]
    return query @ key.T / math.sqrt(d_k)  # (n_q, d_k) @ (d_k, n_k)


def _divided_by(divisor):
    """A wrong implementation that divides by `divisor(n_q, n_k, d_k)`."""

    def wrong(query, key):
        return query @ key.T / divisor(len(query), len(key), query.shape[-1])

    return wrong


def _scaled_after_softmax(query, key):
    return softmax(query @ key.T) / math.sqrt(query.shape[-1])


def _weights(query, key):
    return softmax(scaled_scores(query, key))


def _cosines(query, key):
    lengths = np.linalg.norm(query, axis=-1)[:, None] * np.linalg.norm(key, axis=-1)
    return query @ key.T / lengths


def _by_own_spread(query, key):
    scores = query @ key.T
    return scores / scores.std()


def _standardised_rows(query, key):
    scores = query @ key.T
    return (scores - scores.mean(-1, keepdims=True)) / scores.std(-1, keepdims=True)


def _key_not_transposed(query, key):
    return query @ key / math.sqrt(query.shape[-1])


def _reshaped(query, key):
    return query @ key.reshape(key.shape[::-1]) / math.sqrt(query.shape[-1])


def _keys_as_rows(query, key):
    return scaled_scores(query, key).T


def _pairs_in_step(query, key):
    n = min(len(query), len(key))
    return (query[:n] * key[:n]).sum(-1) / math.sqrt(query.shape[-1])


def _subtracted(query, key):
    return query @ key.T - math.sqrt(query.shape[-1])


def _draw(rng, n_q, n_k, d_k, size=1.0):
    return Call((rng.normal(0, size, size=(n_q, d_k)), rng.normal(0, size, size=(n_k, d_k))))


def _several_widths(rng: np.random.Generator) -> list[Call]:
    """Two examples to follow by hand, of widths 4 and 3; then more widths, all sizes different."""
    four = (np.array([[1.0, 2.0, 0.0, 1.0]]), np.array([[2.0, 1.0, 5.0, 0.0], [-1.0, 0.0, 3.0, 3]]))
    three = (np.array([[1.0, 2.0, 0.0]]), np.array([[2.0, 1.0, 5.0], [3.0, 0.0, 1.0]]))
    return [
        Call(four),
        Call(three),
        _draw(rng, 2, 5, 9),
        _draw(rng, 3, 7, 16),
        _draw(rng, 5, 2, 7),
        _draw(rng, 2, 3, 40),
    ]


def _edges(rng: np.random.Generator) -> list[Call]:
    return [
        _draw(rng, 3, 3, 3),
        _draw(rng, 1, 1, 5),
        _draw(rng, 2, 4, 1),
        _draw(rng, 4, 2, 8, size=300.0),
    ]


def _kinds(rng: np.random.Generator) -> list[Call]:
    query, key = rng.normal(size=(2, 3)), rng.normal(size=(3, 3))
    return [Call((query.astype(kind), key.astype(kind))) for kind in (np.float32, np.float16)]


def _whole_numbers(rng: np.random.Generator) -> list[Call]:
    return [Call((rng.integers(-3, 4, size=(2, 3)), rng.integers(1, 4, size=(3, 3))))]


def _factor_used(calls, got, expected):
    """(name, cause, hint) from the number that the scores were divided by, at every width."""
    if all(_only_wider(g, e) for g, e in zip(got, expected, strict=True)):
        return (
            "the square root lifts the type",
            "The numbers are right, but float64 came out. Most often `np.sqrt` is the reason: it "
            "gives a float64 number of NumPy's, which lifts whatever it touches. `np.zeros` "
            "without `dtype` does the same.",
            "`math.sqrt(d_k)` and `d_k ** 0.5` are ordinary Python numbers and leave the type alone.",
        )
    widths, divisors = [], []
    for call, result in zip(calls, got, strict=True):
        query, key = (np.asarray(part, np.float64) for part in call.args)
        plain, value = query @ key.T, np.asarray(result.value)
        if value.dtype.kind != "f" or value.shape != plain.shape or not np.isfinite(value).all():
            return None
        big = np.abs(plain) > 1e-3
        if np.count_nonzero(big) < 2:
            continue  # one number alone is a multiple of any other
        if not value[big].all():
            return None
        ratio = plain[big] / value[big].astype(np.float64)
        if np.ptp(ratio) > 1e-3 * abs(ratio[0]):
            return None
        widths.append(query.shape[-1])
        divisors.append(float(ratio[0]))
    if len(set(widths)) < 2:
        return None
    return _about_divisors(widths, divisors)


def _about_divisors(widths, divisors):
    roots = [math.sqrt(width) for width in widths]
    if np.allclose(np.abs(divisors), roots, rtol=1e-3):
        return None  # a wrong sign or type, and no wrong factor
    at = f"at the widths {_listed(widths)}"
    wanted = f"it should be {_listed(roots)}, the root of the width"
    hint = "Take the width from the arrays, `query.shape[-1]`, and its root with `math.sqrt`."
    if np.ptp(divisors) > 1e-3 * abs(divisors[0]):
        cause = f"You divide by {_listed(divisors)} {at}; {wanted}."
        return "divided by something else", cause, hint
    used = f"divide by {_named(divisors[0])}"
    if abs(divisors[0]) < 1:
        used = f"multiply by {_named(1 / divisors[0])}"
    cause = f"You {used}, whatever the width. The divisor has to follow the width: {at} {wanted}."
    return "divided by a constant", cause, hint


def _named(number: float) -> str:
    """A number, and the whole number it is the root of: 8 (which is √64)."""
    square = number**2
    is_a_root = number > 4 and abs(square - round(square)) < 1e-2
    return f"{number:.4g} (which is √{round(square)})" if is_a_root else f"{number:.4g}"


def _listed(numbers) -> str:
    return ", ".join(f"{number:.4g}" for number in numbers[:3])


def _only_wider(got, expected) -> bool:
    """float64 where float32 or float16 was expected."""
    value, wanted = np.asarray(got.value), np.asarray(expected.value)
    return (
        value.dtype == np.float64
        and wanted.dtype in (np.float32, np.float16)
        and value.shape == wanted.shape
        and bool(np.allclose(value, wanted.astype(np.float64), rtol=2e-2, atol=2e-2))
    )


SCALED_SCORES = Exercise(
    id="scaled_scores",
    number="6.1",
    chapter=CHAPTER,
    signature="scaled_scores(query, key)",
    summary="dot products whose spread does not grow with the width",
    difficulty=1,
    minutes=10,
    points=3,
    solution=scaled_scores,
    returns=("scores",),
    read="The mend: divide by the spread",
    recover=_factor_used,
    hints=(
        "Two steps. All dot products at once are the matrix product of chapter 1. Then one division, "
        "by a number that depends on the vectors' length alone. Where do you find that length?",
        "The width is the size of the last axis, `query.shape[-1]`; `len(query)` is the number of "
        "queries. Divide by its square root.",
        "`query @ key.T` gives (n_q, n_k); divide it by `math.sqrt(query.shape[-1])`.",
    ),
    probes=(
        Probe(
            "values",
            "entry [i, j] is query i · key j divided by √d_k, at six widths",
            _several_widths,
            cause="Each entry is one dot product, divided by the square root of the width.",
        ),
        Probe(
            "edges",
            "the same with as many queries as keys, with one of each, with vectors of one number, and "
            "with large numbers",
            _edges,
            cause="The result has two axes, (n_q, n_k), and the divisor depends on the width alone.",
        ),
        Probe("whole numbers", "whole numbers give float64 scores", _whole_numbers),
        Probe("dtype", "float32 gives float32 scores, float16 gives float16", _kinds),
    ),
    mistakes=(
        Mistake(
            "not scaled",
            _divided_by(lambda n_q, n_k, d_k: 1),
            "These are the plain dot products: the division is missing.",
            "Divide by the square root of the width.",
        ),
        Mistake(
            "divided by the width",
            _divided_by(lambda n_q, n_k, d_k: d_k),
            "You divide by d_k itself, or by its root twice, once in the query and once in the key. "
            "The spread then shrinks as the width grows.",
            "Divide once, by the square root of the width.",
            "The wrong width",
        ),
        Mistake(
            "divided by the root of the number of keys",
            _divided_by(lambda n_q, n_k, d_k: math.sqrt(n_k)),
            "You divide by the root of the number of keys, `len(key)`. A dot product does not know "
            "how many others there are; it has d_k terms.",
            "The width is the last axis: `key.shape[-1]`, not `key.shape[0]`.",
            "The wrong width",
        ),
        Mistake(
            "divided by the root of the number of queries",
            _divided_by(lambda n_q, n_k, d_k: math.sqrt(n_q)),
            "You divide by the root of the number of queries, `len(query)`. A dot product does not "
            "know how many others there are; it has d_k terms.",
            "The width is the last axis: `query.shape[-1]`, not `query.shape[0]`.",
            "The wrong width",
        ),
        Mistake(
            "divided by the number of keys",
            _divided_by(lambda n_q, n_k, d_k: n_k),
            "You divide by the number of keys. A dot product does not know how many others there "
            "are; it has d_k terms.",
            "Divide by the root of the last axis, `key.shape[-1]`.",
            "The wrong width",
        ),
        Mistake(
            "divided by the number of queries",
            _divided_by(lambda n_q, n_k, d_k: n_q),
            "You divide by the number of queries. A dot product does not know how many others there "
            "are; it has d_k terms.",
            "Divide by the root of the last axis, `query.shape[-1]`.",
            "The wrong width",
        ),
        Mistake(
            "multiplied by the root",
            _divided_by(lambda n_q, n_k, d_k: 1 / math.sqrt(d_k)),
            "You multiply by the root of the width, so the spread grows all the faster.",
            "Divide, or multiply by `d_k ** -0.5`.",
        ),
        Mistake(
            "multiplied by the width",
            _divided_by(lambda n_q, n_k, d_k: 1 / d_k),
            "You multiply by d_k, so the spread grows all the faster.",
            "Divide, by the square root of the width.",
        ),
        Mistake(
            "power and division in the wrong order",
            _divided_by(lambda n_q, n_k, d_k: 2 * d_k),
            "You divide by 2 d_k. Most often the line says `d_k ** 1 / 2` without parentheses, which "
            "divides by d_k and then by 2.",
            "Write `d_k ** 0.5`, or `math.sqrt(d_k)`.",
        ),
        Mistake(
            "half the width in place of its root",
            _divided_by(lambda n_q, n_k, d_k: d_k / 2),
            "You divide by half the width. `(d_k ** 1 / 2)` is d_k / 2: the power comes first, then "
            "the division.",
            "Write `d_k ** 0.5`, or `math.sqrt(d_k)`.",
        ),
        Mistake(
            "root of twice the width",
            _divided_by(lambda n_q, n_k, d_k: math.sqrt(2 * d_k)),
            "You divide by the root of twice the width, as if query and key were one long vector. A "
            "dot product adds up d_k products, not 2 d_k.",
            "Divide by the root of the width of *one* of them.",
        ),
        Mistake(
            "scaled on one side by the fourth root",
            _divided_by(lambda n_q, n_k, d_k: d_k**0.25),
            "You divide by the fourth root of the width. That is right if query *and* key are both "
            "divided by it; here only one of them is.",
            "Divide the other one as well, or divide the scores by the square root.",
        ),
        Mistake(
            "root cut to a whole number",
            _divided_by(lambda n_q, n_k, d_k: math.isqrt(d_k)),
            "The root was cut to a whole number: at width 3 it became 1. `math.isqrt`, `int` and `//` "
            "do so.",
            "Use `math.sqrt`, which keeps the decimals.",
        ),
        Mistake(
            "root of all numbers in the table of keys",
            _divided_by(lambda n_q, n_k, d_k: math.sqrt(n_k * d_k)),
            "You divide by the root of n_k · d_k: `key.size` counts all numbers of the table.",
            "The width is the last axis alone: `key.shape[-1]`.",
            "The wrong width",
        ),
        Mistake(
            "root of all numbers in the table of queries",
            _divided_by(lambda n_q, n_k, d_k: math.sqrt(n_q * d_k)),
            "You divide by the root of n_q · d_k: `query.size` counts all numbers of the table.",
            "The width is the last axis alone: `query.shape[-1]`.",
            "The wrong width",
        ),
        Mistake(
            "both sides divided by the width",
            _divided_by(lambda n_q, n_k, d_k: d_k**2),
            "Query and key are both divided by d_k, so the scores are divided by d_k twice.",
            "Divide each by `d_k ** 0.25`, or the scores by the square root.",
        ),
        Mistake(
            "divided by a logarithm",
            _divided_by(lambda n_q, n_k, d_k: math.log(d_k) if d_k > 1 else 1e-9),
            "You divide by the logarithm of the width; the spread grows with its square root.",
            "Use `math.sqrt`.",
        ),
        Mistake(
            "scaled after the softmax",
            _scaled_after_softmax,
            "A softmax came first and the division after it. The weights then no longer sum to one, "
            "and they are as sharp as before. Only scores are asked for here.",
            "Leave out the softmax and divide the dot products.",
        ),
        Mistake(
            "weights instead of scores",
            _weights,
            "Each row is positive and sums to one: the scores went through a softmax. The scores "
            "themselves are asked for.",
            "Leave out the softmax.",
        ),
        Mistake(
            "cosine instead of a fixed scale",
            _cosines,
            "You divide each score by the lengths of its two vectors: that is the cosine. Here every "
            "score is divided by the same number.",
            "Divide by the root of the *number of entries*, not by the length of the arrow.",
        ),
        Mistake(
            "divided by the lengths of the queries",
            lambda query, key: query @ key.T / _norm(query),
            "You divide each row by the length of its query, as an arrow. Here every score is divided "
            "by the same number.",
            "Divide by the root of the *number of entries*, not by the length of the arrow.",
        ),
        Mistake(
            "divided by the lengths of the keys",
            lambda query, key: query @ key.T / _norm(key).T,
            "You divide each column by the length of its key, as an arrow. Here every score is divided "
            "by the same number.",
            "Divide by the root of the *number of entries*, not by the length of the arrow.",
        ),
        Mistake(
            "rows divided by their spread",
            lambda query, key: query @ key.T / (query @ key.T).std(-1, keepdims=True),
            "You divide each row by its own standard deviation. Then every row is equally sure, however "
            "alike its keys are.",
            "√d_k is what the spread is *expected* to be, before the vectors are known.",
        ),
        Mistake(
            "scores cut to whole numbers",
            lambda query, key: query @ key.T // math.sqrt(query.shape[-1]),
            "The scores were cut to whole numbers: `//` does so.",
            "Use `/`.",
        ),
        Mistake(
            "divided by the spread of these scores",
            _by_own_spread,
            "You divide by the standard deviation of the scores at hand. Then one word's score depends "
            "on all the others, and a layer that has learned to be sure cannot be.",
            "√d_k is what the spread is *expected* to be, before the vectors are known.",
        ),
        Mistake(
            "rows standardised",
            _standardised_rows,
            "You take the mean off each row and divide by its standard deviation. Then every row is "
            "equally sure, however alike its keys are.",
            "√d_k is what the spread is *expected* to be, before the vectors are known.",
        ),
        Mistake(
            "keys not transposed",
            _key_not_transposed,
            "The right-hand side of `@` is used by columns, but the keys are rows.",
            "Use `key.T`, of shape (d_k, n_k).",
        ),
        Mistake(
            "reshaped instead of transposed",
            _reshaped,
            "`reshape` gives the keys the right shape but cuts them up.",
            "Use `key.T`.",
        ),
        Mistake(
            "rows and columns swapped",
            _keys_as_rows,
            "The numbers are right but the table is on its side: a row belongs to a key and a column "
            "to a query.",
            "Queries come first: `query @ key.T`.",
        ),
        Mistake(
            "only pairs in step",
            _pairs_in_step,
            "Query 0 meets key 0 only, query 1 meets key 1 only, and so on. Every query should meet "
            "every key.",
            "The matrix product `query @ key.T` makes all pairs.",
        ),
        Mistake(
            "root subtracted",
            _subtracted,
            "The root is subtracted. Taking the same number off every score changes no weight "
            "(chapter 2).",
            "Divide by it.",
        ),
    ),
)


# --- 6.2 predicted_std ------------------------------------------------------------------------


def predicted_std(d_k, sigma_q, sigma_k):
    """Standard deviation of the dot product of two random vectors of width d_k.

    Entries independent, mean 0, standard deviations sigma_q and sigma_k.
    """
    variance_of_a_product = (sigma_q * sigma_k) ** 2
    variance_of_the_sum = d_k * variance_of_a_product  # variances add
    return math.sqrt(variance_of_the_sum)


def _settings(rng: np.random.Generator) -> list[Call]:
    calls = [Call((4, 1.0, 1.0)), Call((4, 3.0, 2.0)), Call((9, 0.5, 1.0)), Call((7, 1.0, 4.0))]
    for _ in range(4):
        d_k = int(rng.integers(2, 2000))
        calls.append(Call((d_k, float(rng.uniform(0.1, 3)), float(rng.uniform(0.1, 3)))))
    return calls


PREDICTED_STD = Exercise(
    id="predicted_std",
    number="6.2",
    chapter=CHAPTER,
    signature="predicted_std(d_k, sigma_q, sigma_k)",
    summary="how far the dot products of random vectors spread",
    difficulty=2,
    minutes=10,
    points=2,
    solution=predicted_std,
    returns=("std",),
    read="Why the square root",
    hints=(
        "Begin with one product of two entries: its variance is the product of the two variances. "
        "How many such products does a dot product add up?",
        "The variance of one product is sigma_q² · sigma_k², and the variances of d_k independent "
        "products add. That gives a variance; you are asked for a standard deviation.",
        "The variance is d_k · sigma_q² · sigma_k². Its root is √d_k · sigma_q · sigma_k.",
    ),
    probes=(
        Probe(
            "values",
            "the standard deviation for several widths and sizes of the entries",
            _settings,
            tolerance=1e-3,
            cause="Variance of one product, times the number of products; then the root.",
        ),
    ),
    mistakes=(
        Mistake(
            "root missing",
            lambda d_k, sigma_q, sigma_k: d_k * sigma_q * sigma_k,
            "You have d_k · sigma_q · sigma_k, as if all d_k products always had the same sign. Some "
            "are positive, some negative, and much cancels.",
            "Variances add, standard deviations do not: the root of d_k is enough.",
        ),
        Mistake(
            "variance instead of its root",
            lambda d_k, sigma_q, sigma_k: d_k * (sigma_q * sigma_k) ** 2,
            "This is the variance.",
            "Take its square root.",
        ),
        Mistake(
            "sizes of the entries left out",
            lambda d_k, sigma_q, sigma_k: math.sqrt(d_k),
            "You have √d_k: right for entries of standard deviation 1, and for no others.",
            "Twice as large entries in the query make every product twice as large.",
        ),
        Mistake(
            "only the query's size",
            lambda d_k, sigma_q, sigma_k: math.sqrt(d_k) * sigma_q,
            "The size of the key's entries is missing.",
            "Multiply by `sigma_k` too.",
        ),
        Mistake(
            "only the key's size",
            lambda d_k, sigma_q, sigma_k: math.sqrt(d_k) * sigma_k,
            "The size of the query's entries is missing.",
            "Multiply by `sigma_q` too.",
        ),
        Mistake(
            "sizes under the root",
            lambda d_k, sigma_q, sigma_k: math.sqrt(d_k * sigma_q * sigma_k),
            "sigma_q and sigma_k stand under the root as they are; what stands there must be variances.",
            "Square them first, or take them out of the root.",
        ),
        Mistake(
            "variances outside the root",
            lambda d_k, sigma_q, sigma_k: math.sqrt(d_k) * (sigma_q * sigma_k) ** 2,
            "Only d_k is under the root; the squares of sigma_q and sigma_k have to be there too.",
            "Take the root of the whole product.",
        ),
        Mistake(
            "sizes added",
            lambda d_k, sigma_q, sigma_k: math.sqrt(d_k) * (sigma_q + sigma_k),
            "The two sizes are added. In a product they multiply.",
            "The variance of one product is sigma_q² · sigma_k².",
        ),
        Mistake(
            "variances added",
            lambda d_k, sigma_q, sigma_k: math.sqrt(d_k * (sigma_q**2 + sigma_k**2)),
            "You add the variances of query and key. That is right for the *sum* of two entries; a dot "
            "product multiplies them.",
            "The variance of one product is sigma_q² · sigma_k².",
        ),
        Mistake(
            "divided by the root",
            lambda d_k, sigma_q, sigma_k: sigma_q * sigma_k / math.sqrt(d_k),
            "Your number falls with the width. That would be so for the *mean* of the products; a dot "
            "product is their sum.",
            "Multiply by √d_k.",
        ),
        Mistake(
            "half the width in place of its root",
            lambda d_k, sigma_q, sigma_k: d_k**1 / 2 * sigma_q * sigma_k,
            "Half the width stands in place of its root. `d_k ** 1 / 2` is d_k / 2: the power comes "
            "first, then the division.",
            "Write `d_k ** 0.5`, or `math.sqrt(d_k)`.",
        ),
        Mistake(
            "root cut to a whole number",
            lambda d_k, sigma_q, sigma_k: math.isqrt(d_k) * sigma_q * sigma_k,
            "The root of the width was cut to a whole number. `math.isqrt`, `int` and `//` do so.",
            "Use `math.sqrt`, which keeps the decimals.",
        ),
        Mistake(
            "always one",
            lambda d_k, sigma_q, sigma_k: 1.0,
            "1 is the spread after the division, for entries of standard deviation 1. It is asked for "
            "before the division, and for entries of any size.",
            "Begin with the variance of one product: sigma_q² · sigma_k².",
        ),
        Mistake(
            "already scaled",
            lambda d_k, sigma_q, sigma_k: sigma_q * sigma_k,
            "This is the spread *after* the division by √d_k, which does not depend on the width.",
            "The plain dot product is asked for: multiply by √d_k.",
        ),
    ),
)


# --- 6.3 calm_vectors -------------------------------------------------------------------------

N_QUERIES, N_KEYS, WIDTH = 32, 48, 256

CALM_SOLUTION = """
rng = np.random.default_rng(0)
queries = rng.normal(size=(32, 256))
keys = rng.normal(size=(48, 256))
calm_vectors = (queries / 256**0.25, keys / 256**0.25)  # by 4 and by 4: by 16 together
"""


def _judge_calm(value, rng) -> Finding | None:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        return Finding("not a pair", "that there are two tables, queries and keys")
    queries, keys = (np.asarray(part, dtype=np.float64) for part in value)
    if queries.shape != (N_QUERIES, WIDTH) or keys.shape != (N_KEYS, WIDTH):
        if queries.shape == (N_KEYS, WIDTH) and keys.shape == (N_QUERIES, WIDTH):
            return Finding("keys first", "which table comes first")
        shapes = f"the shapes: {queries.shape} and {keys.shape}"
        return Finding("other shapes", f"{shapes}; asked for are (32, 256) and (48, 256)")
    if not (np.isfinite(queries).all() and np.isfinite(keys).all()):
        return Finding("not finite", "that all numbers are finite")
    scores = queries @ keys.T
    spread, rows = float(scores.std()), scores.std(axis=-1)
    shown = (("standard deviation of queries @ keys.T", round(spread, 4)),)
    tested = "that the plain dot products have a standard deviation between 0.9 and 1.1"
    if spread < 1e-9:
        return Finding("all scores alike", tested, shown)
    if not 0.9 <= spread <= 1.1:
        lengths = np.concatenate([np.linalg.norm(part, axis=-1) for part in (queries, keys)])
        if np.allclose(lengths, 1, atol=1e-3):
            return Finding("vectors of length one", tested, shown)
        if 0.9 <= spread * math.sqrt(WIDTH) <= 1.1:
            return Finding("divided on both sides", tested, shown)
        if 0.9 <= spread / math.sqrt(WIDTH) <= 1.1:
            return Finding("nothing done", tested, shown)
        return Finding("spread too wide" if spread > 1 else "spread too narrow", tested, shown)
    if rows.min() < 0.1:
        shown = (*shown, ("smallest standard deviation of a row", round(float(rows.min()), 4)))
        return Finding("a row without spread", "that every query tells its keys apart", shown)
    return None


def _normals(query_size, key_size, n_q=N_QUERIES, n_k=N_KEYS, width=WIDTH):
    rng = np.random.default_rng(1)
    return query_size * rng.normal(size=(n_q, width)), key_size * rng.normal(size=(n_k, width))


def _unit_rows():
    return tuple(part / np.linalg.norm(part, axis=-1, keepdims=True) for part in _normals(1, 1))


def _with_silent_row():
    queries, keys = _normals(0.25, 0.25)
    queries[3] = 0.0
    return queries, keys


CALM_VECTORS = Exercise(
    id="calm_vectors",
    number="6.3",
    chapter=CHAPTER,
    signature="a pair (queries, keys)",
    summary="queries and keys that need no division",
    kind="object",
    difficulty=2,
    minutes=10,
    points=2,
    solution=CALM_SOLUTION,
    judge=_judge_calm,
    read="What the division does not do",
    hints=(
        "Exercise 6.2 says what the spread will be for entries of given sizes. For which sizes is it 1 "
        "at a width of 256?",
        "√256 is 16, so sigma_q · sigma_k has to be 1/16. You may share that out between the two as "
        "you like.",
        "Leave the queries as they are and divide the keys by 16; or divide both by 4.",
    ),
    mistakes=(
        Mistake(
            "nothing done",
            _normals(1, 1),
            "The spread is about 16, the root of the width: these vectors need the division.",
            "Make the entries smaller, so that sigma_q · sigma_k is 1/16.",
        ),
        Mistake(
            "divided on both sides",
            _normals(1 / 16, 1 / 16),
            "The spread is about 1/16: the scores were divided by 256. Most often queries and keys were "
            "*both* divided by 16.",
            "Divide one of the two by 16, or each by 4.",
        ),
        Mistake(
            "vectors of length one",
            _unit_rows(),
            "All vectors have length one. Their dot products are cosines, and between random vectors "
            "of this width those are all near zero: the spread is 1/16.",
            "Multiply: one of the two tables by 16, or both by 4.",
        ),
        Mistake(
            "spread too wide",
            _normals(1, 0.25),
            "The scores still spread too far.",
            "By the formula of exercise 6.2 the spread is 16 · sigma_q · sigma_k.",
        ),
        Mistake(
            "spread too narrow",
            _normals(1, 0.01),
            "The scores do not spread far enough: the weights would be nearly even.",
            "By the formula of exercise 6.2 the spread is 16 · sigma_q · sigma_k.",
        ),
        Mistake(
            "all scores alike",
            (np.zeros((N_QUERIES, WIDTH)), np.ones((N_KEYS, WIDTH))),
            "All scores are the same number, so they have no spread at all.",
            "Start with random numbers.",
        ),
        Mistake(
            "a row without spread",
            _with_silent_row(),
            "The spread is right on the whole, but at least one query scores all keys nearly alike.",
            "Give every query random numbers of the same size.",
        ),
        Mistake(
            "other shapes",
            _normals(0.25, 0.25, width=16),
            "The tables have other sizes than asked for.",
            "32 queries and 48 keys, of 256 numbers each.",
        ),
        Mistake(
            "keys first",
            _normals(0.25, 0.25)[::-1],
            "The keys come first in your pair.",
            "Write (queries, keys).",
        ),
        Mistake(
            "not a pair",
            (np.ones((N_QUERIES, WIDTH)), np.ones((N_KEYS, WIDTH)), np.ones(3)),
            "Two tables are asked for, first the queries and then the keys.",
            "Write `calm_vectors = (queries, keys)`.",
        ),
        Mistake(
            "not finite",
            (np.full((N_QUERIES, WIDTH), np.nan), np.ones((N_KEYS, WIDTH))),
            "Some numbers are infinite or not numbers at all.",
            "Look for a division by zero.",
        ),
    ),
)


# --- 6.4 qk_norm_scores -----------------------------------------------------------------------


def qk_norm_scores(query, key, scale):
    """Scores from directions alone: cosines, times a scale of their own.

    query (n_q, d_k) · key (n_k, d_k) -> (n_q, n_k), each between -scale and scale
    """
    query = query / np.linalg.norm(query, axis=-1, keepdims=True)  # rows of length one
    key = key / np.linalg.norm(key, axis=-1, keepdims=True)
    return scale * (query @ key.T)


def _norm(rows, **options):
    return np.linalg.norm(rows, axis=-1, keepdims=True, **options)


def _mean_square(rows):
    return np.sqrt(np.mean(rows**2, axis=-1, keepdims=True))


def _layer_normed(rows):
    centred = rows - rows.mean(-1, keepdims=True)
    return centred / _norm(centred)


def _norm_draw(rng, n_q, n_k, d_k, scale):
    query, key = _draw(rng, n_q, n_k, d_k).args
    return Call((query, key, scale))


def _directions(rng: np.random.Generator) -> list[Call]:
    small = (np.array([[3.0, 4.0]]), np.array([[1.0, 0.0], [-6.0, -8.0], [4.0, -3.0]]), 10.0)
    return [
        Call(small),
        _norm_draw(rng, 2, 3, 4, 7.0),
        _norm_draw(rng, 3, 5, 9, 2.5),
        _norm_draw(rng, 4, 2, 30, 12.0),
    ]


def _sizes(rng: np.random.Generator) -> list[Call]:
    query, key = rng.normal(size=(2, 3)), rng.normal(size=(3, 3))
    longer = query * np.array([[100.0], [0.01]])
    return [Call((longer, key, 10.0)), Call((query, 1e3 * key, 10.0))]


def _single_precision(rng: np.random.Generator) -> list[Call]:
    query, key = rng.normal(size=(2, 3)), rng.normal(size=(3, 3))
    return [Call((query.astype(np.float32), key.astype(np.float32), 10.0))]


QK_NORM_SCORES = Exercise(
    id="qk_norm_scores",
    number="6.4",
    chapter=CHAPTER,
    signature="qk_norm_scores(query, key, scale)",
    summary="scores that stay bounded whatever the vectors do",
    difficulty=2,
    minutes=10,
    points=2,
    solution=qk_norm_scores,
    returns=("scores",),
    read="QK-norm: a bound that holds",
    hints=(
        "Chapter 1 has met this score, without the scale: which one depends on the angle between two "
        "arrows and not on how long they are?",
        "Divide each *row* by its own length, in both tables; then take all dot products and multiply "
        "by `scale`. The length of a row is `np.linalg.norm(…, axis=-1, keepdims=True)`.",
        "`q = query / np.linalg.norm(query, axis=-1, keepdims=True)`, the same for the key, and "
        "`scale * (q @ k.T)`. No √d_k anywhere.",
    ),
    probes=(
        Probe(
            "values",
            "entry [i, j] is `scale` times the cosine of query i and key j",
            _directions,
            cause="Rows of length one in both tables, all dot products, times `scale`.",
        ),
        Probe(
            "length does not count",
            "making single vectors a hundred times longer or shorter changes nothing",
            _sizes,
            cause="Something of the vectors' length is left in the scores.",
        ),
        Probe(
            "edges",
            "one query and one key, as many queries as keys, vectors of one number",
            lambda rng: [
                _norm_draw(rng, 1, 1, 5, 10.0),
                _norm_draw(rng, 3, 3, 3, 4.0),
                _norm_draw(rng, 2, 4, 1, 3.0),
            ],
        ),
        Probe("dtype", "float32 gives float32 scores", _single_precision),
    ),
    mistakes=(
        Mistake(
            "not normalised",
            lambda query, key, scale: scale * (query @ key.T),
            "The vectors keep their length: these are plain dot products times `scale`.",
            "Divide every row by its length first.",
        ),
        Mistake(
            "scaled dot products",
            lambda query, key, scale: scale * scaled_scores(query, key),
            "These are the scaled scores of exercise 6.1 times `scale`. They still grow with the "
            "vectors' lengths.",
            "Divide every row by its length, in place of the division by √d_k.",
        ),
        Mistake(
            "only the query normalised",
            lambda query, key, scale: scale * (query / _norm(query)) @ key.T,
            "The keys keep their length, so a long key still gets large scores.",
            "Divide the rows of `key` by their lengths as well.",
        ),
        Mistake(
            "only the key normalised",
            lambda query, key, scale: scale * query @ (key / _norm(key)).T,
            "The queries keep their length, so a long query is still surer than a short one.",
            "Divide the rows of `query` by their lengths as well.",
        ),
        Mistake(
            "columns normalised",
            lambda query, key, scale: (
                scale
                * (query / np.linalg.norm(query, axis=0))
                @ (key / np.linalg.norm(key, axis=0)).T
            ),
            "Each column has length one; it should be each row. Most often `axis=0` was written.",
            "Use `axis=-1, keepdims=True`.",
        ),
        Mistake(
            "one length for the whole table",
            lambda query, key, scale: (
                scale * (query / np.linalg.norm(query)) @ (key / np.linalg.norm(key)).T
            ),
            "`np.linalg.norm` without `axis` gives one length for the whole table, so long rows stay "
            "longer than short ones.",
            "Use `axis=-1, keepdims=True`.",
        ),
        Mistake(
            "divided by the root of the width as well",
            lambda query, key, scale: (
                qk_norm_scores(query, key, scale) / math.sqrt(query.shape[-1])
            ),
            "On top of it you divide by √d_k. Cosines do not grow with the width; `scale` stands in "
            "the root's place.",
            "Leave out the division by √d_k.",
        ),
        Mistake(
            "scale left out",
            lambda query, key, scale: qk_norm_scores(query, key, 1.0),
            "These are cosines, between −1 and 1: `scale` is not used. A softmax of such scores is "
            "nearly even.",
            "Multiply by `scale`.",
        ),
        Mistake(
            "divided by the scale",
            lambda query, key, scale: qk_norm_scores(query, key, 1 / scale),
            "You divide by `scale`; it is a factor.",
            "Multiply by `scale`.",
        ),
        Mistake(
            "scaled on both sides",
            lambda query, key, scale: qk_norm_scores(query, key, scale**2),
            "`scale` was used twice, in the query and in the key: the scores reach scale².",
            "Use it once.",
        ),
        Mistake(
            "root mean square in place of the length",
            lambda query, key, scale: (
                scale * (query / _mean_square(query)) @ (key / _mean_square(key)).T
            ),
            "You divide by the root of the *mean* of the squares. Rows then have length √d_k, and "
            "scores reach scale · d_k.",
            "Divide by the root of the *sum* of the squares, the length.",
        ),
        Mistake(
            "squared length",
            lambda query, key, scale: (
                scale * (query / _norm(query) ** 2) @ (key / _norm(key) ** 2).T
            ),
            "You divide by the squared length; the root is missing. Long vectors then get *small* "
            "scores.",
            "Divide by the root of the sum of squares.",
        ),
        Mistake(
            "sum of sizes in place of the length",
            lambda query, key, scale: (
                scale * (query / _norm(query, ord=1)) @ (key / _norm(key, ord=1)).T
            ),
            "You divide by the sum of the entries' sizes. A row then has length one only if it has a "
            "single entry.",
            "The length is the root of the sum of squares.",
        ),
        Mistake(
            "mean taken off first",
            lambda query, key, scale: scale * _layer_normed(query) @ _layer_normed(key).T,
            "The mean of each row is taken off before the length is divided out. That is a layer norm "
            "and gives other directions.",
            "Divide by the length and do nothing else to the rows.",
        ),
        Mistake(
            "weights instead of scores",
            lambda query, key, scale: softmax(qk_norm_scores(query, key, scale)),
            "Each row sums to one: the scores went through a softmax. The scores are asked for.",
            "Leave out the softmax.",
        ),
        Mistake(
            "rows and columns swapped",
            lambda query, key, scale: qk_norm_scores(query, key, scale).T,
            "The numbers are right but the table is on its side.",
            "Queries come first: `query @ key.T`.",
        ),
        Mistake(
            "scale not used, length left",
            lambda query, key, scale: scaled_scores(query, key),
            "These are the scaled scores of exercise 6.1. They still grow with the vectors' lengths, "
            "and `scale` is not used.",
            "Divide every row by its length, in place of the division by √d_k, and multiply by `scale`.",
        ),
        Mistake(
            "sign lost",
            lambda query, key, scale: np.abs(qk_norm_scores(query, key, scale)),
            "The sizes are right but no score is negative. A key that points the other way is one to "
            "look away from.",
            "Leave out `abs`: cosines lie between −1 and 1.",
        ),
        Mistake(
            "scores cut off at the scale",
            lambda query, key, scale: np.clip(query @ key.T, -scale, scale),
            "The plain scores are cut off at ±scale. That bounds them, but the ones cut off are all "
            "alike and their slope is zero.",
            "Divide every row by its length in place of cutting.",
        ),
    ),
)

EXERCISES = (SCALED_SCORES, PREDICTED_STD, CALM_VECTORS, QK_NORM_SCORES)
