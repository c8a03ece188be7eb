"""The map of the course as a picture: an SVG of links, drawn from book/course.yml.

As a Sphinx extension it puts the picture where a page says `<!-- picture of the map -->`.
"""

from __future__ import annotations

import html
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tools.course import ROMAN, Chapter, Course  # noqa: E402

MARKER = "<!-- picture of the map -->"
CAPTION = (
    "A solid frame is a chapter that is ready: choose it to read it. A dashed one is to come. An "
    "arrow leads to a chapter that builds on the one before; each part builds on the part above."
)

# Where each chapter stands in its part: (column, row). Wide for screens, narrow for phones.
WIDE = {
    **{n: (n, 0) for n in range(4)},
    **{n: (n - 4, 0) for n in range(4, 10)},
    **{10: (0, 0), 11: (0, 1), 12: (1, 1), 13: (2, 0), 14: (3, 0), 15: (4, 0), 16: (2, 1)},
    **{n: (n - 17, 0) for n in range(17, 22)},
    "capstone": (5, 0),
}
NARROW = {
    **{n: (n % 3, n // 3) for n in range(4)},
    **{n: ((n - 4) % 3, (n - 4) // 3) for n in range(4, 10)},
    **{10: (0, 0), 11: (0, 1), 12: (0, 2), 13: (1, 0), 14: (2, 0), 15: (2, 1), 16: (1, 1)},
    **{n: ((n - 17) % 3, (n - 17) // 3) for n in range(17, 22)},
    "capstone": (2, 1),
}
HEAD, EDGE = 36, 16  # height of a part's title, margin inside its panel
NARROW_LETTERS, WIDE_LETTERS = "iljftrI.,:'()- ", "mwMW"  # in a wide font


class Layout:
    """One drawing of the map: sizes, places, and the SVG."""

    def __init__(self, name: str, places: dict, columns: int, card: tuple, gap: tuple, font: int):
        self.name, self.places, self.columns, self.font = name, places, columns, font
        self.card_width, self.card_height = card
        self.gap_x, self.gap_y = gap
        self.width = 2 * EDGE + columns * self.card_width + (columns - 1) * self.gap_x

    def wrap(self, title: str) -> list[str]:
        """The title in lines that fit a card, by an estimate of the letters' widths."""
        lines = [""]
        for word in title.split(" "):
            longer = f"{lines[-1]} {word}".strip()
            if self._text_width(longer) > self.card_width - 14 and lines[-1]:
                lines.append(word)
            else:
                lines[-1] = longer
        return lines

    def _text_width(self, text: str) -> float:
        ems = (0.36 if c in NARROW_LETTERS else 0.9 if c in WIDE_LETTERS else 0.62 for c in text)
        return self.font * sum(ems)

    def draw(self, course: Course, target: Callable[[Chapter], str], capstone_url: str) -> str:
        """The SVG; `target` gives the address of a chapter that is ready."""
        body, top = [], 0.0
        for part in course.map["parts"]:
            chapters = [c for c in course.chapters if c.part == part["number"]]
            is_last = part is course.map["parts"][-1]
            keys = [c.number for c in chapters] + (["capstone"] if is_last else [])
            rows = 1 + max(self.places[key][1] for key in keys)
            height = HEAD + rows * self.card_height + (rows - 1) * self.gap_y + EDGE
            if top:
                body.append(self._arrow([(EDGE + 20, top - 20), (EDGE + 20, top - 3)]))
            body.append(
                f'<rect class="panel" x="0.5" y="{top:g}" width="{self.width - 1}" '
                f'height="{height}" rx="10"/>'
                f'<text class="part" x="{EDGE}" y="{top + 24:g}" font-size="{self.font + 1}">'
                f"Part {ROMAN[part['number']]} · {html.escape(part['title'])}</text>"
            )
            taken = {self.places[key] for key in keys}
            for chapter in chapters:
                for slug in chapter.prerequisites:
                    before = course.chapter(slug)
                    if before.part == chapter.part:
                        body.append(self._edge(before.number, chapter.number, top, taken))
            body += [self._chapter(chapter, top, target) for chapter in chapters]
            if is_last:
                body.append(self._capstone(course.map["capstone"], top, capstone_url))
            top += height + 22
        return (
            f'<svg class="course-map-{self.name}" viewBox="0 0 {self.width} {top - 21:g}" '
            'role="group" aria-label="Map of the chapters" xmlns="http://www.w3.org/2000/svg">'
            f'<defs><marker id="map-tip-{self.name}" viewBox="0 0 8 8" refX="7" refY="4" '
            'markerWidth="7" markerHeight="7" orient="auto"><path class="tip" '
            f'd="M0 0L8 4L0 8z"/></marker></defs>{"".join(body)}</svg>'
        )

    def _corner(self, key: Any, top: float) -> tuple[float, float]:
        column, row = self.places[key]
        x = EDGE + column * (self.card_width + self.gap_x)
        return x, top + HEAD + row * (self.card_height + self.gap_y)

    def _edge(self, start: Any, end: Any, top: float, taken: set) -> str:
        """An arrow from card to card that crosses no third card."""
        (x0, y0), (x1, y1) = self._corner(start, top), self._corner(end, top)
        (c0, r0), (c1, r1) = self.places[start], self.places[end]
        half, low = self.card_width / 2, self.card_height
        middle = low / 2
        if r0 == r1 and not any((c, r0) in taken for c in range(c0 + 1, c1)):
            points = [(x0 + self.card_width, y0 + middle), (x1 - 2, y1 + middle)]
        elif r0 == r1:
            under = y0 + low + 10
            points = [(x0 + half, y0 + low), (x0 + half, under), (x1 + half, under)]
            points.append((x1 + half, y1 + low + 2))
        elif c0 == c1 and r1 == r0 + 1:
            points = [(x0 + half, y0 + low), (x1 + half, y1 - 2)]
        elif c0 == c1:
            points = [(x0, y0 + middle), (x0 - 8, y0 + middle), (x1 - 8, y1 + middle)]
            points.append((x1 - 2, y1 + middle))
        elif (c1, r0) not in taken:
            points = [(x1 + half, y0 + middle), (x1 + half, y1 - 2)]
        else:
            turn = y0 + low + self.gap_y / 2 - 3
            points = [(x0 + half, y0 + low), (x0 + half, turn), (x1 + half, turn)]
            points.append((x1 + half, y1 - 2))
        return self._arrow(points)

    def _arrow(self, points: list[tuple[float, float]]) -> str:
        path = "L".join(f"{x:g} {y:g}" for x, y in points)
        return f'<path class="edge" d="M{path}" marker-end="url(#map-tip-{self.name})"/>'

    def _chapter(self, chapter: Chapter, top: float, target: Callable[[Chapter], str]) -> str:
        note = "open" if chapter.is_ready else "to come"
        card = self._card(chapter.number, str(chapter.number), chapter.title, note, top)
        hint = f"{chapter.number} {chapter.title}. {chapter.promise}"
        return self._linked(card, target(chapter) if chapter.is_ready else "", hint)

    def _capstone(self, capstone: dict, top: float, url: str) -> str:
        name, _, rest = capstone["title"].partition(": ")
        words = rest.capitalize() + ("" if url else " (to\u00a0come)")
        card = self._card("capstone", name, words, "", top)
        return self._linked(card, url, capstone["title"])

    def _linked(self, card: str, url: str, hint: str) -> str:
        if not url:
            return f'<g class="planned">{card}</g>'
        return f'<a class="ready" href="{url}"><title>{html.escape(hint)}</title>{card}</a>'

    def _card(self, key: Any, label: str, title: str, note: str, top: float) -> str:
        x, y = self._corner(key, top)
        step = self.font + 2
        lines = "".join(
            f'<tspan x="{x + 8:g}" y="{y + 38 + n * step:g}">{html.escape(line)} </tspan>'
            for n, line in enumerate(self.wrap(title))
        )
        return (
            f'<rect x="{x:g}" y="{y:g}" width="{self.card_width}" '
            f'height="{self.card_height}" rx="7"/>'
            f'<text class="number" x="{x + 8:g}" y="{y + 20:g}" font-size="{self.font + 1}">'
            f"{html.escape(label)} </text>"
            f'<text class="title" font-size="{self.font}">{lines}</text>'
            f'<text class="note" x="{x + self.card_width - 8:g}" y="{y + 19:g}" '
            f'text-anchor="end" font-size="{self.font - 2}">{note}</text>'
        )


LAYOUTS = [
    Layout("wide", WIDE, columns=6, card=(104, 97), gap=(14, 30), font=13),
    Layout("narrow", NARROW, columns=3, card=(106, 97), gap=(14, 26), font=13),
]


def picture(course: Course, target: Callable[[Chapter], str], capstone_url: str = "") -> str:
    """Both drawings; the style sheet shows the one that fits. One line: HTML inside Markdown."""
    drawings = "".join(layout.draw(course, target, capstone_url) for layout in LAYOUTS)
    return f'<figure class="course-map">{drawings}<figcaption>{CAPTION}</figcaption></figure>'


def place_picture(app: Any, docname: str, source: list[str]) -> None:
    """Put the picture where a page asks for it; warn where it would point to no page."""
    if MARKER not in source[0]:
        return
    from sphinx.util import logging

    course = Course(Path(app.srcdir))
    app.env.note_dependency(str(Path(app.srcdir, "book", "course.yml")))
    app.env.note_dependency(str(Path(__file__)))

    def address(page: str) -> str:
        if page not in app.env.found_docs:
            message = "the map calls %s ready, but it is no page of the site"
            logging.getLogger(__name__).warning(message, page, location=docname)
        return app.builder.get_relative_uri(docname, page)

    capstone = course.map["capstone"]
    capstone_page = str(Path(capstone["page"]).with_suffix("").as_posix())
    url = address(capstone_page) if capstone["status"] == "ready" else ""
    drawn = picture(course, lambda chapter: address(f"notebooks/{chapter.slug}"), url)
    source[0] = source[0].replace(MARKER, drawn)


def setup(app: Any) -> dict[str, Any]:
    app.connect("source-read", place_picture)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
