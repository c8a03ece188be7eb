"""Chapter 5: project_qkv, single_head, split_product, head_parameters."""

from __future__ import annotations

import numpy as np

from attnbook.exercises.exercise import Call, Exercise, Finding, Mistake, Probe, Variant
from attnbook.numpy_attention import softmax

CHAPTER = "05-queries-keys-values"


# --- 5.1 project_qkv --------------------------------------------------------------------------


def project_qkv(x, w_q, w_k, w_v):
    """Give each token its question, its offer and what it hands over.

    x (n, d_model) · w_q, w_k (d_model, d_k) · w_v (d_model, d_v)
    Returns q (n, d_k), k (n, d_k), v (n, d_v).
    """
    q = x @ w_q  # (n, d_model) @ (d_model, d_k) -> (n, d_k)
    k = x @ w_k  # (n, d_k)
    v = x @ w_v  # (n, d_model) @ (d_model, d_v) -> (n, d_v)
    return q, k, v


def _matrices_turned(x, w_q, w_k, w_v):
    return x @ w_q.T, x @ w_k.T, x @ w_v.T


def _query_and_key_swapped(x, w_q, w_k, w_v):
    return x @ w_k, x @ w_q, x @ w_v


def _key_and_value_swapped(x, w_q, w_k, w_v):
    return x @ w_q, x @ w_v, x @ w_k


def _backwards(x, w_q, w_k, w_v):
    return x @ w_v, x @ w_k, x @ w_q


def _keys_values_queries(x, w_q, w_k, w_v):
    return x @ w_k, x @ w_v, x @ w_q


def _values_first(x, w_q, w_k, w_v):
    return x @ w_v, x @ w_q, x @ w_k


def _w_q_for_both(x, w_q, w_k, w_v):
    return x @ w_q, x @ w_q, x @ w_v


def _w_k_for_both(x, w_q, w_k, w_v):
    return x @ w_k, x @ w_k, x @ w_v


def _value_from_w_k(x, w_q, w_k, w_v):
    return x @ w_q, x @ w_k, x @ w_k


def _value_from_w_q(x, w_q, w_k, w_v):
    return x @ w_q, x @ w_k, x @ w_q


def _key_from_w_v(x, w_q, w_k, w_v):
    return x @ w_q, x @ w_v, x @ w_v


def _all_from_w_q(x, w_q, w_k, w_v):
    return x @ w_q, x @ w_q, x @ w_q


def _value_not_projected(x, w_q, w_k, w_v):
    return x @ w_q, x @ w_k, x.copy()


def _nothing_projected(x, w_q, w_k, w_v):
    return x.copy(), x.copy(), x.copy()


def _matrices_returned(x, w_q, w_k, w_v):
    return w_q.copy(), w_k.copy(), w_v.copy()


def _one_after_the_other(x, w_q, w_k, w_v):
    q = x @ w_q
    k = q @ w_k
    return q, k, k @ w_v


def _wrong_side(x, w_q, w_k, w_v):
    return w_q @ x, w_k @ x, w_v @ x


def _results_turned(x, w_q, w_k, w_v):
    return w_q.T @ x.T, w_k.T @ x.T, w_v.T @ x.T


def _keys_turned(x, w_q, w_k, w_v):
    return x @ w_q, (x @ w_k).T, x @ w_v


def _x_turned(x, w_q, w_k, w_v):
    return x.T @ w_q, x.T @ w_k, x.T @ w_v


def _query_scaled(x, w_q, w_k, w_v):
    return x @ w_q / w_q.shape[1] ** 0.5, x @ w_k, x @ w_v


def _both_scaled(x, w_q, w_k, w_v):
    root = w_q.shape[1] ** 0.25
    return x @ w_q / root, x @ w_k / root, x @ w_v


def _all_scaled(x, w_q, w_k, w_v):
    root = x.shape[1] ** 0.5
    return x @ w_q / root, x @ w_k / root, x @ w_v / root


def _one_added(x, w_q, w_k, w_v):
    return x @ w_q + 1, x @ w_k + 1, x @ w_v + 1


def _x_added(x, w_q, w_k, w_v):
    return x + x @ w_q, x + x @ w_k, x + x @ w_v


def _negatives_cut(x, w_q, w_k, w_v):
    return tuple(np.maximum(x @ w, 0) for w in (w_q, w_k, w_v))


def _first_token_only(x, w_q, w_k, w_v):
    return x[0] @ w_q, x[0] @ w_k, x[0] @ w_v


def _elementwise(x, w_q, w_k, w_v):
    return x * w_q, x * w_k, x * w_v


def _stacked(x, w_q, w_k, w_v):
    return np.stack([x @ w_q, x @ w_k, x @ w_v])


def _draw(rng, n, d_model, d_k, d_v, size=1.0) -> Call:
    """Tokens and three matrices; queries and keys come out about as large as the tokens."""
    spread = size / d_model**0.5
    return Call(
        (
            rng.normal(size=(n, d_model)),
            rng.normal(0, spread, size=(d_model, d_k)),
            rng.normal(0, spread, size=(d_model, d_k)),
            rng.normal(0, spread, size=(d_model, d_v)),
        )
    )


def _small_call() -> Call:
    return Call(
        (
            np.array([[1.0, 0.0, 2.0], [0.0, 1.0, -1.0]]),  # two tokens, three numbers each
            np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]),
            np.array([[0.0, 1.0], [3.0, 0.0], [-1.0, 2.0]]),
            np.array([[2.0], [1.0], [-2.0]]),
        )
    )


def _different_sizes(rng: np.random.Generator) -> list[Call]:
    return [_small_call(), _draw(rng, 5, 4, 3, 2), _draw(rng, 2, 6, 4, 5), _draw(rng, 7, 3, 5, 4)]


def _equal_sizes(rng: np.random.Generator) -> list[Call]:
    return [_draw(rng, 3, 3, 3, 3), _draw(rng, 2, 4, 4, 4), _draw(rng, 4, 5, 3, 3)]


