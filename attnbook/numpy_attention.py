"""Attention in NumPy, grown chapter by chapter; read it from top to bottom.

Scores are compared, turned into weights that sum to one, and used to mix values.
Vaswani et al. 2017, section 3.2.
"""

from __future__ import annotations

import numpy as np


def softmax(scores, axis=-1):
    """Turn scores into positive weights that sum to one along an axis.

    scores (...) any real dtype; floats keep their dtype, integers become float64.
    Returns weights of the same shape. Stable: the largest score of each slice is subtracted
    first, which changes nothing (softmax only sees differences) and keeps exp from overflowing.
    Bridle 1990.
    """
    scores = np.asarray(scores)
    if not np.issubdtype(scores.dtype, np.floating):
        scores = scores.astype(np.float64)
    shifted = scores - scores.max(axis=axis, keepdims=True)  # largest becomes 0
    exponentials = np.exp(shifted)  # same shape, each in (0, 1]
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def log_sum_exp(scores, axis=-1):
    """Logarithm of the sum of exponentials along an axis, without overflow.

    scores (...) -> scores' shape without `axis`; a slice that is all -inf gives -inf.
    It is a smooth maximum: at most log(n) above the largest of n scores.
    Blanchard, Higham and Higham 2021.
    """
    scores = np.asarray(scores)
    if not np.issubdtype(scores.dtype, np.floating):
        scores = scores.astype(np.float64)
    largest = scores.max(axis=axis, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0).astype(scores.dtype)  # -inf - -inf is NaN
    with np.errstate(divide="ignore"):  # log(0) = -inf is the right answer for an empty slice
        result = np.log(np.exp(scores - largest).sum(axis=axis, keepdims=True)) + largest
    return np.squeeze(result, axis=axis)
