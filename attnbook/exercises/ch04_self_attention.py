"""Chapter 4: self_attention_loop, self_attention, undo_shuffle, copy_previous."""

from __future__ import annotations

import numpy as np

from attnbook.exercises.exercise import Call, Exercise, Finding, Mistake, Probe, Result
from attnbook.numpy_attention import cosine_scores, self_attention, softmax

CHAPTER = "04-self-attention"


# --- wrong turns that the loop and the matrix form share ---------------------------------------


def _columns(x):
    return softmax(x @ x.T, axis=0) @ x


def _dimensions_compared(x):
    return x @ softmax(x.T @ x)


def _no_softmax(x):
    return x @ x.T @ x


def _softmax_last(x):
    return softmax(x @ x.T @ x)


def _weights_returned(x):
    return softmax(x @ x.T)


def _scores_returned(x):
    return x @ x.T


def _scaled(x):
    return softmax(x @ x.T / x.shape[-1] ** 0.5) @ x


def _mean_products(x):
    return softmax(x @ x.T / x.shape[-1]) @ x


def _joint(x):
    scores = x @ x.T
    return softmax(scores.ravel()).reshape(scores.shape) @ x


def _arg_max(x):
    return x[np.argmax(x @ x.T, axis=-1)]


def _divided_by_their_sum(x):
    scores = x @ x.T
    return scores / scores.sum(axis=-1, keepdims=True) @ x


def _not_normalised(x):
    return np.exp(x @ x.T) @ x


def _naive(x):
    exponentials = np.exp(x @ x.T)
    return exponentials / exponentials.sum(axis=-1, keepdims=True) @ x


def _itself_left_out(x):
    itself = np.eye(len(x), dtype=bool) & (len(x) > 1)
    return softmax(np.where(itself, -np.inf, x @ x.T)) @ x


def _looks_elsewhere(call: Call, result: Result) -> bool:
    """Also with an error or a NaN for one token alone, who then has nobody to look at."""
    x = call.args[0]
    if len(x) == 1:
        return True
    want = _itself_left_out(x)
    return np.shape(result.value) == want.shape and np.allclose(result.value, want, 1e-2, 1e-2)


def _only_earlier(x):
    return np.stack([softmax(x[: i + 1] @ x[i]) @ x[: i + 1] for i in range(len(x))])


def _cosines(x):
    return softmax(cosine_scores(x, x)) @ x


def _as_by_cosines(call: Call, result: Result) -> bool:
    """Also where a token of zeros gives NaN: its cosine is 0 divided by 0."""
    x = call.args[0]
    want = _cosines(x)
    if not np.any(x, axis=-1).all() and np.isnan(result.value).any():
        return True
    return np.shape(result.value) == want.shape and np.allclose(result.value, want, 1e-2, 1e-2)


def _mean_of_outputs(x):
    return self_attention(x).mean(axis=0)


def _first_only(x):
    return self_attention(x)[0]


def _last_only(x):
    return self_attention(x)[-1]


def _input_added(x):
    return x + self_attention(x)


def _elementwise(x):
    return softmax(x * x) * x


def _not_added_up(x):
    return np.stack([(softmax(token * x) * x).sum(axis=0) for token in x])


def _dimension_alone(x):
    return np.stack([(softmax(token * x, axis=0) * x).sum(axis=0) for token in x])


def _softmax_first(x):
    return softmax(x) @ softmax(x).T @ x


def _plain_mean(x):
    return np.ones_like(x) * x.mean(axis=0)


def _twice(x):
    return softmax(softmax(x @ x.T)) @ x


def _negated(x):
    return softmax(-x @ x.T) @ x


def _one_query(x):
    return np.ones_like(x) * (softmax(x @ x[0]) @ x)


def _unchanged(x):
    return x.copy()


