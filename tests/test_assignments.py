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
# Right, and leans on the notebook's own softmax
LEANS = """
def temperature_for(scores, largest):
    low, high = 1e-6, 1e6
    for _ in range(200):
        middle = math.sqrt(low * high)
        if softmax(scores / middle).max() > largest:
            low = middle
        else:
            high = middle
    return math.sqrt(low * high)
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
        "leans_on_wrong": with_cell(with_cell(right, "softmax", NAIVE), "temperature_for", LEANS),
        "leans_on_nothing": with_cell(solved(base, ["temperature_for"]), "temperature_for", LEANS),
        "more_magics": with_cell(
            extra(right, "%matplotlib inline\n!pip list\nfiles = !ls\nnp.dot?", 1),
            "softmax",
            "%%time\n" + get("softmax").solution_source,
        ),
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
FULL += ("loops", "floods", "fills_memory", "magics", "more_magics", "twice")


@pytest.mark.parametrize("student", FULL)
def test_right_code_earns_full_marks_whatever_is_around_it(graded, student):
    row = graded[0][student]
    assert {i: int(row[i]) for i in EXERCISES} == POINTS, row["notes"]


@pytest.mark.parametrize(
    ("student", "lost", "reason"),
    [
        ("naive", "softmax", "no maximum subtracted"),
        ("leans_on_wrong", "softmax", "no maximum subtracted"),
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
        ("no_metadata", "Found by name"),
        ("leans_on_wrong", "Tested with the course's own softmax"),
        ("twice", "2 notebooks were handed in"),
        ("raises", "ZeroDivisionError"),
        ("kills", "left out"),
    ],
)
def test_what_was_odd_is_noted(graded, student, note):
    assert note in graded[0][student]["notes"]


def test_what_is_built_on_nothing_is_tested_with_the_courses_own(graded):
    row = graded[0]["leans_on_nothing"]
    assert [row[i] for i in EXERCISES] == ["0", "0", str(POINTS["temperature_for"])]


def test_an_answer_to_the_same_question_is_not_lent(tmp_path):
    """Calling the loop that one did not write is no way to write it without a loop."""
    from attnbook.assignments.assignment import Assignment
    from attnbook.assignments.grade import grade_submission
    from attnbook.assignments.release import student_notebook
    from attnbook.assignments.sandbox import Limits
    from attnbook.assignments.submissions import read

    assignment = Assignment("two", {"self_attention_loop": 2, "self_attention": 3})
    leans = "def self_attention(x):\n    return self_attention_loop(x)"
    notebook = with_cell(student_notebook(assignment), "self_attention", leans)
    (tmp_path / "ada.ipynb").write_text(json.dumps(notebook))
    submission = read("ada", tmp_path / "ada.ipynb", list(assignment.points), ())
    assert grade_submission(submission, assignment, 1, Limits()).points == 0


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


def test_the_notebook_counts_the_assignments_points_and_says_how_to_hand_in(released):
    text = (released / "hw.ipynb").read_text()
    assert "*5 points · about" in text
    assert "Restart Kernel and Run All Cells" in text
    run = "import json; nb = json.load(open('hw.ipynb')); get_ipython = lambda: None\n"
    run += "for c in nb['cells']:\n  if c['cell_type'] == 'code': exec(''.join(c['source']))"
    done = subprocess.run([sys.executable, "-c", run], cwd=released, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.search(r"softmax .*0 of 5", done.stdout)
    assert "Points: 0 of 9" in done.stdout


def test_one_of_a_thing_is_singular(tmp_path):
    printed = attnbook(
        "release",
        "--exercises",
        "softmax",
        "--points",
        "softmax=1",
        "--name",
        "w",
        "--out",
        tmp_path,
    )
    assert re.search(r"^1 exercise, 1 point, about \d+ minutes\.$", printed, re.M)
    everything = printed + (tmp_path / "w.ipynb").read_text() + (tmp_path / "rubric.md").read_text()
    assert "*1 point · about" in everything
    assert "(1 point)" in everything
    assert not re.search(r"\b1 (points|exercises|minutes)", everything)


def test_another_assignment_is_not_overwritten(tmp_path):
    command = ("release", "--name", "w", "--out", tmp_path, "--exercises")
    attnbook(*command, "softmax")
    attnbook(*command, "softmax")
    before = (tmp_path / "assignment.json").read_text()
    assert "holds another assignment" in attnbook(*command, "log_sum_exp", code=2)
    assert (tmp_path / "assignment.json").read_text() == before


def _defined_in_chapter(chapter):
    """Names that a chapter's own code cells define, exercises apart."""
    cells = json.loads((Path("notebooks") / f"{chapter}.ipynb").read_text())["cells"]
    code = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
    return set(re.findall(r"^(?:def |class )?([a-z_]\w{3,})(?=\(.*:$| =)", "\n".join(code), re.M))


