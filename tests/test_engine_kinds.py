"""The engine on every kind of exercise, with small exercises made for the purpose."""

import numpy as np
import pytest
import torch
from torch import nn

from attnbook.exercises import engine, grade
from attnbook.exercises.ch11_bank_and_dragon import contrast_sentences
from attnbook.exercises.exercise import Call, Exercise, Finding, Mistake, Probe
from attnbook.exercises.run import encode

COMMON = {
    "number": "0.0",
    "chapter": "none",
    "summary": "a small exercise",
    "difficulty": 1,
    "minutes": 1,
    "points": 2,
    "hints": ("first", "second", "third"),
    "read": "Somewhere",
}


# --- answers -----------------------------------------------------------------------------------

CHOICE = Exercise(
    id="choice",
    signature="one letter",
    kind="answer",
    solution='choice = "B"',
    mistakes=(Mistake("reads the column", "C", "You read the column, not the row."),),
    **COMMON,
)
NUMBER = Exercise(
    id="number",
    signature="a number",
    kind="answer",
    solution="number = 0.25",
    tolerance=1e-2,
    mistakes=(Mistake("percent", 25, "A weight lies between 0 and 1."),),
    **COMMON,
)
CELL = Exercise(
    id="cell",
    signature="(row, column)",
    kind="answer",
    solution="cell = (1, 2)",
    mistakes=(Mistake("column first", (2, 1), "Rows come first."),),
    **COMMON,
)


@pytest.mark.parametrize(
    ("exercise", "given"),
    [
        (CHOICE, "B"),
        (CHOICE, " b "),
        (CHOICE, "(B)"),
        (NUMBER, 0.25),
        (NUMBER, np.float32(0.2501)),
        (NUMBER, np.array([0.25])),
        (NUMBER, torch.tensor(0.25)),
        (NUMBER, "0.25"),
        (CELL, (1, 2)),
        (CELL, [1, 2]),
        (CELL, np.array([1, 2])),
    ],
)
def test_an_answer_is_accepted_in_any_plain_form(exercise, given):
    assert engine.grade(exercise, given).status == "passed"


@pytest.mark.parametrize(
    ("exercise", "given", "mistake"),
    [
        (CHOICE, "C", "reads the column"),
        (CHOICE, "A", None),
        (CHOICE, 3, None),
        (NUMBER, 25, "percent"),
        (NUMBER, 0.3, None),
        (NUMBER, [0.3, 0.3], None),
        (NUMBER, {"a": 1}, None),
        (CELL, (2, 1), "column first"),
        (CELL, 3, None),
        (CELL, None, "returns nothing"),
    ],
)
def test_a_wrong_answer_has_its_own_reason(exercise, given, mistake):
    outcome = engine.grade(exercise, given)
    assert outcome.status in ("failed", "error")
    assert outcome.mistake == mistake
    assert str(exercise.reference) not in outcome.message, "the message gives the answer away"


def test_an_answer_as_text_is_shown_as_text_and_blanks_do_not_count():
    assert "You answered '(3,0)'" in grade("read_weights", "(3,0)").message
    for text in ("3,0", "(3, 0)", " 3 , 0 "):
        assert grade("read_weights", text).mistake == "cell as text"
    nothing = grade("read_weights", None)
    assert "`read_weights` is None" in nothing.message
    assert "return" not in nothing.message, "an answer is no function"


def test_an_answer_not_given_is_not_attempted():
    assert engine.grade(CHOICE, ...).status == "not attempted"
    assert engine.grade(CELL, (..., ...)).status == "not attempted"


# --- objects -----------------------------------------------------------------------------------


def _judge_unit(value, rng):
    length = float(np.linalg.norm(np.asarray(value, float)))
    if np.shape(value) != (2,):
        raise ValueError("two numbers expected")
    if abs(length - 1) > 1e-6:
        return Finding("not of length one", f"its length is {length:.3g}", (("vector", value),))
    return None


