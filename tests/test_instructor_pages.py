"""The instructors' pages say what the commands do."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from attnbook.cli import main

ROOT = Path(__file__).resolve().parents[1]
INDEX = (ROOT / "book" / "instructors" / "index.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^python -m attnbook (.+)$", INDEX, re.M)


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
