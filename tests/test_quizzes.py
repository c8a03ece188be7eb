"""Quizzes: complete, with a reason for every choice and answers that are what they compute to."""

import pytest

from tools.course import Course, read_yaml
from tools.markers import right_choice

COURSE = Course()
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
