"""What the engine says about code that goes wrong in ways every exercise shares."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

from attnbook.exercises import engine, get, grade, report
from attnbook.exercises.exercise import Mistake, Outcome
from attnbook.exercises.run import describe
from attnbook.numpy_attention import softmax

SCORES = np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])


def stub(scores, axis=-1):
    weights = ...
    return weights


def raises_not_implemented(scores, axis=-1):
    raise NotImplementedError


def test_a_stub_is_not_attempted():
    for candidate in (stub, raises_not_implemented, ...):
        assert grade("softmax", candidate).status == "not attempted"


def returns_none(scores, axis=-1):
    softmax(scores, axis)


def returns_list(scores, axis=-1):
    return softmax(scores, axis).tolist()


def returns_tuple(scores, axis=-1):
    return softmax(scores, axis), scores


def returns_text(scores, axis=-1):
    return "0.1, 0.9"


def returns_wide(scores, axis=-1):
    return softmax(np.asarray(scores, np.float64), axis)


def raises(scores, axis=-1):
    return np.exp(scores) @ np.ones(99)


def misspells(scores, axis=-1):
    return np.exp(scroes)  # noqa: F821


def never_ends(scores, axis=-1):
    while True:
        pass


def never_ends_and_swallows(scores, axis=-1):
    while True:
        try:
            while True:
                pass
        except Exception:
            pass


def calls_itself(scores, axis=-1):
    return calls_itself(scores, axis)


def quits(scores, axis=-1):
    sys.exit(1)


def mutates(scores, axis=-1):
    weights = softmax(scores, axis)
    scores[...] = 0
    return weights


def reads_a_global(scores, axis=-1):
    return softmax(SCORES, axis)


def no_axis(scores):
    return softmax(scores)


_calls = []


def remembers(scores, axis=-1):
    _calls.append(1)
    return softmax(scores, axis) * (1 + 0.1 * (len(_calls) > 5))


class Softmax:
    pass


@pytest.mark.parametrize(
    ("candidate", "mistake", "sentence"),
    [
        (returns_none, "returns nothing", "It returned None"),
        (returns_list, "wrong type", "a list; expected a NumPy array"),
        (returns_tuple, "wrong type", "2 separate values; expected a NumPy array."),
        (returns_text, "wrong type", "is text; expected a NumPy array"),
        (returns_wide, "dtype not kept", "float64; expected float32"),
        (raises, "raises an error", "`return np.exp(scores) @ np.ones(99)`"),
        (misspells, "name not defined", "scroes"),
        (never_ends, "never ends", "did not finish in time"),
        (never_ends_and_swallows, "never ends", "did not finish in time"),
        (calls_itself, "calls itself for ever", "RecursionError"),
        (quits, "ends the program", "SystemExit"),
        (mutates, "changes its input", "changed `scores` in place"),
        (reads_a_global, "depends on a notebook variable", "`SCORES`"),
        (no_axis, "wrong parameters", "softmax(scores, axis=-1)"),
        (Softmax, "class instead of function", "is a class"),
        (softmax(SCORES), "result instead of function", "a NumPy array"),
        (None, "result instead of function", "None"),
    ],
)
def test_one_clear_sentence(candidate, mistake, sentence):
    outcome = grade("softmax", candidate)
    assert outcome.status in ("failed", "error")
    assert outcome.mistake == mistake, outcome.message
    assert sentence in outcome.message, outcome.message
    assert "Traceback" not in outcome.message


def counts_over_a_number(a, b):
    return sum(a[i] * b[i] for i in len(a))


def counts_over_the_numbers(a, b):
    return sum(a[i] * b[i] for i in a)


def goes_one_too_far(a, b):
    return sum(a[i] * b[i] for i in range(len(a) + 1))


def takes_an_entry_of_a_number(a, b):
    return (a @ b)[0]


def names_two_axes(a, b):
    return (a[:, 0] * b[:, 0]).sum()


def calls_an_array(a, b):
    return a.T() @ b


def makes_a_table_of_two_arguments(a, b):
    return np.zeros(len(a), len(b))


def never_begins(a, b):
    for i in range(len(a)):
        total = total + a[i] * b[i]  # noqa: F821
    return total


@pytest.mark.parametrize(
    ("candidate", "cause", "step"),
    [
        (counts_over_a_number, "a single number has none", "`range(…)` around it"),
        (counts_over_the_numbers, "no whole number", "`for i in range(len(x))`"),
        (goes_one_too_far, "past the end of an axis", "the end of each `range(…)`"),
        (takes_an_entry_of_a_number, "behind a single number", "is it () already"),
        (names_two_axes, "more axes than the array has", "one axis for each"),
        (calls_an_array, "no function", "`.T` and `.shape`"),
        (makes_a_table_of_two_arguments, "taken for its dtype", "`np.zeros((rows, columns))`"),
        (never_begins, "before it is given a value", "outside the loop"),
    ],
)
def test_an_error_of_a_beginner_gets_its_own_cause_and_step(candidate, cause, step):
    outcome = grade("dot", candidate)
    assert outcome.status == "error"
    assert cause in outcome.cause, outcome.message
    assert step in outcome.hint, outcome.message
    assert not outcome.difference.endswith(".."), "a sentence ends with one full stop"


def test_a_result_that_changes_from_call_to_call_is_rejected():
    assert grade("softmax", remembers).status == "failed"


def test_prints_are_kept_off_the_page_and_mentioned(capsys):
    def prints(scores, axis=-1):
        print("debug")
        return softmax(scores, axis)

    outcome = grade("softmax", prints)
    assert outcome.status == "passed"
    assert "prints" in outcome.message
    assert capsys.readouterr().out == ""


def test_the_message_shows_the_smallest_failing_input_and_both_results():
    message = grade("softmax", lambda scores, axis=-1: softmax(scores, axis) * 3).message
    for part in ("Tested:", "Smallest failing input", "Expected", "Got", "Read again", "Next step"):
        assert part in message
    assert "[0. 1. 2.]" in message


def test_a_constant_factor_is_recovered():
    outcome = grade("softmax", lambda scores, axis=-1: softmax(scores, axis) * 3)
    assert outcome.mistake == "constant factor"
    assert "3 times" in outcome.message


def test_a_single_number_is_not_called_a_multiple_of_another():
    outcome = grade("temperature_for", lambda scores, largest: float(np.sum(scores) + largest))
    assert outcome.mistake is None
    assert "multiple" not in outcome.message


def test_html_and_text_carry_the_same_words_and_no_random_ids():
    outcome = grade("softmax", returns_none)
    bundle = report.bundle(outcome)
    assert bundle == report.bundle(grade("softmax", returns_none))
    assert "not yet" in bundle["text/html"]
    assert "It returned None" in bundle["text/html"]
    assert " id=" not in bundle["text/html"]


def test_a_sentence_begins_with_a_capital_and_a_name_of_code_as_it_is_written():
    for cause, shown in (
        ("the axis is wrong", "The axis is wrong."),
        ("`axis` is wrong", "`axis` is wrong."),
        ("n_heads is used as a width.", "n_heads is used as a width."),
        ("log(Σ exp(s)) is meant", "log(Σ exp(s)) is meant."),
    ):
        outcome = Outcome(get("softmax"), "failed", cause=cause)
        assert report.paragraphs(outcome) == [("Likely cause", shown)]


def test_html_escapes_what_the_reader_wrote():
    def nasty(scores, axis=-1):
        raise ValueError("<script>alert(1)</script>")

    assert "<script>" not in report.bundle(grade("softmax", nasty))["text/html"]


# --- check, summary, show_solution -------------------------------------------------------------


@pytest.fixture(autouse=True)
def _fresh_progress(monkeypatch):
    from attnbook.exercises import notebook

    monkeypatch.setattr(notebook, "_progress", {})
    for name in ("ATTNBOOK_STRICT", "NBGRADER_EXECUTION"):
        monkeypatch.delenv(name, raising=False)


def test_check_returns_the_readers_function_when_right(capsys):
    from attnbook import check

    def mine(scores, axis=-1):
        return softmax(scores, axis)

    assert check("softmax", mine) is mine
    assert "passed · 3 of 3 points" in capsys.readouterr().out


def test_check_hands_back_the_reference_and_knows_it_again(capsys):
    from attnbook import check

    back = check("softmax", stub)
    assert "not attempted yet" in capsys.readouterr().out
    np.testing.assert_allclose(back(SCORES), softmax(SCORES))
    assert check("softmax", back) is back
    out = capsys.readouterr().out
    assert "run your own cell again" in out
    assert "passed" not in out


def test_a_wrong_answer_says_that_the_courses_own_is_used(capsys):
    from attnbook import check

    back = check("softmax", returns_none)
    np.testing.assert_allclose(back(SCORES), softmax(SCORES))
    assert "use the course's own `softmax`" in capsys.readouterr().out


@pytest.mark.parametrize("variable", ["ATTNBOOK_STRICT", "NBGRADER_EXECUTION"])
def test_strict_mode_raises_what_the_student_reads(monkeypatch, variable):
    from attnbook import check
    from attnbook.exercises.notebook import CheckFailed

    monkeypatch.setenv(variable, "1")
    with pytest.raises(CheckFailed, match="returned None"):
        check("softmax", returns_none)
    with pytest.raises(CheckFailed, match="not attempted"):
        check("softmax", stub)
    check("softmax", softmax)


def test_a_misspelt_name_gets_the_nearest_one(capsys):
    from attnbook import check, show_solution

    assert check("sofmax", softmax) is softmax
    assert "Did you mean softmax" in capsys.readouterr().out
    show_solution("sofmax")
    assert "Did you mean softmax" in capsys.readouterr().out
    check(softmax, "softmax")
    assert "name first" in capsys.readouterr().out
    show_solution(softmax)
    assert 'show_solution("softmax")' in capsys.readouterr().out


def test_summary_counts_the_points(capsys):
    from attnbook import check, summary

    summary()
    assert "No exercise has been checked" in capsys.readouterr().out
    check("softmax", softmax)
    check("log_sum_exp", stub)
    capsys.readouterr()
    summary()
    assert "Points: 3 of 5" in capsys.readouterr().out


def test_show_solution_shows_source_that_passes(capsys):
    from attnbook import show_solution

    show_solution("softmax")
    scope = {"np": np}
    exec(capsys.readouterr().out, scope)
    assert grade("softmax", scope["softmax"]).status == "passed"


def test_importing_the_package_and_checking_loads_no_torch():
    code = (
        "import sys, numpy as np, attnbook; from attnbook import check;"
        "check('softmax', lambda s, axis=-1: s);"
        "assert 'torch' not in sys.modules and 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_same_seed_gives_the_same_cases_and_another_seed_others():
    from attnbook.exercises.engine import plan

    def drawn(seed):
        return [trial.call.args[0] for trial in plan(get("softmax"), seed)]

    assert all(np.array_equal(a, b) for a, b in zip(drawn(1), drawn(1), strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(drawn(1), drawn(2), strict=True))


def test_facts_are_recovered_from_the_first_failure_alone():
    def columns(scores, axis=-1):
        e = np.exp(scores - np.max(scores))
        return e / e.sum(axis=0)

    assert grade("softmax", columns).mistake == "columns sum to one"
    assert grade("softmax", lambda scores, axis=-1: scores).mistake == "returns its input"


def test_numbers_that_differ_never_print_alike():
    from attnbook.exercises.compare import told_apart

    assert told_apart(0.5, 0.25) == ("0.5", "0.25")
    assert told_apart(2.0700001, 2.07) == ("2.0700001", "2.07")
    assert told_apart(3, 3.5) == ("3", "3.5")
    message = grade("softmax", lambda scores, axis=-1: np.round(softmax(scores, axis), 4)).message
    shown = message.split("]: ")[1].split(".\n")[0].split(", expected ")
    assert shown[0] != shown[1]


def test_a_list_of_rows_and_a_stumbling_symptom_cost_no_verdict():
    outcome = grade("softmax", lambda scores, axis=-1: [np.ones(2), np.ones(2)])
    assert "2 separate values" in outcome.message
    exercise = get("softmax")
    stumbles = Mistake("stumbles", None, "", symptom=lambda call, result: result.value["no"])
    broken = dataclasses.replace(exercise, mistakes=(stumbles, *exercise.mistakes))
    assert engine.grade(broken, lambda scores, axis=-1: scores).status == "failed"


def test_an_attribute_is_no_notebook_variable():
    scope = {"np": np, "T": np.ones(3), "softmax": softmax}
    exec("def mine(scores, axis=-1):\n    return np.asarray(scores).T", scope)
    assert describe(scope["mine"])["globals"] == []
    exec("def mine(scores, axis=-1):\n    return T", scope)
    assert describe(scope["mine"])["globals"] == ["T"]
