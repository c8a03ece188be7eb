"""The checks keep their promises: wrong answers are rejected and named, right ones accepted."""

import importlib

import numpy as np
import pytest

from attnbook.exercises import CHAPTERS, get, grade, ids, in_chapter, report

NAMING_SEEDS = 5
# Fifty seeds in `make test-full`; the first fifteen of them in every run.
ACCEPTING_SEEDS = [
    pytest.param(range(15), id="first 15"),
    pytest.param(range(15, 50), id="to 50", marks=pytest.mark.full),
]
CENTRAL = {
    "softmax",
    "self_attention",
    "scaled_dot_product_attention",
    "padding_mask",
    "causal_mask",
    "split_heads",
    "merge_heads",
    "multi_head_attention",
    "MultiHeadSelfAttention",
}


def right_answers(exercise_id: str) -> list:
    for module, names in CHAPTERS.values():
        if exercise_id in names:
            return importlib.import_module(f"tests.right_answers.{module}").RIGHT[exercise_id]
    raise KeyError(exercise_id)


WRONG = [(i, mistake) for i in ids() for mistake in get(i).mistakes]
RIGHT = [(i, n) for i in ids() for n in range(len(right_answers(i)))]


@pytest.mark.parametrize(("exercise_id", "mistake"), WRONG, ids=[f"{i}-{m.name}" for i, m in WRONG])
def test_a_known_mistake_is_rejected_and_named(exercise_id, mistake):
    for seed in range(NAMING_SEEDS):
        outcome = grade(exercise_id, mistake.wrong, seed)
        assert outcome.status in ("failed", "error"), f"seed {seed}: accepted"
        assert outcome.mistake == mistake.name, f"seed {seed}: {outcome.message}"
        assert outcome.points == 0
        assert outcome.cause == mistake.says


@pytest.mark.parametrize("seeds", ACCEPTING_SEEDS)
@pytest.mark.parametrize(("exercise_id", "n"), RIGHT)
def test_an_unusual_right_answer_is_accepted(exercise_id, n, seeds):
    candidate = right_answers(exercise_id)[n]
    for seed in seeds:
        outcome = grade(exercise_id, candidate, seed)
        assert outcome.status == "passed", f"seed {seed}: {outcome.message}"
        assert outcome.points == outcome.max_points


@pytest.mark.parametrize("exercise_id", ids())
def test_enough_known_mistakes_and_right_answers(exercise_id):
    exercise = get(exercise_id)
    wrong, right = (8, 12) if exercise_id in CENTRAL else (3, 4)
    if exercise.kind == "answer":
        wrong, right = 2, 2
    assert len(exercise.mistakes) >= wrong
    assert len(right_answers(exercise_id)) >= right
    assert len({mistake.name for mistake in exercise.mistakes}) == len(exercise.mistakes)


@pytest.mark.parametrize("slug", CHAPTERS)
def test_the_catalogue_equals_what_the_modules_define(slug):
    module, names = CHAPTERS[slug]
    exercises = importlib.import_module(f"attnbook.exercises.{module}").EXERCISES
    assert tuple(exercise.id for exercise in exercises) == names
    chapter = int(slug.split("-")[0])
    assert [e.number for e in in_chapter(slug)] == [f"{chapter}.{n + 1}" for n in range(len(names))]
    for exercise in exercises:
        assert exercise.chapter == slug
        assert len(exercise.hints) == 3
        assert exercise.points >= 1
        assert exercise.minutes >= 1
        assert exercise.difficulty in (1, 2, 3)


@pytest.mark.parametrize("exercise_id", ids())
def test_a_message_never_dumps_a_large_array(exercise_id):
    for mistake in get(exercise_id).mistakes:
        outcome = grade(exercise_id, mistake.wrong)
        assert len(outcome.message.splitlines()) < 45, outcome.message
        assert "Traceback" not in outcome.message
        assert report.bundle(outcome)["text/plain"] == outcome.message


ODD = {
    "one array": np.ones((2, 3)),
    "arrays of several shapes": (np.ones((2, 3)), np.ones(2)),
    "rows of several lengths": [[1.0], [2.0, 3.0]],
    "a structured array": np.zeros(2, dtype=[("a", float)]),
    "a dict": {"a": np.ones(2)},
    "a number beyond all floats": 10**400,
    "text": "two",
}


@pytest.mark.parametrize("exercise_id", ids())
def test_whatever_comes_back_gets_a_verdict_that_can_be_shown(exercise_id):
    is_value = get(exercise_id).kind in ("answer", "object")
    for name, odd in ODD.items():
        outcome = grade(exercise_id, odd if is_value else lambda *_, odd=odd, **__: odd)
        assert outcome.status in ("failed", "error"), name
        assert outcome.message in report.bundle(outcome)["text/plain"], name
