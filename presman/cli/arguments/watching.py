"""Arguments of those who look: the monitor, the demo, the fleet, in words, in a browser, as presman 1.x."""

from __future__ import annotations

import argparse

from presman.cli import exit_codes
from presman.cli.arguments.options import TARGET_HELP, command_parser, common
from presman.cli.arguments.summaries import COMMANDS
from presman.cli.parser import OneOf, Parser, listening, measure, positive, seconds, some_seconds


def monitor() -> Parser:
    """Return the parser of `presman [TARGET]`, which is also the front page of the help."""
    parser = Parser(
        prog="presman",
        description="Monitor of Oracle Database Resource Manager and the parallel statement queue.",
        usage="presman [OPTIONS] [TARGET]\n       presman [OPTIONS] COMMAND ...",
        epilog=f"""\
commands (each has --help):
{_summaries()}

{TARGET_HELP}

examples:
  presman demo
  presman system@dbhost/orclpdb1
  presman once prod --format json
  presman export prod --measure parallel -o parallel.csv
  presman -m cpu -c 4 -p -o cpu.csv     (as presman 1.x; presman -m cpu --help)

environment: PRESMAN_CONFIG, PRESMAN_PASSWORD, PRESMAN_DEBUG=1 (tracebacks), NO_COLOR, TNS_ADMIN
{exit_codes.HELP}""",
        parents=[common()],
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="what to watch (see below)")
    parser.add_argument("--polls", type=positive, default=3, metavar="N", help="without a terminal: readings to print")
    parser.add_argument(
        "--allow-actions",
        action="store_true",
        help="offer to start, switch, cancel or kill (key a), after a question",
    )
    parser.add_argument("--bell", action="store_true", help="ring the terminal's bell when a new alert appears")
    parser.add_argument("--version", action="store_true", help="show presman's version and exit")
    parser.add_argument("--verbose", action="store_true", help="with --version: those of all libraries, too")
    return parser


def _summaries() -> str:
    width = max(map(len, COMMANDS))
    return "\n".join(f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items())


def demo() -> Parser:
    """Return the parser of `presman demo`."""
    parser = command_parser(
        "demo",
        "The monitor on a simulated database. Without a terminal a few readings are printed as text.",
        """\
  presman demo
  presman demo storm --speed 10
  presman demo:my-plan.toml
  presman demo --list
  presman demo --polls 1 | less""",
    )
    parser.add_argument("scenario", nargs="?", metavar="SCENARIO", help="name or FILE.toml (default: mixed)")
    parser.add_argument("--list", action="store_true", help="name the scenarios")
    parser.add_argument("--seed", type=int, metavar="N", help="another sequence of events")
    parser.add_argument("--speed", type=float, metavar="X", help="X simulated seconds per second")
    parser.add_argument("--size", type=float, metavar="F", help="a machine and a load F times as big")
    parser.add_argument("--release", metavar="R", help="shape the views as release R has them (19, 12.1, ...)")
    parser.add_argument("--polls", type=positive, default=3, metavar="N", help="without a terminal: readings to print")
    parser.add_argument(
        "--allow-actions",
        action="store_true",
        help="offer to start, switch, cancel or kill (key a), after a question",
    )
    parser.add_argument(
        "--tour",
        action=argparse.BooleanOptionalAction,
        help="show the tour, or not (default: until you have finished it once)",
    )
    parser.add_argument("--bell", action="store_true", help="ring the terminal's bell when a new alert appears")
    return parser


def fleet() -> Parser:
    """Return the parser of `presman fleet`."""
    parser = command_parser(
        "fleet",
        "Many databases, one line each, the worst first; Enter opens one, Esc comes back. All sections of config.ini,\n"
        "those that are named or match, or what recorders write to a central store, which needs no connection to\n"
        "them. Without a terminal, or with --format, it is printed once.",
        """\
  presman fleet
  presman fleet 'prod-*' test
  presman fleet postgresql+psycopg://presman@dbhost/presman
  presman fleet --format json | jq -r '.databases[] | select(.alerts > 0) | .target'
exit codes of a fleet that is printed:
  0 all databases answered   7 some did not   3 none did, or the store cannot be read""",
    )
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help="sections of config.ini, globs of them, other targets; or a store"
    )
    parser.add_argument(
        "--format", type=OneOf("text", "json", "csv"), metavar="F", help="print it once: text, json, csv"
    )
    parser.add_argument(
        "--interval", type=seconds, metavar="S", help="seconds between polls of each (default 5; printed: 1)"
    )
    parser.add_argument(
        "--timeout",
        type=some_seconds,
        default=30.0,
        metavar="S",
        help="printed: seconds to wait for those that do not answer (default 30)",
    )
    parser.add_argument(
        "--allow-actions",
        action="store_true",
        help="offer to start, switch, cancel or kill (key a) in a database that was opened, after a question",
    )
    return parser


