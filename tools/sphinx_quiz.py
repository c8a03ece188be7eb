"""The part of the build that readies a chapter's quiz to be answered in the page.

The page holds the folded quiz of the notebook. Here its pieces get names, and each question the
number of its right choice from book/quizzes, computed now where the data say how. quiz.js makes
radio buttons of them; without JavaScript the names change nothing.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tools.course import Course  # noqa: E402
from tools.markers import questions_of, right_choice  # noqa: E402

CHAPTERS = "notebooks/"
QUESTION = re.compile(r"Question \d+\. ")
VERDICT = re.compile(r" · (right|no)\.\s*")


class quiz_part(nodes.General, nodes.Element):
    """A <div> around a quiz or around one of its questions; `data` holds the attributes."""


def visit_part(self: Any, node: quiz_part) -> None:
    self.body.append(self.starttag(node, "div", **node["data"]))


def depart_part(self: Any, node: quiz_part) -> None:
    self.body.append("</div>\n")


def ready_quiz(app: Sphinx, doctree: nodes.document) -> None:
    """Wrap the quiz and each question, where the page is a chapter with a quiz."""
    docname = app.env.docname
    sections = [s for s in doctree.findall(nodes.section) if s[0].astext() == "Quiz"]
    if not docname.startswith(CHAPTERS) or not sections:
        return
    slug, course = docname.removeprefix(CHAPTERS), Course(Path(app.srcdir))
    app.env.note_dependency(str(course.quiz(slug)))
    questions = questions_of(course.chapter(slug), course)
    shown = questions_on(sections[0])
    if [2 * [len(question["choices"])] for question in questions] != [
        [len(part) for part in lists_of(pieces)] for pieces in shown
    ]:
        message = "the quiz is not the one of book/quizzes/%s.yml: run tools/notebooks.py"
        logging.getLogger(__name__).warning(message, slug, location=sections[0])
        return
    quiz = quiz_part(classes=["quiz"], data={"data-quiz": slug})
    sections[0].insert(sections[0].index(shown[0][0]), quiz)
    for question, pieces in zip(questions, shown, strict=True):
        for piece in pieces:
            sections[0].remove(piece)
        name_lists(*lists_of(pieces))
        data = {"data-question": question["id"], "data-answer": str(right_choice(question))}
        quiz += quiz_part("", *pieces, classes=["quiz-question"], data=data)


def questions_on(section: nodes.section) -> list[list[nodes.Node]]:
    """The pieces of each question, from its first paragraph to the end of its fold."""
    found: list[list[nodes.Node]] = []
    inside = False
    for child in section.children:
        if not inside and QUESTION.match(child.astext()):
            found.append([])
            inside = True
        if inside:
            found[-1].append(child)
        if isinstance(child, nodes.raw) and "</details>" in child.astext():
            inside = False
    return found


def lists_of(pieces: list[nodes.Node]) -> list[nodes.bullet_list]:
    """A question's choices and their reasons."""
    return [piece for piece in pieces if isinstance(piece, nodes.bullet_list)][-2:]


def name_lists(choices: nodes.bullet_list, reasons: nodes.bullet_list) -> None:
    choices["classes"].append("quiz-choices")
    reasons["classes"].append("quiz-reasons")
    for reason in reasons:
        letter = next(reason.findall(nodes.strong))
        words, place = letter.parent, letter.parent.index(letter)
        said = words[place + 1].astext()
        verdict = VERDICT.match(said)[0]
        named = nodes.inline("", "", letter, nodes.Text(verdict), classes=["quiz-verdict"])
        words[place : place + 2] = [named, nodes.Text(said.removeprefix(verdict))]


def load_files(app: Sphinx, page: str, template: str, context: dict, doctree: Any) -> None:
    """Only a page with a quiz loads what a quiz needs."""
    if doctree is not None and any(doctree.findall(quiz_part)):
        app.add_css_file("quiz.css")
        app.add_js_file("quiz.js", defer="defer")


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_node(quiz_part, html=(visit_part, depart_part))
    app.connect("doctree-read", ready_quiz)
    app.connect("html-page-context", load_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
