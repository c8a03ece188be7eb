"""The package behind the course on self-attention.

Notebooks need three names: `check`, `show_solution`, `summary`. Importing this loads no torch.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"
__all__ = ["check", "show_solution", "summary"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from attnbook.exercises import notebook

        return getattr(notebook, name)
    raise AttributeError(f"module 'attnbook' has no attribute {name!r}")
