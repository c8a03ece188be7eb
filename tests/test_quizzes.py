"""Quizzes: complete, with a reason for every choice and answers that are what they compute to."""

from types import SimpleNamespace

import pytest
from docutils import nodes

from tools import sphinx_quiz
from tools.course import Course, read_yaml
from tools.markers import right_choice

COURSE = Course()
SLUG = COURSE.ready[0].slug
QUESTIONS = [
    pytest.param(question, id=f"{chapter.slug}:{question['id']}")
    for chapter in COURSE.ready
    for question in read_yaml(COURSE.quiz(chapter.slug))["questions"]
]


@pytest.mark.parametrize("slug", [chapter.slug for chapter in COURSE.ready])
def test_a_chapter_asks_four_to_six_different_questions(slug):
    names = [question["id"] for question in read_yaml(COURSE.quiz(slug))["questions"]]
    assert 4 <= len(names) <= 6
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_choice_has_a_reason_of_its_own(question):
    assert question["question"].strip()
    choices = question["choices"]
    assert 2 <= len(choices) <= 5
    for key in ("text", "reason"):
        said = [str(choice[key]).strip() for choice in choices]
        assert all(said)
        assert len(set(said)) == len(said)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_right_choice_is_given_or_computed_never_both(question):
    assert ("answer" in question) != ("compute" in question)
    assert set(question) <= {"id", "question", "choices", "answer", "compute"}
    assert right_choice(question) in range(1, len(question["choices"]) + 1)


def page_with_quiz(choices):
    """A chapter's page as Sphinx reads it, with one question that has this many choices."""
    said = [
        nodes.bullet_list("", *(nodes.list_item("", nodes.paragraph()) for _ in range(choices)))
        for _ in ("choices", "reasons")
    ]
    asked = nodes.paragraph("", "Question 1. Which?")
    fold = [nodes.raw("", text, format="html") for text in ("<details>", "</details>")]
    title = nodes.title("", "Quiz")
    section = nodes.section("", title, asked, said[0], fold[0], said[1], fold[1])
    return nodes.section("", nodes.title("", "Chapter"), section)


def test_a_page_whose_quiz_is_not_that_of_the_data_file_is_warned_of(monkeypatch):
    warned = []
    logger = SimpleNamespace(warning=lambda message, *of, location: warned.append(message % of))
    monkeypatch.setattr(sphinx_quiz.logging, "getLogger", lambda name: logger)
    env = SimpleNamespace(docname=f"notebooks/{SLUG}", note_dependency=lambda path: None)
    page = page_with_quiz(choices=4)
    sphinx_quiz.ready_quiz(SimpleNamespace(env=env, srcdir=COURSE.root), page)
    assert warned == [f"the quiz is not the one of book/quizzes/{SLUG}.yml: run tools/notebooks.py"]
    assert not any(page.findall(sphinx_quiz.quiz_part))
