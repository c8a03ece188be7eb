"""Formulas are set at build: MathML with its TeX inside, and a font for the signs they use.

No page needs a script for its maths. A formula that cannot be set, or a sign that the font lacks,
is a warning with its place, and so fails the build.
"""

from __future__ import annotations

import html
import importlib.util
import re
import unicodedata
from pathlib import Path
from typing import Any

from docutils import nodes
from fontTools import subset
from fontTools.ttLib import TTFont
from math_core import LatexError, LatexToMathML
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util import logging

FONT = "_static/maths.woff2"  # course.css names it
CARRIER = ("ziamath", "fonts/STIXTwoMath-Regular.ttf")  # the package that carries the whole font
ROOT_SIGN = "\N{SQUARE ROOT}"
LICENCE = [0, 5, 7, 9, 13, 14]  # entries of the name table that say whose the font is

logger = logging.getLogger(__name__)
converter = LatexToMathML(annotation=True, fancy_error=False)

_FORMULA = re.compile(r"<math\b.*?</math>", re.S)
_ANNOTATION = re.compile(r"<annotation\b.*?</annotation>", re.S)
_TAG = re.compile(r"<[^>]*>")
# Formulas in a line with the letters that touch them: the full stop behind, the bracket before.
_IN_LINE = r"<math\b(?![^>]*display=.block).*?</math>"
_WITH_NEIGHBOURS = re.compile(
    rf"[^\s<>]{{,16}}{_IN_LINE}(?:[^\s<>]{{,16}}{_IN_LINE})*[^\s<>]{{,16}}", re.S
)
# Browsers draw a lone letter of a formula by its mathematical italic.
_ITALIC = [0x210E, *range(0x1D434, 0x1D468), *range(0x1D6A4, 0x1D6A6), *range(0x1D6E2, 0x1D71C)]
_ITALICS = {
    chr(int(unicodedata.decomposition(chr(code)).split()[1], 16)): chr(code)
    for code in _ITALIC
    if unicodedata.decomposition(chr(code))
}


def mathml(node: nodes.math | nodes.math_block) -> str:
    tex = node.astext().strip()
    try:
        is_display = isinstance(node, nodes.math_block)
        return converter.convert_with_local_state(tex, displaystyle=is_display)
    except LatexError as error:
        logger.warning("this formula cannot be set: %s: %s", tex, error, location=node)
        return f"<code>{html.escape(tex)}</code>"


def visit_inline(self: Any, node: nodes.math) -> None:
    self.body.append(mathml(node))
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math"))
    self.body.append(f"{mathml(node)}</div>\n")
    raise nodes.SkipNode


def title_without_tex(app: Sphinx, page: str, template: str, context: dict, doctree: Any) -> None:
    """A browser's tab shows a title's text without its tags: the TeX would follow the formula."""
    context["title"] = _ANNOTATION.sub("", context.get("title", ""))


def held_together(body: str) -> str:
    """Keep a line from ending between a formula and what touches it: browsers break there."""

    def held(found: re.Match[str]) -> str:
        whole = found[0]
        alone = (
            whole.startswith("<math") and whole.endswith("</math>") and whole.count("<math") == 1
        )
        return whole if alone else f'<span class="formula">{whole}</span>'

    return _WITH_NEIGHBOURS.sub(held, body)


def hold_together(app: Sphinx, page: str, template: str, context: dict, doctree: Any) -> None:
    if "body" in context:
        context["body"] = held_together(context["body"])


def signs(page: str) -> set[str]:
    """Every character that the formulas of an HTML page show."""
    formulas = _ANNOTATION.sub("", "".join(_FORMULA.findall(page)))
    shown = html.unescape(_TAG.sub("", formulas))
    return {sign for sign in shown if unicodedata.category(sign)[0] not in "ZC"}


def whole_font() -> Path:
    package, path = CARRIER
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ExtensionError(f"{package} is missing: pip install -r requirements.txt")
    return Path(found.submodule_search_locations[0], path)


def even_roots(font: TTFont) -> None:
    """Draw the taller root signs as narrow as the lowest one.

    Chromium gives each root the width of the widest sign, and so a gap behind all others.
    """
    variants = font["MATH"].table.MathVariants
    place = variants.VertGlyphCoverage.glyphs.index(font.getBestCmap()[ord(ROOT_SIGN)])
    sizes = variants.VertGlyphConstruction[place]
    names = [record.VariantGlyph for record in sizes.MathGlyphVariantRecord]
    names += [part.glyph for part in sizes.GlyphAssembly.PartRecords]
    width = font["hmtx"][names[0]][0]
    for name in dict.fromkeys(names):
        glyph, (advance, _) = font["glyf"][name], font["hmtx"][name]
        glyph.coordinates.scale((width / advance, 1))
        glyph.coordinates.toInt()
        glyph.recalcBounds(font["glyf"])
        font["hmtx"][name] = (width, glyph.xMin)


def write_font(target: Path, wanted: set[int]) -> None:
    """The font with no more than these characters, as woff2."""
    options = subset.Options(flavor="woff2", hinting=False, name_IDs=LICENCE)
    options.layout_features = [
        "ssty",
        "dtls",
        "flac",
    ]  # small primes, dotless letters, flat accents
    target.parent.mkdir(parents=True, exist_ok=True)
    with subset.load_font(str(whole_font()), options) as font:
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=wanted)
        subsetter.subset(font)
        even_roots(font)
        subset.save_font(font, str(target), options)


def make_font(app: Sphinx, exception: Exception | None) -> None:
    """The font the built pages need, unless it is there from the last build."""
    if exception or app.builder.format != "html":
        return
    used = {ROOT_SIGN}
    for docname in sorted(app.env.found_docs):
        page = Path(app.outdir, f"{docname}.html").read_text(encoding="utf-8")
        used |= signs(page)
    used |= {_ITALICS[sign] for sign in used if sign in _ITALICS}
    with TTFont(whole_font(), lazy=True) as font:
        known = set(font.getBestCmap())
    wanted = {ord(sign) for sign in used}
    for code in sorted(wanted - known):
        logger.warning("the font for formulas lacks the sign %s (U+%04X)", chr(code), code)
    target = Path(app.outdir, FONT)
    if target.exists():
        with TTFont(target, lazy=True) as font:
            if set(font.getBestCmap()) == wanted & known:
                return
    write_font(target, wanted & known)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("html-page-context", title_without_tex)
    app.connect("html-page-context", hold_together)
    app.connect("build-finished", make_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
