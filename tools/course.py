"""The chapter map, book/course.yml, as objects."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
ROMAN = ["0", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X"]


def read_yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Chapter:
    """One entry of the map."""

    number: int
    slug: str
    title: str
    promise: str
    part: int
    level: str
    reading_minutes: int
    run_seconds: int
    needs: str
    prerequisites: tuple[str, ...]
    status: str

    @property
    def is_ready(self) -> bool:
        return self.status == "ready"

    @property
    def name(self) -> str:
        return f"{self.number} · {self.title}"


class Course:
    """The course that lies in the folder `root`."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = Path(root)

    @cached_property
    def map(self) -> dict[str, Any]:
        """book/course.yml as it stands: parts, chapters, paths, capstone."""
        return read_yaml(self.root / "book" / "course.yml")

    @cached_property
    def chapters(self) -> list[Chapter]:
        entries = self.map["chapters"]
        return [Chapter(**{**e, "prerequisites": tuple(e["prerequisites"])}) for e in entries]

    @property
    def ready(self) -> list[Chapter]:
        return [chapter for chapter in self.chapters if chapter.is_ready]

    def chapter(self, slug: str) -> Chapter:
        """The chapter of that slug; KeyError with a sentence where the map has none."""
        for chapter in self.chapters:
            if chapter.slug == slug:
                return chapter
        raise KeyError(f"book/course.yml has no chapter {slug!r}")

    def part_title(self, number: int) -> str:
        return next(part["title"] for part in self.map["parts"] if part["number"] == number)

    def source(self, slug: str) -> Path:
        return self.root / "book" / "chapters" / f"{slug}.md"

    def quiz(self, slug: str) -> Path:
        return self.root / "book" / "quizzes" / f"{slug}.yml"

    def solutions(self, slug: str) -> Path:
        return self.root / "book" / "solutions" / f"{slug}.md"

    def notebook(self, slug: str) -> Path:
        return self.root / "notebooks" / f"{slug}.ipynb"

    @cached_property
    def repository(self) -> tuple[str, str]:
        """Address and branch of the repository; the address is empty until it is published."""
        found = read_yaml(self.root / "_config.yml").get("repository") or {}
        return (found.get("url") or "").rstrip("/"), found.get("branch") or "main"
