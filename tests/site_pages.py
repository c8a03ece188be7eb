"""The built site as the tests see it: its folder, its pages, the links on them."""

from __future__ import annotations

from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tools.build_site import ROOT, toc_pages
from tools.fingerprint import html_pages

HTML = ROOT / "_build" / "html"
NOT_LOADED = {"next", "prev", "index", "search", "canonical"}  # <link>s that only name a page


def built_site() -> Path:
    """The site that `make book` left; fails when a page is younger than the site."""
    index = HTML / "index.html"
    if not index.exists():
        pytest.fail("The site is not built yet. Run `make book` first.")
    for page in toc_pages():
        for source in ROOT.glob(f"{page}.*"):
            if source.stat().st_mtime > index.stat().st_mtime:
                pytest.fail(f"{source.relative_to(ROOT)} is younger than the site: `make book`.")
    return HTML


class Page(HTMLParser):
    """Ids, links and loaded files of one HTML page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.code: list[str] = []
        self._pre = 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if named.get("id"):
            self.ids.add(named["id"])
        if tag == "a" and named.get("href"):
            self.links.append(named["href"])
        if tag == "link" and named.get("rel") not in NOT_LOADED:
            self.loads.append(named.get("href") or "")
        if tag in {"img", "script", "source", "iframe", "video", "audio", "embed"}:
            self.loads += [named["src"]] if named.get("src") else []
        if tag == "pre":
            self._pre += 1
            self.code.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == "pre":
            self._pre -= 1

    def handle_data(self, data: str) -> None:
        if self._pre:
            self.code[-1] += data


@cache
def read(path: Path) -> Page:
    return Page(path)


def broken_links(html: Path) -> list[str]:
    """Links and loaded files of every page that lead nowhere inside the site."""
    broken = []
    for path in html_pages(html):
        page = read(path)
        for link in [*page.links, *page.loads]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or (not parts.path and not parts.fragment):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            where = f"{path.relative_to(html)}: {link}"
            if not target.is_file():
                broken.append(f"{where} (no such file)")
            elif parts.fragment and target.suffix == ".html":
                anchor = unquote(parts.fragment)
                if anchor not in read(target).ids:
                    broken.append(f"{where} (no such anchor)")
    return broken
