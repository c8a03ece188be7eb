"""What must be true of the Markdown in a notebook, so that it reads well everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from nbformat import NotebookNode

from tools.cells import markdown_cells

SPAN = "\0"  # stands for a piece of code in a line
DIRECTIVES = [
    (r"^\s*(`{3,}|~{3,}|:{3,})\s*\{", "a MyST directive"),
    (rf"\{{[\w:+-]+\}}{SPAN}", "a MyST role"),
    (r"^\([\w-]+\)=\s*$", "a MyST target"),
    (r"^\+\+\+", "a MyST cell break"),
    (r"<!--", "a comment or a marker that was not expanded"),
]


def outside_code(markdown: str) -> list[str]:
    """The lines, with those inside fences emptied; the fences themselves stay."""
    lines, fence = [], ""
    for line in markdown.splitlines():
        mark = re.match(r"\s*(`{3,}|~{3,})", line)
        if fence:
            closes = mark and mark[1].startswith(fence) and not line.strip(" `~")
            lines.append(line if closes else "")
            fence = "" if closes else fence
        else:
            fence = mark[1] if mark else ""
            lines.append(line)
    return lines


def plain_markdown_only(notebook: NotebookNode, slug: str) -> Iterator[str]:
    for cell in markdown_cells(notebook):
        for line in outside_code(cell.source):
            bare = re.sub(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", SPAN, line)
            for pattern, what in DIRECTIVES:
                if re.search(pattern, bare):
                    yield f"cell {cell.id} holds {what}: {line.strip()[:80]}"


def details_are_well_formed(notebook: NotebookNode, slug: str) -> Iterator[str]:
    for cell in markdown_cells(notebook):
        for words in broken_details(outside_code(cell.source)):
            yield f"cell {cell.id}: {words}"


def broken_details(lines: list[str]) -> Iterator[str]:
    """What would make a <details> block show raw text or close in the wrong place."""
    depth = 0
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        depth += line.count("<details")
        if depth > 1 and "<details" in line:
            yield "<details> inside <details>"
        if depth and re.match(r"\s{0,3}(#{1,6}\s|=+\s*$)|.*<h[1-6]\b", line):
            yield f"a heading inside <details>: {line.strip()}"
        if "</summary>" in line and (line.split("</summary>")[1].strip() or after.strip()):
            yield "no blank line between </summary> and the body"
        if "</details>" in line and after.strip():
            yield "no blank line after </details>"
        depth -= line.count("</details>")
    if depth:
        yield "<details> is not closed in the same cell"


def html_pictures_say_what_they_show(notebook: NotebookNode, slug: str) -> Iterator[str]:
    for cell in markdown_cells(notebook):
        text = "\n".join(outside_code(cell.source))
        for tag in re.findall(r"<img\b[^>]*>", text):
            if not re.search(r"\balt=\"[^\"]+\"", tag):
                yield f"cell {cell.id}: a picture without alt text: {tag}"
        if re.search(r"!\[\s*\]\(", text):
            yield f"cell {cell.id}: a picture without alt text"


def emphasis_closes(notebook: NotebookNode, slug: str) -> Iterator[str]:
    """A star that opens or closes nothing is shown as a star."""
    parser = MarkdownIt("commonmark").enable("table")
    for cell in markdown_cells(notebook):
        text = re.sub(
            r"\$\$.*?\$\$|\$[^$\n]+\$", "$x$", cell.source, flags=re.S
        )  # maths has stars too
        for token in parser.parse(text):
            for part in token.children or []:
                if part.type == "text" and "*" in part.content:
                    yield f"cell {cell.id} shows a bare star: {part.content.strip()[:60]}"


MARKDOWN_RULES = (
    plain_markdown_only,
    details_are_well_formed,
    html_pictures_say_what_they_show,
    emphasis_closes,
)
