"""The instructors' pages say what the commands do."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from attnbook.assignments.assignment import choose
from attnbook.cli import main
from attnbook.exercises import get
from tools.course import Course

ROOT = Path(__file__).resolve().parents[1]
INDEX = (ROOT / "book" / "instructors" / "index.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^python -m attnbook (.+)$", INDEX, re.M)
PLAN = (ROOT / "book" / "instructors" / "term-plan.md").read_text(encoding="utf-8")
WEEKS = re.findall(
    r"^\| \d \| chapters (\d+) (and|to) (\d+) \| `(.+?)` \| (\d+) min \|", PLAN, re.M
)


def test_the_page_of_exercises_is_up_to_date():
    run = subprocess.run(
        [sys.executable, "tools/exercise_pages.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_commands_on_the_page_run_as_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert len(COMMANDS) == 2
    release, grade = (shlex.split(command) for command in COMMANDS)
    assert main(release) == 0
    (tmp_path / "submissions").mkdir()
    (tmp_path / "submissions" / "ada.ipynb").write_text(
        (tmp_path / "hw1" / "hw1.ipynb").read_text()
    )
    assert main(grade) == 0
    printed = capsys.readouterr().out
    for name in re.findall(r"^- `([\w.]+)/?`", INDEX, re.M):
        found = list(tmp_path.rglob(name))
        assert found, f"{name} is promised and was not written"
    assert "1 submission" in printed


@pytest.mark.parametrize("option", re.findall(r"`(--[a-z-]+)", INDEX))
def test_every_option_on_the_page_exists(option, capsys):
    helps = ""
    for command in ("release", "grade"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        helps += capsys.readouterr().out
    assert option in helps


def test_the_plan_of_four_weeks_has_that_many():
    assert len(WEEKS) == 4


@pytest.mark.parametrize(("first", "joined", "last", "assigned", "minutes"), WEEKS)
def test_a_week_takes_the_minutes_that_the_plan_says(first, joined, last, assigned, minutes):
    numbers = range(int(first), int(last) + 1) if joined == "to" else (int(first), int(last))
    chapters = [chapter for chapter in Course().ready if chapter.number in numbers]
    assert len(chapters) == len(numbers)
    reading = sum(chapter.reading_minutes for chapter in chapters)
    assert int(minutes) == reading + sum(get(name).minutes for name in choose(assigned))
