"""The commands by name, and the choice of one by a command line: only argparse and the chosen command are imported.

Each command has a file, `NAME_command.py`; some files have several. `arguments` makes the parser of its name, and `run`
runs it. The one-line summaries of all commands are here, because the front page of the help lists them.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from presman.cli.parser import Parser, common

COMMANDS = {
    "demo": "the monitor on a simulated database",
    "connect": "asks for a database, tries it, and writes it into config.ini",
    "fleet": "many databases, one line each, the worst first",
    "once": "one reading as text, JSON or CSV",
    "watch": "events as lines of text: for screen readers, pipes and logs",
    "export": "every poll as CSV, JSON lines or Parquet",
    "record": "every poll into a file, to replay and to query by SQL",
    "metrics": "metrics for Prometheus to scrape, or pushed to an OpenTelemetry collector",
    "status": "running recorders and exporters, and their state",
    "serve": "the monitor in a browser, read-only",
    "replay": "a recording on the screens of the monitor",
    "report": "a period of a recording as one HTML page: events, charts, statements, plan",
    "bundle": "a short recording without names and texts, to send to others",
    "compare": "what differs between two periods of recordings, by how much, and whether it is more than noise",
    "chart": "a chart of a file that `presman export` wrote: in the terminal, as a picture or a page",
    "check": "one line and an exit code for Nagios, Icinga or cron",
    "alerts": "the rules behind the alerts, their thresholds, and with a TARGET their state",
    "why": "why a queued statement has not started, when it should, and what would let it start",
    "whatif": "replay observed parallel statements under other limits",
    "advise": "directives under which statements would have started in time, as a script to read",
    "lint": "problems in the active plans, and why",
    "doctor": "what presman can see in a database, and which grants are missing",
    "grants": "grants.sql: creates a user who can read what presman reads, and nothing more",
    "collect": "a script that spools what presman reads, for sites that allow no tools",
    "trace": "waits of 10046 trace files: counts, percentiles, charts, CSV",
    "config": "where each setting comes from; --sample prints a config.ini",
    "completions": "completions of bash, zsh and fish, and the manual page; --install puts them in place",
}
"""Each command with its summary."""

ALL = ("monitor", *COMMANDS, "v1")
"""All commands; those without a word of their own are the monitor and the tables of presman 1.x (`-m`)."""

_V1_OPTIONS = ("-m", "-c", "-p", "-o")


_TOGETHER = {
    "setup": ("doctor", "grants", "collect", "config"),
    "look": ("once", "alerts", "lint", "why", "watch"),
    "monitor": ("monitor", "demo", "replay"),
    "reports": ("report", "compare", "chart"),
}
"""Files with several commands: `doctor_arguments` and `doctor_run` there are `arguments` and `run` elsewhere."""

_FILES = {command: file for file, commands in _TOGETHER.items() for command in commands}


def _part(command: str, name: str) -> Any:
    """Return a function of a command from its file."""
    module = import_module(f"presman.cli.{_FILES.get(command, command)}_command")
    return getattr(module, f"{command}_{name}" if command in _FILES else name)


def parser_of(command: str) -> Parser:
    """Return the parser of a command's options."""
    parser: Parser = _part(command, "arguments")(command)
    return parser


def run(command: str, options: argparse.Namespace) -> int | None:
    """Run a command; return its exit code, None for 0."""
    code: int | None = _part(command, "run")(options)
    return code


def parse(arguments: Sequence[str] | None = None) -> tuple[str, argparse.Namespace]:
    """Return the command and its options. Raises Failure; --help and --version exit."""
    given = sys.argv[1:] if arguments is None else arguments
    # A word after --thick is a TARGET or a command; the folder of --thick comes after "=".
    named = next((word for word in given if word in COMMANDS), "")
    shared = common(f"presman {named}".rstrip())
    known, rest = shared.parse_known_args(["--thick=" if word == "--thick" else word for word in given])
    word = rest[0] if rest else ""
    if word in COMMANDS:
        return word, parser_of(word).read(rest[1:], known)
    command = "v1" if any(item[:2] in _V1_OPTIONS for item in rest if item[:2] != "--") else "monitor"
    if command == "v1" and not {"-h", "--help"}.isdisjoint(rest):
        rest = ["--help", *(word for word in rest if word == "all")]
    return command, parser_of(command).read(rest, known)