@pytest.mark.parametrize("exercise_id", ids())
def test_a_prompt_speaks_of_nothing_that_is_not_in_the_notebook(exercise_id):
    from attnbook.assignments.assignment import Assignment
    from attnbook.assignments.release import student_notebook

    cells = {c["id"]: c for c in student_notebook(Assignment("one", {exercise_id: 1}))["cells"]}
    prompt = "".join(cells[f"{exercise_id}-prompt"]["source"])
    code = "\n".join("".join(c["source"]) for c in cells.values() if c["cell_type"] == "code")
    stub = prompt.split("\n> ")[0]
    if re.search(r"\bthe picture\b", stub):
        assert f"{exercise_id}-context-1" in cells
    spoken = set(re.findall(r"`([a-z_]\w{3,})`", prompt))
    functions = {n for n in spoken & _defined_in_chapter(get(exercise_id).chapter)
                 if re.search(rf"^def {n}\b", _chapter_code(exercise_id), re.M)}  # fmt: skip
    for name in functions | (spoken & set(ids())):
        assert re.search(rf"\bdef {name}\b|\b{name} =", code) or f"> `{name}`" in prompt, name


def _chapter_code(exercise_id):
    cells = json.loads((Path("notebooks") / f"{get(exercise_id).chapter}.ipynb").read_text())
    return "\n".join("".join(c["source"]) for c in cells["cells"] if c["cell_type"] == "code")


def test_the_table_given_with_read_weights_is_the_chapters():
    """Also in the notebook alone, the cell that is asked for is the largest of its column."""
    import numpy as np

    from attnbook.assignments.context import CONTEXT
    from attnbook.exercises import grade

    scope = {"np": np}
    exec(CONTEXT["read_weights"], scope)
    others = scope["attention"][1:, 0]
    answer = (int(others.argmax()) + 1, 0)
    assert grade("read_weights", answer).status == "passed"
    assert np.allclose(scope["attention"].sum(axis=1), 1, atol=0.025)


@pytest.mark.parametrize(
    ("cell", "kept"),
    [
        ("%matplotlib inline\nx = 1", "x = 1"),
        ("files = !ls\nx = 1", "x = 1"),
        ("np.dot?\nx = 1", "x = 1"),
        ("%%time\nx = 1", "x = 1"),
        ("%%capture out\n%time y = 2\nx = 1", "x = 1"),
        ("x = (7\n  % 2)", "% 2)"),
        ('text = """\n% a line\n"""', "% a line"),
    ],
)
def test_magics_do_nothing_and_what_stands_beside_them_stays(cell, kept):
    from attnbook.assignments.grade import _is_python, _plain_python

    plain = _plain_python(cell)
    assert _is_python(plain)
    assert kept in plain
    assert _plain_python("%%bash\nrm -rf x") == ""


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
    for bad, said in (
        ("softmax=1.5", "a whole number"),
        ("softmax", "name=number"),
        ("log_sum_exp=1", "not in the assignment"),
    ):
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
    ("option", "said"),
    [
        (("--variant", "-1"), "--variant must be 0 or a number above; got -1"),
        (("--name", "week 3"), "got 'week 3'"),
    ],
)
def test_an_option_of_release_that_cannot_be_is_refused(tmp_path, capsys, option, said):
    from attnbook.cli import main

    command = ["release", "--exercises", "softmax", "--name", "hw", "--out", str(tmp_path / "hw")]
    assert main([*command, *option]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "hw").exists()


