"""Chapter 3: soft_lookup, restore_pairs, kernel_regression, leave_one_out_error."""

from __future__ import annotations

import numpy as np

from attnbook.exercises.exercise import Call, Exercise, Mistake, Probe, Result
from attnbook.numpy_attention import soft_lookup, softmax

CHAPTER = "03-soft-lookup"


# --- 3.1 soft_lookup --------------------------------------------------------------------------


def _scores(query, keys, temperature=1.0):
    return keys @ query / temperature


def _keys_mixed(query, keys, values, temperature=1.0):
    return softmax(_scores(query, keys, temperature)) @ keys


def _scores_as_weights(query, keys, values, temperature=1.0):
    return _scores(query, keys, temperature) @ values


def _divided_by_their_sum(query, keys, values, temperature=1.0):
    scores = _scores(query, keys, temperature)
    return scores / scores.sum() @ values


def _not_normalised(query, keys, values, temperature=1.0):
    return np.exp(_scores(query, keys, temperature)) @ values


def _divided_by_n(query, keys, values, temperature=1.0):
    return softmax(_scores(query, keys, temperature)) @ values / len(values)


def _temperature_multiplied(query, keys, values, temperature=1.0):
    return softmax(keys @ query * temperature) @ values


def _temperature_ignored(query, keys, values, temperature=1.0):
    return softmax(keys @ query) @ values


def _temperature_on_weights(query, keys, values, temperature=1.0):
    return softmax(keys @ query) / temperature @ values


def _temperature_squared(query, keys, values, temperature=1.0):
    return softmax(keys @ query / temperature**2) @ values


def _naive(query, keys, values, temperature=1.0):
    exponentials = np.exp(_scores(query, keys, temperature))
    return exponentials / exponentials.sum() @ values


def _hard(query, keys, values, temperature=1.0):
    return np.asarray(values, np.result_type(values, np.float16))[np.argmax(keys @ query)]


def _scaled_by_width(query, keys, values, temperature=1.0):
    return softmax(_scores(query, keys, temperature) / len(query) ** 0.5) @ values


def _cosine(query, keys, values, temperature=1.0):
    lengths = np.linalg.norm(keys, axis=-1) * np.linalg.norm(query)
    return softmax(_scores(query, keys, temperature) / np.where(lengths > 0, lengths, 1)) @ values


def _as_by_cosines(call: Call, result: Result) -> bool:
    """Also where a vector of zeros gives NaN: its cosine is 0 divided by 0."""
    query, keys = call.args[:2]
    if not np.any(query) or not np.any(keys, axis=-1).all():
        return bool(np.isnan(result.value).any())
    want = _cosine(*call.args, **call.kwargs)
    return np.shape(result.value) == want.shape and np.allclose(result.value, want, 1e-2, 1e-2)


def _distances(query, keys, values, temperature=1.0):
    return softmax(-np.linalg.norm(keys - query, axis=-1) / temperature) @ values


def _squared_distances(query, keys, values, temperature=1.0):
    return softmax(-((keys - query) ** 2).sum(-1) / temperature) @ values


def _negated(query, keys, values, temperature=1.0):
    return softmax(-_scores(query, keys, temperature)) @ values


def _softmax_twice(query, keys, values, temperature=1.0):
    return softmax(softmax(_scores(query, keys, temperature))) @ values


def _plain_mean(query, keys, values, temperature=1.0):
    return np.mean(values, axis=0)


def _returns_weights(query, keys, values, temperature=1.0):
    return softmax(_scores(query, keys, temperature))


def _not_summed(query, keys, values, temperature=1.0):
    return softmax(_scores(query, keys, temperature))[:, None] * values


def _summed_over_columns(query, keys, values, temperature=1.0):
    return (softmax(_scores(query, keys, temperature))[:, None] * values).sum(axis=1)


def _dictionary(rng: np.random.Generator, n: int, d: int, d_v: int, spread: float = 1.0) -> tuple:
    """query, keys, values."""
    keys = rng.normal(0, spread, size=(n, d))
    return rng.normal(size=d), keys, rng.normal(0, 2, size=(n, d_v))


def _plain_dictionaries(rng: np.random.Generator) -> list[Call]:
    """All sizes different; then width of keys and values equal, where mixing keys fits too."""
    return [
        Call(_dictionary(rng, n=4, d=2, d_v=1)),
        Call(_dictionary(rng, n=3, d=2, d_v=2)),
        Call(_dictionary(rng, n=3, d=5, d_v=2)),
        Call(_dictionary(rng, n=7, d=3, d_v=4)),
        Call(_dictionary(rng, n=2, d=4, d_v=6)),
    ]


def _temperatures(rng: np.random.Generator) -> list[Call]:
    """Given by name, and once by position."""
    calls = [
        Call(_dictionary(rng, n=4, d=2, d_v=1), {"temperature": 0.5}),
        Call(_dictionary(rng, n=3, d=2, d_v=1), {"temperature": 2.0}),
        Call(_dictionary(rng, n=5, d=3, d_v=2), {"temperature": 0.3}),
    ]
    return [*calls, Call((*_dictionary(rng, n=6, d=2, d_v=3), 4.0))]


def _extremes(rng: np.random.Generator) -> list[Call]:
    """Nearly hard, where the best key wins by a clear margin, and nearly the mean."""
    query = np.array([1.0, 0.5])
    keys = np.array([[0.0, 1.0], [1.0, 1.0], [-1.0, 0.0]])  # scores 0.5, 1.5, -1
    values = rng.normal(0, 2, size=(3, 1))
    wide = _dictionary(rng, n=5, d=3, d_v=2)
    return [
        Call((query, keys, values), {"temperature": 1e-3}),
        Call((query, keys, values), {"temperature": 1e6}),
        Call(wide, {"temperature": 1e6}),
    ]


