"""`presman fleet`: many databases, one line each; on a terminal a screen, else a table."""

from __future__ import annotations

import time
from argparse import Namespace
from typing import TYPE_CHECKING

from msgspec.structs import replace

from presman.analysis.readings.fleet_readings import ConnectionState, Member
from presman.cli import console, exit_codes
from presman.cli.exit_codes import Failure
from presman.cli.fleet_targets import FleetTargets, chosen, described, store_of
from presman.cli.limits import make_room
from presman.cli.parser import OneOf, Parser, command_parser, seconds, some_seconds
from presman.cli.settings import load
from presman.cli.start import acting
from presman.services.fleet.live_fleet import LiveFleet

if TYPE_CHECKING:
    from presman.config.config_file import Config
    from presman.config.target import Target
    from presman.services.fleet.live_fleet import Fleet

INTERVAL = 5.0
"""Seconds between two polls of a database that is one among many."""

AT_ONCE = 1.0
"""Seconds between the two polls of a fleet that is printed."""

LOOK = 0.02
"""Seconds between two looks whether all have answered."""


def arguments() -> Parser:
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
        help="allow start, switch, cancel and kill (key a) in an opened database, each confirmed first",
    )
    return parser


def run(options: Namespace) -> int:
    """Show the fleet until the user quits, or print it once. Raises Failure."""
    config = load(options)
    if options.format is None and not console.is_terminal():
        options.format = "text"
    store = store_of(options.targets, config, options)
    return _of_targets(options, config) if store is None else _of_store(store, options)


def _of_targets(options: Namespace, config: Config) -> int:
    """Show or print databases that are polled from here."""
    names = chosen(options.targets, config)
    targets = FleetTargets(names, config, options, named=bool(options.targets))
    if not targets.watched:
        raise Failure("there is no database to watch")
    server = any(found.target.connect is not None for found in targets.resolved.values())
    make_room(len(targets.watched), server=server)
    name = described(names, options.targets, config)
    if options.format is not None:
        return _printed(LiveFleet(name, targets.watched, options.interval or AT_ONCE), options)
    from presman.cli.fleet_screens import live, watch_fleet

    gateway = acting() if options.allow_actions else None
    carry_out = gateway.carry_out if gateway is not None else None
    fleet = LiveFleet(name, targets.watched, options.interval or INTERVAL, carry_out=carry_out)
    return watch_fleet(fleet, live(fleet, targets, options, gateway), options)


def _of_store(store: Target, options: Namespace) -> int:
    """Show or print what is in a central store; words behind it choose databases."""
    from presman.services.fleet.store_fleet import StoreFleet  # what it takes, live databases need not wait for

    assert store.tape is not None
    if options.at or options.start or options.end:
        raise Failure("--at, --from and --to go with one recording; a fleet shows what is newest")
    fleet = StoreFleet(store.tape.place, options.interval or INTERVAL, options.targets[1:])
    if options.format is not None:
        return _printed(fleet, options)
    from presman.cli.fleet_screens import recorded, watch_fleet

    return watch_fleet(fleet, recorded(store), options)


def _printed(fleet: Fleet, options: Namespace) -> int:
    """Print the fleet once there is something to say of each database; the code tells whether all were seen.

    What is lost is not tried again, and when it would have been is nobody's business.
    """
    from presman.analysis.fleet import by_trouble
    from presman.output import fleet_list

    members = by_trouble([replace(each, retry_in=None) for each in _settled(fleet, options.timeout)])
    if options.format == "json":
        console.put(fleet_list.dump(fleet.name, members, ascii_only=console.wants_ascii()))
    elif options.format == "csv":
        console.data()
        console.put(fleet_list.csv(members))
    else:
        console.show(fleet_list.text(fleet.name, members, console.width()))
    return _code(members)


def _settled(fleet: Fleet, timeout: float) -> list[Member]:
    """Return the databases as soon as all that can be known of them is known, at the latest after `timeout` seconds.

    Raises Failure for a store that cannot be read.
    """
    fleet.start()
    try:
        end = time.monotonic() + timeout
        while not fleet.is_settled and time.monotonic() < end:
            time.sleep(LOOK)
        if fleet.trouble:
            raise Failure(fleet.trouble, exit_codes.SOURCE)
        found = fleet.members()
    finally:
        fleet.stop()
    if not found:
        why = "it has no database" if fleet.is_settled else f"no answer within {timeout:g} s"
        raise Failure(f"{fleet.name}: {why}", exit_codes.SOURCE)
    return found


def _code(members: list[Member]) -> int:
    live = sum(each.connection is ConnectionState.LIVE for each in members)
    if live == len(members):
        return exit_codes.OK
    return exit_codes.PARTIAL if live else exit_codes.SOURCE
