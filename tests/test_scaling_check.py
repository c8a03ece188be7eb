"""The check of `scaled_scores` says which factor was used, known mistake or not."""

import math

import numpy as np
import pytest

from attnbook.exercises import grade

CONSTANTS = {
    "divide by 2,": lambda q, k: q @ k.T / 2,
    "divide by 8 (which is √64)": lambda q, k: q @ k.T / 8,
    "divide by 22.63 (which is √512)": lambda q, k: q @ k.T / math.sqrt(512),
    "multiply by 8 (which is √64)": lambda q, k: 8 * q @ k.T,
}


@pytest.mark.parametrize("said", CONSTANTS)
def test_a_constant_divisor_is_recovered_and_named(said):
    for seed in range(5):
        outcome = grade("scaled_scores", CONSTANTS[said], seed)
        assert outcome.mistake == "divided by a constant"
        assert said in outcome.cause
        assert "the root of the width" in outcome.cause


def test_a_divisor_that_is_no_known_size_is_shown_at_three_widths():
    outcome = grade("scaled_scores", lambda q, k: q @ k.T / math.sqrt(1 + q.shape[-1]))
    assert outcome.mistake == "divided by something else"
    assert "divide by 2.236, 2, 3.162 at the widths 4, 3, 9" in outcome.cause


def test_a_numpy_square_root_that_lifts_the_type_is_named():
    outcome = grade("scaled_scores", lambda q, k: q @ k.T / np.sqrt(q.shape[-1]))
    assert outcome.mistake == "the square root lifts the type"
    assert "math.sqrt" in outcome.hint


def test_a_wrong_sign_or_a_narrower_type_is_not_taken_for_a_factor():
    assert grade("scaled_scores", lambda q, k: -q @ k.T / q.shape[-1] ** 0.5).mistake == (
        "wrong sign"
    )
    narrow = grade("scaled_scores", lambda q, k: np.float32(q @ k.T / q.shape[-1] ** 0.5))
    assert narrow.mistake == "dtype not kept"
