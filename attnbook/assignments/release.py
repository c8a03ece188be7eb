"""Make the notebook that students get: prompts, stubs and checks of chosen exercises.

Everything is taken from the course's notebooks, which hold no solution. What an exercise needs
from exercises that are not in the assignment is given in a cell of its own.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import attnbook
from attnbook.assignments import given
from attnbook.assignments.assignment import FILE_NAME, Assignment, AssignmentError, counted, load
from attnbook.assignments.context import CONTEXT
from attnbook.exercises import get, ids
from attnbook.exercises.exercise import Exercise

NOTEBOOKS = Path(attnbook.__file__).resolve().parents[1] / "notebooks"


def release(assignment: Assignment, out: Path) -> list[Path]:
    """Write the student's notebook, the rubric and assignment.json; returns their paths.

    Raises AssignmentError when the course's notebooks are not beside the package, or when another
    assignment is in the folder: grading needs its file.
    """
    if (out / FILE_NAME).exists() and load(out) != assignment:
        raise AssignmentError(
            f"{out} holds another assignment, and grading needs its {FILE_NAME}: choose another "
            "--out, or remove the folder if nobody has the notebook yet."
        )
    out.mkdir(parents=True, exist_ok=True)
    notebook = out / f"{assignment.name}.ipynb"
    text = json.dumps(student_notebook(assignment), indent=1, ensure_ascii=False, sort_keys=True)
    notebook.write_text(text + "\n", encoding="utf-8")
    rubric = out / "rubric.md"
    rubric.write_text(rubric_page(assignment), encoding="utf-8")
    return [notebook, rubric, assignment.save(out)]


def student_notebook(assignment: Assignment) -> dict[str, Any]:
    """The notebook as nbformat 4.5 data."""
    exercises = assignment.exercises()
    cells = [_markdown("assignment-title", _title(assignment, exercises))]
    cells.append(_code("assignment-setup", _setup(exercises), tags=["setup"]))
    names = _given(exercises)
    if names:
        words = (
            "## Given\n\nThe exercises below may use these functions, which are not asked for here."
        )
        functions = _code("assignment-functions", given.source(names))
        cells += [_markdown("assignment-given", words), functions]
    for exercise in exercises:
        cells += _exercise_cells(exercise, assignment, names)
    cells.append(_markdown("assignment-end", "## Your result"))
    source = "from attnbook import summary\n\nsummary()"
    cells.append(_code("assignment-summary", source, tags=["summary"]))
    return {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
            "attnbook": {"assignment": assignment.name, "variant": assignment.variant},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _title(assignment: Assignment, exercises: list[Exercise]) -> str:
    rows = [
        f"| {exercise.number} | {exercise.id} | {exercise.points} | {exercise.minutes} |"
        for exercise in exercises
    ]
    due = f"**Due:** {assignment.due}" if assignment.due else "**Due:** ______________________"
    return "\n".join(
        [
            f"# {assignment.name}",
            "",
            due,
            "",
            "| Exercise | Name | Points | Minutes |",
            "| --- | --- | ---: | ---: |",
            *rows,
            f"| | **together** | **{assignment.total}** | **{assignment.minutes}** |",
            "",
            "Write your code in place of the `...`, run the cell, then run the check below it. The "
            "check tells you what it tested and what is likely wrong. Keep the names of functions. "
            "An exercise that builds on another is checked with the course's own where yours is "
            "not right yet, so one mistake costs one exercise. Your grade comes from fresh numbers "
            "of the same kind, so code that passes here for the right reason passes there.",
            "",
            "Where a prompt speaks of something above or below, it means its chapter's page. "
            "Before you hand in: *Restart Kernel and Run All Cells*, look at the table at the "
            "end, and save. Hand in this one file.",
            "",
            "Does the first cell stop at `import attnbook`? Then this Python does not have the "
            "course's package: open this notebook from the course's folder, with `make lab`.",
        ]
    )


def _setup(exercises: list[Exercise]) -> str:
    lines = [*given.imports(exercises), "", "from attnbook import check"]
    if any(exercise.library == "torch" for exercise in exercises):
        lines += ["", "torch.set_num_threads(1)"]
    return "\n".join(lines)


def _given(exercises: list[Exercise]) -> list[str]:
    """Ids of what the solutions use from exercises that are not asked for, in order of use."""
    inside = [exercise.id for exercise in exercises]
    names = [name for exercise in exercises for name in given.needed(exercise, inside)]
    return list(dict.fromkeys(names))


def _exercise_cells(
    exercise: Exercise, assignment: Assignment, names: list[str]
) -> list[dict[str, Any]]:
    cells = _chapter_cells(exercise.chapter)
    prompt, stub = cells.get(f"{exercise.id}-prompt"), cells.get(exercise.id)
    if prompt is None or stub is None:
        raise AssignmentError(f"{exercise.chapter}.ipynb has no prompt or stub of {exercise.id}.")
    _, slots = get(exercise.id).varied(assignment.variant)
    body = _prompt("".join(prompt["source"]), exercise, slots)
    body += _quoted(body, {*assignment.points, *names})
    options = f", seed={assignment.variant}" if assignment.variant else ""
    if exercise.points != get(exercise.id).points:
        options += f", points={exercise.points}"
    call = f'{exercise.id} = check("{exercise.id}", {exercise.id}{options})'
    shown = CONTEXT.get(exercise.id, "").strip()
    parts = shown.split("\n# %%\n") if shown else []
    return [
        _markdown(f"{exercise.id}-prompt", body),
        *(_code(f"{exercise.id}-context-{n}", part) for n, part in enumerate(parts, 1)),
        _code(exercise.id, "".join(stub["source"]), exercise=exercise.id, tags=["stub"]),
        _code(f"{exercise.id}-check", call, exercise=exercise.id, tags=["check"]),
    ]


def _quoted(body: str, known: set[str]) -> str:
    """The prompts of other exercises that this one speaks of and that are not in the notebook."""
    spoken = [i for i in ids() if f"`{i}`" in body and i not in known]
    parts = []
    for other in map(get, spoken):
        cell = _chapter_cells(other.chapter).get(f"{other.id}-prompt")
        if cell:
            text = _body("".join(cell["source"]), other)
            quoted = "\n".join(f"> {line}".rstrip() for line in text.splitlines())
            words = f"> `{other.id}`, of which this speaks, is another exercise of the course:"
            parts.append(f"\n\n{words}\n>\n{quoted}")
    return "".join(parts)


def _chapter_cells(chapter: str) -> dict[str, dict[str, Any]]:
    path = NOTEBOOKS / f"{chapter}.ipynb"
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    except FileNotFoundError:
        raise AssignmentError(
            f"{path} was not found: releasing needs the course's folder, installed with "
            "`pip install -e .`."
        ) from None
    return {cell["id"]: cell for cell in cells}


def _prompt(source: str, exercise: Exercise, slots: dict[str, str]) -> str:
    """The prompt with this assignment's points and numbers, without links (they lead out of it)."""
    body = _body(source, exercise)
    for printed, replaced in slots.items():
        if printed not in body:
            raise AssignmentError(f"The prompt of {exercise.id} has no text {printed!r} to vary.")
        body = body.replace(printed, replaced)
    chapter = int(exercise.chapter.split("-")[0])
    facts = f"{counted(exercise.points, 'point')} · about {counted(exercise.minutes, 'minute')}"
    return f"## {exercise.heading}\n\n*{facts} · from chapter {chapter}*\n\n{body}"