def _edge_sizes(rng: np.random.Generator) -> list[Call]:
    return [_draw(rng, 1, 3, 2, 4), _draw(rng, 4, 3, 1, 2), _draw(rng, 4, 1, 3, 2)]


def _float_kinds(rng: np.random.Generator) -> list[Call]:
    wide = _draw(rng, 3, 4, 2, 5)
    return [
        Call(tuple(part.astype(kind) for part in wide.args)) for kind in (np.float32, np.float16)
    ]


PROJECT_QKV = Exercise(
    id="project_qkv",
    number="5.1",
    chapter=CHAPTER,
    signature="project_qkv(x, w_q, w_k, w_v)",
    summary="each token's question, its offer and what it hands over",
    difficulty=1,
    minutes=8,
    points=2,
    solution=project_qkv,
    returns=("q", "k", "v"),
    read="From words to vectors",
    hints=(
        "You have computed the query of *scales* by hand: so much of each feature, times the "
        "feature's row. What does that for all words at once?",
        "Write the shapes under each other: (n, d_model) @ (d_model, d_k) gives (n, d_k). Nothing has "
        "to be turned. Do it three times, each time with a matrix of its own.",
        "`q = x @ w_q`, and in the same way `k` and `v`. At the end `return q, k, v`.",
    ),
    probes=(
        Probe(
            "values",
            "`q`, `k` and `v` are `x` times its own matrix each, all sizes different",
            _different_sizes,
            cause="Each of the three is one matrix product, `x` on the left and a matrix on the right.",
        ),
        Probe(
            "square matrices",
            "the same where `d_k` or `d_v` equals `d_model`, or each other",
            _equal_sizes,
            cause="When sizes are equal, a wrong product or a wrong matrix fits too.",
            read="The trap: a square matrix fits both ways",
        ),
        Probe(
            "edges",
            "one token alone, one number per query, one number per token",
            _edge_sizes,
            cause="The results keep two axes, (n, d_k) or (n, d_v), even where one has length 1.",
        ),
        Probe("dtype", "float32 stays float32, float16 stays float16", _float_kinds),
    ),
    mistakes=(
        Mistake(
            "matrices turned",
            _matrices_turned,
            "The matrices are transposed, as in `x @ w_q.T`. In this book a matrix has the shape "
            "(d_model, d_k) and stands on the right as it is. With a square matrix the mistake raises "
            "no error.",
            "Leave out the `.T`.",
            "The trap: a square matrix fits both ways",
        ),
        Mistake(
            "query and key swapped",
            _query_and_key_swapped,
            "Queries and keys have changed places: you used `w_k` for the first result and `w_q` for "
            "the second.",
            "The order is q, k, v, each from the matrix of its name.",
            "Swap questions and offers",
        ),
        Mistake(
            "key and value swapped",
            _key_and_value_swapped,
            "Keys and values have changed places.",
            "The order is q, k, v, each from the matrix of its name.",
        ),
        Mistake(
            "returned backwards",
            _backwards,
            "The three results come in the order v, k, q.",
            "Return `q, k, v`.",
        ),
        Mistake(
            "queries returned last",
            _keys_values_queries,
            "The three results come in the order k, v, q.",
            "Return `q, k, v`.",
        ),
        Mistake(
            "values returned first",
            _values_first,
            "The three results come in the order v, q, k.",
            "Return `q, k, v`.",
        ),
        Mistake(
            "w_q for queries and keys",
            _w_q_for_both,
            "Queries and keys are the same: both were made with `w_q`. Then every relation is mutual "
            "again.",
            "Make the keys with `w_k`.",
            "One table in the middle",
        ),
        Mistake(
            "w_k for queries and keys",
            _w_k_for_both,
            "Queries and keys are the same: both were made with `w_k`. Then every relation is mutual "
            "again.",
            "Make the queries with `w_q`.",
            "One table in the middle",
        ),
        Mistake(
            "values from w_k",
            _value_from_w_k,
            "The values are a copy of the keys: they were made with `w_k`.",
            "Make the values with `w_v`.",
            "What is handed over",
        ),
        Mistake(
            "values from w_q",
            _value_from_w_q,
            "The values are a copy of the queries: they were made with `w_q`.",
            "Make the values with `w_v`.",
            "What is handed over",
        ),
        Mistake(
            "keys from w_v",
            _key_from_w_v,
            "The keys are a copy of the values: they were made with `w_v`.",
            "Make the keys with `w_k`.",
            "What is handed over",
        ),
        Mistake(
            "w_q for all three",
            _all_from_w_q,
            "All three results are the same: all were made with `w_q`.",
            "Three roles, three matrices.",
        ),
        Mistake(
            "values not projected",
            _value_not_projected,
            "The values are the tokens themselves; `w_v` was not used.",
            "`v` is `x @ w_v`.",
            "What is handed over",
        ),
        Mistake(
            "nothing projected",
            _nothing_projected,
            "All three results are `x` itself. That is chapter 4, where every token asks, offers and "
            "hands over the same.",
            "Multiply `x` by each of the three matrices.",
        ),
        Mistake(
            "matrices returned",
            _matrices_returned,
            "You return the matrices. They belong to nobody yet: every token has to be sent through "
            "them.",
            "Multiply `x` by each of the three matrices.",
        ),
        Mistake(
            "one projection after the other",
            _one_after_the_other,
            "The keys are made from the queries, and the values from the keys. All three are made "
            "from `x`, side by side.",
            "Start from `x` each time.",
        ),
        Mistake(
            "matrix on the wrong side",
            _wrong_side,
            "The matrix stands on the left. Tokens are rows here, so `x` stands on the left.",
            "Write `x @ w_q`.",
            "The trap: a square matrix fits both ways",
        ),
        Mistake(
            "results on their side",
            _results_turned,
            "The numbers are right and the tables lie on their side: a token should be a row.",
            "Write `x @ w_q`, which gives (n, d_k).",
            "The trap: a square matrix fits both ways",
        ),
        Mistake(
            "keys turned already",
            _keys_turned,
            "The keys are transposed. They will be, when the scores are made; here a key is a row.",
            "Return `x @ w_k`, of shape (n, d_k).",
            "From words to vectors",
        ),
        Mistake(
            "tokens turned",
            _x_turned,
            "`x.T` makes the tokens columns; here a token is a row.",
            "Leave out the `.T`.",
            "The trap: a square matrix fits both ways",
        ),
        Mistake(
            "queries scaled",
            _query_scaled,
            "The queries are divided by √d_k. Chapter 6 scales the scores for a reason; here plain "
            "products are asked for.",
            "Leave out the division.",
        ),
        Mistake(
            "queries and keys scaled",
            _both_scaled,
            "Queries and keys are both divided by the fourth root of d_k. Chapter 6 scales; here plain "
            "products are asked for.",
            "Leave out the division.",
        ),
        Mistake(
            "all divided by the root of the width",
            _all_scaled,
            "All three are divided by √d_model. Here plain products are asked for.",
            "Leave out the division.",
        ),
        Mistake(
            "a constant added",
            _one_added,
            "Every number is too large by one: something was added after the product.",
            "Return the products as they are.",
        ),
        Mistake(
            "tokens added",
            _x_added,
            "The token itself was added to its query, key and value. That fits only where the widths "
            "happen to be equal.",
            "Return the products as they are.",
        ),
        Mistake(
            "negative numbers cut off",
            _negatives_cut,
            "Negative numbers became 0. A negative number in a query means *not that*, and has to "
            "stay.",
            "Return the products as they are.",
        ),
        Mistake(
            "first token only",
            _first_token_only,
            "Only the first token has a query, a key and a value. Most often a `return` stands inside "
            "a loop.",
            "Project all n tokens: the results have n rows.",
        ),
        Mistake(
            "multiplied number by number",
            _elementwise,
            "`*` multiplies number by number and adds nothing up.",
            "Use `@`.",
        ),
        Mistake(
            "stacked into one array",
            _stacked,
            "The three results were put into one array, which works only where `d_v` equals `d_k`.",
            "Return three arrays: `return q, k, v`.",
            "What is handed over",
        ),
    ),
)


