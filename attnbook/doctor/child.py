"""Ask another process, and get an answer whatever happens to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attnbook.doctor.probe import MARK

PATIENCE = 120  # seconds; a first import of torch from a slow disk can take one minute


def probe(name: str) -> dict[str, Any]:
    """The answer of probe.py; {"error": …} when it crashed or never answered."""
    return ask([sys.executable, "-m", "attnbook.doctor.probe", name])


def ask(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    patience: float = PATIENCE,
) -> dict[str, Any]:
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=patience,
            env={**os.environ, **(env or {})},
            cwd=cwd,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"no answer within {patience:g} seconds"}
    except OSError as error:
        return {"error": f"{command[0]} does not start: {error.strerror or error}"}
    for line in reversed(_text(done.stdout)):
        if line.startswith(MARK):
            return json.loads(line[len(MARK) :])
    if done.returncode < 0:
        return {"error": f"the process crashed (signal {-done.returncode})"}
    said = [line for line in _text(done.stderr) if line.strip()]
    return {"error": said[-1].strip() if said else f"exit status {done.returncode}"}


def _text(output: bytes) -> list[str]:
    return output.decode("utf-8", "replace").splitlines()