def _huge_scores(rng: np.random.Generator) -> list[Call]:
    query, keys, values = _dictionary(rng, n=3, d=2, d_v=1)
    calls = [Call((np.array([1000.0, 0.0]), np.array([[1.0, 0], [0.999, 3], [0, 1]]), values))]
    calls.append(Call((query * 1e4, keys, values)))
    return [*calls, Call((query, keys - 900 * np.sign(query), values))]


def _shuffled(rng: np.random.Generator) -> list[Call]:
    """One dictionary, its pairs in three orders."""
    query, keys, values = _dictionary(rng, n=4, d=2, d_v=1)
    orders = [np.arange(4), np.array([2, 0, 3, 1]), rng.permutation(4)]
    return [Call((query, keys[order], values[order])) for order in orders]


def _edges(rng: np.random.Generator) -> list[Call]:
    query, keys, values = _dictionary(rng, n=3, d=2, d_v=1)
    single = _dictionary(rng, n=1, d=3, d_v=2)
    return [
        Call((np.zeros(2), keys, values)),
        Call((query, np.stack([keys[0], keys[0]]), values[:2])),
        Call(single),
    ]


def _float32(rng: np.random.Generator) -> list[Call]:
    parts = [_dictionary(rng, n=4, d=2, d_v=1), _dictionary(rng, n=3, d=5, d_v=2)]
    return [Call(tuple(array.astype(np.float32) for array in part)) for part in parts]


def _integers(rng: np.random.Generator) -> list[Call]:
    query, keys = np.array([1, 0]), np.array([[2, 1], [0, 3], [1, -1]])
    return [Call((query, keys, np.array([[3], [9], [-4]])))]


SOFT_LOOKUP = Exercise(
    id="soft_lookup",
    number="3.1",
    chapter=CHAPTER,
    signature="soft_lookup(query, keys, values, temperature=1.0)",
    summary="a query against all keys gives a weighted sum of all values",
    difficulty=1,
    minutes=10,
    points=3,
    solution=soft_lookup,
    returns=("output",),
    read="Three steps: score, weigh, mix",
    hints=(
        "Three steps, one line each: how well does every key fit the query, what share does each "
        "entry get, what comes out when the values are mixed in these shares?",
        "`keys @ query` gives all `n` scores at once. Divide them by the temperature *before* the "
        "softmax. The shares belong to the rows of `values`.",
        "`weights = softmax(keys @ query / temperature)`, and the answer is `weights @ values`.",
    ),
    probes=(
        Probe(
            "values",
            "the answer is the sum of all values, each times its weight",
            _plain_dictionaries,
            cause="The weights are the softmax of the dot products of the query with each key; "
            "they multiply the rows of `values`.",
        ),
        Probe(
            "temperature",
            "the scores are divided by `temperature` before the softmax",
            _temperatures,
            cause="Divide the scores by the temperature, then take the softmax.",
            read="Temperature: from one entry to the mean",
        ),
        Probe(
            "extremes",
            "a tiny temperature gives the best key's value, a huge one the mean of the values",
            _extremes,
            cause="The temperature has to divide the scores, and nothing else.",
            read="Temperature: from one entry to the mean",
        ),
        Probe(
            "order",
            "shuffling keys and values together changes nothing",
            _shuffled,
            cause="Row i of `values` belongs to row i of `keys`, wherever the pair stands.",
            read="Order does not matter, pairing does",
        ),
        Probe(
            "huge scores",
            "scores of thousands give finite answers",
            _huge_scores,
            cause="A softmax that subtracts the largest score first does not overflow.",
        ),
        Probe(
            "edges",
            "a query of zeros gives the mean, two equal keys share, a single entry answers alone",
            _edges,
            cause="With one entry, its weight is 1; with equal scores, all weights are equal.",
        ),
        Probe(
            "integers",
            "integer keys, values and queries give a float64 answer",
            _integers,
            cause="An integer array cannot hold a mixture.",
        ),
        Probe("dtype", "float32 arrays give a float32 answer", _float32),
    ),
    mistakes=(
        Mistake(
            "keys mixed instead of values",
            _keys_mixed,
            "Your weights are right, but they mix the keys. Keys are there to be compared with the "
            "query; what is handed over are the values.",
            "Multiply the weights with `values`.",
            "The trap: mixing the keys",
        ),
        Mistake(
            "scores used as weights",
            _scores_as_weights,
            "The values are multiplied by the raw scores. These may be negative and do not sum to "
            "one, so the answer can lie far outside everything you stored.",
            "Put `softmax` between the scores and the sum.",
            "The wrong way first: raw scores",
        ),
        Mistake(
            "scores divided by their sum",
            _divided_by_their_sum,
            "You divide the scores by their sum. They may be negative, and their sum may be zero.",
            "Use `softmax`, which is safe for any scores.",
            "The wrong way first: raw scores",
        ),
        Mistake(
            "exponentials not normalised",
            _not_normalised,
            "The values are multiplied by exp of the scores, which do not sum to one.",
            "Divide the exponentials by their sum, or use `softmax`.",
            "The wrong way first: raw scores",
        ),
        Mistake(
            "divided by the number of entries",
            _divided_by_n,
            "The weighted sum is divided by the number of entries once more. The weights sum to one "
            "already, so the sum is the average.",
            "Use a sum, not a mean, after the weights.",
        ),
        Mistake(
            "multiplied by the temperature",
            _temperature_multiplied,
            "The scores are multiplied by the temperature: yours gets sharper as it gets hotter.",
            "Divide the scores by `temperature`.",
            "Temperature: from one entry to the mean",
        ),
        Mistake(
            "temperature ignored",
            _temperature_ignored,
            "The temperature changes nothing in your function. (Subtracting it changes nothing either: "
            "softmax does not see a shift of all scores.)",
            "Divide the scores by `temperature` before the softmax.",
            "Temperature: from one entry to the mean",
        ),
        Mistake(
            "temperature applied after softmax",
            _temperature_on_weights,
            "You divide the weights by the temperature, so that they no longer sum to one.",
            "Divide the scores, before the softmax.",
            "Temperature: from one entry to the mean",
        ),
        Mistake(
            "temperature squared",
            _temperature_squared,
            "The scores are divided by the temperature squared. A square belongs to the bandwidth of "
            "kernel regression, not here.",
            "Divide by `temperature` itself.",
            "Temperature: from one entry to the mean",
        ),
        Mistake(
            "exp without subtracting the maximum",
            _naive,
            "You take `exp` of the scores as they are. It overflows above about 710, and infinity "
            "divided by infinity is NaN.",
            "Use the `softmax` of chapter 2.",
        ),
        Mistake(
            "only the best entry",
            _hard,
            "You return the value of the best key alone. That is the nearest look-up; in a soft one "
            "every entry has a share.",
            "Use the softmax of the scores in place of `argmax`.",
        ),
        Mistake(
            "divided by the square root of the width",
            _scaled_by_width,
            "The scores are divided by √d as well. That is scaled attention, which comes in chapter "
            "6; here the temperature is all there is.",
            "Leave the square root out.",
        ),
        Mistake(
            "cosine instead of dot product",
            _cosine,
            "The scores are cosines: the lengths of query and keys have been divided out.",
            "Use the dot product itself, `keys @ query`.",
            symptom=_as_by_cosines,
        ),
        Mistake(
            "distances instead of dot products",
            _distances,
            "The scores are negative distances; this look-up compares by dot product.",
            "Use `keys @ query`.",
        ),
        Mistake(
            "squared distances instead of dot products",
            _squared_distances,
            "The scores are negative squared distances. That is kernel regression, which comes later "
            "in this chapter; here the comparison is by dot product.",
            "Use `keys @ query`.",
        ),
        Mistake(
            "sign of the scores flipped",
            _negated,
            "The key that fits worst gets the largest weight: the sign of the scores is flipped.",
            "Leave the minus out; a larger dot product is a better fit.",
        ),
        Mistake(
            "softmax applied twice",
            _softmax_twice,
            "Softmax is applied to the weights once more, which makes them nearly equal.",
            "Apply it once, to the scores.",
        ),
        Mistake(
            "plain mean of the values",
            _plain_mean,
            "Every entry gets the same share, whatever the query is.",
            "Weigh each value by how well its key fits the query.",
        ),
        Mistake(
            "weights returned",
            _returns_weights,
            "You return the `n` weights, not the mixture they are for.",
            "Multiply them with `values`.",
        ),
        Mistake(
            "products not added up",
            _not_summed,
            "Each value is multiplied by its weight, but the products are not added up.",
            "Sum over the entries, `axis=0`, or use `weights @ values`.",
        ),
        Mistake(
            "summed along the wrong axis",
            _summed_over_columns,
            "The products are added up along the numbers of each value, not over the entries.",
            "Sum over `axis=0`, or use `weights @ values`.",
        ),
    ),
)


