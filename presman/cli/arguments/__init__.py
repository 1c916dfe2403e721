"""The command line: which commands and options there are. Reading it imports nothing but argparse."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from presman.cli.arguments import judging, keeping, preparing, recorded, watching
from presman.cli.arguments.options import common
from presman.cli.arguments.summaries import COMMANDS
from presman.cli.parser import Parser

PARSERS: dict[str, Callable[[], Parser]] = {
    "monitor": watching.monitor,
    "demo": watching.demo,
    "connect": preparing.connect,
    "fleet": watching.fleet,
    "once": judging.once,
    "watch": watching.watch,
    "export": keeping.export,
    "record": keeping.record,
    "metrics": keeping.metrics,
    "status": keeping.status,
    "serve": watching.serve,
    "replay": recorded.replay,
    "report": recorded.report,
    "bundle": recorded.bundle,
    "compare": recorded.compare,
    "chart": recorded.chart,
    "check": judging.check,
    "alerts": judging.alerts,
    "whatif": judging.whatif,
    "doctor": preparing.doctor,
    "grants": preparing.grants,
    "lint": judging.lint,
    "collect": preparing.collect,
    "trace": recorded.trace,
    "config": preparing.config,
    "completions": preparing.completions,
    "classic": watching.classic,
}
_CLASSIC = ("-m", "-c", "-p", "-o")


def parse(arguments: Sequence[str] | None = None) -> tuple[str, argparse.Namespace]:
    """Return the command and its options. Raises Failure; --help and --version exit."""
    given = sys.argv[1:] if arguments is None else arguments
    # What follows --thick is not its folder, which comes after "=", but a TARGET or a command.
    known, rest = common().parse_known_args(["--thick=" if word == "--thick" else word for word in given])
    word = rest[0] if rest else ""
    if word in COMMANDS:
        return word, PARSERS[word]().read(rest[1:], known)
    command = "classic" if any(item[:2] in _CLASSIC for item in rest if item[:2] != "--") else "monitor"
    if command == "classic" and not {"-h", "--help"}.isdisjoint(rest):
        rest = ["--help", *(word for word in rest if word == "all")]
    return command, PARSERS[command]().read(rest, known)
