"""The Chromium on this machine that opens the site: for tests, pictures and Lighthouse."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
HOW_TO_GET_ONE = (
    "No browser found, so the pages were not opened in one. To get one: "
    "`sudo apt install chromium` on Debian or Ubuntu, or `.venv/bin/playwright install "
    "chromium` anywhere; or set BROWSER_PATH to a Chrome or Chromium you have."
)
# Quiet, and no calls home.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
# A browser lays out the far parts of a long page when they come near. Who looks at all of a page
# at once adds this rule.
ALL_LAID_OUT = "section { content-visibility: visible !important; }"


class NoBrowserError(RuntimeError):
    """There is no Chromium on this machine."""


def find_browser(own: str = "") -> str:
    """The path of a Chromium: the one named, the system's, or Playwright's `own`."""
    for path in [os.environ.get("BROWSER_PATH"), *map(shutil.which, NAMES), own]:
        if path and Path(path).exists():
            return path
    raise NoBrowserError(HOW_TO_GET_ONE)


@contextmanager
def opened_browser() -> Iterator[Any]:
    """A browser without a window, closed at the end."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = find_browser(playwright.chromium.executable_path)
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()
