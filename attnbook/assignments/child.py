"""The process that runs one submission. It gets cells and inputs, and gives back outputs.

Started as `python -I -S child.py SETTINGS_JSON`; requests come in on its standard input, replies
go out on its standard output, and both are moved out of the notebook's way at once. It never holds
an expected value or a seed, and it cannot import the course's package: the notebook's
`import attnbook` finds the small stand-in made here. Site packages are put on
the path by hand (their .pth files are not read, so an editable installation is not found either).
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import sys
import types
from pathlib import Path
from typing import Any

_ABSENT = object()


class _Anything(types.ModuleType):
    """A module whose every name is a function that does nothing: figures are not drawn here."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: None


def _stand_in(names: dict[str, Any]) -> None:
    """Modules `attnbook` and `attnbook.…` with what a notebook may ask of them."""
    package = _Anything("attnbook")
    package.__path__ = []
    package.__dict__.update(names)
    sys.modules["attnbook"] = package
    for part in ("exercises", "figures"):
        module = _Anything(f"attnbook.{part}")
        module.__path__ = []
        sys.modules[f"attnbook.{part}"] = module
        setattr(package, part, module)


def _load(name: str, path: Path) -> types.ModuleType:
    """Load one of the course's files under its own name, without the package around it."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _limit(memory_bytes: int, cpu_seconds: int) -> None:
    import resource

    for what, most in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_FSIZE, 10 * 1024 * 1024),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 256),
    ):
        resource.setrlimit(what, (most, most))


def _mapped() -> int:
    """Bytes of address space that Python and the libraries take already.

    A build of PyTorch for CUDA maps several gigabytes that it never fills; they are not the
    submission's.
    """
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (OSError, ValueError, IndexError):  # not Linux
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _move_away(stream: int) -> Any:
    """A private binary file on what was standard input (0) or output (1)."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(stream, os.O_BINARY)
    return os.fdopen(os.dup(stream), "rb" if stream == 0 else "wb")


def main() -> None:
    settings = json.loads(sys.argv[1])
    sys.argv = ["notebook"]
    requests, replies = (_move_away(stream) for stream in (0, 1))
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # whatever is printed, also by libraries in C, goes nowhere
        os.dup2(quiet, stream)
    sys.path.extend(settings["site_packages"])
    for library in settings["libraries"]:
        with contextlib.suppress(ImportError):  # the notebook's own import will say so
            importlib.import_module(library)
    if settings["limited"]:
        _limit(_mapped() + settings["memory_bytes"], settings["cpu_seconds"])
    handed: dict[str, Any] = {}

    def check(exercise_id: Any = None, candidate: Any = None, *args: Any, **kwargs: Any) -> Any:
        if isinstance(exercise_id, str):
            handed[exercise_id] = candidate
        return candidate

    nothing = lambda *args, **kwargs: None  # noqa: E731
    _stand_in({"check": check, "show_solution": nothing, "summary": nothing})
    here = Path(__file__).resolve().parents[1]
    _load("attnbook.exercises.exercise", here / "exercises" / "exercise.py")
    run = _load("attnbook.exercises.run", here / "exercises" / "run.py")
    wire = _load("attnbook.assignments.wire", here / "assignments" / "wire.py")
    serve(requests, replies, run, wire, handed)


def serve(requests: Any, replies: Any, run: Any, wire: Any, handed: dict[str, Any]) -> None:
    """Run cells and answer calls until the pipe closes."""
    notebook = types.ModuleType("__main__")
    shell = _Anything("shell")  # what magics and shell lines become: they do nothing
    notebook.__dict__["get_ipython"] = lambda: shell
    sys.modules["__main__"] = notebook
    scope = notebook.__dict__
    borrowed: dict[str, Any] = {}
    while True:
        try:
            request = wire.read(requests)
        except EOFError:
            return
        if request["do"] == "cell":
            reply = run_cell(request, scope, run)
        elif request["do"] == "lend":
            reply = lend(request, scope, borrowed, run)
        else:
            candidate = find(request["exercise"], request["names"], scope, handed)
            if request["do"] == "describe":
                reply = run.describe(candidate)
            else:
                reply = run.use(candidate, request["call"], request["library"])
        try:
            wire.write(replies, reply)
        except wire.WireError as error:
            wire.write(replies, wire.Result(error=f"WireError: {error}"))


def run_cell(request: dict[str, Any], scope: dict[str, Any], run: Any) -> dict[str, Any]:
    """Run one cell; say which names it defined and what it raised."""
    before = {name: id(value) for name, value in scope.items()}
    error = None
    try:
        code = compile(request["source"], request["name"], "exec")
        _remember(request["name"], request["source"])
        with run.time_limit(request["seconds"]), run.quiet():
            exec(code, scope)
    except run.OutOfTime:
        error = f"it did not finish within {request['seconds']:g} seconds"
    except MemoryError:
        error = "MemoryError: it asked for more memory than it may have"
    except BaseException as raised:  # a cell may raise, exit or interrupt: the next one still runs
        error = run.sentence(raised)
    defined = [n for n, v in scope.items() if before.get(n) != id(v) and not n.startswith("__")]
    return {"error": error, "defined": defined}


def lend(
    request: dict[str, Any], scope: dict[str, Any], borrowed: dict[str, Any], run: Any
) -> dict[str, Any]:
    """Put functions in place of the notebook's own, and what was lent before back as it was.

    They live in a namespace of their own, so nothing in the notebook can change what they call.
    """
    for name, value in borrowed.items():
        scope.pop(name, None)
        if value is not _ABSENT:
            scope[name] = value
    borrowed.clear()
    own: dict[str, Any] = {}
    reply = run_cell({**request, "name": "<the course>"}, own, run)
    for name, source in request["names"].items():
        if source in own or source in scope:
            borrowed[name] = scope.get(name, _ABSENT)
            scope[name] = own[source] if source in own else scope[source]
    return reply


def _remember(name: str, source: str) -> None:
    """Let tracebacks show the cell's lines."""
    import linecache

    linecache.cache[name] = (len(source), None, source.splitlines(True), name)


def find(exercise_id: str, names: list[str], scope: dict[str, Any], handed: dict[str, Any]) -> Any:
    """The candidate: the first of `names` that the notebook defines, else what check was given."""
    for name in names:
        if name in scope:
            return scope[name]
    return handed.get(exercise_id, ...)


if __name__ == "__main__":
    main()
