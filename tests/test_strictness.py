"""The notebook suite goes red for each thing it must catch, and green for a good notebook.

Each case is the real pytest command, in a process of its own, on one small notebook.
"""

import copy
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor

import nbformat
import pytest
from nbformat.v4 import new_output

from tests.sample_notebook import build_good_notebook, by_id
from tools import notebooks
from tools.course import ROOT
from tools.notebook_lint import RULES

SPOILER = """\
from attnbook.exercises.exercise import Exercise

def pytest_configure(config):
    Exercise.solution_source = "def softmax(scores, axis=-1):\\n    return np.exp(scores)"
"""


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    notebook = build_good_notebook()
    notebooks.execute(notebook, "good", tmp_path_factory.mktemp("good"))
    return notebook


def wrong_number(notebook):
    by_id(notebook, "case-3").outputs[0].text = "[0.09 0.24 0.68]\n"


def raising_cell(notebook):
    by_id(notebook, "case-3").source += "\nraise ValueError('not today')"


def missing_count(notebook):
    """Without the count nbval compares nothing: the wrong number would pass."""
    cell = by_id(notebook, "case-3")
    cell.execution_count, cell.outputs = None, []


def no_assertion(notebook):
    cell = by_id(notebook, "case-5")
    cell.source = cell.source.replace("assert abs(drawn) < 100", "assert True")


def failing_assertion(notebook):
    cell = by_id(notebook, "case-5")
    cell.source = cell.source.replace("< 100", "> 100")


def stored_stderr(notebook):
    warning = new_output("stream", name="stderr", text="FutureWarning: soon\n")
    by_id(notebook, "case-5").outputs.append(warning)


def skipped_cell(notebook):
    cell = by_id(notebook, "case-3")
    cell.metadata["tags"] = ["nbval-skip"]
    wrong_number(notebook)


def figure_gone(notebook):
    cell = by_id(notebook, "case-4")
    cell.source = cell.source.replace("plt.show()", "plt.close()")


def verdict_forged(notebook):
    """A stored verdict that a fresh run does not give."""
    shown = by_id(notebook, "softmax-check").outputs[0].data
    shown["text/plain"] = shown["text/plain"].replace("not attempted yet", "passed")


def untagged_stub(notebook):
    """The solution is not injected, so the exercise stays unsolved."""
    by_id(notebook, "softmax").metadata.pop("tags")


def unchanged(notebook):
    pass


# name: (change, options, tests that must fail and no others)
CASES = {
    "good": (unchanged, [], set()),
    "good-solved": (unchanged, ["--solved"], set()),
    "wrong-number": (wrong_number, [], {"Cell 3"}),
    "wrong-number-solved": (wrong_number, ["--solved"], {"Cell 3"}),
    "raising-cell": (raising_cell, [], {"Cell 3"}),
    "missing-count": (missing_count, [], {"every_cell_was_run"}),
    "no-assertion": (no_assertion, [], {"ignored_cells_assert"}),
    "failing-assertion": (failing_assertion, [], {"Cell 5"}),
    "stored-stderr": (stored_stderr, [], {"no_stored_stderr"}),
    "skipped-cell": (skipped_cell, [], {"tags_are_known"}),
    "figure-gone": (figure_gone, [], {"Cell 4"}),
    "verdict-forged": (verdict_forged, [], {"Cell 2", "exercises_are_untouched"}),
    "unsolved": (unchanged, ["--solved", "-p", "spoiler"], {"Cell 2", "Cell 6"}),
    "untagged-stub": (
        untagged_stub,
        ["--solved"],
        {"Cell 2", "Cell 6", "exercises_are_whole"},
    ),
}


@pytest.fixture(scope="module")
def results(good, tmp_path_factory):
    """Exit status, failed tests and output of every case, two processes at a time."""

    def run(name):
        change, options, _ = CASES[name]
        folder = tmp_path_factory.mktemp(name)
        notebook = copy.deepcopy(good)
        change(notebook)
        path = folder / "case.ipynb"
        nbformat.write(notebook, path)
        (folder / "spoiler.py").write_text(SPOILER)
        command = [
            *(sys.executable, "-m", "pytest", "-q", "-c", str(ROOT / "pyproject.toml")),
            *("-p", "conftest", "--rootdir", str(folder), "-p", "no:cacheprovider"),
            *("--nbval", "--nbval-current-env", f"--junitxml={folder / 'report.xml'}"),
            *options,
            str(path),
        ]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)])}
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
        cases = ET.parse(folder / "report.xml").iter("testcase")
        states = {case.get("name"): {child.tag for child in case} for case in cases}
        return done.returncode, states, done.stdout + done.stderr

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(CASES, pool.map(run, CASES), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_the_suite_fails_where_it_must_and_nowhere_else(results, name):
    status, states, said = results[name]
    expected = CASES[name][2]
    failed = {test for test, state in states.items() if state & {"failure", "error"}}
    assert failed == expected, said
    assert status == (1 if expected else 0), said


def test_a_good_notebook_has_a_test_for_every_rule_and_cell(results):
    for name in ("good", "good-solved"):
        _, states, _ = results[name]
        assert set(states) == {*RULES, *(f"Cell {n}" for n in range(7))}
        assert not any(states.values()), "nothing is skipped"
