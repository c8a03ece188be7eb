"""Each rule for stored notebooks rejects what it is there to reject, and nothing sound."""

import copy

import pytest
from nbformat.v4 import new_output

from tests.sample_notebook import build_good_notebook, by_id
from tools import notebooks
from tools.markdown_lint import broken_details, outside_code
from tools.notebook_lint import RULES, ends_with_semicolon, problems

# one worker runs them all, so that what they share is made once
pytestmark = pytest.mark.xdist_group("notebook_lint")


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    notebook = build_good_notebook()
    notebooks.execute(notebook, "case", tmp_path_factory.mktemp("case"))
    return notebook


@pytest.fixture
def good(executed):
    return copy.deepcopy(executed)


def test_a_good_notebook_breaks_no_rule(good):
    assert problems(good, "case") == []


def say(text):
    """A change that puts `text` into the first Markdown cell."""
    return lambda notebook: by_id(notebook, "case-1").update(source=text)


def run(text):
    """A change that makes `text` the code of an ordinary cell."""
    return lambda notebook: by_id(notebook, "case-3").update(source=text)


def tag(name, *tags):
    return lambda notebook: by_id(notebook, name).metadata.update(tags=list(tags))


def output(cell, /, *arguments, **content):
    """A change that stores one more output."""
    return lambda notebook: by_id(notebook, cell).outputs.append(new_output(*arguments, **content))


def drop(name, key):
    return lambda notebook: by_id(notebook, name).metadata.pop(key)


FOLD = "<details>\n<summary>S</summary>\n\n{}\n\n</details>"
PICTURE = {"mystnb": {"image": {"alt": " "}}}
BREAKS = [
    ("every_cell_was_run", lambda nb: by_id(nb, "case-3").update(execution_count=None)),
    ("every_cell_was_run", lambda nb: by_id(nb, "case-3").update(execution_count=9)),
    ("no_stored_stderr", output("case-3", "stream", name="stderr", text="warning")),
    ("no_stored_error", output("case-3", "error", ename="E", evalue="e", traceback=[])),
    (
        "pictures_are_png_and_say_what_they_show",
        output("case-4", "display_data", data={"image/svg+xml": "<svg/>"}),
    ),
    ("pictures_are_png_and_say_what_they_show", drop("case-4", "mystnb")),
    (
        "pictures_are_png_and_say_what_they_show",
        lambda nb: by_id(nb, "case-4").metadata.update(PICTURE),
    ),
    ("ignored_cells_assert", lambda nb: by_id(nb, "case-5").update(source="print(1)")),
    ("ignored_cells_assert", lambda nb: by_id(nb, "case-5").update(source="assert 1 < 2")),
    (
        "ignored_cells_assert",
        lambda nb: by_id(nb, "case-5").update(source="def never():\n    assert scores"),
    ),
    ("ignored_cells_assert", tag("softmax-check", "check", "nbval-ignore-output")),
    ("tags_are_known", tag("case-3", "nbval-skip")),
    ("tags_are_known", tag("case-3", "raises-exception")),
    ("tags_are_known", tag("case-3", "nbval-ignore-outputs")),
    ("tags_are_known", tag("case-2", "hide-input")),
    ("exercises_are_whole", drop("softmax", "exercise")),
    ("exercises_are_whole", drop("softmax-check", "exercise")),
    ("exercises_are_whole", drop("softmax", "tags")),
    ("exercises_are_whole", lambda nb: nb.cells.pop(2)),
    ("exercises_are_whole", lambda nb: nb.cells.insert(2, nb.cells.pop(3))),
    (
        "exercises_are_whole",
        lambda nb: [cell.metadata.update(exercise="sofmax") for cell in nb.cells[2:4]],
    ),
    (
        "checks_and_summaries_do_one_thing",
        lambda nb: by_id(nb, "softmax-check").update(source='check("softmax", softmax)'),
    ),
    (
        "checks_and_summaries_do_one_thing",
        lambda nb: by_id(nb, "softmax-check").update(source='softmax = check("dot", softmax)'),
    ),
    (
        "checks_and_summaries_do_one_thing",
        lambda nb: by_id(nb, "case-6").update(source="summary()\nprint(1)"),
    ),
    ("exercises_are_untouched", output("softmax", "stream", name="stdout", text="1")),
    ("exercises_are_untouched", lambda nb: by_id(nb, "softmax-check").outputs.clear()),
    ("no_trailing_semicolon", run("x = 1\nx;")),
    ("no_trailing_semicolon", run("x;  # quiet")),
    ("nothing_unstable", run("from IPython.display import clear_output\nclear_output()")),
    ("nothing_unstable", run("Out[3]")),
    ("nothing_unstable", run("_3")),
    ("nothing_unstable", run("name = input()")),
    ("nothing_unstable", run("from tqdm.notebook import tqdm")),
    ("nothing_unstable", run("!ls")),
    ("nothing_unstable", run("%%bash\nls")),
    ("nothing_unstable", run('open("/tmp/x")')),
    ("nothing_unstable", run("# NBVAL_SKIP\nprint(1)")),
    ("nothing_unstable", run("")),
    ("ids_are_those_of_the_pipeline", lambda nb: by_id(nb, "case-3").update(id="a1b2c3d4")),
    ("ids_are_those_of_the_pipeline", lambda nb: by_id(nb, "case-3").update(id="case-4")),
    ("ids_are_those_of_the_pipeline", lambda nb: by_id(nb, "softmax").update(id="softmax2")),
    ("metadata_is_clean", lambda nb: nb.metadata.update(jupytext={"formats": "ipynb,md"})),
    ("metadata_is_clean", lambda nb: nb.metadata.language_info.update(version="3.11.7")),
    ("metadata_is_clean", lambda nb: nb.metadata.kernelspec.update(name="venv")),
    ("metadata_is_clean", lambda nb: by_id(nb, "case-3").metadata.update(execution={})),
    ("plain_markdown_only", say("```{note}\nHear.\n```")),
    ("plain_markdown_only", say(":::{tip}\nHear.\n:::")),
    ("plain_markdown_only", say("See {ref}`there`.")),
    ("plain_markdown_only", say("(there)=\n# Good")),
    ("plain_markdown_only", say("<!-- strip -->")),
    ("emphasis_closes", say("*Predict: who bites the* dragon*?*")),
    ("details_are_well_formed", say(FOLD.format("## A heading"))),
    ("details_are_well_formed", say(FOLD.format("A heading\n==="))),
    ("details_are_well_formed", say(FOLD.format("<h3>A heading</h3>"))),
    ("details_are_well_formed", say("<details>\n<summary>S</summary>\nBody.\n\n</details>")),
    ("details_are_well_formed", say("<details><summary>S</summary>Body.\n\n</details>")),
    ("details_are_well_formed", say(FOLD.format("Body.") + "\nText.")),
    ("details_are_well_formed", say(FOLD.format(FOLD.format("Body.")))),
    ("details_are_well_formed", say("<details>\n<summary>S</summary>\n\nBody.")),
    ("html_pictures_say_what_they_show", say('<img src="a.png">')),
    ("html_pictures_say_what_they_show", say("![](a.png)")),
]


