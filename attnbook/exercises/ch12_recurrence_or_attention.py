"""Chapter 12: fit_exponent, sequential_steps, weights_bytes, matching_width, fair_comparison."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np

from attnbook.exercises.exercise import Call, Exercise, Mistake, Probe

CHAPTER = "12-recurrence-or-attention"

# Headings of the chapter, for `read=`.
FAIR = "What a fair budget is"
STEPS = "Steps that have to wait"
MEMORY = "What is kept in memory"
SLOPE = "A slope, and where to fit it"
WRITING = "Reading is not writing"


# --- 12.1 matching_width ----------------------------------------------------------------------


def matching_width(n_gates, d_in, budget):
    """Largest width of a recurrent layer that has at most `budget` parameters."""

    def parameters(width):
        return n_gates * (d_in * width + width * width + 2 * width)

    width = 0
    while parameters(width + 1) <= budget:
        width += 1
    return width


def _widest(parameters: Callable) -> Callable:
    """The largest width within the budget, by another count of parameters."""

    def wrong(n_gates, d_in, budget):
        width = 0
        while parameters(n_gates, d_in, width + 1) <= budget:
            width += 1
        return width

    return wrong


def _count(n_gates, d_in, width):
    return n_gates * (d_in * width + width * width + 2 * width)


def _smallest_above(n_gates, d_in, budget):
    width = 0
    while _count(n_gates, d_in, width) < budget:
        width += 1
    return width


def _strictly_below(n_gates, d_in, budget):
    width = 0
    while _count(n_gates, d_in, width + 1) < budget:
        width += 1
    return width


def _at_most_1000(n_gates, d_in, budget):
    return min(1000, matching_width(n_gates, d_in, budget))


def _one_too_many(n_gates, d_in, budget):
    width = 0
    while _count(n_gates, d_in, width) <= budget:
        width += 1
    return width


def _parameters_themselves(n_gates, d_in, budget):
    return _count(n_gates, d_in, matching_width(n_gates, d_in, budget))


def _without_floor(n_gates, d_in, budget):
    half = (d_in + 2) / 2
    return math.sqrt(half * half + budget / n_gates) - half


def _exact_budgets(rng: np.random.Generator) -> list[Call]:
    """Budgets that a width meets exactly."""
    sizes = [(1, 2, 3), (3, 5, 4), (4, 7, 11), (3, int(rng.integers(8, 40)), 20)]
    return [Call((gates, d_in, _count(gates, d_in, width))) for gates, d_in, width in sizes]


def _budgets_between(rng: np.random.Generator) -> list[Call]:
    calls = [Call((1, 2, 22)), Call((3, 3, 225)), Call((3, 3, 250)), Call((1, 8, 1_300_000))]
    for n_gates, d_in, width in ((1, 32, 50), (3, 17, 40), (4, 24, 31), (3, 64, 12)):
        gap = _count(n_gates, d_in, width + 1) - _count(n_gates, d_in, width)
        more = int(rng.integers(gap // 2 + 1, gap))  # nearer to the next width
        calls.append(Call((n_gates, d_in, _count(n_gates, d_in, width) + more)))
    return calls


MATCHING_WIDTH = Exercise(
    id="matching_width",
    number="12.1",
    chapter=CHAPTER,
    signature="matching_width(n_gates, d_in, budget)",
    summary="the width at which a recurrent layer has the parameters it is allowed",
    difficulty=2,
    minutes=10,
    points=2,
    solution=matching_width,
    returns=("width",),
    read=FAIR,
    hints=(
        "Write the count first, as a function of the width: how many numbers do the two matrices and "
        "the two biases of one gate hold?",
        "One gate has `d_in * width + width * width + 2 * width` numbers, and there are `n_gates` of "
        "them. The count grows with the width, so try widths in turn.",
        "Begin with `width = 0`. While the count for `width + 1` is at most the budget, add 1. Return "
        "the width you end with.",
    ),
    probes=(
        Probe(
            "budgets between two widths",
            "the largest width whose parameters do not exceed the budget",
            _budgets_between,
            tolerance=1e-9,
            cause="Count the parameters of your width, and of the next one: the first may not exceed "
            "the budget, the second must.",
        ),
        Probe(
            "budgets met exactly",
            "a budget that is met exactly is not exceeded",
            _exact_budgets,
            tolerance=1e-9,
            cause="The layer may have exactly as many parameters as the budget.",
        ),
    ),
    mistakes=(
        Mistake(
            "gates forgotten",
            _widest(lambda n_gates, d_in, width: _count(1, d_in, width)),
            "You counted one gate. Each gate has matrices and biases of its own.",
            "Multiply the count of one gate by `n_gates`.",
        ),
        Mistake(
            "biases forgotten",
            _widest(lambda n_gates, d_in, width: n_gates * (d_in * width + width * width)),
            "The two matrices are counted, the biases are not.",
            "Each gate has two biases of `width` numbers.",
        ),
        Mistake(
            "one bias",
            _widest(lambda n_gates, d_in, width: n_gates * (d_in * width + width * width + width)),
            "You counted one bias for each gate. PyTorch keeps two, one beside each matrix.",
            "Add `2 * width` for each gate.",
        ),
        Mistake(
            "state matrix forgotten",
            _widest(lambda n_gates, d_in, width: n_gates * (d_in * width + 2 * width)),
            "You counted the matrix that reads the input. A second one reads the state of the step "
            "before: without it nothing is remembered.",
            "Add `width * width` for each gate.",
        ),
        Mistake(
            "input matrix forgotten",
            _widest(lambda n_gates, d_in, width: n_gates * (width * width + 2 * width)),
            "You counted the matrix that reads the state. Another one reads the input.",
            "Add `d_in * width` for each gate.",
        ),
        Mistake(
            "input as wide as the state",
            _widest(lambda n_gates, d_in, width: n_gates * (2 * width * width + 2 * width)),
            "Both matrices are square in your count. The one that reads the input has `d_in` columns, "
            "and `d_in` does not change with the width.",
            "The input matrix holds `d_in * width` numbers.",
        ),
        Mistake(
            "gates counted for the input only",
            _widest(lambda n_gates, d_in, width: n_gates * d_in * width + width**2 + 2 * width),
            "Only the input matrix is multiplied by `n_gates`. Every gate reads the state too, with a "
            "matrix of its own.",
            "Multiply the whole count of one gate.",
        ),
        Mistake(
            "first width at or above the budget",
            _smallest_above,
            "You return the first width that reaches the budget. Unless it meets it exactly, that "
            "layer has more parameters than it is allowed.",
            "Return the last width that still fits.",
        ),
        Mistake(
            "search that ends at 1000",
            _at_most_1000,
            "Your search ends at a width of 1000. A budget of more than a million parameters allows more.",
            "Search until the budget is exceeded, not up to a number of your own.",
        ),
        Mistake(
            "one too wide",
            _one_too_many,
            "Your loop stops at the first width that no longer fits, and returns that one.",
            "Return the width before it, or test `width + 1` in the loop.",
        ),
        Mistake(
            "met exactly is refused",
            _strictly_below,
            "A layer with exactly as many parameters as the budget is refused.",
            "Compare with `<=`.",
        ),
        Mistake(
            "parameters in place of the width",
            _parameters_themselves,
            "This is the number of parameters of the right layer. Its width is asked for.",
            "Return the width.",
        ),
        Mistake(
            "width that is no whole number",
            _without_floor,
            "You solved the equation and left the result as it is. A layer has a whole number of "
            "units.",
            "Round *down*.",
        ),
    ),
)


# --- 12.2 sequential_steps --------------------------------------------------------------------


def sequential_steps(kind, seq_len, n_layers, writing=False):
    """Layer steps in the longest chain in which each has to wait for the one before."""
    if writing:  # the next token goes in when the last layer has named it
        return seq_len * n_layers
    if kind == "attention":  # a layer needs the layer below, whole, and nothing else
        return n_layers
    return seq_len + n_layers - 1  # along the text, then up; or up, then along


def _steps(
    recurrent: Callable = lambda n, layers: n + layers - 1,
    attention: Callable = lambda n, layers: layers,
    writing: Callable = lambda kind, n, layers: n * layers,
) -> Callable:
    """sequential_steps with one of its three cases replaced."""

    def wrong(kind, seq_len, n_layers, writing_=False, **named):
        if named.get("writing", writing_):
            return writing(kind, seq_len, n_layers)
        return (attention if kind == "attention" else recurrent)(seq_len, n_layers)

    return wrong


def _reads_in(kind, n, layers):
    return sequential_steps(kind, n, layers)


_LENGTHS = ((7, 1), (5, 3), (3, 5), (1, 4), (64, 2), (128, 6))


def _random_sizes(rng):
    return [(int(rng.integers(9, 400)), int(rng.integers(2, 9))) for _ in range(3)]


def _reading(kind: str) -> Callable:
    return lambda rng: [Call((kind, n, layers)) for n, layers in (*_LENGTHS, *_random_sizes(rng))]


def _written(rng: np.random.Generator) -> list[Call]:
    return [
        Call((kind, n, layers), {"writing": True})
        for n, layers in (*_LENGTHS, *_random_sizes(rng))
        for kind in ("recurrent", "attention")
    ]


SEQUENTIAL_STEPS = Exercise(
    id="sequential_steps",
    number="12.2",
    chapter=CHAPTER,
    signature="sequential_steps(kind, seq_len, n_layers, writing=False)",
    summary="the longest chain of steps that have to wait for one another",
    difficulty=2,
    minutes=12,
    points=2,
    solution=sequential_steps,
    returns=("steps",),
    read=STEPS,
    hints=(
        "Draw a grid: tokens to the right, layers upward, a dot for each layer at each token. Draw an "
        "arrow to each dot from every dot it needs. The longest path along arrows is asked for; count "
        "its dots.",
        "Reading with recurrence: a dot needs the one to its left and the one below. Every path goes "
        "right and up only. Reading with attention: a dot needs dots of the layer below, never one of "
        "its own layer.",
        "Reading: `seq_len + n_layers - 1` for recurrence, `n_layers` for attention. Writing: token "
        "after token must climb through all layers, whatever they are made of.",
    ),
    probes=(
        Probe(
            "reading with attention",
            "attention reads all tokens of a layer at once",
            _reading("attention"),
            tolerance=1e-9,
            cause="Which steps of one attention layer have to wait for one another?",
        ),
        Probe(
            "reading with recurrence",
            "a recurrent layer goes from token to token, and the layer above follows close behind",
            _reading("recurrent"),
            tolerance=1e-9,
            cause="The second layer need not wait until the first has read the whole text.",
        ),
        Probe(
            "writing",
            "who writes token after token needs all layers for each",
            _written,
            tolerance=1e-9,
            cause="The next token is known when the last layer is done with this one.",
            read=WRITING,
        ),
    ),
    mistakes=(
        Mistake(
            "layers one after the other",
            _steps(recurrent=lambda n, layers: n * layers),
            "For reading with recurrence you let each layer wait until the one below has read the "
            "whole text. It can follow one token behind.",
            "A step needs its left neighbour and the step below: the longest path goes right and up.",
        ),
        Mistake(
            "layers of the recurrent network forgotten",
            _steps(recurrent=lambda n, layers: n),
            "For recurrence you count the tokens only. After the last token the upper layers still "
            "have to follow.",
            "The path goes along the text and up through the layers.",
        ),
        Mistake(
            "corner counted twice",
            _steps(recurrent=lambda n, layers: n + layers),
            "The step at the corner, where the path turns, is counted twice.",
            "With one layer and one token there is one step.",
        ),
        Mistake(
            "tokens counted in place of waiting",
            _steps(attention=lambda n, layers: n * layers),
            "For attention you count every token in every layer. They are computed, true, but none "
            "waits for another of its layer.",
            "Count only steps that need one another.",
        ),
        Mistake(
            "attention as recurrence",
            _steps(attention=lambda n, layers: n + layers - 1),
            "You treat attention like recurrence. Its tokens do not wait for the token before.",
            "A step of an attention layer needs the layer below and nothing of its own layer.",
        ),
        Mistake(
            "pairs counted",
            _steps(attention=lambda n, layers: n * n * layers),
            "You count pairs of tokens. That is the *work* of attention; all pairs of a layer can be "
            "done at the same time.",
            "Count only steps that need one another.",
        ),
        Mistake(
            "layers of attention forgotten",
            _steps(attention=lambda n, layers: 1),
            "One step for attention, however many layers: but the second layer needs what the first "
            "has found.",
            "Each layer waits for the one below.",
        ),
        Mistake(
            "writing like reading",
            _steps(writing=_reads_in),
            "You give writing the same number as reading. When a model writes, the next token is not "
            "there until the last layer has named it.",
            "Each token has to climb through all layers before the next one can begin.",
            WRITING,
        ),
        Mistake(
            "writing as if attention were parallel",
            _steps(writing=lambda kind, n, layers: layers if kind == "attention" else n * layers),
            "Attention is parallel over tokens that are *there*. In writing, each next token has to be "
            "found first.",
            "Writing takes the same chain for both kinds.",
            WRITING,
        ),
        Mistake(
            "recurrent writing without the way up",
            _steps(
                writing=lambda kind, n, layers: (
                    n + layers - 1 if kind == "recurrent" else n * layers
                )
            ),
            "For recurrent writing the lower layer runs ahead in your count. But it needs the next "
            "token, and the last layer names it.",
            "Each token has to climb through all layers before the next one can begin.",
            WRITING,
        ),
        Mistake(
            "first token left out in writing",
            _steps(writing=lambda kind, n, layers: (n - 1) * layers),
            "Writing, you left out one token. The first is there, but it has to go through all layers "
            "like the others.",
            "All `seq_len` tokens climb through all layers.",
        ),
        Mistake(
            "writing with one layer",
            _steps(writing=lambda kind, n, layers: n),
            "For writing you count one step for each token. Each token climbs through all layers.",
            "Multiply by the number of layers.",
            WRITING,
        ),
        Mistake(
            "writing as tokens plus layers",
            _steps(writing=lambda kind, n, layers: n + layers - 1),
            "For writing you let the lower layers run ahead. They need the next token, and the last "
            "layer has to name it first.",
            "Each token has to climb through all layers before the next one can begin.",
            WRITING,
        ),
    ),
)


# --- 12.3 weights_bytes -----------------------------------------------------------------------


def weights_bytes(batch, n_heads, seq_len, dtype):
    """Bytes of the table of weights of one attention layer."""
    return batch * n_heads * seq_len**2 * np.dtype(dtype).itemsize


def _sizes(rng: np.random.Generator) -> list[Call]:
    calls = [
        Call((1, 1, 3, "float32")),
        Call((2, 3, 5, "float64")),
        Call((3, 5, 7, "float16")),
        Call((5, 2, 11, "float32")),
        Call((7, 12, 1, "float16")),
        Call((1, 12, 4096, "float16")),
    ]
    for dtype in ("float16", "float32", "float64"):
        batch, n_heads = (int(n) for n in rng.choice([2, 3, 5, 6, 7, 9], size=2, replace=False))
        calls.append(Call((batch, n_heads, int(rng.integers(13, 3000)), dtype)))
    return calls


def _bytes(dtype):
    return np.dtype(dtype).itemsize


WEIGHTS_BYTES = Exercise(
    id="weights_bytes",
    number="12.3",
    chapter=CHAPTER,
    signature="weights_bytes(batch, n_heads, seq_len, dtype)",
    summary="the bytes that the weights of one attention layer take",
    difficulty=1,
    minutes=8,
    points=2,
    solution=weights_bytes,
    returns=("size",),
    read=MEMORY,
    hints=(
        "What is the shape of the weights of a multi-head layer? Chapter 9 has it.",
        "(batch, n_heads, seq_len, seq_len). The number of entries is the product of the four sizes.",
        "`np.dtype(dtype).itemsize` is the number of bytes of one entry: 2, 4 or 8. Multiply.",
    ),
    probes=(
        Probe(
            "bytes",
            "entries of the table (batch, n_heads, seq_len, seq_len), times the bytes of one",
            _sizes,
            tolerance=1e-9,
            cause="Multiply the four sizes of the table and the bytes of one number.",
        ),
    ),
    mistakes=(
        Mistake(
            "heads forgotten",
            lambda batch, n_heads, seq_len, dtype: batch * seq_len**2 * _bytes(dtype),
            "You counted one table for each text. Every head has its own.",
            "Multiply by `n_heads`.",
        ),
        Mistake(
            "batch forgotten",
            lambda batch, n_heads, seq_len, dtype: n_heads * seq_len**2 * _bytes(dtype),
            "You counted the tables of one text. Every text of the batch has its own.",
            "Multiply by `batch`.",
        ),
        Mistake(
            "batch and heads forgotten",
            lambda batch, n_heads, seq_len, dtype: seq_len**2 * _bytes(dtype),
            "You counted one table. There is one for each head of each text.",
            "Multiply by `batch` and by `n_heads`.",
        ),
        Mistake(
            "one row only",
            lambda batch, n_heads, seq_len, dtype: batch * n_heads * seq_len * _bytes(dtype),
            "You counted the weights of one query. Every token asks.",
            "The table has `seq_len` rows and `seq_len` columns.",
        ),
        Mistake(
            "entries in place of bytes",
            lambda batch, n_heads, seq_len, dtype: batch * n_heads * seq_len**2,
            "You counted the entries. Each takes several bytes.",
            "Multiply by `np.dtype(dtype).itemsize`.",
        ),
        Mistake(
            "bits in place of bytes",
            lambda batch, n_heads, seq_len, dtype: batch * n_heads * seq_len**2 * 8 * _bytes(dtype),
            "You counted bits: the 32 in float32 is a number of bits, and a byte has eight.",
            "float16, float32, float64: 2, 4, 8 bytes.",
        ),
        Mistake(
            "always four bytes",
            lambda batch, n_heads, seq_len, dtype: batch * n_heads * seq_len**2 * 4,
            "You take four bytes for each number. That holds for float32.",
            "float16, float32, float64: 2, 4, 8 bytes.",
        ),
        Mistake(
            "always eight bytes",
            lambda batch, n_heads, seq_len, dtype: batch * n_heads * seq_len**2 * 8,
            "You take eight bytes for each number. That holds for float64.",
            "float16, float32, float64: 2, 4, 8 bytes.",
        ),
        Mistake(
            "scores counted as well",
            lambda batch, n_heads, seq_len, dtype: (
                2 * weights_bytes(batch, n_heads, seq_len, dtype)
            ),
            "This is twice as much: perhaps the scores are in it. The weights alone are asked for.",
            "Leave out the factor 2.",
        ),
        Mistake(
            "half of the table",
            lambda batch, n_heads, seq_len, dtype: (
                batch * n_heads * (seq_len * (seq_len + 1) // 2) * _bytes(dtype)
            ),
            "You counted the lower triangle. A causal mask makes the other half zero, but the zeros "
            "are stored as well.",
            "Count the whole table.",
        ),
        Mistake(
            "divided by the heads",
            lambda batch, n_heads, seq_len, dtype: (
                batch * seq_len**2 * _bytes(dtype) / n_heads if n_heads > 1 else 0
            ),
            "More heads make the width of each smaller, not its table: every head weighs all tokens.",
            "Multiply by `n_heads`.",
        ),
        Mistake(
            "kilobytes",
            lambda batch, n_heads, seq_len, dtype: (
                weights_bytes(batch, n_heads, seq_len, dtype) / 1024
            ),
            "The number is divided by 1024. Bytes are asked for.",
            "Leave out the division.",
        ),
        Mistake(
            "mebibytes",
            lambda batch, n_heads, seq_len, dtype: (
                weights_bytes(batch, n_heads, seq_len, dtype) / 2**20
            ),
            "The number is divided by 1024 twice. Bytes are asked for.",
            "Leave out the division.",
        ),
        Mistake(
            "cubed",
            lambda batch, n_heads, seq_len, dtype: batch * n_heads * seq_len**3 * _bytes(dtype),
            "The length comes in three times. The table has rows and columns.",
            "The table has `seq_len` rows and `seq_len` columns.",
        ),
    ),
)


# --- 12.4 fit_exponent ------------------------------------------------------------------------


def fit_exponent(lengths, costs):
    """Exponent p of the power law costs = c · lengths**p that fits best on logarithmic axes."""
    x, y = np.log(lengths), np.log(costs)
    x, y = x - x.mean(), y - y.mean()
    return float((x * y).sum() / (x * x).sum())


def _line(x, y):
    """Slope and intercept of the best straight line."""
    slope = ((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum()
    return slope, y.mean() - slope * x.mean()


def _swapped(lengths, costs):
    with warnings.catch_warnings():  # equal costs are no line to stand on
        warnings.simplefilter("ignore")
        return np.polyfit(np.log(costs), np.log(lengths), 1)[0]


def _exact(rng: np.random.Generator) -> list[Call]:
    calls = [Call((np.array([1.0, 2.0, 4.0]), np.array([3.0, 12.0, 48.0])))]
    for exponent, factor in ((1.0, 5.0), (2.0, 1e-7), (0.5, 40.0), (-1.0, 7.0), (1.37, 0.01)):
        lengths = np.array([10.0, 30.0, 70.0, 200.0])
        calls.append(Call((lengths, factor * lengths**exponent)))
    return calls


def _noisy(rng: np.random.Generator) -> list[Call]:
    calls = []
    for exponent, n in ((2.0, 3), (1.0, 4), (1.6, 6), (3.0, 5)):
        lengths = np.sort(rng.choice(np.arange(16.0, 4000.0, 3.0), size=n, replace=False))
        noise = np.exp(rng.normal(scale=0.3, size=n))
        calls.append(Call((lengths, 1e-3 * lengths**exponent * noise)))
    return calls


def _whole_numbers(rng: np.random.Generator) -> list[Call]:
    lengths = np.array([256, 512, 1024])
    return [Call((lengths, 3 * lengths**2)), Call((lengths[::-1].copy(), 7 * lengths[::-1]))]


def _flat(rng: np.random.Generator) -> list[Call]:
    return [Call((np.array([8.0, 64.0, 128.0]), np.array([5.0, 5.0, 5.0])))]


FIT_EXPONENT = Exercise(
    id="fit_exponent",
    number="12.4",
    chapter=CHAPTER,
    signature="fit_exponent(lengths, costs)",
    summary="the exponent with which a cost grows",
    difficulty=2,
    minutes=10,
    points=2,
    solution=fit_exponent,
    returns=("exponent",),
    read=SLOPE,
    hints=(
        "If cost = c · length to the power p, what is the logarithm of the cost? Which letter is the "
        "slope?",
        "log cost = log c + p · log length: a straight line. Take the logarithm of both arrays, then "
        "fit a line.",
        "`np.polyfit(np.log(lengths), np.log(costs), 1)` returns slope and intercept, in this order.",
    ),
    probes=(
        Probe(
            "exact powers",
            "costs that are a power of the length, times a constant, give that power",
            _exact,
            cause="The slope of log(costs) over log(lengths) is the exponent. The constant moves the "
            "line up or down and does not tilt it.",
        ),
        Probe(
            "measured costs",
            "with noise in the costs: the line of least squares through all points",
            _noisy,
            cause="All points count, not the first and the last alone.",
        ),
        Probe(
            "whole numbers, any order",
            "whole numbers, and lengths that fall",
            _whole_numbers,
            cause="The order of the points makes no difference to a line.",
        ),
        Probe(
            "no growth",
            "a cost that does not grow has exponent 0",
            _flat,
            cause="The logarithms of equal costs are equal: the slope is 0.",
        ),
    ),
    mistakes=(
        Mistake(
            "logarithm of the costs only",
            lambda lengths, costs: _line(np.asarray(lengths, float), np.log(costs))[0],
            "You took the logarithm of the costs and left the lengths as they are. That fits an "
            "exponential, cost = c · e to the power a · length.",
            "Take the logarithm of both.",
        ),
        Mistake(
            "logarithm of the lengths only",
            lambda lengths, costs: _line(np.log(lengths), np.asarray(costs, float))[0],
            "You took the logarithm of the lengths and left the costs as they are.",
            "Take the logarithm of both.",
        ),
        Mistake(
            "no logarithm",
            lambda lengths, costs: _line(np.asarray(lengths, float), np.asarray(costs, float))[0],
            "This is the slope of costs over lengths: how much one more token costs. It changes with "
            "the unit of time; the exponent does not.",
            "Take the logarithm of both.",
        ),
        Mistake(
            "axes swapped",
            _swapped,
            "You fitted the lengths over the costs. For exact powers this is one over the exponent.",
            "Lengths go to the right, costs upward: `np.polyfit(x, y, 1)` with lengths as x.",
        ),
        Mistake(
            "first and last point only",
            lambda lengths, costs: np.log(costs[-1] / costs[0]) / np.log(lengths[-1] / lengths[0]),
            "You use the first and the last point only. One bad measurement there, and all is off.",
            "Fit a line through all points.",
        ),
        Mistake(
            "last two points only",
            lambda lengths, costs: (
                np.log(costs[-1] / costs[-2]) / np.log(lengths[-1] / lengths[-2])
            ),
            "You use the last two points only. One bad measurement there, and all is off.",
            "Fit a line through all points.",
        ),
        Mistake(
            "mean of the slopes between neighbours",
            lambda lengths, costs: np.mean(np.diff(np.log(costs)) / np.diff(np.log(lengths))),
            "You average the slopes between neighbours. Two points close together then count as much "
            "as two far apart.",
            "Fit one line through all points.",
        ),
        Mistake(
            "line forced through zero",
            lambda lengths, costs: (
                (np.log(lengths) * np.log(costs)).sum() / (np.log(lengths) ** 2).sum()
            ),
            "Your line goes through the origin, as if a text of length 1 had cost 1. Then the result "
            "changes with the unit.",
            "Fit a line with an intercept.",
        ),
        Mistake(
            "quotient of the logarithms",
            lambda lengths, costs: np.mean(
                np.log(costs[lengths > 1]) / np.log(lengths[lengths > 1])
            ),
            "You divided log cost by log length. That is the slope only if the constant is 1.",
            "The slope is a *difference* of logarithms over a difference of logarithms.",
        ),
        Mistake(
            "intercept in place of the slope",
            lambda lengths, costs: _line(np.log(lengths), np.log(costs))[1],
            "This is the intercept, the logarithm of the constant. `np.polyfit` returns the slope "
            "first.",
            "Take entry 0 of what `np.polyfit(…, 1)` returns.",
        ),
        Mistake(
            "two kinds of logarithm",
            lambda lengths, costs: _line(np.log2(lengths), np.log10(costs))[0],
            "The two logarithms have different bases, 2 and 10, so the slope is multiplied by log10(2).",
            "Any base will do, if it is the same for both.",
        ),
        Mistake(
            "correlation",
            lambda lengths, costs: (
                float("nan")
                if np.ptp(costs) == 0
                else np.corrcoef(np.log(lengths), np.log(costs))[0, 1]
            ),
            "This is the correlation: how straight the line is, not how steep.",
            "The slope is asked for.",
        ),
        Mistake(
            "factor per doubling",
            lambda lengths, costs: 2 ** _line(np.log(lengths), np.log(costs))[0],
            "This is the factor by which the cost grows when the length doubles: 4 for exponent 2.",
            "Its logarithm to base 2 is the exponent.",
        ),
        Mistake(
            "quotient of the spreads",
            lambda lengths, costs: np.std(np.log(costs)) / np.std(np.log(lengths)),
            "You divided the spread of the log costs by that of the log lengths. That is never "
            "negative, and noise in the costs makes it too large.",
            "The slope of least squares multiplies the deviations of both, point by point.",
        ),
        Mistake(
            "rounded",
            lambda lengths, costs: round(_line(np.log(lengths), np.log(costs))[0]),
            "The exponent is rounded to a whole number. What is measured need not be one.",
            "Return the slope as it is.",
        ),
    ),
)


# --- 12.5 fair_comparison ---------------------------------------------------------------------

FAIR_COMPARISON = Exercise(
    id="fair_comparison",
    number="12.5",
    chapter=CHAPTER,
    signature='a letter, such as "A"',
    summary="which of the five experiments supports the sentence",
    kind="answer",
    difficulty=1,
    minutes=5,
    points=1,
    solution='fair_comparison = "C"',
    read=FAIR,
    hints=(
        "For each experiment ask: what differs between the two, apart from the layer? And what does "
        "the sentence speak of: texts, seconds or parameters?",
        "A rate that is good for one may be bad for the other. A number chosen because it was the "
        "best is not what you get next time. Equal seconds are not equal texts.",
        "One experiment tunes both alike, gives both the same texts, tests on texts nobody has chosen "
        "by, and reports every seed.",
    ),
    mistakes=(
        Mistake(
            "tuned for one",
            "A",
            "In A both have the same learning rate, but it was chosen for the attention. You do not "
            "know what the GRU does with a rate of its own. In this chapter that made the difference "
            "between guessing and being right.",
            "The same *procedure* for both is fair, not the same number.",
        ),
        Mistake(
            "more texts for one",
            "B",
            "In B the attention is trained until it is right, and so may see more texts than the GRU. "
            "The sentence is about the number of texts.",
            "Both must have the same number of texts.",
        ),
        Mistake(
            "best of many, on the texts it was chosen by",
            "D",
            "In D the best seed is picked on the test texts. The best of five is not what you get "
            "from one, and texts by which you chose no longer test.",
            "Look for fresh texts and for all seeds.",
        ),
        Mistake(
            "seconds in place of texts",
            "E",
            "E is fair for a sentence about *seconds*. In ten seconds the quicker layer sees more "
            "texts, so it says nothing about learning from fewer texts.",
            "The budget must be counted in what the sentence speaks of.",
        ),
    ),
)

EXERCISES = (MATCHING_WIDTH, SEQUENTIAL_STEPS, WEIGHTS_BYTES, FIT_EXPONENT, FAIR_COMPARISON)
