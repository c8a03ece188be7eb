"""Name in a page's addresses the content of the style sheets, scripts and pictures it loads.

`course.css` becomes `course.css?v=1f0c8a4e…`: another content has another address, so a browser may
keep what it has for as long as it likes. The theme and Sphinx do so for some files, as they are
before the build is through with them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

DIGITS = 16
# One address in a tag that loads, as <script src=…> and <link href=…> do; no page, no other host's.
LOADED = re.compile(
    r"""(<(?:script|link|img|source)\b[^>]*?\s(?:src|href)=")"""
    r"""(?![a-z]+:|//)([^"?#]+\.(?:css|js|mjs|svg|png|jpg|webp|ico|woff2))(?:\?[^"#]*)?(?=["#])"""
)


def html_pages(html: Path) -> Iterator[Path]:
    """The pages of a built site; what lies in _static are leftovers of the theme's own build."""
    for path in sorted(html.rglob("*.html")):
        if "_static" not in path.relative_to(html).parts:
            yield path


def fingerprint(html: Path) -> None:
    """Rewrite the pages of a built site. Doing it again changes nothing."""

    @cache
    def content(path: Path) -> str | None:
        if not path.is_file():
            return None
        return hashlib.sha256(path.read_bytes()).hexdigest()[:DIGITS]

    for page in html_pages(html):

        def named(found: re.Match[str], page: Path = page) -> str:
            base = html if found[2].startswith("/") else page.parent
            version = content((base / unquote(found[2]).lstrip("/")).resolve())
            return f"{found[1]}{found[2]}?v={version}" if version else found[0]

        text = page.read_text(encoding="utf-8")
        changed = LOADED.sub(named, text)
        if changed != text:
            page.write_text(changed, encoding="utf-8")
