"""What stands around a page's text, made from values that can be followed by hand."""

import io
import subprocess
from datetime import date
from types import SimpleNamespace

import yaml
from docutils import nodes
from docutils.utils import new_document
from jinja2 import Environment, FileSystemLoader
from PIL import Image

from tests.site_pages import Page
from tools.build_site import ROOT, toc_pages
from tools.course import Course
from tools.course_map import address
from tools.social_card import HEIGHT, WIDTH, draw_card
from tools.sphinx_page import (
    DESCRIPTION_LENGTH,
    date_of_sources,
    description,
    dress_strip,
    lost_page,
    meta_tags,
    ways_to_get,
    with_number,
    written_date,
)
from tools.sphinx_search import PHRASES, add_phrases

GITHUB = ("https://github.com/someone/attention", "main")
ELSEWHERE = ("https://forge.example/someone/attention.git", "main")
NOWHERE = ("", "main")


def course_at(repository):
    course = Course()
    course.repository = repository
    return course


def app_for(docname, baseurl=""):
    env = SimpleNamespace(docname=docname, found_docs=toc_pages(), note_dependency=lambda _: None)
    return SimpleNamespace(srcdir=ROOT, env=env, config=SimpleNamespace(html_baseurl=baseurl))


# --- the ways to a chapter's notebook -------------------------------------------------------------


def test_without_an_address_the_file_and_what_running_it_takes_are_offered():
    ways = ways_to_get(course_at(NOWHERE), "notebooks/02-softmax")
    assert ways == [
        ("Download the notebook", "../_sources/notebooks/02-softmax.ipynb", " download"),
        ("Run it on your machine", "../book/how-to-use.html#Where-to-read-and-work", ""),
    ]


def test_with_an_address_a_chapter_can_be_run_here_and_in_colab():
    ways = {words: url for words, url, _ in ways_to_get(course_at(GITHUB), "notebooks/02-softmax")}
    assert ways["Open in Colab"] == (
        "https://colab.research.google.com/github/someone/attention/blob/main/"
        "notebooks/02-softmax.ipynb"
    )
    assert ways["Run it on your machine"].startswith("../book/how-to-use.html#")


def test_colab_is_not_offered_where_it_cannot_read():
    words = [way[0] for way in ways_to_get(course_at(ELSEWHERE), "notebooks/02-softmax")]
    assert words == ["Download the notebook", "Run it on your machine"]


def test_the_page_on_use_says_how_to_get_the_course():
    assert "git clone https://github.com/someone/attention\ncd attention\n" in address(
        course_at(GITHUB)
    )
    assert "Colab" in address(course_at(GITHUB))
    assert "cd attention\n" in address(course_at(ELSEWHERE))
    assert "Colab" not in address(course_at(ELSEWHERE))
    assert "clone" not in address(course_at(NOWHERE))
    for where in (GITHUB, ELSEWHERE, NOWHERE):
        assert address(course_at(where)).startswith("**The course's folder.**")


# --- the strip ------------------------------------------------------------------------------------


def test_the_strip_keeps_every_fact_and_link_of_the_two_lines():
    document = new_document("chapter")
    link = nodes.reference("", "Back to the map", refuri="../book/intro.md")
    document += nodes.paragraph(text="The promise.")
    bold = nodes.strong(text="Part I · Similarity and weights")
    # the parser leaves an empty text before what is bold
    document += nodes.paragraph(
        "", "", nodes.Text(""), bold, nodes.Text(" · beginner · needs NumPy")
    )
    document += nodes.paragraph("", "", nodes.Text("Read first: 1 · "), link)
    document += nodes.paragraph(text="The text.")
    dress_strip(app_for("notebooks/02-softmax"), document)
    strip = next(document.findall(nodes.container))
    assert strip["classes"] == ["course-strip"]
    assert strip[0].astext() == "Chapter 2 · Part I · Similarity and weights"
    assert [item.astext() for item in strip.findall(nodes.list_item)] == ["beginner", "needs NumPy"]
    assert strip[2].astext() == "Read first: 1 · Back to the map"
    assert link.parent is strip[2]
    assert [child.astext() for child in document if child is not strip] == [
        "The promise.",
        "The text.",
    ]


# --- what search engines and messengers show ------------------------------------------------------


def test_a_description_is_the_first_sentences_and_never_half_of_one():
    short = "One sentence. " + "A second one that is far too long to be shown. " * 5
    document = new_document("page")
    document += nodes.paragraph(text=short)
    shown = description(document)
    assert len(shown) <= DESCRIPTION_LENGTH
    assert shown.endswith("shown.")
    document = new_document("page")
    document += nodes.paragraph(text="words " * 60)
    assert description(document).endswith("words…")
    assert len(description(document)) <= DESCRIPTION_LENGTH + 1
    assert description(new_document("page")) == ""


