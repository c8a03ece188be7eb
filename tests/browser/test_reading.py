"""Pages are read to the end without scripts, and the course is walked with the keyboard alone."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from tests.browser.axe import violations
from tests.browser.visit import PHONE, WIDE, Visit
from tools.build_site import toc_pages

PAGES = toc_pages()
CHAPTER = "notebooks/02-softmax"
SOLUTION = "book/solutions/02-softmax"
FOCUSED = "document.activeElement"


@pytest.mark.parametrize("page", PAGES)
def test_without_scripts_a_page_is_whole(browser, site, page):
    with Visit(browser, site, page, WIDE, java_script_enabled=False) as visit:
        found = visit.page.evaluate(
            """async () => {
                const all = (selector) => [...document.querySelectorAll(selector)];
                const shown = (e) => e.checkVisibility({ opacityProperty: true });
                const name = (e) => e.outerHTML.slice(0, 120);
                const pictures = await Promise.all(all('article img').map((img) => {
                    img.loading = 'eager';
                    return img.decode().then(() => [img.alt, img.naturalWidth], () => [img.src, 0]);
                }));
                return {
                    hidden: all('article :is(h1, h2, h3, p, li, pre, td, img, summary)')
                        .filter((e) => !shown(e) && !e.matches('summary p')).map(name),
                    silent: all('article :is(.math, math)')
                        .filter((e) => !e.textContent.trim() || !e.getBoundingClientRect().width)
                        .map(name),
                    pictures,
                    links: all('nav a, .prev-next-footer a').filter(shown).map((a) => a.href),
                };
            }"""
        )
        assert found["hidden"] == []
        assert found["silent"] == []
        assert all(len(alt) > 20 and width for alt, width in found["pictures"]), found["pictures"]
        missing = {f"{site}/{other}.html" for other in PAGES if other != page} - set(found["links"])
        assert missing == set()
        assert visit.errors == visit.foreign == []


def tab_until(visit: Visit, condition: str, at_most: int = 400) -> None:
    """Press Tab until the condition holds for the focused element."""
    for _ in range(at_most):
        visit.page.keyboard.press("Tab")
        if visit.page.evaluate(f"(() => {{ const it = {FOCUSED}; return {condition}; }})()"):
            return
    raise AssertionError(f"{at_most} presses of Tab do not lead to: {condition}")


def follow(visit: Visit, address: str) -> None:
    """From the top of a page: over the navigation, on to the link, through it."""
    visit.page.keyboard.press("Tab")
    skip = visit.page.locator(":focus")
    assert skip.inner_text() == "Skip to main content"
    assert skip.bounding_box()["y"] >= 0
    visit.page.keyboard.press("Enter")
    tab_until(visit, f"it.closest('main') && (it.getAttribute('href') ?? '').includes('{address}')")
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_url(f"**/{address}*")


def test_the_keyboard_leads_from_the_intro_to_a_chapter_and_to_its_solution(browser, site):
    with Visit(browser, site, "book/intro", WIDE) as visit:
        follow(visit, f"{CHAPTER}.html")
        follow(visit, f"{SOLUTION}.html#")
        heading = visit.page.locator(":target").bounding_box()
        assert 0 <= heading["y"] < WIDE["height"] / 2
        assert visit.errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_buttons_open_the_navigation_and_the_contents(browser, site, scheme):
    with Visit(browser, site, CHAPTER, PHONE, scheme) as visit:
        page, drawer = visit.page, visit.page.locator("dialog[open]")
        page.get_by_role("button", name="Toggle primary sidebar").click()
        assert drawer.get_by_role("link", name="1 · How alike? Dot products").is_visible()
        assert violations(page, "dialog[open]") == []
        page.keyboard.press("Escape")
        assert drawer.count() == 0

        page.get_by_role("button", name="Toggle secondary sidebar").click()
        assert violations(page, "dialog[open]") == []
        drawer.get_by_role("link", name="Key takeaways").click()
        assert drawer.count() == 0
        page.wait_for_timeout(100)
        heading = page.get_by_role("heading", name="Key takeaways").bounding_box()
        assert 0 < heading["y"] < PHONE["height"] / 2
        assert visit.errors == []


def test_on_a_laptop_the_same_button_hides_the_navigation_and_brings_it_back(browser, site):
    with Visit(browser, site, CHAPTER, WIDE) as visit:
        title = visit.page.locator(".bd-article h1")
        before = title.bounding_box()["x"]
        visit.page.get_by_role("button", name="Toggle primary sidebar").click()
        assert not visit.page.locator(".bd-sidebar-primary").is_visible()
        assert 16 <= title.bounding_box()["x"] < before
        visit.page.get_by_role("button", name="Toggle primary sidebar").click()
        assert visit.page.locator(".bd-sidebar-primary").is_visible()


def pixels(visit: Visit, box: dict) -> np.ndarray:
    picture = Image.open(io.BytesIO(visit.page.screenshot(clip=box))).convert("L")
    return np.asarray(picture, dtype=int)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", ["book/intro", CHAPTER])
def test_whatever_has_the_focus_is_on_the_screen_and_looks_so(browser, site, page, scheme):
    """Of each kind of thing that Tab stops at, one is looked at with and without the focus."""
    looked_at = set()
    with Visit(browser, site, page, WIDE, scheme) as visit:
        while True:
            visit.page.keyboard.press("Tab")
            kind, box = visit.page.evaluate(
                """() => {
                    const it = document.activeElement;
                    const shown = it.closest('label') ?? it.querySelector('img') ?? it;
                    const { left, top, right, bottom } = shown.getBoundingClientRect();
                    const x = Math.max(left - 6, 0), y = Math.max(top - 6, 0);
                    const width = Math.min(right + 6, innerWidth) - x;
                    const height = Math.min(bottom + 6, innerHeight) - y;
                    return [`${it.tagName} ${it.classList}`, { x, y, width, height }];
                }"""
            )
            if kind.startswith("BODY"):
                break
            assert min(box["width"], box["height"]) > 12, f"{kind} is not on the screen"
            if kind not in looked_at:
                looked_at.add(kind)
                focused = pixels(visit, box)
                visit.page.evaluate("() => { window.it = document.activeElement; it.blur(); }")
                changed = (np.abs(pixels(visit, box) - focused) > 30).sum()
                visit.page.evaluate("it.focus({ preventScroll: true })")
                assert changed > box["width"] + box["height"], f"{kind} does not show the focus"
    assert len(looked_at) > 8
