"""The built site is whole: every page, every link, nothing from elsewhere, nothing executed."""

import os
import re
import subprocess
import sys
from html import unescape

import pytest
import yaml

from attnbook import __version__
from tests.site_pages import broken_links, built_site, read
from tools.build_site import ROOT, is_stale, missing_pages, toc_pages
from tools.course import Course
from tools.site_headers import other_hosts
from tools.social_card import CARD
from tools.sphinx_course import WITHHELD, heading_anchor, withheld

CHAPTERS = [page for page in toc_pages() if page.startswith("notebooks/")]
SOLUTIONS = [page for page in toc_pages() if page.startswith("book/solutions/")]

CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
SITE_ADDRESS = CONFIG["html"]["baseurl"]


@pytest.fixture(scope="module")
def html():
    return built_site()


@pytest.fixture(scope="module")
def closed_site(tmp_path_factory):
    """The site without solutions, built where starting a kernel leaves a mark."""
    folder = tmp_path_factory.mktemp("site")
    trap = folder / "trap"
    trap.mkdir()
    (trap / "ipykernel_launcher.py").write_text(
        f"open({str(folder / 'kernel-started')!r}, 'w').close()\nraise SystemExit('no kernel')\n"
    )
    env = {**os.environ, "SOLUTIONS": "no", "PYTHONPATH": str(trap)}
    command = [sys.executable, "tools/build_site.py", "--output", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_of_the_toc_is_built(html):
    assert missing_pages(html) == []


def test_a_page_missing_from_the_built_site_is_noticed(tmp_path):
    assert missing_pages(tmp_path) == toc_pages()


def test_every_internal_link_and_anchor_resolves(html):
    assert broken_links(html) == []


def test_a_new_style_sheet_makes_the_last_build_stale(tmp_path):
    (tmp_path / "book" / "_static").mkdir(parents=True)
    sheet = tmp_path / "book" / "_static" / "course.css"
    sheet.touch()
    (tmp_path / "html").mkdir()
    index = tmp_path / "html" / "index.html"
    index.touch()
    os.utime(sheet, (1, 1))
    assert not is_stale(index.parent, tmp_path)
    os.utime(sheet, (index.stat().st_mtime + 1, index.stat().st_mtime + 1))
    assert is_stale(index.parent, tmp_path)


def test_a_broken_link_and_a_broken_anchor_are_noticed(tmp_path):
    (tmp_path / "a.html").write_text('<h1 id="Top">A</h1><a href="a.html#Top"></a>')
    (tmp_path / "b.html").write_text('<a href="a.html#Bottom"></a><img src="none.png">')
    broken = broken_links(tmp_path)
    assert broken == [
        "b.html: a.html#Bottom (no such anchor)",
        "b.html: none.png (no such file)",
    ]


def test_no_page_loads_anything_from_another_host(html):
    allowed = tuple(f"{host}/" for host in other_hosts())  # by the operator of this copy
    for page in toc_pages():
        foreign = [f for f in read(html / f"{page}.html").loads if re.match(r"(https?:)?//", f)]
        assert [address for address in foreign if not address.startswith(allowed)] == [], page


def test_the_toc_follows_the_chapter_map():
    book = yaml.safe_load((ROOT / "book/course.yml").read_text(encoding="utf-8"))
    ready = [c["slug"] for c in book["chapters"] if c["status"] == "ready"]
    assert [f"notebooks/{slug}" for slug in ready] == CHAPTERS
    assert [f"book/solutions/{slug}" for slug in ready] == SOLUTIONS


def test_the_toc_names_chapters_by_number_and_title():
    book = yaml.safe_load((ROOT / "book/course.yml").read_text(encoding="utf-8"))
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    named = {e["file"]: e.get("title") for part in toc["parts"] for e in part["chapters"]}
    for chapter in book["chapters"]:
        if chapter["status"] == "ready":
            title = f"{chapter['number']} · {chapter['title']}"
            assert named[f"notebooks/{chapter['slug']}"] == title


def test_chapters_stand_under_their_part_of_the_chapter_map():
    book = yaml.safe_load((ROOT / "book/course.yml").read_text(encoding="utf-8"))
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    captions = {
        entry["file"]: part["caption"] for part in toc["parts"] for entry in part["chapters"]
    }
    titles = {part["number"]: part["title"] for part in book["parts"]}
    for chapter in book["chapters"]:
        if chapter["status"] == "ready":
            assert titles[chapter["part"]] in captions[f"notebooks/{chapter['slug']}"]


@pytest.mark.xdist_group("closed site")
def test_building_starts_no_kernel(closed_site):
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    assert config["execute"]["execute_notebooks"] == "off"
    assert not (closed_site / "kernel-started").exists()


@pytest.mark.xdist_group("closed site")
def test_withheld_solutions_appear_nowhere_on_the_site(html, closed_site):
    closed = closed_site / "_build" / "html"
    assert missing_pages(closed) == []
    assert broken_links(closed) == []
    for page in SOLUTIONS:
        answers = [code for code in read(html / f"{page}.html").code if code.strip()]
        assert answers, f"{page} shows no solution"
        text = (closed / f"{page}.html").read_text(encoding="utf-8")
        assert WITHHELD in text
        assert read(closed / f"{page}.html").code == []
        source = (closed / "_sources" / f"{page}.md").read_text(encoding="utf-8")
        assert source == withheld((ROOT / f"{page}.md").read_text(encoding="utf-8"))


def test_a_withheld_page_keeps_its_headings_and_nothing_under_them():
    page = "# Solutions\n\nWords.\n\n## 2.1 · softmax\n\n```python\n# secret\n```\n\nMore words.\n"
    assert withheld(page) == f"# Solutions\n\n{WITHHELD}\n\n## 2.1 · softmax\n"


def test_heading_anchors_follow_the_rule_of_jupyterlab():
    assert heading_anchor("Exercise 2.1 · softmax: a `try`?") == "Exercise-2.1-·-softmax:-a-`try`?"


@pytest.mark.parametrize("page", toc_pages())
def test_every_picture_says_what_it_shows(html, page):
    text = (html / f"{page}.html").read_text(encoding="utf-8")
    for tag in re.findall(r"<img\b[^>]*>", text):
        alt = re.search(r'\balt="([^"]*)"', tag)
        assert alt, tag
        assert not re.match(r"(_images|\.\./_images)|.*\.png$", alt.group(1)), tag


# --- what stands around the text ------------------------------------------------------------------


def tag(page, name):
    """The content of the meta tag of that name."""
    found = re.search(rf'<meta (?:name|property)="{name}" content="([^"]*)">', page)
    return found and unescape(found[1])


@pytest.mark.parametrize("page", toc_pages())
def test_every_page_has_a_description_and_a_title_for_link_previews(html, page):
    text = (html / f"{page}.html").read_text(encoding="utf-8")
    about = tag(text, "description")
    assert 20 <= len(about) <= 161
    assert tag(text, "og:description") == about
    assert tag(text, "og:title")
    # what needs the address of the site is there where _config.yml has one
    assert bool(tag(text, "og:image")) == ('rel="canonical"' in text) == bool(SITE_ADDRESS)


def test_descriptions_of_chapters_are_their_promises(html):
    for chapter in Course().ready:
        text = (html / f"notebooks/{chapter.slug}.html").read_text(encoding="utf-8")
        told = re.sub("[‘’]", "'", tag(text, "description"))  # a page has its quotes curled
        assert told == chapter.promise
        assert chapter.name in tag(text, "og:title")


def test_every_chapter_has_its_strip(html):
    for chapter in Course().ready:
        text = (html / f"notebooks/{chapter.slug}.html").read_text(encoding="utf-8")
        strip = re.search(r'<div class="course-strip.*?</div>', text, flags=re.S)[0]
        words = unescape(re.sub("<[^>]+>", "", strip))
        assert f"Chapter {chapter.number} · Part" in words
        assert chapter.level in words
        assert f"{chapter.reading_minutes} minutes to read" in words
        assert f"needs {chapter.needs}" in words
        for slug in chapter.prerequisites:  # of chapters that can be read, all can be read before
            assert f'href="{slug}.html"' in strip
        assert 'href="../book/intro.html"' in strip
        download = re.search(r'href="([^"]*)" download', strip)[1]
        assert (html / "notebooks" / download).resolve().is_file()


def test_colab_is_linked_where_the_repository_has_an_address(html):
    address, _ = Course().repository
    for page in CHAPTERS:
        text = (html / f"{page}.html").read_text(encoding="utf-8")
        assert "Run it on your machine" in text
        assert ("colab.research.google.com" in text) == ("//github.com/" in address)


@pytest.mark.parametrize("page", toc_pages())
def test_every_page_ends_with_version_and_ways_on(html, page):
    text = (html / f"{page}.html").read_text(encoding="utf-8")
    footer = re.search(r'<div class="course-footer">.*?</div>', text, flags=re.S)[0]
    assert f"version {__version__}" in footer
    assert re.search(r'<time datetime="\d{4}-\d\d-\d\d">\d{1,2} [A-Z][a-z]+ \d{4}</time>', footer)
    ways = re.search(r'<nav class="page-ways".*?</nav>', text, flags=re.S)[0]
    assert ('class="way-map"' in ways) == (page != "book/intro")
    order = toc_pages()
    assert ('rel="prev"' in ways) == (page != order[0])
    assert ('rel="next"' in ways) == (page != order[-1])


def test_the_page_for_a_wrong_address_is_part_of_the_site(html):
    lost = html / "404.html"
    assert "noindex" in lost.read_text(encoding="utf-8")
    links = read(lost).links
    assert links == ["book/intro.html", *(f"{page}.html" for page in CHAPTERS)]


def test_the_card_for_link_previews_is_there(html):
    assert (html / "_static" / CARD).read_bytes().startswith(b"\x89PNG")
