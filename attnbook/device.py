"""Where PyTorch computes, and how exactly. torch is imported when a function is called."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

FORCE = "ATTNBOOK_DEVICE"  # cpu, cuda, cuda:1 or mps in this variable forces that device
KINDS = ("cuda", "mps", "cpu")  # in the order of preference


def pick_device(wanted: str | None = None) -> torch.device:
    """The device to use: `wanted`, else $ATTNBOOK_DEVICE, else a GPU if there is one, else the CPU.

    Draw random tensors on the CPU, then move them: the same seed gives other numbers on a GPU.
    MPS, Apple's GPU, has no float64: move what needs it to the CPU.
    Raises ValueError if the wanted device is not there.
    """
    import torch

    asked = wanted or os.environ.get(FORCE, "").strip()
    if asked:
        return _demand(asked)
    return torch.device(next(kind for kind in KINDS if _count(kind)))


def turn_off_tf32() -> None:
    """Multiply float32 as float32 on NVIDIA GPUs.

    TF32 keeps 10 bits of the mantissa instead of 23: faster, and wrong from the fourth digit on.
    """
    import torch

    torch.set_float32_matmul_precision("highest")  # matrix products
    torch.backends.cudnn.allow_tf32 = False  # convolutions, where it is on by default


def _count(kind: str) -> int:
    """How many devices of a kind this torch can use."""
    import torch

    if kind == "cuda":
        return torch.cuda.device_count() if torch.cuda.is_available() else 0
    return int(kind == "cpu" or torch.backends.mps.is_available())


def _demand(asked: str) -> torch.device:
    import torch

    try:
        device = torch.device(asked.lower())
    except RuntimeError:
        device = None
    if device is None or device.type not in KINDS:
        raise ValueError(f"There is no device {asked!r}. Choose one of {', '.join(KINDS)}.")
    if (device.index or 0) >= _count(device.type):
        usable = ", ".join(kind for kind in KINDS if _count(kind))
        raise ValueError(f"PyTorch finds no device {asked!r} on this machine; it can use {usable}.")
    return device
