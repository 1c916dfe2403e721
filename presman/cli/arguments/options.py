"""Options that every command takes, or several, and how a parser of one is made."""

from __future__ import annotations

from presman.cli.parser import OneOf, Parser, seconds, some_seconds

TARGET_HELP = """\
TARGET is one thing everywhere:
  NAME                        a section of config.ini
  user@host[:port]/service    a database (asks for the password; user/password@... works too)
  demo:SCENARIO[?seed=N&speed=X&size=F&release=R]   the simulated database, or your own demo:FILE.toml
  spool:FOLDER[?zone=Z&release=R&encoding=E] CSV files, one per view, as `presman collect` makes them
  FILE.presman, recording:FILE|FOLDER, postgresql+psycopg://user@host/db[?database=D&at=T&from=T&to=T]
                              what `presman record` wrote"""


def common() -> Parser:
    """Return the options that every command takes, before or after its name."""
    parser = Parser(add_help=False, prog="presman")
    group = parser.add_argument_group("options everywhere")
    group.add_argument("--config", metavar="FILE", help="read FILE instead of config.ini")
    group.add_argument("--refresh", type=seconds, metavar="S", help="seconds between polls (default 2, least 0.5)")
    group.add_argument(
        "--poll-timeout",
        type=some_seconds,
        metavar="S",
        help="seconds a poll may take (default 3 x --refresh, from 5 to 30); late views keep their last data",
    )
    group.add_argument(
        "--scope", type=OneOf("cluster", "instance"), metavar="SCOPE", help="cluster (GV$, default) or instance (V$)"
    )
    group.add_argument(
        "--thick",
        nargs="?",
        metavar="=LIBDIR",
        help="connect through Oracle Client libraries, found automatically or in LIBDIR",
    )
    group.add_argument(
        "--packs",
        type=OneOf("none", "diagnostics", "tuning"),
        metavar="PACK",
        help="the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics",
    )
    group.add_argument("--theme", metavar="NAME", help="colours of the monitor")
    tape = parser.add_argument_group("of a recording")
    tape.add_argument(
        "--at", metavar="TIME", help="the poll at that time (replay starts there): 2026-11-22 03:12, 03:12, '3m ago'"
    )
    tape.add_argument("--from", dest="start", metavar="TIME", help="from then on")
    tape.add_argument("--to", dest="end", metavar="TIME", help="up to then")
    return parser


def add_log_options(parser: Parser) -> None:
    """Add the options of commands that run for long: how and where they tell what happens."""
    group = parser.add_argument_group("messages")
    group.add_argument(
        "--log-format", type=OneOf("text", "json"), metavar="F", help="text (default), or json: one object a line"
    )
    group.add_argument(
        "--log-level",
        type=OneOf("debug", "info", "warning", "error"),
        metavar="L",
        help="debug (each poll), info (default), warning, error",
    )
    group.add_argument(
        "--log-file", metavar="FILE", help="append to FILE, reopened when it is moved; errors also to standard error"
    )


def command_parser(name: str, description: str, examples: str) -> Parser:
    """Return the parser of a command, with its options yet to come."""
    return Parser(
        prog=f"presman {name}".strip(),
        description=description,
        epilog=f"examples:\n{examples}",
        parents=[common()],
    )