# --- 5.2 single_head --------------------------------------------------------------------------


def single_head(x, w_q, w_k, w_v):
    """Self-attention with three roles: every token asks, offers and hands over.

    x (n, d_model) · w_q, w_k (d_model, d_k) · w_v (d_model, d_v) -> (n, d_v)
    Scores are plain dot products of queries and keys; chapter 6 scales them.
    """
    q, k, v = project_qkv(x, w_q, w_k, w_v)  # (n, d_k), (n, d_k), (n, d_v)
    scores = q @ k.T  # (n, n), row = the token that asks, column = the token that offers
    weights = softmax(scores)  # (n, n), each row sums to one
    return weights @ v  # (n, n) @ (n, d_v) -> (n, d_v)


def _head(x, w_q, w_k, w_v, divide=1.0, axis=-1):
    return softmax(x @ w_q @ (x @ w_k).T / divide, axis=axis) @ (x @ w_v)


def _scaled(x, w_q, w_k, w_v):
    return _head(x, w_q, w_k, w_v, w_q.shape[1] ** 0.5)


def _scaled_by_width(x, w_q, w_k, w_v):
    return _head(x, w_q, w_k, w_v, w_q.shape[1])


def _scaled_by_model(x, w_q, w_k, w_v):
    return _head(x, w_q, w_k, w_v, x.shape[1] ** 0.5)


def _scaled_by_values(x, w_q, w_k, w_v):
    return _head(x, w_q, w_k, w_v, w_v.shape[1] ** 0.5)


def _scaled_by_tokens(x, w_q, w_k, w_v):
    return _head(x, w_q, w_k, w_v, len(x) ** 0.5)


def _columns(x, w_q, w_k, w_v):
    return _head(x, w_q, w_k, w_v, axis=0)


def _swapped(x, w_q, w_k, w_v):
    return _head(x, w_k, w_q, w_v)


def _no_softmax(x, w_q, w_k, w_v):
    return x @ w_q @ (x @ w_k).T @ (x @ w_v)


def _softmax_last(x, w_q, w_k, w_v):
    return softmax(_no_softmax(x, w_q, w_k, w_v))


def _keys_mixed(x, w_q, w_k, w_v):
    return _head(x, w_q, w_k, w_k)


def _queries_mixed(x, w_q, w_k, w_v):
    return _head(x, w_q, w_k, w_q)


def _tokens_mixed(x, w_q, w_k, w_v):
    return softmax(x @ w_q @ (x @ w_k).T) @ x


def _tokens_compared(x, w_q, w_k, w_v):
    return softmax(x @ x.T) @ (x @ w_v)


def _queries_with_queries(x, w_q, w_k, w_v):
    return _head(x, w_q, w_q, w_v)


def _keys_with_keys(x, w_q, w_k, w_v):
    return _head(x, w_k, w_k, w_v)


def _queries_with_values(x, w_q, w_k, w_v):
    return softmax(x @ w_q @ (x @ w_v).T) @ (x @ w_k)


def _weights_returned(x, w_q, w_k, w_v):
    return softmax(x @ w_q @ (x @ w_k).T)


def _scores_returned(x, w_q, w_k, w_v):
    return x @ w_q @ (x @ w_k).T


def _values_returned(x, w_q, w_k, w_v):
    return x @ w_v


def _weights_turned(x, w_q, w_k, w_v):
    return softmax(x @ w_q @ (x @ w_k).T).T @ (x @ w_v)


def _head_matrices_turned(x, w_q, w_k, w_v):
    return _head(x, w_q.T, w_k.T, w_v.T)


