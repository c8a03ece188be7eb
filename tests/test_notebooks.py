"""Every chapter has what a chapter of this course has, in its order, and runs anywhere."""

import copy
import re

import pytest
from nbformat.v4 import new_code_cell

from attnbook.exercises import in_chapter
from tools import notebooks
from tools.cells import code_cells, tagged
from tools.course import Course
from tools.markdown_lint import outside_code
from tools.markers import strip, where_next
from tools.notebook_lint import pictures
from tools.sphinx_course import heading_anchor

COURSE = Course()
CHAPTERS = [pytest.param(chapter, id=chapter.slug) for chapter in COURSE.ready]
MOST_LINES = 25
FILLERS = r"\b(simply|just|obviously|magic(al|ally)?)\b"
# Headings and folded parts that every chapter has, in this order.
PARTS = [
    "Think of it this way",
    "Objectives",
    "Quiz",
    "Key takeaways",
    "How this code works",
    "Resources",
    "Related reading",
    "Where next",
    "For instructors",
]


@pytest.fixture(params=CHAPTERS)
def chapter(request):
    return request.param


@pytest.fixture
def notebook(chapter):
    return notebooks.read(COURSE.notebook(chapter.slug))


def prose(notebook):
    return [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]


def names_of_parts(notebook):
    """Headings of the second level and summaries of folded blocks, in order."""
    lines = outside_code("\n".join(prose(notebook)))
    found = re.compile(r"(?:## |<summary>(?:<strong>)?)(.*?)(?:(?:</strong>)?</summary>)?$")
    return [match[1] for match in map(found.match, lines) if match]


def section(notebook, heading):
    """The text under a heading, up to the next of the same level."""
    text = "\n".join(prose(notebook)) + "\n## "
    return re.search(rf"^## {heading}\n(.*?)^## ", text, flags=re.M | re.S)[1]


def items(text):
    return re.findall(r"^(?:-|\d+\.) .*", text, flags=re.M)


def test_it_opens_with_title_promise_and_strip(chapter, notebook):
    first = notebook.cells[0].source
    assert first == f"# {chapter.title}\n\n{chapter.promise}\n\n{strip(chapter, COURSE)}"


def test_its_parts_stand_in_their_order(notebook):
    found = names_of_parts(notebook)
    assert [name for name in found if name in PARTS] == PARTS


def test_the_analogy_is_folded_before_the_setup_cell(notebook):
    place = notebook.cells.index(tagged(notebook, "setup")[0])
    before = "\n".join(cell.source for cell in notebook.cells[:place])
    assert re.search(r"<summary>(<strong>)?Think of it this way", before)


def test_it_has_three_to_five_objectives_and_two_or_three_related_readings(notebook):
    assert 3 <= len(items(section(notebook, "Objectives"))) <= 5
    assert 2 <= len(items(section(notebook, "Related reading"))) <= 3


def reference(item):
    """The entry of the references page that an item of a list links to, heading included."""
    name = re.search(r"\]\(\.\./book/references\.md#([^)]+)\)", item)[1]
    page = (COURSE.root / "book" / "references.md").read_text(encoding="utf-8")
    entries = re.split(r"^(?=#+ )", page, flags=re.M)[1:]
    return next(e for e in entries if heading_anchor(e.splitlines()[0].lstrip("# ")) == name)


def test_every_resource_names_its_reference_with_its_doi_or_arxiv_id(notebook):
    """A book that has neither is named without."""
    for heading in ("Resources", "Related reading"):
        assert items(section(notebook, heading))
        for item in items(section(notebook, heading)):
            papers = r"\]\((https://(?:doi|arxiv)\.org/[^)]+)\)"
            given, known = re.findall(papers, item), re.findall(papers, reference(item))
            assert set(given) <= set(known), item
            assert given or not known, item


def test_it_has_three_to_six_exercises_each_whole_and_in_order(chapter, notebook):
    names = [cell.id for cell in notebook.cells]
    exercises = in_chapter(chapter.slug)
    assert 3 <= len(exercises) <= 6
    for exercise in exercises:
        places = [names.index(exercise.id + end) for end in ("-prompt", "", "-check", "-hints")]
        assert places == sorted(places)
        assert places[1] == places[0] + 1
        assert places[3] == places[2] + 1
    stubs = [cell.metadata.exercise for cell in tagged(notebook, "stub")]
    assert stubs == [exercise.id for exercise in exercises]


def test_each_prompt_says_what_is_asked(chapter, notebook):
    for exercise in in_chapter(chapter.slug):
        prompt = next(cell for cell in notebook.cells if cell.id == f"{exercise.id}-prompt")
        assert prompt.source.startswith(f"### {exercise.heading}\n")
        asked = f"`{exercise.signature}`" if exercise.kind == "function" else exercise.id
        assert asked in prompt.source.split("\n", 1)[1]


def test_the_summary_comes_after_every_check(notebook):
    [summary] = tagged(notebook, "summary")
    last = tagged(notebook, "check")[-1]
    assert notebook.cells.index(last) < notebook.cells.index(summary)


def test_its_solution_page_has_the_heading_of_each_exercise(chapter):
    page = COURSE.solutions(chapter.slug).read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", page, flags=re.M)
    assert headings == [exercise.heading for exercise in in_chapter(chapter.slug)]


def test_its_quiz_and_the_way_on_are_those_of_the_data_files(chapter, notebook):
    assert section(notebook, "Where next").startswith("\n" + where_next(chapter, COURSE))
    assert "**Question 1.**" in section(notebook, "Quiz")


def test_it_has_a_picture(notebook):
    assert list(pictures(notebook))


def test_a_cell_fits_on_a_screen(notebook):
    long = {
        cell.id: len(cell.source.splitlines())
        for cell in code_cells(notebook)
        if len(cell.source.splitlines()) > MOST_LINES
    }
    assert long == {}


def test_its_prose_never_says_that_something_is_easy(notebook):
    for text in prose(notebook):
        for line in outside_code(text):
            assert not re.search(FILLERS, line, flags=re.IGNORECASE), line


# Chapters that take long belong to the long version of the tests.
TWICE = [
    pytest.param(c, id=c.slug, marks=[pytest.mark.full] if c.run_seconds > 15 else [])
    for c in COURSE.ready
]


@pytest.mark.parametrize("chapter", TWICE)
def test_it_runs_twice_in_any_folder_and_a_numpy_chapter_without_torch(chapter, tmp_path):
    notebook = copy.deepcopy(notebooks.read(COURSE.notebook(chapter.slug)))
    cells = code_cells(notebook)
    again = [new_code_cell(cell.source, id=f"{cell.id}-again") for cell in cells]
    notebook.cells = cells + again
    if chapter.needs == "NumPy":
        notebook.cells.insert(0, new_code_cell("import sys\nsys.modules['torch'] = None", id="no"))
    notebooks.execute(notebook, chapter.slug, tmp_path)
