"""Run everything CI runs, step by step, and end with one line of totals.

python tools/run_tests.py               all steps
python tools/run_tests.py lint site     some of them
python tools/run_tests.py --full        with the long versions of the tests
python tools/run_tests.py --lax         the notebooks on another system or version: every cell runs
                                        and every assertion holds, printed values are not compared
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.kernel_environment import ONE_THREAD, kernel_environment

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "_build" / "test-results"

PYTHON = [sys.executable]
RUFF = [*PYTHON, "-m", "ruff"]
OURS = ["attnbook", "tests", "tools", "conftest.py"]  # notebooks are laid out by the pipeline
PYTEST = [*PYTHON, "-m", "pytest", "-q", "-n", "2", "--dist"]
NBVAL = [*PYTEST, "loadfile", "--nbval", "--nbval-current-env"]
NBVAL += ["--nbval-cell-timeout=120", "notebooks"]

# name: (what it is, command). The site is built after the notebooks ran: it must still be clean.
STEPS = {
    "lint": ("style", [*RUFF, "check", "."]),
    "format": ("layout of the code", [*RUFF, "format", "--check", *OURS]),
    "shipped": ("notebooks as shipped, every stored value compared", NBVAL),
    "solved": ("notebooks with the solutions, every check passed", [*NBVAL, "--solved"]),
    "site": ("the site, without a warning", [*PYTHON, "tools/build_site.py"]),
    "tests": ("package, checks, pages, browser", [*PYTEST, "loadgroup", "tests"]),
}
NOTEBOOKS = ("shipped", "solved")


@dataclass
class Tally:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped
        )

    def __str__(self) -> str:
        tail = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{tail}"


def read_results(report: Path) -> Tally:
    """Totals of a JUnit report written by pytest."""
    tally = Tally()
    for suite in ET.parse(report).getroot().iter("testsuite"):
        total, skipped = int(suite.get("tests", 0)), int(suite.get("skipped", 0))
        failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        tally += Tally(max(total - failed - skipped, 0), failed, skipped)
    return tally


def run_step(name: str, full: bool, lax: bool = False) -> tuple[Tally, float]:
    """Run one step; a step that ends badly counts at least one failure."""
    title, command = STEPS[name]
    runs_notebooks = "--nbval" in command
    command = [*command]
    if lax and runs_notebooks:
        title = title.replace("every stored value compared", "no stored value compared")
        command[command.index("--nbval")] = "--nbval-lax"
        command += ["-W", "default"]  # another version may warn of what is to come
    report = RESULTS / f"{name}.xml"
    if command[1:3] == ["-m", "pytest"]:
        report.unlink(missing_ok=True)
        command += [f"--junitxml={report}"]
        if full and name == "tests":
            command += ["-m", "full or not full"]
    print(f"\n=== {name}: {title}", flush=True)
    start = time.perf_counter()
    env = kernel_environment() if runs_notebooks else {**os.environ, **ONE_THREAD}
    code = subprocess.run(command, cwd=ROOT, env=env).returncode
    seconds = time.perf_counter() - start
    tally = read_results(report) if report.exists() else Tally(passed=int(code == 0))
    if code and not tally.failed:
        tally.failed = 1
    return tally, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("steps", nargs="*", metavar="step", help=", ".join(STEPS))
    parser.add_argument("--full", action="store_true", help="the long versions of the tests too")
    parser.add_argument("--lax", action="store_true", help="notebooks only, values not compared")
    options = parser.parse_args()
    if unknown := set(options.steps) - set(STEPS):
        parser.error(f"no step {', '.join(sorted(unknown))}; there are {', '.join(STEPS)}")
    RESULTS.mkdir(parents=True, exist_ok=True)
    # matplotlib builds its font list once, and says so on stderr; a notebook must not be the first
    subprocess.run([*PYTHON, "-c", "import matplotlib.font_manager"], capture_output=True)

    results = {}
    for name in options.steps or (NOTEBOOKS if options.lax else STEPS):
        results[name] = run_step(name, options.full, options.lax)
    print("\n=== totals")
    for name, (tally, seconds) in results.items():
        mark = "FAILED" if tally.failed else "ok"
        print(f"{name:10} {mark:7} {seconds:5.0f} s   {tally}")
    total = sum((tally for tally, _ in results.values()), Tally())
    print(total)
    sys.exit(1 if total.failed else 0)


if __name__ == "__main__":
    main()
