"""Matrices as pictures: weights, scores and masks; rows are queries, columns are keys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure

from attnbook.figures import colours
from attnbook.figures.style import (
    POINTS,
    TEXT,
    WIDTH,
    as_array,
    as_labels,
    as_numbers,
    dress,
    panels,
    style,
    text_width,
)

LINE = 1.25 * TEXT  # points one line of text takes
LARGEST_CELL = 3.4 * TEXT
TOLERANCE = 1e-3  # float16 weights may miss 0 and 1 by this much
MOST_NUMBERS = 8  # rows or columns; more digits than this are a table, not a picture


@dataclass(frozen=True)
class Picture:
    """One checked matrix, ready to be drawn. hidden is True where nothing may be seen."""

    values: np.ndarray  # (n_rows, n_columns) float, the numbers given
    hidden: np.ndarray  # (n_rows, n_columns) bool
    rows: list[str] | None
    columns: list[str] | None
    kind: str
    numbers: str  # "yes", "no" or "if they fit"
    limit: float  # colours reach their darkest here

    @property
    def side_room(self) -> float:
        """Points that row labels and the row axis label take."""
        labels = self.rows or [str(len(self.values) - 1)]
        return max(text_width(label) for label in labels) + 2.2 * TEXT

    @property
    def head_room(self) -> float:
        """Points that a title, column labels (perhaps turned) and the column axis label take."""
        labels = self.columns or [""]
        return max(text_width(label) for label in labels) * 0.75 + 4.2 * TEXT


def heatmap(
    matrix: object,
    *,
    rows: Sequence[object] | None = None,
    columns: Sequence[object] | None = None,
    kind: str = "weights",
    mask: object = None,
    title: str | None = None,
    row_label: str = "query",
    column_label: str = "key",
    ax: Axes | None = None,
    numbers: bool | None = None,
    limit: float | None = None,
) -> Axes:
    """Draw a matrix (n_rows, n_columns) with its numbers; rows are queries, columns keys.

    kind: "weights" from white = 0 to purple = 1; "scores" centred on white = 0, where -inf
    counts as masked; "mask" for a boolean matrix, True (a dot) = may attend.
    rows, columns: tokens; without them the positions. Labels that would overlap are thinned.
    mask: (n_rows, n_columns) bool or broadcastable; False is hatched grey, and a weight other
    than 0 still shows there, because it is a leak.
    numbers: in the cells; None = up to 8 x 8. limit: the score at which colours end.
    Raises ValueError naming what was expected and what came.
    """
    picture = _prepare(matrix, rows, columns, kind, mask, numbers, limit)
    with style():
        texts = _fitted(picture, 1 if ax is None else _columns(ax))
        if ax is None:
            cell = min(LARGEST_CELL, _cell(picture, per_row=1))
            height = (len(picture.values) * cell + picture.head_room + 6) / POINTS
            height += 0.7 if _needs_bar(picture, texts) else 0
            _, (ax,) = panels(1, height=height)
            ax.set_anchor("NW")
        image = _draw(ax, picture, texts, row_label, column_label, title)
        if _needs_bar(picture, texts):
            _colour_bar(image, [ax], picture)
    return ax


def heatmaps(
    matrices: Sequence[object],
    *,
    titles: Sequence[str],
    rows: Sequence[object] | None = None,
    columns: Sequence[object] | None = None,
    kind: str = "weights",
    mask: object = None,
    row_label: str = "query",
    column_label: str = "key",
    numbers: bool | None = None,
    limit: float | None = None,
) -> Figure:
    """Draw several matrices of one shape for comparison, on one colour scale, titled each.

    Two panels stand side by side where their numbers stay legible on a phone, else below each
    other. Keywords are those of `heatmap`; `mask` is one mask for all or a list of masks.
    Scores share their limit: the largest size in any panel.
    Returns the figure; its `axes` are the panels in order.
    """
    pictures = _prepare_all(matrices, rows, columns, kind, mask, numbers, limit)
    names = as_labels(titles, len(pictures), "titles")
    needs = 1.25 * TEXT
    if kind != "mask" and pictures[0].numbers != "no":
        needs = max(_widest(_texts(picture, 2)) + 4 for picture in pictures)
    fits = _cell(pictures[0], per_row=2) >= needs
    per_row = 2 if fits and len(pictures) > 1 else 1
    return _draw_all(pictures, names, per_row, row_label, column_label)


def head_grid(
    weights: object,
    *,
    rows: Sequence[object] | None = None,
    columns: Sequence[object] | None = None,
    mask: object = None,
    numbers: bool | None = None,
) -> Figure:
    """Draw the weights (n_heads, n_q, n_k) of every head of a layer, named "head 0" onwards.

    Up to 4 heads stand two in a row, more heads three in a row, without numbers.
    rows, columns: tokens. mask: (n_q, n_k) or (n_heads, n_q, n_k) bool, True = may attend.
    Returns the figure; its `axes` are the heads in order.
    """
    heads = as_numbers(weights, "weights of the heads (n_heads, n_q, n_k)", axes=(3,))
    masks = mask
    if mask is not None and as_array(mask, "mask").ndim == 3:
        masks = list(as_array(mask, "mask"))
    names = [f"head {number}" for number in range(len(heads))]
    if len(heads) <= 4 and numbers is not False:
        return heatmaps(
            list(heads), titles=names, rows=rows, columns=columns, mask=masks, numbers=numbers
        )
    pictures = _prepare_all(list(heads), rows, columns, "weights", masks, bool(numbers), None)
    return _draw_all(pictures, names, 2 if len(heads) <= 4 else 3, "query", "key")


def cell_grid(
    cells: object,
    *,
    owner: object = None,
    names: Sequence[str] | None = None,
    title: str | None = None,
    row_label: str = "row",
    column_label: str = "column",
    ax: Axes | None = None,
) -> Axes:
    """Draw numbered cells (n_rows, n_columns), to follow each cell through a reshape.

    owner: (n_rows, n_columns) int, to whom the cell belongs: a tint, and the owner's name under
    the number. names: one for each owner, from 0; without them "0", "1", ... At most 6 owners.
    """
    cells = as_numbers(cells, "the cells", axes=(2,))
    n_rows, n_columns = cells.shape
    tints = np.ones((*cells.shape, 3))
    if owner is not None:
        owner = as_array(owner, "owner")
        if owner.shape != cells.shape or owner.dtype.kind not in "iu":
            raise ValueError(
                f"expected whole numbers of shape {cells.shape} for owner, "
                f"got {owner.dtype} of shape {owner.shape}"
            )
        count = len(colours.CYCLE) if names is None else len(names)
        if owner.min() < 0 or owner.max() >= min(count, len(colours.CYCLE)):
            raise ValueError(
                f"expected owners from 0 to {min(count, len(colours.CYCLE)) - 1}, "
                f"got {owner.min()} to {owner.max()}"
            )
        names = [str(number) for number in range(count)] if names is None else list(names)
        tints = np.array([colours.tint(colour, 0.22) for colour in colours.CYCLE])[owner]
    with style():
        if ax is None:
            _, (ax,) = panels(1, height=(n_rows * 3.2 * TEXT + 5 * TEXT) / POINTS)
            ax.set_anchor("NW")
        ax.imshow(tints, aspect="equal")
        for (i, j), value in np.ndenumerate(cells):
            lift = 0 if owner is None else 0.2
            ax.text(j, i - lift, f"{value:g}", ha="center", va="center", fontweight="bold")
            if owner is not None:
                ax.text(j, i + 0.24, names[owner[i, j]], ha="center", va="center")
        ax.set_xticks(range(n_columns))
        ax.set_yticks(range(n_rows))
        _frame(ax, cells.shape)
        dress(ax, title=title, xlabel=column_label, ylabel=row_label)
    return ax


# -- preparing ------------------------------------------------------------------------------------


def _prepare(matrix, rows, columns, kind, mask, numbers, limit) -> Picture:
    if kind not in ("weights", "scores", "mask"):
        raise ValueError(f'expected kind "weights", "scores" or "mask", got {kind!r}')
    given = as_array(matrix, kind)
    if given.ndim > 2:
        raise ValueError(
            f"expected a matrix (n_queries, n_keys), got shape {given.shape}: pick one "
            "example or head, or use heatmaps or head_grid"
        )
    values = as_numbers(given, f"{kind} (n_queries, n_keys)", axes=(2,))
    hidden = _hidden(mask, values.shape)
    if kind == "mask":
        if given.dtype != bool or mask is not None:
            raise ValueError(
                f'expected a boolean matrix and no mask for kind="mask", got {given.dtype}'
                + ("" if mask is None else " and a mask")
            )
        hidden = ~given
    if kind == "weights" and (values.min() < -TOLERANCE or values.max() > 1 + TOLERANCE):
        raise ValueError(
            f"expected weights between 0 and 1, got {values.min():.4g} to {values.max():.4g}; "
            'for numbers of any size say kind="scores"'
        )
    if kind == "scores":
        if np.isposinf(values).any():
            raise ValueError("expected finite scores, or -inf for masked ones; got +inf")
        hidden = hidden | np.isneginf(values)
        seen = np.abs(values[~hidden])
        limit = _positive(limit, default=float(seen.max()) if seen.size else 1.0)
    small = max(values.shape) <= MOST_NUMBERS
    return Picture(
        values=values,
        hidden=hidden,
        rows=as_labels(rows, values.shape[0], "row labels"),
        columns=as_labels(columns, values.shape[1], "column labels"),
        kind=kind,
        numbers="if they fit" if numbers is None and small else "yes" if numbers else "no",
        limit=1.0 if limit is None else limit,
    )


def _prepare_all(matrices, rows, columns, kind, mask, numbers, limit) -> list[Picture]:
    if len(matrices) == 0:
        raise ValueError("expected at least one matrix, got none")
    masks = mask if isinstance(mask, list | tuple) else [mask] * len(matrices)
    if len(masks) != len(matrices):
        raise ValueError(f"expected one mask or {len(matrices)} masks, got {len(masks)}")
    pictures = [
        _prepare(matrix, rows, columns, kind, one_mask, numbers, limit)
        for matrix, one_mask in zip(matrices, masks, strict=True)
    ]
    shapes = [picture.values.shape for picture in pictures]
    if len(set(shapes)) > 1:
        raise ValueError(f"expected matrices of one shape, got {shapes}")
    if kind == "scores" and limit is None:
        shared = max(picture.limit for picture in pictures)
        return _prepare_all(matrices, rows, columns, kind, mask, numbers, shared)
    return pictures


def _hidden(mask, shape) -> np.ndarray:
    if mask is None:
        return np.zeros(shape, dtype=bool)
    mask = as_array(mask, "mask")
    if mask.dtype != bool:
        raise ValueError(f"expected a boolean mask, True = may attend, got {mask.dtype}")
    try:
        return ~np.broadcast_to(mask, shape)
    except ValueError:
        raise ValueError(f"expected a mask of shape {shape}, got {mask.shape}") from None


def _positive(limit, default) -> float:
    if limit is None:
        return default or 1.0
    if not (np.isfinite(limit) and limit > 0):
        raise ValueError(f"expected a positive limit for the colours, got {limit}")
    return float(limit)


def _texts(picture: Picture, decimals: int) -> np.ndarray:
    """What to write in each cell, "" for nothing: masked cells stay bare unless they leak."""
    shown = ~picture.hidden
    if picture.kind == "weights":
        shown = shown | (np.abs(picture.values) > TOLERANCE)
    values = picture.values
    if np.all(values[shown] == np.round(values[shown])):
        decimals = 0
    texts = np.full(values.shape, "", dtype=object)
    for place in zip(*np.nonzero(shown), strict=True):
        text = "0" if values[place] == 0 else f"{values[place]:.{decimals}f}"
        texts[place] = text.replace("-", "\N{MINUS SIGN}")
    return texts


def _fitted(picture: Picture, per_row: int) -> np.ndarray | None:
    """The numbers with as many decimals as fit the cells, at most 2; None for no numbers."""
    if picture.numbers == "no" or picture.kind == "mask":
        return None
    fewest = 1 if picture.kind == "weights" else 0
    for decimals in range(2, fewest - 1, -1):
        texts = _texts(picture, decimals)
        if _widest(texts) <= _cell(picture, per_row) - 2:
            return texts
    return texts if picture.numbers == "yes" else None


def _widest(texts: np.ndarray) -> float:
    return max(text_width(text) for text in texts.flat)


def _columns(ax: Axes) -> int:
    """How many axes share the figure's width with these."""
    spec = ax.get_subplotspec()
    return spec.get_gridspec().ncols if spec else 1


