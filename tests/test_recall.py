"""The recall task is what its docstring says: balanced, seeded, and only the thing tells."""

import numpy as np
import pytest

from attnbook.data.recall import CHANCE, FILLER, QUESTION, THINGS, VOCABULARY, in_words, recall

SIZES = [(8, 1), (24, 2), (80, 7), (400, 33)]


def drawn(count, distance, seed=0):
    return recall(count, distance, np.random.default_rng(seed))


@pytest.mark.parametrize(("count", "distance"), SIZES)
def test_thing_first_filler_between_question_last(count, distance):
    tokens, answers = drawn(count, distance)
    assert tokens.shape == (count, distance + 1)
    assert answers.shape == (count,)
    assert tokens.dtype == answers.dtype == np.int64
    np.testing.assert_array_equal(tokens[:, 0], answers)
    assert (answers < len(THINGS)).all()
    assert (tokens[:, -1] == QUESTION).all()
    between = tokens[:, 1:-1]
    assert ((between >= len(THINGS)) & (between < QUESTION)).all()


@pytest.mark.parametrize(("count", "distance"), SIZES)
def test_every_thing_is_asked_for_equally_often(count, distance):
    _, answers = drawn(count, distance)
    assert (np.bincount(answers, minlength=len(THINGS)) == count // len(THINGS)).all()


def test_counts_that_do_not_divide_differ_by_one_at_most():
    _, answers = drawn(13, 3)
    assert np.ptp(np.bincount(answers, minlength=len(THINGS))) == 1


def test_whoever_always_says_the_same_is_right_by_chance():
    _, answers = drawn(800, 4)
    assert all((answers == thing).mean() == CHANCE for thing in range(len(THINGS)))


def test_filler_is_even_and_says_nothing_about_the_answer():
    tokens, answers = drawn(16_000, 3)
    between = tokens[:, 1:-1] - len(THINGS)  # (16 000, 2)
    for place in range(2):
        together = np.zeros((len(THINGS), len(FILLER)))
        np.add.at(together, (answers, between[:, place]), 1)
        # 250 of each pair are expected, with a standard deviation of about 15
        assert np.abs(together - 250).max() < 80
    assert abs(np.corrcoef(between.T)[0, 1]) < 0.05  # nor does one place about the next


def test_the_answers_come_in_no_order():
    _, answers = drawn(800, 2)
    assert abs(np.corrcoef(answers[:-1], answers[1:])[0, 1]) < 0.15
    assert (answers[:8] != np.arange(8)).any()


def test_a_seed_gives_the_same_texts_and_another_seed_others():
    for one, two in zip(drawn(40, 6, 1), drawn(40, 6, 1), strict=True):
        np.testing.assert_array_equal(one, two)
    assert (drawn(40, 6, 1)[0] != drawn(40, 6, 2)[0]).any()


def test_no_word_has_two_meanings():
    assert len(set(VOCABULARY)) == len(VOCABULARY) == len(THINGS) + len(FILLER) + 1


def test_texts_can_be_read():
    assert in_words(np.array([2, 8, QUESTION])) == "crown rain ?"


def test_a_question_without_distance_is_refused():
    with pytest.raises(ValueError, match="distance is 0"):
        drawn(8, 0)