@pytest.mark.parametrize(("name", "change"), BREAKS)
def test_a_rule_rejects_what_breaks_it(good, name, change):
    change(good)
    assert list(RULES[name](good, "case")) != []


def test_every_rule_has_a_case_that_breaks_it():
    assert {name for name, _ in BREAKS} == set(RULES)


SOUND = [
    say("# Good\n\n" + FOLD.format("```python\n# a comment, not a heading\nx = {1}\n```")),
    say("# Good\n\n" + FOLD.format("| a | b |\n| --- | --- |\n| 1 | 2 |") + "\n\nText."),
    say("# Good\n\n<details><summary>S</summary>\n\nBody.\n\n</details>"),
    say("The set $\\{a\\}$ and `{ref}` in code; ![Bars](a.png)"),
    run("print('a;')\nx_1 = 1_000  # a; b;"),
    run("for n in range(2):\n    print(n); print(n)"),
    tag("case-3", "hide-input"),
    lambda nb: by_id(nb, "case-5").update(
        source="for row in rows:\n    np.testing.assert_allclose(row.sum(), 1)"
    ),
]


@pytest.mark.parametrize("change", SOUND)
def test_a_sound_notebook_is_not_rejected(good, change):
    change(good)
    assert problems(good, "case") == []


def test_an_exercise_of_the_chapter_may_not_be_forgotten(good):
    broken = list(RULES["exercises_are_whole"](good, "02-softmax"))
    assert "exercise log_sum_exp of this chapter has no stub and no check" in broken


def test_a_problem_names_its_file_and_cell(good):
    run("x;")(good)
    [sentence] = problems(good, "case")
    assert sentence.startswith("notebooks/case.ipynb: cell case-3 has a trailing semicolon")


def test_semicolons_inside_code_are_not_at_the_end():
    assert not ends_with_semicolon("'''\nx;\n'''")
    assert ends_with_semicolon("%matplotlib inline\nplt.plot(x);\n")
    assert ends_with_semicolon("def broken(:\nx;")


def test_fences_of_any_length_hide_what_they_hold():
    text = "````markdown\n```{note}\n````\nafter"
    assert outside_code(text) == ["````markdown", "", "````", "after"]
    assert list(broken_details(outside_code("```html\n<details>\n```"))) == []
