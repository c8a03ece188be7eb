"""What must be true of the exercises in a stored notebook: whole, checked, not yet attempted."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nbformat import NotebookNode

from attnbook.exercises import get, in_chapter
from attnbook.exercises.exercise import Outcome
from attnbook.exercises.report import headline
from tools.cells import code_cells, parse, tagged, tags


def exercises_are_whole(notebook: NotebookNode, slug: str) -> Iterator[str]:
    """Each exercise has one stub, then one check; both carry its id."""
    places: dict[str, list[str]] = {}
    for cell in code_cells(notebook):
        roles = [tag for tag in tags(cell) if tag in ("stub", "check")]
        exercise_id = cell.metadata.get("exercise")
        if roles and not exercise_id:
            yield f"cell {cell.id} is a {roles[0]} without `exercise:` in its metadata"
        elif exercise_id and len(roles) != 1:
            yield f"cell {cell.id} names an exercise and must be tagged stub or check"
        elif exercise_id:
            places.setdefault(exercise_id, []).append(roles[0])
    for exercise_id, roles in places.items():
        try:
            get(exercise_id)
        except KeyError as error:
            yield error.args[0]
        if roles != ["stub", "check"]:
            yield f"exercise {exercise_id} needs one stub, then one check; it has {roles}"
    for exercise in in_chapter(slug):
        if exercise.id not in places:
            yield f"exercise {exercise.id} of this chapter has no stub and no check"


def checks_and_summaries_do_one_thing(notebook: NotebookNode, slug: str) -> Iterator[str]:
    for cell in tagged(notebook, "check"):
        name = cell.metadata.get("exercise")
        if not is_check(parse(cell), name):
            yield f'cell {cell.id} must hold `{name} = check("{name}", {name})` and nothing else'
    for cell in tagged(notebook, "summary"):
        if cell.source.strip() != "summary()":
            yield f"cell {cell.id} must hold `summary()` and nothing else"


def is_check(tree: ast.Module | None, exercise_id: str | None) -> bool:
    """`name = check("id", name)`, where the name is the reader's own and mostly the id."""
    match tree:
        case ast.Module(
            body=[
                ast.Assign(
                    targets=[ast.Name(id=target)],
                    value=ast.Call(
                        func=ast.Name(id="check"),
                        args=[ast.Constant(value=checked), ast.Name(id=candidate)],
                    ),
                )
            ]
        ):
            return checked == exercise_id and target == candidate
    return False


def exercises_are_untouched(notebook: NotebookNode, slug: str) -> Iterator[str]:
    """Nothing is solved, nothing printed by a stub."""
    for cell in tagged(notebook, "stub"):
        if cell.outputs:
            yield f"cell {cell.id} is a stub and must show nothing"
    for cell in tagged(notebook, "check"):
        shown = "".join(o.get("data", {}).get("text/plain", "") for o in cell.outputs)
        try:
            exercise = get(cell.metadata.get("exercise", ""))
        except KeyError:
            continue  # exercises_are_whole says it
        if headline(Outcome(exercise, "not attempted")) not in shown:
            yield f"cell {cell.id} does not say that its exercise is not attempted yet"


EXERCISE_RULES = (
    exercises_are_whole,
    checks_and_summaries_do_one_thing,
    exercises_are_untouched,
)