SHARED = (
    Mistake(
        "columns sum to one",
        _columns,
        "The weights are normalised down the columns, or turned with `.T`. Both come to the same, "
        "since the scores are symmetric: the words asked share out their weight, not the word that "
        "asks.",
        "Each row belongs to the word that asks, and sums to one: softmax along the last axis.",
        "The trap: a symmetric table hides its sides",
    ),
    Mistake(
        "dimensions compared instead of tokens",
        _dimensions_compared,
        "`x.T @ x` compares the columns of `x`, its dimensions, with each other. The tokens are the "
        "rows.",
        "`x @ x.T` has the shape (n, n): every token with every token.",
        "All tokens at once",
    ),
    Mistake(
        "no softmax",
        _no_softmax,
        "The raw scores are used as weights: they do not sum to one, and may be negative.",
        "Send each row of scores through `softmax` before you mix.",
        "One word looks around",
    ),
    Mistake(
        "softmax after the mixing",
        _softmax_last,
        "The mixing comes before the softmax, so that the output itself is turned into weights.",
        "The order is score, weigh, mix: softmax acts on the scores.",
        "One word looks around",
    ),
    Mistake(
        "weights returned",
        _weights_returned,
        "You return the weights, (n, n). They still have to mix the vectors.",
        "Multiply the weights with the table `x`: the result is (n, d).",
        "One word looks around",
    ),
    Mistake(
        "scores returned",
        _scores_returned,
        "You return the scores, (n, n). Two steps are missing: weigh and mix.",
        "Softmax of each row, then weights times vectors.",
        "One word looks around",
    ),
    Mistake(
        "scores divided by the root of the width",
        _scaled,
        "You divide the scores by √d. Chapter 6 does so for a reason; here plain dot products are "
        "asked for.",
        "Leave out the division.",
        "One word looks around",
    ),
    Mistake(
        "scores divided by the width",
        _mean_products,
        "The scores are divided by d: a mean of the products in place of their sum.",
        "Leave out the division, or use a sum in place of a mean.",
        "One word looks around",
    ),
    Mistake(
        "joint softmax over the whole table",
        _joint,
        "The whole table of weights sums to one. Each *row* should.",
        "`softmax(scores)` works row by row; do not flatten the table or sum all of it.",
        "The trap: a symmetric table hides its sides",
    ),
    Mistake(
        "best match only",
        _arg_max,
        "Each token takes over the vector of its best match, all or nothing.",
        "Use softmax, which gives every token a share.",
        "One word looks around",
    ),
    Mistake(
        "divided by the sum, without exp",
        _divided_by_their_sum,
        "The scores are divided by their sum. Negative scores then give negative weights.",
        "Use `softmax`.",
        "One word looks around",
    ),
    Mistake(
        "not normalised",
        _not_normalised,
        "The exponentials are not divided by their sum, so the weights of a row sum to more than one.",
        "Use `softmax`, which divides.",
        "One word looks around",
    ),
    Mistake(
        "softmax of your own overflows",
        _naive,
        "For long vectors `exp` of the scores becomes infinite, and infinity divided by infinity is "
        "not a number.",
        "Use the `softmax` of chapter 2, which subtracts the largest score of each row first.",
        "One word looks around",
    ),
    Mistake(
        "the token itself left out",
        _itself_left_out,
        "Each token looks at all others and not at itself.",
        "A token is one of the tokens of its sentence: leave the diagonal in.",
        "One word looks around",
        symptom=_looks_elsewhere,
    ),
    Mistake(
        "only tokens up to itself",
        _only_earlier,
        "Each token sees only itself and those before it. That is a causal mask, and comes in "
        "chapter 7.",
        "Let every token look at all n tokens.",
        "One word looks around",
    ),
    Mistake(
        "cosine instead of dot product",
        _cosines,
        "The scores are cosines: the lengths of the vectors were divided out.",
        "Use plain dot products.",
        "One word looks around",
        symptom=_as_by_cosines,
    ),
    Mistake(
        "mean over the tokens",
        _mean_of_outputs,
        "One vector comes back, the mean of all outputs. Every token keeps an output of its own.",
        "Leave out the mean: the result is (n, d).",
        "One token after another",
    ),
    Mistake(
        "first token only",
        _first_only,
        "Only the first token's output comes back. Most often a `return` stands inside the loop.",
        "Collect all n outputs and return them after the loop.",
        "One token after another",
    ),
    Mistake(
        "last token only",
        _last_only,
        "Only the last token's output comes back: the others were overwritten.",
        "Keep a table with a row for each token.",
        "One token after another",
    ),
    Mistake(
        "input added to the output",
        _input_added,
        "The output has the input added to it. A transformer does so around its attention (chapter "
        "13); here the mixture alone is asked for.",
        "Return the mixture, without `x +`.",
        "One word looks around",
    ),
    Mistake(
        "multiplied number by number",
        _elementwise,
        "`*` multiplies number by number: no token meets another one.",
        "Use `@`, or a sum of products over the dimensions.",
        "One word looks around",
    ),
    Mistake(
        "products not added up",
        _not_added_up,
        "The products of two tokens are not added up, so each pair has d scores in place of one.",
        "Use `@` for the score: it multiplies and adds up.",
        "One word looks around",
    ),
    Mistake(
        "each dimension looks around alone",
        _dimension_alone,
        "Each dimension has scores and weights of its own: the products of two tokens are not added "
        "up.",
        "Use `@` for the score: one number for each pair of tokens.",
        "One word looks around",
    ),
    Mistake(
        "softmax on the vectors",
        _softmax_first,
        "The vectors went through softmax, and the scores did not.",
        "Score with the vectors as they are, and send the scores through softmax.",
        "One word looks around",
    ),
    Mistake(
        "all tokens weigh the same",
        _plain_mean,
        "Every output is the plain mean of the sentence: the weights do not depend on the scores. If "
        "softmax got one score at a time, it could only answer 1.",
        "Give softmax all n scores of a token at once.",
        "One word looks around",
    ),
    Mistake(
        "softmax applied twice",
        _twice,
        "Softmax is applied to weights that came out of a softmax already; they are squeezed towards "
        "equal shares.",
        "Apply it once, to the scores.",
        "One word looks around",
    ),
    Mistake(
        "sign of the scores flipped",
        _negated,
        "The tokens that fit worst get the largest weights: a minus sign is too many.",
        "Leave the scores as they are.",
        "One word looks around",
    ),
    Mistake(
        "one query for all tokens",
        _one_query,
        "All rows are alike: the first token's question is asked every time.",
        "Each token asks with its own vector: `x[i]` for row i.",
        "One token after another",
    ),
    Mistake(
        "each token gets itself back",
        _unchanged,
        "What comes back is `x` itself. Weights that sum to one, times the token's *own* vector each "
        "time, add up to that vector again.",
        "Mix the vectors looked *at*: weight j belongs to `x[j]`.",
        "One word looks around",
    ),
)


