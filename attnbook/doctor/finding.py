"""What a check found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

OK, INFO, WARNING, PROBLEM = "ok", "info", "warning", "problem"


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's table.

    name    stable, for scripts: python, package:numpy, device, …
    status  ok · info (good to know) · warning (works, badly) · problem (does not work)
    mend    one command or one sentence; None where there is nothing to do
    """

    name: str
    title: str
    status: str
    found: str
    mend: str | None = None
    details: dict[str, Any] = field(default_factory=dict)