# -- drawing --------------------------------------------------------------------------------------


def _cell(picture: Picture, per_row: int) -> float:
    """Points a square cell measures when `per_row` panels share the figure's width."""
    free = WIDTH * POINTS - picture.side_room - per_row * 1.5 * TEXT
    return free / per_row / picture.values.shape[1]


def _needs_bar(picture: Picture, texts: np.ndarray | None) -> bool:
    """A scale stands below the picture where no numbers say what the colours mean."""
    return texts is None and picture.kind != "mask"


def _draw_all(pictures, names, per_row, row_label, column_label) -> Figure:
    """Panels that share labels: rows at the left edge, columns on each (thumbnails: on top)."""
    first = pictures[0]
    n_rows, n_columns = first.values.shape
    thumbnails = per_row > 2
    cell = min(LARGEST_CELL, _cell(first, per_row))
    lines = math.ceil(len(pictures) / per_row)
    height = n_rows * cell + (2.2 * TEXT if thumbnails else first.head_room) + 8
    if thumbnails:
        height += (first.head_room - 2 * TEXT) / lines
    texts = [_fitted(picture, per_row) for picture in pictures]
    bar = any(_needs_bar(*pair) for pair in zip(pictures, texts, strict=True))
    figure, axes = panels(
        len(pictures), per_row=per_row, height=height / POINTS + (0.7 / lines if bar else 0)
    )
    with style():
        drawn = zip(axes, pictures, texts, names, strict=True)
        for number, (ax, picture, own_texts, name) in enumerate(drawn):
            image = _draw(ax, picture, own_texts, row_label, column_label, name)
            ax.set_anchor("NW")
            if number % per_row:  # the panel at the left edge labels the whole line
                ax.set_yticklabels([])
                ax.set_ylabel("")
            if thumbnails and number >= per_row:
                ax.set_xticklabels([])
                ax.set_xlabel("")
        if bar:
            _colour_bar(image, axes, first)
    return figure