def _tables(rng: np.random.Generator) -> list[Call]:
    """Whole numbers first; n and d are never equal."""
    return [
        Call((np.array([[1.0, 0.0], [0.0, 2.0], [1.0, -1.0]]),)),
        Call((rng.normal(size=(2, 3)),)),
        Call((rng.normal(size=(5, 4)),)),
        Call((0.5 * rng.normal(size=(4, 7)),)),
    ]


def _edges(rng: np.random.Generator) -> list[Call]:
    row = rng.normal(size=3)
    return [
        Call((rng.normal(size=(1, 3)),)),
        Call((rng.normal(size=(4, 1)),)),
        Call((np.stack([row, rng.normal(size=3), row]),)),
        Call((np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 0.0]]),)),
    ]


def _squares(rng: np.random.Generator) -> list[Call]:
    return [Call((rng.normal(size=(3, 3)),)), Call((rng.normal(size=(4, 4)),))]


def _long_vectors(rng: np.random.Generator) -> list[Call]:
    return [
        Call((np.array([[30.0, 0.0], [29.9, 1.0], [-30.0, 5.0]]),)),
        Call((rng.normal(0, 40, size=(4, 3)),)),
    ]


def _kinds(rng: np.random.Generator) -> list[Call]:
    """Whole numbers in float16: their scores are exact, in whatever order they are added up."""
    whole = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, -1.0]], np.float16)
    return [Call((rng.normal(size=(3, 2)).astype(np.float32),)), Call((whole,))]


def _probes(read: str) -> tuple[Probe, ...]:
    return (
        Probe(
            "values",
            "row i is the mixture of all tokens, weighted by how well each fits token i",
            _tables,
            cause="Score with dot products, turn the n scores of each token into weights, mix the "
            "vectors.",
            read=read,
        ),
        Probe(
            "square tables",
            "the same, with as many tokens as dimensions",
            _squares,
            cause="When n equals d a wrong axis fits too. Which axis holds the tokens?",
            read="The trap: a symmetric table hides its sides",
        ),
        Probe(
            "edges",
            "one token alone, one dimension alone, equal tokens, a token of zeros",
            _edges,
            cause="A token alone keeps its vector; equal tokens get equal outputs; a token of zeros "
            "gets the mean.",
            read=read,
        ),
        Probe(
            "long vectors",
            "long vectors, with scores of more than 1000",
            _long_vectors,
            cause="`exp` overflows at about 710; the `softmax` of chapter 2 does not.",
            read="One word looks around",
        ),
        Probe(
            "dtype",
            "float32 stays float32, float16 stays float16",
            _kinds,
        ),
    )


