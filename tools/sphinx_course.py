"""The course's Sphinx extension: what a page has beyond the notebook, and what it leaves out."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode, depart_HideCellInput, visit_HideCellInput
from sphinx.application import Sphinx
from sphinx.config import Config

SOLUTIONS = "book/solutions/"
WITHHELD = "Solutions are withheld on this copy of the course. Ask your instructor."


def heading_anchor(title: str) -> str:
    """The anchor JupyterLab gives a heading: spaces become hyphens, all else is kept."""
    return title.replace(" ", "-")


def read_switches(app: Sphinx, config: Config) -> None:
    """`SOLUTIONS=no` in the environment withholds the solutions."""
    config.withhold_solutions = os.environ.get("SOLUTIONS", "yes").lower() == "no"


def is_withheld(app: Sphinx, docname: str) -> bool:
    return app.config.withhold_solutions and docname.startswith(SOLUTIONS)


def withheld(source: str) -> str:
    """A solution page with its headings, so that links to it still work, and nothing under them."""
    prose = re.sub(r"^(`{3,}|~{3,}|:{3,}).*?^\1[`~:]*\s*$", "", source, flags=re.M | re.S)
    headings = re.findall(r"^#{1,6} .*$", prose, flags=re.M)
    return "\n\n".join([headings[0], WITHHELD, *headings[1:]]) + "\n"


def withhold_page(app: Sphinx, docname: str, source: list[str]) -> None:
    if is_withheld(app, docname):
        source[0] = withheld(source[0])


def withhold_downloads(app: Sphinx, exception: Exception | None) -> None:
    """The downloadable sources of solution pages say no more than the pages."""
    for docname in app.env.found_docs:
        copy = Path(app.outdir, "_sources", docname + ".md")
        if is_withheld(app, docname) and copy.exists():
            copy.write_text(withheld(copy.read_text(encoding="utf-8")), encoding="utf-8")


def name_sections(app: Sphinx, doctree: nodes.document) -> None:
    """Give each section the anchor that notebooks use as one more id."""
    for section in doctree.findall(nodes.section):
        anchor = section.get("slug")
        if anchor and anchor not in doctree.ids:
            section["ids"].append(anchor)
            doctree.ids[anchor] = section


def fold_setup(app: Sphinx, doctree: nodes.document) -> None:
    """The set-up cell is the same in every chapter: the page folds it, the notebook does not."""
    for cell in doctree.findall(nodes.container):
        if cell.get("nb_element") == "cell_code" and "tag_setup" in cell["classes"]:
            cell["hide_mode"] = "input"
            cell["prompt_show"] = "Show the set-up code"
            cell["prompt_hide"] = "Hide the set-up code"


def visit_fold(self: Any, node: HideCodeCellNode) -> None:
    """A folded cell is called by what it says, also by a screen reader."""
    begin = len(self.body)
    visit_HideCellInput(self, node)
    own_name = ' aria-label="Toggle hidden content"'
    self.body[begin:] = [part.replace(own_name, "") for part in self.body[begin:]]


def visit_entry(self: Any, node: nodes.entry) -> None:
    """The empty corner of a table heads nothing: a plain cell, which screen readers pass over."""
    type(self).visit_entry(self, node)
    if isinstance(node.parent.parent, nodes.thead) and not node.astext().strip():
        self.body[-1] = self.body[-1].replace("<th", "<td", 1)
        self.context[-1] = self.context[-1].replace("</th", "</td", 1)


def depart_entry(self: Any, node: nodes.entry) -> None:
    type(self).depart_entry(self, node)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("withhold_solutions", False, "env", bool)
    # Jupyter Book sets this for an extension that _config.yml leaves out.
    app.add_config_value("comments_config", {}, "", dict)
    app.add_node(nodes.entry, override=True, html=(visit_entry, depart_entry))
    app.setup_extension("myst_nb")
    app.add_node(HideCodeCellNode, override=True, html=(visit_fold, depart_HideCellInput))
    app.connect("config-inited", read_switches)
    app.connect("source-read", withhold_page)
    app.connect("doctree-read", name_sections)
    app.connect("doctree-read", fold_setup)
    app.connect("build-finished", withhold_downloads)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
