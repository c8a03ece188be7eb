"""Print how long the course makes people wait: import, checks, chapters, the build of the site,
and how fast submissions are graded.

python tools/bench.py          every figure is the median of three, chapters are run once
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.kernel_environment import ONE_THREAD

ROOT = Path(__file__).resolve().parent.parent


def seconds(work: Callable[[], object], times: int = 3) -> float:
    """Median wall time of `work`."""
    spans = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        spans.append(time.perf_counter() - start)
    return statistics.median(spans)


def run(*arguments: str) -> None:
    command = [sys.executable, *arguments]
    subprocess.run(command, cwd=ROOT, env={**os.environ, **ONE_THREAD}, check=True)


def row(what: str, span: float) -> None:
    print(f"{what:48}{span:8.2f} s", flush=True)


def bench_checks() -> None:
    from attnbook.exercises import get, grade, ids

    for exercise_id in ids():
        solution = get(exercise_id).solution
        row(f"check {exercise_id}", seconds(lambda i=exercise_id, s=solution: grade(i, s)))


def bench_chapters() -> None:
    import nbformat
    from nbclient import NotebookClient

    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        client = NotebookClient(notebook, timeout=600, kernel_name="python3")
        row(f"run all {path.stem}", seconds(client.execute, times=1))


def main() -> None:
    os.environ.update(ONE_THREAD)
    row("start Python", seconds(lambda: run("-c", "pass")))
    row("start Python, import attnbook", seconds(lambda: run("-c", "import attnbook")))
    bench_checks()
    bench_chapters()
    row("build the site", seconds(lambda: run("tools/build_site.py"), times=1))
    if os.name == "posix":  # elsewhere a submission's memory and time cannot be limited
        run("tools/bench_grading.py")


if __name__ == "__main__":
    main()