# --- 4.1 self_attention_loop ------------------------------------------------------------------


def self_attention_loop(x):
    """Replace each token by a mixture of all tokens, one token after the other.

    x (n, d) -> (n, d)
    """
    output = np.zeros_like(x)  # a new table: x must stay as it is until the end
    for i in range(len(x)):  # token i asks
        scores = np.array([x[i] @ x[j] for j in range(len(x))])  # (n,)
        weights = softmax(scores)  # (n,) sum to one
        for j in range(len(x)):  # so much of each token
            output[i] += weights[j] * x[j]
    return output


def _overwritten(x):
    x = x.copy()
    for i in range(len(x)):
        x[i] = softmax(x @ x[i]) @ x
    return x


def _overwritten_in_place(x):
    for i in range(len(x)):
        x[i] = softmax(x @ x[i]) @ x
    return x


def _last_term_only(x):
    return softmax(x @ x.T)[:, -1:] * x[-1]


def _not_reset(x):
    return np.cumsum(self_attention(x), axis=0, dtype=x.dtype)


def _weight_of_the_asker(x):
    weights = softmax(x @ x.T)
    return np.ones_like(x) * x.sum(axis=0) * np.diag(weights)[:, None]


def _neighbours_only(x):
    out = np.zeros_like(x)
    for i in range(len(x)):
        near = x[max(0, i - 1) : i + 2]
        out[i] = softmax(near @ x[i]) @ near
    return out


SELF_ATTENTION_LOOP = Exercise(
    id="self_attention_loop",
    number="4.1",
    chapter=CHAPTER,
    signature="self_attention_loop(x)",
    summary="every token looks at all tokens, one after the other",
    difficulty=1,
    minutes=12,
    points=2,
    solution=self_attention_loop,
    returns=("output",),
    read="One token after another",
    hints=(
        "You have done it for *bank*: score, weigh, mix. What has to be repeated, and for whom? "
        "Where do the results go?",
        "Two loops: the outer one runs over the token that asks, the inner one over the tokens "
        "looked at. Start with `output = np.zeros_like(x)`, and let the inner loop collect n scores "
        "first. Only then is it time for `softmax`.",
        "For each i: `scores = np.array([x[i] @ x[j] for j in range(len(x))])`, then "
        "`weights = softmax(scores)`, then add `weights[j] * x[j]` to `output[i]` for every j.",
    ),
    probes=_probes("One token after another"),
    mistakes=(
        Mistake(
            "tokens overwritten on the way",
            _overwritten,
            "Each output replaces its token at once, so the tokens after it look at a mixture and not "
            "at the word.",
            "Write into a new table, `output = np.zeros_like(x)`, and leave `x` alone.",
            "One token after another",
        ),
        Mistake(
            "tokens overwritten in x itself",
            _overwritten_in_place,
            "Each output is written into `x` at once. The tokens after it look at a mixture, and the "
            "caller's table is spoilt.",
            "Write into a new table, `output = np.zeros_like(x)`, and leave `x` alone.",
            "One token after another",
        ),
        Mistake(
            "only the last term of the sum",
            _last_term_only,
            "Each output holds only the last token's share: a `=` stands where the shares should be "
            "added up.",
            "Use `output[i] += weights[j] * x[j]`.",
            "One word looks around",
        ),
        Mistake(
            "sum not started anew",
            _not_reset,
            "Each output contains the outputs before it: the sum is not started again at zero for the "
            "next token.",
            "Set the sum to zero inside the outer loop, or add into `output[i]`.",
            "One token after another",
        ),
        Mistake(
            "weight of the token that asks",
            _weight_of_the_asker,
            "All vectors are multiplied by the same weight, that of the token that asks.",
            "Weight j belongs to token j: `weights[j] * x[j]`.",
            "One word looks around",
        ),
        Mistake(
            "neighbours only",
            _neighbours_only,
            "Each token looks at the tokens beside it only.",
            "Let the inner loop run over all n tokens.",
            "One word looks around",
        ),
        *SHARED,
    ),
)


# --- 4.2 self_attention -----------------------------------------------------------------------


def _whole_numbers(x):
    return self_attention(x).astype(x.dtype)


def _integers(rng: np.random.Generator) -> list[Call]:
    return [
        Call((np.array([[1, 0], [0, 2], [1, -1]]),)),
        Call((rng.integers(-2, 3, size=(4, 3)),)),
    ]