def _draw(ax, picture, texts, row_label, column_label, title):
    """Image, hatching, numbers, ticks; returns the image for a colour bar."""
    colour_map, scale = _colouring(picture)
    image = ax.imshow(picture.values, cmap=colour_map, norm=scale, aspect="equal")
    _hatch(ax, picture.hidden)
    dress(ax, title=title, xlabel=column_label, ylabel=row_label)
    cell = min(LARGEST_CELL, _cell(picture, _columns(ax)))
    _label(ax, picture, cell)
    if picture.kind == "mask":
        _dots(ax, ~picture.hidden, cell)
    if texts is not None:
        for (i, j), text in np.ndenumerate(texts):
            if text:
                _number(ax, i, j, text, picture.hidden[i, j], image)
    _frame(ax, picture.values.shape)
    return image


def _colouring(picture) -> tuple[Colormap, Normalize]:
    if picture.kind == "scores":
        return colours.SCORE_MAP, Normalize(-picture.limit, picture.limit)
    if picture.kind == "mask":
        return plt.get_cmap("gray"), Normalize(-1, 0)  # white everywhere; hatching comes on top
    return colours.WEIGHT_MAP, Normalize(0, 1)


def _hatch(ax, hidden) -> None:
    """Cover masked cells with grey hatching: one collection, so that its lines run through."""
    places = np.argwhere(hidden)
    if len(places) == 0:
        return
    corners = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    cells = places[:, None, ::-1] + corners  # (n_hidden, 4, 2) as x, y
    hatching = PolyCollection(
        cells,
        facecolor=colours.MASK_FACE,
        edgecolor=colours.MASK,
        linewidth=0,
        hatch="////",
        gid="masked",
    )
    ax.add_collection(hatching, autolim=False)


