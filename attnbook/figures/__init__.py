"""Pictures of attention: one look for the whole book, one line per picture.

    heatmap(weights, rows=words, columns=words)      who attends to whom
    heatmaps([before, after], titles=[...])          the same, side by side or stacked
    head_grid(weights, rows=words, columns=words)    every head of one layer
    cell_grid(cells, owner=...)                      numbered cells: where did cell 7 go?
    bars, curves, vectors, points                    measurements and geometry

Each returns axes (or a figure) that you may decorate; you call plt.show(). The axes come with
their figure as `ax.figure`. Nothing here needs torch, though tensors are welcome as input.
"""

from __future__ import annotations

from attnbook.figures import colours
from attnbook.figures.charts import bars, curves, points, vectors
from attnbook.figures.heatmap import cell_grid, head_grid, heatmap, heatmaps
from attnbook.figures.style import panels, sharp, style

__all__ = [
    "bars",
    "cell_grid",
    "colours",
    "curves",
    "head_grid",
    "heatmap",
    "heatmaps",
    "panels",
    "points",
    "sharp",
    "style",
    "vectors",
]
