"""What an exercise builds on: other exercises whose functions its solution calls."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from attnbook.exercises import get, ids
from attnbook.exercises.exercise import Exercise

IMPORTS = ("import math", "", "import numpy as np")
TORCH_IMPORTS = ("import torch", "import torch.nn.functional as F", "from torch import nn")


def uses(exercise: Exercise) -> list[str]:
    """Ids of the exercises whose functions or classes the solution reads, sorted."""
    tree = ast.parse(exercise.solution_source)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return sorted(i for i in ids() if i in names and i != exercise.id and _is_code(i))


def needed(exercise: Exercise, inside: Iterable[str] = ()) -> list[str]:
    """All that the solution builds on, each before its use, without those `inside`."""
    order: list[str] = []

    def visit(one: Exercise) -> None:
        for name in uses(one):
            if name not in inside and name not in order:
                visit(get(name))
                order.append(name)

    visit(exercise)
    return order


def source(names: Iterable[str]) -> str:
    """The course's own functions of those names."""
    return "\n\n\n".join(get(name).solution_source for name in names)


def imports(exercises: Iterable[Exercise]) -> list[str]:
    """Lines that import what these exercises' solutions expect to find."""
    torch = any(exercise.library == "torch" for exercise in exercises)
    return [*IMPORTS, *(TORCH_IMPORTS if torch else ())]


def _is_code(exercise_id: str) -> bool:
    return not isinstance(get(exercise_id).solution, str)
