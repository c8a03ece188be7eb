"""Formulas are set at build: none is left as TeX, none fails in silence, none lacks a sign."""

import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont

from tests.site_pages import built_site
from tools.build_site import ROOT, toc_pages
from tools.sphinx_maths import FONT, ROOT_SIGN, signs


def build(folder: Path, page: str) -> tuple[str, str]:
    """The HTML of one page of Markdown, and what Sphinx warned of."""
    (folder / "conf.py").write_text(
        "extensions = ['myst_parser', 'sphinx_maths']\n"
        "myst_enable_extensions = ['dollarmath']\n"
        "html_math_renderer = 'mathml'\n",
        encoding="utf-8",
    )
    (folder / "index.md").write_text(page, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-b",
        "html",
        str(folder),
        str(folder / "html"),
    ]
    env = {"PYTHONPATH": str(ROOT / "tools"), "PATH": ""}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    return (folder / "html" / "index.html").read_text(encoding="utf-8"), done.stderr


def test_a_formula_in_a_heading_a_table_a_fold_and_a_line_of_its_own_is_set(tmp_path):
    page = (
        "# Over $a$\n\n| x |\n| --- |\n| $b_1$ |\n\n"
        "<details><summary>Fold</summary>\n\nHere $c^2$.\n\n</details>\n\n$$\n\\sqrt{d}\n$$\n"
    )
    html, warnings = build(tmp_path, page)
    assert warnings == ""
    assert html.count("<math") == 4
    assert "<title>Over a &#8212;" in html
    assert '<math display="block">' in html
    for tex in ("a", "b_1", "c^2", r"\sqrt{d}"):
        assert f'<annotation encoding="application/x-tex">{tex}</annotation>' in html
    with TTFont(tmp_path / "html" / FONT) as font:
        assert {ord(sign) for sign in "12√𝑎𝑏𝑐𝑑"} <= set(font.getBestCmap())


def test_no_line_ends_between_a_formula_and_what_touches_it(tmp_path):
    page = "# T\n\nSee $a$ here, (not $b$), or $c$/$d$-wide.\n\n$$\nx\n$$\n"
    html, _ = build(tmp_path, page)
    held = re.findall(r'<span class="formula">(.*?)</span>', html, re.S)
    assert [re.sub(r"<annotation.*?</annotation>|<[^>]*>", "", part) for part in held] == [
        "b),",
        "c/d-wide.",
    ]
    css = (ROOT / "book" / "_static" / "course.css").read_text(encoding="utf-8")
    assert ".formula { white-space: nowrap; }" in css


@pytest.mark.parametrize("tex", [r"\softmaxx(s)", r"\frac{1}{", "x_1_2"])
def test_a_formula_that_cannot_be_set_is_a_warning_with_its_place(tmp_path, tex):
    _, warnings = build(tmp_path, f"# Title\n\nWords.\n\nHere $y$ and ${tex}$.\n")
    assert "index.md:5: WARNING: this formula cannot be set" in warnings
    assert tex in warnings


def test_a_sign_that_the_font_lacks_is_a_warning(tmp_path):
    _, warnings = build(tmp_path, "# Title\n\n$\\text{語}$\n")
    assert "WARNING: the font for formulas lacks the sign 語 (U+8A9E)" in warnings


def test_the_font_has_every_sign_of_every_page():
    site = built_site()
    shown = [signs((site / f"{page}.html").read_text(encoding="utf-8")) for page in toc_pages()]
    assert len(set().union(*shown)) > 50
    with TTFont(site / FONT) as font:
        assert {ord(sign) for sign in set().union(*shown)} <= set(font.getBestCmap())
        assert ord(ROOT_SIGN) in font.getBestCmap()
        licence = font["name"].getDebugName(13)
    assert "SIL Open Font License" in licence


@pytest.mark.parametrize("page", toc_pages())
def test_no_formula_is_left_as_tex(page):
    html = unescape((built_site() / f"{page}.html").read_text(encoding="utf-8"))
    assert r"\(" not in html
    assert "merror" not in html
    assert html.count("<math") == html.count('encoding="application/x-tex"')
