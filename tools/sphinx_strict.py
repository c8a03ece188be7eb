"""A Sphinx extension: pages that fit a strict Content-Security-Policy.

Such a policy names each inline script by its hash. It stays short where those are the same on every
page.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

PAGE_NAME = "DOCUMENTATION_OPTIONS.pagename"


def drop_page_name(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    """The theme tells each page its name, for a menu of versions that the course does not have."""
    if scripts := context.get("script_files"):
        scripts[:] = [
            script
            for script in scripts
            if PAGE_NAME not in (getattr(script, "attributes", {}).get("body") or "")
        ]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("other_hosts", [], "", list)  # read by tools/site_headers.py
    app.connect("html-page-context", drop_page_name, priority=900)  # after the theme
    return {"parallel_read_safe": True, "parallel_write_safe": True}
