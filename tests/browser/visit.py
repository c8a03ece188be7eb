"""A page of the built site, opened in a browser and looked at when it has settled."""

from __future__ import annotations

from tools.local_browser import ALL_LAID_OUT
from tools.site_headers import other_hosts

WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


class Visit:
    """One page, opened and settled, with what went wrong on the way."""

    def __init__(
        self, browser, site: str, page: str, viewport: dict, scheme: str = "light", **settings
    ):
        self.context = browser.new_context(
            viewport=viewport, color_scheme=scheme, reduced_motion="reduce", **settings
        )
        self.errors: list[str] = []
        self.foreign: list[str] = []
        self.page = self.context.new_page()
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("response", self._answered)
        self.context.route(lambda url: not url.startswith(site), self._blocked)
        self.page.goto(f"{site}/{page}.html", wait_until="load")
        self.lay_out_all()
        self.page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        self.page.keyboard.press("Shift")  # with the first key all boxes that scroll are made known
        # What fades in is pale at first: it is looked at when it has arrived.
        self.page.evaluate(
            """() => Promise.allSettled(document.getAnimations()
                .filter((one) => one.effect.getComputedTiming().endTime < Infinity)
                .map((one) => one.finished))"""
        )
        self.page.wait_for_timeout(100)

    def lay_out_all(self) -> None:
        self.page.evaluate(  # add_style_tag waits for ever where scripts are off
            """(rule) => document.head.append(
                Object.assign(document.createElement("style"), { textContent: rule }))""",
            ALL_LAID_OUT,
        )

    def reload(self) -> None:
        self.page.reload()
        self.lay_out_all()

    def _heard(self, message) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    def _answered(self, response) -> None:
        if response.status >= 400 and not response.url.endswith("/favicon.ico"):
            self.errors.append(f"{response.status} {response.url}")

    def _blocked(self, route) -> None:
        if route.request.url.startswith(tuple(f"{host}/" for host in other_hosts())):
            route.fulfill(body="")  # allowed by the operator of this copy, and not called by a test
            return
        self.foreign.append(route.request.url)
        route.abort()

    def __enter__(self) -> Visit:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()