UNIT = Exercise(
    id="unit",
    signature="an array of two numbers",
    kind="object",
    judge=_judge_unit,
    solution="unit = np.array([1.0, 0.0])",
    mistakes=(Mistake("not of length one", np.array([1.0, 1.0]), "Divide by the length."),),
    **COMMON,
)


def test_every_valid_object_is_accepted():
    for value in (np.array([0.6, 0.8]), [0.0, -1.0], (1, 0), torch.tensor([0.0, 1.0])):
        assert engine.grade(UNIT, value).status == "passed"
    assert engine.grade(UNIT, lambda: np.array([0.0, 1.0])).status == "passed"


def test_an_object_of_the_wrong_kind_gets_a_sentence():
    for value in (3, "text", np.ones(3), None, {"x": 1}):
        outcome = engine.grade(UNIT, value)
        assert outcome.status in ("failed", "error"), value
        assert outcome.mistake
    assert engine.grade(UNIT, np.array([1.0, 1.0])).mistake == "not of length one"
    assert engine.grade(UNIT, ...).status == "not attempted"


# --- functions with many right results ---------------------------------------------------------


def _judge_opposite(call, value):
    first, second = (np.asarray(part, float) for part in value)
    if first.shape != call.args[0].shape:
        raise ValueError("shapes differ")
    total = float(np.abs(first + second).max())
    return Finding("not opposite", "that they cancel", (("sum", total),)) if total > 1e-6 else None


def opposites(x):
    return x, -x


def _same_twice(x):
    return x, x


OPPOSITES = Exercise(
    id="opposites",
    signature="opposites(x)",
    solution=opposites,
    returns=("first", "second"),
    probes=(
        Probe(
            "cancel",
            "two arrays of the shape of x that cancel",
            lambda rng: [Call((rng.normal(size=2),)), Call((rng.normal(size=(2, 3)),))],
            judge=_judge_opposite,
        ),
    ),
    mistakes=(Mistake("not opposite", _same_twice, "Their sum is not zero.", "Flip a sign."),),
    **COMMON,
)


@pytest.mark.parametrize(
    "right",
    [
        opposites,
        lambda x: (3 * x, -3 * x),
        lambda x: [np.zeros_like(x), np.zeros_like(x)],
        lambda x: np.stack([-x, x]),
        lambda x: ((-x).tolist(), x.astype(np.float32)),
    ],
)
def test_every_result_that_the_judge_accepts_passes(right):
    for seed in range(5):
        assert engine.grade(OPPOSITES, right, seed).status == "passed"


def test_what_a_judge_finds_is_shown_with_the_input_and_the_words_of_the_mistake():
    outcome = engine.grade(OPPOSITES, _same_twice)
    assert (outcome.status, outcome.mistake) == ("failed", "not opposite")
    assert [name for name, _ in outcome.shown] == ["x", "sum"]
    assert "Their sum is not zero." in outcome.message
    assert "Flip a sign." in outcome.message
    assert "Expected" not in outcome.message


@pytest.mark.parametrize(
    ("wrong", "status", "mistake"),
    [
        (lambda x: None, "failed", "returns nothing"),
        (lambda x: (x, None), "failed", "returns nothing"),
        (lambda x: 1 / 0, "error", "raises an error"),
        (lambda x: x.sum(), "failed", "wrong type"),
        (lambda x: (x, -x, x), "failed", "wrong type"),
        (lambda x: "text", "failed", "wrong type"),
        (lambda x: (x[:1], -x[:1]), "failed", "wrong type"),
        (lambda x: (..., ...), "not attempted", None),
    ],
)
def test_a_judged_function_fails_like_any_other(wrong, status, mistake):
    outcome = engine.grade(OPPOSITES, wrong)
    assert (outcome.status, outcome.mistake) == (status, mistake), outcome.message


def test_a_judged_function_may_be_random_but_not_change_its_input_or_remember():
    def random(x):
        y = np.random.default_rng().normal(size=x.shape)
        return y, -y

    def changes(x):
        x *= 2
        return x + 0, -x

    seen = []

    def remembers(x):
        seen.append(1)
        return x, -x * (len(seen) <= 2)

    assert engine.grade(OPPOSITES, random).status == "passed"
    assert engine.grade(OPPOSITES, changes).mistake == "changes its input"
    assert engine.grade(OPPOSITES, remembers).status == "failed"