def _keys_not_turned(x, w_q, w_k, w_v):
    return softmax(x @ w_q @ (x @ w_k)) @ (x @ w_v)


def _dimensions_compared(x, w_q, w_k, w_v):
    return (x @ w_v) @ softmax((x @ w_q).T @ (x @ w_k))


def _joint(x, w_q, w_k, w_v):
    scores = x @ w_q @ (x @ w_k).T
    return softmax(scores.ravel()).reshape(scores.shape) @ (x @ w_v)


def _arg_max(x, w_q, w_k, w_v):
    return (x @ w_v)[np.argmax(x @ w_q @ (x @ w_k).T, axis=-1)]


def _overflows(x, w_q, w_k, w_v):
    exponentials = np.exp(x @ w_q @ (x @ w_k).T)
    return exponentials / exponentials.sum(axis=-1, keepdims=True) @ (x @ w_v)


def _one_maximum_for_all(x, w_q, w_k, w_v):
    scores = x @ w_q @ (x @ w_k).T
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum(axis=-1, keepdims=True) @ (x @ w_v)


def _softmax_twice(x, w_q, w_k, w_v):
    return softmax(softmax(x @ w_q @ (x @ w_k).T)) @ (x @ w_v)


def _negated(x, w_q, w_k, w_v):
    return _head(x, w_q, w_k, w_v, -1.0)


def _itself_left_out(x, w_q, w_k, w_v):
    scores = x @ w_q @ (x @ w_k).T
    if len(x) > 1:
        np.fill_diagonal(scores, -np.inf)
    return softmax(scores) @ (x @ w_v)


def _only_earlier(x, w_q, w_k, w_v):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    return np.stack([softmax(k[: i + 1] @ q[i]) @ v[: i + 1] for i in range(len(x))])


def _mean_of_outputs(x, w_q, w_k, w_v):
    return _head(x, w_q, w_k, w_v).mean(axis=0)


def _plain_mean(x, w_q, w_k, w_v):
    v = x @ w_v
    return np.ones_like(v) * v.mean(axis=0)


def _several_tokens(rng: np.random.Generator) -> list[Call]:
    draws = ((5, 4, 3, 2), (3, 6, 2, 5), (7, 3, 5, 4))
    return [_small_call(), *(_draw(rng, *sizes, size=1.4) for sizes in draws)]


def _head_equal_sizes(rng: np.random.Generator) -> list[Call]:
    sizes = ((3, 3, 3, 3), (4, 4, 4, 4), (5, 4, 3, 3), (4, 6, 4, 4))
    return [_draw(rng, *one, size=1.4) for one in sizes]


def _head_edges(rng: np.random.Generator) -> list[Call]:
    nothing_asked = _draw(rng, 4, 3, 2, 5)
    x, w_q, w_k, w_v = nothing_asked.args
    return [
        _draw(rng, 1, 3, 2, 4),
        _draw(rng, 4, 3, 1, 2),
        _draw(rng, 3, 5, 2, 1),
        Call((x, np.zeros_like(w_q), w_k, w_v)),
        Call((np.concatenate([x, x[:1]]), w_q, w_k, w_v)),
    ]


def _loud(rng: np.random.Generator) -> list[Call]:
    return [_draw(rng, 3, 4, 2, 5, size=60.0), _draw(rng, 5, 3, 4, 2, size=90.0)]


def _mild_kinds(rng: np.random.Generator) -> list[Call]:
    mild = _draw(rng, 3, 4, 2, 5, size=0.7)
    return [
        Call(tuple(part.astype(kind) for part in mild.args)) for kind in (np.float32, np.float16)
    ]


