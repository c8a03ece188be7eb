"""Write constraints.txt from what is installed: the exact versions the course is tested with."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEAD = "# The exact versions the course is tested with. Made by `make lock`; do not edit by hand.\n"


def main() -> None:
    command = [sys.executable, "-m", "pip", "freeze", "--all"]
    for own in ("attnbook", "pip", "wheel"):
        command += ["--exclude", own]
    frozen = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    pins = [line for line in frozen.splitlines() if re.fullmatch(r"[\w.-]+==\S+", line)]
    # 2.13.0+cpu is a build of 2.13.0; which build to take is the reader's choice
    pins = [pin.split("+")[0] for pin in pins]
    (ROOT / "constraints.txt").write_text(HEAD + "\n".join(pins) + "\n", encoding="utf-8")
    print(f"constraints.txt: {len(pins)} packages")


if __name__ == "__main__":
    main()
