"""One progress bar for everything that takes long; silent where its output would only be litter."""

from __future__ import annotations

import os
import sys

from tqdm import tqdm

QUIET = "ATTNBOOK_QUIET"  # set by the pipeline and by nbval, which compare what a cell prints


def is_quiet() -> bool:
    return os.environ.get(QUIET, "") not in ("", "0")


def progress_bar(total: int | None = None, *, unit: str, done: int = 0, file=None) -> tqdm:
    """A bar from `done` to `total`, with the time that is left; call its update() and close().

    On standard output if no file is given: notebooks show standard error in red, like a fault.
    """
    return tqdm(total=total, initial=done, unit=unit, file=file or sys.stdout, disable=is_quiet())
