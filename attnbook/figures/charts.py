"""Measurements and geometry: bars, curves, arrows and points. One result, or one for each seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.patheffects as effects
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from attnbook.figures import colours
from attnbook.figures.style import (
    POINTS,
    TEXT,
    WIDTH,
    as_labels,
    as_numbers,
    dress_chart,
    panels,
    style,
    text_width,
)

HEIGHT = 3.1  # inches


def bars(
    values: object,
    labels: Sequence[object],
    *,
    ylabel: str,
    colour: str | Sequence[str] = colours.WEIGHT,
    title: str | None = None,
    reference: tuple[str, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one bar for each label, its number at its end; bars start at 0.

    values: (n_bars,), or (n_seeds, n_bars): the bar is the mean, each seed a dot.
    Labels too long to stand side by side lay the bars down, still read from the top.
    colour: one, or one for each bar. reference: (name, value) of a dashed line, e.g. chance.
    """
    values = as_numbers(values, "values (n_bars,) or (n_seeds, n_bars)", axes=(1, 2))
    _finite(values, "bars")
    seeds = np.atleast_2d(values)
    means = seeds.mean(axis=0)  # (n_bars,)
    labels = as_labels(labels, len(means), "labels, one for each bar")
    paint = [colour] * len(means) if isinstance(colour, str) else list(colour)
    if len(paint) != len(means):
        raise ValueError(f"expected one colour or {len(means)}, got {len(paint)}")
    lying = max(text_width(label) for label in labels) + 6 > (WIDTH - 0.8) * POINTS / len(means)
    places = np.arange(len(means))
    with style():
        if ax is None:
            _, (ax,) = panels(1, height=max(1.6, 0.9 + 0.34 * len(means)) if lying else HEIGHT)
        if lying:
            ax.barh(places, means, color=paint, height=0.6)
            ax.set_yticks(places, labels)
            ax.set_ylim(len(means) - 0.4, -0.6)
            dress_chart(ax, title=title, xlabel=ylabel, ylabel="")
        else:
            ax.bar(places, means, color=paint, width=0.6)
            ax.set_xticks(places, labels)
            dress_chart(ax, title=title, xlabel="", ylabel=ylabel)
        ax.grid(False, axis="y" if lying else "x")
        ax.tick_params(axis="y" if lying else "x", length=0)
        for place, mean, runs in zip(places, means, seeds.T, strict=True):
            if len(seeds) > 1:
                spread = (runs, np.full(len(seeds), place))
                ax.scatter(*(spread if lying else spread[::-1]), s=26, **_DOT)
            end = max(mean, runs.max(), 0) if mean >= 0 else min(runs.min(), 0)
            _bar_number(ax, place, end, mean, lying)
        _reserve(ax, np.append(seeds.ravel(), 0), "x" if lying else "y")
        if reference is not None:
            _reference(ax, reference, along="y" if lying else "x")
    return ax


