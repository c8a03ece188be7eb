"""Write the address of the repository and of the site where they belong.

python tools/set_address.py https://github.com/name/course            of the repository
python tools/set_address.py --site https://name.github.io/course/     of the site
python tools/set_address.py                                           after an edit of _config.yml

_config.yml is the one place for both; CITATION.cff repeats them. An empty address, "", takes one
out. `make notebooks book` then brings them into the notebooks and onto the pages.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import yaml

ROOT = Path(__file__).resolve().parent.parent
# In _config.yml: the part and the key.      In CITATION.cff: the key.
PLACES = {("repository", "url"): "repository-code", ("html", "baseurl"): "url"}
REPOSITORY, SITE = PLACES


def cleaned(address: str, place: tuple[str, str]) -> str:
    """The address in its usual form. Raises ValueError with a sentence where it is none."""
    address = address.strip()
    parts = urlsplit(address)
    if not address:
        return ""
    if parts.scheme != "https" or not parts.hostname or re.search(r"[\s\"'<>\\?#@]", address):
        raise ValueError(
            f"{address} is not an address that begins with https:// and has no extras."
        )
    if place == SITE:
        return address.rstrip("/") + "/"
    address = address.rstrip("/").removesuffix(".git")
    if urlsplit(address).path.count("/") < 2:
        raise ValueError(f"{address} names no repository: https://host/owner/name does.")
    return address


def can_be_read(repository: str) -> bool:
    """True when anybody can read that repository from here, without a password."""
    quiet = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "true"}
    command = ["git", "-c", "credential.helper=", "ls-remote", "--", repository]
    try:
        done = subprocess.run(command, env=quiet, capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def read(root: Path, place: tuple[str, str]) -> str:
    part, key = place
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    return config[part].get(key) or ""


def write(root: Path, place: tuple[str, str], address: str) -> None:
    """Change one line of _config.yml; its comments stay."""
    part, key = place
    path = root / "_config.yml"
    line = re.compile(rf"(^{part}:\n(?:(?:[ #].*)?\n)*?  {key}: ).*", re.M)
    text, changed = line.subn(lambda found: f'{found[1]}"{address}"', path.read_text("utf-8"))
    if changed != 1:
        raise ValueError(f"_config.yml has no line `  {key}:` under `{part}:`.")
    path.write_text(text, encoding="utf-8")


def citation(text: str, addresses: dict[str, str]) -> str:
    """CITATION.cff with these addresses, each where its key is or at the end."""
    for key, address in addresses.items():
        text = re.sub(rf"^{key}:.*\n", "", text, flags=re.M)
        text += f'{key}: "{address}"\n' if address else ""
    return text


def update_citation(root: Path = ROOT) -> bool:
    """Bring CITATION.cff up to date with _config.yml; False when it was."""
    path = root / "CITATION.cff"
    before = path.read_text(encoding="utf-8")
    after = citation(before, {key: read(root, place) for place, key in PLACES.items()})
    path.write_text(after, encoding="utf-8")
    return after != before


def main(root: Path = ROOT) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("repository", nargs="?", help='its address, or "" to take it out')
    parser.add_argument("--site", help='the address of the site, or "" to take it out')
    parser.add_argument(
        "--unchecked", action="store_true", help="do not try to read the repository"
    )
    options = parser.parse_args()
    wanted = {REPOSITORY: options.repository, SITE: options.site}
    try:
        new = {place: cleaned(text, place) for place, text in wanted.items() if text is not None}
        repository = new.get(REPOSITORY)
        if repository and not options.unchecked and not can_be_read(repository):
            sys.exit(
                f"Nobody can read a repository at {repository} from here, so nothing was changed. "
                "Publish it first; or, if this machine has no network, add --unchecked."
            )
        for place, address in new.items():
            write(root, place, address)
    except ValueError as error:
        sys.exit(str(error))
    update_citation(root)
    print(f"repository: {read(root, REPOSITORY) or 'no address'}")
    print(f"site: {read(root, SITE) or 'no address'}")
    print("Now run `make notebooks book`, look at the changes and commit them.")


if __name__ == "__main__":
    main()
