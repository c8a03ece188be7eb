"""The parent's side of the process that runs a submission: start it, ask it, end it in time."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import site
import subprocess
import sys
import sysconfig
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnbook.assignments import wire

CHILD = Path(__file__).with_name("child.py")


@dataclass(frozen=True)
class Limits:
    """What one submission may use."""

    seconds_per_cell: float = 60.0
    seconds_in_all: float = 600.0  # of processor time, per process
    memory_bytes: int = 4 * 1024**3  # beside what the libraries take
    enforced: bool = True  # False only where the system cannot, and --trusted was given


class Ended(Exception):
    """The process is gone: it was ended for taking too long, or ended itself."""


def can_limit() -> bool:
    """Can this system set limits of memory and time on a process?"""
    try:
        import resource  # noqa: F401
    except ImportError:
        return False
    return os.name == "posix"


class Sandbox:
    """One process with one submission in it, until it is closed or has ended."""

    def __init__(self, limits: Limits, libraries: tuple[str, ...] = ("numpy",)):
        self.limits = limits
        self.folder = tempfile.mkdtemp(prefix="submission-")
        settings = {
            "limited": limits.enforced,
            "memory_bytes": limits.memory_bytes,
            "cpu_seconds": int(limits.seconds_in_all),
            "site_packages": _site_packages(),
            "libraries": libraries,  # loaded first: what they take does not count
        }
        # -I: no user site, no PYTHON* variables, no script folder on the path; -S: no .pth files.
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(CHILD), json.dumps(settings)],
            cwd=self.folder,
            env=_environment(self.folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        # Pipes cannot be waited for with a time limit on every system; a queue can.
        self._replies: queue.Queue[Any] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def ask(self, message: Any, seconds: float) -> Any:
        """Send a request and wait for its reply. Raises Ended when there is none in time."""
        try:
            wire.write(self.process.stdin, message)
            reply = self._replies.get(timeout=seconds)
        except queue.Empty:
            self.close()
            raise Ended(f"it did not finish within {seconds:g} seconds and was ended") from None
        except (OSError, ValueError):  # the pipe is closed
            reply = EOFError()
        if isinstance(reply, Exception):
            self.close()
            raise Ended(_why(self.process.returncode, reply))
        return reply

    def _listen(self) -> None:
        """Put every reply in the queue, and the reason why there will be no more."""
        try:
            while True:
                self._replies.put(wire.read(self.process.stdout))
        except (EOFError, OSError, ValueError) as error:
            self._replies.put(error)

    def close(self) -> None:
        """End the process and everything it started, and remove its folder."""
        if self.process.poll() is None:
            self._kill_group()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):  # what was not sent goes nowhere now
                pipe.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _kill_group(self) -> None:
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except (AttributeError, ProcessLookupError, PermissionError):  # no groups on Windows
            self.process.kill()


def _why(returncode: int | None, error: Exception) -> str:
    if isinstance(error, wire.WireError):
        return f"it sent something that is not an answer ({error})"
    if returncode is not None and returncode < 0:
        return (
            f"the process was ended by signal {-returncode} (too much memory or time, or a crash)"
        )
    return "the process ended itself (exit was called, or it crashed)"


def _site_packages() -> list[str]:
    """Where numpy and torch are; .pth files there are not read by the child."""
    paths = sysconfig.get_paths()
    folders = [paths["purelib"], paths["platlib"], *site.getsitepackages()]
    return list(dict.fromkeys(folder for folder in folders if os.path.isdir(folder)))


def _environment(folder: str) -> dict[str, str]:
    """A fresh environment: nothing of the instructor's is passed on."""
    one = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
    kept = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "LD_LIBRARY_PATH")  # numerical libraries' own
    return {
        **dict.fromkeys(one, "1"),
        **{name: os.environ[name] for name in kept if name in os.environ},
        "HOME": folder,
        "TMPDIR": folder,
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": folder,
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
    }