def curves(
    x: object,
    lines: Mapping[str, object],
    *,
    xlabel: str,
    ylabel: str,
    title: str | None = None,
    logx: bool = False,
    logy: bool = False,
    reference: tuple[str, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one curve for each entry of `lines`, each with its own colour, dash and marker.

    x: (n,). Each entry: (n,), or (n_seeds, n): the line is the mean, the band runs from the
    smallest to the largest seed. At most 6 curves; the legend stands above them.
    logx, logy: logarithmic axes, labelled with plain numbers.
    reference: (name, value) of a horizontal dashed line, e.g. chance.
    """
    x = as_numbers(x, "x (n,)", axes=(1,))
    data = {}
    _named(lines, "curves", most=len(colours.CYCLE))
    for name, y in lines.items():
        y = as_numbers(y, f"curve {name!r} (n,) or (n_seeds, n)", axes=(1, 2))
        if y.shape[-1] != len(x):
            raise ValueError(f"expected {len(x)} points for curve {name!r}, got shape {y.shape}")
        _finite(y, f"curve {name!r}")
        if logy and y.min() <= 0:
            raise ValueError(f"expected positive values for logy, got {y.min():.4g} in {name!r}")
        data[name] = np.atleast_2d(y)
    _finite(x, "x")
    if logx and x.min() <= 0:
        raise ValueError(f"expected positive x for logx, got {x.min():.4g}")
    with style():
        if ax is None:
            _, (ax,) = panels(1, height=HEIGHT + _legend_room(data))
        for number, (name, y) in enumerate(data.items()):
            colour = colours.CYCLE[number]
            ax.plot(
                x,
                y.mean(axis=0),
                label=name,
                color=colour,
                linestyle=colours.LINES[number],
                linewidth=2,
                marker=colours.MARKERS[number],
                markersize=6,
                markevery=max(1, len(x) // 8),
            )
            if len(y) > 1:
                ax.fill_between(
                    x, y.min(axis=0), y.max(axis=0), color=colour, alpha=0.18, linewidth=0
                )
        dress_chart(ax, title=title, xlabel=xlabel, ylabel=ylabel)
        if logx:
            _log_axis(ax, "x", x)
        if logy:
            _log_axis(ax, "y", np.concatenate([y.ravel() for y in data.values()]))
        if reference is not None:
            _reference(ax, reference, along="x")
        _legend_above(ax, list(data))
    return ax


def vectors(
    arrows: Mapping[str, object],
    *,
    xlabel: str = "dimension 0",
    ylabel: str = "dimension 1",
    colour: Mapping[str, str] | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw arrows in the plane, each with its name at its tip; both axes have the same scale.

    arrows: name to (2,), an arrow from the origin, or to (2, 2), its start and its end.
    colour: name to colour, e.g. {"query": colours.QUERY}; other arrows take ink.
    """
    _named(arrows, "arrows")
    ends = {}
    for name, arrow in arrows.items():
        arrow = as_numbers(arrow, f"arrow {name!r} (2,) or start and end (2, 2)", axes=(1, 2))
        if arrow.shape not in ((2,), (2, 2)):
            raise ValueError(f"expected shape (2,) or (2, 2) for {name!r}, got {arrow.shape}")
        _finite(arrow, f"arrow {name!r}")
        ends[name] = np.stack([np.zeros(2), arrow]) if arrow.ndim == 1 else arrow
    colour = _colour_of(colour, ends)
    with style():
        names = [
            (name, end, end - start, colour.get(name, colours.INK))
            for name, (start, end) in ends.items()
        ]
        along = np.linspace(0, 1, 12)[:, None]  # names keep off the shafts
        places = np.concatenate([start + along * (end - start) for start, end in ends.values()])
        ax = _plane(ax, places, names, title, xlabel, ylabel)
        for name, (start, end) in ends.items():
            paint = colour.get(name, colours.INK)
            ax.annotate(
                "",
                xy=end,
                xytext=start,
                arrowprops={
                    "arrowstyle": "-|>,head_width=0.3,head_length=0.6",
                    "color": paint,
                    "linewidth": 2.2,
                    "shrinkA": 0,
                    "shrinkB": 0,
                },
            )
    return ax


def points(
    groups: Mapping[str, object],
    *,
    names: Mapping[str, Sequence[str]] | None = None,
    xlabel: str = "dimension 0",
    ylabel: str = "dimension 1",
    colour: Mapping[str, str] | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw groups of points in the plane, each group with its own colour and marker.

    groups: name to (n, 2). names: group to n texts, written beside its points.
    colour: group to colour. At most 6 groups; both axes have the same scale.
    """
    _named(groups, "groups", most=len(colours.CYCLE))
    data = {}
    for group, places in groups.items():
        places = as_numbers(places, f"group {group!r} (n, 2)", axes=(2,))
        if places.shape[1] != 2:
            raise ValueError(f"expected shape (n, 2) for group {group!r}, got {places.shape}")
        _finite(places, f"group {group!r}")
        data[group] = places
    for group, texts in (names or {}).items():
        if group not in data:
            raise ValueError(f"expected names for groups {list(data)}, got {group!r}")
        as_labels(texts, len(data[group]), f"names in group {group!r}")
    colour = _colour_of(colour, data)
    with style():
        paint = {
            group: colour.get(group, colours.CYCLE[number]) for number, group in enumerate(data)
        }
        written = [
            (str(text), place, np.array([1.0, 0.0]), paint[group])
            for group, texts in (names or {}).items()
            for text, place in zip(texts, data[group], strict=True)
        ]
        everything = np.concatenate(list(data.values()))
        ax = _plane(ax, everything, written, title, xlabel, ylabel, _legend_room(data))
        for number, (group, places) in enumerate(data.items()):
            marker = colours.MARKERS[number]
            ax.scatter(*places.T, s=60, color=paint[group], marker=marker, label=group, zorder=3)
        _legend_above(ax, list(data))
    return ax


# -- parts ----------------------------------------------------------------------------------------

_DOT = {"color": colours.BACKGROUND, "edgecolor": colours.INK, "linewidth": 1.2, "zorder": 3}
_HALO = [effects.withStroke(linewidth=3, foreground=colours.BACKGROUND)]


def _finite(values, name) -> None:
    if not np.isfinite(values).all():
        raise ValueError(f"expected finite numbers for {name}, got an infinite one")


def _named(entries, what, most=None) -> None:
    if not isinstance(entries, Mapping):
        got = type(entries).__name__
        raise ValueError(f'expected {what} by name, such as {{"a name": numbers}}, got {got}')
    if len(entries) == 0:
        raise ValueError(f"expected {what} to draw, got none")
    if most and len(entries) > most:
        raise ValueError(f"expected 1 to {most} {what}, got {len(entries)}: make two figures")


def _colour_of(colour, entries) -> dict[str, str]:
    unknown = set(colour or {}) - set(entries)
    if unknown:
        raise ValueError(f"expected colours for {list(entries)}, got one for {sorted(unknown)}")
    return dict(colour or {})


def _plain(value, _=None) -> str:
    if abs(value) >= 1e5:  # 100 000 and not 1e+05
        return f"{value:,.0f}".replace(",", "\N{NO-BREAK SPACE}").replace("-", "\N{MINUS SIGN}")
    return f"{value:.4g}".replace("-", "\N{MINUS SIGN}", 1 if value < 0 else 0)


def _bar_number(ax, place, end, mean, lying) -> None:
    sign = 1 if mean >= 0 else -1
    size = abs(mean)
    text = f"{mean:.0f}" if mean == round(mean) or size >= 100 else f"{mean:.2f}"
    ax.annotate(
        text.replace("-", "\N{MINUS SIGN}"),
        (end, place) if lying else (place, end),
        xytext=(5 * sign, 0) if lying else (0, 4 * sign),
        textcoords="offset points",
        ha=("left" if sign > 0 else "right") if lying else "center",
        va="center" if lying else ("bottom" if sign > 0 else "top"),
    )


def _reserve(ax, values, axis) -> None:
    """Leave room beyond the ends of the bars for their numbers."""
    low, high = values.min(), values.max()
    span = (high - low) or 1.0
    share = 0.2 if axis == "x" else 0.14
    limits = (low - (share * span if low < 0 else 0), high + (share * span if high > 0 else 0))
    (ax.set_xlim if axis == "x" else ax.set_ylim)(*limits)


def _reference(ax, reference, along) -> None:
    """A dashed line behind the data, its name outside; along "x" it lies, along "y" it stands."""
    name, value = reference
    line = {"color": colours.INK, "linewidth": 1.6, "linestyle": (0, (4, 2)), "zorder": 0.9}
    if along == "x":
        ax.axhline(value, **line)
        low, high = ax.get_ylim()
        ax.set_ylim(min(low, value), max(high, value))
        place, shift, where = (1, value), (5, 0), ("axes fraction", "data")
    else:
        ax.axvline(value, **line)
        low, high = ax.get_xlim()
        ax.set_xlim(min(low, value), max(high, value))
        place, shift, where = (value, 1), (0, 3), ("data", "axes fraction")
        _lift_title(ax, lines=1)
    ax.annotate(
        name,
        place,
        xycoords=where,
        xytext=shift,
        textcoords="offset points",
        ha="left" if along == "x" else "center",
        va="center" if along == "x" else "bottom",
    )


def _lift_title(ax, lines) -> None:
    """Leave room for lines of text between the data and the title."""
    title = ax.get_title(loc="left")
    if title:
        ax.set_title(title, loc="left", pad=8 + lines * 1.5 * TEXT, fontweight="bold")


def _log_axis(ax, axis, values) -> None:
    """Plain numbers instead of small exponents: at the places measured if few, else at tens."""
    (ax.set_xscale if axis == "x" else ax.set_yscale)("log")
    one_axis = ax.xaxis if axis == "x" else ax.yaxis
    places = np.unique(values)
    low, high = places[0], places[-1]
    if axis == "y" or len(places) > 8:
        decades = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
        steps = [1, 2, 5] if high / low <= 200 else [1]
        places = np.array([step * 10.0**decade for decade in decades for step in steps])
    length = (WIDTH - 0.9) * POINTS if axis == "x" else (HEIGHT - 1) * POINTS
    kept = []  # (place, where on the axis in points): the labels that do not overlap
    for place in places:
        where = length * np.log(place / low) / (np.log(high / low) or 1.0)
        width = text_width(_plain(place)) + 6 if axis == "x" else 1.6 * TEXT
        if not kept or where - kept[-1][1] >= width:
            kept.append((place, where))
    places = [place for place, _ in kept]
    one_axis.set_major_locator(FixedLocator(places))
    one_axis.set_minor_locator(NullLocator())
    one_axis.set_major_formatter(FuncFormatter(_plain))


def _legend_shape(names) -> tuple[int, int]:
    """Rows and columns of a legend that fits the figure's width."""
    widest = max(text_width(name) for name in names) + 4.4 * TEXT
    columns = max(1, min(len(names), int((WIDTH - 0.6) * POINTS / widest)))
    return -(-len(names) // columns), columns


def _legend_room(names) -> float:
    """Inches to add to a figure for the legend above its data."""
    return _legend_shape(names)[0] * 1.5 * TEXT / POINTS if len(names) > 1 else 0.0


def _legend_above(ax, names) -> None:
    """A legend between title and data, for two or more names."""
    if len(names) < 2:
        return
    rows, columns = _legend_shape(names)
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(-0.02, 1.0),
        ncols=columns,
        frameon=False,
        handlelength=2.4,
        handletextpad=0.6,
        columnspacing=1.0,
        borderpad=0.2,
    )
    _lift_title(ax, rows)


def _plane(ax, places, names, title, xlabel, ylabel, extra_height=0.0) -> Axes:
    """Axes with one scale that hold the origin, the places and the names beside them.

    names: list of (text, place (2,), preferred direction (2,), colour).
    """
    if ax is None:
        _, (ax,) = panels(1, height=_PLANE[1] / POINTS + 1.05 + extra_height)
    elif ax.has_data() or ax.texts:
        places = np.concatenate([places, np.array([ax.get_xlim(), ax.get_ylim()]).T])
    dress_chart(ax, title=title, xlabel=xlabel, ylabel=ylabel)
    places = np.concatenate([places, np.zeros((1, 2))])
    low, high = places.min(axis=0), places.max(axis=0)
    tries = []
    for zoom in (1.15, 1.3, 1.5, 1.75, 2.0):  # step back only where names then find free sides
        unit = zoom * max(np.max((high - low) / _PLANE), 1e-9)  # data per point
        frame = _box((low + high) / 2, unit, *_PLANE)
        tries.append((frame, *_boxes(names, places, unit, frame)))
    frame, boxes, _ = min(tries, key=lambda one: one[2])
    ax.set_xlim(frame[0][0], frame[1][0])
    ax.set_ylim(frame[0][1], frame[1][1])
    ax.set_aspect("equal", adjustable="box", anchor="NW")
    for line in (ax.axhline, ax.axvline):
        line(0, color=colours.MASK, linewidth=1, zorder=1)
    for (text, place, _, colour), (side, _) in zip(names, boxes, strict=True):
        ax.annotate(
            text,
            place,
            xytext=_GAP * side,
            textcoords="offset points",
            ha={1: "left", 0: "center", -1: "right"}[_step(side[0])],
            va={1: "bottom", 0: "center", -1: "top"}[_step(side[1])],
            color=colour,
            fontweight="bold",
            path_effects=_HALO,
            zorder=4,
        )
    return ax


def _boxes(names, places, unit, frame) -> tuple[list[tuple[np.ndarray, tuple]], int]:
    """A side for each name and the box it then fills; and how many names found no free side.

    Free: inside the frame, on no place and no earlier name. Without one: the preferred side.
    """
    taken = [_box(place, unit, 5, 5) for place in places]
    chosen, crowded = [], 0
    for text, place, direction, _ in names:
        size = np.array([text_width(text, bold=True), TEXT])
        options = []
        for side in (direction / (np.linalg.norm(direction) or 1.0), *_SIDES):
            shift = _GAP * side + np.array([_step(part) for part in side]) * size / 2
            options.append((side, _box(place + unit * shift, unit, *size)))
        free = [
            (side, box)
            for side, box in options
            if np.all(box[0] >= frame[0])
            and np.all(box[1] <= frame[1])
            and not any(_overlap(box, other) for other in taken)
        ]
        crowded += not free
        chosen.append((free or options)[0])
        taken.append(chosen[-1][1])
    return chosen, crowded


_PLANE = np.array([3.5, 2.8]) * POINTS  # the data's part of a figure, width and height
_GAP = 8  # points between a place and its name
_SIDES = np.array(
    [(1, 0), (0, 1), (0, -1), (-1, 0), (0.7, 0.7), (0.7, -0.7), (-0.7, 0.7), (-0.7, -0.7)]
)


def _step(part) -> int:
    """-1, 0 or 1: on which side of its place a text stands."""
    return 1 if part > 0.4 else -1 if part < -0.4 else 0


def _box(centre, unit, width, height) -> tuple[np.ndarray, np.ndarray]:
    half = unit * np.array([width, height]) / 2
    return centre - half, centre + half


def _overlap(one, other) -> bool:
    return bool(np.all(one[0] < other[1]) and np.all(other[0] < one[1]))
