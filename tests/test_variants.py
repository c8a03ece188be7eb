"""Variants: the same question with other numbers, for an assignment that was not printed."""

import functools

import pytest

from attnbook.assignments.assignment import Assignment
from attnbook.assignments.release import student_notebook
from attnbook.exercises import engine, get, ids

SEEDS = range(1, 21)
VARIED = [exercise_id for exercise_id in ids() if get(exercise_id).vary is not None]


def value_of(exercise, source):
    scope = {}
    exec(source, scope)
    return scope[exercise.id]


@functools.cache
def released_prompt(exercise_id, variant):
    notebook = student_notebook(Assignment("one", {exercise_id: 1}, variant))
    cells = {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"]}
    return cells[f"{exercise_id}-prompt"]


def test_some_exercises_vary():
    assert VARIED


@pytest.mark.parametrize("exercise_id", VARIED)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_variant_asks_for_another_answer_than_the_printed_one(exercise_id, seed):
    printed = get(exercise_id)
    variant, slots = printed.varied(seed)
    assert slots
    right = engine.grade(variant, value_of(variant, variant.solution), seed)
    assert right.status == "passed", right.message
    stale = engine.grade(variant, value_of(printed, printed.solution), seed)
    assert stale.status == "failed", f"seed {seed}: the printed answer passes"


@pytest.mark.parametrize("exercise_id", VARIED)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_mistakes_of_a_variant_are_rejected_and_named(exercise_id, seed):
    variant, _ = get(exercise_id).varied(seed)
    assert {m.name for m in variant.mistakes} == {m.name for m in get(exercise_id).mistakes}
    for mistake in variant.mistakes:
        outcome = engine.grade(variant, mistake.wrong, seed)
        assert outcome.status == "failed", f"{mistake.name} passes"
        assert outcome.mistake == mistake.name


@pytest.mark.parametrize("exercise_id", VARIED)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_prompt_of_a_variant_holds_its_numbers_and_not_the_printed_ones(exercise_id, seed):
    """Releasing raises where a slot does not occur literally in the chapter's prompt."""
    _, slots = get(exercise_id).varied(seed)
    prompt, printed = released_prompt(exercise_id, seed), released_prompt(exercise_id, 0)
    for old, new in slots.items():
        assert old in printed
        assert new in prompt
        assert new == old or old not in prompt


@pytest.mark.parametrize("exercise_id", VARIED)
def test_seed_zero_is_the_exercise_as_printed(exercise_id):
    exercise, slots = get(exercise_id).varied(0)
    assert exercise is get(exercise_id)
    assert not slots