# --- 3.2 restore_pairs ------------------------------------------------------------------------


def restore_pairs(keys, values, shuffled_keys):
    """Bring the values into the order of the shuffled keys, so that every pair is whole again.

    keys (n, d), all rows different · values (n, d_v) · shuffled_keys (n, d), the same rows
    -> (n, d_v): row i is the value that belongs to shuffled_keys[i].
    """
    value_of = {tuple(key): value for key, value in zip(keys, values, strict=True)}  # exact match
    return np.stack([value_of[tuple(key)] for key in shuffled_keys])  # (n, d_v)


def _order(keys, shuffled_keys):
    """order[i]: where shuffled_keys[i] stood in keys."""
    return (shuffled_keys[:, None] == keys).all(-1).argmax(axis=1)


def _values_left(keys, values, shuffled_keys):
    return values.copy()


def _inverse_order(keys, values, shuffled_keys):
    return values[np.argsort(_order(keys, shuffled_keys))]


def _keys_returned(keys, values, shuffled_keys):
    return keys[_order(keys, shuffled_keys)]


def _order_returned(keys, values, shuffled_keys):
    return _order(keys, shuffled_keys)


def _largest_dot_product(keys, values, shuffled_keys):
    return values[(shuffled_keys @ keys.T).argmax(axis=1)]


def _largest_cosine(keys, values, shuffled_keys):
    one = keys / np.linalg.norm(keys, axis=1, keepdims=True)
    other = shuffled_keys / np.linalg.norm(shuffled_keys, axis=1, keepdims=True)
    return values[(other @ one.T).argmax(axis=1)]


def _same_sum(keys, values, shuffled_keys):
    return values[np.abs(shuffled_keys.sum(1)[:, None] - keys.sum(1)).argmin(axis=1)]


def _same_length(keys, values, shuffled_keys):
    one, other = np.linalg.norm(keys, axis=1), np.linalg.norm(shuffled_keys, axis=1)
    return values[np.abs(other[:, None] - one).argmin(axis=1)]


def _matched_by(measure):
    """Each key got the value of a key with the same measure; among several of them, any."""

    def symptom(call: Call, result: Result) -> bool:
        keys, values, shuffled_keys = call.args
        if np.shape(result.value) != values.shape:
            return False
        fits = np.isclose(measure(shuffled_keys)[:, None], measure(keys)).all(-1)  # (n, n)
        taken = (result.value[:, None] == values).all(-1)  # (n, n)
        return bool((fits & taken).any(axis=1).all())

    return symptom


def _first_number_only(keys, values, shuffled_keys):
    return values[(shuffled_keys[:, None, 0] == keys[:, 0]).argmax(axis=1)]


def _any_number(keys, values, shuffled_keys):
    return values[(shuffled_keys[:, None] == keys).any(-1).argmax(axis=1)]


