"""Pages: one per student with what the checks said, and one for the class."""

from __future__ import annotations

import base64
import html
import io
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from attnbook.assignments.assignment import Assignment
from attnbook.assignments.grade import Graded

_STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { border-bottom: 1px solid #8888; padding: .3rem .8rem; text-align: left; }
td.number, th.number { text-align: right; }
img { max-width: 100%; background: #fff; }
@media print { body { margin: 0; } }
"""


def write_pages(folder: Path, assignment: Assignment, graded: Sequence[Graded]) -> None:
    """`feedback/STUDENT.html` for every student, and `class.html`."""
    pages = folder / "feedback"
    pages.mkdir(parents=True, exist_ok=True)
    taken: set[str] = set()
    for one in graded:
        name = re.sub(r"[^\w.-]", "_", one.student)[:100] or "student"
        while name.casefold() in taken:
            name += "_"
        taken.add(name.casefold())
        (pages / f"{name}.html").write_text(student_page(assignment, one), encoding="utf-8")
    (folder / "class.html").write_text(class_page(assignment, graded), encoding="utf-8")


def student_page(assignment: Assignment, graded: Graded) -> str:
    """What the student would see in the notebook, exercise by exercise."""
    parts = [f"<p><strong>{graded.points} of {assignment.total} points</strong></p>"]
    parts += [f"<p>{html.escape(note)}</p>" for note in graded.notes]
    for grade in graded.grades:
        parts.append(
            f"<h2>{html.escape(grade.exercise)} · {grade.points} of {grade.max_points}</h2>"
        )
        parts += [f"<p>{html.escape(note)}</p>" for note in grade.notes]
        parts.append(grade.html)
    return _page(f"{assignment.name} · {graded.student}", "".join(parts))


def class_page(assignment: Assignment, graded: Sequence[Graded]) -> str:
    """How the class did: passed by exercise, and which mistake how often."""
    n = len(graded)
    mean = sum(one.points for one in graded) / n if n else 0
    rows, shares = [], []
    for i, exercise in enumerate(assignment.points):
        grades = [one.grades[i] for one in graded]
        counts = Counter(grade.status for grade in grades)
        shares.append(counts["passed"] / n if n else 0)
        wrong = counts["failed"] + counts["error"]
        cells = [exercise, counts["passed"], wrong, counts["not attempted"]]
        rows.append(cells)
    table = _table(("Exercise", "Passed", "Not yet", "Not attempted"), rows)
    mistakes = Counter(
        (grade.exercise, grade.mistake or "not recognised")
        for one in graded
        for grade in one.grades
        if grade.status in ("failed", "error")
    )
    listed = [[exercise, mistake, count] for (exercise, mistake), count in mistakes.most_common()]
    notes = [[one.student, " ".join(one.notes)] for one in graded if one.notes]
    body = (
        f"<p>{n} submissions, {mean:.1f} of {assignment.total} points on average.</p>"
        f"{table}{_plot(list(assignment.points), shares)}"
        f"<h2>Mistakes, most frequent first</h2>"
        f"{_table(('Exercise', 'Mistake', 'Students'), listed)}"
    )
    if notes:
        body += f"<h2>Worth a look</h2>{_table(('Student', 'What happened'), notes)}"
    return _page(f"{assignment.name} · the class", body)


def _table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    def tag(name: str, cell: object) -> str:
        kind = ' class="number"' if isinstance(cell, int) else ""
        scope = ' scope="col"' if name == "th" else ""
        return f"<{name}{scope}{kind}>{html.escape(str(cell))}</{name}>"

    if not rows:
        return "<p>None.</p>"
    head = "".join(tag("th", cell) for cell in heads)
    body = "".join("<tr>" + "".join(tag("td", cell) for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _plot(names: Sequence[str], shares: Sequence[float]) -> str:
    """Share of students who passed each exercise, as a picture."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 0.5 * len(names) + 1), layout="constrained")
    axes = figure.subplots()
    axes.barh(range(len(names)), shares, color="#0072b2")
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of students who passed")
    for spine in ("top", "right"):
        axes.spines[spine].set_visible(False)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=110)
    data = base64.b64encode(picture.getvalue()).decode()
    said = ", ".join(f"{name} {share:.0%}" for name, share in zip(names, shares, strict=True))
    alt = html.escape(f"Share of students who passed: {said}")
    return f'<p><img alt="{alt}" src="data:image/png;base64,{data}"></p>'


def _page(title: str, body: str) -> str:
    title = html.escape(title)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><main><h1>{title}</h1>{body}</main></body></html>\n"
    )
