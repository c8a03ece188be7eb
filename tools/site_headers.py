"""The headers the site is served with: what its pages may do, how long a browser may keep a file.

python tools/site_headers.py                      print them, to copy into any server's settings
python tools/site_headers.py --nginx FILE         write them as a piece of nginx configuration

They are made from the built site, _build/html: the policy names each inline script by its hash.
Build first, and make them anew after each build.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.fingerprint import html_pages

ROOT = Path(__file__).resolve().parent.parent
HTML = ROOT / "_build" / "html"
# A script of any other type holds data and is not run.
RUN_TYPES = {"", "module", "importmap", "text/javascript", "application/javascript"}

KEEP = "public, max-age=31536000, immutable"
ASK_AGAIN = "no-cache"  # keep, but ask whether it has changed: a few bytes where it has not
# Where an address names the content, in its query (tools/fingerprint.py) or as the file's name (the
# figures), a browser never needs to ask again.
NAMES_CONTENT = [r"\?v=[0-9a-f]{16}$", r"/[0-9a-f]{64}\.[a-z]+$"]

ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # other sites are not told what a reader was reading
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


class Scripts(HTMLParser):
    """The scripts of a page: inline ones, those in attributes, the hosts it loads others from."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.inline: list[str] = []
        self.in_attributes: list[str] = []
        self.hosts: set[str] = set()
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name.startswith("on") or (value or "").strip().lower().startswith("javascript:"):
                self.in_attributes.append(f"<{tag} {name}={value}>")
        if tag != "script":
            return
        named = dict(attrs)
        if named.get("src"):
            parts = urlsplit(named["src"] or "")
            if parts.netloc:
                self.hosts.add(f"{parts.scheme or 'https'}://{parts.netloc}")
        elif (named.get("type") or "").lower() in RUN_TYPES:
            self._inside = True
            self.inline.append("")

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.inline[-1] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._inside = False


def other_hosts(root: Path = ROOT) -> list[str]:
    """The hosts that _config.yml lets pages load scripts from; none as the course comes."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    return config["sphinx"]["config"].get("other_hosts") or []


def script_hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def content_policy(html: Path, allowed: list[str]) -> str:
    """The Content-Security-Policy for a built site. Raises ValueError for a host not allowed."""
    hashes: set[str] = set()
    for path in html_pages(html):
        scripts = Scripts(path.read_text(encoding="utf-8"))
        if unknown := scripts.hosts - set(allowed):
            raise ValueError(
                f"{path.relative_to(html)} loads a script from {', '.join(sorted(unknown))}. "
                "If you want that, name it under other_hosts in _config.yml; the operators' page "
                "says what it means for your readers."
            )
        hashes |= {script_hash(script) for script in scripts.inline}
    hosts = "".join(f" {host}" for host in allowed)
    rules = {
        "default-src": "'none'",
        "script-src": " ".join(["'self'" + hosts, *sorted(hashes)]),
        # figures, tables and formulas are placed by style attributes
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data:" + hosts,
        "font-src": "'self'",
        "connect-src": "'self'" + hosts,
        "form-action": "'self'",
        "base-uri": "'self'",
        "frame-ancestors": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def site_headers(html: Path = HTML) -> dict[str, str]:
    """What every answer carries, a page of errors too."""
    return {"Content-Security-Policy": content_policy(html, other_hosts()), **ALWAYS}


def lifetime(address: str) -> str:
    """Cache-Control for a file that is there; `address` is its path with the query."""
    return KEEP if any(re.search(rule, address) for rule in NAMES_CONTENT) else ASK_AGAIN


def nginx(html: Path = HTML) -> str:
    """The headers in nginx's words, to be included in its http block."""
    lines = ["# Written by tools/site_headers.py for one build of the site."]
    for name, value in site_headers(html).items():
        lines.append(f'add_header {name} "{value}" always;')
    lines += ["map $request_uri $lifetime {", f'    default "{ASK_AGAIN}";']
    lines += [f'    "~{rule}" "{KEEP}";' for rule in NAMES_CONTENT]
    lines += ["}", "add_header Cache-Control $lifetime;"]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--html", type=Path, default=HTML, help="the built site")
    parser.add_argument("--nginx", type=Path, metavar="FILE", help="write nginx configuration")
    options = parser.parse_args()
    if not (options.html / "index.html").is_file():
        sys.exit(f"There is no built site in {options.html}. Run `make book` first.")
    try:
        if options.nginx:
            options.nginx.write_text(nginx(options.html), encoding="utf-8")
            return
        for name, value in site_headers(options.html).items():
            print(f"{name}: {value}")
    except ValueError as error:
        sys.exit(str(error))
    print(f"\nfor addresses that match {' or '.join(NAMES_CONTENT)}\nCache-Control: {KEEP}")
    print(f"\nfor all others\nCache-Control: {ASK_AGAIN}")


if __name__ == "__main__":
    main()