# --- torch functions, gradients, modules -------------------------------------------------------


def scaled(x, factor):
    return x * factor


def _scaled_detached(x, factor):
    return x.detach() * factor + 0 * x.sum()


SCALED = Exercise(
    id="scaled",
    signature="scaled(x, factor)",
    library="torch",
    solution=scaled,
    returns=("y",),
    probes=(
        Probe("values", "each number times the factor",
              lambda rng: [Call((rng.normal(size=(2, 3)), 3.0))]),
        Probe(
            "gradient",
            "the gradient reaches x",
            lambda rng: [
                Call(
                    (rng.normal(size=(2, 3)), 3.0),
                    how="gradient",
                    options={"of": (0,), "grad_output": rng.normal(size=(2, 3))},
                )
            ],
            cause="Something cuts the result off from its input.",
        ),
    ),
    mistakes=(Mistake("gradient cut", _scaled_detached, "detach() cuts the gradient."),),
    **COMMON,
)  # fmt: skip


def test_torch_functions_and_their_gradients():
    assert engine.grade(SCALED, lambda x, factor: factor * x).status == "passed"
    assert engine.grade(SCALED, _scaled_detached).mistake == "gradient cut"
    cut = engine.grade(SCALED, lambda x, factor: torch.tensor((x * factor).detach().numpy()))
    assert cut.status == "error"
    array = engine.grade(SCALED, lambda x, factor: x.numpy() * factor)
    assert "a NumPy array; expected a torch tensor" in array.message
    narrow = engine.grade(SCALED, lambda x, factor: (x * factor).float())
    assert narrow.mistake == "dtype not kept"
    assert "torch.zeros" in narrow.message  # and no advice for NumPy
    assert "np." not in narrow.message


class Affine(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return self.linear(x)


class _Forgetful(Affine):
    def forward(self, x):
        return self.linear(x) - self.linear.bias


class _Remembering(Affine):
    def forward(self, x):
        self.seen = getattr(self, "seen", 0) + 1
        return self.linear(x) * self.seen


def _module_calls(rng):
    state = {"linear.weight": rng.normal(size=(3, 3)), "linear.bias": rng.normal(size=3)}
    calls = [((rng.normal(size=(n, 3)),), {}) for n in (2, 4)]
    return [Call(how="module", options={"init": (3,), "state": state, "calls": calls})]


AFFINE = Exercise(
    id="Affine",
    signature="Affine(width)",
    kind="class",
    library="torch",
    solution=Affine,
    probes=(Probe("values", "weights and bias applied", _module_calls),),
    mistakes=(Mistake("bias left out", _Forgetful, "The bias is missing."),),
    **COMMON,
)


def test_modules_are_built_loaded_and_called_more_than_once():
    assert engine.grade(AFFINE, type("Mine", (Affine,), {})).status == "passed"
    assert engine.grade(AFFINE, _Forgetful).mistake == "bias left out"
    assert engine.grade(AFFINE, _Remembering).status == "failed"
    assert engine.grade(AFFINE, Affine(3)).mistake == "not a class"
    other = engine.grade(AFFINE, type("Other", (nn.Module,), {"__init__": lambda self, w: None}))
    assert other.status == "error"
    assert "Traceback" not in other.message


def test_a_list_that_is_no_table_is_taken_apart():
    value, kind = encode([[[1.0, 2.0]], [[3.0], [4.0]]])
    assert [part.shape for part in value] == [(1, 2), (2, 1)]
    assert kind == ("list", "list")


def test_pairs_of_a_list_and_a_text_get_a_verdict():
    def split(*lists):
        return [(sentence.split(), noun) for sentence, noun in contrast_sentences(*lists)]

    outcome = grade("contrast_sentences", split)
    assert outcome.status == "failed"
    assert outcome.message
