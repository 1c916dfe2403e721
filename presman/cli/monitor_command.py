"""`presman [TARGET]`: the monitor, and the front page of the help."""

import re
from argparse import Namespace

from presman import __version__
from presman.cli import console, exit_codes
from presman.cli.command_line import COMMANDS
from presman.cli.exit_codes import Failure, ending_at_once
from presman.cli.parser import TARGET_HELP, Parser, add_screen_options, common, hidden_options, option

_VERSION = f"presman {__version__}\n"


def arguments(_command: str) -> Parser:
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
        hidden=hidden_options("refresh scope packs theme"),
    )
    option(parser, "target TARGET", "what to watch (see below)", nargs="?")
    add_screen_options(parser)
    option(parser, "--version", "show presman's version and exit")
    option(parser, "--verbose", "with --version: those of all libraries, too")
    return parser


def _summaries() -> str:
    width = max(map(len, COMMANDS))
    return "\n".join(f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items())


def run(options: Namespace) -> int:
    """Run `presman [TARGET]`: the monitor, or a few readings as text without a terminal; or print the versions."""
    if options.version:
        console.put(_versions() if options.verbose else _VERSION)
        return exit_codes.OK
    if options.verbose:
        raise Failure("--verbose goes with --version")
    with ending_at_once():
        from presman.cli.settings import default_target, load
        from presman.cli.start import watch, welcome

    config = load(options)
    text = options.target or default_target(config)
    if text is None:
        return welcome(config, options)
    return watch(text, config, options)


def _versions() -> str:
    """Return the versions of presman, of Python and of each library, for a bug report."""
    import platform
    import sqlite3

    found = {"Python": platform.python_version(), "SQLite": sqlite3.sqlite_version, **_libraries()}
    width = max(map(len, found))
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    lines = [f"  {name:<{width}}  {each}" for name, each in {**found, "system": system}.items()]
    return _VERSION + "\n".join(lines) + "\n"


def _libraries() -> dict[str, str]:
    """Return the version of each library that presman's own metadata names."""
    from importlib.metadata import requires

    needed = requires("presman") or []
    return {name: _version(name) for line in needed if (name := re.match(r"[A-Za-z0-9._-]+", line).group())}  # type: ignore[union-attr]


def _version(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return "-"
