"""The workflows keep their promises as far as that can be seen without running them."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from attnbook.doctor.bounds import requirements
from tools.build_site import ROOT
from tools.run_tests import NBVAL

FOLDER = ROOT / ".github" / "workflows"
FILES = sorted(FOLDER.glob("*.yml"))
# YAML 1.1 reads the key `on` as true; this loader leaves words alone
FLOWS = {file.stem: yaml.load(file.read_text("utf-8"), yaml.BaseLoader) for file in FILES}
JOBS = {(flow, name): job for flow in FLOWS for name, job in FLOWS[flow]["jobs"].items()}
STEPS = list(chain.from_iterable(job.get("steps", []) for job in JOBS.values()))
SCRIPTS = [step["run"] for step in STEPS if "run" in step]
BIN = Path(sys.executable).parent


def run(*command):
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_schema_of_workflows_holds():
    run(BIN / "check-jsonschema", "--builtin-schema", "vendor.github-workflows", *FILES)


def test_nothing_in_the_workflows_can_be_abused():
    run(BIN / "zizmor", "--offline", "--no-progress", FOLDER)


def test_actions_are_githubs_own_and_named_by_their_major_version():
    for step in STEPS:
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"])


def test_only_the_deployment_may_write_and_only_what_it_must():
    assert FLOWS["tests"]["permissions"] == {"contents": "read"}
    assert FLOWS["pages"]["permissions"] in ({}, "{}")
    writers = {job: JOBS[job]["permissions"] for job in JOBS if "permissions" in JOBS[job]}
    wanted = {"pages": "write", "id-token": "write"}
    assert writers == {("tests", "deploy"): wanted, ("pages", "deploy"): wanted}


def test_only_what_was_tested_is_deployed_and_only_from_main():
    deploy = JOBS["tests", "deploy"]
    assert set(deploy["needs"]) == {"locked", "lax"}
    assert "github.ref == 'refs/heads/main'" in deploy["if"]
    assert deploy["uses"] == "./.github/workflows/pages.yml"
    # pages.yml takes the run's own artifact: nobody else can start it, and it makes nothing
    assert list(FLOWS["pages"]["on"]) == ["workflow_call"]
    assert [step["uses"] for step in JOBS["pages", "deploy"]["steps"]] == [
        "actions/deploy-pages@v5"
    ]


def test_the_site_is_kept_after_the_tests_and_from_where_it_is_built():
    steps = JOBS["tests", "locked"]["steps"]
    kept = next(step for step in steps if "upload-pages-artifact" in step.get("uses", ""))
    tested = next(step for step in steps if step.get("run") == ".ci/run")
    assert steps.index(tested) < steps.index(kept)
    assert "continue-on-error" not in tested
    assert kept["with"]["path"] == "_build/html"
    assert kept["if"] == "github.ref == 'refs/heads/main'"


def test_every_supported_python_is_tried_on_three_systems():
    matrix = JOBS["tests", "lax"]["strategy"]["matrix"]
    with (ROOT / "pyproject.toml").open("rb") as file:
        supported = SpecifierSet(tomllib.load(file)["project"]["requires-python"])
    assert matrix["python"] == [f"3.{minor}" for minor in range(30) if f"3.{minor}.0" in supported]
    assert [name.split("-")[0] for name in matrix["os"]] == ["ubuntu", "macos", "windows"]


def test_what_the_scripts_name_is_there():
    text = "\n".join(SCRIPTS)
    named = set(re.findall(r"(?<![\w./])(?:tools|tests|\.ci)/[\w./-]+", text))
    named |= set(re.findall(r"[\w-]*requirements[\w-]*\.txt|constraints\.txt", text))
    assert {"tools/run_tests.py", ".ci/run", "constraints.txt", "requirements-dev.txt"} <= named
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash here")
@pytest.mark.parametrize("script", SCRIPTS)
def test_the_scripts_are_proper_bash(script):
    assert "${{" not in script, "hand expressions over by env: a script must not be built from them"
    run("bash", "-n", "-c", script)


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash here")
@pytest.mark.parametrize("wanted", ["oldest", "newest"])
def test_the_oldest_and_newest_versions_follow_from_the_requirements(tmp_path, wanted):
    script = next(script for script in SCRIPTS if "versions.txt" in script)
    shutil.copy(ROOT / "requirements.txt", tmp_path)
    env = {**os.environ, "VERSIONS": wanted}
    subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, env=env, check=True)
    chosen = [Requirement(line) for line in (tmp_path / "versions.txt").read_text().splitlines()]
    assert {one.name for one in chosen} == {"numpy", "matplotlib", "torch"}
    declared = {one.name: one.specifier for one in requirements()}
    for one in chosen:
        if wanted == "newest":
            assert one.specifier == declared[one.name]
        else:
            (least,) = [part.version for part in declared[one.name] if part.operator == ">="]
            assert str(one.specifier) == f"=={least}.*"


def test_lax_is_the_strict_run_without_the_comparison():
    """run_tests.py --lax exchanges one option of the strict command."""
    assert NBVAL.count("--nbval") == 1
    assert "python tools/run_tests.py --lax" in SCRIPTS