def _values_turned(x):
    return (softmax(x @ x.T) @ x).T


def _keys_reshaped(x):
    return softmax(x @ x.reshape(x.shape[1], x.shape[0])) @ x


def _scores_mixed(x):
    scores = x @ x.T
    return softmax(scores) @ scores


def _weights_mixed(x):
    weights = softmax(x @ x.T)
    return weights @ weights @ x


def _vectors_weighed(x):
    return softmax(x @ x.T) @ softmax(x)


SELF_ATTENTION = Exercise(
    id="self_attention",
    number="4.2",
    chapter=CHAPTER,
    signature="self_attention(x)",
    summary="every token looks at all tokens, all at once",
    difficulty=2,
    minutes=10,
    points=3,
    solution=self_attention,
    returns=("output",),
    read="All tokens at once",
    hints=(
        "Chapter 3 ended with many questions at once: `queries @ keys.T`, softmax, `@ values`. Who "
        "are the queries, the keys and the values now?",
        "Write the shapes under each other: (n, d) @ (?, ?) gives (n, n) scores; (n, n) weights @ "
        "(?, ?) gives (n, d).",
        "Three lines: `scores = x @ x.T`, then softmax along the last axis, so that each row sums to "
        "one, then the weights times `x`.",
    ),
    probes=(
        *_probes("All tokens at once"),
        Probe(
            "integers",
            "whole numbers give float64",
            _integers,
            cause="A table of whole numbers cannot hold a mixture.",
            read="All tokens at once",
        ),
    ),
    mistakes=(
        Mistake(
            "keys reshaped instead of transposed",
            _keys_reshaped,
            "`reshape` gives the right shape and cuts the tokens to pieces.",
            "Use `x.T`, which keeps every token whole, as a column.",
            "All tokens at once",
        ),
        Mistake(
            "result turned on its side",
            _values_turned,
            "The numbers are right, but tokens have become columns.",
            "The weights stand on the left: (n, n) @ (n, d).",
            "All tokens at once",
        ),
        Mistake(
            "scores mixed instead of vectors",
            _scores_mixed,
            "The weights mix the scores, so that the result is (n, n).",
            "The third factor is `x`: mix the tokens' vectors.",
            "All tokens at once",
        ),
        Mistake(
            "mixed twice",
            _weights_mixed,
            "The weights are applied two times.",
            "Multiply by the weights once.",
            "All tokens at once",
        ),
        Mistake(
            "vectors sent through softmax",
            _vectors_weighed,
            "The vectors themselves went through a softmax before they were mixed.",
            "Softmax is for the scores; what is mixed is `x` as it is.",
            "All tokens at once",
        ),
        Mistake(
            "cut to whole numbers",
            _whole_numbers,
            "The result was put into a table of whole numbers, and the decimals are lost.",
            "Let NumPy choose the type: `weights @ x` does.",
            "All tokens at once",
        ),
        *SHARED,
    ),
)


# --- 4.3 undo_shuffle -------------------------------------------------------------------------


def undo_shuffle(shuffled, order):
    """Bring the rows back to where they stood before `shuffled = original[order]`.

    shuffled (n, d) · order (n,), every number from 0 to n - 1 once -> (n, d)
    """
    original = np.empty_like(shuffled)
    original[order] = shuffled  # row i came from row order[i]: send it back there
    return original


def _shuffled_again(shuffled, order):
    return shuffled[order]


def _left_as_it_is(shuffled, order):
    return shuffled.copy()


def _rows_sorted(shuffled, order):
    return shuffled[np.argsort(shuffled[:, 0], kind="stable")]


def _columns_sorted(shuffled, order):
    return np.sort(shuffled, axis=0)


def _upside_down(shuffled, order):
    return shuffled[::-1].copy()


def _inverse_returned(shuffled, order):
    return np.argsort(order)


def _order_reversed(shuffled, order):
    return shuffled[order[::-1]]


def _written_over(shuffled, order):
    out = shuffled.copy()
    for i, place in enumerate(order):
        out[place] = out[i]
    return out


def _order_from_the_end(shuffled, order):
    return shuffled[-np.asarray(order)]


def _shuffle(rng, n, d, order=None) -> Call:
    order = rng.permutation(n) if order is None else np.array(order)
    while n > 2 and (order[order] == np.arange(n)).all():  # its own inverse: draw again
        order = rng.permutation(n)
    return Call((rng.normal(size=(n, d)), order))


