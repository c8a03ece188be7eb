"""A page is light: what it loads is little, is used, and its figures hold their place."""

import gzip
import re
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont

from tests.site_pages import built_site, read
from tools.build_site import toc_pages
from tools.sphinx_assets import (
    ICONS,
    SHEET,
    THEME_SCRIPT,
    icons_in,
    loaded_file,
    names_in_use,
    one_sheet,
    shed,
    with_deferred_scripts,
    with_sized_images,
)
from tools.sphinx_maths import FONT

CHAPTERS = [page for page in toc_pages() if page.startswith("notebooks/")]
KILOBYTE = 1000
MOST = 250 * KILOBYTE  # the promise is 600
PICTURES = {".png", ".jpg", ".jpeg", ".webp", ".gif"}


def loaded(site: Path, page: str) -> set[Path]:
    """The page, the files it names, and the two fonts that its style sheet names."""
    path = site / f"{page}.html"
    files = {loaded_file(path, address) for address in read(path).loads}
    return {path, *files, site / FONT, site / ICONS}


def compressed(file: Path) -> int:
    return len(gzip.compress(file.read_bytes(), 6))


@pytest.mark.parametrize("page", CHAPTERS)
def test_a_chapter_without_its_figures_is_light(page):
    files = [f for f in loaded(built_site(), page) if f.suffix not in PICTURES]
    sizes = {file.name: compressed(file) for file in files}
    assert sum(sizes.values()) <= MOST, sizes


@pytest.mark.parametrize("page", toc_pages())
def test_a_page_loads_one_style_sheet_and_no_search_index(page):
    names = [file.name for file in loaded(built_site(), page)]
    assert {name for name in names if name.endswith(".css")} == {Path(SHEET).name, "print.css"}
    assert not {"searchindex.js", "fontawesome.js", "searchtools.js"} & set(names)


def test_the_search_page_loads_the_search_index():
    names = [file.name for file in loaded(built_site(), "search")]
    assert {"searchindex.js", "searchtools.js", "language_data.js"} <= set(names)


@pytest.mark.parametrize("page", [*toc_pages(), "search"])
def test_no_script_holds_up_the_page(page):
    html = (built_site() / f"{page}.html").read_text(encoding="utf-8")
    for tag in re.findall(r"<script\b[^>]*\bsrc=[^>]*>", html):
        assert re.search(r"\b(defer|async)\b|type=\"module\"", tag), tag


@pytest.mark.parametrize("page", toc_pages())
def test_every_picture_tells_its_size(page):
    html = (built_site() / f"{page}.html").read_text(encoding="utf-8")
    for tag in re.findall(r"<img\b[^>]*>", html):
        assert re.search(r'\bwidth="\d+" height="\d+"', tag), tag


def test_the_icon_font_has_the_icons_that_the_sheet_names_and_no_others():
    site = built_site()
    css = (site / SHEET).read_text(encoding="utf-8")
    with TTFont(site / ICONS) as font:
        cut = set(font.getBestCmap())
    assert {0xF0C9, 0xF002} <= cut, "the bars of the menu, the glass of the search"
    assert cut <= icons_in(css)
    assert (site / ICONS).stat().st_size < 10 * KILOBYTE


def rules(css: str, names: set[str], folder: Path) -> str:
    sheet = folder / "sheet.css"
    sheet.write_text(css, encoding="utf-8")
    return one_sheet([sheet], folder, names)


def test_a_rule_goes_only_if_it_can_match_nothing(tmp_path):
    css = """
        p { color: red }
        .used, .unused { color: green }
        #used .unused > a { color: blue }
        a:not(.unused):hover, [class*="unused"] { color: black }
        :is(.used, .unused) b { color: grey }
        @media print { .unused { color: red } .used { margin: 0 } }
        @media screen { .unused { color: red } }
        .used::before { content: ".unused" }
    """
    kept = rules(css, {"used"}, tmp_path)
    assert "p{" in kept
    assert ".used{color: green}" in kept
    assert "blue" not in kept
    assert "a:not(.unused):hover" in kept
    assert ":is(.used, .unused) b" in kept
    assert "@media print" in kept
    assert "@media screen" not in kept
    assert '.used::before{content: ".unused"}' in kept


def test_addresses_in_a_sheet_and_its_imports_still_lead_to_their_files(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "base.css").write_text("a { background: url(a.svg) }", encoding="utf-8")
    (tmp_path / "deep" / "top.css").write_text(
        '@import "../base.css";\n'
        "b { background: url('../b.svg#x') }\n"
        'c { background: url("data:image/svg+xml;utf8,<svg/>") }\n',
        encoding="utf-8",
    )
    css = one_sheet([tmp_path / "deep" / "top.css"], tmp_path, set())
    assert "url(a.svg)" in css
    assert 'url("b.svg#x")' in css
    assert "../" not in css
    assert "data:image/svg+xml;utf8,<svg/>" in css


def test_a_class_that_only_a_script_sets_counts_as_used():
    names = names_in_use(['<p class="a b" id="c"></p><script>d.add("e-f")</script>'], ["g('h')"])
    assert {"a", "b", "c", "e-f", "h"} <= names


def test_scripts_come_with_what_they_serve():
    head = (
        "<script>DOCUMENTATION_OPTIONS.search_as_you_type = false;</script>"
        '<script src="s/copybutton.js?v=1"></script><script src="s/fontawesome.js"></script>'
    )
    assert with_deferred_scripts(head) == ""
    code = head + '<div class="highlight"></div>'
    assert with_deferred_scripts(code).startswith('<script defer src="s/copybutton.js?v=1">')


def test_a_picture_that_tells_its_size_is_left_as_it_is(tmp_path):
    tag = '<img src="a.png" width="2" height="1">'
    (tmp_path / "a.png").write_bytes(b"")
    assert with_sized_images(tag, tmp_path / "page.html") == tag


def test_a_second_build_that_writes_few_pages_keeps_the_rules_of_all(tmp_path):
    (tmp_path / ICONS).parent.mkdir(parents=True)
    (tmp_path / THEME_SCRIPT).parent.mkdir(parents=True)
    measuring = ',"complete"===document.readyState?m():window.addEventListener("load",m)'
    (tmp_path / THEME_SCRIPT).write_text(f"(()=>{{go(){measuring}}})();", encoding="utf-8")
    link = '<link rel="stylesheet" href="_static/{}.css" />'
    quiz = link.format("a") + link.format("quiz") + '<p class="x q"></p>'
    plain = link.format("a") + '<p class="x"></p>'
    (tmp_path / "quiz.html").write_text(quiz, encoding="utf-8")
    (tmp_path / "_static" / "a.css").write_text(".x { color: red }", encoding="utf-8")
    (tmp_path / "_static" / "quiz.css").write_text(".q { color: tan }", encoding="utf-8")
    for _ in range(2):
        (tmp_path / "plain.html").write_text(plain, encoding="utf-8")
        shed(tmp_path)
    assert (tmp_path / THEME_SCRIPT).read_text(encoding="utf-8") == "(()=>{go()})();"
    css = (tmp_path / SHEET).read_text(encoding="utf-8")
    assert css.splitlines()[1:] == [".x{color: red}", ".q{color: tan}"]
    for page in ("quiz", "plain"):
        assert (tmp_path / f"{page}.html").read_text(encoding="utf-8").count("stylesheet") == 1