def _dots(ax, allowed, cell) -> None:
    rows, columns = np.nonzero(allowed)
    ax.scatter(columns, rows, s=(0.3 * cell) ** 2, color=colours.WEIGHT)


def _number(ax, i, j, text, hidden, image) -> None:
    under = colours.MASK_FACE if hidden else image.cmap(image.norm(image.get_array()[i, j]))
    patch = {"facecolor": under, "edgecolor": "none", "pad": 1.5} if hidden else None
    ax.text(
        j,
        i,
        text,
        ha="center",
        va="center",
        color=colours.text_on(under),
        bbox=patch,
        fontweight="bold" if hidden else "normal",
    )


def _label(ax, picture, cell) -> None:
    """Tokens or positions as tick labels; turned when wide, thinned when they would overlap."""
    n_rows, n_columns = picture.values.shape
    rows = picture.rows or [str(i) for i in range(n_rows)]
    columns = picture.columns or [str(j) for j in range(n_columns)]
    step = max(1, math.ceil(LINE / cell))
    widest = max(text_width(label) for label in columns)
    if picture.columns is None:  # positions keep upright, with fewer of them
        step = max(step, math.ceil((widest + 4) / cell))
    ax.set_yticks(range(0, n_rows, step), rows[::step], fontsize=TEXT)
    wide = widest > step * cell - 4
    turn = {"rotation": 45, "ha": "left", "rotation_mode": "anchor"} if wide else {}
    ax.set_xticks(range(0, n_columns, step), columns[::step], fontsize=TEXT, **turn)