def _sorted_by_first(keys, values, shuffled_keys):
    new = np.empty_like(values)
    new[np.argsort(shuffled_keys[:, 0], kind="stable")] = values[
        np.argsort(keys[:, 0], kind="stable")
    ]
    return new


def _soft_answers(keys, values, shuffled_keys):
    return softmax(shuffled_keys @ keys.T) @ values


def _values_sorted(keys, values, shuffled_keys):
    return values[np.argsort(values[:, 0])]


def _reversed(keys, values, shuffled_keys):
    return values[::-1].copy()


def _overwritten(keys, values, shuffled_keys):
    for i, j in enumerate(np.argsort(_order(keys, shuffled_keys))):
        values[j] = values[i]
    return values


def _shuffles(rng: np.random.Generator) -> list[Call]:
    """Rows share numbers, lengths differ, and no order is its own inverse."""
    calls = []
    small = np.array([[1.0, 2.0], [1.0, -1.0], [3.0, 2.0]])
    calls.append(_shuffle(rng, small, 1, np.array([2, 0, 1])))
    four = np.array([[0.5, 1.0], [0.5, -2.0], [2.0, 1.0], [-1.0, 1.0]])
    calls.append(_shuffle(rng, four, 1, np.array([1, 2, 3, 0])))
    # Equal sums (first two), equal lengths (third and fourth), one direction (first and last).
    five = np.array([[1.0, 4.0], [2.0, 3.0], [8.0, 1.0], [4.0, 7.0], [2.0, 8.0]])
    calls.append(_shuffle(rng, five, 1, np.array([1, 2, 3, 4, 0])))
    for n, d, d_v in ((5, 3, 2), (7, 2, 4)):
        keys = rng.normal(size=(n, d)) * rng.uniform(0.3, 3, size=(n, 1))
        keys[1, 0] = keys[0, 0]  # the first number alone does not tell them apart
        calls.append(_shuffle(rng, keys, d_v, rng.permutation(n)))
    return calls


def _shuffle(rng, keys, d_v, order) -> Call:
    values = rng.normal(0, 2, size=(len(keys), d_v))
    n = len(keys)
    while n > 2 and (order[order] == np.arange(n)).all():  # its own inverse: draw again
        order = rng.permutation(n)
    return Call((keys, values, keys[order]))


RESTORE_PAIRS = Exercise(
    id="restore_pairs",
    number="3.2",
    chapter=CHAPTER,
    signature="restore_pairs(keys, values, shuffled_keys)",
    summary="after the keys were shuffled alone, give each its own value back",
    difficulty=2,
    minutes=10,
    points=2,
    solution=restore_pairs,
    returns=("restored",),
    read="Order does not matter, pairing does",
    hints=(
        "Every shuffled key stands somewhere in `keys`, exactly. You have met a kind of look-up that "
        "finds exact matches.",
        "Go through `shuffled_keys`; for each row find the row of `keys` that is equal in *all* its "
        "numbers; take the value of that row. A Python dictionary does it if the keys are "
        "`tuple(row)`.",
        "`value_of = {tuple(k): v for k, v in zip(keys, values)}`, then stack "
        "`value_of[tuple(k)] for k in shuffled_keys`.",
    ),
    probes=(
        Probe(
            "values",
            "row i of the result is the value that belonged to `shuffled_keys[i]`",
            _shuffles,
            cause="Find, for each shuffled key, the row where it stood in `keys`.",
        ),
        Probe(
            "already in order",
            "keys that were not shuffled keep their values",
            lambda rng: [_unshuffled(rng)],
        ),
        Probe(
            "dtype",
            "float32 values stay float32",
            lambda rng: [
                Call((call.args[0], call.args[1].astype(np.float32), call.args[2]))
                for call in _shuffles(rng)[:1]
            ],
        ),
    ),
    mistakes=(
        Mistake(
            "values left as they were",
            _values_left,
            "The values stand in their old order, so most keys have somebody else's value.",
            "Move each value to the row where its key now stands.",
        ),
        Mistake(
            "the order turned round",
            _inverse_order,
            "You apply the inverse of the shuffle: you send row i where it came *from* and not where "
            "it went.",
            "Row i of the result is the value whose key equals `shuffled_keys[i]`: search in `keys`, "
            "and index `values` with the place found.",
        ),
        Mistake(
            "largest dot product taken for the same key",
            _largest_dot_product,
            "You look for the key with the largest dot product. A long key can have a larger dot "
            "product with a vector than the vector has with itself.",
            "Compare with `==`, or look for the smallest distance. (The section “A long key shouts” "
            "comes back to this.)",
        ),
        Mistake(
            "same direction taken for the same key",
            _largest_cosine,
            "You look for the key with the largest cosine. Two keys that point the same way, one long "
            "and one short, are the same to a cosine.",
            "Compare with `==`, or look for the smallest distance.",
            symptom=_matched_by(lambda k: k / np.linalg.norm(k, axis=1, keepdims=True)),
        ),
        Mistake(
            "sums compared instead of keys",
            _same_sum,
            "You compare the sums of the keys. Different keys may have the same sum.",
            "Compare all numbers of a key: `(a == b).all()`.",
            symptom=_matched_by(lambda k: k.sum(axis=1, keepdims=True)),
        ),
        Mistake(
            "lengths compared instead of keys",
            _same_length,
            "You compare the lengths of the keys. Different keys may have the same length.",
            "Compare all numbers of a key: `(a == b).all()`.",
            symptom=_matched_by(lambda k: np.linalg.norm(k, axis=1, keepdims=True)),
        ),
        Mistake(
            "first numbers compared only",
            _first_number_only,
            "Two keys may begin with the same number and still differ.",
            "Compare all numbers of a key: `(a == b).all()`.",
        ),
        Mistake(
            "any equal number will do",
            _any_number,
            "Two keys that share one number are taken for the same key.",
            "Ask for the row in which *all* numbers agree: `(keys == key).all(axis=-1)`.",
        ),
        Mistake(
            "sorted by the first number",
            _sorted_by_first,
            "Both tables of keys are sorted by their first number alone; where two keys begin with "
            "the same number, the pairs get mixed up.",
            "Compare all numbers of a key.",
        ),
        Mistake(
            "keys returned",
            _keys_returned,
            "You return the keys in their new order; the values were asked for.",
            "Index `values` with the order that you found.",
        ),
        Mistake(
            "order returned",
            _order_returned,
            "You return the order itself.",
            "Use it to index `values`.",
        ),
        Mistake(
            "a soft look-up of each key",
            _soft_answers,
            "You mix all values by a softmax. Here each key has one value of its own, untouched.",
            "Look for the exact match.",
        ),
        Mistake(
            "values overwritten while they are read",
            _overwritten,
            "You write into `values` while you still read from it: a value that is needed later may "
            "be gone by then.",
            "Write into a new array, such as `np.empty_like(values)`.",
        ),
        Mistake(
            "values sorted",
            _values_sorted,
            "The values are sorted by their own size, which says nothing about their keys.",
            "Find each shuffled key in `keys`.",
        ),
        Mistake(
            "values reversed",
            _reversed,
            "The values are turned upside down, whatever the shuffle was.",
            "Find each shuffled key in `keys`.",
        ),
    ),
)


