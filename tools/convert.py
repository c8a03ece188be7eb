"""A chapter's source as a notebook without outputs: markers expanded, ids and metadata set."""

from __future__ import annotations

from typing import Any

import jupytext
import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools.course import Course
from tools.markers import SourceError, expand, find_exercise, split_at_markers

METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
    },
}
LOOK = """\
import sys
from importlib.util import find_spec
"""
ON_COLAB = """
if find_spec("attnbook") is None and "google.colab" in sys.modules:
    %pip install --quiet "attnbook @ git+{url}@{branch}"
"""
ELSEWHERE = """
if find_spec("attnbook") is None:

    class NotInstalled(Exception):
        def _render_traceback_(self):
            return [str(self)]

    raise NotInstalled(
        "The course's package is not installed for this Python. In the course's folder run\\n"
        f"{sys.executable} -m pip install -e .\\nand restart the kernel."
    )
"""


def convert(slug: str, course: Course) -> NotebookNode:
    """The chapter as a notebook that has not been run. Raises SourceError."""
    try:
        chapter = course.chapter(slug)
    except KeyError as error:
        raise SourceError(error.args[0]) from None
    source = jupytext.reads(course.source(slug).read_text(encoding="utf-8"), fmt="md:myst")
    cells = []
    for cell in source.cells:
        if cell.cell_type == "code":
            role = code_role(cell)
            if cell.metadata.get("exercise"):
                find_exercise(cell.metadata["exercise"], chapter)
            cells.append((role, new_code_cell(cell.source.strip(), metadata=cell.metadata)))
            continue
        for role, text in split_at_markers(cell.source):
            text = expand(text, chapter, course)
            cells.append((role, new_markdown_cell(text, metadata=cell.metadata)))
    add_setup([cell for _, cell in cells], course)
    set_ids(cells, slug)
    notebook = new_notebook(cells=[cell for _, cell in cells], metadata=METADATA)
    notebook.nbformat_minor = 5
    nbformat.validate(notebook)
    return notebook


def code_role(cell: Any) -> str | None:
    """The id of a stub or check cell, None for every other."""
    tags, exercise = cell.metadata.get("tags", []), cell.metadata.get("exercise")
    if exercise and "stub" in tags:
        return exercise
    if exercise and "check" in tags:
        return f"{exercise}-check"
    return None


def set_ids(cells: list[tuple[str | None, NotebookNode]], slug: str) -> None:
    """Cells of an exercise are named for it, the others for the chapter, counted from 1."""
    count, seen = 0, set()
    for role, cell in cells:
        if role is None:
            count += 1
        cell.id = role or f"{slug}-{count}"
        if cell.id in seen:
            raise SourceError(f"two cells would both be {cell.id!r}")
        seen.add(cell.id)


def setup_lines(course: Course) -> str:
    """What stands above a chapter's own imports: is the course's package here?"""
    url, branch = course.repository
    colab = ON_COLAB.format(url=url, branch=branch) if url else ""
    return LOOK + colab + ELSEWHERE


def add_setup(cells: list[NotebookNode], course: Course) -> None:
    code = [cell for cell in cells if cell.cell_type == "code"]
    tagged = [cell for cell in code if "setup" in cell.metadata.get("tags", [])]
    if not code or tagged != code[:1]:
        raise SourceError("the first code cell, and no other, must be tagged setup")
    tagged[0].source = setup_lines(course) + "\n" + tagged[0].source
