"""The environment in which notebooks are run, by the pipeline and by nbval alike."""

from __future__ import annotations

import os

# Two threads on two shared cores are many times slower than one.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
}
SET = {
    **ONE_THREAD,
    "ATTNBOOK_QUIET": "1",  # no progress bars
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # a warning of the debugger's, on stderr
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
}
# Each would make an untouched notebook behave differently.
UNSET = ("ATTNBOOK_STRICT", "NBGRADER_EXECUTION", "PYTHONWARNINGS", "PYTHONSTARTUP")


def kernel_environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in UNSET}
    return {**kept, **SET}
