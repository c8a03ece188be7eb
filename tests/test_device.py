"""The device is the best there is, or the one asked for, or an error that says what there is."""

import subprocess
import sys

import pytest
import torch

from attnbook.device import FORCE, pick_device, turn_off_tf32


@pytest.fixture
def machine(monkeypatch):
    """A machine with so many NVIDIA GPUs, and with Apple's or without."""

    def build(cuda=0, mps=False):
        monkeypatch.delenv(FORCE, raising=False)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)

    return build


@pytest.mark.parametrize(
    ("cuda", "mps", "device"),
    [(0, False, "cpu"), (1, False, "cuda"), (0, True, "mps"), (2, True, "cuda")],
)
def test_a_gpu_is_taken_where_there_is_one(machine, cuda, mps, device):
    machine(cuda, mps)
    assert pick_device() == torch.device(device)


def test_the_environment_forces_a_device(machine, monkeypatch):
    machine(cuda=2)
    for name in ("cpu", "cuda:1", "CPU"):
        monkeypatch.setenv(FORCE, name)
        assert pick_device() == torch.device(name.lower())


def test_an_empty_variable_forces_nothing(machine, monkeypatch):
    machine(cuda=1)
    monkeypatch.setenv(FORCE, " ")
    assert pick_device().type == "cuda"


def test_the_argument_outweighs_the_environment(machine, monkeypatch):
    machine(cuda=1)
    monkeypatch.setenv(FORCE, "cuda")
    assert pick_device("cpu").type == "cpu"


@pytest.mark.parametrize("wanted", ["cuda:2", "mps"])
def test_a_device_that_is_not_there_is_refused_with_those_that_are(machine, wanted):
    machine(cuda=2)
    with pytest.raises(ValueError, match=f"no device '{wanted}'.* it can use cuda, cpu"):
        pick_device(wanted)


@pytest.mark.parametrize("wanted", ["gpu", "tpu0", "meta"])
def test_a_name_that_is_no_device_is_refused_with_those_that_are(machine, wanted):
    machine()
    with pytest.raises(ValueError, match="Choose one of cuda, mps, cpu"):
        pick_device(wanted)


def test_tf32_is_off(monkeypatch):
    torch.set_float32_matmul_precision("high")
    turn_off_tf32()
    assert torch.get_float32_matmul_precision() == "highest"
    assert not torch.backends.cudnn.allow_tf32
    assert not torch.backends.cuda.matmul.allow_tf32


def test_the_module_loads_no_torch():
    code = "import sys, attnbook.device; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
