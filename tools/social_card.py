"""The picture that messengers show beside a link to the course: its title and a causal heat map."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from attnbook.figures import colours  # noqa: E402
from attnbook.numpy_attention import softmax  # noqa: E402

CARD = "social-card.png"
WIDTH, HEIGHT, DPI = 1200, 630, 100
WORDS = ["a", "dragon", "saw", "the", "cup", "and", "it", "flew"]


def weights() -> np.ndarray:
    """Causal attention weights of eight words, made up; "it" looks at the dragon."""
    scores = 1.6 * np.random.default_rng(4).normal(size=(len(WORDS), len(WORDS)))
    scores[WORDS.index("it"), :2] = -1, 3
    return softmax(np.where(np.tri(len(WORDS), dtype=bool), scores, -np.inf))


def draw_card(path: Path, title: str) -> None:
    figure = Figure(figsize=(WIDTH / DPI, HEIGHT / DPI), dpi=DPI, facecolor=colours.BACKGROUND)
    FigureCanvasAgg(figure)
    first, _, rest = title.partition(", ")
    figure.text(0.06, 0.64, f"{first},", fontsize=43, weight="bold", color=colours.INK)
    figure.text(0.06, 0.51, rest, fontsize=33, weight="bold", color=colours.INK)
    about = (
        "From a dot product to a transformer,\nin notebooks that tell you why\nan answer is wrong."
    )
    figure.text(0.06, 0.24, about, fontsize=18, color=colours.MASK, linespacing=1.5)
    ax = figure.add_axes((0.62, 0.14, 0.34, 0.34 * WIDTH / HEIGHT))
    table = weights()
    for (row, column), weight in np.ndenumerate(table):
        if column <= row:
            colour = colours.WEIGHT_MAP(0.06 + 0.94 * weight)
            ax.add_patch(_cell(column, row, colour))
    ax.set_xlim(0, len(WORDS))
    ax.set_ylim(len(WORDS), 0)
    ax.set_axis_off()
    for row, word in enumerate(WORDS):
        ax.text(-0.15, row + 0.5, word, ha="right", va="center", fontsize=14, color=colours.INK)
    figure.savefig(path, metadata={"Software": None})  # the same bytes from the same sources


def _cell(column: int, row: int, colour: tuple) -> FancyBboxPatch:
    return FancyBboxPatch(
        (column + 0.08, row + 0.08),
        0.84,
        0.84,
        boxstyle="round,pad=0,rounding_size=0.12",
        facecolor=colour,
        edgecolor="none",
    )
