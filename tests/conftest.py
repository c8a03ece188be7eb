"""A browser, and the built site served to it from this machine: one of each for all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.site_pages import built_site
from tools.local_browser import NoBrowserError, opened_browser
from tools.local_server import served


@pytest.fixture(scope="session")
def browser() -> Iterator:
    with ExitStack() as stack:
        try:
            browser = stack.enter_context(opened_browser())
        except NoBrowserError as error:
            without = pytest.fail if os.environ.get("CI") else pytest.skip
            without(str(error))
        yield browser


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    """The address of the built site."""
    with served(built_site()) as address:
        yield address
