"""Chapter 2: softmax, log_sum_exp, softmax_jacobian, temperature_for."""

from __future__ import annotations

import numpy as np

from attnbook.exercises.exercise import Call, Exercise, Mistake, Probe, Result
from attnbook.numpy_attention import log_sum_exp, softmax

CHAPTER = "02-softmax"


# --- 2.1 softmax ------------------------------------------------------------------------------


def _wrong_axis(scores, axis=-1):
    return softmax(scores, axis=0 if axis in (-1, np.ndim(scores) - 1) else -1)


def _last_axis_always(scores, axis=-1):
    return softmax(scores, axis=-1)


def _over_everything(scores, axis=-1):
    scores = np.asarray(scores, dtype=np.result_type(scores, np.float16))
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum()


def _naive(scores, axis=-1):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def _global_maximum(scores, axis=-1):
    exponentials = np.exp(scores - np.max(scores))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def _sum_of_everything(scores, axis=-1):
    exponentials = np.exp(scores - np.max(scores, axis=axis, keepdims=True))
    return exponentials / exponentials.sum()


def _minus_mean(scores, axis=-1):
    exponentials = np.exp(scores - np.mean(scores, axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def _minus_minimum(scores, axis=-1):
    exponentials = np.exp(scores - np.min(scores, axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def _no_normalising(scores, axis=-1):
    return np.exp(scores - np.max(scores, axis=axis, keepdims=True))


def _sum_without_exp(scores, axis=-1):
    return scores / np.sum(scores, axis=axis, keepdims=True)


def _numerator_not_shifted(scores, axis=-1):
    shifted = scores - np.max(scores, axis=axis, keepdims=True)
    return np.exp(scores) / np.exp(shifted).sum(axis=axis, keepdims=True)


def _arg_max(scores, axis=-1):
    largest = np.max(scores, axis=axis, keepdims=True)
    hot = (scores == largest).astype(np.result_type(scores, np.float16))
    return hot / hot.sum(axis=axis, keepdims=True)


def _sigmoid(scores, axis=-1):
    return 1 / (1 + np.exp(-np.asarray(scores)))


def _twice(scores, axis=-1):
    return softmax(softmax(scores, axis), axis)


def _negated(scores, axis=-1):
    return softmax(-np.asarray(scores), axis)


def _log_softmax(scores, axis=-1):
    return np.log(softmax(scores, axis))


def _base_two(scores, axis=-1):
    return softmax(np.asarray(scores) * np.log(2), axis)


def _divided_by_length(scores, axis=-1):
    exponentials = np.exp(scores - np.max(scores, axis=axis, keepdims=True))
    return exponentials / np.shape(scores)[axis]


def _with_epsilon(scores, axis=-1):
    exponentials = np.exp(scores)
    return exponentials / (exponentials.sum(axis=axis, keepdims=True) + 1e-2)


def _clipped(scores, axis=-1):
    return softmax(np.clip(scores, -20, 20), axis)


def _squares(scores, axis=-1):
    squares = np.square(scores)
    return squares / squares.sum(axis=axis, keepdims=True)


def _writes_into_input(scores, axis=-1):
    scores = np.asarray(scores)
    if scores.dtype.kind == "f":
        scores -= scores.max(axis=axis, keepdims=True)
    return softmax(scores, axis)


def _tables(rng: np.random.Generator) -> list[Call]:
    """Small tables first, all sizes different, both rows and columns told apart."""
    return [
        Call((np.array([0.0, 1.0, 2.0]),)),
        Call((rng.normal(size=(2, 3)),)),
        Call((rng.normal(0, 2, size=(5, 4)),)),
        Call((rng.normal(size=(2, 3, 5)),)),
    ]


def _axes(rng: np.random.Generator) -> list[Call]:
    return [
        Call((rng.normal(size=(2, 3)),), {"axis": 0}),
        Call((rng.normal(size=(3, 2)),), {"axis": 1}),
        Call((rng.normal(size=(2, 4, 3)),), {"axis": 1}),
        Call((rng.normal(size=(2, 4, 3)),), {"axis": -2}),
    ]


def _shifted(rng: np.random.Generator) -> list[Call]:
    scores = rng.normal(size=(2, 3))
    return [Call((scores + shift,)) for shift in (7.0, -7.0, 30.0)]


def _huge(rng: np.random.Generator) -> list[Call]:
    return [
        Call((np.array([1000.0, 999.0, 0.0]),)),
        Call((np.array([[-1000.0, -1001.0], [0.0, 1.0]]),)),
        Call((np.array([[1e4, 0.0, -1e4], [-1e4, -1e4 - 1.0, -1e4 - 2.0]]),)),
        Call((rng.normal(0, 1e4, size=(3, 5)),)),
    ]


def _float_kinds(rng: np.random.Generator) -> list[Call]:
    return [
        Call((rng.normal(size=3).astype(np.float32),)),
        Call((rng.normal(0, 3, size=(2, 4)).astype(np.float32),)),
        Call((np.array([12.0, 11.0, 0.0], np.float16),)),
        Call((rng.normal(0, 3, size=(2, 3)).astype(np.float16),)),
    ]


def _integers(rng: np.random.Generator) -> list[Call]:
    return [Call((np.array([0, 1, 2]),)), Call((rng.integers(-4, 5, size=(2, 3)),))]


def _edges(rng: np.random.Generator) -> list[Call]:
    return [
        Call((np.array([3.0]),)),
        Call((np.array([0.0, 0.0, 0.0]),)),
        Call((np.array([[2.0], [5.0]]),)),
        Call((np.array([1.0, -np.inf, 2.0]),)),
    ]


SOFTMAX = Exercise(
    id="softmax",
    number="2.1",
    chapter=CHAPTER,
    signature="softmax(scores, axis=-1)",
    summary="scores to weights: positive, summing to one along an axis, stable",
    difficulty=2,
    minutes=12,
    points=3,
    solution=softmax,
    returns=("weights",),
    read="The wrong way first: overflow",
    hints=(
        "Three steps: subtract something, take `np.exp`, divide by a sum. What must be subtracted "
        "so that the largest exponential is `exp(0)`?",
        "`scores.max(axis=axis, keepdims=True)` keeps the axis with length one, so that it "
        "broadcasts against `scores`. The sum needs `axis` and `keepdims=True` too.",
        "`e = np.exp(scores - scores.max(axis=axis, keepdims=True))`, and the weights are `e` "
        "divided by its own sum along the same axis.",
    ),
    probes=(
        Probe(
            "values",
            "scores become weights that sum to one along the last axis",
            _tables,
            cause="The recipe is exp of each score, divided by the sum of the exps of its row.",
            read="From scores to weights",
        ),
        Probe(
            "any axis",
            "with `axis=0`, `1` or `-2` the weights sum to one along that axis",
            _axes,
            cause="`axis` has to be handed on to both the maximum and the sum, with `keepdims=True`.",
            read="Rows, not columns",
        ),
        Probe(
            "shift",
            "adding the same number to every score changes nothing",
            _shifted,
            cause="Something besides the differences between scores enters the result.",
            read="Only differences matter",
        ),
        Probe(
            "huge scores",
            "scores of ±1000 and ±10 000 give finite weights",
            _huge,
            cause="`exp` overflows at about 710: subtract each slice's largest score first.",
        ),
        Probe(
            "integers",
            "integer scores give float64 weights",
            _integers,
            cause="An integer array cannot hold the weights.",
        ),
        Probe(
            "dtype",
            "float32 scores give float32 weights, float16 gives float16",
            _float_kinds,
        ),
        Probe(
            "edges",
            "one score alone, equal scores, and a score of −∞ beside finite ones",
            _edges,
            cause="One score alone has weight 1, equal scores share equally, −∞ gets weight 0.",
        ),
    ),
    mistakes=(
        Mistake(
            "no maximum subtracted",
            _naive,
            "You take `exp` of the scores as they are. Above about 710 it overflows to infinity, and "
            "infinity divided by infinity is NaN.",
            "Subtract the largest score of each slice before `np.exp`; the weights stay the same.",
            "The wrong way first: overflow",
        ),
        Mistake(
            "softmax over the wrong axis",
            _wrong_axis,
            "You normalise along another axis than the one asked for: your columns sum to one where "
            "the rows should.",
            "Give `axis=axis` to both the maximum and the sum, with `keepdims=True`.",
            "Rows, not columns",
        ),
        Mistake(
            "axis ignored",
            _last_axis_always,
            "The function always works along the last axis, whatever `axis` says.",
            "Hand `axis` on to `max` and `sum`.",
            "Rows, not columns",
        ),
        Mistake(
            "joint softmax over everything",
            _over_everything,
            "You divide by the sum of the whole array, so that the table sums to one, not each row.",
            "`np.sum(e)` without `axis` adds up everything; give it `axis=axis, keepdims=True`.",
            "Rows, not columns",
        ),
        Mistake(
            "one sum for the whole array",
            _sum_of_everything,
            "Each slice has its own maximum, but all of them are divided by the sum of the whole array: "
            "together they sum to one, and a row alone does not.",
            "The sum needs `axis=axis, keepdims=True`, as the maximum does.",
            "Rows, not columns",
        ),
        Mistake(
            "mean subtracted",
            _minus_mean,
            "You subtract the mean of the scores. The weights stay the same, but a score far above the "
            "mean still overflows.",
            "Subtract the largest score: then no exponential is above 1.",
            "The wrong way first: overflow",
        ),
        Mistake(
            "one maximum for the whole array",
            _global_maximum,
            "You subtract the largest score of the whole array. A row far below it underflows: every "
            "exp is 0, and 0 divided by 0 is NaN.",
            "Each slice needs its own maximum: `scores.max(axis=axis, keepdims=True)`.",
            "The wrong way first: overflow",
        ),
        Mistake(
            "minimum subtracted",
            _minus_minimum,
            "You subtract the smallest score, so the largest ones still overflow.",
            "After the shift the largest score should be 0, and all others negative.",
            "The wrong way first: overflow",
        ),
        Mistake(
            "not normalised",
            _no_normalising,
            "The exponentials are right, but they are not divided by their sum.",
            "Divide by `e.sum(axis=axis, keepdims=True)`.",
            "From scores to weights",
        ),
        Mistake(
            "divided by the sum, without exp",
            _sum_without_exp,
            "You divide the scores themselves by their sum. Negative scores then give negative "
            "weights, and a sum of zero gives infinities.",
            "Make everything positive first, with `np.exp`.",
            "From scores to weights",
        ),
        Mistake(
            "shift in the denominator only",
            _numerator_not_shifted,
            "The maximum is subtracted below the line but not above it.",
            "Compute `e = np.exp(scores - largest)` once and use it above and below.",
            "Only differences matter",
        ),
        Mistake(
            "arg-max instead of softmax",
            _arg_max,
            "All the weight goes to the largest score and none to the others.",
            "Softmax gives every score a share: use `np.exp`.",
            "From scores to weights",
        ),
        Mistake(
            "sigmoid instead of softmax",
            _sigmoid,
            "Each score is squeezed between 0 and 1 on its own (a sigmoid), so a row does not sum to "
            "one: the scores do not compete.",
            "Divide each exponential by the sum of its slice.",
            "From scores to weights",
        ),
        Mistake(
            "softmax applied twice",
            _twice,
            "Softmax is applied to weights that came out of a softmax already; they are squeezed "
            "towards equal shares.",
            "Apply it once, to the raw scores.",
            "From scores to weights",
        ),
        Mistake(
            "sign of the scores flipped",
            _negated,
            "The smallest score gets the largest weight: the sign of the scores is flipped.",
            "It is `scores - largest`, not `largest - scores`.",
            "Only differences matter",
        ),
        Mistake(
            "log-softmax returned",
            _log_softmax,
            "You return the logarithms of the weights.",
            "Return the weights themselves: leave out the `log`.",
            "From scores to weights",
        ),
        Mistake(
            "base two instead of e",
            _base_two,
            "The weights are those of 2 to the power of the scores; softmax uses e.",
            "Use `np.exp`, not `2 **` or `np.exp2`.",
            "From scores to weights",
        ),
        Mistake(
            "divided by the number of scores",
            _divided_by_length,
            "You divide by how many scores there are, not by the sum of their exponentials.",
            "Replace the length (or `mean`) by `e.sum(axis=axis, keepdims=True)`.",
            "From scores to weights",
        ),
        Mistake(
            "constant added to the sum",
            _with_epsilon,
            "A constant is added below the line, so the weights sum to less than one.",
            "After the maximum is subtracted the sum is at least 1: no constant is needed.",
            "The wrong way first: overflow",
        ),
        Mistake(
            "scores clipped",
            _clipped,
            "Large scores are cut off before `exp`, so that different scores become equal.",
            "Subtract the maximum in place of clipping: nothing is lost then.",
            "The wrong way first: overflow",
        ),
        Mistake(
            "squares instead of exponentials",
            _squares,
            "You make the scores positive by squaring: then −2 counts as much as 2.",
            "Use `np.exp`, which keeps the order.",
            "From scores to weights",
        ),
        Mistake(
            "changes its input",
            _writes_into_input,
            "`scores -= …` writes into the caller's array.",
            "Write `shifted = scores - …` to make a new array.",
            "The wrong way first: overflow",
        ),
    ),
)


# --- 2.2 log_sum_exp --------------------------------------------------------------------------


def _naive_log_sum_exp(scores, axis=-1):
    return np.log(np.exp(scores).sum(axis=axis))


def _maximum_not_added_back(scores, axis=-1):
    shifted = scores - np.max(scores, axis=axis, keepdims=True)
    return np.log(np.exp(shifted).sum(axis=axis))


def _maximum_only(scores, axis=-1):
    return np.max(np.asarray(scores, np.result_type(scores, np.float16)), axis=axis)


def _log_mean_exp(scores, axis=-1):
    return log_sum_exp(scores, axis) - np.log(np.shape(scores)[axis])


def _less_log_n(call: Call, result: Result) -> bool:
    """Too small by the logarithm of the number of scores, whatever a slice of all −∞ gives."""
    want = np.asarray(_log_mean_exp(*call.args, **call.kwargs))
    value, finite = np.asarray(result.value), np.isfinite(want)
    return value.shape == want.shape and np.allclose(value[finite], want[finite], 1e-2, 1e-2)


def _one_maximum(scores, axis=-1):
    largest = np.max(scores)
    return largest + np.log(np.exp(scores - largest).sum(axis=axis))


def _sum_only(scores, axis=-1):
    return np.exp(log_sum_exp(scores, axis))


def _all_of_it(scores, axis=-1):
    return log_sum_exp(np.ravel(scores))


def _keeps_axis(scores, axis=-1):
    return np.expand_dims(log_sum_exp(scores, axis), axis)


def _nan_when_empty(scores, axis=-1):
    largest = np.max(scores, axis=axis, keepdims=True)
    inner = np.log(np.exp(scores - largest).sum(axis=axis))
    return inner + np.squeeze(largest, axis)


def _sum_of_logs(scores, axis=-1):
    return np.sum(np.log(np.exp(scores)), axis=axis)


def _axis_ignored_log_sum_exp(scores, axis=-1):
    return log_sum_exp(scores)


LOG_SUM_EXP = Exercise(
    id="log_sum_exp",
    number="2.2",
    chapter=CHAPTER,
    signature="log_sum_exp(scores, axis=-1)",
    summary="the logarithm of a sum of exponentials, without overflow",
    difficulty=2,
    minutes=10,
    points=2,
    solution=log_sum_exp,
    returns=("log_sum_exp",),
    read="The logarithm of the sum",
    hints=(
        "The same cure as for softmax: pull the largest score out of the sum. What does pulling it "
        "out do to a logarithm?",
        "log(Σ exp(s)) = m + log(Σ exp(s − m)) for any number m; choose the largest score. The "
        "reduced axis has to go at the end.",
        "For a slice that is all −∞ the largest score is −∞ and −∞ − (−∞) is NaN: use 0 as m there, "
        "for example with `np.where(np.isfinite(m), m, 0)`.",
    ),
    probes=(
        Probe(
            "values",
            "the logarithm of the sum of the exponentials along the last axis",
            _tables,
            cause="Take exp, add up along the axis, take the logarithm; the axis goes away.",
        ),
        Probe(
            "any axis",
            "the axis asked for is the one that goes away",
            _axes,
            cause="Hand `axis` on to every maximum and sum.",
        ),
        Probe(
            "huge scores",
            "scores of ±1000 and ±10 000 give finite results",
            _huge,
            cause="`exp` overflows at about 710: pull the largest score out of the sum first.",
        ),
        Probe("integers", "integer scores give a float64 result", _integers),
        Probe("dtype", "float32 in, float32 out; float16 in, float16 out", _float_kinds),
        Probe(
            "minus infinity",
            "a score of −∞ adds nothing, and a slice that is all −∞ gives −∞",
            lambda rng: [
                Call((np.array([0.0, -np.inf]),)),
                Call((np.array([-np.inf, -np.inf]),)),
                Call((np.array([[-np.inf, -np.inf, -np.inf], [0.0, 1.0, -np.inf]]),)),
            ],
            cause="With the largest score at −∞ the shift computes −∞ − (−∞), which is NaN.",
        ),
    ),
    mistakes=(
        Mistake(
            "no maximum pulled out",
            _naive_log_sum_exp,
            "`exp` overflows to infinity above about 710, and underflows to 0 far below zero.",
            "Use m + log(Σ exp(s − m)) with m the largest score.",
        ),
        Mistake(
            "maximum not added back",
            _maximum_not_added_back,
            "You subtract the largest score but never add it back after the logarithm.",
            "log(Σ exp(s)) = m + log(Σ exp(s − m)).",
        ),
        Mistake(
            "maximum instead of log-sum-exp",
            _maximum_only,
            "The result is the largest score alone. The other scores add something too: two equal "
            "scores give log 2 more.",
            "Add the logarithm of the sum of the shifted exponentials.",
        ),
        Mistake(
            "mean instead of sum",
            _log_mean_exp,
            "Your result is too small by the logarithm of the number of scores: a mean was taken in "
            "place of a sum.",
            "Use `sum`, not `mean`.",
            symptom=_less_log_n,
        ),
        Mistake(
            "one maximum for the whole array",
            _one_maximum,
            "You pull the largest score of the whole array out of every sum. In a row far below it every "
            "exp is 0, and the logarithm of 0 is −∞.",
            "Each slice needs its own maximum: `scores.max(axis=axis, keepdims=True)`.",
        ),
        Mistake(
            "logarithm missing",
            _sum_only,
            "This is the sum of the exponentials; its logarithm is asked for.",
            "Take `np.log` of the sum.",
        ),
        Mistake(
            "axis ignored",
            _axis_ignored_log_sum_exp,
            "The last axis is reduced whatever `axis` says.",
            "Hand `axis` on to `max` and `sum`.",
        ),
        Mistake(
            "joint sum over everything",
            _all_of_it,
            "You add up the whole array and return one number.",
            "Give `axis=axis` to the sum.",
        ),
        Mistake(
            "axis kept",
            _keeps_axis,
            "The numbers are right, but the reduced axis is still there with length one.",
            "Use `np.squeeze(result, axis=axis)` at the end, or no `keepdims` in the sum.",
        ),
        Mistake(
            "all −∞ gives NaN",
            _nan_when_empty,
            "In a slice that is all −∞ the shift computes −∞ − (−∞), which is NaN.",
            "Where the largest score is not finite, shift by 0.",
        ),
        Mistake(
            "sum of logarithms",
            _sum_of_logs,
            "The logarithm was taken before the sum, which undoes exp: you get the sum of the scores.",
            "First exp, then sum, then log.",
        ),
    ),
)


# --- 2.3 softmax_jacobian ---------------------------------------------------------------------


def softmax_jacobian(weights):
    """Derivative of each weight with respect to each score.

    weights (n,) from a softmax -> (n, n); entry [i, j] is the change of weight i per unit of
    score j: weights[i] * ((i == j) - weights[j]).
    """
    return np.diag(weights) - np.outer(weights, weights)


def _diagonal_only(weights):
    return np.diag(weights * (1 - weights))


def _outer_only(weights):
    return -np.outer(weights, weights)


def _plus_outer(weights):
    return np.diag(weights) + np.outer(weights, weights)


def _identity_minus(weights):
    return np.eye(len(weights), dtype=weights.dtype) - np.outer(weights, weights)


def _negative(weights):
    return -softmax_jacobian(weights)


def _softmaxed_again(weights):
    return softmax_jacobian(softmax(weights))


def _columns_missing(weights):
    return np.diag(weights) - np.outer(weights, np.ones_like(weights))


def _only_elementwise(weights):
    return weights * (1 - weights)


def _one_number_subtracted(weights):
    return np.diag(weights) - weights @ weights.T


def _squares_subtracted(weights):
    return np.diag(weights) - weights * weights


def _slopes_of_the_logarithms(weights):
    return np.eye(len(weights), dtype=weights.dtype) - weights


def _zero_on_the_diagonal(weights):
    jacobian = -np.outer(weights, weights)
    np.fill_diagonal(jacobian, 0)
    return jacobian


def _own_rule_everywhere(weights):
    return np.outer(weights, 1 - weights)


def _weights_drawn(rng: np.random.Generator) -> list[Call]:
    return [
        Call((np.array([0.5, 0.5]),)),
        Call((softmax(rng.normal(size=3)),)),
        Call((softmax(rng.normal(0, 2, size=7)),)),
    ]


SOFTMAX_JACOBIAN = Exercise(
    id="softmax_jacobian",
    number="2.3",
    chapter=CHAPTER,
    signature="softmax_jacobian(weights)",
    summary="how each weight answers to each score",
    difficulty=3,
    minutes=12,
    points=2,
    solution=softmax_jacobian,
    returns=("jacobian",),
    read="The gradient of softmax",
    hints=(
        "Two cases: how weight i answers to its own score, and how it answers to the score of "
        "another word. The second is never positive.",
        "∂wᵢ/∂sⱼ = wᵢ(δᵢⱼ − wⱼ), with δᵢⱼ = 1 on the diagonal and 0 elsewhere. A double loop is fine.",
        "In matrix form: a diagonal matrix of the weights (`np.diag`) minus the outer product of the "
        "weights with themselves (`np.outer`).",
    ),
    probes=(
        Probe(
            "values",
            "the matrix of derivatives for weights that came from a softmax",
            _weights_drawn,
            cause="Entry [i, j] is wᵢ(δᵢⱼ − wⱼ); every row and every column adds up to zero.",
        ),
        Probe(
            "saturated",
            "weights of 1 and 0 leave no gradient at all",
            lambda rng: [Call((np.array([1.0, 0.0]),)), Call((np.array([0.0, 0.0, 1.0, 0.0]),))],
            cause="With a weight at 1 and the others at 0 every entry is 0.",
        ),
        Probe(
            "dtype",
            "float32 weights give a float32 matrix",
            lambda rng: [Call((softmax(rng.normal(size=3).astype(np.float32)),))],
        ),
    ),
    mistakes=(
        Mistake(
            "only the diagonal",
            _diagonal_only,
            "The diagonal is right and everything else is 0. But raising one score lowers all other "
            "weights: they share the sum of one.",
            "Off the diagonal the entry is −wᵢwⱼ.",
        ),
        Mistake(
            "a vector instead of a matrix",
            _only_elementwise,
            "You return w(1 − w), the diagonal of the matrix.",
            "Each weight answers to each score: the result is (n, n).",
        ),
        Mistake(
            "diagonal term missing",
            _outer_only,
            "You return −w wᵀ; a weight's answer to its own score also has a +wᵢ.",
            "Add `np.diag(weights)`.",
        ),
        Mistake(
            "plus instead of minus",
            _plus_outer,
            "The outer product is added; it has to be subtracted. As it stands, raising one score "
            "would raise all weights.",
            "The columns must add up to zero, since the weights always add up to one.",
        ),
        Mistake(
            "identity instead of the weights",
            _identity_minus,
            "The diagonal matrix holds ones; it should hold the weights.",
            "Use `np.diag(weights)` in place of `np.eye(n)`.",
        ),
        Mistake(
            "wrong sign",
            _negative,
            "Every sign is turned round: raising a score would lower its own weight.",
            "On the diagonal the entry is wᵢ(1 − wᵢ), which is never negative.",
        ),
        Mistake(
            "softmax of the weights",
            _softmaxed_again,
            "The function receives weights already; it applies softmax to them once more.",
            "Use `weights` as they come.",
        ),
        Mistake(
            "second weight missing",
            _columns_missing,
            "Off the diagonal you have −wᵢ; it should be −wᵢwⱼ.",
            "Use `np.outer(weights, weights)`.",
        ),
        Mistake(
            "slopes of the logarithms",
            _slopes_of_the_logarithms,
            "You return δᵢⱼ − wⱼ. Those are the slopes of log wᵢ; the slopes of the weights have the "
            "factor wᵢ in front.",
            "Multiply row i by wᵢ, step 3 of the derivation: `weights[:, None] * …`.",
        ),
        Mistake(
            "diagonal left at zero",
            _zero_on_the_diagonal,
            "Off the diagonal all is right, and the diagonal is 0. But a weight answers to its own score "
            "most of all.",
            "On the diagonal the entry is wᵢ(1 − wᵢ).",
        ),
        Mistake(
            "the rule of the diagonal everywhere",
            _own_rule_everywhere,
            "Every entry is wᵢ(1 − wⱼ), as if each score were the weight's own: raising one score would "
            "raise all weights.",
            "The 1 stands on the diagonal only; elsewhere it is 0, and the entry is −wᵢwⱼ.",
        ),
        Mistake(
            "one number in place of all products",
            _one_number_subtracted,
            "`weights @ weights.T` is one number, the sum of the squares: transposing an array with a "
            "single axis does nothing.",
            "Use `np.outer(weights, weights)`, or `weights[:, None] * weights[None, :]`.",
        ),
        Mistake(
            "squares in place of all products",
            _squares_subtracted,
            "`weights * weights` holds the n squares only. They are subtracted from every row, where "
            "each row needs its own products wᵢwⱼ.",
            "Use `np.outer(weights, weights)`, or `weights[:, None] * weights[None, :]`.",
        ),
    ),
)


# --- 2.4 temperature_for ----------------------------------------------------------------------


def temperature_for(scores, largest):
    """Temperature at which the largest weight of softmax(scores / temperature) equals `largest`.

    scores (n,) with one clear maximum · largest between 1/n and 1, both exclusive.
    The largest weight falls as the temperature rises, so halving an interval finds it.
    """
    scores = np.asarray(scores, dtype=np.float64)
    gaps = scores.max() - scores  # (n,) 0 for the largest
    low, high = 1e-6, 1e6
    for _ in range(200):
        middle = np.sqrt(low * high)  # halve on a logarithmic scale
        if 1 / np.exp(-gaps / middle).sum() > largest:  # still too sharp
            low = middle
        else:
            high = middle
    return float(middle)


def _inverse_temperature(scores, largest):
    return 1 / temperature_for(scores, largest)


def _smallest_weight(scores, largest):
    return temperature_for(-np.asarray(scores), largest)


def _always_one(scores, largest):
    return 1.0


def _as_if_two_words(scores, largest):
    top = np.sort(scores)[::-1]
    return float((top[0] - top[1]) / np.log(largest / (1 - largest)))


def _ratio(scores, largest):
    return float(softmax(scores).max() / largest)


def _coarse(scores, largest):
    grid = np.linspace(0.1, 10, 100)
    found = [abs(softmax(np.asarray(scores) / t).max() - largest) for t in grid]
    return float(grid[int(np.argmin(found))])


def _ends_swapped(scores, largest):
    low, high = 1e-6, 1e6
    for _ in range(200):
        middle = np.sqrt(low * high)
        if softmax(scores / middle).max() > largest:
            high = middle
        else:
            low = middle
    return float(middle)


def _search(scores, largest, weight_of, high=1e6):
    low = 1e-6
    for _ in range(200):
        middle = np.sqrt(low * high)
        if weight_of(scores / middle) > largest:
            low = middle
        else:
            high = middle
    return float(middle)


def _overflowing(scores, largest):
    return _search(scores, largest, lambda s: (np.exp(s) / np.exp(s).sum()).max())


def _first_weight(scores, largest):
    return _search(scores, largest, lambda s: softmax(s)[0])


def _last_weight(scores, largest):
    return _search(scores, largest, lambda s: softmax(s)[-1])


def _lost_in_overflow(call: Call, result: Result) -> bool:
    """Lost where scores are large, or where the search has to come down from 1."""
    large = np.abs(call.args[0]).max() > 500 or temperature_for(*call.args) < 1
    return bool(large) and _at_an_end(call, result)


def _lost_unless_first(call: Call, result: Result) -> bool:
    return np.argmax(call.args[0]) != 0 and _at_an_end(call, result)


def _lost_unless_last(call: Call, result: Result) -> bool:
    scores = call.args[0]
    return np.argmax(scores) != len(scores) - 1 and _at_an_end(call, result)


def _at_an_end(call: Call, result: Result) -> bool:
    """The temperature is so high that all weights are even, or so low that one has everything."""
    if not isinstance(result.value, float) or not 0 < result.value < np.inf:
        return False
    scores, _ = call.args
    top = softmax(scores / result.value).max()
    return bool(top > 0.9999 or top < 1 / len(scores) + 1e-2)


def _temperatures(rng: np.random.Generator) -> list[Call]:
    calls = [Call((np.array([2.0, 0.0]), 0.8)), Call((np.array([3.0, 1.0, 0.0]), 0.5))]
    for n in (3, 4, 6):
        scores = rng.normal(0, 2, size=n)
        scores[int(rng.integers(n))] = scores.max() + rng.uniform(0.3, 1.5)
        calls.append(Call((scores, float(rng.uniform(1.2 / n, 0.95)))))
    calls.append(Call((np.array([100.0, 0.0, -50.0]), 0.9)))
    calls.append(Call((np.array([1000.0, 990.0]), 0.6)))
    calls.append(Call((np.array([0.0, 1.0, 3.0]), 0.6)))  # the largest stands last
    calls.append(Call((np.array([1000.0, 400.0, 0.0, -1000.0]), 0.3)))  # a temperature of thousands
    calls.append(Call((np.array([900.0, 0.0, -300.0]), 0.4)))
    return calls


TEMPERATURE_FOR = Exercise(
    id="temperature_for",
    number="2.4",
    chapter=CHAPTER,
    signature="temperature_for(scores, largest)",
    summary="the temperature that gives a wanted largest weight",
    difficulty=2,
    minutes=12,
    points=2,
    solution=temperature_for,
    returns=("temperature",),
    read="Temperature: from even to one-hot",
    hints=(
        "What happens to the largest weight as the temperature rises? It only ever goes down. A "
        "quantity that only goes one way can be found by halving an interval.",
        "Start with a low and a high temperature. Look at the largest weight in the middle: if it is "
        "above the wanted one the temperature is too low, so move the lower end up.",
        "`middle = np.sqrt(low * high)`; `if softmax(scores / middle).max() > largest: low = middle` "
        "else `high = middle`; 200 rounds, from 1e-6 to 1e6, are plenty.",
    ),
    probes=(
        Probe(
            "values",
            "softmax(scores / temperature) has exactly the wanted largest weight",
            _temperatures,
            tolerance=1e-3,
            cause="Put your temperature back: does `softmax(scores / temperature).max()` give the "
            "wanted weight?",
        ),
    ),
    mistakes=(
        Mistake(
            "inverse of the temperature",
            _inverse_temperature,
            "Your number is one over the right one: the scores are divided by the temperature, not "
            "multiplied.",
            "Return the number that the scores are divided by.",
        ),
        Mistake(
            "as if there were two scores",
            _as_if_two_words,
            "The formula (s₁ − s₂) / log(w / (1 − w)) holds for two scores only; the others take a "
            "share too.",
            "With more than two scores there is no closed formula: search for it.",
        ),
        Mistake(
            "always one",
            _always_one,
            "The temperature is 1 whatever weight is wanted.",
            "Search for the temperature at which the largest weight is `largest`.",
        ),
        Mistake(
            "ratio of the weights",
            _ratio,
            "The largest weight does not fall in proportion to the temperature, so one division does "
            "not find it.",
            "Halve an interval until the weight fits.",
        ),
        Mistake(
            "grid too coarse or too short",
            _coarse,
            "A fixed grid of temperatures misses the value between its points, or beyond its ends.",
            "Halve an interval from 1e-6 to 1e6 in place of a fixed grid.",
        ),
        Mistake(
            "smallest weight used",
            _smallest_weight,
            "The sign of the scores is flipped: the smallest weight becomes the wanted one.",
            "Look at `softmax(scores / temperature).max()`.",
        ),
        Mistake(
            "softmax of your own overflows",
            _overflowing,
            "Where scores are large your search goes astray: `exp` of a large score over a low "
            "temperature is infinite, the weight becomes NaN, and every comparison with NaN is false.",
            "Use the `softmax` of exercise 2.1, which subtracts the largest score first.",
            "The wrong way first: overflow",
            symptom=_lost_in_overflow,
        ),
        Mistake(
            "first weight instead of the largest",
            _first_weight,
            "You look at the weight of the first score. The largest score may stand anywhere.",
            "Look at `softmax(scores / temperature).max()`.",
            symptom=_lost_unless_first,
        ),
        Mistake(
            "last weight instead of the largest",
            _last_weight,
            "You look at the weight of the last score. The largest score may stand anywhere.",
            "Look at `softmax(scores / temperature).max()`.",
            symptom=_lost_unless_last,
        ),
        Mistake(
            "ends of the search swapped",
            _ends_swapped,
            "The search runs to one end of its interval and stays there: at your temperature the "
            "weights are all alike, or one has everything.",
            "A largest weight above the wanted one means too cold: move the lower end up.",
            symptom=_at_an_end,
        ),
    ),
)

EXERCISES = (SOFTMAX, LOG_SUM_EXP, SOFTMAX_JACOBIAN, TEMPERATURE_FOR)