def test_a_link_preview_has_a_picture_only_where_its_address_is_known():
    without = meta_tags("2 · Softmax", 'It\'s "about"', "", "notebooks/02-softmax")
    assert "og:image" not in without
    assert "og:url" not in without
    assert 'content="It&#x27;s &quot;about&quot;"' in without
    known = meta_tags("2 · Softmax", "About", "https://name.example/course", "notebooks/02-softmax")
    assert 'content="https://name.example/course/_static/social-card.png"' in known
    assert 'content="https://name.example/course/notebooks/02-softmax.html"' in known


def test_the_card_has_the_size_that_previews_want_and_is_drawn_the_same_each_time():
    first, second = io.BytesIO(), io.BytesIO()
    for file in (first, second):
        draw_card(file, "Self-attention, built and explained")
    assert first.getvalue() == second.getvalue()
    assert Image.open(first).size == (WIDTH, HEIGHT) == (1200, 630)
    assert len(first.getvalue()) < 100_000


# --- version and date -----------------------------------------------------------------------------


def test_the_date_is_that_of_the_sources(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert date_of_sources(ROOT).date() == date(2023, 11, 14)
    assert written_date("2023-11-04") == "4 November 2023"


def test_without_the_variable_the_date_is_that_of_the_last_commit(tmp_path, monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    commit = ["-c", "user.name=n", "-c", "user.email=e", "commit", "--allow-empty", "-qm", "m"]
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2021-03-05T12:00:00Z")
    for command in (["init", "-q"], commit):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    assert date_of_sources(tmp_path).date() == date(2021, 3, 5)
    inside = tmp_path / "unpacked"
    inside.mkdir()
    assert date_of_sources(inside) is None  # the repository around it is another one


def test_without_git_there_is_no_date(tmp_path, monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    assert date_of_sources(tmp_path) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert date_of_sources(ROOT) is None


def test_the_pages_before_and_after_are_named_as_on_the_map():
    course = Course()
    chapters = {f"notebooks/{chapter.slug}": chapter for chapter in course.ready}
    page = {"link": "../notebooks/02-softmax.html", "title": "From scores"}
    named = with_number(page, "book/how-to-use", chapters)
    assert named["title"] == course.chapter("02-softmax").name
    solution = {"link": "02-softmax.html", "title": "Solutions to chapter 2"}
    assert with_number(solution, "book/solutions/01-dot-products", chapters) == solution


# --- the page for a wrong address -----------------------------------------------------------------


def lost(baseurl):
    _, context, template = next(lost_page(app_for("", baseurl)))
    files = Environment(loader=FileSystemLoader(ROOT / "book" / "_templates"), autoescape=False)
    fixed = {"docstitle": "The course", "root_doc": "book/intro", "metatags": ""}
    return files.get_template(template).render(**fixed, **context)


def test_with_an_address_the_lost_page_needs_no_script():
    page = lost("https://name.example/course/")
    assert '<base href="/course/">' in page
    assert "<script" not in page
    assert '<base href="/">' in lost("https://name.example/")


def test_the_lost_page_without_an_address_looks_for_the_folders_of_the_site():
    page = lost("")
    assert "<base " not in page
    for folder in {page.split("/")[0] for page in toc_pages()}:
        assert f"{folder}|" in page or f"|{folder}" in page


def test_the_lost_page_loads_nothing_but_its_icon(tmp_path):
    (tmp_path / "404.html").write_text(lost(""), encoding="utf-8")
    assert Page(tmp_path / "404.html").loads == ["_static/favicon.svg"]


# --- what the search knows ------------------------------------------------------------------------


def test_phrases_belong_to_pages_of_the_site_and_to_one_each():
    phrases = yaml.safe_load((ROOT / PHRASES).read_text(encoding="utf-8"))
    chapters = {f"notebooks/{chapter.slug}" for chapter in Course().chapters}
    assert set(phrases) <= set(toc_pages()) | chapters
    assert chapters <= set(phrases)
    every = [phrase for of_page in phrases.values() for phrase in of_page]
    assert len(every) == len({phrase.lower() for phrase in every})


def test_a_phrase_enters_the_index_whole_and_word_by_word():
    document = new_document("chapter")
    add_phrases(app_for("notebooks/06-scaling"), document)
    (meta,) = document.findall(nodes.meta)
    assert meta["name"] == "keywords"
    assert {"why", "sqrt"} <= set(meta["content"].split(","))
    assert any("'why sqrt'" in str(node.get("entries")) for node in document)
