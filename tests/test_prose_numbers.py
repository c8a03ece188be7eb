"""Every decimal number in the prose of a chapter is one that the chapter computes."""

import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from attnbook.exercises import in_chapter
from tests.prose_numbers import Number, decimal_numbers, output_numbers, prose
from tools import notebooks
from tools.course import ROOT, Course, read_yaml

COURSE = Course()
SLUGS = [chapter.slug for chapter in COURSE.ready]
ALLOWED = read_yaml(ROOT / "tests" / "prose_numbers.yml") or {}


def unexplained(slug: str) -> set[str]:
    notebook = notebooks.read(COURSE.notebook(slug))
    shown = output_numbers(notebook)
    names = frozenset(exercise.number for exercise in in_chapter(slug))
    numbers = [n for text in prose(notebook, COURSE, slug) for n in decimal_numbers(text, names)]
    return {str(number) for number in numbers if not number.is_shown_by(shown)}


@pytest.mark.parametrize("slug", SLUGS)
def test_every_decimal_number_of_the_prose_stands_in_a_stored_output(slug):
    allowed = {str(entry["number"]) for entry in ALLOWED.get(slug, [])}
    found = unexplained(slug)
    assert found <= allowed, "print these in a cell, or give their source in prose_numbers.yml"
    assert allowed <= found, "these need no entry in prose_numbers.yml"


def test_every_allowed_number_names_its_source():
    for slug, entries in ALLOWED.items():
        assert slug in SLUGS
        assert all(isinstance(e["number"], str) and e["source"].strip() for e in entries)


@pytest.mark.parametrize(
    ("number", "outputs", "shown"),
    [
        (Number("", "0.9"), [0.90], True),
        (Number("", "0.9"), [0.9031], True),
        (Number("", "0.9"), [0.96], False),
        (Number("", "0.90"), [0.9], True),
        (Number("", "0.33"), [0.3], False),
        (Number("", "0.14"), [-0.1402], True),
        (Number("-", "0.14"), [-0.1402], True),
        (Number("-", "0.14"), [0.1402], False),
        (Number("+", "0.14"), [-0.1402], False),
        (Number("", "1.0"), [1.0], True),
        (Number("", "0.5"), [], False),
    ],
)
def test_a_number_is_matched_as_far_as_it_is_written(number, outputs, shown):
    assert number.is_shown_by(outputs) is shown


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("It rises from 0.33 to 0.94.", ["0.33", "0.94"]),
        ("It loses (−0.140), it gains (+0.175).", ["-0.140", "+0.175"]),
        ("In maths, $w_1 = 0.5$ counts.", ["0.5"]),
        ("About 25.5 %, or 1.5–2.5.", ["25.5", "1.5", "2.5"]),
        ("In code `x = 0.5` does not.", []),
        ("```python\nx = 0.5\n```", []),
        ("[arXiv:1706.03762](https://arxiv.org/abs/1706.03762), section 3.2.1", []),
        ("[doi:10.1007/978-3-642](https://doi.org/10.1007/978-3-642)", []),
        ("Exercises 2.1, 2.2 and 2.4; exercise 2.3 · softmax", []),
        ("Python 3.11 with torch 2.13", []),
        ("Part 1, chapter 2: 3 words", []),
    ],
)
def test_measurements_are_told_from_names(text, numbers):
    assert [str(number) for number in decimal_numbers(text)] == numbers


def test_a_paragraph_about_exercises_may_name_them_by_number():
    names = frozenset({"2.1", "2.3"})
    assert decimal_numbers("Exercise 2.1 first: you need 2.1, and 2.3 for a reason.", names) == []
    assert decimal_numbers("It takes 2.3 seconds.", names) == [Number("", "2.3")]


def test_numbers_are_read_from_text_tables_and_arrays_but_not_from_verdicts():
    def cell(**content):
        return new_code_cell("x", outputs=[new_output("display_data", data=content)])

    verdict = new_code_cell("x", metadata={"tags": ["check"]})
    verdict.outputs = [new_output("display_data", data={"text/plain": "Exercise 7.7"})]
    printed = new_code_cell("x", outputs=[new_output("stream", text="[-0. 1. 1e-05]\n|.5")])
    table = cell(**{"text/html": "<td style='width:9.9em'>0.25</td>"})
    found = output_numbers(new_notebook(cells=[verdict, printed, table]))
    assert found == [0.0, 1.0, 1e-05, 0.5, 0.25]
