"""How a verdict is shown: plain text and HTML, the same words, no random ids, more than colour."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from attnbook.exercises.exercise import Exercise, Outcome

SMALL = 12  # numbers in an array that is shown whole

_WORDS = {
    "passed": ("✓", "passed"),
    "failed": ("✗", "not yet"),
    "error": ("✗", "not yet"),
    "not attempted": ("○", "not attempted yet"),
}
_CLASSES = {
    "passed": "attn-passed",
    "failed": "attn-failed",
    "error": "attn-failed",
    "not attempted": "attn-untried",
}
# Readable on white and on black alike: only the bar is coloured, the text keeps the page's colour.
_BARS = {"passed": "#1b7f4d", "failed": "#c2410c", "error": "#c2410c", "not attempted": "#6b7280"}


def passed(exercise: Exercise) -> Outcome:
    """The outcome of a right answer: what a solved notebook must show."""
    return Outcome(exercise, "passed")


def headline(outcome: Outcome) -> str:
    """One line: sign, exercise, verdict, points."""
    sign, word = _WORDS[outcome.status]
    points = f"{outcome.points} of {outcome.max_points} points"
    tail = f" · {points}" if outcome.status == "passed" else ""
    return f"{sign} Exercise {outcome.exercise.number} · {outcome.exercise.id}: {word}{tail}"


def paragraphs(outcome: Outcome) -> list[tuple[str, str]]:
    """(label, sentence) pairs in reading order, without the example."""
    if outcome.status == "not attempted":
        is_answer = outcome.exercise.kind == "answer"
        yours = "answer" if is_answer else "code"
        words = f"Replace the `...` with your {yours} and run the cell, then run this one."
        until = " Until then the cells below use the course's own."
        return [("", words if is_answer else words + until)]
    rows = [("Tested", outcome.tested), ("Found", outcome.difference)]
    rows += [("Likely cause", outcome.cause), ("Next step", outcome.hint)]
    if outcome.read:
        rows.append(("Read again", f"the section “{outcome.read}”"))
    rows += [("Note", note) for note in outcome.notes]
    return [(label, _sentence(text)) for label, text in rows if text]


def _sentence(text: str) -> str:
    """A capital at the start, unless a name of code stands there, and a full stop at the end."""
    text = text.strip()
    text = text if re.match(r"[`$]|\w*[_(]", text) else text[0].upper() + text[1:]
    return text if text[-1] in ".?!`”:" else text + "."


def bundle(outcome: Outcome, handed_back: bool = False) -> dict[str, str]:
    """What `check` displays: the same words as text/plain and text/html."""
    return {"text/plain": text(outcome, handed_back), "text/html": page(outcome, handed_back)}


def _given(outcome: Outcome, handed_back: bool) -> str:
    """The sentence about the reference that stands in for a wrong answer."""
    if not handed_back or outcome.status == "not attempted":
        return ""
    return f"Until it passes, the cells below use the course's own `{outcome.exercise.id}`."


def text(outcome: Outcome, handed_back: bool = False) -> str:
    """The verdict in plain text."""
    lines = [headline(outcome)]
    for label, sentence in paragraphs(outcome):
        lines.append(f"{label}: {sentence}" if label else sentence)
        if label == "Tested" and outcome.shown:
            lines += ["Smallest failing input:"]
            lines += [_named_text(name, value) for name, value in outcome.shown]
        if label == "Found" and _has_values(outcome):
            expected, got = _apart(outcome.expected, outcome.got)
            lines += [_named_text("Expected", expected), _named_text("Got", got)]
    given = _given(outcome, handed_back)
    return "\n".join([*lines, given] if given else lines)


def _has_values(outcome: Outcome) -> bool:
    return outcome.expected is not None and outcome.got is not None


def _apart(expected: Any, got: Any) -> tuple[Any, Any]:
    """Of two dicts only the entries in which they differ; anything else as it is."""
    if not (isinstance(expected, dict) and isinstance(got, dict)):
        return expected, got
    same = {
        name
        for name in expected.keys() & got.keys()
        if np.shape(expected[name]) == np.shape(got[name])
        and np.allclose(expected[name], got[name], equal_nan=True)
    }
    return tuple({k: v for k, v in one.items() if k not in same} for one in (expected, got))


def _named_text(name: str, value: Any) -> str:
    """`  name = value`, with the following lines of an array under the first."""
    start = f"  {name} = "
    return start + array_text(value).replace("\n", "\n" + " " * len(start))


def array_text(value: Any) -> str:
    """A value for people: small arrays whole and rounded, large ones by shape and dtype."""
    if isinstance(value, tuple):
        return "(" + ",\n ".join(array_text(part) for part in value) + ")"
    if isinstance(value, dict):
        return (
            "{}"
            if not value
            else "\n".join(
                f"{name}: {_inset(array_text(part), name)}" for name, part in value.items()
            )
        )
    if isinstance(value, np.ndarray) and value.ndim > 0:
        if value.size > SMALL:
            return f"array of shape {value.shape}, {value.dtype}"
        return np.array2string(_rounded(value), separator=" ", suppress_small=True, threshold=99)
    if isinstance(value, np.ndarray):
        value = value.item()
    if isinstance(value, float):
        return f"{value:.4g}"
    return repr(value) if isinstance(value, str) and "(" not in value else str(value)


def _inset(text: str, name: str) -> str:
    """The lines of an array under its first, beside a name."""
    return text.replace("\n", "\n" + " " * (len(name) + 2))


def _rounded(value: np.ndarray) -> np.ndarray:
    if value.dtype.kind != "f":
        return value
    with np.errstate(all="ignore"):
        rounded = np.round(value.astype(np.float64), 3)
    return rounded + 0.0  # no minus zero


def page(outcome: Outcome, handed_back: bool = False) -> str:
    """The verdict as HTML; it needs no style sheet, and no meaning is told by colour alone."""
    status = outcome.status
    parts = [f'<p style="margin:0"><strong>{html.escape(headline(outcome))}</strong></p>']
    for label, sentence in paragraphs(outcome):
        words = _inline(sentence)
        lead = f"<strong>{label}:</strong> " if label else ""
        parts.append(f'<p style="margin:.4em 0 0">{lead}{words}</p>')
        if label == "Tested" and outcome.shown:
            blocks = [
                block(f"{name} =", value) for name, value in outcome.shown if value is not None
            ]
            parts.append(_row("Smallest failing input", blocks))
        if label == "Found" and _has_values(outcome):
            expected, got = _apart(outcome.expected, outcome.got)
            blocks = [
                block("Expected", expected),
                block("Got (≠ marks what differs)", got, expected),
            ]
            parts.append(_row("", blocks))
    given = _given(outcome, handed_back)
    if given:
        parts.append(f'<p style="margin:.4em 0 0">{_inline(given)}</p>')
    style = f"border-left:4px solid {_BARS[status]};padding:.4em .9em;margin:.5em 0;max-width:46em"
    return (
        f'<div class="attn-report {_CLASSES[status]}" style="{style}">' + "".join(parts) + "</div>"
    )


def _row(caption: str, blocks: list[str]) -> str:
    lead = f'<p style="margin:.4em 0 0">{caption}:</p>' if caption else ""
    style = "display:flex;flex-wrap:wrap;gap:.3em 2em;overflow-x:auto"
    return f'{lead}<div style="{style}">{"".join(blocks)}</div>'


def block(caption: str, value: Any, against: Any = None) -> str:
    """A captioned value; where `against` is given, numbers that differ carry a ≠ sign."""
    if isinstance(value, tuple):
        other = against if isinstance(against, tuple) and len(against) == len(value) else None
        return "".join(
            block(f"{caption} [{n}]", part, other[n] if other else None)
            for n, part in enumerate(value)
        )
    body = array_text(value)
    if against is not None and _markable(value, against):
        body = _marked(np.asarray(value), np.asarray(against))
    return (
        f'<div style="margin:.3em 0"><div>{html.escape(caption)}</div>'
        f'<pre style="margin:0;padding:0;border:0;background:none;color:inherit">'
        f"{html.escape(body)}</pre></div>"
    )


def _markable(value: Any, against: Any) -> bool:
    if isinstance(against, tuple):  # one value where several were expected
        return False
    one, other = np.asarray(value), np.asarray(against)
    numeric = one.dtype.kind in "fiub" and other.dtype.kind in "fiub"
    return numeric and one.shape == other.shape and 1 <= one.ndim <= 2 and one.size <= SMALL


def _marked(value: np.ndarray, against: np.ndarray) -> str:
    close = np.isclose(
        value.astype(np.float64), against.astype(np.float64), 1e-3, 1e-3, equal_nan=True
    )
    cells = [
        f"{v:g}" + ("" if same else " ≠")
        for v, same in zip(_rounded(value).ravel(), close.ravel(), strict=True)
    ]
    width = max(map(len, cells))
    rows = np.array([cell.ljust(width) for cell in cells], object).reshape(value.shape)
    rows = rows.reshape(1, -1) if rows.ndim == 1 else rows
    return "\n".join("  ".join(row).rstrip() for row in rows)


def _inline(sentence: str) -> str:
    """Escaped text with `code` as <code>."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(sentence, quote=False))


def summary_bundle(outcomes: Mapping[str, Outcome]) -> dict[str, str]:
    """What `summary()` displays: one row an exercise, and the points together."""
    rows, points, total = [], 0, 0
    for outcome in outcomes.values():
        exercise, (sign, word) = outcome.exercise, _WORDS[outcome.status]
        points, total = points + outcome.points, total + outcome.max_points
        share = f"{outcome.points} of {outcome.max_points}"
        rows.append((exercise.number, exercise.id, f"{sign} {word}", share))
    if not rows:
        words = "No exercise has been checked in this notebook yet."
        return {"text/plain": words, "text/html": f"<p>{words}</p>"}
    last = f"Points: {points} of {total}"
    heads = ("Exercise", "Name", "Verdict", "Points")
    widths = [max(len(row[n]) for row in [heads, *rows]) for n in range(4)]
    plain = [
        "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
        for row in [heads, *rows]
    ]
    head = "".join(f'<th scope="col" style="text-align:left">{cell}</th>' for cell in heads)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{cell}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    table = (
        f'<table class="attn-summary"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    )
    return {
        "text/plain": "\n".join([*plain, last]),
        "text/html": f"{table}<p><strong>{last}</strong></p>",
    }
