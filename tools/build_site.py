"""Build the site into _build/html from the stored outputs; no notebook is executed.

python tools/build_site.py            SOLUTIONS=no in the environment withholds the solutions
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.fingerprint import fingerprint

ROOT = Path(__file__).resolve().parent.parent
# A change in one of these changes every page.
EVERYWHERE = ["_config.yml", "_toc.yml", "constraints.txt", "tools/sphinx_*.py"]
EVERYWHERE += ["book/_static/**/*", "book/_templates/**/*", "book/search*"]
# What stands at the address of the site itself: it leads on to the first page.
INDEX = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="0; url={front}">
<title>Self-attention, built and explained</title>
</head>
<body><main><a href="{front}">Self-attention, built and explained</a></main></body>
</html>
"""


def toc_pages(root: Path = ROOT) -> list[str]:
    """The pages of _toc.yml in order, without suffix."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))

    def walk(entry: dict) -> list[str]:
        here = [entry[key] for key in ("root", "file") if key in entry]
        inner = [e for key in ("parts", "chapters", "sections") for e in entry.get(key, [])]
        return here + [page for e in inner for page in walk(e)]

    return walk(toc)


def missing_pages(html: Path, root: Path = ROOT) -> list[str]:
    """Pages of the toc that the built site lacks."""
    return [page for page in toc_pages(root) if not (html / f"{page}.html").is_file()]


def is_stale(html: Path, root: Path = ROOT) -> bool:
    """True when the last build is too old to be built upon."""
    index = html / "index.html"
    if not index.exists():
        return True
    built = index.stat().st_mtime
    return any(path.stat().st_mtime > built for name in EVERYWHERE for path in root.glob(name))


_WARNING = re.compile(r"\b(WARNING|ERROR|CRITICAL)\b")


def build(root: Path = ROOT, output: Path | None = None, verbose: bool = False) -> Path:
    """Build, and return the folder of the site. Exits with the build's messages when it fails."""
    build_folder = (output or root) / "_build"
    html = build_folder / "html"
    if is_stale(html, root):
        forget(build_folder)
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()"]
    command += ["build", str(root), "--path-output", str(output or root)]
    command += ["-W", "-n", "--keep-going"]
    done = subprocess.run(
        command, cwd=root, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode or verbose:
        print(done.stdout)
    absent = [] if done.returncode else missing_pages(html, root)
    if done.returncode or absent:
        # The next build must meet the same warnings again.
        forget(build_folder)
        print(*(line for line in done.stdout.splitlines() if _WARNING.search(line)), sep="\n")
        print(*(f"missing from the built site: {page}" for page in absent), sep="\n")
        sys.exit("The site was not built: see the messages above.")
    front = toc_pages(root)[0]
    (html / "index.html").write_text(INDEX.format(front=f"{front}.html"), encoding="utf-8")
    fingerprint(html)
    return html


def forget(build_folder: Path) -> None:
    for name in ("html", ".doctrees"):
        shutil.rmtree(build_folder / name, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, help="build into this folder's _build/html")
    parser.add_argument("--verbose", action="store_true", help="show Sphinx's own messages")
    options = parser.parse_args()
    start = time.perf_counter()
    html = build(output=options.output, verbose=options.verbose)
    seconds = time.perf_counter() - start
    print(f"{len(toc_pages())} pages built in {seconds:.0f} s.")
    print(f"Open {(html / 'index.html').as_uri()}")


if __name__ == "__main__":
    main()
