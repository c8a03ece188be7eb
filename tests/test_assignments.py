"""Release and grade, by the real commands, on real notebooks in every state of repair."""

import copy
import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from attnbook.assignments.assignment import AssignmentError, choose, load, points_for
from attnbook.assignments.sandbox import can_limit
from attnbook.assignments.submissions import student_of
from attnbook.exercises import get, ids

pytestmark = pytest.mark.skipif(not can_limit(), reason="this system cannot limit a process")

EXERCISES = ("softmax", "log_sum_exp", "temperature_for")
POINTS = {"softmax": 5, "log_sum_exp": 2, "temperature_for": 2}
NAIVE = """
def softmax(scores, axis=-1):
    e = np.exp(scores)
    return e / e.sum(axis, keepdims=True)
"""


def attnbook(*arguments, code=0):
    run = subprocess.run(
        [sys.executable, "-m", "attnbook", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert run.returncode == code, run.stdout + run.stderr
    return run.stdout + run.stderr


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    out = tmp_path_factory.mktemp("released")
    chosen = "softmax,2.2,temperature_for"
    attnbook(
        "release", "--exercises", chosen, "--name", "hw", "--points", "softmax=5", "--out", out
    )
    return out


def source(cell, text):
    cell["source"] = text
    return cell


def solved(notebook, only=EXERCISES):
    notebook = copy.deepcopy(notebook)
    for cell in notebook["cells"]:
        if cell["id"] in only:
            source(cell, get(cell["id"]).solution_source)
    return notebook


def extra(notebook, text, at=-1):
    cell = {"cell_type": "code", "id": "extra", "metadata": {}, "outputs": [], "source": text}
    notebook = copy.deepcopy(notebook)
    notebook["cells"].insert(at, cell)
    return notebook


def with_cell(notebook, exercise_id, text):
    notebook = copy.deepcopy(notebook)
    next(source(c, text) for c in notebook["cells"] if c["id"] == exercise_id)
    return notebook


def without(notebook, exercise_id):
    notebook = copy.deepcopy(notebook)
    notebook["cells"] = [c for c in notebook["cells"] if not c["id"].startswith(exercise_id)]
    return notebook


def stripped(notebook):
    """As a careless tool leaves it: no ids, no metadata, no kernel."""
    cells = [{"cell_type": c["cell_type"], "source": c["source"]} for c in notebook["cells"]]
    return {"cells": cells}


SPY = """
import os, sys
seen = [repr(sys.argv), repr(dict(os.environ)), repr(os.listdir("."))]
for frame_globals in (vars(m) for m in list(sys.modules.values()) if hasattr(m, "__dict__")):
    seen += [f"{name}" for name in frame_globals]
try:
    import attnbook.exercises.ch02_softmax as leak
    seen.append("REFERENCE IMPORTED")
except Exception as error:
    seen.append(type(error).__name__)
try:
    import attnbook.numpy_attention as leak
    leaked = leak.softmax
    seen.append("REFERENCE IMPORTED" if leaked is not None else "")
except Exception as error:
    seen.append(type(error).__name__)
import gc
for thing in gc.get_objects():
    if type(thing).__name__ in ("Exercise", "Probe", "Mistake", "Outcome", "Trial"):
        seen.append("JUDGE IN MEMORY " + type(thing).__name__)
spied = "|".join(seen)
words = [w for w in ("REFERENCE IMPORTED", "JUDGE IN MEMORY", SEED) if w in spied]
report = " ".join(words) or "found nothing among %d names" % len(seen)
def softmax(scores, axis=-1):
    raise RuntimeError(report)
"""


@pytest.fixture(scope="module")
def graded(released, tmp_path_factory):
    """All submissions, graded in one run: {student: row of grades.csv}, out, folder, arguments."""
    base = json.loads((released / "hw.ipynb").read_text())
    right = solved(base)
    reordered = solved(base)
    reordered["cells"].reverse()
    duplicate = copy.deepcopy(right)
    wrong_first = next(c for c in solved(base)["cells"] if c["id"] == "softmax")
    duplicate["cells"].insert(3, source(copy.deepcopy(wrong_first), NAIVE))
    renamed = get("softmax").solution_source.replace("def softmax", "def my_softmax")
    stalls = "def softmax(scores, axis=-1):\n    while True:\n        pass"
    submissions = {
        "solved": right,
        "untouched": base,
        "naive": with_cell(right, "softmax", NAIVE),
        "returns_none": with_cell(right, "log_sum_exp", "def log_sum_exp(scores, axis=-1):\n    0"),
        "syntax": with_cell(right, "softmax", "def softmax(scores, axis=-1)\n    return"),
        "no_metadata": stripped(right),
        "missing": without(right, "softmax"),
        "duplicate": duplicate,
        "renamed": with_cell(right, "softmax", renamed),
        "reordered": reordered,
        "raises": extra(right, "1 / 0", 1),
        "exits": extra(right, "import sys; sys.exit()", 1),
        "kills": extra(right, "import os; os._exit(3)", 1),
        "kills_when_called": with_cell(
            right,
            "softmax",
            "def softmax(scores, axis=-1):\n    import os; os.kill(os.getpid(), 9)",
        ),
        "loops": extra(right, "while True:\n    pass"),
        "loops_when_called": with_cell(right, "softmax", stalls),
        "floods": extra(right, "for _ in range(10**5):\n    print('x' * 10**4)"),
        "fills_memory": extra(right, "hoard = bytearray(10**12)", 1),
        "magics": extra(right, "%matplotlib inline\n!ls\nimport math", 1),
        "spy": with_cell(right, "softmax", "SEED = '4242' + '42'\n" + SPY),
    }
    folder = tmp_path_factory.mktemp("submissions")
    for student, notebook in submissions.items():
        (folder / f"{student}.ipynb").write_text(json.dumps(notebook))
    (folder / "not_json.ipynb").write_text("{ not json")
    (folder / "not_a_notebook.ipynb").write_text("[1, 2]")
    (folder / "empty_folder").mkdir()
    twice = folder / "twice"
    twice.mkdir()
    (twice / "old.ipynb").write_text(json.dumps(base))
    os.utime(twice / "old.ipynb", (1, 1))
    (twice / "new.ipynb").write_text(json.dumps(right))
    out = tmp_path_factory.mktemp("out")
    seed_file = out / "secret"
    seed_file.write_text("424242")
    arguments = ["grade", folder, "--assignment", released, "--out", out]
    arguments += ["--seed-file", seed_file, "--seconds-per-cell", "6", "--memory-gb", "3"]
    attnbook(*arguments)
    with (out / "grades.csv").open(newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    return rows, out, folder, arguments


FULL = ("solved", "no_metadata", "duplicate", "renamed", "reordered", "raises", "exits", "kills")
FULL += ("loops", "floods", "fills_memory", "magics", "twice")


@pytest.mark.parametrize("student", FULL)
def test_right_code_earns_full_marks_whatever_is_around_it(graded, student):
    row = graded[0][student]
    assert {i: int(row[i]) for i in EXERCISES} == POINTS, row["notes"]


@pytest.mark.parametrize(
    ("student", "lost", "reason"),
    [
        ("naive", "softmax", "no maximum subtracted"),
        ("returns_none", "log_sum_exp", "returns nothing"),
        ("syntax", "softmax", "SyntaxError"),
        ("missing", "softmax", "No cell of this exercise"),
        ("kills_when_called", "softmax", "signal 9"),
        ("loops_when_called", "softmax", "never ends"),
    ],
)
def test_a_fault_costs_its_own_exercise_and_no_other(graded, student, lost, reason):
    row = graded[0][student]
    earned = {i: int(row[i]) for i in EXERCISES}
    assert earned == {**POINTS, lost: 0}
    feedback = (graded[1] / "feedback" / f"{student}.html").read_text()
    assert reason in row["mistakes"] + row["notes"] + feedback


@pytest.mark.parametrize(
    ("student", "reason"),
    [
        ("untouched", ""),
        ("not_json", "not valid JSON"),
        ("not_a_notebook", "not a notebook"),
        ("empty_folder", "no notebook"),
    ],
)
def test_nothing_done_earns_nothing_and_says_why(graded, student, reason):
    row = graded[0][student]
    assert row["points"] == "0"
    assert reason in row["notes"]


@pytest.mark.parametrize(
    ("student", "note"),
    [
        ("renamed", "Found as my_softmax"),
        ("duplicate", "appears 2 times"),
        ("no_metadata", "Found by its name"),
        ("twice", "2 notebooks were handed in"),
        ("raises", "ZeroDivisionError"),
        ("kills", "left out"),
    ],
)
def test_what_was_odd_is_noted(graded, student, note):
    assert note in graded[0][student]["notes"]


def test_the_submission_sees_no_expected_value_and_no_seed(graded):
    page = (graded[1] / "feedback" / "spy.html").read_text()
    assert re.search(r"found nothing among \d{4,} names", page)


def test_nobody_is_lost(graded):
    rows, out, folder, _ = graded
    students = {p.stem for p in folder.iterdir()}
    assert set(rows) == students
    for name in ("canvas.csv", "moodle.csv"):
        assert all(student in (out / name).read_text() for student in students)
    assert len(list((out / "feedback").glob("*.html"))) == len(students)
    assert "no maximum subtracted" in (out / "class.html").read_text()


def test_a_second_run_keeps_what_is_done_and_gives_the_same_grades(graded):
    rows, out, folder, arguments = graded
    kept = {p.name: p.stat().st_mtime_ns for p in (out / "submissions").iterdir()}
    (folder / "solved.ipynb").write_text((folder / "untouched.ipynb").read_text())
    attnbook(*arguments)
    now = {p.name: p.stat().st_mtime_ns for p in (out / "submissions").iterdir()}
    assert [n.split("-")[0] for n in kept if kept[n] != now[n]] == ["solved"]
    with (out / "grades.csv").open(newline="") as file:
        again = {row["student"]: row for row in csv.DictReader(file)}
    assert again.pop("solved")["points"] == "0"
    assert all(rows[student] == row for student, row in again.items())


def test_the_released_notebook_holds_no_solution_and_runs_untouched(released):
    text = (released / "hw.ipynb").read_text()
    for exercise_id in EXERCISES:
        for line in get(exercise_id).solution_source.splitlines():
            code = line.split("#")[0].strip()
            if len(code) > 25 and not code.startswith(("def ", '"""')):
                assert code not in text, f"a line of the solution of {exercise_id}: {code}"
    notebook = json.loads(text)
    cells = [c["id"] for c in notebook["cells"]]
    assert len(cells) == len(set(cells))
    scope = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), scope)
    assert "| 2.1 | softmax | 5 |" in text
    assert "together" in text


def test_exercises_are_chosen_by_name_number_and_chapter():
    assert choose("2.2, softmax,chapter:2")[:3] == ["log_sum_exp", "softmax", "softmax_jacobian"]
    assert points_for(["softmax"], "2.1=7") == {"softmax": 7}
    for bad, said in (
        ("sofmax", "Did you mean softmax"),
        ("chapter:99", "no chapter '99'"),
        ("", "No exercise"),
    ):
        with pytest.raises(AssignmentError, match=said):
            choose(bad)
    for bad, said in (("softmax", "name=number"), ("log_sum_exp=1", "not in the assignment")):
        with pytest.raises(AssignmentError, match=said):
            points_for(["softmax"], bad)


@pytest.mark.parametrize("exercise_id", ids())
def test_every_exercise_can_be_released_and_solved_alone(exercise_id, tmp_path, monkeypatch):
    from attnbook.assignments.assignment import Assignment
    from attnbook.assignments.release import student_notebook

    notebook = student_notebook(Assignment("one", {exercise_id: 1}))
    scope = {"__name__": "__main__"}
    monkeypatch.setenv("ATTNBOOK_STRICT", "1")
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            text = "".join(cell["source"])
            if cell["id"] == exercise_id:
                text = get(exercise_id).solution_source
            exec(text, scope)


def test_mistakes_of_the_instructor_get_one_sentence(tmp_path, released):
    grade = ("grade", tmp_path, "--assignment")
    assert "no folder" in attnbook("grade", tmp_path / "none", "--assignment", released,
                                   "--out", tmp_path / "o", code=2)  # fmt: skip
    assert "There is no" in attnbook(*grade, tmp_path, "--out", tmp_path / "o", code=2)
    (tmp_path / "assignment.json").write_text('{"name": "x", "points": {"unknown": 1}}')
    assert "unknown" in attnbook(*grade, tmp_path, "--out", tmp_path / "o", code=2)
    (tmp_path / "roster.csv").write_text("a,b\n1,2\n")
    assert "none of the columns" in attnbook(
        *grade, released, "--out", tmp_path / "o", "--roster", tmp_path / "roster.csv", code=2
    )
    (tmp_path / "assignment.json").write_text("[]")
    with pytest.raises(AssignmentError, match="not an assignment"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("path", "student"),
    [
        ("ada.ipynb", "ada"),
        ("ada/hw.ipynb", "ada"),
        ("Ada Lee_12345_assignsubmission_file_/hw.ipynb", "Ada Lee"),
        ("leeada_4711_99_hw.ipynb", "leeada_4711"),
        ("leeada_LATE_4711_99_hw-2.ipynb", "leeada_4711"),
    ],
)
def test_students_are_known_by_file_and_folder_names(path, student):
    assert student_of(Path("/all") / path, Path("/all")) == student


def test_the_roster_carries_ids_into_the_import_files(tmp_path):
    from attnbook.assignments import exports
    from attnbook.assignments.assignment import Assignment
    from attnbook.assignments.grade import Grade, Graded

    roster = tmp_path / "roster.csv"
    roster.write_text(
        "Student,ID,SIS User ID,SIS Login ID,Section\n"
        "    Points Possible,,,,\n"
        '"Lee, Ada",4711,s1,ada,A\n'
    )
    people = exports.read_roster(roster)
    grade = Grade("softmax", "passed", 3, 3, None, "", "")
    graded = [Graded("leeada_4711", "", "", [grade], []), Graded("=evil", "", "", [grade], [])]
    assignment = Assignment("hw", {"softmax": 3})
    exports.write_canvas(tmp_path / "canvas.csv", assignment, graded, people)
    rows = list(csv.reader((tmp_path / "canvas.csv").read_text().splitlines()))
    assert rows[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "hw"]
    assert rows[1][0].strip() == "Points Possible"
    assert rows[1][-1] == "3"
    assert rows[2] == ["Lee, Ada", "4711", "s1", "ada", "A", "3"]
    assert rows[3][0] == "'=evil"
    exports.write_moodle(tmp_path / "moodle.csv", assignment, graded, [])
    rows = list(csv.DictReader((tmp_path / "moodle.csv").read_text().splitlines()))
    assert rows[0]["Username"] == "leeada_4711"
    assert rows[0]["hw"] == "3"