SINGLE_HEAD = Exercise(
    id="single_head",
    number="5.2",
    chapter=CHAPTER,
    signature="single_head(x, w_q, w_k, w_v)",
    summary="self-attention with questions, offers and parcels, all from one sentence",
    difficulty=2,
    minutes=10,
    points=3,
    solution=single_head,
    returns=("output",),
    read="What is handed over",
    hints=(
        "Four steps, and you have run each of them above: project, score, weigh, mix. Which of the "
        "three roles takes part in which step?",
        "Queries and keys are compared: their scores have the shape (n, n), with a row for each token "
        "that asks. Values are mixed: (n, n) times (n, d_v).",
        "`q, k, v = project_qkv(x, w_q, w_k, w_v)`, then `softmax(q @ k.T) @ v`.",
    ),
    probes=(
        Probe(
            "values",
            "row i is the mixture of all values, weighted by how well query i fits each key",
            _several_tokens,
            cause="Project, score with `q @ k.T`, softmax of each row, mix the values.",
        ),
        Probe(
            "equal sizes",
            "the same where some of n, `d_model`, `d_k` and `d_v` are equal",
            _head_equal_sizes,
            cause="When sizes are equal a wrong product fits too.",
            read="The trap: a square matrix fits both ways",
        ),
        Probe(
            "edges",
            "one token alone, one dimension alone, a `w_q` of zeros, a token that occurs twice",
            _head_edges,
            cause="A token alone gets its own value; who asks nothing gets the mean of all values.",
        ),
        Probe(
            "loud questions",
            "large matrices, with scores of more than 1000",
            _loud,
            cause="`exp` overflows at about 710 and is rounded to 0 far below; the `softmax` of "
            "chapter 2 takes care of both.",
            read="Who looks at whom",
        ),
        Probe(
            "dtype",
            "float32 stays float32, float16 stays float16",
            _mild_kinds,
            tolerance=2e-2,
        ),
    ),
    mistakes=(
        Mistake(
            "scaled by the root of d_k",
            _scaled,
            "The scores are divided by √d_k. You are one chapter early: chapter 6 does so, and says "
            "why. Here plain dot products are asked for.",
            "Leave out the division for now.",
            "Who looks at whom",
        ),
        Mistake(
            "divided by d_k",
            _scaled_by_width,
            "The scores are divided by d_k: a mean of the products in place of their sum.",
            "Leave out the division.",
            "Who looks at whom",
        ),
        Mistake(
            "scaled by the root of d_model",
            _scaled_by_model,
            "The scores are divided by √d_model. Here plain dot products are asked for.",
            "Leave out the division.",
            "Who looks at whom",
        ),
        Mistake(
            "scaled by the root of d_v",
            _scaled_by_values,
            "The scores are divided by √d_v. Values have no part in the scores, and here plain dot "
            "products are asked for.",
            "Leave out the division.",
            "Who looks at whom",
        ),
        Mistake(
            "scaled by the root of n",
            _scaled_by_tokens,
            "The scores are divided by the root of the number of tokens. Here plain dot products are "
            "asked for.",
            "Leave out the division.",
            "Who looks at whom",
        ),
        Mistake(
            "columns sum to one",
            _columns,
            "The softmax runs down the columns: the tokens that ask share out each offer. Each *row* "
            "should sum to one.",
            "`softmax(scores)` works along the last axis.",
            "Who looks at whom",
        ),
        Mistake(
            "query and key swapped",
            _swapped,
            "Queries and keys have changed places, so that the scores are transposed: offers go "
            "looking for questions.",
            "It is `q @ k.T`, with q from `w_q`.",
            "Swap questions and offers",
        ),
        Mistake(
            "no softmax",
            _no_softmax,
            "The raw scores are used as weights: they do not sum to one, and may be negative.",
            "Send the scores through `softmax` before you mix.",
            "Who looks at whom",
        ),
        Mistake(
            "softmax after the mixing",
            _softmax_last,
            "The mixing comes before the softmax, so that the output itself is turned into weights.",
            "The order is project, score, weigh, mix: softmax acts on the scores.",
            "Who looks at whom",
        ),
        Mistake(
            "keys mixed",
            _keys_mixed,
            "The keys are mixed. They have done their work once the weights are there; what is handed "
            "over are the values.",
            "Multiply the weights with `v`.",
        ),
        Mistake(
            "queries mixed",
            _queries_mixed,
            "The queries are mixed; what is handed over are the values.",
            "Multiply the weights with `v`.",
        ),
        Mistake(
            "tokens mixed",
            _tokens_mixed,
            "The tokens themselves are mixed, and `w_v` is not used.",
            "Multiply the weights with `v`, of shape (n, d_v).",
        ),
        Mistake(
            "tokens compared",
            _tokens_compared,
            "The tokens themselves are compared, as in chapter 4; `w_q` and `w_k` are not used.",
            "The scores are `q @ k.T`.",
            "Who looks at whom",
        ),
        Mistake(
            "queries compared with queries",
            _queries_with_queries,
            "Queries are compared with queries. What one asks has to meet what the other *offers*.",
            "The scores are `q @ k.T`.",
            "Who looks at whom",
        ),
        Mistake(
            "keys compared with keys",
            _keys_with_keys,
            "Keys are compared with keys. What one *asks* has to meet what the other offers.",
            "The scores are `q @ k.T`.",
            "Who looks at whom",
        ),
        Mistake(
            "keys and values confused",
            _queries_with_values,
            "Queries are compared with values, and keys are mixed: the two have changed places.",
            "Compare with `k`, mix `v`.",
        ),
        Mistake(
            "weights returned",
            _weights_returned,
            "You return the weights, (n, n). They still have to mix the values.",
            "Multiply the weights with `v`.",
        ),
        Mistake(
            "scores returned",
            _scores_returned,
            "You return the scores, (n, n). Two steps are missing: weigh and mix.",
            "`softmax` of the scores, times `v`.",
        ),
        Mistake(
            "values returned",
            _values_returned,
            "You return the values themselves: nobody has listened to anybody.",
            "Mix them with the weights, `softmax(q @ k.T)`.",
        ),
        Mistake(
            "weights turned",
            _weights_turned,
            "The weights are transposed before they mix: each token hears those who look at *it*.",
            "Multiply `weights @ v`, without `.T`.",
        ),
        Mistake(
            "matrices turned",
            _head_matrices_turned,
            "The three matrices are transposed, as in `x @ w_q.T`. With square matrices this raises "
            "no error.",
            "Leave out the `.T`.",
            "The trap: a square matrix fits both ways",
        ),
        Mistake(
            "keys not turned",
            _keys_not_turned,
            "The keys stand on the right as they are. There they are used by columns, and a key is a "
            "row.",
            "Write `q @ k.T`.",
            "Who looks at whom",
        ),
        Mistake(
            "dimensions compared",
            _dimensions_compared,
            "`q.T @ k` compares the dimensions with each other, (d_k, d_k). Tokens should be compared, "
            "(n, n).",
            "Write `q @ k.T`.",
            "Who looks at whom",
        ),
        Mistake(
            "joint softmax over the whole table",
            _joint,
            "The whole table of weights sums to one. Each *row* should.",
            "`softmax(scores)` works row by row; do not flatten the table.",
            "Who looks at whom",
        ),
        Mistake(
            "best match only",
            _arg_max,
            "Each token takes over the value of its best match, all or nothing.",
            "Use `softmax`, which gives every token a share.",
            "Who looks at whom",
        ),
        Mistake(
            "one maximum for the whole table",
            _one_maximum_for_all,
            "The largest score of the whole table is subtracted from every row. In a row whose scores "
            "lie far below it every `exp` is rounded to 0, and 0 divided by 0 is not a number.",
            "Subtract from each row its own maximum, or use the `softmax` of chapter 2.",
            "Who looks at whom",
        ),
        Mistake(
            "softmax of your own overflows",
            _overflows,
            "For large scores `exp` becomes infinite, and infinity divided by infinity is not a "
            "number.",
            "Use the `softmax` of chapter 2, which subtracts the largest score of each row first.",
            "Who looks at whom",
        ),
        Mistake(
            "softmax applied twice",
            _softmax_twice,
            "Softmax is applied to weights that came out of a softmax already.",
            "Apply it once, to the scores.",
            "Who looks at whom",
        ),
        Mistake(
            "sign of the scores flipped",
            _negated,
            "The offers that fit worst get the largest weights: a minus sign is too many.",
            "Leave the scores as they are.",
            "Who looks at whom",
        ),
        Mistake(
            "the token itself left out",
            _itself_left_out,
            "Each token looks at all others and not at itself. It need not look at itself any more, "
            "but it may.",
            "Leave the diagonal in.",
            "Who looks at whom",
        ),
        Mistake(
            "only tokens up to itself",
            _only_earlier,
            "Each token sees only itself and those before it. That is a causal mask, and comes in "
            "chapter 7.",
            "Let every token look at all n tokens.",
            "Who looks at whom",
        ),
        Mistake(
            "mean over the tokens",
            _mean_of_outputs,
            "One vector comes back, the mean of all outputs. Every token keeps an output of its own.",
            "Leave out the mean: the result is (n, d_v).",
        ),
        Mistake(
            "all tokens weigh the same",
            _plain_mean,
            "Every output is the plain mean of the values: the weights do not depend on the scores.",
            "Give softmax all n scores of a token at once.",
            "Who looks at whom",
        ),
    ),
)


