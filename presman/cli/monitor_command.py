"""`presman [TARGET]`: the monitor, and the front page of the help."""

from __future__ import annotations

from argparse import Namespace

from presman.cli import console, exit_codes
from presman.cli.command_line import COMMANDS
from presman.cli.exit_codes import Failure, ending_at_once
from presman.cli.parser import TARGET_HELP, Parser, behind, common, positive


def arguments() -> Parser:
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
        behind=behind(""),
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="what to watch (see below)")
    parser.add_argument("--polls", type=positive, default=3, metavar="N", help="without a terminal: readings to print")
    parser.add_argument(
        "--allow-actions",
        action="store_true",
        help="allow start, switch, cancel and kill (key a), each confirmed first",
    )
    parser.add_argument("--bell", action="store_true", help="ring the terminal's bell when a new alert appears")
    parser.add_argument("--version", action="store_true", help="show presman's version and exit")
    parser.add_argument("--verbose", action="store_true", help="with --version: those of all libraries, too")
    return parser


def _summaries() -> str:
    width = max(map(len, COMMANDS))
    return "\n".join(f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items())


def run(options: Namespace) -> int:
    """Run `presman [TARGET]`: the monitor, or a few readings as text without a terminal; or tell the versions."""
    if options.version:
        from presman.cli import versions

        console.put(versions.long() if options.verbose else versions.short())
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
