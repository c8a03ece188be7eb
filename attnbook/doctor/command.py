"""Look at this machine with the course's eyes: what is missing, and how to mend it.

Exit status: 0 when everything needed is there, 1 when there is a problem. A warning or a piece of
information changes nothing in that. With --json, one object:

  format      1; changes when a key changes its meaning
  healthy     true or false, as the exit status
  summary     the last line of the table
  checks      a list; each has name (stable), title, status (ok, info, warning, problem),
              found, mend (a command or a sentence, or null) and details (an object)
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from attnbook.doctor import checks
from attnbook.doctor.child import probe
from attnbook.doctor.finding import INFO, PROBLEM, WARNING, Finding
from attnbook.doctor.probe import PROBES
from attnbook.pretrained.files import MODELS

# How the line below a finding begins.
MEND = {PROBLEM: "mend", WARNING: "better", INFO: "when you need it"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, for scripts")


def run(options: argparse.Namespace) -> int:
    if sys.stderr.isatty():
        print("Looking at this machine; this takes some seconds.\n", file=sys.stderr)
    findings = examine()
    healthy = not problems(findings)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a path may hold what this terminal cannot show
    print(as_json(findings) if options.json else table(findings))
    return 0 if healthy else 1


def examine() -> list[Finding]:
    """All checks, in the order in which to mend what they find."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        answers = {name: pool.submit(probe, name) for name in PROBES}
        findings = guard("python", checks.check_python)
        findings += guard("course", checks.check_course)
        findings += guard("packages", checks.check_packages, answers)
        broken = {finding.name.removeprefix("package:") for finding in problems(findings)}
        findings += guard("figures", checks.check_figures, answers, broken)
        findings += guard("kernel", checks.check_kernel, answers)
        findings += guard("device", checks.check_device, answers)
        findings += guard("threads", checks.check_threads, answers)
        findings += guard("folder", checks.check_folder)
        for model in MODELS:
            findings += guard(f"model:{model.name}", checks.check_model, model)
    return findings


def guard(name: str, check: Callable[..., Finding | list[Finding]], *args: object) -> list[Finding]:
    """What the check finds; a problem of its own when the check itself fails."""
    try:
        found = check(*args)
    except Exception as error:
        text = f"this check failed itself: {type(error).__name__}: {error}"
        return [Finding(name, name, PROBLEM, text, "Report it: it is a bug of the course.")]
    return found if isinstance(found, list) else [found]


def problems(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.status == PROBLEM]


def summary(findings: list[Finding]) -> str:
    """One sentence on what works."""
    names = {finding.name for finding in problems(findings)}
    if not names:
        return "Healthy: all that the course needs is here."
    count = "1 problem" if len(names) == 1 else f"{len(names)} problems"
    text = f"{count}. Mend from the top, then run this again."
    if names == {"package:torch"}:
        text += f" {checks.NUMPY_CHAPTERS.capitalize()} run as it is."
    return text


def as_json(findings: list[Finding]) -> str:
    report = {
        "format": 1,
        "healthy": not problems(findings),
        "summary": summary(findings),
        "checks": [dataclasses.asdict(finding) for finding in findings],
    }
    return json.dumps(report, indent=2)


def table(findings: list[Finding], width: int | None = None) -> str:
    """Status, title and what was found; what to do about it on a line of its own, never broken."""
    width = width or min(shutil.get_terminal_size((88, 24)).columns, 100)
    titles = max(len(finding.title) for finding in findings)
    left = len("problem") + 2 + titles + 2
    lines = []
    for finding in findings:
        head = f"{finding.status:7}  {finding.title:{titles}}  "
        lines += textwrap.wrap(
            finding.found,
            max(width, left + 24),
            initial_indent=head,
            subsequent_indent=" " * left,
            break_long_words=False,
            break_on_hyphens=False,
        )
        if finding.mend:
            lines.append(f"{'':9}{MEND[finding.status]}: {finding.mend}")
    return "\n".join([*lines, "", summary(findings)])
