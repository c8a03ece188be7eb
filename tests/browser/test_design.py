"""The site in use: search, reading marks, a wrong address, paper, the dark, a line of prose."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
import yaml

from attnbook.figures import colours
from tests.browser.axe import violations
from tests.browser.visit import PHONE, WIDE, Visit
from tests.site_pages import built_site
from tools.build_site import ROOT, toc_pages
from tools.local_server import Quiet, served

CHAPTER = "notebooks/02-softmax"
PHRASES = yaml.safe_load((ROOT / "book" / "search.yml").read_text(encoding="utf-8"))
ASKED = {
    "why sqrt": "notebooks/06-scaling",
    "sqrt why": "notebooks/06-scaling",
    "why sqrt(d_k)": "notebooks/06-scaling",
    "why do you divide": "notebooks/06-scaling",
    "why divide by the square root": "notebooks/06-scaling",
    "mask the future": "notebooks/07-masks",
    "causal masks": "notebooks/07-masks",
    "attention weights sum to one": "notebooks/02-softmax",
    "weights sum one": "notebooks/02-softmax",
    "what are queries": "notebooks/05-queries-keys-values",
    "several heads": "notebooks/09-multi-head-attention",
}


# --- search ---------------------------------------------------------------------------------------


def found(page, query):
    """The pages that the search lists for a query, best first."""
    return page.evaluate(
        """(query) => {
            history.replaceState(null, "", "?q=" + encodeURIComponent(query));
            const results = Search._performSearch(...Search._parseQuery(query));
            return results.reverse().map(([docname]) => docname);
        }""",
        query,
    )


def test_the_search_finds_what_a_beginner_types(browser, site):
    phrases = [(phrase, page) for page, of_page in PHRASES.items() for phrase in of_page]
    asked = [(phrase, page) for phrase, page in phrases if page in toc_pages()] + [*ASKED.items()]
    with Visit(browser, site, "search", WIDE) as visit:
        visit.page.wait_for_function("Search.hasIndex()")
        missed = {}
        for phrase, page in asked:
            first = list(dict.fromkeys(found(visit.page, phrase)))[:2]
            if page not in first:
                missed[phrase] = first
        assert missed == {}
        assert found(visit.page, "zyzzyva") == []


def test_why_sqrt_leads_to_the_chapter_on_scaling(browser, site):
    with Visit(browser, site, "search", WIDE) as visit:
        visit.page.goto(f"{site}/search.html?q={quote('why sqrt')}")
        first = visit.page.wait_for_selector("#search-results li a", timeout=10_000)
        assert first.get_attribute("href").startswith("notebooks/06-scaling.html")
        assert visit.errors == []


def test_what_was_searched_for_is_marked_in_the_text_and_not_in_the_navigation(browser, site):
    with Visit(browser, site, "search", WIDE) as visit:
        visit.page.goto(f"{site}/search.html?q=softmax")
        visit.page.locator("#search-results a", has_text="From scores to weights").first.click()
        grounds = [
            visit.page.locator(f"{part} .highlighted").first.evaluate(
                "it => getComputedStyle(it).backgroundColor"
            )
            for part in ("article", ".bd-sidebar-primary")
        ]
        assert grounds[0] != grounds[1] == "rgba(0, 0, 0, 0)"


# --- reading marks --------------------------------------------------------------------------------


def test_a_chapter_marked_as_read_is_named_so_and_can_be_forgotten(browser, site):
    with Visit(browser, site, CHAPTER, WIDE) as visit:
        page, sent = visit.page, []
        here = page.locator(".bd-sidebar-primary li.current a")
        page.on("request", lambda request: sent.append(request.url))
        assert "read" not in here.inner_text()
        page.get_by_label("I have read chapter 2").check()
        assert here.inner_text().endswith("· read")
        assert sent == []
        page.reload()
        assert page.get_by_label("I have read chapter 2").is_checked()

        page.goto(f"{site}/book/intro.html")
        note = page.locator(".course-map-wide a.ready", has_text="2 From").locator(".note")
        assert note.text_content() == "read"
        told = page.locator("#reading-progress")
        assert told.inner_text().startswith("You have marked 1 of ")
        assert told.get_by_role("link").get_attribute("href").endswith("00-start-here.html")
        told.get_by_role("button", name="Forget my marks").click()
        assert told.count() == 0
        assert note.text_content() == "open"
        assert page.evaluate("localStorage.getItem('chapters-read')") is None
        assert visit.errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_a_map_with_marks(browser, site, scheme):
    with Visit(browser, site, CHAPTER, WIDE, scheme) as visit:
        visit.page.get_by_label("I have read chapter 2").check()
        visit.page.goto(f"{site}/book/intro.html")
        visit.page.wait_for_selector("#reading-progress")
        assert violations(visit.page) == []


def test_marks_that_cannot_be_read_or_kept_break_nothing(browser, site):
    with Visit(browser, site, CHAPTER, WIDE) as visit:
        visit.page.evaluate("localStorage.setItem('chapters-read', '{broken')")
        visit.reload()
        visit.page.evaluate("Storage.prototype.setItem = () => { throw new Error('full'); }; null")
        box = visit.page.get_by_label("I have read chapter 2")
        assert not box.is_checked()
        box.check()
        assert box.is_checked()
        assert visit.errors == []


def test_without_script_there_is_no_box_to_tick(browser, site):
    context = browser.new_context(java_script_enabled=False, viewport=WIDE)
    page = context.new_page()
    page.goto(f"{site}/{CHAPTER}.html")
    assert page.locator("#chapter-read").is_hidden()
    assert page.locator(".page-ways a").count() == 3
    context.close()


# --- a wrong address ------------------------------------------------------------------------------


class Hosted(Quiet):
    """The site at / and under /course/, as a project's site is; 404.html for what is missing."""

    def translate_path(self, path: str) -> str:
        return super().translate_path(path.removeprefix("/course"))

    def send_error(self, code: int, *_: object, **__: object) -> None:
        page = (built_site() / "404.html").read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(page)


