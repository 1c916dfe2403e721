"""`presman demo [SCENARIO]`: the monitor on a simulated database."""

import argparse
from argparse import Namespace

from presman.cli import console, exit_codes
from presman.cli.exit_codes import Failure, ending_at_once
from presman.cli.parser import Parser, add_screen_options, command, option


@command(
    "The monitor on a simulated database. Without a terminal a few readings are printed as text.",
    """\
  presman demo
  presman demo storm --speed 10
  presman demo:my-plan.toml
  presman demo --list
  presman demo --polls 1 | less""",
    "refresh packs theme",
)
def arguments(parser: Parser) -> None:
    """Add the options of `presman demo`."""
    option(parser, "scenario SCENARIO", "name or FILE.toml (default: mixed)", nargs="?")
    option(parser, "--list", "list the scenarios")
    option(parser, "--seed N", "seed of the random events", type=int)
    option(parser, "--speed X", "X simulated seconds per second", type=float)
    option(parser, "--size F", "machine and load F times as large", type=float)
    option(parser, "--release R", "views as in release R (19, 12.1, ...)")
    add_screen_options(parser)
    words = "show the tour, or not (default: until you have finished it once)"
    option(parser, "--tour", words, action=argparse.BooleanOptionalAction)


def run(options: Namespace) -> int:
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
    text = f"demo:{scenario}{joint}{tail}"
    return watch(text, load(options), options)
