"""The site as it is deployed: under /course/, with the headers of tools/site_headers.py."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.site_pages import built_site
from tools.build_site import toc_pages
from tools.local_server import Quiet, served
from tools.site_headers import lifetime, site_headers

PREFIX = "/course"
CHAPTER = "notebooks/02-softmax"
# One page of each kind; the others are visited by the tests that use what they have.
KINDS = ["book/glossary", "book/instructors/index", "book/solutions/02-softmax"]
LISTEN = """
window.violations = [];
addEventListener("securitypolicyviolation", (event) =>
  violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""


class Deployed(Quiet):
    """Answers below PREFIX only, as GitHub's project pages do, and with the site's headers."""

    always: dict[str, str]

    def translate_path(self, path: str) -> str:
        inside = path.startswith(f"{PREFIX}/")
        return super().translate_path(path[len(PREFIX) :] if inside else "/nothing-here")

    def send_error(self, code: int, *_: object) -> None:
        page = (Path(self.directory) / "404.html").read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def send_response(self, code: int, message: str | None = None) -> None:
        super().send_response(code, message)
        for name, value in self.always.items():
            self.send_header(name, value)
        if code < 400:
            self.send_header("Cache-Control", lifetime(self.path))


@pytest.fixture(scope="module")
def deployed():
    """The address of the built site's folder."""
    html = built_site()
    with served(html, type("Handler", (Deployed,), {"always": site_headers(html)})) as address:
        yield address + PREFIX


class Watched:
    """A tab in which everything that goes wrong is noted."""

    def __init__(self, browser, route=None) -> None:
        self.context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
        self.context.add_init_script(LISTEN)
        if route:
            self.context.route("**/*.html", route)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.page.on("console", lambda m: m.type == "error" and self.said.append(m.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("response", lambda r: r.status >= 400 and self.said.append(r.url))

    @property
    def wrong(self) -> list[str]:
        self.page.wait_for_load_state("load")
        self.page.wait_for_timeout(100)
        return self.said + self.page.evaluate("violations")

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()


def article(page: str) -> str:
    text = (built_site() / f"{page}.html").read_text(encoding="utf-8")
    return text.split("<article", 1)[1].split("</article>")[0]


def show(tab: Watched, address: str):
    tab.page.goto(address, wait_until="load")
    tab.page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    return tab.page


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_works_under_the_policy_and_under_a_prefix(browser, deployed, kind):
    with Watched(browser) as tab:
        page = show(tab, f"{deployed}/{kind}.html")
        assert page.locator("article h1").count() == 1
        assert tab.wrong == []


def test_pages_with_scripts_of_their_own_work_under_the_policy(browser, deployed):
    """Figures that move, and whatever else a cell's output brings along."""
    own = [page for page in toc_pages() if "<script" in article(page)]
    for name in own:
        with Watched(browser) as tab:
            show(tab, f"{deployed}/{name}.html")
            assert tab.wrong == [], name


def test_a_script_that_the_policy_does_not_name_is_noticed(browser, deployed):
    def add_script(route):
        answer = route.fetch()
        body = answer.text().replace("</body>", "<script>window.strange = 1</script></body>")
        route.fulfill(response=answer, body=body)

    with Watched(browser, add_script) as tab:
        page = show(tab, f"{deployed}/book/intro.html")
        assert any("script-src" in what for what in tab.wrong)
        assert page.evaluate("window.strange") is None


def test_a_handler_in_an_attribute_would_not_run(browser, deployed):
    with Watched(browser) as tab:
        page = show(tab, f"{deployed}/book/intro.html")
        page.evaluate("document.body.setAttribute('onclick', 'window.strange = 1')")
        page.evaluate("document.body.click()")
        assert page.evaluate("window.strange") is None
        assert any("script-src-attr" in what for what in tab.wrong)


def test_what_a_reader_can_press_on_a_chapter_works_under_the_policy(browser, deployed):
    with Watched(browser) as tab:
        page = show(tab, f"{deployed}/{CHAPTER}.html")
        modes = set()
        for _ in range(3):
            page.locator(".theme-switch-button:visible").first.click()
            modes.add(page.evaluate("document.documentElement.dataset.mode"))
        assert modes == {"light", "dark", "auto"}

        code = page.locator("div.highlight:has(button.copybtn) pre:visible").first
        code.hover()
        code.locator("xpath=..").locator("button.copybtn").click()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.strip() == code.inner_text().strip()

        form = page.locator(".quiz-form").first
        form.locator(".quiz-choice").first.click()
        form.locator(".quiz-check").click()
        assert form.locator("xpath=..").locator(".quiz-said").first.inner_text().strip()
        assert tab.wrong == []


def test_the_search_works(browser, deployed):
    with Watched(browser) as tab:
        page = tab.page
        page.goto(f"{deployed}/search.html?q=softmax")
        page.wait_for_selector("#search-results li a", timeout=10_000)
        page.locator("#search-results li a").first.click()
        page.wait_for_url(re.compile(r"/course/(?!search)"))
        assert page.locator("article h1").count() == 1
        assert tab.wrong == []


def test_an_address_that_is_not_there_leads_back(browser, deployed):
    with Watched(browser) as tab:
        page = show(tab, f"{deployed}/notebooks/none.html")
        assert page.evaluate("violations") == []
        page.locator("main a").first.click()
        page.wait_for_url(f"{deployed}/book/intro.html")


def test_readers_reach_every_kind_of_page_by_links_under_a_prefix(browser, deployed):
    """From the address of the site itself, by what a reader would click."""
    with Watched(browser) as tab:
        page = tab.page
        page.goto(f"{deployed}/")
        page.wait_for_url("**/book/intro.html")
        seen = [page.url]
        for _ in range(2):
            page.locator("a[rel='next']").first.click()
            page.wait_for_load_state("load")
            seen.append(page.url)
        page.locator(".bd-sidebar-primary nav a[href*='glossary']").first.click()
        page.wait_for_url("**/glossary.html")
        seen.append(page.url)
        assert len(set(seen)) == len(seen)
        assert all(urlsplit(url).path.startswith(f"{PREFIX}/") for url in seen)
        assert tab.wrong == []
