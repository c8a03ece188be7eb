"""What a page of the site has around its text.

The strip under a chapter's title, the description that search engines and messengers show, the
version and date in the footer, the names in previous and next, the page for a wrong address.
"""

from __future__ import annotations

import html
import os
import posixpath
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from attnbook import __version__  # noqa: E402
from tools.course import Chapter, Course  # noqa: E402
from tools.social_card import CARD, draw_card  # noqa: E402

CHAPTERS = "notebooks/"
HOW_TO_RUN = "book/how-to-use.html#Where-to-read-and-work"
DESCRIPTION_LENGTH = 160  # about what a page of search results shows


# --- the strip ------------------------------------------------------------------------------------


def dress_strip(app: Sphinx, doctree: nodes.document) -> None:
    """Make the two lines of facts under a chapter's title a strip; add ways to get the notebook."""
    docname = app.env.docname
    facts = next(filter(is_strip, doctree.findall(nodes.paragraph)), None)
    if not docname.startswith(CHAPTERS) or facts is None:
        return
    course = Course(Path(app.srcdir))
    number = course.chapter(docname.removeprefix(CHAPTERS)).number
    part, *rest = spoken(facts)
    items = "".join(child.astext() for child in rest).strip(" ·").split(" · ")
    box = nodes.container(classes=["course-strip"])
    box += nodes.paragraph("", "", nodes.Text(f"Chapter {number} · "), part, classes=["strip-part"])
    box += nodes.bullet_list(
        "", *(nodes.list_item("", nodes.paragraph(text=item)) for item in items)
    )
    before = facts.next_node(nodes.paragraph, descend=False, siblings=True)
    facts.replace_self(box)
    before.parent.remove(before)
    box += before
    ways = ways_to_get(course, docname)
    links = " · ".join(f'<a href="{url}"{more}>{words}</a>' for words, url, more in ways)
    box += nodes.raw("", f'<p class="strip-get">{links}</p>', format="html")


def is_strip(paragraph: nodes.paragraph) -> bool:
    """The line that tools/markers.py writes begins with the part, in bold."""
    first = spoken(paragraph)[:1]
    return bool(first) and isinstance(first[0], nodes.strong) and first[0].astext()[:5] == "Part "


def spoken(paragraph: nodes.paragraph) -> list[nodes.Node]:
    """The parts of a paragraph that say something: the parser leaves empty ones between."""
    return [child for child in paragraph.children if child.astext()]


def ways_to_get(course: Course, docname: str) -> list[tuple[str, str, str]]:
    """Words, address and further attributes of each way to open a chapter's notebook.

    The site carries the file itself, and a page that says what running it takes. Colab needs the
    address of the repository.
    """
    ways = [
        ("Download the notebook", f"../_sources/{docname}.ipynb", " download"),
        ("Run it on your machine", f"../{HOW_TO_RUN}", ""),
    ]
    address, branch = course.repository
    if address.startswith("https://github.com/"):
        name = address.removeprefix("https://github.com/").removesuffix(".git")
        colab = f"https://colab.research.google.com/github/{name}/blob/{branch}/{docname}.ipynb"
        ways.append(("Open in Colab", html.escape(colab), ""))
    return ways


# --- version and date -----------------------------------------------------------------------------


def date_of_sources(root: Path) -> datetime | None:
    """When the sources were last changed, so that the same sources give the same pages.

    SOURCE_DATE_EPOCH where it is set, else the last commit of this repository, else nothing.
    """
    stamp = os.environ.get("SOURCE_DATE_EPOCH") or _last_commit(root)
    return datetime.fromtimestamp(int(stamp), UTC) if stamp else None


def _last_commit(root: Path) -> str:
    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        top = git("rev-parse", "--show-toplevel")
        # an unpacked copy may lie inside a repository that is none of the course's
        return git("log", "-1", "--format=%ct") if top and Path(top).samefile(root) else ""
    except OSError:  # no git on this machine
        return ""


def read_date(app: Sphinx, config: Config) -> None:
    date = date_of_sources(Path(app.srcdir))
    config.course_date = date.date().isoformat() if date else ""


