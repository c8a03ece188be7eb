"""Judge the built site with Lighthouse, as a desktop and as a phone, and print the scores.

python tools/lighthouse.py      needs Node.js with npm, and Chromium; BROWSER_PATH names another
"""

from __future__ import annotations

import argparse
import functools
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.local_browser import FLAGS, NoBrowserError, find_browser
from tools.local_server import Quiet, served

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_build" / "html"
FOLDER = ROOT / "_build" / "lighthouse"  # git ignores it
VERSION = "12.2.3"
PAGES = ["book/intro", "notebooks/02-softmax", "notebooks/05-queries-keys-values"]
PAGES += ["notebooks/09-multi-head-attention"]
TARGETS = {
    "desktop": {"performance": 95, "accessibility": 95, "best-practices": 95, "seo": 95},
    "mobile": {"performance": 90, "accessibility": 95, "best-practices": 95, "seo": 95},
}
CHROME_FLAGS = " ".join(["--headless=new", *FLAGS])
COMPRESSED = {".html", ".css", ".js", ".svg", ".json", ".txt"}


class Compressing(Quiet):
    """Files as a web server sends them: compressed, and to be kept."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        file = Path(self.translate_path(self.path))
        if not file.is_file():
            self.send_error(404)
            return
        body = packed(file) if file.suffix in COMPRESSED else file.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(file)))
        self.send_header("Content-Length", str(len(body)))
        if file.suffix in COMPRESSED:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Cache-Control", "max-age=31536000")
        self.end_headers()
        self.wfile.write(body)


@functools.cache
def packed(file: Path) -> bytes:
    return gzip.compress(file.read_bytes(), 6)


def installed() -> Path:
    """Lighthouse's own program, installed on the first call."""
    program = FOLDER / "node_modules" / "lighthouse" / "cli" / "index.js"
    manifest = FOLDER / "node_modules" / "lighthouse" / "package.json"
    is_there = manifest.exists() and json.loads(manifest.read_text())["version"] == VERSION
    if not is_there:
        npm = shutil.which("npm")
        if npm is None:
            sys.exit("Lighthouse needs Node.js with npm: install them and try again.")
        FOLDER.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(FOLDER)]
        subprocess.run([*command, f"lighthouse@{VERSION}"], check=True)
    return program


def judge(program: Path, browser: str, url: str, device: str) -> dict:
    """One report of Lighthouse."""
    command = ["node", str(program), url, "--quiet", "--output=json"]
    command += [f"--chrome-flags={CHROME_FLAGS}"]
    command += ["--preset=desktop"] if device == "desktop" else []
    env = {**os.environ, "CHROME_PATH": browser}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"Lighthouse failed on {url}:\n{done.stderr}")
    return json.loads(done.stdout)


def scores(reports: list[dict]) -> dict[str, int]:
    """The median of each category, in hundredths."""
    names = TARGETS["desktop"]
    return {
        name: round(100 * statistics.median(r["categories"][name]["score"] for r in reports))
        for name in names
    }


def measured(reports: list[dict], audit: str) -> float:
    return statistics.median(report["audits"][audit]["numericValue"] for report in reports)


def weaknesses(report: dict, category: str) -> list[str]:
    """What cost points in a category, dearest first."""
    weights = {a["id"]: a["weight"] for a in report["categories"][category]["auditRefs"]}
    lost = {}
    for name, weight in weights.items():
        score = report["audits"][name]["score"]
        if weight and score is not None and score < 1:
            lost[name] = weight * (1 - score)
    ordered = sorted(lost, key=lost.get, reverse=True)
    return [f"{report['audits'][n]['title']} ({n})" for n in ordered]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", default=PAGES, help="pages, without .html")
    parser.add_argument("--runs", type=int, default=3, help="the median of so many runs counts")
    options = parser.parse_args()
    if not (SITE / "index.html").exists():
        sys.exit("The site is not built yet. Run `make book` first.")
    try:
        browser = find_browser()
    except NoBrowserError as error:
        sys.exit(str(error))
    program, missed = installed(), []
    print("| page | device | performance | accessibility | best practices | SEO ", end="")
    print("| largest paint, s | blocked, ms | shift | sent, kB |")
    print("| --- " * 10 + "|")
    with served(SITE, Compressing) as address:
        for page in options.pages:
            for device, targets in TARGETS.items():
                url = f"{address}/{page}.html"
                reports = [judge(program, browser, url, device) for _ in range(options.runs)]
                got = scores(reports)
                numbers = [
                    f"{measured(reports, 'largest-contentful-paint') / 1000:.1f}",
                    f"{measured(reports, 'total-blocking-time'):.0f}",
                    f"{measured(reports, 'cumulative-layout-shift'):.3f}",
                    f"{measured(reports, 'total-byte-weight') / 1000:.0f}",
                ]
                cells = [page, device, *map(str, got.values()), *numbers]
                print(f"| {' | '.join(cells)} |", flush=True)
                for name, target in targets.items():
                    if got[name] < target:
                        why = "; ".join(weaknesses(reports[-1], name))
                        missed.append(f"{page}, {device}: {name} {got[name]} < {target}: {why}")
    if missed:
        print("\nBelow the targets:", *missed, sep="\n- ")
        sys.exit(1)


if __name__ == "__main__":
    main()