def _frame(ax, shape) -> None:
    """Column labels on top as in a table, thin lines between cells, no tick marks."""
    n_rows, n_columns = shape
    ax.xaxis.set_label_position("top")
    ax.tick_params(top=False, bottom=False, left=False, labeltop=True, labelbottom=False)
    ax.tick_params(axis="x", pad=2)
    if max(shape) <= 24:
        ax.set_xticks(np.arange(n_columns + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(n_rows + 1) - 0.5, minor=True)
        ax.grid(which="minor", color=colours.RULE, linewidth=0.8)
        ax.tick_params(which="minor", length=0)
    for spine in ax.spines.values():
        spine.set(color=colours.RULE, linewidth=0.8)


def _colour_bar(image, axes, picture) -> None:
    bar = axes[0].figure.colorbar(
        image, ax=axes, orientation="horizontal", fraction=0.06, pad=0.03, aspect=28, shrink=0.9
    )
    bar.outline.set(edgecolor=colours.RULE, linewidth=0.8)
    if picture.kind == "weights":
        bar.set_ticks([0, 0.5, 1], labels=["0", "0.5", "1"])
    else:
        limit = picture.limit
        bar.set_ticks(
            [-limit, 0, limit], labels=[f"\N{MINUS SIGN}{limit:.3g}", "0", f"{limit:.3g}"]
        )
    bar.ax.tick_params(labelsize=TEXT, length=3)
    name = "weight" if picture.kind == "weights" else "score"
    bar.set_label(name, fontsize=TEXT, labelpad=0)