def written_date(iso: str) -> str:
    date = datetime.fromisoformat(iso)
    return f"{date.day} {date:%B} {date.year}"


# --- every page -----------------------------------------------------------------------------------


def description(doctree: nodes.document) -> str:
    """The first sentences of a page, as many as a search result shows."""
    first = next(iter(doctree.findall(nodes.paragraph)), None)
    text = " ".join(first.astext().split()) if first else ""
    if len(text) <= DESCRIPTION_LENGTH:
        return text
    short = text[: DESCRIPTION_LENGTH + 1]
    sentences = re.match(r".*[.?!](?=\s)", short)
    return sentences[0] if sentences else f"{short.rsplit(' ', 1)[0].rstrip(',;:')}…"


def meta_tags(title: str, about: str, address: str, pagename: str) -> str:
    """Description and Open Graph tags; what needs an absolute address only where there is one."""
    named = [("og:type", "website"), ("og:title", title)]
    if about:
        named.append(("og:description", about))
    if address:
        card = f"{address}/_static/{CARD}"
        named += [("og:url", f"{address}/{pagename}.html"), ("og:image", card)]
        named += [
            ("og:image:alt", "The title of the course beside a heat map of causal attention.")
        ]
    tags = [f'<meta property="{name}" content="{html.escape(value)}">' for name, value in named]
    if about:
        tags.insert(0, f'<meta name="description" content="{html.escape(about)}">')
    if address:
        tags.append('<meta name="twitter:card" content="summary_large_image">')
    return "\n".join(tags)


def dress_page(
    app: Sphinx, pagename: str, templatename: str, context: dict, doctree: nodes.document | None
) -> None:
    """Give the templates what they show around the text."""
    chapters = {f"{CHAPTERS}{chapter.slug}": chapter for chapter in Course(Path(app.srcdir)).ready}
    chapter = chapters.get(pagename)
    site = app.config.html_title
    title = chapter.name if chapter else re.sub("<[^>]+>", "", context.get("title") or site)
    about = description(doctree) if doctree else ""
    title = title if title == site else f"{title} · {site}"
    tags = meta_tags(title, about, app.config.html_baseurl.rstrip("/"), pagename)
    context["metatags"] = f"{context.get('metatags') or ''}\n{tags}\n"
    context["root_title"] = "The map"
    context["chapter"] = chapter
    context["course_version"] = __version__
    context["course_date"] = app.config.course_date
    context["written_date"] = written_date
    for way in ("prev", "next"):
        if context.get(way):
            context[way] = with_number(context[way], pagename, chapters)


def with_number(page: dict[str, str], pagename: str, chapters: dict[str, Chapter]) -> dict:
    """A page before or after this one, named as the map names it."""
    target = posixpath.join(posixpath.dirname(pagename), page["link"].removesuffix(".html"))
    chapter = chapters.get(posixpath.normpath(target))
    return {**page, "title": chapter.name} if chapter else page


# --- the page for a wrong address -----------------------------------------------------------------


def lost_page(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """404.html. It is shown at any depth: it loads nothing, its links start at the site's root."""
    folders = {docname.split("/")[0] for docname in app.env.found_docs}
    context = {
        "title": "This page does not exist",
        "base": urlsplit(app.config.html_baseurl).path.rstrip("/") + "/",
        "has_address": bool(app.config.html_baseurl),
        "folders": sorted({*folders, "_images", "_sources", "_static"}),
        "chapters": Course(Path(app.srcdir)).ready,
    }
    yield "404", context, "404.html"


def put_card(app: Sphinx) -> None:
    if app.builder.format == "html":
        target = Path(app.outdir, "_static", CARD)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            draw_card(target, app.config.html_title)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("course_date", "", "html", str)
    app.connect("config-inited", read_date)
    app.connect("builder-inited", put_card)
    app.connect("doctree-read", dress_strip)
    app.connect("html-collect-pages", lost_page)
    app.connect("html-page-context", dress_page, priority=900)  # after the theme's own
    return {"parallel_read_safe": True, "parallel_write_safe": True}
