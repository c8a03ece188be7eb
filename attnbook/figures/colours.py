"""The book's colours. Each role keeps its colour from the first chapter to the last.

Chosen by search: every colour has a contrast of at least 4.5 on the white background, and
every pair stays apart for readers with protanopia, deuteranopia or tritanopia (the tests
simulate all three). Colour is never the only mark: lines also differ in dash and marker,
cells carry numbers, bars carry labels.
"""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.colors import LinearSegmentedColormap

QUERY = "#165dcd"  # blue: what a token asks
KEY = "#b55d13"  # orange: what a token offers
VALUE = "#06713d"  # green: what a token hands over
WEIGHT = "#63147c"  # purple: how much of it arrives
MASK = "#6e6e73"  # grey: what may not be seen
INK = "#17171f"  # text and axes

BACKGROUND = "#ffffff"
MASK_FACE = "#ececee"  # under the grey hatching of masked cells
RULE = "#d4d4d9"  # lines between cells, grids

# Curve, bar or point number i takes entry i of each of these, so no two share even one mark.
CYCLE = (QUERY, KEY, VALUE, WEIGHT, INK, MASK)
LINES = ("-", "--", "-.", ":", (0, (6, 1.5, 1, 1.5, 1, 1.5)), (0, (2, 1)))
MARKERS = ("o", "s", "^", "D", "v", "X")

# An axis called by one of these names is written in the colour of its role.
ROLES = {"query": QUERY, "key": KEY, "value": VALUE, "weight": WEIGHT}

# Weights run from white = 0 to purple = 1. Scores run from brown through white = 0 to purple.
WEIGHT_MAP = LinearSegmentedColormap.from_list("weights", [BACKGROUND, WEIGHT])
SCORE_MAP = LinearSegmentedColormap.from_list("scores", ["#6b3a00", BACKGROUND, WEIGHT])


def luminance(colour) -> float:
    """Relative luminance of a colour, from 0 (black) to 1 (white), as WCAG 2 defines it."""
    rgb = np.array(mpl.colors.to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(colour, background=BACKGROUND) -> float:
    """Contrast ratio of two colours, from 1 (equal) to 21 (black on white); text needs 4.5."""
    dark, light = sorted([luminance(colour), luminance(background)])
    return (light + 0.05) / (dark + 0.05)


def text_on(background) -> str:
    """Black or white, whichever reads better on a colour: their contrast is at least 4.58."""
    return max(("#000000", "#ffffff"), key=lambda text: contrast(text, background))


def tint(colour, share: float = 0.2) -> tuple[float, float, float]:
    """A pale version of a colour: `share` of it, the rest white. Ink reads well on it."""
    rgb = np.array(mpl.colors.to_rgb(colour))
    return tuple(float(part) for part in share * rgb + (1 - share))
