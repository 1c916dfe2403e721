"""The monitor: `presman [TARGET]`, which is also the front page of the help, `demo` and `replay`."""

import re
from argparse import Namespace

from presman import __version__
from presman.cli import console, exit_codes
from presman.cli import parser as cli
from presman.cli.command_line import COMMANDS
from presman.cli.exit_codes import Failure, ending_at_once

_VERSION = f"presman {__version__}\n"


def monitor_arguments(_command: str) -> cli.Parser:
    """Return the parser of `presman [TARGET]`, which is also the front page of the help."""
    parser = cli.Parser(
        prog="presman",
        description="Monitor of Oracle Database Resource Manager and the parallel statement queue.",
        usage="presman [OPTIONS] [TARGET]\n       presman [OPTIONS] COMMAND ...",
        epilog=f"""\
commands (each has --help):
{_summaries()}

{cli.TARGET_HELP}

examples:
  presman demo
  presman system@dbhost/orclpdb1
  presman once prod --format json
  presman export prod --measure parallel -o parallel.csv
  presman -m cpu -c 4 -p -o cpu.csv     (as presman 1.x; presman -m cpu --help)

environment: PRESMAN_CONFIG, PRESMAN_PASSWORD, PRESMAN_DEBUG=1 (tracebacks), NO_COLOR, TNS_ADMIN
{exit_codes.HELP}""",
        parents=[cli.common()],
        hidden=cli.hidden_options("refresh scope packs theme"),
    )
    cli.option(parser, "target TARGET", "what to watch (see below)", nargs="?")
    cli.add_screen_options(parser)
    cli.option(parser, "--version", "show presman's version and exit")
    cli.option(parser, "--verbose", "with --version: those of all libraries, too")
    return parser


def _summaries() -> str:
    width = max(map(len, COMMANDS))
    return "\n".join(f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items())


def monitor_run(options: Namespace) -> int:
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
    return welcome(config, options) if text is None else watch(text, config, options)


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


@cli.command(
    "The monitor on a simulated database. Without a terminal a few readings are printed as text.",
    """\
  presman demo
  presman demo storm --speed 10
  presman demo:my-plan.toml
  presman demo --list
  presman demo --polls 1 | less""",
    "refresh packs theme",
)
def demo_arguments(parser: cli.Parser) -> None:
    """Add the options of `presman demo`."""
    cli.option(parser, "scenario SCENARIO", "name or FILE.toml (default: mixed)", nargs="?")
    cli.option(parser, "--list", "list the scenarios")
    cli.option(parser, "--seed N", "seed of the random events", type=int)
    cli.option(parser, "--speed X", "X simulated seconds per second", type=float)
    cli.option(parser, "--size F", "machine and load F times as large", type=float)
    cli.option(parser, "--release R", "views as in release R (19, 12.1, ...)")
    cli.add_screen_options(parser)


def demo_run(options: Namespace) -> int:
    """Run `presman demo [SCENARIO]`."""
    with ending_at_once():
        from presman.cli.settings import load
        from presman.cli.start import scenario_list, watch

    if options.list:
        console.show(scenario_list())
        return exit_codes.OK
    if options.speed is not None and not 0 < options.speed <= 3600:
        raise Failure(f"--speed {options.speed:g} is not above 0 and at most 3600")
    words = ("seed", "speed", "size", "release")
    given = {name: value for name in words if (value := getattr(options, name)) is not None}
    tail = "&".join(f"{name}={value}" for name, value in given.items())
    scenario = (options.scenario or "").removeprefix("demo:")
    joint = "" if not tail else "&" if "?" in scenario else "?"
    return watch(f"demo:{scenario}{joint}{tail}", load(options), options)


@cli.command(
    "A recording on the screens of the monitor: Space plays and stops, + and - change the speed, arrows step, J\n"
    "goes to a time, n and p to the next and the previous event. --at begins there, stopped.",
    """\
  presman replay prod.presman
  presman replay prod.presman --from 03:00 --to 04:00
  presman replay postgresql+psycopg://presman@dbhost/presman?database=prod""",
    "at start end theme",
)
def replay_arguments(parser: cli.Parser) -> None:
    """Add the options of `presman replay`."""
    cli.option(parser, "target FILE|FOLDER|URL", "what `presman record` wrote")
    cli.option(parser, "--polls N", "without a terminal: how many readings to print", type=cli.positive, default=3)
    words = "accepted as by the other commands: a recording never begins with the tour"
    cli.option(parser, "--no-tour", words, action="store_false", default=None, dest="tour")
    parser.set_defaults(allow_actions=False)


def replay_run(options: Namespace) -> int:
    """Run `presman replay FILE`."""
    from presman.cli.settings import load
    from presman.cli.start import watch
    from presman.config.target import is_recording, named_recording
    from presman.config.target_text import parse_target

    config = load(options)
    text = named_recording(options.target, config)
    if text in config.sections:
        if parse_target(text, config).recorded is None:
            raise Failure(f"{text} is not a recording: presman record {text} -o x.presman makes one")
    elif not is_recording(text):
        text = f"recording:{text}"
    return watch(text, config, options)
