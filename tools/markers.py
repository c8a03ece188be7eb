"""What the markers in a chapter's source stand for.

<!-- strip -->   <!-- exercise: id -->   <!-- hints: id -->   <!-- quiz -->   <!-- where-next -->
Everything they become is plain Markdown: it looks the same in Jupyter, Colab and on the site.
"""

from __future__ import annotations

import re
import textwrap
from typing import Any

import numpy as np

from attnbook.assignments.assignment import counted
from attnbook.exercises import get
from attnbook.exercises.exercise import Exercise
from tools.course import ROMAN, Chapter, Course, read_yaml

MARKER = re.compile(r"^<!--\s*(?P<name>[\w-]+)(?::\s*(?P<of>[\w-]+))?\s*-->\s*$")
MAP = "[Back to the map](../book/intro.md)"
HINTS = ["a nudge", "the way", "nearly the answer"]


class SourceError(Exception):
    """Something in a chapter's source that its author must mend; the text says what."""


def split_at_markers(markdown: str) -> list[tuple[str | None, str]]:
    """(role, text) pieces of a Markdown cell; a role is the id its cell will get, or None.

    An exercise's prompt begins a cell; its hints are a cell of their own.
    """
    pieces: list[tuple[str | None, list[str]]] = [(None, [])]
    for line in markdown.splitlines():
        marker = MARKER.match(line)
        if marker and marker["name"] == "exercise":
            pieces.append((f"{marker['of']}-prompt", [line]))
        elif marker and marker["name"] == "hints":
            pieces += [(f"{marker['of']}-hints", [line]), (None, [])]
        else:
            pieces[-1][1].append(line)
    texts = [(role, "\n".join(lines).strip()) for role, lines in pieces]
    return [(role, text) for role, text in texts if text]


def expand(markdown: str, chapter: Chapter, course: Course) -> str:
    """The text with each marker replaced by what it stands for."""
    lines, in_code = [], False
    for line in markdown.splitlines():
        in_code ^= line.lstrip().startswith("```")
        if not in_code and "<!--" in line:
            marker = MARKER.match(line)
            if marker is None:
                raise SourceError(f"a comment that is no marker on a line of its own: {line!r}")
            line = _expansion(marker["name"], marker["of"], chapter, course)
        lines.append(line)
    return "\n".join(lines).strip()


def _expansion(name: str, of: str | None, chapter: Chapter, course: Course) -> str:
    if name in ("exercise", "hints"):
        exercise = find_exercise(of, chapter)
        return exercise_head(exercise) if name == "exercise" else hints(exercise)
    if name == "strip":
        return strip(chapter, course)
    if name == "quiz":
        return quiz(questions_of(chapter, course))
    if name == "where-next":
        return where_next(chapter, course)
    raise SourceError(f"there is no marker named {name!r}")


def find_exercise(exercise_id: str | None, chapter: Chapter) -> Exercise:
    try:
        exercise = get(exercise_id or "")
    except KeyError as error:
        raise SourceError(error.args[0]) from None
    if exercise.chapter != chapter.slug:
        raise SourceError(f"exercise {exercise_id!r} belongs to {exercise.chapter}")
    return exercise


def strip(chapter: Chapter, course: Course) -> str:
    """The line of facts under the title."""
    facts = [
        f"**Part {ROMAN[chapter.part]} · {course.part_title(chapter.part)}**",
        chapter.level,
        f"{chapter.reading_minutes} minutes to read",
        f"about {duration(chapter.run_seconds)} to run on two CPU cores",
        f"needs {chapter.needs}",
    ]
    before = [link(course.chapter(slug)) for slug in chapter.prerequisites]
    last = [f"Read first: {', '.join(before)}"] if before else []
    return " · ".join(facts) + "\n\n" + " · ".join([*last, MAP])


def duration(seconds: int) -> str:
    if seconds < 100:
        return f"{seconds} seconds"
    return f"{round(seconds / 60)} minutes"


def link(chapter: Chapter) -> str:
    """A link to a chapter, or its name where it is still to come."""
    if chapter.is_ready:
        return f"[{chapter.name}]({chapter.slug}.ipynb)"
    return f"{chapter.name} (to come)"


def where_next(chapter: Chapter, course: Course) -> str:
    place = course.chapters.index(chapter)
    lines = []
    if place > 0:
        lines.append(f"- Before: {link(course.chapters[place - 1])}")
    if place + 1 < len(course.chapters):
        lines.append(f"- Next: {link(course.chapters[place + 1])}")
    return "\n".join([*lines, f"- {MAP}"])


def exercise_head(exercise: Exercise) -> str:
    points, minutes = counted(exercise.points, "point"), counted(exercise.minutes, "minute")
    facts = f"Difficulty {exercise.difficulty} of 3 · {minutes} · {points}"
    return f"### {exercise.heading}\n\n*{facts}*"


def hints(exercise: Exercise) -> str:
    """Three folded hints and a link to the solution."""
    folds = [
        details(f"Hint {n}: {what}", hint)
        for n, (what, hint) in enumerate(zip(HINTS, exercise.hints, strict=True), start=1)
    ]
    target = f"../book/solutions/{exercise.chapter}.md#{exercise.heading.replace(' ', '-')}"
    return "\n\n".join([*folds, f"[Solution of exercise {exercise.number}]({target})"])


def details(summary: str, body: str) -> str:
    """A folded block; without the blank lines its body would be shown as raw text."""
    return f"<details>\n<summary>{summary}</summary>\n\n{body.strip()}\n\n</details>"


def questions_of(chapter: Chapter, course: Course) -> list[dict[str, Any]]:
    path = course.quiz(chapter.slug)
    if not path.is_file():
        raise SourceError(f"the quiz file {path.relative_to(course.root)} is missing")
    return read_yaml(path)["questions"]


def right_choice(question: dict[str, Any]) -> int:
    """The 1-based number of the right choice, computed where the question says how."""
    if "compute" in question:
        return int(eval(question["compute"], {"np": np}))  # our own text, from book/quizzes
    return question["answer"]


def quiz(questions: list[dict[str, Any]]) -> str:
    return "\n\n".join(_question(n, question) for n, question in enumerate(questions, start=1))


def _question(number: int, question: dict[str, Any]) -> str:
    right = right_choice(question)
    choices, reasons = [], []
    for n, choice in enumerate(question["choices"], start=1):
        letter = "ABCDE"[n - 1]
        verdict = "right" if n == right else "no"
        choices.append(_item(f"**{letter}.** {str(choice['text']).strip()}"))
        reasons.append(_item(f"**{letter}** · {verdict}. {choice['reason'].strip()}"))
    body = f"The answer is **{'ABCDE'[right - 1]}**.\n\n" + "\n".join(reasons)
    asked = f"**Question {number}.** {question['question'].strip()}"
    return "\n\n".join([asked, "\n".join(choices), details(f"Answer to question {number}", body)])


def _item(text: str) -> str:
    """A list item whose further lines stay inside it."""
    return "- " + textwrap.indent(text, "  ").strip()