@pytest.fixture
def one_hand_in(tmp_path, released):
    """A folder with a submission that runs nothing, and the command that grades it into `out`."""
    folder = tmp_path / "all"
    folder.mkdir()
    (folder / "ada.ipynb").write_text("{")
    command = ["grade", str(folder), "--assignment", str(released), "--workers", "1"]
    return folder, [*command, "--out", str(tmp_path / "out")]


@pytest.mark.parametrize("option", ["--workers", "--seconds-per-cell", "--memory-gb"])
def test_limits_that_nothing_can_keep_are_refused(one_hand_in, capsys, option):
    from attnbook.cli import main

    assert main([*one_hand_in[1], option, "0"]) == 2
    assert "must be above 0; got" in capsys.readouterr().err


def test_results_do_not_go_among_the_submissions(one_hand_in, capsys):
    from attnbook.cli import main

    folder, command = one_hand_in
    for out in (folder, folder / "deep" / "results"):
        assert main([*command, "--out", str(out)]) == 2
        assert "choose a folder elsewhere" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["ada.ipynb"]


def test_a_seed_file_holds_any_secret_but_not_nothing(tmp_path):
    from attnbook.assignments.grade import read_seed

    path = tmp_path / "seed"
    path.write_text(" 424242\n")
    assert read_seed(path, tmp_path) == 424242
    path.write_bytes(b"\xff secret")
    assert read_seed(path, tmp_path) == read_seed(path, tmp_path) > 0
    path.write_text("\n")
    with pytest.raises(AssignmentError, match="seed is empty"):
        read_seed(path, tmp_path)


def test_a_result_that_cannot_be_written_is_said_and_the_grades_are_kept(one_hand_in, capsys):
    from attnbook.cli import main

    out = Path(one_hand_in[1][-1])
    (out / "grades.csv").mkdir(parents=True)  # as unwritable as a file that a spreadsheet holds
    assert main(one_hand_in[1]) == 2
    assert re.search(r"grades\.csv'\. Is it open in another program", capsys.readouterr().err)
    (out / "grades.csv").rmdir()
    assert main(one_hand_in[1]) == 0
    assert (out / "grades.csv").is_file()


def test_a_fault_of_the_grader_is_noted_and_tried_again(one_hand_in, released, monkeypatch):
    from attnbook.assignments import grade
    from attnbook.assignments.sandbox import Limits

    folder = one_hand_in[0]

    def run():
        return grade.grade_folder(folder, load(released), folder.parent, 1, Limits())

    with monkeypatch.context() as broken:
        broken.setattr(grade, "grade_submission", lambda *_: None)  # cannot go to a process
        assert "The grader failed on it" in run()[0].notes[0]
    assert "not valid JSON" in run()[0].notes[0]


