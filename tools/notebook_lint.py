"""What must be true of a stored notebook before it is run. Each rule returns sentences.

Rules about running and outputs are here; exercise_lint.py and markdown_lint.py hold the others.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator

from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

from tools.cells import code_cells, parse, tagged, tags
from tools.exercise_lint import EXERCISE_RULES
from tools.markdown_lint import MARKDOWN_RULES

TAGS = {"setup", "stub", "check", "summary", "nbval-ignore-output", "hide-input"}
UNSTABLE = [
    (r"\bclear_output\(|\bupdate_display\(|display_id", "a display that is changed afterwards"),
    (r"\bOut\[|(?<![\w.])_\d+\b", "Out[]: its number depends on what was run before"),
    (r"(?<![\w.])input\(", "input(): nobody answers when all cells are run"),
    (r"tqdm\.notebook|tqdm\.auto", "a progress bar that leaves a widget behind"),
    (r"^\s*!|^%%(bash|sh|cmd)", "a shell command: not the same on every system"),
    (r"[\"']/tmp\b", "/tmp: not there on every system"),
    (r"^\s*#\s*(NBVAL|PYTEST_VALIDATE)_", "a comment that tells nbval to look away"),
]
Rule = Callable[[NotebookNode, str], Iterator[str]]


def problems(notebook: NotebookNode, slug: str) -> list[str]:
    """Every rule that the notebook breaks, as sentences that begin with its file."""
    return [
        f"notebooks/{slug}.ipynb: {sentence}"
        for rule in RULES.values()
        for sentence in rule(notebook, slug)
    ]


def every_cell_was_run(notebook: NotebookNode, slug: str) -> Iterator[str]:
    for place, cell in enumerate(code_cells(notebook), start=1):
        if cell.execution_count is None:
            yield f"cell {cell.id} has no execution count, so nbval would compare nothing"
        elif cell.execution_count != place:
            yield f"cell {cell.id} was run as number {cell.execution_count}, not {place}"


def no_stored_stderr(notebook: NotebookNode, slug: str) -> Iterator[str]:
    for cell in code_cells(notebook):
        for output in cell.outputs:
            if output.output_type == "stream" and output.name == "stderr":
                yield f"cell {cell.id} stores text on stderr: {output.text.strip()[:200]}"


def no_stored_error(notebook: NotebookNode, slug: str) -> Iterator[str]:
    for cell in code_cells(notebook):
        for output in cell.outputs:
            if output.output_type == "error":
                yield f"cell {cell.id} stores an error: {output.ename}: {output.evalue}"


def pictures(notebook: NotebookNode) -> Iterator[tuple[NotebookNode, str]]:
    """(cell, kind) for each picture among the outputs."""
    for cell in code_cells(notebook):
        for output in cell.outputs:
            yield from ((cell, kind) for kind in output.get("data", {}) if "image" in kind)


def pictures_are_png_and_say_what_they_show(notebook: NotebookNode, slug: str) -> Iterator[str]:
    for cell, kind in pictures(notebook):
        if kind != "image/png":
            yield f"cell {cell.id} shows {kind}: use PNG, which nbval leaves out of the comparison"
        alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt")
        if not str(alt or "").strip():
            yield f"cell {cell.id} shows a picture without alt text (mystnb: image: alt:)"


def ignored_cells_assert(notebook: NotebookNode, slug: str) -> Iterator[str]:
    for cell in tagged(notebook, "nbval-ignore-output"):
        if not any(is_assertion(node) for node in run_at_once(parse(cell))):
            yield f"cell {cell.id} is tagged nbval-ignore-output and asserts nothing"
        if {"stub", "check", "summary", "setup"} & set(tags(cell)):
            yield f"cell {cell.id} must be compared: it may not be tagged nbval-ignore-output"


def run_at_once(tree: ast.AST | None) -> Iterator[ast.AST]:
    """The nodes that run with the cell: not those inside functions and classes."""
    for node in ast.iter_child_nodes(tree) if tree else ():
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield node
            yield from run_at_once(node)


def is_assertion(node: ast.AST) -> bool:
    """`assert` of something that could be false, or a call like np.testing.assert_allclose."""
    if isinstance(node, ast.Assert):
        return any(isinstance(part, ast.Name) for part in ast.walk(node.test))
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        return name.startswith("assert_")
    return False


def tags_are_known(notebook: NotebookNode, slug: str) -> Iterator[str]:
    for cell in notebook.cells:
        for tag in set(tags(cell)) - TAGS:
            yield f"cell {cell.id} has the unknown tag {tag!r}; known are {', '.join(sorted(TAGS))}"
    if tagged(notebook, "setup") != code_cells(notebook)[:1]:
        yield "the first code cell, and no other, must be tagged setup"


def no_trailing_semicolon(notebook: NotebookNode, slug: str) -> Iterator[str]:
    for cell in code_cells(notebook):
        if ends_with_semicolon(cell.source):
            yield f"cell {cell.id} has a trailing semicolon: write plt.show() or `_ = ...` instead"


def ends_with_semicolon(source: str) -> bool:
    code = TransformerManager().transform_cell(source)
    try:
        found = list(tokenize.generate_tokens(io.StringIO(code).readline))
    except (tokenize.TokenError, SyntaxError):
        return any(line.rstrip().endswith(";") for line in source.splitlines())
    kinds = (tokenize.COMMENT, tokenize.NL)
    found = [token for token in found if token.type not in kinds]
    return any(
        token.string == ";" and after.type in (tokenize.NEWLINE, tokenize.ENDMARKER)
        for token, after in zip(found, found[1:], strict=False)
    )


def nothing_unstable(notebook: NotebookNode, slug: str) -> Iterator[str]:
    for cell in code_cells(notebook):
        if not cell.source.strip():
            yield f"cell {cell.id} is empty"
        for pattern, what in UNSTABLE:
            if re.search(pattern, cell.source, flags=re.MULTILINE):
                yield f"cell {cell.id} uses {what}"


def ids_are_those_of_the_pipeline(notebook: NotebookNode, slug: str) -> Iterator[str]:
    expected = set()
    for cell in code_cells(notebook):
        exercise_id = cell.metadata.get("exercise")
        wanted = {"stub": exercise_id, "check": f"{exercise_id}-check"}
        for role in set(tags(cell)) & set(wanted):
            if cell.get("id") != wanted[role]:
                yield f"cell {cell.get('id')} should have the id {wanted[role]}"
        if exercise_id:
            expected |= {exercise_id + end for end in ("", "-prompt", "-check", "-hints")}
    others = [cell.get("id") for cell in notebook.cells if cell.get("id") not in expected]
    for place, name in enumerate(others, start=1):
        if name != f"{slug}-{place}":
            yield f"cell {name} should have the id {slug}-{place}"
    for name, count in Counter(cell.get("id") for cell in notebook.cells).items():
        if count > 1:
            yield f"{count} cells have the id {name}"


def metadata_is_clean(notebook: NotebookNode, slug: str) -> Iterator[str]:
    for key in set(notebook.metadata) - {"kernelspec", "language_info"}:
        yield f"the notebook carries {key!r} metadata"
    if notebook.metadata.get("kernelspec", {}).get("name") != "python3":
        yield "the kernel must be python3"
    if "version" in notebook.metadata.get("language_info", {}):
        yield "the notebook names the Python version it was run with"
    for cell in notebook.cells:
        for key in set(cell.metadata) - {"tags", "exercise", "mystnb"}:
            yield f"cell {cell.get('id')} carries {key!r} metadata"


# name shown in the test's report: rule
RULES: dict[str, Rule] = {
    rule.__name__: rule
    for rule in (
        every_cell_was_run,
        no_stored_stderr,
        no_stored_error,
        pictures_are_png_and_say_what_they_show,
        ignored_cells_assert,
        tags_are_known,
        no_trailing_semicolon,
        nothing_unstable,
        ids_are_those_of_the_pipeline,
        metadata_is_clean,
        *EXERCISE_RULES,
        *MARKDOWN_RULES,
    )
}
