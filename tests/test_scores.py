"""The library's dot_scores and cosine_scores keep the promises the exercises do not ask for."""

import numpy as np
import pytest

from attnbook.numpy_attention import cosine_scores, dot_scores


@pytest.mark.parametrize("compare", [dot_scores, cosine_scores])
def test_widths_that_differ_are_refused_naming_both_shapes_and_the_axis(compare):
    with pytest.raises(ValueError, match=r"queries \(2, 3\) and keys \(4, 5\).*axis -1 of keys"):
        compare(np.ones((2, 3)), np.ones((4, 5)))
    with pytest.raises(ValueError, match=r"queries \(3,\) must have at least two axes"):
        compare(np.ones(3), np.ones((4, 3)))


@pytest.mark.parametrize("compare", [dot_scores, cosine_scores])
def test_whole_numbers_become_float64(compare):
    assert compare(np.array([[1, 2]]), np.array([[3, 4]])).dtype == np.float64
    assert compare([[1, 2]], [[3, 4]]).shape == (1, 1)


def test_a_zero_vector_scores_zero_without_a_warning():
    queries, keys = np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[0.0, 0.0], [6.0, 8.0]])
    np.testing.assert_allclose(cosine_scores(queries, keys), [[0, 0], [0, 1]])
    np.testing.assert_array_equal(queries, [[0, 0], [3, 4]])
