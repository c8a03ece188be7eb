"""The pages around the chapters: the map says what course.yml says, and nothing points nowhere."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from attnbook.exercises import grade, report
from tools.course import ROOT, Course
from tools.course_map import PAGES, paths, stale_pages, text_map, up_to_date
from tools.map_picture import LAYOUTS, MARKER, picture

BOOK = ROOT / "book"
COURSE = Course()
PRINT_ONLY = {"Firth 1957"}  # works that have no identifier


def read(name):
    return (BOOK / f"{name}.md").read_text(encoding="utf-8")


def headings(text):
    prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return re.findall(r"^#{1,3} (.+?)\s*$", prose, flags=re.M)


def entries(text):
    """Heading -> body, of the entries of a page with one `###` an entry."""
    parts = re.split(r"^### (.+)$", text, flags=re.M)
    bodies = [re.split(r"^## ", body, flags=re.M)[0] for body in parts[2::2]]
    return dict(zip(parts[1::2], bodies, strict=True))


# --- the map --------------------------------------------------------------------------------------


def test_the_pages_say_what_the_chapter_map_says():
    stale = [path.name for path in stale_pages()]
    assert stale == [], "run: python tools/course_map.py"


def test_the_map_in_words_names_every_chapter_with_its_promise():
    words = text_map(COURSE)
    assert words in read("intro")
    for chapter in COURSE.chapters:
        assert chapter.name in words
        assert chapter.promise in words
        assert (f"{chapter.slug}.ipynb" in words) == chapter.is_ready
    assert words.count("*(to come)*") == len(COURSE.chapters) - len(COURSE.ready) + (
        COURSE.map["capstone"]["status"] != "ready"
    )


class Links(HTMLParser):
    """Links of a drawing with the text inside each, and the text that is in no link."""

    def __init__(self):
        super().__init__()
        self.links, self.rest, self.open, self.hint = {}, "", None, False

    def handle_starttag(self, tag, attributes):
        if tag == "a":
            self.open = dict(attributes)["href"]
            self.links[self.open] = ""
        self.hint = self.hint or tag == "title"

    def handle_endtag(self, tag):
        self.open = None if tag == "a" else self.open
        self.hint = self.hint and tag != "title"

    def handle_data(self, text):
        if self.hint:
            return
        if self.open:
            self.links[self.open] += text
        else:
            self.rest += text


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_the_picture_links_the_ready_chapters_and_marks_the_others(layout):
    page = Links()
    page.feed(layout.draw(COURSE, lambda chapter: chapter.slug, ""))
    assert list(page.links) == [chapter.slug for chapter in COURSE.ready]
    for chapter in COURSE.ready:
        assert page.links[chapter.slug].startswith(f"{chapter.number} {chapter.title}")
    planned = [chapter for chapter in COURSE.chapters if not chapter.is_ready]
    for chapter in planned:
        assert f"{chapter.number} {chapter.title} to come" in page.rest
    for part in COURSE.map["parts"]:
        assert part["title"] in page.rest
    assert "Capstone" in page.rest


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_every_chapter_has_a_place_of_its_own_in_the_picture(layout):
    for part in COURSE.map["parts"]:
        places = [layout.places[c.number] for c in COURSE.chapters if c.part == part["number"]]
        assert len(set(places)) == len(places)
        assert max(column for column, _ in places) < layout.columns


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_titles_fit_their_cards(layout):
    room = (layout.card_height - 38) // (layout.font + 2) + 1
    for chapter in COURSE.chapters:
        assert len(layout.wrap(chapter.title)) <= room, chapter.title


def test_the_picture_stays_one_block_of_html_and_small():
    drawn = picture(COURSE, lambda chapter: f"../notebooks/{chapter.slug}.html")
    assert "\n" not in drawn
    assert len(drawn) < 30_000
    assert read("intro").count(MARKER) == 1


def test_a_chapter_that_becomes_ready_is_linked_everywhere():
    slug = next(chapter.slug for chapter in COURSE.chapters if not chapter.is_ready)
    number = COURSE.chapter(slug).number
    later = Course()
    later.chapters = [
        type(c)(**{**vars(c), "status": "ready" if c.slug == slug else c.status})
        for c in COURSE.chapters
    ]
    before = f"See chapter {number} (to come) and [chapter 2](../notebooks/02-softmax.ipynb)."
    after = up_to_date(before, later)
    assert after.startswith(f"See [chapter {number}](../notebooks/{slug}.ipynb) and [chapter 2]")
    assert up_to_date(after, later) == after
    assert up_to_date(after, COURSE) == before


def test_no_page_links_a_chapter_to_come():
    ready = {chapter.slug for chapter in COURSE.ready}
    for name in PAGES:
        linked = set(re.findall(r"\.\./notebooks/([\w-]+)\.ipynb", read(name)))
        assert linked <= ready, name


def test_a_path_holds_whatever_its_chapters_build_on():
    for path in COURSE.map["paths"]:
        slugs = {chapter.slug for chapter in COURSE.chapters if chapter.number in path["chapters"]}
        for chapter in COURSE.chapters:
            if chapter.slug in slugs:
                assert set(chapter.prerequisites) <= slugs, (path["title"], chapter.slug)
        assert path["title"] in paths(COURSE)


def test_the_path_of_three_hours_takes_about_that_long_to_read():
    numbers = COURSE.map["paths"][0]["chapters"]
    minutes = sum(c.reading_minutes for c in COURSE.chapters if c.number in numbers)
    assert 150 <= minutes <= 210


def test_chapters_build_on_earlier_chapters_only():
    order = [chapter.slug for chapter in COURSE.chapters]
    assert [chapter.number for chapter in COURSE.chapters] == list(range(len(order)))
    for place, chapter in enumerate(COURSE.chapters):
        assert chapter.slug.startswith(f"{chapter.number:02d}-")
        assert set(chapter.prerequisites) <= set(order[:place])


# --- links and entries ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAGES)
def test_headings_of_a_page_are_unique(name):
    found = [heading.lower() for heading in headings(read(name))]
    assert len(found) == len(set(found))


@pytest.mark.parametrize("name", ["references", "glossary"])
def test_entries_stand_in_alphabetical_order(name):
    keys = [re.sub(r"\W+", " ", key).lower() for key in entries(read(name))]
    assert keys == sorted(keys)


def test_every_reference_says_where_to_find_the_work():
    for key, body in entries(read("references")).items():
        if key in PRINT_ONLY:
            continue
        identifiers = re.findall(
            r"https://arxiv\.org/abs/\d{4}\.\d{4,5}\)|https://doi\.org/10\.\d{4,}/\S+\)"
            r"|ISBN 97[89]\d{10}|<https://\S+>",
            body,
        )
        assert identifiers, key
        assert re.search(r"(19|20)\d\d", key), key


def test_an_isbn_has_the_right_check_digit():
    for page in ("references", "resources"):
        for isbn in re.findall(r"ISBN (\d{13})", read(page)):
            assert sum(int(d) * (1, 3)[n % 2] for n, d in enumerate(isbn)) % 10 == 0, isbn


def test_link_text_and_address_of_an_identifier_agree():
    text = read("references")
    pairs = re.findall(r"\[arXiv:(\S+?)\]\(https://arxiv\.org/abs/(\S+?)\)", text)
    pairs += re.findall(r"DOI \[(\S+?)\]\(https://doi\.org/(\S+?)\)", text)
    assert len(pairs) > 50
    assert all(shown == target for shown, target in pairs)


@pytest.mark.parametrize(
    "path",
    sorted([*BOOK.glob("*.md"), *BOOK.glob("chapters/*.md"), *BOOK.glob("solutions/*.md")]),
    ids=lambda path: path.stem,
)
def test_links_to_the_book_pages_lead_to_a_heading(path):
    text = path.read_text(encoding="utf-8")
    for page, anchor in re.findall(r"\]\((?:\.\./book/|\.\./)?([\w-]+)\.md(?:#([^)\s]+))?\)", text):
        if page not in PAGES:
            continue
        anchors = {heading.replace(" ", "-") for heading in headings(read(page))}
        assert not anchor or anchor in anchors, f"{page}.md#{anchor}"


# --- what the pages show --------------------------------------------------------------------------


def naive_softmax(scores, axis=-1):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def right_softmax(scores, axis=-1):
    scores = np.asarray(scores, dtype=np.result_type(scores, np.float16))
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@pytest.mark.parametrize(
    "candidate", [..., naive_softmax, right_softmax], ids=["untried", "naive", "right"]
)
def test_the_verdicts_shown_are_what_a_check_says(candidate):
    outcome = grade("softmax", candidate)
    said = report.text(outcome, handed_back=outcome.status != "passed")
    shown = re.findall(r"^```text\n(.*?)^```", read("how-to-use"), flags=re.M | re.S)
    assert " ".join(said.split()) in [" ".join(block.split()) for block in shown], said


def test_without_make_the_course_is_installed_as_the_readme_says():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (commands,) = re.findall(r"^```text\n(py -3 .*?)^```", read("how-to-use"), flags=re.M | re.S)
    assert len(commands.splitlines()) == 3
    for command in commands.splitlines():
        assert f"\n{command}\n" in readme


def test_the_answers_of_the_self_test_are_right(capsys):
    text = read("intro")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S)
    names = {"np": np}
    for block in blocks:
        exec(block, names)
    assert capsys.readouterr().out.strip() == "(2, 3) [5 7 9]"
    assert "`(2, 3) [5 7 9]`" in text
    assert str(names["a"]) == "[2 4]"
    assert (np.ones((4, 3)) @ np.ones((3, 2))).shape == (4, 2)
    assert np.dot([1, 2, 0], [3, -1, 5]) == 1
    assert np.exp(-2) > np.exp(-3) > 0
