"""Make the notebooks from their sources: book/chapters/NN-name.md -> notebooks/NN-name.ipynb.

python tools/notebooks.py             every chapter; only those whose code changed are run
python tools/notebooks.py 02 07       these chapters
python tools/notebooks.py --force     run them even if their code is the same (attnbook changed)
python tools/notebooks.py --check     run and write nothing; say what differs from the sources
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, NbvalKernelspecManager

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.cells import code_cells
from tools.convert import convert
from tools.course import ROOT, Course
from tools.kernel_environment import kernel_environment
from tools.markers import SourceError
from tools.notebook_lint import problems

CELL_TIMEOUT = 600  # seconds


class CellFailed(Exception):
    """A cell raised; the text names the chapter, the cell and the error."""


def canonical(notebook: NotebookNode) -> str:
    """The one way a notebook is written."""
    return nbformat.writes(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def read(path: Path) -> NotebookNode | None:
    return nbformat.read(path, as_version=4) if path.is_file() else None


def keep_outputs(fresh: NotebookNode, stored: NotebookNode | None) -> bool:
    """Take over the stored outputs; False when the code is not the code that made them."""
    if stored is None:
        return False
    new, old = code_cells(fresh), code_cells(stored)
    if [cell.source for cell in new] != [cell.source for cell in old]:
        return False
    if any(cell.execution_count is None for cell in old):
        return False
    for cell, before in zip(new, old, strict=True):
        cell.execution_count, cell.outputs = before.execution_count, before.outputs
    return True


def execute(notebook: NotebookNode, name: str, folder: Path, timeout: int = CELL_TIMEOUT) -> None:
    """Run the notebook in `folder` with this Python, and fill in its outputs."""
    total = len(notebook.cells)

    def tell(cell: NotebookNode, cell_index: int, **_: object) -> None:
        if cell.cell_type == "code":
            progress(f"{name}: cell {cell_index + 1} of {total}, {cell.id}")

    kernel = AsyncKernelManager(
        kernel_name=CURRENT_ENV_KERNEL_NAME, kernel_spec_manager=NbvalKernelspecManager()
    )
    client = NotebookClient(
        notebook,
        km=kernel,
        timeout=timeout,
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(folder)}},
        on_cell_start=tell,
    )
    try:
        client.execute(cleanup_kc=True, env=kernel_environment(), stderr=subprocess.DEVNULL)
    except CellExecutionError as error:
        cell = next(cell for cell in notebook.cells if has_error(cell))
        words = f"{error.ename}: {error.evalue}"
        raise CellFailed(f"{name}: cell {cell.id} raised {words}\n\n{cell.source}") from None
    except (CellTimeoutError, DeadKernelError) as error:
        raise CellFailed(f"{name}: {error}") from None
    finally:
        progress("")
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"].pop("version", None)


def has_error(cell: NotebookNode) -> bool:
    return any(output.output_type == "error" for output in cell.get("outputs", []))


def progress(line: str) -> None:
    """One line that is overwritten on a terminal; lines one below the other elsewhere."""
    if sys.stdout.isatty():
        print(f"\r\x1b[K{line}", end="", flush=True)
    elif line:
        print(line, flush=True)


def make(slug: str, course: Course, force: bool = False) -> str:
    """Write one notebook, run if need be, and return what was done in a few words."""
    fresh, path = convert(slug, course), course.notebook(slug)
    done = "code unchanged, outputs kept"
    if force or not keep_outputs(fresh, read(path)):
        metadata = nbformat.from_dict(dict(fresh.metadata))
        start = time.perf_counter()
        path.parent.mkdir(exist_ok=True)
        execute(fresh, slug, path.parent)
        fresh.metadata = metadata
        done = f"run in {time.perf_counter() - start:.1f} s"
    text = canonical(fresh)
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return f"{done}, nothing to write"
    path.write_text(text, encoding="utf-8", newline="\n")
    return done


def drift(slug: str, course: Course) -> list[str]:
    """How the committed notebook differs from what its source gives, outputs aside."""
    fresh, stored = convert(slug, course), read(course.notebook(slug))
    if stored is None:
        return [f"notebooks/{slug}.ipynb is missing"]
    found = []
    names = [[cell.id for cell in notebook.cells] for notebook in (fresh, stored)]
    found += [f"cell {name} is missing" for name in names[0] if name not in names[1]]
    found += [f"cell {name} is not in the source" for name in names[1] if name not in names[0]]
    if not found and names[0] != names[1]:
        found.append("the cells stand in another order")
    before = {cell.id: cell for cell in stored.cells}
    for cell in fresh.cells:
        for part in ("cell_type", "source", "metadata"):
            if cell.id in before and cell[part] != before[cell.id][part]:
                found.append(f"cell {cell.id}: the {part} differs")
    if stored.metadata != fresh.metadata:
        found.append("the notebook's metadata differs")
    if not found and canonical(stored) != course.notebook(slug).read_text(encoding="utf-8"):
        found.append("the file is not written in the canonical form")
    return [f"notebooks/{slug}.ipynb: {words}" for words in found]


def without_source(course: Course) -> list[str]:
    stems = {path.stem for path in (course.root / "notebooks").glob("*.ipynb")}
    return sorted(stem for stem in stems if not course.source(stem).is_file())


def chosen(names: list[str], course: Course) -> list[str]:
    """Slugs of the sources that `names` stand for: all, or by number or slug."""
    slugs = sorted(path.stem for path in (course.root / "book" / "chapters").glob("[0-9]*.md"))
    if not names:
        return slugs
    found = []
    for name in names:
        matches = [s for s in slugs if s == name or s.split("-")[0] == name.zfill(2)]
        if not matches:
            raise SourceError(f"there is no chapter {name!r}; there are {', '.join(slugs)}")
        found += matches
    return found


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapters", nargs="*", help="numbers (02) or names; all if none is given")
    parser.add_argument("--force", action="store_true", help="run even if the code is the same")
    parser.add_argument("--check", action="store_true", help="write nothing, say what differs")
    options = parser.parse_args(arguments)
    course, bad = Course(root), []
    try:
        slugs = chosen(options.chapters, course)
    except SourceError as error:
        print(error)
        return 1
    for slug in slugs:
        try:
            if options.check:
                bad += drift(slug, course)
                continue
            print(f"{slug}: {make(slug, course, options.force)}", flush=True)
            bad += problems(read(course.notebook(slug)), slug)
        except SourceError as error:
            bad.append(f"book/chapters/{slug}.md: {error}")
        except CellFailed as error:
            bad.append(str(error))
    if not options.chapters:
        bad += [f"notebooks/{slug}.ipynb has no source" for slug in without_source(course)]
    print(*bad, sep="\n", end="\n" if bad else "")
    if bad and options.check:
        print("To bring the notebooks up to date: python tools/notebooks.py")
    return 1 if bad else 0


if __name__ == "__main__":
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    sys.exit(main())
