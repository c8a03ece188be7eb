"""Two pages with the course's own configuration, theme and extensions: built in seconds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tools.build_site import ROOT

SHARED = ["attnbook", "tools", "book/_static", "book/_templates", "book/course.yml"]
TOC = "format: jb-book\nroot: book/intro\nchapters:\n  - file: book/more\n"


def write_small_book(root: Path, config: str) -> None:
    """Lay the book out in `root`, with `config` for _config.yml."""
    (root / "book").mkdir()
    for name in [*SHARED, *(f"book/{path.name}" for path in ROOT.glob("book/search*"))]:
        (root / name).symlink_to(ROOT / name)
    (root / "_config.yml").write_text(config, encoding="utf-8")
    (root / "_toc.yml").write_text(TOC, encoding="utf-8")
    for page in ("intro", "more"):
        (root / "book" / f"{page}.md").write_text(f"# The page {page}\n\nWords.\n", "utf-8")


def build_small_book(root: Path, **switches: str) -> subprocess.CompletedProcess[str]:
    """Build it into root/_build/html, with these switches in the environment."""
    script = (
        f"from pathlib import Path; from tools.build_site import build; build(Path({str(root)!r}))"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT), **switches}
    command = [sys.executable, "-c", script]
    return subprocess.run(command, cwd=root, env=env, capture_output=True, text=True)
