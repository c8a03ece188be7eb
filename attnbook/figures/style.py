"""Size, type and checks that every figure of the book shares.

A notebook figure is an image: on a phone the whole of it shrinks to about 350 pixels, its text
too. So a figure is 4.6 inches wide and its text 12 points: text of 9 points on the phone, about
the size of the prose at a desk. Wide pictures stack instead of growing wider.
Every figure carries its own white background and the notebook saves it with a margin, so that
it stays readable on a dark page. Nothing is transparent.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from contextlib import AbstractContextManager

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from attnbook.figures.colours import BACKGROUND, INK, ROLES, RULE

WIDTH = 4.6  # inches
TEXT = 12.0  # points
DPI = 100
POINTS = 72  # per inch

RC = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same letters everywhere
    "font.size": TEXT,
    "axes.titlesize": TEXT,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": TEXT,
    "xtick.labelsize": TEXT,
    "ytick.labelsize": TEXT,
    "legend.fontsize": TEXT,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": BACKGROUND,
    "axes.facecolor": BACKGROUND,
    "savefig.facecolor": BACKGROUND,
    "figure.dpi": DPI,
}


def style() -> AbstractContextManager:
    """The book's look for your own drawing: `with style(): ax.annotate(...)`.

    Settings return to what they were when the block ends. The helpers use it by themselves.
    """
    return mpl.rc_context(RC)


def sharp() -> None:
    """Ask the notebook for twice as many pixels, shown at the same size: crisp on any screen.

    Changes nothing but the picture format of the running notebook; elsewhere it does nothing.
    """
    try:
        from IPython import get_ipython
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:
        return
    if get_ipython() is not None:
        set_matplotlib_formats("retina")


def panels(count: int, *, per_row: int = 1, height: float = 3.0) -> tuple[Figure, list[Axes]]:
    """Make an empty figure of the book's width with `count` axes for the helpers' `ax=`.

    per_row: 1 or 2 read well on a phone. height: of one panel, in inches.
    Returns the figure and a flat list of axes, row by row; a last place left over stays empty.
    """
    if count < 1 or per_row < 1:
        raise ValueError(f"expected at least 1 panel and 1 per row, got {count} and {per_row}")
    per_row = min(per_row, count)
    n_rows = math.ceil(count / per_row)
    with style():
        figure, grid = plt.subplots(
            n_rows,
            per_row,
            figsize=(WIDTH, n_rows * height),
            layout="constrained",
            squeeze=False,
        )
    figure.get_layout_engine().set(h_pad=0.09, w_pad=0.06)
    axes = list(grid.flat)
    for unused in axes[count:]:
        unused.remove()
    return figure, axes[:count]


def dress(ax: Axes, *, title: str | None, xlabel: str, ylabel: str) -> None:
    """Write title and axis labels in the book's type; a role such as "query" in its colour."""
    if title:
        ax.set_title(fold(title, room(ax)), loc="left", fontsize=TEXT, fontweight="bold")
    for label, write in ((xlabel, ax.set_xlabel), (ylabel, ax.set_ylabel)):
        weight = "bold" if label in ROLES else "normal"
        write(label, fontsize=TEXT, color=ROLES.get(label, INK), fontweight=weight, labelpad=5)
    ax.tick_params(labelsize=TEXT, labelcolor=INK, color=INK)


def dress_chart(ax: Axes, *, title: str | None, xlabel: str, ylabel: str) -> None:
    """As `dress`, plus a quiet grid behind the data and no box around it."""
    dress(ax, title=title, xlabel=xlabel, ylabel=ylabel)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    ax.grid(True, color=RULE, linewidth=0.8)


def text_width(text: str, bold: bool = False) -> float:
    """Width in points of a text in the book's type."""
    weight = "bold" if bold else "normal"
    font = FontProperties(family="DejaVu Sans", size=TEXT, weight=weight)
    is_maths = text.count("$") >= 2
    return text_to_path.get_text_width_height_descent(text, font, is_maths)[0]


def room(ax: Axes) -> float:
    """Points from the left edge of axes to the right edge of their column in the figure."""
    columns = ax.get_subplotspec().get_gridspec().ncols if ax.get_subplotspec() else 1
    return ax.figure.get_figwidth() * POINTS / columns - 4 * TEXT


def fold(text: str, points: float) -> str:
    """Break a bold text into lines that fit a width in points."""
    return textwrap.fill(text, max(8, int(points / (0.68 * TEXT))))


# -- checks ---------------------------------------------------------------------------------------


def as_array(value: object, name: str) -> np.ndarray:
    """Turn lists, arrays and tensors (on any device, with or without gradient) into an array."""
    for step in ("detach", "cpu"):
        if hasattr(value, step):
            value = getattr(value, step)()
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"expected numbers for {name}, got {array.dtype} of shape {array.shape}")
    return array


def as_numbers(value: object, name: str, axes: tuple[int, ...]) -> np.ndarray:
    """As `as_array`, in float64, with one of the allowed numbers of axes, not empty, no NaN."""
    array = as_array(value, name).astype(np.float64)
    if array.ndim not in axes:
        wanted = " or ".join(str(n) for n in axes)
        raise ValueError(
            f"expected {wanted} {'axis' if axes == (1,) else 'axes'} for {name}, "
            f"got {array.ndim}: shape {array.shape}"
        )
    if array.size == 0:
        raise ValueError(f"expected at least one number for {name}, got shape {array.shape}")
    if np.isnan(array).any():
        raise ValueError(
            f"expected numbers for {name}, got NaN in {int(np.isnan(array).sum())} of "
            f"{array.size} places"
        )
    return array


def as_labels(labels: Sequence[object] | None, count: int, what: str) -> list[str] | None:
    """Turn labels into texts after checking that there is one for each place."""
    if labels is None:
        return None
    if isinstance(labels, str):
        raise ValueError(f"expected a list of {count} {what}, got the text {labels!r}")
    texts = [str(label) for label in labels]
    if len(texts) != count:
        raise ValueError(f"expected {count} {what}, got {len(texts)}: {texts}")
    return texts
