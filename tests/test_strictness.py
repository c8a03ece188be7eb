"""The notebook suite goes red for each thing it must catch, and green for a good notebook.

The real command of `make test` is run, in processes of its own, on small notebooks with one fault
each.
"""

import copy
import os
import subprocess
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor

import nbformat
import pytest
from nbformat.v4 import new_output

from tests.sample_notebook import build_good_notebook, by_id
from tools import notebooks
from tools.course import ROOT
from tools.notebook_lint import RULES
from tools.run_tests import NBVAL

# one worker runs them all, so that what they share is made once
pytestmark = pytest.mark.xdist_group("strictness")

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


# name: (group, change, tests that must fail and no others)
CASES = {
    "good": ("good", unchanged, set()),
    "good-solved": ("good, solved", unchanged, set()),
    "wrong-number": ("bad", wrong_number, {"Cell 3"}),
    "raising-cell": ("bad", raising_cell, {"Cell 3"}),
    "missing-count": ("bad", missing_count, {"every_cell_was_run"}),
    "no-assertion": ("bad", no_assertion, {"ignored_cells_assert"}),
    "failing-assertion": ("bad", failing_assertion, {"Cell 5"}),
    "stored-stderr": ("bad", stored_stderr, {"no_stored_stderr"}),
    "skipped-cell": ("bad", skipped_cell, {"tags_are_known"}),
    "figure-gone": ("bad", figure_gone, {"Cell 4"}),
    "verdict-forged": ("bad", verdict_forged, {"Cell 2", "exercises_are_untouched"}),
    "wrong-number-solved": ("bad, solved", wrong_number, {"Cell 3"}),
    "untagged-stub": ("bad, solved", untagged_stub, {"Cell 2", "Cell 6", "exercises_are_whole"}),
    "unsolved": ("solved wrongly", unchanged, {"Cell 2", "Cell 6"}),
}
# One process a group: most of a process's time goes into starting it.
GROUPS = {
    "good": [],
    "good, solved": ["--solved"],
    "bad": [],
    "bad, solved": ["--solved"],
    "solved wrongly": ["--solved", "-p", "spoiler"],
}


@pytest.fixture(scope="module")
def results(good, tmp_path_factory):
    """Exit status, {notebook: {test: outcome}} and output of every group, two at a time."""

    def run(group):
        folder = tmp_path_factory.mktemp("group")
        (folder / "notebooks").mkdir()
        for name, (belongs, change, _) in CASES.items():
            if belongs == group:
                notebook = copy.deepcopy(good)
                change(notebook)
                for cell in notebook.cells:
                    cell.id = cell.id.replace("case-", f"{name}-")
                nbformat.write(notebook, folder / "notebooks" / f"{name}.ipynb")
        (folder / "spoiler.py").write_text(SPOILER)
        # the suite's own command and settings, in this folder and one test at a time
        here = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder), "-p", "conftest"]
        more = ["-n", "0", "-p", "no:cacheprovider", f"--junitxml={folder / 'report.xml'}"]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)])}
        command = [*NBVAL, *here, *more, *GROUPS[group]]
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
        states = {}
        for case in ET.parse(folder / "report.xml").iter("testcase"):
            name = case.get("classname").split(".")[1]
            states.setdefault(name, {})[case.get("name")] = {child.tag for child in case}
        return done.returncode, states, done.stdout + done.stderr

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(GROUPS, pool.map(run, GROUPS), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_the_suite_fails_where_it_must_and_nowhere_else(results, name):
    group, _, expected = CASES[name]
    status, states, said = results[group]
    failed = {test for test, state in states[name].items() if state & {"failure", "error"}}
    assert failed == expected, said
    assert status == (1 if expected else 0), said


def test_a_good_notebook_has_a_test_for_every_rule_and_cell(results):
    for name in ("good", "good-solved"):
        _, states, _ = results[CASES[name][0]]
        assert set(states[name]) == {*RULES, *(f"Cell {n}" for n in range(7))}
        assert not any(states[name].values()), "nothing is skipped"
