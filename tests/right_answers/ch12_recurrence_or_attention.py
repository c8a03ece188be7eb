"""Right answers to chapter 12 written in ways a check must not reject."""

import bisect
import functools
import math
import statistics

import numpy as np

from attnbook.exercises.ch12_recurrence_or_attention import sequential_steps as library_steps

# --- matching_width -------------------------------------------------------------------------------


def width_by_formula(n_gates, d_in, budget):
    """n_gates (w² + (d_in + 2) w) <= budget, solved in whole numbers."""
    b = d_in + 2
    return (math.isqrt(b * b + 4 * (budget // n_gates)) - b) // 2


def width_by_search(n_gates, d_in, budget):
    widths = range(budget + 2)
    count = functools.partial(_count, n_gates, d_in)
    return bisect.bisect_right(widths, budget, key=count) - 1


def _count(n_gates, d_in, width):
    return n_gates * width * (d_in + width + 2)


def width_downward(n_gates, d_in, budget):
    width = math.isqrt(budget)
    while _count(n_gates, d_in, width) > budget:
        width -= 1
    return width


def width_of_all_at_once(n_gates, d_in, budget):
    widths = np.arange(budget + 1)
    return widths[n_gates * widths * (d_in + widths + 2) <= budget].max()


def width_by_first_too_wide(n_gates, d_in, budget):
    return next(w for w in range(budget + 2) if _count(n_gates, d_in, w + 1) > budget)


def width_as_a_float(n_gates, d_in, budget):
    return float(width_by_formula(n_gates, d_in, budget))


# --- sequential_steps -----------------------------------------------------------------------------


def steps_by_filling_a_grid(kind, seq_len, n_layers, writing=False):
    """When is each layer done at each token, if all work as soon as they can?"""
    done = np.zeros((n_layers + 1, seq_len + 1), dtype=int)
    for token in range(1, seq_len + 1):
        for layer in range(1, n_layers + 1):
            needs = [done[layer - 1, token]]
            if writing:
                needs.append(done[n_layers, token - 1])
            elif kind == "recurrent":
                needs.append(done[layer, token - 1])
            done[layer, token] = 1 + max(needs)
    return done.max()


def steps_as_a_table(kind, seq_len, n_layers, writing=False):
    table = {
        ("recurrent", False): seq_len - 1 + n_layers,
        ("attention", False): n_layers,
    }
    return table.get((kind, bool(writing)), n_layers * seq_len)


def steps_by_recursion(kind, seq_len, n_layers, writing=False):
    if writing:
        return sum(n_layers for _ in range(seq_len))
    if kind == "attention":
        return sum(1 for _ in range(n_layers))
    return len({(t, 0) for t in range(seq_len)} | {(seq_len - 1, k) for k in range(n_layers)})


def steps_positional(*args, **kwargs):
    return library_steps(*args, **kwargs)


def steps_as_a_float(kind, seq_len, n_layers, writing=False):
    return float(library_steps(kind, seq_len, n_layers, writing))


# --- weights_bytes --------------------------------------------------------------------------------


def bytes_of_an_array(batch, n_heads, seq_len, dtype):
    one_row = np.zeros(seq_len, dtype)
    return one_row.nbytes * seq_len * n_heads * batch


def bytes_by_name(batch, n_heads, seq_len, dtype):
    size = {"float16": 2, "float32": 4, "float64": 8}[dtype]
    return math.prod((batch, n_heads, seq_len, seq_len, size))


def bytes_by_bits(batch, n_heads, seq_len, dtype):
    return np.finfo(dtype).bits * batch * n_heads * seq_len * seq_len // 8


def bytes_as_a_float(batch, n_heads, seq_len, dtype):
    return float(seq_len) ** 2 * batch * n_heads * np.dtype(dtype).itemsize


def bytes_of_a_view(batch, n_heads, seq_len, dtype):
    shape = (batch, n_heads, seq_len, seq_len)
    return np.broadcast_to(np.zeros((), dtype), shape).size * np.zeros(1, dtype).nbytes


def bytes_of_a_table_never_made(batch, n_heads, seq_len, dtype):
    """One number, seen from everywhere; nbytes counts it everywhere."""
    return np.broadcast_to(np.zeros((), dtype), (batch, n_heads, seq_len, seq_len)).nbytes


# --- fit_exponent ---------------------------------------------------------------------------------


def slope_by_polyfit(lengths, costs):
    return np.polyfit(np.log(lengths), np.log(costs), 1)[0]


def slope_base_two(lengths, costs):
    slope, _ = np.polyfit(np.log2(lengths), np.log2(costs), 1)
    return slope


def slope_by_least_squares(lengths, costs):
    design = np.stack([np.ones(len(lengths)), np.log10(lengths)], axis=1)
    return np.linalg.lstsq(design, np.log10(costs), rcond=None)[0][1]


def slope_by_statistics(lengths, costs):
    x, y = [math.log(n) for n in lengths], [math.log(c) for c in costs]
    return statistics.linear_regression(x, y).slope


def slope_by_covariance(lengths, costs):
    table = np.cov(np.log(lengths), np.log(costs))
    return table[0, 1] / table[0, 0]


def slope_by_polynomial(lengths, costs):
    line = np.polynomial.Polynomial.fit(np.log(lengths), np.log(costs), 1)
    return line.convert(domain=[-1, 1], kind=np.polynomial.Polynomial).deriv()(0.0)


RIGHT = {
    "matching_width": [
        width_by_formula,
        width_by_search,
        width_downward,
        width_of_all_at_once,
        width_by_first_too_wide,
        width_as_a_float,
    ],
    "sequential_steps": [
        steps_by_filling_a_grid,
        steps_as_a_table,
        steps_by_recursion,
        steps_positional,
        steps_as_a_float,
    ],
    "weights_bytes": [
        bytes_of_an_array,
        bytes_by_name,
        bytes_by_bits,
        bytes_as_a_float,
        bytes_of_a_view,
        bytes_of_a_table_never_made,
    ],
    "fit_exponent": [
        slope_by_polyfit,
        slope_base_two,
        slope_by_least_squares,
        slope_by_statistics,
        slope_by_covariance,
        slope_by_polynomial,
    ],
    "fair_comparison": ["C", "c", " C "],
}
