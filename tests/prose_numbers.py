"""Decimal numbers in a chapter's prose, and the numbers in its stored outputs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nbformat import NotebookNode

from tools.course import Course, read_yaml
from tools.markdown_lint import outside_code
from tools.markers import quiz, right_choice

# Digits with a point that are no measurements.
NAMES = [
    r"`[^`]*`",  # code
    r"\]\([^)]*\)",  # the target of a link
    r"https?://\S+",
    r"doi:\S+",
    r"arXiv:\S+",
    r"\b\d+(\.\d+){2,}",  # section 3.2.1, version 2.13.0
    r"(?i)\bexercises? \d+\.\d+((, | and |, and | or | to )\d+\.\d+)*",
    r"\b(Python|torch|PyTorch|NumPy|version) \d+\.\d+",
]
IN_PROSE = re.compile(r"(?:(?<![\w.])([-−+]))?(?<![\w.])(\d+\.\d+)(?![\w.]*\d)")
IN_OUTPUT = re.compile(r"[-−+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class Number:
    """A decimal number as written; `sign` is "" where the prose gives none."""

    sign: str
    digits: str

    def __str__(self) -> str:
        return self.sign + self.digits

    def is_shown_by(self, outputs: list[float]) -> bool:
        """True if an output, rounded to as many places, is this number."""
        value, half = float(self.digits), 0.5 * 10 ** -len(self.digits.split(".")[1])
        if self.sign == "-":
            value = -value
        return any(
            abs((shown if self.sign else abs(shown)) - value) <= half * (1 + 1e-9)
            for shown in outputs
        )


def decimal_numbers(markdown: str, exercises: frozenset[str] = frozenset()) -> list[Number]:
    """The decimal numbers of the prose: not those in code, links, names of papers or exercises.

    A paragraph that speaks of exercises may name those in `exercises` by their bare number.
    """
    paragraphs = outside_code(markdown)
    for name in NAMES:
        paragraphs = [re.sub(name, " ", text) for text in paragraphs]
    spoken = [re.search(r"(?i)\bexercise", line) for line in outside_code(markdown)]
    for number in exercises:
        paragraphs = [
            re.sub(rf"(?<![\w.]){re.escape(number)}(?![\w.]*\d)", " ", text) if named else text
            for text, named in zip(paragraphs, spoken, strict=True)
        ]
    text = "\n".join(paragraphs)
    found = (match.groups() for match in IN_PROSE.finditer(text))
    return [Number((sign or "").replace("−", "-"), digits) for sign, digits in found]


def prose(notebook: NotebookNode, course: Course, slug: str) -> list[str]:
    """The Markdown cells; of the quiz, the wrong choices are left out, as they claim nothing."""
    questions = read_yaml(course.quiz(slug))["questions"]
    claims = "\n\n".join(
        "\n\n".join([q["question"], str(q["choices"][right_choice(q) - 1]["text"])])
        + "\n\n"
        + "\n\n".join(choice["reason"] for choice in q["choices"])
        for q in questions
    )
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    return [text.replace(quiz(questions), claims) for text in texts]


def output_numbers(notebook: NotebookNode) -> list[float]:
    """The numbers in what the cells print and show; verdicts of checks hold no measurements."""
    texts = []
    for cell in notebook.cells:
        if cell.cell_type != "code" or {"check", "summary"} & set(cell.metadata.get("tags", [])):
            continue
        for output in cell.outputs:
            data = output.get("data", {})
            texts.append(output.get("text") or data.get("text/plain", ""))
            texts.append(re.sub(r"<[^>]*>", " ", data.get("text/html", "")))
    found = IN_OUTPUT.findall("\n".join(texts))
    return [float(number.replace("−", "-")) for number in found]