def _unshuffled(rng: np.random.Generator) -> Call:
    keys = np.array([[1.0, 2.0], [1.0, -1.0], [3.0, 2.0]])
    return Call((keys, rng.normal(0, 2, size=(3, 1)), keys.copy()))


# --- 3.3 kernel_regression --------------------------------------------------------------------


def kernel_regression(query, keys, values, bandwidth):
    """Average the values, each weighted by how near its key is: exp(-distance^2 / (2 bandwidth^2)).

    query (d,) · keys (n, d) · values (n, d_v) · bandwidth > 0 -> (d_v,). Finite however far the
    query lies from all keys. Nadaraya 1964, Watson 1964, with a Gaussian kernel.
    """
    squared_distances = ((keys - query) ** 2).sum(axis=-1)  # (n,)
    weights = softmax(-squared_distances / (2 * bandwidth**2))  # (n,) the nearest gets the largest
    return weights @ values  # (d_v,)


def _squares(query, keys):
    return ((keys - query) ** 2).sum(axis=-1)


def _dot_products(query, keys, values, bandwidth):
    return softmax(keys @ query / bandwidth**2) @ values


def _no_two(query, keys, values, bandwidth):
    return softmax(-_squares(query, keys) / bandwidth**2) @ values


def _bandwidth_not_squared(query, keys, values, bandwidth):
    return softmax(-_squares(query, keys) / (2 * bandwidth)) @ values


def _distance_not_squared(query, keys, values, bandwidth):
    return softmax(-np.sqrt(_squares(query, keys)) / (2 * bandwidth**2)) @ values


def _precedence(query, keys, values, bandwidth):
    return softmax(-_squares(query, keys) / 2 * bandwidth**2) @ values


def _farthest_first(query, keys, values, bandwidth):
    return softmax(_squares(query, keys) / (2 * bandwidth**2)) @ values


def _zero_by_zero(query, keys, values, bandwidth):
    kernel = np.exp(-_squares(query, keys) / (2 * bandwidth**2))
    return kernel / kernel.sum() @ values


def _with_epsilon(query, keys, values, bandwidth):
    kernel = np.exp(-_squares(query, keys) / (2 * bandwidth**2))
    return kernel / (kernel.sum() + 1e-3) @ values


def _kernel_not_normalised(query, keys, values, bandwidth):
    return np.exp(-_squares(query, keys) / (2 * bandwidth**2)) @ values


def _kernel_mean(query, keys, values, bandwidth):
    return np.exp(-_squares(query, keys) / (2 * bandwidth**2)) @ values / len(values)


def _nearest_only(query, keys, values, bandwidth):
    return np.asarray(values, float)[_squares(query, keys).argmin()]


def _kernel_mixes_keys(query, keys, values, bandwidth):
    return softmax(-_squares(query, keys) / (2 * bandwidth**2)) @ keys


def _summed_before_squaring(query, keys, values, bandwidth):
    return softmax(-((keys - query).sum(axis=-1) ** 2) / (2 * bandwidth**2)) @ values


def _mean_of_squares(query, keys, values, bandwidth):
    return softmax(-((keys - query) ** 2).mean(axis=-1) / (2 * bandwidth**2)) @ values


def _two_squared(query, keys, values, bandwidth):
    return softmax(-_squares(query, keys) / (2 * bandwidth) ** 2) @ values


def _exponential_twice(query, keys, values, bandwidth):
    return softmax(np.exp(-_squares(query, keys) / (2 * bandwidth**2))) @ values


def _nan_to_zero(query, keys, values, bandwidth):
    kernel = np.exp(-_squares(query, keys) / (2 * bandwidth**2))
    return np.nan_to_num(kernel / kernel.sum()) @ values


def _neighbourhoods(rng: np.random.Generator) -> list[Call]:
    bandwidths = iter((0.7, 1.6, 0.5, 1.3, 2.0))
    sizes = ((4, 2, 1), (3, 2, 2), (5, 3, 2), (3, 4, 5), (6, 1, 2))
    return [
        Call((*_dictionary(rng, n, d, d_v), next(bandwidths)))
        for n, d, d_v in sizes  # all different but for the second
    ]


def _far_away(rng: np.random.Generator) -> list[Call]:
    query, keys, values = _dictionary(rng, n=3, d=2, d_v=1)
    return [
        Call((np.array([60.0, 0.0]), keys, values, 1.0)),
        Call((query, keys, values, 0.01)),
        Call((np.array([1e4, -1e4]), keys, values, 1.0)),
    ]


