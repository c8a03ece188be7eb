"""The built pages load what they use and no more: scripts, style sheets, icons are cut down last.

The theme and the extensions bring for every page what any site might want. When the pages are
written, this hook sees what they name: style rules for other things are dropped and what is left is
one sheet, the icon font keeps the icons in use, a script comes only with what it serves, after the
page. It works on the built files alone, so what it reads are the installed packages' own.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import imagesize
import pydata_sphinx_theme
import tinycss2
from fontTools import subset
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tools.fingerprint import html_pages  # noqa: E402

SHEET = "_static/site.css"
ICONS = "_static/vendor/fontawesome/webfonts/fa-solid-900.woff2"
# A page loads the script only if its HTML has the words; no words: no page does.
SERVES = {
    "fontawesome.js": None,  # the theme's style sheet draws the same icons by a font
    "searchtools.js": "search-results",
    "language_data.js": "search-results",
    "searchindex.js": "search-results",
    "design-tabs.js": 'class="sd-tab',
    "clipboard.min.js": 'class="highlight',
    "copybutton.js": 'class="highlight',
}
# For a search in each page that the course does not have; its script comes with the search page.
INLINE = re.compile(r"\s*<script>DOCUMENTATION_OPTIONS\.search_as_you_type = .*?</script>")
# The theme lays out the page anew for each box that may scroll; course.js spares the browser that.
# Where another version of the theme reads differently it stays as it is, only slower.
THEME_SCRIPT = "_static/scripts/pydata-sphinx-theme.js"
SCROLL_MEASURE = re.compile(
    r',"complete"===document\.readyState\?(\w+)\(\):window\.addEventListener\("load",\1\)(?=\}\)\(\);)'
)
UNUSED_FILES = ["**/*.map", "**/*.LICENSE.txt", "locales/**/*", "scripts/fontawesome.js"]
UNUSED_FILES += ["vendor/fontawesome/webfonts/*.ttf", "vendor/fontawesome/webfonts/fa-[!s]*"]
BUILT_BY_SCRIPTS = {"bs-tooltip-auto"}  # class names that scripts put together from parts

# A sheet for print alone stays apart: a screen does not wait for it.
_SHEET_LINK = re.compile(r'[ \t]*<link\b(?![^>]*\bmedia=)[^>]*\brel="stylesheet"[^>]*>\n?')
_SCRIPT = re.compile(r'[ \t]*<script\b[^>]*\bsrc="([^"]+)"[^>]*></script>\n?')
_PRELOAD = re.compile(r'[ \t]*<link\b[^>]*\brel="preload"[^>]*\bas="script"[^>]*>\n?')
_IMAGE = re.compile(r'<img\b[^>]*\bsrc="([^"]+)"[^>]*?(?=\s*/?>)')
_NAMES = re.compile(r'\b(?:class|id)="([^"]*)"')
_SCRIPT_BODY = re.compile(r"<script\b[^>]*>(.*?)</script>", re.S)
_WORD = re.compile(r"[\w-]+")


def attribute(tag: str, name: str) -> str:
    found = re.search(rf'\b{name}="([^"]*)"', tag)
    return found.group(1) if found else ""


def loaded_file(page: Path, address: str) -> Path:
    return Path(os.path.normpath(page.parent / urlsplit(address).path))


# --- style sheets -------------------------------------------------------------------------------


def names_in_use(pages: Iterable[str], scripts: Iterable[str]) -> set[str]:
    """Every class and id of the pages, and every word of a script, for it may set it as one."""
    names = set(BUILT_BY_SCRIPTS)
    for html in pages:
        names.update(name for value in _NAMES.findall(html) for name in value.split())
        names.update(word for body in _SCRIPT_BODY.findall(html) for word in _WORD.findall(body))
    for script in scripts:
        names.update(_WORD.findall(script))
    return names


def can_match(selector: list, names: set[str]) -> bool:
    """False when the selector wants a class or an id that no page has."""
    after_dot = False
    for token in selector:
        if after_dot and token.type == "ident" and token.value not in names:
            return False
        if token.type == "hash" and token.value not in names:
            return False
        after_dot = token.type == "literal" and token.value == "."
    return True


def split_at_commas(tokens: list) -> list[list]:
    parts: list[list] = [[]]
    for token in tokens:
        if token.type == "literal" and token.value == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def used_rules(rules: list, names: set[str]) -> str:
    """The rules that can match something, without comments."""
    kept = []
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = [s for s in split_at_commas(rule.prelude) if can_match(s, names)]
            if selectors:
                head = ",".join(tinycss2.serialize(selector).strip() for selector in selectors)
                kept.append(f"{head}{{{tinycss2.serialize(rule.content).strip()}}}")
        elif rule.type == "at-rule" and rule.at_keyword in {
            "media",
            "supports",
            "layer",
            "container",
        }:
            inner = tinycss2.parse_rule_list(
                rule.content or [], skip_comments=True, skip_whitespace=True
            )
            body = used_rules(inner, names)
            if body:
                kept.append(f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{body}}}")
        elif rule.type == "at-rule" and rule.at_keyword != "charset":
            kept.append(rule.serialize())
    return "\n".join(kept)


def read_sheet(sheet: Path, folder: Path) -> str:
    """A sheet with what it imports, its addresses as seen from `folder`."""

    def moved(found: re.Match) -> str:
        address = found.group(2)
        if address.startswith(("data:", "#", "/")) or "//" in address:
            return found.group(0)
        path, mark, rest = re.fullmatch(r"([^?#]*)([?#]?)(.*)", address).groups()
        place = Path(os.path.relpath(sheet.parent / path, folder)).as_posix()
        return f"url({found.group(1)}{place}{mark}{rest}{found.group(1)})"

    def imported(found: re.Match) -> str:
        return read_sheet(Path(os.path.normpath(sheet.parent / found.group(1))), folder)

    css = re.sub(r"/\*.*?\*/", "", sheet.read_text(encoding="utf-8"), flags=re.S)
    css = re.sub(r"url\(\s*([\"']?)([^\"')]+)\1\s*\)", moved, css)
    return re.sub(r"@import\s+[\"']([^\"']+)[\"']\s*;", imported, css)


def one_sheet(sheets: Iterable[Path], folder: Path, names: set[str]) -> str:
    """The used rules of the sheets, in their order, as one sheet that lies in `folder`."""
    css = "\n".join(read_sheet(sheet, folder) for sheet in sheets)
    rules = tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True)
    # The icons in use are all of one set; the theme names fonts for the others too.
    return re.sub(
        r"@font-face\s*\{[^}]*webfonts/(?!fa-solid)[^}]*\}\n?", "", used_rules(rules, names)
    )


# --- icons --------------------------------------------------------------------------------------


def icons_in(css: str) -> set[int]:
    """The icons a sheet names: characters of the private area, written as escapes."""
    codes = {int(code, 16) for code in re.findall(r"\\([0-9a-fA-F]{2,6})\b", css)}
    codes |= {ord(sign) for sign in css}
    return {code for code in codes if 0xE000 <= code <= 0xF8FF}


def write_icons(target: Path, codes: set[int]) -> None:
    """The theme's icon font with these icons alone."""
    theme = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme"
    options = subset.Options(flavor="woff2", hinting=False, layout_features=[])
    with subset.load_font(str(theme / ICONS.replace("_static", "static")), options) as font:
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=codes)
        subsetter.subset(font)
        subset.save_font(font, str(target), options)