def _body(source: str, exercise: Exercise) -> str:
    """What the chapter's prompt asks, without heading, facts and links."""
    heading, _, rest = source.partition(f"### {exercise.heading}")
    lines = (rest or heading).strip().splitlines()
    if lines and "min" in lines[0] and "point" in lines[0]:  # the course's own line of facts
        lines = lines[1:]
    return re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", "\n".join(lines).strip())


def rubric_page(assignment: Assignment) -> str:
    """How each exercise is graded, and room for prose questions."""
    lines = [f"# Rubric · {assignment.name}", ""]
    for exercise in assignment.exercises():
        lines += [f"## {exercise.heading} ({counted(exercise.points, 'point')})", ""]
        if exercise.probes:
            lines += ["Full points when all of these hold, on fresh numbers; none otherwise:", ""]
            lines += [f"- {probe.says}" for probe in exercise.probes]
        else:
            lines += [f"Full points for the right answer: {exercise.summary}."]
        lines.append("")
    lines += [
        "## Questions in prose, if you add any",
        "",
        "| Level | What it looks like |",
        "| --- | --- |",
        "| full | states the claim, shows the number that supports it, and says where it stops |",
        "| half | right claim without evidence, or evidence without the claim it supports |",
        "| none | repeats the text, or a claim that the notebook's own output contradicts |",
        "",
    ]
    return "\n".join(lines)


def _markdown(cell_id: str, source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": cell_id, "metadata": {}, "source": _lines(source)}


def _code(cell_id: str, source: str, **metadata: Any) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": cell_id,
        "metadata": metadata,
        "outputs": [],
        "source": _lines(source),
    }


def _lines(source: str) -> list[str]:
    return source.splitlines(keepends=True)