def _on_a_key(rng: np.random.Generator) -> list[Call]:
    _, keys, values = _dictionary(rng, n=4, d=2, d_v=1)
    return [Call((keys[1].copy(), keys, values, h)) for h in (0.05, 0.6, 1e3)]


KERNEL_REGRESSION = Exercise(
    id="kernel_regression",
    number="3.3",
    chapter=CHAPTER,
    signature="kernel_regression(query, keys, values, bandwidth)",
    summary="average the values, near keys counting more",
    difficulty=2,
    minutes=10,
    points=2,
    solution=kernel_regression,
    returns=("output",),
    read="Kernel regression: near counts more",
    hints=(
        "It is a soft look-up with another score. Which line of `soft_lookup` has to change?",
        "`keys - query` subtracts the query from each row. Square, and add up along the last axis: "
        "that gives the `n` squared distances. The nearest key must get the *largest* score.",
        "The scores are `-squared_distances / (2 * bandwidth**2)`; then `softmax`, then "
        "`weights @ values`. Softmax also takes care of queries far from every key.",
    ),
    probes=(
        Probe(
            "values",
            "each value is weighted by exp(−distance² / (2·bandwidth²)), and the weights sum to one",
            _neighbourhoods,
            cause="Scores are −distance² / (2·bandwidth²); the rest is as in `soft_lookup`.",
        ),
        Probe(
            "on a key",
            "a query that equals a key gets its value at a small bandwidth, the mean at a huge one",
            _on_a_key,
        ),
        Probe(
            "far away",
            "far from every key, or with a tiny bandwidth, the answer is still finite",
            _far_away,
            cause="All the exponentials round to 0 there, and 0 divided by 0 is NaN. Softmax "
            "subtracts the largest score first.",
        ),
        Probe(
            "dtype",
            "float32 arrays give a float32 answer",
            lambda rng: [
                Call((*(a.astype(np.float32) for a in _dictionary(rng, n=4, d=2, d_v=1)), 0.8))
            ],
        ),
    ),
    mistakes=(
        Mistake(
            "dot products instead of distances",
            _dot_products,
            "The scores are dot products. They agree with distances only if all keys have the same "
            "length; here they have not.",
            "Use the squared distance between the query and each key, with a minus sign. (The section "
            "“Kernel regression turns into attention” says when the two agree.)",
        ),
        Mistake(
            "factor two missing",
            _no_two,
            "You divide by bandwidth², not by 2·bandwidth².",
            "Write `2 * bandwidth**2`.",
        ),
        Mistake(
            "bandwidth not squared",
            _bandwidth_not_squared,
            "You divide by 2·bandwidth; the bandwidth has to be squared, as the distance is.",
            "Write `2 * bandwidth**2`.",
        ),
        Mistake(
            "distance not squared",
            _distance_not_squared,
            "The distance itself stands in the exponent; it should be its square.",
            "Leave the square root (or `norm`) out, or square the norm.",
        ),
        Mistake(
            "brackets missing below the line",
            _precedence,
            "`/ 2 * bandwidth**2` divides by 2 and then *multiplies* by bandwidth².",
            "Put brackets round it: `/ (2 * bandwidth**2)`.",
        ),
        Mistake(
            "minus sign missing",
            _farthest_first,
            "The farthest key gets the largest weight: a minus sign is missing.",
            "The score is *minus* the squared distance.",
        ),
        Mistake(
            "zero divided by zero far away",
            _zero_by_zero,
            "Far from all keys every exponential rounds to 0, and 0 divided by 0 is NaN.",
            "Use `softmax`, which subtracts the largest score first.",
        ),
        Mistake(
            "constant added to the sum",
            _with_epsilon,
            "A constant is added below the line. The weights sum to less than one, and far from all "
            "keys the answer becomes 0.",
            "Use `softmax`: then no constant is needed.",
        ),
        Mistake(
            "kernel not normalised",
            _kernel_not_normalised,
            "The values are multiplied by the exponentials, which do not sum to one.",
            "Divide by their sum, or use `softmax`.",
        ),
        Mistake(
            "divided by the number of entries",
            _kernel_mean,
            "You divide by how many entries there are, not by the sum of the exponentials.",
            "Use `softmax` of the scores.",
        ),
        Mistake(
            "nearest entry only",
            _nearest_only,
            "You return the value of the nearest key alone; all others should have a share too.",
            "Use the softmax of the scores in place of `argmin`.",
        ),
        Mistake(
            "keys mixed instead of values",
            _kernel_mixes_keys,
            "The weights are right, but they mix the keys.",
            "Multiply the weights with `values`.",
            "The trap: mixing the keys",
        ),
        Mistake(
            "mean of the squares",
            _mean_of_squares,
            "You take the mean of the squared differences; a squared distance is their sum.",
            "Use `.sum(axis=-1)`.",
        ),
        Mistake(
            "two squared as well",
            _two_squared,
            "`(2 * bandwidth) ** 2` squares the 2 too, and you divide by 4·bandwidth².",
            "Write `2 * bandwidth**2`.",
        ),
        Mistake(
            "exponential taken twice",
            _exponential_twice,
            "You take `exp` of the scores, and then `softmax` takes it once more.",
            "Hand the scores themselves to `softmax`.",
        ),
        Mistake(
            "not-a-number turned into zero",
            _nan_to_zero,
            "Far from all keys every weight becomes 0 and so does the answer, wherever the values lie. "
            "That hides the NaN and does not answer.",
            "Use `softmax`: its weights sum to one however far away the query is.",
        ),
        Mistake(
            "summed before squaring",
            _summed_before_squaring,
            "You add up the differences and square the sum; then differences of opposite sign cancel.",
            "Square first, then sum: `((keys - query) ** 2).sum(axis=-1)`.",
        ),
    ),
)


