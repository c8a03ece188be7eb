"""The parent's side of the process that runs a submission: start it, ask it, end it in time."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import site
import subprocess
import sys
import sysconfig
import tempfile
import time
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
    memory_bytes: int = 4 * 1024**3
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
    """One process with one submission in it; a context manager."""

    def __init__(self, limits: Limits):
        self.limits = limits
        self.folder = tempfile.mkdtemp(prefix="submission-")
        request_read, self._requests = os.pipe()
        self._replies, reply_write = os.pipe()
        settings = {
            "requests": request_read,
            "replies": reply_write,
            "limited": limits.enforced,
            "memory_bytes": limits.memory_bytes,
            "cpu_seconds": int(limits.seconds_in_all),
            "site_packages": _site_packages(),
        }
        # -I: no user site, no PYTHON* variables, no script folder on the path; -S: no .pth files.
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(CHILD), json.dumps(settings)],
            cwd=self.folder,
            env=_environment(self.folder),
            pass_fds=(request_read, reply_write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(request_read)
        os.close(reply_write)
        self._to_child = os.fdopen(self._requests, "wb")

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def ask(self, message: Any, seconds: float) -> Any:
        """Send a request and wait for its reply. Raises Ended when there is none in time."""
        try:
            wire.write(self._to_child, message)
            return wire.read(_Timed(self._replies, time.monotonic() + seconds))
        except TimeoutError:
            self.close()
            raise Ended(f"it did not finish within {seconds:g} seconds and was ended") from None
        except (EOFError, OSError, wire.WireError) as error:
            self.close()
            raise Ended(_why(self.process.returncode, error)) from None

    def close(self) -> None:
        """End the process and everything it started, and remove its folder."""
        if self.process.poll() is None:
            self._kill_group()
        self.process.wait()
        with contextlib.suppress(OSError):  # what was not sent goes nowhere now
            self._to_child.close()
        if self._replies is not None:
            os.close(self._replies)
            self._replies = None
        shutil.rmtree(self.folder, ignore_errors=True)

    def _kill_group(self) -> None:
        import signal

        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self.process.kill()


class _Timed:
    """Reads from a pipe with a deadline."""

    def __init__(self, descriptor: int, deadline: float):
        self._descriptor, self._deadline = descriptor, deadline

    def read(self, count: int) -> bytes:
        left = self._deadline - time.monotonic()
        ready, _, _ = select.select([self._descriptor], [], [], max(0.0, left))
        if not ready:
            raise TimeoutError
        return os.read(self._descriptor, min(count, 1 << 20))


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
