"""Pages: one per student with what the checks said, and one for the class."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from attnbook.assignments.assignment import Assignment, counted
from attnbook.assignments.grade import Graded

_STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { border-bottom: 1px solid #8888; padding: .3rem .8rem; text-align: left; }
td.number { text-align: right; }
td { overflow-wrap: break-word; }
.table table { margin: 0; }
.table, figure { overflow-x: auto; margin: 1rem 0; }
svg { width: 100%; min-width: 30rem; font-size: 14px; }
svg text { fill: currentColor; }
svg .all { fill: #8883; }
svg .passed { fill: #3b8fc4; }
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
    parts = [f"<p><strong>{graded.points} of {counted(assignment.total, 'point')}</strong></p>"]
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
    rows, passed = [], []
    for i, exercise in enumerate(assignment.points):
        grades = [one.grades[i] for one in graded]
        counts = Counter(grade.status for grade in grades)
        passed.append(counts["passed"])
        wrong = counts["failed"] + counts["error"]
        cells = [exercise, counts["passed"], wrong, counts["not attempted"]]
        rows.append(cells)
    table = _table(("Exercise", "Passed", "Not yet", "Not attempted"), rows)
    mistakes: dict[tuple[str, str], list[str]] = {}
    for one in graded:
        for grade in one.grades:
            if grade.status in ("failed", "error"):
                what = (grade.exercise, grade.mistake or "not recognised")
                mistakes.setdefault(what, []).append(one.student)
    listed = [
        [exercise, mistake, len(who), ", ".join(who[:5]) + (", …" if len(who) > 5 else "")]
        for (exercise, mistake), who in sorted(mistakes.items(), key=lambda item: -len(item[1]))
    ]
    notes = [[one.student, " ".join(one.notes)] for one in graded if one.notes]
    body = (
        f"<p>{counted(n, 'submission')}, {mean:.1f} of {assignment.total} points on average.</p>"
        f"{table}{_plot(list(assignment.points), passed, n)}"
        f"<h2>Mistakes, most frequent first</h2>"
        f"{_table(('Exercise', 'Mistake', 'Students', 'Who'), listed)}"
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
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="table">{table}</div>'


def _plot(names: Sequence[str], passed: Sequence[int], of: int) -> str:
    """Share of students who passed each exercise, as a picture in the page's own colours."""
    left, width, step = 240, 400, 28
    parts = []
    for row, (name, count) in enumerate(zip(names, passed, strict=True)):
        share, y = count / of if of else 0, row * step
        parts.append(
            f'<text x="{left - 8}" y="{y + 18}" text-anchor="end">{html.escape(name)}</text>'
            f'<rect class="all" x="{left}" y="{y + 4}" width="{width}" height="{step - 8}"/>'
            f'<rect class="passed" x="{left}" y="{y + 4}" width="{share * width:.0f}" '
            f'height="{step - 8}"/>'
            f'<text x="{left + width + 8}" y="{y + 18}">{share:.0%}</text>'
        )
    said = ", ".join(f"{name} {count} of {of}" for name, count in zip(names, passed, strict=True))
    return (
        f'<figure><figcaption>Share of students who passed</figcaption><svg role="img" '
        f'viewBox="0 0 {left + width + 60} {len(names) * step}">'
        f"<title>Passed: {html.escape(said)}</title>{''.join(parts)}</svg></figure>"
    )


def _page(title: str, body: str) -> str:
    title = html.escape(title)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><main><h1>{title}</h1>{body}</main></body></html>\n"
    )