# --- 3.4 leave_one_out_error ------------------------------------------------------------------


def leave_one_out_error(keys, values, bandwidth):
    """Mean squared error when each entry is predicted by kernel regression from all the others.

    keys (n, d) · values (n, d_v), n at least 2 · bandwidth > 0 -> a number, the mean over all
    n * d_v squared differences.
    """
    squared_errors = []
    for i in range(len(keys)):
        others = np.arange(len(keys)) != i  # (n,) True for everyone but i
        predicted = kernel_regression(keys[i], keys[others], values[others], bandwidth)  # (d_v,)
        squared_errors.append((predicted - values[i]) ** 2)  # (d_v,)
    return float(np.mean(squared_errors))


def _left_out(keys, values, bandwidth):
    """Predictions of every entry from all the others."""
    scores = -((keys[:, None] - keys) ** 2).sum(-1) / (2 * bandwidth**2)  # (n, n)
    np.fill_diagonal(scores, -np.inf)
    return softmax(scores) @ values  # (n, d_v)


def _with_itself(keys, values, bandwidth):
    scores = -((keys[:, None] - keys) ** 2).sum(-1) / (2 * bandwidth**2)
    return float(((softmax(scores) @ values - values) ** 2).mean())


def _zeroed(keys, values, bandwidth):
    weights = softmax(-((keys[:, None] - keys) ** 2).sum(-1) / (2 * bandwidth**2))
    np.fill_diagonal(weights, 0)
    return float(((weights @ values - values) ** 2).mean())


def _total(keys, values, bandwidth):
    return float(((_left_out(keys, values, bandwidth) - values) ** 2).sum())


def _summed_per_entry(keys, values, bandwidth):
    return float(((_left_out(keys, values, bandwidth) - values) ** 2).sum(-1).mean())


def _root(keys, values, bandwidth):
    return float(np.sqrt(((_left_out(keys, values, bandwidth) - values) ** 2).mean()))


def _absolute(keys, values, bandwidth):
    return float(np.abs(_left_out(keys, values, bandwidth) - values).mean())


def _not_squared(keys, values, bandwidth):
    return float((_left_out(keys, values, bandwidth) - values).mean())


def _last_only(keys, values, bandwidth):
    return float(((_left_out(keys, values, bandwidth)[-1] - values[-1]) ** 2).mean())


def _first_only(keys, values, bandwidth):
    return float(((_left_out(keys, values, bandwidth)[0] - values[0]) ** 2).mean())


def _one_too_few(keys, values, bandwidth):
    return float(((_left_out(keys, values, bandwidth) - values)[:-1] ** 2).mean())


def _plain_mean_of_others(keys, values, bandwidth):
    n = len(values)
    return float((((values.sum(0) - values) / (n - 1) - values) ** 2).mean())


def _nearest_other(keys, values, bandwidth):
    return _with_soft(keys, values, 1e-6)


def _with_soft(keys, values, bandwidth):
    return float(((_left_out(keys, values, bandwidth) - values) ** 2).mean())


def _temperature_as_bandwidth(keys, values, bandwidth):
    return _with_soft(keys, values, bandwidth**0.5)


def _by_dot_product(keys, values, bandwidth):
    scores = keys @ keys.T / bandwidth**2
    np.fill_diagonal(scores, -np.inf)
    return float(((softmax(scores) @ values - values) ** 2).mean())


def _twins_left_out(keys, values, bandwidth):
    scores = -((keys[:, None] - keys) ** 2).sum(-1)  # (n, n)
    scores = np.where(scores == 0, -np.inf, scores / (2 * bandwidth**2))
    return float(((softmax(scores) @ values - values) ** 2).mean())


def _large_instead_of_infinite(keys, values, bandwidth):
    scores = -((keys[:, None] - keys) ** 2).sum(-1) / (2 * bandwidth**2)
    np.fill_diagonal(scores, -1e9)
    return float(((softmax(scores) @ values - values) ** 2).mean())


def _row_of_zeros(keys, values, bandwidth):
    errors = []
    for i in range(len(keys)):
        kept = np.arange(len(keys))[:, None] != i
        predicted = kernel_regression(keys[i], keys * kept, values * kept, bandwidth)
        errors.append((predicted - values[i]) ** 2)
    return float(np.mean(errors))


def _only_those_before(keys, values, bandwidth):
    errors = [
        (kernel_regression(keys[i], keys[:i], values[:i], bandwidth) - values[i]) ** 2
        for i in range(1, len(keys))
    ]
    return float(np.mean(errors))


def _mean_before_the_square(keys, values, bandwidth):
    return float((_left_out(keys, values, bandwidth) - values).mean() ** 2)


def _notebooks(rng: np.random.Generator) -> list[Call]:
    calls = []
    for (n, d, d_v), bandwidth in (
        ((4, 2, 1), 0.8),
        ((3, 2, 3), 1.4),
        ((5, 3, 2), 0.6),
        ((7, 1, 2), 0.4),
    ):
        _, keys, values = _dictionary(rng, n, d, d_v)
        calls.append(Call((keys, values, bandwidth)))
    return calls


def _tiny_and_huge(rng: np.random.Generator) -> list[Call]:
    _, keys, values = _dictionary(rng, n=4, d=2, d_v=1)
    pair = _dictionary(rng, n=2, d=3, d_v=1)[1:]
    return [Call((keys, values, h)) for h in (0.01, 1e3, 1e-6)] + [Call((*pair, 0.5))]


def _twins(rng: np.random.Generator) -> list[Call]:
    keys = np.array([[0.0, 1.0], [0.5, -1.0], [0.0, 1.0], [2.0, 0.0]])  # the first and the third
    return [Call((keys, rng.normal(0, 2, size=(4, 1)), h)) for h in (0.9, 0.4)]


