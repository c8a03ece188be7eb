"""A Sphinx extension: a banner on every page, such as for a term's version that is kept.

BANNER="Spring 2026, kept as it was." CURRENT=https://name.example/course/ make book

CURRENT adds a link to the version that is current, and asks search engines to show that one.
"""

from __future__ import annotations

import os
from html import escape
from typing import Any
from urllib.parse import urlsplit

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError

NOT_TO_BE_FOUND = '<meta name="robots" content="noindex">'


def banner(text: str, current: str) -> str:
    """The banner as HTML; both parts are plain text."""
    if not text and not current:
        return ""
    if not text:
        raise ExtensionError("CURRENT links to the current version from a banner: set BANNER too.")
    parts = urlsplit(current)
    if current and not (parts.scheme in {"http", "https"} and parts.netloc):
        raise ExtensionError(f"CURRENT must be a whole address, https://…; it is {current!r}.")
    link = f' <a href="{escape(current)}">Go to the current version</a>' if current else ""
    return f"<p>{escape(text)}{link}</p>"


def read_switches(app: Sphinx, config: Config) -> None:
    text, current = (os.environ.get(name, "").strip() for name in ("BANNER", "CURRENT"))
    if html := banner(text, current):
        config.html_theme_options["announcement"] = html
    config.is_archived = bool(current)


def hide_from_search_engines(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    if app.config.is_archived:
        context["metatags"] = f"{context.get('metatags') or ''}\n{NOT_TO_BE_FOUND}\n"


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("is_archived", False, "html", bool)
    app.connect("config-inited", read_switches)
    app.connect("html-page-context", hide_from_search_engines)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
