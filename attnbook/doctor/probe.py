"""Try what could fail, in a process of its own: python -m attnbook.doctor.probe NAME

Prints one line of JSON. A failure is an answer too: {"error": …}.
"""

from __future__ import annotations

import io
import json
import os
import sys
import textwrap
from typing import Any

MARK = "attnbook-probe: "  # libraries may print too


def numpy() -> dict[str, Any]:
    import numpy as np

    matrix = np.eye(2)
    assert (matrix @ matrix == matrix).all()
    return {"version": np.__version__, "file": np.__file__}


def torch() -> dict[str, Any]:
    import torch

    found = {
        "version": torch.__version__,
        "file": torch.__file__,
        "threads": torch.get_num_threads(),
        "cuda_build": torch.version.cuda,
    }
    try:
        found.update(_device())
    except Exception as error:
        found["device_error"] = first_line(error)
    return found


def _device() -> dict[str, Any]:
    import torch

    from attnbook.device import pick_device

    device = pick_device()
    matrix = torch.eye(2).to(device)
    assert torch.equal((matrix @ matrix).cpu(), torch.eye(2))
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else None
    return {"device": str(device), "device_name": name}


def figures() -> dict[str, Any]:
    # what a notebook's kernel does before it imports matplotlib
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    import matplotlib
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    axes.plot([0, 1], [0, 1])
    figure.savefig(io.BytesIO(), format="png")
    return {"version": matplotlib.__version__, "backend": matplotlib.get_backend()}


def kernel() -> dict[str, Any]:
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    try:
        spec = KernelSpecManager().get_kernel_spec("python3")
    except NoSuchKernel:
        return {"command": None}
    command = list(spec.argv)
    # Jupyter starts a plain `python` as the Python it runs in itself
    major, minor = sys.version_info[:2]
    if command and command[0] in ("python", f"python{major}", f"python{major}.{minor}"):
        command[0] = sys.executable
    return {"command": command, "folder": spec.resource_dir, "env": dict(spec.env or {})}


PROBES = {probe.__name__: probe for probe in (numpy, torch, figures, kernel)}


def first_line(error: BaseException) -> str:
    """Like "ModuleNotFoundError: No module named 'torch'", and no longer than two lines."""
    text = (str(error).strip() or "no message").splitlines()[0]
    return textwrap.shorten(f"{type(error).__name__}: {text}", 150, placeholder=" …")


def main(name: str) -> None:
    try:
        found = PROBES[name]()
    except Exception as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        found = {"error": first_line(error), "missing": missing}
    print(f"\n{MARK}{json.dumps(found)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
