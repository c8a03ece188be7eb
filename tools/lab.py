"""Open the course in JupyterLab, on your own copies of the notebooks in my-work/.

python tools/lab.py                 copy what is not there yet, then open JupyterLab
python tools/lab.py --copy-only     only copy
python tools/lab.py --no-browser    further options go to JupyterLab

A notebook that lies in my-work/ is yours: it is never written again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPIES = "my-work"
RECORD = ".copied.json"  # which version of each notebook was copied


@dataclass
class Copying:
    """What copy_notebooks did: names of notebooks."""

    copied: list[str] = field(default_factory=list)
    newer: list[str] = field(default_factory=list)  # in the course than in the copy
    kept: list[str] = field(default_factory=list)


def version(notebook: Path) -> str:
    """A fingerprint of what the notebook says: its text and code, not its outputs."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    said = [[cell["cell_type"], "".join(cell["source"])] for cell in cells]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def copy_notebooks(root: Path = ROOT) -> Copying:
    """Copy the notebooks that my-work/ does not have yet; touch no other."""
    folder, done = root / COPIES, Copying()
    folder.mkdir(exist_ok=True)
    record = read_record(folder / RECORD)
    for notebook in sorted((root / "notebooks").glob("*.ipynb")):
        name, copy = notebook.name, folder / notebook.name
        if not copy.exists():
            shutil.copyfile(notebook, copy)
            record[name] = version(notebook)
            done.copied.append(name)
        elif record.get(name, version(notebook)) != version(notebook):
            done.newer.append(name)
        else:
            done.kept.append(name)
    (folder / RECORD).write_text(json.dumps(record, indent=1, sort_keys=True), encoding="utf-8")
    return done


def read_record(path: Path) -> dict[str, str]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def say(done: Copying) -> None:
    for name in done.copied:
        print(f"{COPIES}/{name}: copied")
    if done.kept:
        print(f"{COPIES}/ keeps what is yours: {len(done.kept)} left as they are")
    for name in done.newer:
        print(
            f"{COPIES}/{name}: yours is kept; the course has a newer version. "
            "Rename yours and start again to get the new one beside it."
        )


def lab_command(root: Path, options: list[str]) -> list[str]:
    """JupyterLab with the course as its root, so that links to ../book work, opened on my-work/."""
    return [
        *(sys.executable, "-m", "jupyterlab"),
        f"--ServerApp.root_dir={root}",
        f"--LabApp.default_url=/lab/tree/{COPIES}",
        *options,
    ]


def main(arguments: list[str]) -> int:
    if {"-h", "--help"} & set(arguments):
        print(__doc__)
        return 0
    say(copy_notebooks())
    if "--copy-only" in arguments:
        return 0
    # Two threads on two busy cores are many times slower than one.
    env = {"OMP_NUM_THREADS": "1", **os.environ}
    try:
        return subprocess.call(lab_command(ROOT, arguments), cwd=ROOT, env=env)
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
