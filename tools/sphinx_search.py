"""The search finds what a beginner types: the phrases of book/search.yml join its index."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tools.course import read_yaml  # noqa: E402

PHRASES = "book/search.yml"


def add_phrases(app: Sphinx, doctree: nodes.document) -> None:
    """Each phrase as an entry of the index, each of its words as a keyword of the page."""
    path = Path(app.srcdir, PHRASES)
    app.env.note_dependency(str(path))
    phrases = read_yaml(path).get(app.env.docname, [])
    if not phrases:
        return
    entries = [("single", phrase, "", "main", None) for phrase in phrases]
    doctree += addnodes.index(entries=entries)
    words = dict.fromkeys(word for phrase in phrases for word in phrase.lower().split())
    doctree += nodes.meta(name="keywords", content=",".join(words))


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", add_phrases)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