# --- 5.3 split_product ------------------------------------------------------------------------


def split_product(product, d_k):
    """Two narrow matrices whose product w_q @ w_k.T is the given table.

    product (d_model, d_model) of rank d_k or less -> w_q (d_model, d_k), w_k (d_model, d_k).
    """
    left, strengths, right = np.linalg.svd(product)  # product = (left * strengths) @ right
    w_q = left[:, :d_k] * strengths[:d_k]  # (d_model, d_k), the strongest d_k layers
    w_k = right[:d_k].T  # (d_model, d_k)
    return w_q, w_k


def _judge_split(call: Call, value) -> Finding | None:
    product, d_k = call.args
    w_q, w_k = (np.asarray(part, dtype=np.float64) for part in value)
    wanted = (len(product), d_k)
    if w_q.shape != wanted or w_k.shape != wanted:
        tested = f"that both matrices have the shape {wanted}; the shapes are shown"
        shown = (("w_q", str(w_q.shape)), ("w_k", str(w_k.shape)))
        return Finding(_wrong_shape(w_q, w_k, wanted), tested, shown)
    found = w_q @ w_k.T
    if np.allclose(found, product, atol=1e-6 * max(1.0, np.abs(product).max())):
        return None
    tested = "that `w_q @ w_k.T` is the given table again"
    shown = (("w_q @ w_k.T", found),)
    if not np.isfinite(found).all():
        return Finding("numbers not finite", tested, shown)
    return Finding(_wrong_product(product, d_k, w_q, w_k), tested, shown)


def _wrong_shape(w_q, w_k, wanted) -> str:
    turned = wanted[::-1]
    if wanted[0] != wanted[1] and turned in (w_q.shape, w_k.shape):
        return "a matrix lies on its side"
    if w_q.ndim == w_k.ndim == 2 and max(w_q.shape[1], w_k.shape[1]) > wanted[1]:
        return "too wide"
    return "wrong shape"


def _wrong_product(product, d_k, w_q, w_k) -> str:
    all_left, strengths, all_right = np.linalg.svd(product)
    left, right, top = all_left[:, :d_k], all_right[:d_k], strengths[:d_k]
    tail = slice(len(product) - d_k, None)
    columns = all_right[:, :d_k].T  # what `right[:, :d_k]` brings: not the layers
    found = w_q @ w_k.T
    known = (
        ("questions and offers swapped", product.T),
        ("strengths left out", left @ right),
        ("strengths used twice", (left * top**2) @ right),
        ("root of the strengths on one side only", (left * np.sqrt(top)) @ right),
        ("right-hand factor not turned", (left * top) @ columns),
        ("right-hand factor not turned", left @ columns),
        ("one side used for both", (left * top) @ left.T),
        ("columns cut off", np.where(np.arange(len(product)) < d_k, product, 0)),
        ("first columns only", _on_leading_columns(product, d_k)),
        ("the weakest layers kept", (all_left[:, tail] * strengths[tail]) @ all_right[tail]),
    )
    for name, table in known:
        if np.allclose(found, table, atol=1e-6 * max(1.0, np.abs(table).max())):
            return name
    if np.linalg.matrix_rank(w_q) < np.linalg.matrix_rank(product):
        return "too few layers"
    return "another product"


def _on_leading_columns(product, d_k):
    orthogonal, triangular = np.linalg.qr(product)
    return orthogonal[:, :d_k] @ triangular[:d_k]


def _turned_factors(product, d_k):
    w_q, w_k = split_product(product, d_k)
    return w_k, w_q


def _strengths_left_out(product, d_k):
    left, _, right = np.linalg.svd(product)
    return left[:, :d_k], right[:d_k].T


def _strengths_twice(product, d_k):
    left, strengths, right = np.linalg.svd(product)
    return left[:, :d_k] * strengths[:d_k], right[:d_k].T * strengths[:d_k]


def _root_once(product, d_k):
    left, strengths, right = np.linalg.svd(product)
    return left[:, :d_k] * np.sqrt(strengths[:d_k]), right[:d_k].T


def _right_not_turned(product, d_k):
    left, strengths, right = np.linalg.svd(product)
    return left[:, :d_k] * strengths[:d_k], right[:, :d_k]


def _right_on_its_side(product, d_k):
    left, strengths, right = np.linalg.svd(product)
    return left[:, :d_k] * strengths[:d_k], right[:d_k]


def _one_side_for_both(product, d_k):
    left, strengths, _ = np.linalg.svd(product)
    return left[:, :d_k] * strengths[:d_k], left[:, :d_k]


def _full_width(product, d_k):
    return product.copy(), np.eye(len(product))


def _columns_cut(product, d_k):
    return product[:, :d_k].copy(), np.eye(len(product))[:, :d_k]