def test_odd_names_metadata_and_characters_are_no_obstacle(tmp_path):
    """Bytes that are no UTF-8 in a name, tags that are no list, half a character in an error."""
    from attnbook.assignments import exports, feedback
    from attnbook.assignments.assignment import Assignment
    from attnbook.assignments.grade import grade_folder
    from attnbook.assignments.release import student_notebook
    from attnbook.assignments.sandbox import Limits

    assignment = Assignment("one", {"softmax": 3})
    notebook = extra(solved(student_notebook(assignment)), r'raise ValueError("half \ud800")', 1)
    for cell in notebook["cells"]:
        cell["metadata"]["tags"] = 5
    (tmp_path / "in").mkdir()
    try:
        (tmp_path / "in" / os.fsdecode(b"M\xfcller.ipynb")).write_text(json.dumps(notebook))
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    graded = grade_folder(tmp_path / "in", assignment, tmp_path, 1, Limits())
    assert [(one.student, one.points) for one in graded] == [(r"M\xfcller", 3)]
    assert "half ?" in graded[0].notes[0]
    exports.write_grades(tmp_path / "grades.csv", assignment, graded)
    feedback.write_pages(tmp_path, assignment, graded)
    assert r"M\xfcller" in (tmp_path / "class.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("path", "student"),
    [
        ("ada.ipynb", "ada"),
        ("ada/hw.ipynb", "ada"),
        ("Ada Lee_12345_assignsubmission_file_/hw.ipynb", "Ada Lee"),
        ("leeada_4711_99_hw.ipynb", "leeada_4711"),
        ("leeada_LATE_4711_99_hw-2.ipynb", "leeada_4711"),
        ("müllerjörg2_4711_99_hw.ipynb", "müllerjörg2_4711"),
        ("ada_lee.ipynb", "ada_lee"),
        ("ada.ipynb.txt", "ada"),
        ("ADA.IPYNB", "ADA"),
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
    graded = [
        Graded("leeada_4711", "leeada_4711_9_hw.ipynb", "", [grade], []),
        Graded("=evil", "", "", [grade], []),
    ]
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


def test_two_of_one_name_and_other_files_are_told_apart(tmp_path):
    from attnbook.assignments.submissions import collect

    notebook = json.dumps({"cells": [{"cell_type": "code", "source": "x = 1"}]})
    for name in ("Ada Lee_1_assignsubmission_file_/a.ipynb",
                 "Ada Lee_2_assignsubmission_file_/a.ipynb",
                 "Ada Lee_1_assignsubmission_onlinetext_/text.html", "bom.ipynb", "odd.ipynb.txt",
                 "script.py", "zipped/all.zip", "foxfred_LATE_12_13_hw.ipynb", "__MACOSX/x.ipynb",
                 ".DS_Store"):  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(notebook, encoding="utf-8-sig" if name.startswith("bom") else "utf-8")
    found = {one.student: one for one in collect(tmp_path, [])}
    assert set(found) == {
        "Ada Lee (1)", "Ada Lee (2)", "bom", "odd", "script", "zipped", "foxfred_12",
    }  # fmt: skip
    assert {s for s, one in found.items() if one.problem} == {"script", "zipped"}
    assert "all.zip" in found["zipped"].problem
    assert "late" in found["foxfred_12"].notes[0]


ROSTER = (
    "Student,ID,SIS User ID,SIS Login ID,Section,hw (77)\n"
    "    Points Possible,,,,,3\n"
    '"Lee, Ada",4711,s1,ada,A,\n"Lee, Bo",2,s2,bo,A,\n"Fox, Al",3,s3,al,A,\n"Fox, Al",4,s4,al2,A,\n'
)
MOODLE_ROSTER = (
    "\ufeffFirst name;Last name;ID number;Email address\n"
    "Ada;Lee;17;ada.lee@uni.example\nBo;Fox;18;Bo.Fox@uni.example\n"
)


@pytest.mark.parametrize(
    ("text", "student", "path", "column", "value"),
    [
        (ROSTER, "leeada_4711", "leeada_4711_99_hw.ipynb", "ID", "4711"),
        (ROSTER, "Ada Lee", "Ada Lee/hw.ipynb", "ID", "4711"),
        (ROSTER, "ada", "ada.ipynb", "ID", "4711"),
        (ROSTER, "team_2", "team_2.ipynb", "ID", None),  # 2 is Bo's number, not the file's meaning
        (ROSTER, "anne_bo", "anne_bo.ipynb", "ID", None),
        (ROSTER, "Al Fox", "Al Fox.ipynb", "ID", None),  # two of that name: nobody is guessed
        (MOODLE_ROSTER, "Ada Lee", "Ada Lee_5_assignsubmission_file_/a.ipynb", "ID number", "17"),
        (MOODLE_ROSTER, "bo.fox", "bo.fox.ipynb", "Email address", "Bo.Fox@uni.example"),
        ("Identifier,Full name,Email address\nParticipant 5,Ada Lee,a@x.example\n"
         "Participant 6,Ada Lee,b@x.example\n", "Ada Lee (6)",
         "Ada Lee_6_assignsubmission_file_/a.ipynb", "Email address", "b@x.example"),
    ],
)  # fmt: skip
def test_students_are_found_in_the_roster_and_never_guessed(
    tmp_path, text, student, path, column, value
):
    from attnbook.assignments import exports
    from attnbook.assignments.grade import Graded

    (tmp_path / "roster.csv").write_text(text, encoding="utf-8")
    people = exports.read_roster(tmp_path / "roster.csv")
    person = exports.find_person(Graded(student, f"/all/{path}", "", [], []), people)
    assert person.get(column) == value


def test_canvas_gets_the_column_it_knows_and_the_id_in_the_name(tmp_path):
    from attnbook.assignments import exports
    from attnbook.assignments.assignment import Assignment
    from attnbook.assignments.grade import Graded

    (tmp_path / "roster.csv").write_text(ROSTER)
    people = exports.read_roster(tmp_path / "roster.csv")
    out, assignment = tmp_path / "canvas.csv", Assignment("hw", {"softmax": 3})
    exports.write_canvas(out, assignment, [], people)
    assert out.read_text().splitlines()[0].endswith(",Section,hw (77)")
    one = Graded("leeada_4711", "/all/leeada_4711_99_hw.ipynb", "", [], [])
    exports.write_canvas(out, assignment, [one], [])
    assert out.read_text().splitlines()[2] == "leeada_4711,4711,,,,0"


def test_who_is_missing_is_said(released, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "ada.ipynb").write_text("{")
    (folder / "stranger.ipynb").write_text("{")
    (tmp_path / "roster.csv").write_text(ROSTER)
    said = attnbook("grade", folder, "--assignment", released, "--out", tmp_path / "out",
                    "--roster", tmp_path / "roster.csv")  # fmt: skip
    assert "nothing handed in: Lee, Bo; Fox, Al; Fox, Al\n" in said
    assert "by hand): stranger" in said


@pytest.mark.parametrize("exercise_id", ["batched_attention", "MultiHeadSelfAttention"])
def test_exercises_in_torch_are_graded_within_the_limits(exercise_id, tmp_path):
    """What importing torch takes, gigabytes with CUDA, is not the submission's memory."""
    from attnbook.assignments.assignment import Assignment
    from attnbook.assignments.grade import grade_submission
    from attnbook.assignments.release import student_notebook
    from attnbook.assignments.sandbox import Limits
    from attnbook.assignments.submissions import read

    pytest.importorskip("torch")
    assignment = Assignment("one", {exercise_id: 2})
    notebook = solved(student_notebook(assignment), [exercise_id])
    (tmp_path / "ada.ipynb").write_text(json.dumps(notebook))
    submission = read("ada", tmp_path / "ada.ipynb", [exercise_id], ())
    graded = grade_submission(submission, assignment, 1, Limits(memory_bytes=200 * 1024**2))
    assert graded.grades[0].status == "passed", graded.grades[0].message
    assert graded.notes == []


def test_a_system_without_limits_is_refused_unless_trusted(tmp_path, released, monkeypatch, capsys):
    from attnbook.assignments import grade_command
    from attnbook.cli import main

    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "ada.ipynb").write_text((released / "hw.ipynb").read_text())
    monkeypatch.setattr(grade_command, "can_limit", lambda: False)
    command = ["grade", str(tmp_path / "all"), "--assignment", str(released)]
    command += ["--out", str(tmp_path / "out"), "--workers", "1"]
    assert main(command) == 2
    assert "--trusted" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert main([*command, "--trusted"]) == 0
    assert (tmp_path / "out" / "grades.csv").exists()
