"""Which versions the course asks for. Read from where they are declared; none is written here."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def course_folder(root: Path = ROOT) -> Path | None:
    """The course's folder when the package lies in it; None when it was installed elsewhere."""
    expected = ("requirements.txt", "pyproject.toml", "book")
    return root if all((root / name).exists() for name in expected) else None


def packaging() -> Any:
    """The module `packaging.requirements`, pip's own copy where there is no other.

    Raises ImportError when there is neither.
    """
    try:
        from packaging import requirements
    except ImportError:
        from pip._vendor.packaging import requirements
    return requirements


def python_bounds(root: Path | None = None) -> str | None:
    """Like ">=3.11,<3.14"; None if it is declared nowhere."""
    root = root or course_folder()
    if root:
        text = (root / "pyproject.toml").read_text(encoding="utf-8")
        declared = re.search(r'^requires-python\s*=\s*"(.+)"', text, re.MULTILINE)
        if declared:
            return declared[1]
    return _metadata().get("Requires-Python")


def requirements(root: Path | None = None) -> list[Any]:
    """The packages to look for, as packaging's Requirement.

    In the course's folder those of requirements.txt, elsewhere those the installed package names.
    """
    parse = packaging().Requirement
    root = root or course_folder()
    if root:
        return [parse(line) for line in _lines(root / "requirements.txt")]
    wanted = [parse(text) for text in _metadata().get_all("Requires-Dist") or ()]
    # torch is an extra, since the first chapters run without; it is looked for all the same
    return [one for one in wanted if not one.marker or one.marker.evaluate({"extra": "torch"})]


def locked(name: str, root: Path | None = None) -> str | None:
    """The version the course is tested with, if constraints.txt is there and has it."""
    root = root or course_folder()
    path = root / "constraints.txt" if root else None
    if path is None or not path.is_file():
        return None
    pins = dict(line.split("==", 1) for line in _lines(path) if "==" in line)
    return {canonical(pin): version for pin, version in pins.items()}.get(canonical(name))


def canonical(name: str) -> str:
    """The one spelling of a package's name: Foo_Bar and foo.bar are foo-bar."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _lines(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    bare = (line.split("#")[0].strip() for line in text.splitlines())
    return [line for line in bare if line and not line.startswith("-")]


def _metadata() -> Any:
    try:
        return importlib.metadata.metadata("attnbook")
    except importlib.metadata.PackageNotFoundError:
        from email.message import Message

        return Message()