@pytest.fixture(scope="module")
def hosted():
    with served(built_site(), Hosted) as address:
        yield address


@pytest.mark.parametrize(
    ("wrong", "root"),
    [
        ("/course/notebooks/99-nowhere.html", "/course/"),
        ("/course/book/solutions/deep/er/still.html", "/course/"),
        ("/course/_static/gone.css", "/course/"),
        ("/notebooks/99-nowhere.html", "/"),
        ("/nowhere", "/"),
    ],
)
def test_the_page_for_a_wrong_address_leads_back_at_any_depth(browser, hosted, wrong, root):
    context = browser.new_context(viewport=WIDE)
    page = context.new_page()
    assert page.goto(hosted + wrong).status == 404
    targets = page.eval_on_selector_all("a", "links => links.map((link) => link.href)")
    assert targets[0] == f"{hosted}{root}book/intro.html"
    assert all(context.request.get(target).status == 200 for target in targets)
    page.get_by_label("Search this book").fill("why sqrt")
    page.get_by_role("button", name="Search").click()
    first = page.wait_for_selector("#search-results li a", timeout=10_000)
    assert "06-scaling" in first.get_attribute("href")
    assert page.url.startswith(f"{hosted}{root}search.html")
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_for_a_wrong_address_is_accessible_and_fits_a_phone(browser, site, scheme):
    with Visit(browser, site, "404", PHONE, scheme) as visit:
        assert violations(visit.page) == []
        over = "document.documentElement.scrollWidth - innerWidth"
        assert visit.page.evaluate(over) <= 0
        assert visit.errors == visit.foreign == []


# --- paper and the dark ---------------------------------------------------------------------------


@pytest.mark.parametrize("page", [CHAPTER, "notebooks/09-multi-head-attention", "book/intro"])
def test_paper_holds_all_of_the_text_and_no_navigation(browser, site, page):
    paper = {"width": 673, "height": 986}  # an A4 page within its margins
    with Visit(browser, site, page, paper, "dark") as visit:
        visit.page.evaluate(
            "for (const part of document.querySelectorAll('details')) part.open = false"
        )
        visit.page.emulate_media(media="print")
        visit.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        shown = visit.page.evaluate(
            """() => ({
                closed: document.querySelectorAll('article details:not([open])').length,
                cut: [...document.querySelectorAll('article pre, article table, article img')]
                    .filter((e) => e.scrollWidth > e.clientWidth + 1
                        || e.getBoundingClientRect().right > innerWidth + 1)
                    .map((e) => e.outerHTML.slice(0, 80)),
                navigation: [...document.querySelectorAll(
                    '.bd-sidebar-primary, .bd-sidebar-secondary, .page-ways, .read-mark, button')]
                    .filter((e) => e.checkVisibility()).map((e) => e.className),
                ground: getComputedStyle(document.body).backgroundColor,
                ink: getComputedStyle(document.querySelector('article p')).color,
            })"""
        )
        assert shown["closed"] == 0
        assert shown["cut"] == []
        assert shown["navigation"] == []
        assert shown["ground"] == "rgb(255, 255, 255)"
        assert max(map(int, re.findall(r"\d+", shown["ink"]))) < 90
        visit.page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert visit.page.locator("article details[open]").count() == 0
        assert visit.page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_figures_stay_on_paper_in_the_dark_and_their_colours_legible(browser, site):
    with Visit(browser, site, CHAPTER, WIDE, "dark") as visit:
        style = visit.page.evaluate(
            """() => { const { filter, backgroundColor } =
                getComputedStyle(document.querySelector('.cell_output img'));
                return [filter, backgroundColor]; }"""
        )
    assert style[1] == "rgb(255, 255, 255)"
    dimmed = float(re.fullmatch(r"brightness\(([\d.]+)\)", style[0])[1])
    roles = [colours.QUERY, colours.KEY, colours.VALUE, colours.WEIGHT, colours.MASK, colours.INK]
    for colour in roles:
        rgb = [dimmed * int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        assert colours.contrast(rgb, [dimmed] * 3) >= 4.5, colour


# --- reading --------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [CHAPTER, "book/intro", "book/faq"])
def test_a_line_of_prose_holds_about_seventy_letters(browser, site, page):
    with Visit(browser, site, page, {"width": 1600, "height": 900}) as visit:
        letters = visit.page.evaluate(
            """() => [...document.querySelectorAll('article section > p')]
                .filter((p) => p.innerText.length > 300 && !p.querySelector('math'))
                .map((p) => p.innerText.length
                    / Math.round(p.clientHeight / parseFloat(getComputedStyle(p).lineHeight)))"""
        )
        assert letters
        assert max(letters) <= 82


def test_a_quiz_is_as_wide_as_prose(browser, site):
    with Visit(browser, site, CHAPTER, WIDE) as visit:
        paragraphs = visit.page.locator("article section > p").all()
        prose = max(paragraph.bounding_box()["width"] for paragraph in paragraphs)
        for part in (".quiz-choice", ".quiz-score"):
            assert visit.page.locator(part).first.bounding_box()["width"] == prose, part
