"""Every page in a real browser: no errors, no other hosts, accessible, fit for a phone."""

from __future__ import annotations

import pytest

from tests.browser.axe import violations
from tests.browser.visit import PHONE, WIDE, Visit
from tools.build_site import toc_pages

PAGES = toc_pages()
LOOKED_AT = [*PAGES, "search"]


@pytest.mark.parametrize("page", PAGES)
def test_page_opens_without_errors_and_without_other_hosts(browser, site, page):
    with Visit(browser, site, page, WIDE) as visit:
        assert visit.errors == []
        assert visit.foreign == []
        assert visit.page.locator("article h1").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", LOOKED_AT)
def test_axe_finds_nothing(browser, site, page, scheme):
    with Visit(browser, site, page, WIDE, scheme) as visit:
        assert visit.page.evaluate("document.documentElement.dataset.theme") == scheme
        assert violations(visit.page) == []


@pytest.mark.parametrize(
    ("fault", "rule"),
    [
        ("document.querySelectorAll('.nb')[9].style.color = '#ccc'", "color-contrast"),
        ("document.querySelectorAll('article p')[9].style.background = '#777'", "color-contrast"),
        ("document.querySelectorAll('article img')[1].removeAttribute('alt')", "image-alt"),
        ("document.querySelector('main').outerHTML += '<button></button>'", "button-name"),
    ],
)
def test_axe_finds_one_fault_on_a_long_page(browser, site, fault, rule):
    with Visit(browser, site, "notebooks/02-softmax", WIDE) as visit:
        visit.page.evaluate(f"{{ {fault}; }}")
        assert rule in "".join(violations(visit.page))


@pytest.mark.parametrize("page", LOOKED_AT)
def test_phone_does_not_scroll_sideways(browser, site, page):
    with Visit(browser, site, page, PHONE) as visit:
        over = visit.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        wide = visit.page.evaluate(
            """() => [...document.querySelectorAll('article *')]
                .filter((e) => e.getBoundingClientRect().right > innerWidth + 1
                    && !e.closest('[data-scrolls]') && !e.closest('annotation'))
                .map((e) => e.outerHTML.slice(0, 120)).slice(0, 5)"""
        )
        assert over <= 0
        assert wide == []


@pytest.mark.parametrize("page", [page for page in PAGES if "/0" in page or "/1" in page])
def test_code_does_not_scroll_sideways_on_a_laptop(browser, site, page):
    with Visit(browser, site, page, WIDE) as visit:
        code = visit.page.locator("article pre:not(.cell_output pre)")
        assert code.count() > 0
        longest = """e => e.filter((pre) => pre.scrollWidth > pre.clientWidth)
            .map((pre) => pre.textContent.split('\\n').sort((a, b) => b.length - a.length)[0])"""
        assert code.evaluate_all(longest) == []


@pytest.mark.parametrize("page", PAGES)
def test_figures_keep_their_proportions_on_a_phone(browser, site, page):
    with Visit(browser, site, page, PHONE) as visit:
        visit.page.evaluate(
            """() => Promise.all([...document.querySelectorAll('article img')].map((img) => {
                img.loading = 'eager';
                return img.decode();
            }))"""
        )
        stretched = visit.page.evaluate(
            """() => [...document.querySelectorAll('article img')].map((img) => {
                const style = getComputedStyle(img);
                const width = img.clientWidth - parseFloat(style.paddingLeft) * 2;
                const height = img.clientHeight - parseFloat(style.paddingTop) * 2;
                return width / height / (img.naturalWidth / img.naturalHeight);
            }).filter((ratio) => Math.abs(ratio - 1) > 0.02)"""
        )
        assert stretched == []


@pytest.mark.parametrize("page", LOOKED_AT)
def test_every_box_that_scrolls_can_be_reached_with_the_keyboard(browser, site, page):
    with Visit(browser, site, page, PHONE) as visit:
        unreachable = visit.page.evaluate(
            """() => [...document.querySelectorAll('article *')]
                .filter((e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0
                    && ['auto', 'scroll'].includes(getComputedStyle(e).overflowX)
                    && e.tabIndex < 0)
                .map((e) => e.outerHTML.slice(0, 120)).slice(0, 5)"""
        )
        assert unreachable == []


def test_formulas_are_set_without_scripts_in_the_font_of_the_site(browser, site):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    with page.expect_request_finished(lambda request: "maths.woff2" in request.url):
        page.goto(f"{site}/notebooks/02-softmax.html")
        page.locator("article math").first.scroll_into_view_if_needed()  # fonts load when needed
    root = page.locator("article math:visible", has=page.locator("msqrt")).first
    assert root.bounding_box()["height"] > 10
    assert page.locator("annotation:visible").count() == 0
    context.close()


def test_search_finds_a_word_of_the_first_chapter(browser, site):
    with Visit(browser, site, "search", WIDE) as visit:
        visit.page.goto(f"{site}/search.html?q=softmax")
        visit.page.wait_for_selector("#search-results li a", timeout=10_000)
        found = visit.page.locator("#search-results li a").all_inner_texts()
        assert any("softmax" in title.lower() for title in found)
        assert visit.errors == []


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_a_link_into_a_long_page_ends_at_its_heading(browser, site, viewport):
    """Sections far from the window have no height of their own until they come near."""
    context = browser.new_context(viewport=viewport, reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{site}/notebooks/09-multi-head-attention.html#quiz", wait_until="load")
    page.wait_for_timeout(500)
    top = page.evaluate("document.querySelector('#quiz h2').getBoundingClientRect().top")
    before = page.evaluate("document.querySelector('#quiz').previousElementSibling.clientHeight")
    context.close()
    assert 0 <= top <= viewport["height"] / 4
    assert before > 0


@pytest.mark.parametrize("heading", ["Only differences matter", "Quiz"])
def test_a_place_chosen_in_the_contents_is_shown_though_a_key_was_pressed(browser, site, heading):
    """With the first key all boxes are measured, of sections far from the window too."""
    context = browser.new_context(viewport=PHONE)
    page = context.new_page()
    page.goto(f"{site}/notebooks/02-softmax.html", wait_until="load")
    page.wait_for_timeout(500)
    page.keyboard.press("Shift")
    page.get_by_role("button", name="Toggle secondary sidebar").click()
    page.locator("dialog[open]").get_by_role("link", name=heading).click()
    page.wait_for_timeout(500)
    assert 0 <= page.get_by_role("heading", name=heading).bounding_box()["y"] <= 200
    context.close()
