"""The commands of `python -m attnbook`.

A command is a module with `add_arguments(parser)` and `run(options) -> exit status`, named in
COMMANDS. It is imported only when it is the one asked for, so that one command's libraries are
never another's problem.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

# command: (module, help in one line)
COMMANDS = {
    "release": ("attnbook.assignments.release_command", "make an assignment of chosen exercises"),
    "grade": ("attnbook.assignments.grade_command", "grade a folder of submissions"),
    "doctor": (
        "attnbook.doctor.command",
        "say what is missing on this machine, and how to mend it",
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(
        prog="python -m attnbook",
        description="Tools of the course on self-attention.",
        epilog="`python -m attnbook COMMAND --help` says more about a command.",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, (module, help_line) in COMMANDS.items():
        if name in arguments:
            command = importlib.import_module(module)
            about = (command.__doc__ or help_line).strip()
            chosen = commands.add_parser(
                name,
                help=help_line,
                description=about,
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
            command.add_arguments(chosen)
            chosen.set_defaults(run=command.run)
        else:
            commands.add_parser(name, help=help_line)
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 2
    return options.run(options)