def _by_qr(product, d_k):
    orthogonal, triangular = np.linalg.qr(product)
    return orthogonal[:, :d_k], triangular[:d_k].T


def _weakest(product, d_k):
    left, strengths, right = np.linalg.svd(product)
    return left[:, -d_k:] * strengths[-d_k:], right[-d_k:].T


def _one_layer(product, d_k):
    w_q, w_k = split_product(product, d_k)
    w_q[:, 1:] = 0
    return w_q, w_k


def _guessed(product, d_k):
    rng = np.random.default_rng(5)
    return rng.normal(size=(len(product), d_k)), rng.normal(size=(len(product), d_k))


def _divides_by_zero(product, d_k):
    w_q, w_k = split_product(product, d_k)
    return w_q * np.nan, w_k


def _vectors(product, d_k):
    w_q, w_k = split_product(product, d_k)
    return w_q[:, 0], w_k[:, 0]


def _products(rng: np.random.Generator) -> list[Call]:
    small = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]) @ np.array(
        [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]
    )
    calls = [Call((small, 2))]
    for d_model, d_k in ((5, 2), (7, 3), (6, 4)):
        calls.append(Call((_of_rank(rng, d_model, d_k), d_k)))
    return calls


def _special_products(rng: np.random.Generator) -> list[Call]:
    repeating = _of_rank(rng, 6, 3)
    repeating[:, 0] = 0  # a feature that nobody looks for
    repeating[:, 2] = 2 * repeating[:, 1]
    return [
        Call((repeating, 3)),
        Call((_of_rank(rng, 4, 1), 1)),
        Call((_of_rank(rng, 5, 2), 3)),
        Call((rng.normal(size=(3, 3)), 3)),
        Call((100 * _of_rank(rng, 6, 2), 2)),
    ]


def _of_rank(rng, d_model, rank):
    return rng.normal(size=(d_model, rank)) @ rng.normal(size=(rank, d_model))


SPLIT_PRODUCT = Exercise(
    id="split_product",
    number="5.3",
    chapter=CHAPTER,
    signature="split_product(product, d_k)",
    summary="two narrow matrices whose product is a given table",
    difficulty=3,
    minutes=12,
    points=2,
    solution=split_product,
    returns=("w_q", "w_k"),
    read="How many questions at once: low rank",
    hints=(
        "The table is a sum of layers, each a column times a row. `np.linalg.svd` finds them for you, "
        "the strongest first. How many of them are not zero, and where do they go?",
        "`left, strengths, right = np.linalg.svd(product)`. Layer c is column c of `left`, times "
        "`strengths[c]`, times *row* c of `right`. Keep the first `d_k`; make column c of `w_q` from "
        "the one side and column c of `w_k` from the other. The strength must go somewhere, once.",
        "`w_q = left[:, :d_k] * strengths[:d_k]` and `w_k = right[:d_k].T`.",
    ),
    probes=(
        Probe(
            "the product",
            "`w_q @ w_k.T` is the given table again",
            _products,
            judge=_judge_split,
        ),
        Probe(
            "special tables",
            "columns that repeat, one layer alone, fewer layers than `d_k`, full width, large numbers",
            _special_products,
            judge=_judge_split,
        ),
    ),
    mistakes=(
        Mistake(
            "questions and offers swapped",
            _turned_factors,
            "The product comes out transposed: `w_q` and `w_k` have changed places.",
            "The left-hand side of the layers makes `w_q`, the right-hand side `w_k`.",
            "Swap questions and offers",
        ),
        Mistake(
            "strengths left out",
            _strengths_left_out,
            "The layers are right, but each has the strength 1: the singular values were not used.",
            "Multiply one of the two sides by `strengths[:d_k]`.",
        ),
        Mistake(
            "strengths used twice",
            _strengths_twice,
            "Both sides were multiplied by the strengths, so that each counts twice.",
            "Multiply one side only, or both by the square root.",
        ),
        Mistake(
            "root of the strengths on one side only",
            _root_once,
            "One side was multiplied by the square root of the strengths, the other not at all.",
            "Either the strengths on one side, or their square root on both.",
        ),
        Mistake(
            "right-hand factor not turned",
            _right_not_turned,
            "You took *columns* of the third result. The layers stand in its rows.",
            "`w_k` is `right[:d_k].T`.",
        ),
        Mistake(
            "a matrix lies on its side",
            _right_on_its_side,
            "A matrix has the shape (d_k, d_model). Both should have a row for each feature, as "
            "everywhere in this book.",
            "Turn it with `.T`.",
        ),
        Mistake(
            "one side used for both",
            _one_side_for_both,
            "Both matrices are made from the left-hand side of the layers. Then the product is "
            "symmetric.",
            "Make `w_k` from the right-hand side.",
            "One table in the middle",
        ),
        Mistake(
            "too wide",
            _full_width,
            "The product may be right, but the matrices are wider than `d_k`. The task is to make do "
            "with `d_k` columns.",
            "Keep the first `d_k` layers; the others are zero.",
        ),
        Mistake(
            "columns cut off",
            _columns_cut,
            "You kept the first `d_k` columns of the table and dropped the others. Low rank does not "
            "mean that columns are empty; they are mixtures of each other.",
            "Take the table apart with `np.linalg.svd`.",
        ),
        Mistake(
            "first columns only",
            _by_qr,
            "QR builds on the first columns of the table. If some of these are zero or repeat each "
            "other, `d_k` of them do not span the rest.",
            "Use `np.linalg.svd`, which brings the strongest layers to the front.",
        ),
        Mistake(
            "the weakest layers kept",
            _weakest,
            "You kept the last layers. The strongest come first; at the end stand the weakest, most of "
            "strength zero.",
            "Use `[:d_k]`, not `[-d_k:]`.",
        ),
        Mistake(
            "too few layers",
            _one_layer,
            "Some layers are missing: the product has a lower rank than the table.",
            "Keep `d_k` layers.",
        ),
        Mistake(
            "numbers not finite",
            _divides_by_zero,
            "A number is infinite or not a number. Layers of strength zero are allowed: did you divide "
            "by a strength?",
            "Multiply by the strengths; do not divide by them.",
        ),
        Mistake(
            "wrong shape",
            _vectors,
            "Both matrices need a row for each feature and `d_k` columns, (d_model, d_k), also when "
            "`d_k` is 1.",
            "Slice with `[:, :d_k]`, which keeps both axes.",
        ),
        Mistake(
            "another product",
            _guessed,
            "`w_q @ w_k.T` is another table than the one given.",
            "Check on the small example: `np.allclose(w_q @ w_k.T, product)`.",
        ),
    ),
)


