"""How pytest runs the course's notebooks, on top of nbval.

pytest --nbval --nbval-current-env notebooks             as shipped
pytest --nbval --nbval-current-env notebooks --solved    with the solutions in place of the stubs

Both compare every printed value with a fresh run, after the rules of tools/notebook_lint.py.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import nbformat
import pytest
from nbval.plugin import IPyNbCell, IPyNbFile

from attnbook.exercises import get, ids, report
from tools.cells import tags
from tools.kernel_environment import kernel_environment
from tools.notebook_lint import RULES


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--solved",
        action="store_true",
        help="notebooks: put each solution in its stub's place and demand that it passes",
    )


def pytest_configure(config: pytest.Config) -> None:
    option = config.option
    if option.solved and not (option.nbval or option.nbval_lax):
        raise pytest.UsageError("--solved runs notebooks: give --nbval too")
    if option.nbval or option.nbval_lax:
        # nbval leaves the file it gives the kernel as stderr open
        config.addinivalue_line("filterwarnings", "ignore:unclosed file:ResourceWarning")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Make --dist loadgroup heed xdist_group, which pytest-xdist 3.8 does not under pytest 9.2."""
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class ByMarkedFile(LoadScopeScheduling):
        """Files that use xdist_group go to one worker; all other tests are shared out singly."""

        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.split("::")[0]
            return file if uses_groups(config.rootpath / file) else nodeid

    return ByMarkedFile(config, log)


@cache
def uses_groups(path: Path) -> bool:
    return path.is_file() and "xdist_group" in path.read_text(encoding="utf-8")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Any, parent: pytest.Collector) -> Iterator[None]:
    """Put our two collectors in the place of nbval's."""
    found = yield
    if any(isinstance(collector, IPyNbFile) for collector in found):
        return [kind.from_parent(parent, path=file_path) for kind in (Lint, Notebook)]
    return found


class Lint(pytest.File):
    """The rules a stored notebook must keep before it is run; one test each."""

    def collect(self) -> Iterator[pytest.Item]:
        for name, rule in RULES.items():
            yield Rule.from_parent(self, name=name, rule=rule)


class Rule(pytest.Item):
    def __init__(self, *, rule: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rule = rule

    def runtest(self) -> None:
        notebook = nbformat.read(self.path, as_version=4)
        broken = list(self.rule(notebook, self.path.stem))
        if broken:
            pytest.fail("\n".join(broken), pytrace=False)

    def reportinfo(self) -> tuple[Any, int, str]:
        return self.path, 0, f"{self.path.name}: {self.name}"


class Notebook(IPyNbFile):
    """nbval's notebook, run in the pipeline's environment and, with --solved, solved."""

    def setup(self) -> None:
        with mock.patch.dict(os.environ, kernel_environment(), clear=True):
            super().setup()

    def collect(self) -> Iterator[IPyNbCell]:
        checked: list[str] = []
        for item in super().collect():
            if {"check", "summary"} & set(tags(item.cell)):
                item.options["check"] = True  # with --nbval-lax too
            if self.config.option.solved:
                solve(item.cell, checked)
            yield item


def solve(cell: nbformat.NotebookNode, checked: list[str]) -> None:
    """Put the solution into a stub, and into a check or summary the verdict it must then show.

    `checked` holds the ids of the checks met so far. Everything else stays as it is stored.
    """
    exercise_id = cell.metadata.get("exercise", "")
    if exercise_id not in ids() and "summary" not in tags(cell):
        return  # a rule says so where it is a stub or a check
    if "stub" in tags(cell):
        cell.source = get(exercise_id).solution_source
    elif "check" in tags(cell):
        checked.append(exercise_id)
        expect(cell, report.bundle(report.passed(get(exercise_id))))
    elif "summary" in tags(cell):
        outcomes = {name: report.passed(get(name)) for name in checked}
        expect(cell, report.summary_bundle(outcomes))


def expect(cell: nbformat.NotebookNode, bundle: dict[str, str]) -> None:
    cell.outputs = [nbformat.v4.new_output("display_data", data=bundle)]
    cell.execution_count = cell.execution_count or 1  # without one nbval compares nothing