def _orders(rng: np.random.Generator) -> list[Call]:
    return [
        Call((np.array([[3.0], [1.0], [2.0]]), np.array([2, 0, 1]))),
        _shuffle(rng, 4, 2, (1, 2, 3, 0)),
        _shuffle(rng, 5, 3),
        _shuffle(rng, 8, 4),
    ]


def _easy_orders(rng: np.random.Generator) -> list[Call]:
    return [
        Call((rng.normal(size=(3, 2)), np.array([1, 0, 2]))),
        Call((rng.normal(size=(4, 1)), np.arange(4))),
        Call((rng.normal(size=(1, 3)), np.array([0]))),
    ]


UNDO_SHUFFLE = Exercise(
    id="undo_shuffle",
    number="4.3",
    chapter=CHAPTER,
    signature="undo_shuffle(shuffled, order)",
    summary="bring shuffled rows back to where they stood",
    difficulty=2,
    minutes=8,
    points=2,
    solution=undo_shuffle,
    returns=("original",),
    read="Shuffle the words",
    hints=(
        "Say in words what `shuffled = original[order]` does to row 0: which row of the original is "
        "it? And where does it have to go back to?",
        "Row i of `shuffled` came from row `order[i]`. Make an empty table and write each row to "
        "where it came from. A loop is fine.",
        "`original[order[i]] = shuffled[i]` for every i. Without a loop: `original[order] = shuffled`, "
        "with `original = np.empty_like(shuffled)` made first.",
    ),
    probes=(
        Probe(
            "values",
            "`shuffled` was made as `original[order]`; the rows go back to where they stood",
            _orders,
            cause="Row i of `shuffled` belongs in row `order[i]` of the result.",
        ),
        Probe(
            "easy orders",
            "two rows swapped, nothing moved, one row alone",
            _easy_orders,
            cause="Row i of `shuffled` belongs in row `order[i]` of the result.",
        ),
        Probe(
            "dtype",
            "float32 stays float32",
            lambda rng: [Call((rng.normal(size=(3, 2)).astype(np.float32), np.array([1, 2, 0])))],
        ),
    ),
    mistakes=(
        Mistake(
            "shuffled once more",
            _shuffled_again,
            "`shuffled[order]` shuffles a second time. That undoes the first shuffle only where rows "
            "were swapped in pairs, which is why small examples let it pass.",
            "Turn it round: the order belongs on the *left* of the `=`, since it says where a row "
            "came from.",
        ),
        Mistake(
            "left as it is",
            _left_as_it_is,
            "The rows stand where they stood after the shuffle.",
            "Send row i of `shuffled` to row `order[i]` of a new table.",
        ),
        Mistake(
            "rows sorted by their numbers",
            _rows_sorted,
            "The rows are sorted by their own numbers, which need not have been in order before.",
            "The numbers in `order` say where each row came from; those in the rows do not.",
        ),
        Mistake(
            "every column sorted by itself",
            _columns_sorted,
            "Each column was sorted for itself, which tears the rows apart.",
            "Move whole rows, and by `order`.",
        ),
        Mistake(
            "turned upside down",
            _upside_down,
            "The rows are reversed, whatever the order was.",
            "Send row i of `shuffled` to row `order[i]` of a new table.",
        ),
        Mistake(
            "inverse order returned",
            _inverse_returned,
            "You return row numbers, the way back itself; the rows were asked for.",
            "Use these numbers as an index: `shuffled[…]`.",
        ),
        Mistake(
            "order read backwards",
            _order_reversed,
            "You read the order from its end. Reversing a list is something else than undoing what it "
            "does.",
            "Send row i of `shuffled` to row `order[i]` of a new table.",
        ),
        Mistake(
            "minus the order",
            _order_from_the_end,
            "A minus sign makes Python count from the end; it does not undo a shuffle.",
            "Send row i of `shuffled` to row `order[i]` of a new table.",
        ),
        Mistake(
            "rows written over before they were read",
            _written_over,
            "Rows are moved within one table, so some are overwritten before their turn has come.",
            "Read from `shuffled` and write into a second table.",
        ),
    ),
)


# --- 4.4 copy_previous ------------------------------------------------------------------------


def copy_previous(n):
    """Queries and keys that make every token look at the one before it, and at nothing else.

    n -> queries (n, n), keys (n, n); token 0 has no token before it and looks at itself.
    """
    keys = np.eye(n)  # key j has its 1 in place j: no two tokens offer the same
    previous = np.maximum(np.arange(n) - 1, 0)  # 0, 0, 1, 2, …
    queries = 100 * keys[previous]  # token i asks for key i - 1; 100 makes it sure
    return queries, keys