# --- pages --------------------------------------------------------------------------------------


def is_served(script: str, html: str) -> bool:
    name = Path(urlsplit(script).path).name
    words = SERVES.get(name, "")
    return words is not None and words in html


def with_deferred_scripts(html: str) -> str:
    """Only the scripts that the page has a use for, each once the page is read."""

    def kept(found: re.Match) -> str:
        tag = found.group(0)
        if not is_served(found.group(1), html):
            return ""
        if re.search(r"\b(defer|async|type=\"module\")", tag):
            return tag
        return tag.replace("<script ", "<script defer ", 1)

    return INLINE.sub("", _PRELOAD.sub("", _SCRIPT.sub(kept, html)))


def with_sized_images(html: str, page: Path) -> str:
    """Images that hold their place before they arrive, and are fetched when they come near."""

    def sized(found: re.Match) -> str:
        tag, file = found.group(0), loaded_file(page, found.group(1))
        if not file.is_file() or "width=" in tag:
            return tag
        width, height = imagesize.get(file)
        size = f' width="{width}" height="{height}"' if width > 0 else ""
        lazy = "" if "loading=" in tag else ' loading="lazy"'
        return f"{tag}{size}{lazy}"

    return _IMAGE.sub(sized, html)


def with_one_sheet(html: str, page: Path, root: Path) -> str:
    """The first link to a sheet becomes the link to the one sheet, the others go."""
    address = Path(os.path.relpath(root / SHEET, page.parent)).as_posix()
    links = iter([f'  <link rel="stylesheet" href="{address}">\n'])
    return _SHEET_LINK.sub(lambda _: next(links, ""), html)


def parts_of(sheet: Path, root: Path) -> list[Path]:
    """The sheets that the one sheet of the last build was made of."""
    if not sheet.is_file():
        return []
    with sheet.open(encoding="utf-8") as lines:
        parts = [root / part for part in next(lines).strip("/* \n").split()]
    return [part for part in parts if part.is_file()]


def shed(root: Path) -> None:
    """Cut the built site down to what its pages use."""
    pages = {
        path: with_deferred_scripts(path.read_text(encoding="utf-8")) for path in html_pages(root)
    }
    # A page of an earlier build has the one sheet already, whose first line names its parts.
    sheets = dict.fromkeys(parts_of(root / SHEET, root))
    scripts: dict[Path, None] = {}
    for path, html in pages.items():
        links = [attribute(tag, "href") for tag in _SHEET_LINK.findall(html)]
        sheets.update((loaded_file(path, link), None) for link in links)
        own = (link for link in _SCRIPT.findall(html) if not urlsplit(link).netloc)
        scripts.update((loaded_file(path, link), None) for link in own)
    sheets.pop(root / SHEET, None)
    sources = [
        script.read_text(encoding="utf-8") for script in scripts if script.name != "searchindex.js"
    ]
    css = one_sheet(sheets, (root / SHEET).parent, names_in_use(pages.values(), sources))
    parts = " ".join(sheet.relative_to(root).as_posix() for sheet in sheets)
    css = f"/* {parts} */\n{css}"
    (root / SHEET).write_text(css, encoding="utf-8")
    write_icons(root / ICONS, icons_in(css))
    for path, html in pages.items():
        html = with_sized_images(with_one_sheet(html, path, root), path)
        path.write_text(html, encoding="utf-8")
    theme = root / THEME_SCRIPT
    theme.write_text(SCROLL_MEASURE.sub("", theme.read_text(encoding="utf-8")), encoding="utf-8")
    for pattern in UNUSED_FILES:
        for file in (root / "_static").glob(pattern):
            if file.is_file():
                file.unlink()


def shed_after_build(app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        shed(Path(app.outdir))


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("build-finished", shed_after_build, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
