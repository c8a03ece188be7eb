"""Take the README's two pictures: a page of the site, and a wrong answer being explained.

python tools/pictures.py      after `make book`; needs a browser, see tools/local_browser.py
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.kernel_environment import kernel_environment
from tools.local_browser import ALL_LAID_OUT, opened_browser
from tools.local_server import free_port

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "book" / "_static" / "img"
CHAPTER = "02-softmax"
WRONG = '''\
def softmax(scores, axis=-1):
    """Weights of the scores: positive, summing to one along the axis."""
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum()
'''


def save(png: bytes, name: str) -> None:
    """Write a picture in few colours, so that it stays small."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    path = TARGET / name
    picture.quantize(colors=128, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1024} KB")


def attempted_chapter(folder: Path) -> Path:
    """A copy of the chapter in which someone answered the first exercise wrongly."""
    notebook = nbformat.read(ROOT / "notebooks" / f"{CHAPTER}.ipynb", as_version=4)
    stub = next(cell for cell in notebook.cells if cell.id == "softmax")
    stub.source = WRONG.rstrip()
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute(env=kernel_environment())
    path = folder / f"{CHAPTER}.ipynb"
    nbformat.write(notebook, path)
    return path


@contextlib.contextmanager
def jupyterlab(folder: Path) -> Iterator[str]:
    """A JupyterLab of its own in `folder`, gone at the end."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1"]
    command += [f"--port={port}", "--IdentityProvider.token=", f"--ServerApp.root_dir={folder}"]
    command += ["--allow-root"]
    news = folder / "settings" / "@jupyterlab" / "apputils-extension"
    news.mkdir(parents=True)
    (news / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}')
    env = {**os.environ, "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings")}
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(command, cwd=folder, env=env, stdout=quiet, stderr=quiet)
    try:
        for _ in range(120):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{address}/api/status", timeout=2).close()
                break
            time.sleep(0.5)
        yield address
    finally:
        server.terminate()
        server.wait(timeout=20)


def picture_of_a_page(browser) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 860})
    page.goto((ROOT / "_build" / "html" / "notebooks" / f"{CHAPTER}.html").as_uri())
    page.add_style_tag(content=ALL_LAID_OUT)
    page.wait_for_timeout(500)
    page.evaluate(
        """() => {
            const cell = document.querySelectorAll('article .cell_output img')[1].closest('.cell');
            cell.querySelector('img').loading = 'eager';
            const top = cell.getBoundingClientRect().top + scrollY;
            scrollTo({ top: top - 170, behavior: 'instant' });
        }"""
    )
    page.wait_for_timeout(500)
    save(page.screenshot(), "page.png")


def picture_of_an_explanation(browser) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        name = attempted_chapter(folder).name
        with jupyterlab(folder) as address:
            page = browser.new_page(viewport={"width": 1100, "height": 2400})
            page.goto(f"{address}/lab/workspaces/picture/tree/{name}?reset")
            report = page.locator(".attn-report").first
            page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
            page.wait_for_timeout(3000)
            page.keyboard.press("Escape")
            cell = page.locator(".jp-CodeCell", has=report).first
            mine = "positive, summing to one along the axis"
            stub = page.locator(".jp-CodeCell", has_text=mine).first
            report.scroll_into_view_if_needed()
            for _ in range(3):  # cells above take their height only once they are drawn
                page.wait_for_timeout(700)
                stub.evaluate("cell => cell.scrollIntoView({ block: 'start' })")
            page.wait_for_timeout(500)
            top, end = stub.bounding_box(), cell.bounding_box()
            clip = {"x": top["x"], "y": top["y"] - 4, "width": top["width"]}
            clip["height"] = end["y"] + end["height"] - top["y"] + 8
            save(page.screenshot(clip=clip), "explained.png")


def main() -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    with opened_browser() as browser:
        picture_of_a_page(browser)
        picture_of_an_explanation(browser)


if __name__ == "__main__":
    main()