LEAVE_ONE_OUT_ERROR = Exercise(
    id="leave_one_out_error",
    number="3.4",
    chapter=CHAPTER,
    signature="leave_one_out_error(keys, values, bandwidth)",
    summary="predict each entry from all the others, and average the squared errors",
    difficulty=3,
    minutes=15,
    points=2,
    solution=leave_one_out_error,
    returns=("error",),
    read="The wrong way first: an entry that asks itself",
    hints=(
        "For entry `i`, make a smaller notebook without it, ask that notebook about `keys[i]`, and "
        "compare the answer with `values[i]`. Then do so for every `i`.",
        "`others = np.arange(len(keys)) != i` is True everywhere but at `i`; `keys[others]` and "
        "`values[others]` are the notebook without entry `i`. `np.delete(keys, i, axis=0)` does the "
        "same.",
        "Collect `(kernel_regression(keys[i], keys[others], values[others], bandwidth) - values[i]) "
        "** 2` for every `i`, and return `np.mean` of all of it.",
    ),
    probes=(
        Probe(
            "values",
            "the result is the mean of all squared errors, each entry predicted without itself",
            _notebooks,
            cause="Entry i must have no part in its own prediction, as if it had never been stored.",
        ),
        Probe(
            "tiny and huge bandwidths",
            "a tiny bandwidth leaves the nearest other entry, a huge one the mean of the others",
            _tiny_and_huge,
            cause="The prediction must stay finite: use `kernel_regression` or `softmax`.",
        ),
        Probe(
            "equal keys",
            "of two entries with the same key only the one asked about is left out",
            _twins,
            cause="Leave out row i, and no other row, even if its key is the same.",
        ),
    ),
    mistakes=(
        Mistake(
            "the entry is not left out",
            _with_itself,
            "Entry i takes part in its own prediction. At distance 0 it is its own nearest "
            "neighbour, so a tiny bandwidth always seems perfect. A score of 0 in its place changes "
            "nothing: 0 is the score it has already.",
            "Ask `keys[others]` and `values[others]`, without row i.",
        ),
        Mistake(
            "own weight set to zero without sharing it out",
            _zeroed,
            "The weight of entry i is set to 0 (or its value is) after the softmax, and the other "
            "weights no longer sum to one.",
            "Take the row out before the softmax, or set its score to −∞.",
        ),
        Mistake(
            "all entries with the same key left out",
            _twins_left_out,
            "You leave out every entry at distance 0. Two days may have the same wind: the other one is "
            "still in the notebook.",
            "Leave out by the number of the row, `np.arange(len(keys)) != i`, not by the key.",
        ),
        Mistake(
            "large negative score in place of −∞",
            _large_instead_of_infinite,
            "The entry's own score is a large negative number. With a tiny bandwidth the others' scores "
            "are lower still, and the entry hears itself again.",
            "Take row i out, or set its score to `-np.inf`.",
        ),
        Mistake(
            "row of zeros left in",
            _row_of_zeros,
            "Row i is set to zero but stays in the notebook: a key of zeros with a value of zeros, "
            "which gets a weight as any other.",
            "Take the row out: `keys[others]`, or `np.delete(keys, i, axis=0)`.",
        ),
        Mistake(
            "only the entries before it",
            _only_those_before,
            "Entry i is predicted from the entries before it; those after it belong to the others too.",
            "Use all rows but row i.",
        ),
        Mistake(
            "mean before the square",
            _mean_before_the_square,
            "You take the mean of the differences and square it: errors above and below cancel.",
            "Square each difference first, then take the mean.",
        ),
        Mistake(
            "sum instead of mean",
            _total,
            "The squared errors are added up; their mean was asked for.",
            "Use `np.mean`.",
        ),
        Mistake(
            "summed over the numbers of a value",
            _summed_per_entry,
            "Within an entry you add the squared errors up, so the result grows with the number of "
            "columns of `values`.",
            "Take one mean over all `n * d_v` squared differences.",
        ),
        Mistake(
            "root of the mean",
            _root,
            "You return the root of the mean squared error.",
            "Leave the square root out.",
        ),
        Mistake(
            "absolute error",
            _absolute,
            "The errors are taken without their signs but not squared.",
            "Square the differences.",
        ),
        Mistake(
            "differences not squared",
            _not_squared,
            "Errors above and below cancel: the differences are not squared.",
            "Square each difference before the mean.",
        ),
        Mistake(
            "only the last entry counts",
            _last_only,
            "Only the error of the last entry is returned: each round of the loop replaces the one "
            "before.",
            "Collect the errors in a list and average them after the loop.",
        ),
        Mistake(
            "only the first entry counts",
            _first_only,
            "Only the error of the first entry is returned: does `return` stand inside the loop?",
            "Move `return` out of the loop.",
        ),
        Mistake(
            "the last entry is never asked",
            _one_too_few,
            "The loop ends one entry too early.",
            "Use `range(len(keys))`.",
        ),
        Mistake(
            "plain mean of the others",
            _plain_mean_of_others,
            "Each entry is predicted by the plain mean of the others, whatever the bandwidth is.",
            "Use `kernel_regression` with the bandwidth.",
        ),
        Mistake(
            "nearest other entry",
            _nearest_other,
            "Each entry is predicted by its nearest neighbour alone, whatever the bandwidth is.",
            "Use `kernel_regression` with the bandwidth.",
        ),
        Mistake(
            "bandwidth not squared",
            _temperature_as_bandwidth,
            "The squared distances are divided by 2·bandwidth in place of 2·bandwidth².",
            "Use `kernel_regression`, which squares it.",
        ),
        Mistake(
            "dot products instead of distances",
            _by_dot_product,
            "The predictions come from dot products; this exercise is about kernel regression.",
            "Use `kernel_regression`.",
        ),
    ),
)

EXERCISES = (SOFT_LOOKUP, RESTORE_PAIRS, KERNEL_REGRESSION, LEAVE_ONE_OUT_ERROR)