def watch() -> Parser:
    """Return the parser of `presman watch`."""
    parser = command_parser(
        "watch",
        "Print one line of text for each change: alerts that begin, get worse and end, plans, downgrades, timeouts,\n"
        "and what to do. Nothing moves on the screen: for screen readers, pipes and logs.",
        """\
  presman watch prod --plain
  presman watch prod --summary 1h >> prod.log
  presman watch demo:storm --duration 1m""",
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="what to watch (default: the one in config.ini)")
    parser.add_argument("--plain", action="store_true", help="nothing but ASCII, and words for signs")
    parser.add_argument(
        "--summary",
        type=some_seconds,
        default=300.0,
        metavar="S",
        help="time between summaries while nothing changes (default 5m)",
    )
    parser.add_argument("--polls", type=positive, metavar="N", help="stop after N readings")
    parser.add_argument("--duration", type=some_seconds, metavar="S", help="stop after S seconds (90, 15m, 2h)")
    return parser


def serve() -> Parser:
    """Return the parser of `presman serve`."""
    parser = command_parser(
        "serve",
        "The monitor in a browser, on this machine only unless --listen says otherwise. Each page is a separate\n"
        "monitor with its own database session, logged in as whoever started presman. Viewers cannot act, write a\n"
        "file where presman runs, or go to another target. Needs the extra web: pip install 'presman[web]'.",
        """\
  presman serve prod
  presman serve prod --listen 0.0.0.0:8443 --certificate tls.crt --key tls.key
  presman serve prod --public https://dba.example.com/prod/ --token-file token
  ssh -t -L 8000:localhost:8000 dbhost presman serve prod""",
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="what to watch (default: the one in config.ini)")
    parser.add_argument(
        "--listen",
        type=listening,
        default=("127.0.0.1", 8000),
        metavar="HOST:PORT",
        help="address for browsers (default 127.0.0.1:8000: this machine only)",
    )
    parser.add_argument(
        "--token",
        action=argparse.BooleanOptionalAction,
        help="ask for a token (default: unless only this machine can connect; --no-token is for a reverse proxy on "
        "this machine that authenticates)",
    )
    parser.add_argument("--token-file", metavar="FILE", help="the token, on its first line (default: a random one)")
    parser.add_argument("--certificate", metavar="FILE", help="TLS with this certificate and its chain (PEM)")
    parser.add_argument("--key", metavar="FILE", help="the certificate's key (default: in the same file)")
    parser.add_argument(
        "--public", metavar="URL", help="its URL for browsers, behind a reverse proxy or by another name"
    )
    parser.add_argument(
        "--viewers", type=positive, default=4, metavar="N", help="pages open at the same time (default 4)"
    )
    return parser


def classic() -> Parser:
    """Return the parser of `presman -m ...`, the command line of presman 1.x."""
    parser = command_parser(
        "-m",
        "The tables of presman 1.x, refreshed until Ctrl-C.",
        """\
  presman -m cpu
  presman -m cpu -c 4 -p -o cpu.csv
  presman -m session_io -c TOTAL_IO_PERCT -p demo --polls 3""",
    )
    parser.usage = "presman -m MEASURE [-c COLUMN] [-p] [-o FILE] [--polls N] [TARGET]"
    parser.add_argument("target", nargs="?", metavar="TARGET", help="what to read (default: the one in config.ini)")
    parser.add_argument(
        "-m", dest="measure", type=measure, metavar="MEASURE", help="cpu, session_io, parallel, emphasis"
    )
    parser.add_argument("-c", dest="column", metavar="COLUMN", help="index of a column from 0, or its name")
    parser.add_argument("-p", dest="plot", action="store_true", help="a bar per group for that column")
    parser.add_argument("-o", dest="output", metavar="FILE", help="write that column to a CSV file, poll by poll")
    parser.add_argument("--polls", type=positive, metavar="N", help="stop after N polls")
    return parser
