"""The requirement files, the locked versions and the package's metadata agree."""

import re
import tomllib

import pytest
from packaging.requirements import Requirement

from tools.build_site import ROOT


def lines(name: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    bare = (line.split("#")[0].strip() for line in text.splitlines())
    return [line for line in bare if line and not line.startswith("-")]


LOCKED = {}
for pin in lines("constraints.txt"):
    name, version = pin.split("==")
    LOCKED[re.sub(r"[-_.]+", "-", name).lower()] = version
with (ROOT / "pyproject.toml").open("rb") as file:
    PROJECT = tomllib.load(file)["project"]
WANTED = [*lines("requirements.txt"), *lines("requirements-dev.txt"), *PROJECT["dependencies"]]


@pytest.mark.parametrize("wanted", WANTED)
def test_the_locked_version_lies_within_the_bounds(wanted):
    requirement = Requirement(wanted)
    locked = LOCKED[re.sub(r"[-_.]+", "-", requirement.name).lower()]
    assert locked in requirement.specifier


@pytest.mark.parametrize("wanted", lines("requirements.txt") + lines("requirements-dev.txt"))
def test_every_requirement_is_bounded_above(wanted):
    operators = {part.operator for part in Requirement(wanted).specifier}
    assert operators & {"<", "==", "<="}


def test_the_locked_torch_leaves_the_build_to_the_reader():
    assert LOCKED["torch"] == "2.13.0"
    assert "+" not in "".join(LOCKED.values())
