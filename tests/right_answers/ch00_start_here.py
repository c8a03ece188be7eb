"""Right answers to chapter 0 written in ways a check must not reject."""

import functools
import math

import numpy as np


def dot_sign(a, b):
    return a @ b


def dot_sum_of_products(a, b):
    return (a * b).sum()


def dot_python_sum(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def dot_mended(a, b):
    total = a.dtype.type(0)
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


def dot_zero_of_the_result(a, b):
    total = np.zeros((), dtype=a.dtype)
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def dot_array_filled(a, b):
    total = np.zeros(1, dtype=a.dtype)
    for i in range(len(a)):
        total[0] += a[i] * b[i]
    return total[0]


def dot_empty_first(a, b):
    if len(a) == 0:
        return 0
    total = a[0] * b[0]
    for i in range(1, len(a)):
        total = total + a[i] * b[i]
    return total


def dot_while(a, b):
    i, total = len(a), a.dtype.type(0)
    while i:
        i -= 1
        total = total + a[i] * b[i]
    return total


def dot_recursive(a, b):
    return a.dtype.type(0) if len(a) == 0 else a[0] * b[0] + dot_recursive(a[1:], b[1:])


def dot_plain_number(a, b):
    return math.fsum(float(x) * float(y) for x, y in zip(a, b, strict=True))


def dot_item(a, b):
    return (a.reshape(1, -1) @ b.reshape(-1, 1)).item()


def dot_einsum(a, b):
    return np.einsum("i,i->", a, b)


def dot_tensordot(a, b):
    return np.tensordot(a, b, axes=1)


def dot_diagonal(a, b):
    return np.trace(np.outer(a, b)).astype(a.dtype)


def dot_reduce(a, b):
    return functools.reduce(lambda total, pair: total + pair, a * b, a.dtype.type(0))


def dot_prints(a, b):
    print(a, b)
    return a @ b


def dot_builtin_sum(a, b):
    return sum(a * b)


def dot_as_a_plain_float(a, b):
    return a.dot(b).tolist()


def dot_filled_backwards(a, b):
    total = a.dtype.type(0)
    for i in range(len(a)):
        total = total + a[-1 - i] * b[-1 - i]
    return total


def dot_float_at_the_end(a, b):
    total = 0.0
    for i in range(len(a)):
        total += float(a[i] * b[i])
    return total


RIGHT = {
    "dot": [
        dot_sign,
        dot_sum_of_products,
        dot_mended,
        dot_zero_of_the_result,
        dot_array_filled,
        dot_empty_first,
        dot_while,
        dot_recursive,
        dot_plain_number,
        dot_item,
        dot_einsum,
        dot_tensordot,
        dot_diagonal,
        dot_reduce,
        dot_prints,
        dot_float_at_the_end,
        dot_as_a_plain_float,
        dot_filled_backwards,
        np.dot,
        np.inner,
        np.vdot,
    ],
    "read_weights": [(3, 0), [3, 0], np.array([3, 0]), (np.int64(3), np.int64(0))],
    "result_shape": [(5,), [5], np.zeros(5).shape, np.ones((5, 3)).sum(axis=1).shape],
}
if int(np.__version__.split(".")[0]) >= 2:  # before, 0 + float32 became float64 as NumPy's rule
    RIGHT["dot"] += [dot_python_sum, dot_builtin_sum]