def _judge_copying(call: Call, value) -> Finding | None:
    n = call.args[0]
    queries, keys = (np.asarray(part, dtype=np.float64) for part in value)
    shapes = (("queries", str(queries.shape)), ("keys", str(keys.shape)))
    if queries.ndim != 2 or keys.ndim != 2:
        tested = "that both are tables, with two axes; the shapes are shown"
        return Finding("not tables", tested, shapes)
    if queries.shape[1] != keys.shape[1]:
        tested = "that both have the same number of columns; the shapes are shown"
        return Finding("shapes do not fit", tested, shapes)
    if len(queries) != n or len(keys) != n:
        tested = f"that both have {n} rows, one for each token; the shapes are shown"
        return Finding("not one row for each token", tested, shapes)
    scores = queries @ keys.T
    if not np.isfinite(scores).all():
        return Finding("scores not finite", "that all scores `queries @ keys.T` are finite numbers")
    weights = softmax(scores)
    x = np.random.default_rng(n).normal(size=(n, 3))
    errors = np.abs(weights @ x - x[np.arange(n) - 1]).max(axis=1)[1:]  # token 0 is not judged
    if errors.max() <= 1e-6:
        return None
    token = 1 + int(np.argmax(errors))
    tested = f"that token {token} is replaced by token {token - 1}, to within one millionth"
    shown = (
        (f"weights of token {token}", weights[token]),
        ("weight on other tokens than the previous one", float(1 - weights[token, token - 1])),
        ("largest difference", float(errors.max())),
    )
    return Finding(_wrong_look(weights), tested, shown)


def _wrong_look(weights: np.ndarray) -> str:
    """Whom do the tokens look at, if not at the one before?"""
    n = len(weights)
    asks = np.arange(1, n)
    best, largest = weights[1:].argmax(axis=1), weights[1:].max(axis=1)
    others = np.sort(weights[1:], axis=1)[:, -2] if n > 1 else largest
    if np.ptp(weights[1:], axis=1).max() < 1e-6:
        return "all tokens weigh the same"
    if (best == asks - 1).all() and (largest - others > 1e-9).all():
        return "not sure enough"
    if (weights[asks, asks - 1] >= largest - 1e-9).all():
        return "shared with another token"
    if (best == asks).all():
        return "copies itself"
    if n > 2 and (best[:-1] == asks[:-1] + 1).all() and (best == best[0]).sum() < n - 1:
        return "copies the next token"
    if n > 3 and (best[1:] == asks[1:] - 2).all():
        return "copies the token before the previous one"
    if (best[1:] == n - 1).all() or (best == n - 1).all():
        return "always the last token"
    if (best == 0).all():
        return "always the first token"
    if (best == n - 1 - asks).all() or (best == n - asks).all():
        return "counted from the end"
    return "another token wins"


def _copies_next(n):
    queries, keys = copy_previous(n)
    return keys, queries


def _copies_itself(n):
    return 100 * np.eye(n), np.eye(n)


def _not_sure_enough(n):
    queries, keys = copy_previous(n)
    return queries / 100, keys


def _nothing_asked(n):
    return np.zeros((n, 2)), np.ones((n, 2))


def _two_back(n):
    return 100 * np.roll(np.eye(n), 2, axis=0), np.eye(n)


def _numbers_as_keys(n):
    return 100.0 * np.arange(-1, n - 1)[:, None], np.arange(n)[:, None]


def _first_wins(n):
    return 100 * np.eye(n)[np.zeros(n, int)], np.eye(n)


def _all_earlier(n):
    return 100 * (np.tril(np.ones((n, n)), -1)), np.eye(n)


def _five_only(n):
    return copy_previous(5)


def _widths_differ(n):
    return 100 * np.eye(n)[:, : n - 1], np.eye(n)


def _single_numbers(n):
    return 100.0 * np.arange(-1, n - 1), np.arange(n)


def _infinite(n):
    queries, keys = copy_previous(n)
    return np.where(queries > 0, np.inf, 0), keys


def _from_the_end(n):
    return 100 * np.eye(n)[::-1], np.eye(n)


