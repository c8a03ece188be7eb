"""A small notebook that breaks no rule, for the tests that break it."""

from __future__ import annotations

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools.convert import METADATA


def build_good_notebook() -> NotebookNode:
    """One exercise, one number, one picture, one ignored cell; not run yet."""

    def exercise(source, tag):
        return new_code_cell(source, metadata={"exercise": "softmax", "tags": [tag]})

    alt = {"mystnb": {"image": {"alt": "Three bars, the last the highest."}}}
    cells = [
        new_markdown_cell("# Good\n\n<details>\n<summary>Aside</summary>\n\nHere.\n\n</details>"),
        new_code_cell(
            "import numpy as np\n\nfrom attnbook import check, summary",
            metadata={"tags": ["setup"]},
        ),
        exercise("def softmax(scores, axis=-1):\n    return ...", "stub"),
        exercise('softmax = check("softmax", softmax)', "check"),
        new_code_cell("print(softmax(np.array([0.0, 1.0, 2.0])).round(2))"),
        new_code_cell(
            "import matplotlib.pyplot as plt\n\nplt.plot([1, 2])\nplt.show()", metadata=alt
        ),
        new_code_cell(
            "drawn = np.random.default_rng().normal()\nprint(drawn)\nassert abs(drawn) < 100",
            metadata={"tags": ["nbval-ignore-output"]},
        ),
        new_code_cell("summary()", metadata={"tags": ["summary"]}),
    ]
    notebook = new_notebook(cells=cells, metadata=METADATA)
    names = ["case-1", "case-2", "softmax", "softmax-check", *(f"case-{n}" for n in range(3, 7))]
    for cell, name in zip(cells, names, strict=True):
        cell.id = name
    return notebook


def by_id(notebook: NotebookNode, name: str) -> NotebookNode:
    return next(cell for cell in notebook.cells if cell.id == name)