# --- 5.4 head_parameters ----------------------------------------------------------------------


def _counted_wrong(n: int, d_model: int, d_k: int, d_v: int) -> tuple[Mistake, ...]:
    """The plausible wrong counts of one head's parameters."""
    keys, values = d_model * d_k, d_model * d_v
    return (
        Mistake(
            "values as wide as keys",
            3 * keys,
            f"That is three matrices of width {d_k}. The values have a width of their own.",
            f"`w_v` has the shape ({d_model}, {d_v}).",
        ),
        Mistake(
            "keys as wide as values",
            3 * values,
            f"That is three matrices of width {d_v}. Queries and keys have another width.",
            f"`w_q` and `w_k` have the shape ({d_model}, {d_k}).",
        ),
        Mistake(
            "values forgotten",
            2 * keys,
            "That is `w_q` and `w_k`. There is a third matrix.",
            "Add the numbers in `w_v`.",
        ),
        Mistake(
            "queries and keys counted once",
            keys + values,
            "That is one matrix for queries and keys together. Each has its own.",
            "Count `w_q`, `w_k` and `w_v`.",
        ),
        Mistake(
            "widths swapped",
            keys + 2 * values,
            f"That is one matrix of width {d_k} and two of width {d_v}. Which role stands alone?",
            "Queries and keys share a width, since they are compared.",
        ),
        Mistake(
            "tokens counted in",
            n * (2 * keys + values),
            f"You multiplied by the {n} words. All words go through the same three matrices.",
            "Leave the number of words out.",
        ),
        Mistake(
            "queries, keys and values counted",
            n * (2 * d_k + d_v),
            "That is how many numbers the queries, keys and values of the sentence hold. They are "
            "computed, not learned.",
            "Count the numbers in the matrices.",
        ),
        Mistake(
            "all matrices square",
            3 * d_model**2,
            f"That is three square matrices of {d_model} times {d_model}.",
            f"They are narrower: {d_k} or {d_v} columns.",
        ),
        Mistake(
            "biases counted",
            2 * keys + values + 2 * d_k + d_v,
            "You added a number for each column, a bias. This head has none.",
            "Count the numbers in the three matrices only.",
        ),
        Mistake(
            "rows and columns added",
            2 * (d_model + d_k) + d_model + d_v,
            "You added rows and columns. A table has rows *times* columns numbers.",
            "Multiply the two sides of each shape.",
        ),
        Mistake(
            "values made from keys",
            2 * keys + d_k * d_v,
            "You made the values from the keys. All three roles are made from the token itself.",
            f"`w_v` has the shape ({d_model}, {d_v}).",
        ),
        Mistake(
            "widths added",
            2 * d_k + d_v,
            "That is how many columns the three matrices have. Each column holds a number for every "
            "feature of a token.",
            f"Multiply by the number of rows, {d_model}.",
        ),
        Mistake(
            "the product counted",
            d_model**2 + values,
            "You counted the product `w_q @ w_k.T` in place of its two factors. The factors are what "
            "is stored and learned.",
            "Count `w_q` and `w_k`.",
        ),
    )


def _count(d_model: int, d_k: int, d_v: int) -> str:
    return f"head_parameters = {d_model} * {d_k} + {d_model} * {d_k} + {d_model} * {d_v}"


def _other_sizes(rng: np.random.Generator) -> Variant:
    """Other sizes, such that the right count and all the wrong ones differ."""
    while True:
        d_model = int(rng.choice([200, 240, 320, 360, 400]))
        d_k, d_v = (int(width) for width in rng.choice([16, 24, 32, 48, 60], size=2, replace=False))
        n = int(rng.choice([12, 18, 25, 30]))
        mistakes = _counted_wrong(n, d_model, d_k, d_v)
        counts = {mistake.wrong for mistake in mistakes} | {d_model * (2 * d_k + d_v)}
        if len(counts) == len(mistakes) + 1:
            break
    return Variant(
        slots={
            "`d_model` is 300": f"`d_model` is {d_model}",
            "`d_k` is 40": f"`d_k` is {d_k}",
            "`d_v` is 50": f"`d_v` is {d_v}",
            "20 words": f"{n} words",
        },
        solution=_count(d_model, d_k, d_v),
        mistakes=mistakes,
    )


HEAD_PARAMETERS = Exercise(
    id="head_parameters",
    number="5.4",
    chapter=CHAPTER,
    signature="a whole number",
    summary="how many numbers a head has to learn",
    difficulty=1,
    minutes=5,
    points=1,
    kind="answer",
    solution=_count(300, 40, 50),
    tolerance=1e-9,
    read="What it costs",
    hints=(
        "What is learned, and what is computed from it? Only the first is counted.",
        "Write down the shapes of the three matrices. A table has rows times columns numbers.",
        "`d_model * d_k` for the queries, the same for the keys, and `d_model * d_v` for the values. "
        "Python may do the sum for you.",
    ),
    mistakes=_counted_wrong(20, 300, 40, 50),
    vary=_other_sizes,
)

EXERCISES = (PROJECT_QKV, SINGLE_HEAD, SPLIT_PRODUCT, HEAD_PARAMETERS)
