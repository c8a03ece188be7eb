"""A browser, and the built site served to it from this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.site_pages import built_site
from tools.local_server import served

NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
HOW_TO_GET_ONE = (
    "No browser found, so the pages were not tried in one. To get one: `sudo apt install chromium` "
    "on Debian or Ubuntu, or `.venv/bin/playwright install chromium` anywhere; or set "
    "BROWSER_PATH to a Chrome or Chromium you have."
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


def find_browser(playwright) -> str | None:
    """The path of a Chromium: the one named, the system's, or Playwright's own."""
    named = os.environ.get("BROWSER_PATH")
    own = playwright.chromium.executable_path
    for path in [named, *map(shutil.which, NAMES), own]:
        if path and Path(path).exists():
            return path
    return None


@pytest.fixture(scope="session")
def browser() -> Iterator:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = find_browser(playwright)
        if path is None and os.environ.get("CI"):
            pytest.fail(HOW_TO_GET_ONE)
        if path is None:
            pytest.skip(HOW_TO_GET_ONE)
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    """The address of the built site."""
    with served(built_site()) as address:
        yield address