def _half_wrong(n):
    queries, keys = copy_previous(n)
    queries[n // 2 :] = 100 * keys[n // 2 :]
    return queries, keys


COPY_PREVIOUS = Exercise(
    id="copy_previous",
    number="4.4",
    chapter=CHAPTER,
    signature="copy_previous(n)",
    summary="queries and keys that make every token copy the one before it",
    difficulty=3,
    minutes=15,
    points=3,
    solution=copy_previous,
    returns=("queries", "keys"),
    read="Free the queries and keys",
    hints=(
        "Turn it round: which *scores* would do it? In row i, the score in column i − 1 must be far "
        "above all others. Queries and keys only have to produce such a table.",
        "Give every token a key that no other token has, for example a one-hot row (chapter 1). Token "
        "i then has to ask for exactly the key of token i − 1. How loudly must it ask?",
        "`keys = np.eye(n)`. Row i of the queries is row i − 1 of the keys, times a large number such "
        "as 100; row 0 is free. The rows of the keys can be moved down by one with an index or with "
        "`np.roll`.",
    ),
    probes=(
        Probe(
            "copying",
            "`softmax(queries @ keys.T) @ x` moves every row of a random `x` down by one",
            lambda rng: [Call((n,)) for n in (6, 2, 3, int(rng.integers(7, 12)), 60)],
            judge=_judge_copying,
        ),
    ),
    mistakes=(
        Mistake(
            "copies the next token",
            _copies_next,
            "Every token looks at the one *after* it: queries and keys are swapped, or the shift goes "
            "the wrong way.",
            "The query of token i has to fit the key of token i − 1. Shift the queries down, not the "
            "keys.",
        ),
        Mistake(
            "copies itself",
            _copies_itself,
            "Every token looks at itself: its query fits its own key.",
            "Let the query of token i be the key of token i − 1.",
        ),
        Mistake(
            "not sure enough",
            _not_sure_enough,
            "The previous token has the largest weight, but others still have a share.",
            "Make the gap between the best score and the others larger, at least about 20: multiply "
            "the queries.",
        ),
        Mistake(
            "all tokens weigh the same",
            _nothing_asked,
            "All scores of a token are equal, so it hears everybody equally.",
            "Give each token a key of its own, and a query that fits one key only.",
        ),
        Mistake(
            "copies the token before the previous one",
            _two_back,
            "Every token looks two places back: the shift was made twice, for instance in the queries "
            "and in the keys.",
            "Shift by one, and only one of the two tables.",
        ),
        Mistake(
            "always the last token",
            _numbers_as_keys,
            "The last token wins, whoever asks. If keys are plain numbers such as 0, 1, 2, …, then the "
            "largest number has the largest dot product with every positive query.",
            "Use keys that point in different directions, such as one-hot rows.",
        ),
        Mistake(
            "always the first token",
            _first_wins,
            "The first token wins, whoever asks.",
            "Row i of the queries has to differ from row to row: it asks for key i − 1.",
        ),
        Mistake(
            "shared with another token",
            _all_earlier,
            "The previous token has the best score, and so has another one: they share.",
            "One key must fit better than all others.",
        ),
        Mistake(
            "not one row for each token",
            _five_only,
            "The tables do not have n rows. Most often a number is fixed where `n` should stand, or "
            "tokens are columns.",
            "Build both from `n`: for example `np.eye(n)`.",
        ),
        Mistake(
            "not tables",
            _single_numbers,
            "Each of the two has a single axis. A query is a row of numbers, even if it is a row of "
            "one.",
            "Make both with shape (n, d); with one number for each token that is (n, 1).",
        ),
        Mistake(
            "shapes do not fit",
            _widths_differ,
            "A query and a key must have the same number of columns, or there is no dot product.",
            "Make both with shape (n, d), with the same d.",
        ),
        Mistake(
            "scores not finite",
            _infinite,
            "Infinity times zero is not a number, and an infinite score leaves no difference to "
            "compute.",
            "A large finite number is enough: 100 leaves e to the power of −100 for the others.",
        ),
        Mistake(
            "counted from the end",
            _from_the_end,
            "The tokens are counted from the end: the order is turned round, not moved by one.",
            "Row i of the queries is row i − 1 of the keys.",
        ),
        Mistake(
            "another token wins",
            _half_wrong,
            "In some rows another token than the previous one has the best score.",
            "Look at `queries @ keys.T` for n = 4: in row i the largest number belongs in column i − 1.",
        ),
    ),
)

EXERCISES = (SELF_ATTENTION_LOOP, SELF_ATTENTION, UNDO_SHUFFLE, COPY_PREVIOUS)
