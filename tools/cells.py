"""Ways to look at the cells of a notebook."""

from __future__ import annotations

import ast

from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode


def markdown_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "markdown"]


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def tags(cell: NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])


def tagged(notebook: NotebookNode, tag: str) -> list[NotebookNode]:
    return [cell for cell in code_cells(notebook) if tag in tags(cell)]


def parse(cell: NotebookNode) -> ast.Module | None:
    """The cell's code as a tree; None where it is no Python (running it will say so)."""
    try:
        return ast.parse(TransformerManager().transform_cell(cell.source))
    except SyntaxError:
        return None
