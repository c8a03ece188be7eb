"""Promises of attnbook.figures: honest pictures, legible by everyone, clear refusals."""

from __future__ import annotations

import io
import itertools
import subprocess
import sys

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.image import imread
from matplotlib.text import Text

from attnbook.figures import (
    bars,
    cell_grid,
    colours,
    curves,
    head_grid,
    heatmap,
    heatmaps,
    panels,
    points,
    style,
    vectors,
)

WORDS = ["the", "dragon", "saw", "the", "cup", ",", "it", "flew"]
PHONE = 350  # pixels a notebook's figure has on a phone
SMALLEST = 12  # pixels = 9 points, the smallest text we want there


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def weights(n_q, n_k, seed=0):
    scores = np.exp(np.random.default_rng(seed).normal(size=(n_q, n_k)))
    return scores / scores.sum(axis=1, keepdims=True)


def scores(n_q, n_k, seed=0):
    return np.random.default_rng(seed).normal(size=(n_q, n_k)) * 2


def texts_in(ax):
    return [text.get_text() for text in ax.texts]


def tick_texts(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def hatched(ax):
    """The (row, column) places of the masked cells of a heat map."""
    for collection in ax.collections:
        if collection.get_gid() == "masked":
            assert collection.get_hatch()
            return {
                tuple(int(round(part)) for part in path.vertices[:4].mean(axis=0)[::-1])
                for path in collection.get_paths()
            }
    return set()


EXAMPLES = {
    "weights 8x8": lambda: heatmap(weights(8, 8), rows=WORDS, columns=WORDS, title="Who looks"),
    "long labels": lambda: heatmap(
        weights(8, 8), rows=["contextualised", *WORDS[1:]], columns=["contextualised", *WORDS[1:]]
    ),
    "long title": lambda: heatmap(
        weights(2, 2), title="A long title over a tiny matrix of weights"
    ),
    "scores": lambda: heatmap(scores(5, 7) * 40, kind="scores"),
    "large": lambda: heatmap(weights(64, 48), title="Without numbers"),
    "mask": lambda: heatmap(np.tri(8, dtype=bool), rows=WORDS, columns=WORDS, kind="mask"),
    "pair": lambda: heatmaps([weights(3, 3)] * 2, titles=["before", "after the mask"]),
    "stack": lambda: heatmaps([weights(6, 6)] * 2, titles=["before", "after"], rows=WORDS[:6]),
    "4 heads": lambda: head_grid([weights(6, 6)] * 4, rows=WORDS[:6], columns=WORDS[:6]),
    "12 heads": lambda: head_grid([weights(16, 16)] * 12),
    "cells": lambda: cell_grid(
        np.arange(12).reshape(3, 4),
        owner=np.arange(12).reshape(3, 4) // 4,
        names=["the", "bank", "river"],
        title="x",
    ),
    "bars": lambda: bars(
        [0.9, 0.6], ["all", "no 0"], ylabel="accuracy", title="Cuts", reference=("chance", 0.25)
    ),
    "lying bars": lambda: bars(
        [[0.9, 0.6], [0.8, 0.7]],
        ["scaled_dot_product_attention", "nn.MultiheadAttention"],
        ylabel="milliseconds",
        reference=("budget", 0.5),
    ),
    "curves": lambda: curves(
        [4, 64, 1024],
        {f"a curve called {i}": np.full((3, 3), i + 1.0) for i in range(6)},
        xlabel="d_k",
        ylabel="std",
        title="Six curves",
        logx=True,
        logy=True,
        reference=("one", 1.0),
    ),
    "vectors": lambda: vectors(
        {"a query": (1, 0.5), "after “money”": [(0.5, 0.5), (0.1, 0.9)]}, title="Directions"
    ),
    "points": lambda: points(
        {"river words": [(1, 2), (1.1, 2)], "money words": [(0, 0)]},
        names={"river words": ["water", "fish"]},
    ),
}


# -- colours --------------------------------------------------------------------------------------

# Linear RGB as a dichromat sees it (Machado, Oliveira and Fernandes 2009, severity 1).
VISIONS = {
    "usual": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def lab(colour, vision):
    """CIE L*a*b* of a colour as seen with one kind of vision."""
    rgb = np.array(mpl.colors.to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.array(VISIONS[vision]) @ linear, 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(to_xyz) @ linear / [0.9505, 1.0, 1.089]
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("vision", VISIONS)
def test_colours_stay_apart_for_every_kind_of_vision(vision):
    seen = [lab(colour, vision) for colour in colours.CYCLE]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 18


@pytest.mark.parametrize("vision", VISIONS)
def test_negative_and_positive_scores_stay_apart(vision):
    low, high = (lab(colours.SCORE_MAP(place), vision) for place in (0.0, 1.0))
    assert np.linalg.norm(low - high) > 18


def test_every_colour_can_carry_text_on_the_background():
    assert min(colours.contrast(colour) for colour in colours.CYCLE) >= 4.5
    assert colours.contrast(colours.MASK, colours.MASK_FACE) >= 3  # hatching is not text


def test_numbers_in_cells_keep_their_contrast_at_every_value():
    for colour_map in (colours.WEIGHT_MAP, colours.SCORE_MAP):
        for under in colour_map(np.linspace(0, 1, 257)):
            assert colours.contrast(colours.text_on(under), under) >= 4.5
    for colour in colours.CYCLE:
        assert colours.contrast(colours.INK, colours.tint(colour, 0.22)) >= 7


def test_colour_is_never_the_only_mark():
    assert len(set(colours.LINES)) == len(set(colours.MARKERS)) == len(colours.CYCLE)


def test_maps_start_or_meet_at_white_and_darken_from_there():
    assert colours.WEIGHT_MAP(0.0)[:3] == (1, 1, 1)
    light = [colours.luminance(colours.WEIGHT_MAP(place)) for place in np.linspace(0, 1, 50)]
    assert np.all(np.diff(light) < 0)
    assert colours.luminance(colours.SCORE_MAP(0.5)) > 0.98


# -- every figure ---------------------------------------------------------------------------------


def as_saved_by_a_notebook(figure):
    buffer = io.BytesIO()
    figure.savefig(
        buffer, format="png", bbox_inches="tight", facecolor=figure.get_facecolor(), dpi=figure.dpi
    )
    buffer.seek(0)
    return imread(buffer)


@pytest.mark.parametrize("name", EXAMPLES)
def test_text_is_large_enough_on_a_phone(name):
    made = EXAMPLES[name]()
    figure = made.figure if hasattr(made, "figure") and made.figure else made
    width = as_saved_by_a_notebook(figure).shape[1]
    shrink = min(1, PHONE / width)
    shown = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
    assert shown
    for text in shown:
        pixels = text.get_fontsize() / 72 * figure.dpi * shrink
        assert pixels >= SMALLEST, (text.get_text(), pixels, width)


@pytest.mark.parametrize("name", EXAMPLES)
def test_figures_carry_their_own_light_background(name):
    made = EXAMPLES[name]()
    figure = made.figure if hasattr(made, "figure") and made.figure else made
    picture = as_saved_by_a_notebook(figure)
    border = np.concatenate([picture[:3].reshape(-1, 4), picture[:, :3].reshape(-1, 4)])
    np.testing.assert_array_equal(border, 1.0)  # white and opaque, with a margin


def test_the_same_call_gives_the_same_pixels_and_leaves_settings_alone():
    before = dict(mpl.rcParams)
    first, second = (as_saved_by_a_notebook(EXAMPLES["scores"]().figure) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert dict(mpl.rcParams) == before
    with style():
        assert mpl.rcParams["font.size"] == 12
    assert dict(mpl.rcParams) == before


def test_import_needs_no_torch():
    code = "import sys, attnbook.figures; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_tensors_are_welcome():
    torch = pytest.importorskip("torch")
    given = torch.full((3, 4), 0.25, requires_grad=True)
    drawn = heatmap(given).images[0].get_array()
    np.testing.assert_allclose(drawn, 0.25)


def test_inputs_are_left_unchanged():
    matrix, mask = scores(3, 4), np.tri(3, 4, dtype=bool)
    copies = matrix.copy(), mask.copy()
    heatmap(matrix, kind="scores", mask=mask)
    np.testing.assert_array_equal(matrix, copies[0])
    np.testing.assert_array_equal(mask, copies[1])


# -- heat maps ------------------------------------------------------------------------------------


def test_the_picture_holds_the_numbers_given():
    matrix = weights(3, 5)
    ax = heatmap(matrix, rows=WORDS[:3], columns=WORDS[:5])
    np.testing.assert_array_equal(ax.images[0].get_array(), matrix)
    assert ax.images[0].get_clim() == (0, 1)
    assert texts_in(ax) == [f"{value:.2f}" for value in matrix.ravel()]
    assert tick_texts(ax.yaxis) == WORDS[:3]
    assert tick_texts(ax.xaxis) == WORDS[:5]


def test_rows_are_called_query_and_columns_key_in_their_colours():
    ax = heatmap(weights(3, 5))
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("query", "key")
    assert ax.yaxis.label.get_color() == colours.QUERY
    assert ax.xaxis.label.get_color() == colours.KEY
    assert tick_texts(ax.yaxis) == ["0", "1", "2"]
    assert ax.yaxis_inverted()  # the first query is the top row


def test_scores_are_centred_on_zero():
    ax = heatmap([[3.0, -0.5], [0.0, -7.0]], kind="scores")
    assert ax.images[0].get_clim() == (-7, 7)
    assert texts_in(ax) == ["3.00", "−0.50", "0", "−7.00"]
    assert heatmap([[1.0]], kind="scores", limit=4).images[0].get_clim() == (-4, 4)


def test_masked_cells_are_hatched_and_bare():
    mask = np.tri(3, 4, dtype=bool)
    ax = heatmap(scores(3, 4), kind="scores", mask=mask)
    assert hatched(ax) == set(map(tuple, np.argwhere(~mask).tolist()))
    assert len(ax.texts) == mask.sum()


def test_minus_infinity_counts_as_masked():
    masked = np.where(np.tri(3, dtype=bool), scores(3, 3), -np.inf)
    ax = heatmap(masked, kind="scores")
    assert hatched(ax) == {(0, 1), (0, 2), (1, 2)}
    assert np.isfinite(ax.images[0].get_clim()).all()
    assert len(hatched(heatmap(np.full((2, 2), -np.inf), kind="scores"))) == 4


def test_a_leaking_weight_shows_through_the_mask():
    ax = heatmap([[0.7, 0.3], [0.5, 0.5]], mask=np.tri(2, dtype=bool))
    assert hatched(ax) == {(0, 1)}
    assert "0.30" in texts_in(ax)


def test_a_mask_is_a_picture_of_its_own():
    mask = np.tri(3, 4, dtype=bool)
    ax = heatmap(mask, kind="mask")
    assert hatched(ax) == set(map(tuple, np.argwhere(~mask).tolist()))
    dots = next(c for c in ax.collections if c.get_gid() != "masked").get_offsets()
    assert {(int(y), int(x)) for x, y in dots} == set(map(tuple, np.argwhere(mask).tolist()))


def test_large_matrices_have_a_scale_instead_of_numbers():
    ax = heatmap(weights(9, 9))
    assert not ax.texts
    assert [other.get_xlabel() for other in ax.figure.axes] == ["key", "weight"]
    assert len(heatmap(weights(9, 9), numbers=True).texts) == 81
    assert not heatmap(weights(3, 3), numbers=False).texts


def test_numbers_fit_their_cells():
    for made in (EXAMPLES["weights 8x8"](), EXAMPLES["long labels"](), EXAMPLES["scores"]()):
        made.figure.draw_without_rendering()
        cell = made.get_window_extent().width / made.images[0].get_array().shape[1]
        assert max(text.get_window_extent().width for text in made.texts) <= cell


def test_tick_labels_do_not_overlap():
    ax = EXAMPLES["large"]()
    ax.figure.draw_without_rendering()
    for axis, low, high in ((ax.xaxis, "x0", "x1"), (ax.yaxis, "y1", "y0")):
        boxes = [label.get_window_extent() for label in axis.get_ticklabels()]
        for one, other in itertools.pairwise(boxes):
            if axis is ax.xaxis:
                assert getattr(one, high) < getattr(other, low)
            else:
                assert other.y1 < one.y0 + 4  # line spacing is inside the box


def test_panels_share_one_scale_and_label_every_line():
    figure = heatmaps([scores(2, 3), 9 * scores(2, 3)], titles=["a", "b"], kind="scores")
    limits = [ax.images[0].get_clim() for ax in figure.axes]
    assert limits[0] == limits[1] == (-limits[0][1], limits[0][1])
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["a", "b"]
    assert [ax.get_xlabel() for ax in figure.axes] == ["key", "key"]
    assert figure.axes[0].get_ylabel() == "query"


def test_every_head_is_drawn_and_named():
    heads = np.stack([weights(6, 7, seed) for seed in range(5)])
    mask = np.tri(6, 7, dtype=bool)
    axes = [ax for ax in head_grid(heads, mask=mask).axes if ax.images]
    assert [ax.get_title(loc="left") for ax in axes] == [f"head {h}" for h in range(5)]
    for ax, head in zip(axes, heads, strict=True):
        np.testing.assert_array_equal(ax.images[0].get_array(), head)
        assert len(hatched(ax)) == (~mask).sum()


def test_numbered_cells_tell_their_owner_in_words_and_tint():
    cells = np.arange(6).reshape(2, 3)
    ax = cell_grid(cells, owner=cells // 3, names=["the", "bank"], row_label="token")
    assert texts_in(ax)[::2] == [str(cell) for cell in range(6)]
    assert texts_in(ax)[1::2] == ["the"] * 3 + ["bank"] * 3
    assert ax.get_ylabel() == "token"
    assert len(texts_in(cell_grid(cells))) == 6


# -- charts ---------------------------------------------------------------------------------------


def test_bars_start_at_zero_and_say_their_number():
    ax = bars([0.5, -0.25, 2], ["a", "b", "c"], ylabel="gain")
    assert [(bar.get_y(), bar.get_height()) for bar in ax.patches] == [(0, 0.5), (0, -0.25), (0, 2)]
    assert texts_in(ax) == ["0.50", "−0.25", "2"]
    assert ax.get_ylabel() == "gain"
    assert tick_texts(ax.xaxis) == ["a", "b", "c"]


def test_bars_over_seeds_show_the_mean_and_every_seed():
    ax = bars([[1.0, 2.0], [3.0, 2.5]], ["a", "b"], ylabel="gain")
    assert [bar.get_height() for bar in ax.patches] == [2.0, 2.25]
    dots = np.concatenate([collection.get_offsets() for collection in ax.collections])
    assert sorted(dots[:, 1].tolist()) == [1.0, 2.0, 2.5, 3.0]


def test_long_labels_lay_the_bars_down():
    ax = EXAMPLES["lying bars"]()
    assert tick_texts(ax.yaxis) == ["scaled_dot_product_attention", "nn.MultiheadAttention"]
    assert ax.yaxis_inverted()
    assert ax.get_xlabel() == "milliseconds"


def test_curves_hold_their_points_and_differ_in_more_than_colour():
    x, up = [1, 2, 3], [1.0, 2.0, 4.0]
    ax = curves(x, {"up": up, "down": up[::-1]}, xlabel="step", ylabel="loss")
    first, second = ax.lines
    np.testing.assert_array_equal(first.get_xydata(), np.c_[x, up])
    for mark in ("get_color", "get_linestyle", "get_marker"):
        assert getattr(first, mark)() != getattr(second, mark)()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["up", "down"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("step", "loss")


def test_the_band_runs_from_the_smallest_to_the_largest_seed():
    ax = curves([1, 2], {"runs": [[1.0, 2.0], [3.0, 8.0], [2.0, 5.0]]}, xlabel="x", ylabel="y")
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [2.0, 5.0])
    band = ax.collections[0].get_paths()[0].vertices
    assert (band[:, 1].min(), band[:, 1].max()) == (1.0, 8.0)


def test_log_axes_use_plain_numbers():
    ax = curves([4, 64, 1024], {"a": [1, 20, 100]}, xlabel="x", ylabel="y", logx=True, logy=True)
    ax.figure.draw_without_rendering()
    assert tick_texts(ax.xaxis) == ["4", "64", "1024"]
    assert {"1", "10", "100"} <= set(tick_texts(ax.yaxis))

    ax = curves([1, 1e5], {"a": [0, 1]}, xlabel="x", ylabel="y", logx=True)
    ax.figure.draw_without_rendering()
    assert tick_texts(ax.xaxis) == ["1", "100\N{NO-BREAK SPACE}000"]


def test_a_reference_line_carries_its_name():
    for name in ("bars", "lying bars", "curves"):
        assert {"chance", "budget", "one"} & set(texts_in(EXAMPLES[name]()))


def test_vectors_start_and_end_where_told():
    ax = vectors({"a": (1, 2), "b": [(1, 0), (3, 1)]}, colour={"a": colours.QUERY})
    arrows = [text for text in ax.texts if not text.get_text()]
    assert [(tuple(a.xyann), tuple(a.xy)) for a in arrows] == [((0, 0), (1, 2)), ((1, 0), (3, 1))]
    names = [text for text in ax.texts if text.get_text()]
    assert [text.get_text() for text in names] == ["a", "b"]
    assert [text.get_color() for text in names] == [colours.QUERY, colours.INK]
    assert ax.get_aspect() == 1


def test_names_lie_inside_the_axes_and_apart():
    cloud = np.random.default_rng(4).normal(size=(10, 2))
    for ax in (
        points({"words": cloud}, names={"words": [f"word {i}" for i in range(10)]}),
        EXAMPLES["vectors"](),
    ):
        ax.figure.draw_without_rendering()
        frame = ax.get_window_extent().padded(4)
        boxes = [text.get_window_extent() for text in ax.texts if text.get_text()]
        for box in boxes:
            assert frame.x0 <= box.x0
            assert box.x1 <= frame.x1
            assert frame.y0 <= box.y0
            assert box.y1 <= frame.y1
        assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


def test_points_and_vectors_may_share_axes():
    ax = points({"values": [(0, 0), (4, 4)]})
    vectors({"output": (1, 3)}, ax=ax)
    assert ax.get_xlim()[1] >= 4


def test_panels_give_axes_for_the_helpers():
    figure, axes = panels(3, per_row=2)
    assert len(axes) == len(figure.axes) == 3
    assert heatmap(weights(2, 2), ax=axes[0]) is axes[0]
    assert bars([1], ["a"], ylabel="y", ax=axes[2]) is axes[2]


# -- refusals -------------------------------------------------------------------------------------

SQUARE = np.full((2, 2), 0.5)
REFUSED = {
    "three axes": (lambda: heatmap(np.zeros((2, 3, 3))), r"matrix .*got shape \(2, 3, 3\)"),
    "one axis": (lambda: heatmap(np.zeros(3)), r"expected 2 axes .*got 1: shape \(3,\)"),
    "weights too large": (lambda: heatmap(SQUARE * 3), r"between 0 and 1, got 1\.5 .*scores"),
    "negative weights": (lambda: heatmap(SQUARE - 1), r"between 0 and 1, got -0\.5"),
    "NaN": (lambda: heatmap(SQUARE * np.nan), r"NaN in 4 of 4"),
    "plus infinity": (lambda: heatmap(SQUARE / 0.0, kind="scores"), r"got \+inf"),
    "kind": (lambda: heatmap(SQUARE, kind="weight"), r"expected kind .*got \'weight\'"),
    "row labels": (lambda: heatmap(SQUARE, rows=["a"]), r"2 row labels, got 1"),
    "text as labels": (lambda: heatmap(SQUARE, columns="ab"), r"list of 2 column labels"),
    "mask shape": (lambda: heatmap(SQUARE, mask=np.ones((3, 2), bool)), r"mask of shape \(2, 2\)"),
    "mask dtype": (lambda: heatmap(SQUARE, mask=np.ones((2, 2))), r"boolean mask.* got float64"),
    "mask kind": (lambda: heatmap(SQUARE, kind="mask"), r"boolean matrix.*got float64"),
    "words": (lambda: heatmap([["a", "b"]]), r"expected numbers"),
    "empty": (lambda: heatmap(np.zeros((0, 2))), r"at least one number .*\(0, 2\)"),
    "limit": (lambda: heatmap(SQUARE, kind="scores", limit=-1), r"positive limit"),
    "titles": (lambda: heatmaps([SQUARE] * 2, titles=["a"]), r"2 titles, got 1"),
    "panel shapes": (lambda: heatmaps([SQUARE, SQUARE[:1]], titles=["a", "b"]), r"one shape"),
    "masks": (lambda: heatmaps([SQUARE], titles=["a"], mask=[None] * 2), r"1 masks?, got 2"),
    "no panels": (lambda: heatmaps([], titles=[]), r"at least one matrix"),
    "heads": (lambda: head_grid(SQUARE), r"expected 3 axes .*got 2"),
    "head mask": (lambda: head_grid([SQUARE], mask=np.ones(3, bool)), r"mask of shape \(2, 2\)"),
    "owner": (lambda: cell_grid(SQUARE, owner=[0, 1]), r"whole numbers of shape \(2, 2\)"),
    "owners": (lambda: cell_grid(SQUARE, owner=[[0, 9]] * 2), r"owners from 0 to 5, got 0 to 9"),
    "bar labels": (lambda: bars([1, 2], ["a"], ylabel="y"), r"2 labels, one for each bar, got 1"),
    "bar colours": (lambda: bars([1], ["a"], ylabel="y", colour=["r", "b"]), r"one colour or 1"),
    "infinite bar": (lambda: bars([np.inf], ["a"], ylabel="y"), r"finite numbers for bars"),
    "curve length": (lambda: curves([1, 2], {"a": [1]}, xlabel="", ylabel=""), r"2 points .*'a'"),
    "many curves": (
        lambda: curves([1], {str(i): [1] for i in range(7)}, xlabel="", ylabel=""),
        r"1 to 6 curves, got 7",
    ),
    "curves without names": (
        lambda: curves([1, 2], [[1, 2]], xlabel="", ylabel=""),
        r"curves by name, such as .*, got list",
    ),
    "no curves": (lambda: curves([1], {}, xlabel="", ylabel=""), r"curves to draw, got none"),
    "arrows without names": (lambda: vectors(SQUARE), r"arrows by name, .* got ndarray"),
    "points without names": (lambda: points(SQUARE), r"groups by name, .* got ndarray"),
    "log of zero": (
        lambda: curves([0, 1], {"a": [1, 2]}, xlabel="", ylabel="", logx=True),
        r"positive x for logx, got 0",
    ),
    "arrow": (lambda: vectors({"a": (1, 2, 3)}), r"\(2,\) or \(2, 2\) for 'a', got \(3,\)"),
    "arrow colour": (lambda: vectors({"a": (1, 2)}, colour={"b": "r"}), r"got one for \['b'\]"),
    "points": (lambda: points({"a": [(1, 2, 3)]}), r"\(n, 2\) for group 'a', got \(1, 3\)"),
    "names": (lambda: points({"a": [(1, 2)]}, names={"a": ["x", "y"]}), r"1 names in group 'a'"),
    "panels": (lambda: panels(0), r"at least 1 panel"),
}


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("name", REFUSED)
def test_refusals_say_what_was_expected_and_what_came(name):
    call, sentence = REFUSED[name]
    with pytest.raises(ValueError, match=sentence):
        call()
