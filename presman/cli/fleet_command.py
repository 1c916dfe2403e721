"""`presman fleet`: many databases, one line each; on a terminal a screen, else a table."""

from __future__ import annotations

import time
from argparse import Namespace

from presman.analysis.fleet import by_trouble
from presman.analysis.readings.fleet_readings import Member, Presence
from presman.cli import console, exit_codes
from presman.cli.exit_codes import Failure
from presman.cli.fleet_targets import FleetTargets, chosen, described, store_of
from presman.cli.limits import bound_memory
from presman.cli.settings import load
from presman.cli.start import acting
from presman.config.targets import Target
from presman.fleet.any_fleet import Fleet
from presman.fleet.live_fleet import MOST, LiveFleet
from presman.fleet.store_fleet import StoreFleet
from presman.output import fleet_list

INTERVAL = 5.0
"""Seconds between two polls of a database that is one among many."""

AT_ONCE = 1.0
"""Seconds between the two polls of a fleet that is printed."""

LOOK = 0.02
"""Seconds between two looks whether all have answered."""


def run(options: Namespace) -> int:
    """Show the fleet until the user quits, or print it once. Raises Failure."""
    config = load(options)
    if options.format is None and not console.is_terminal():
        options.format = "text"
    store = store_of(options.targets, config, options)
    if store is not None:
        return _of_store(store, options)
    names = chosen(options.targets, config)
    targets = FleetTargets(names, config, options, named=bool(options.targets))
    if len(targets.watched) > MOST:
        what = f"{len(targets.watched)} databases are too many for one process, which watches {MOST}"
        raise Failure(f"{what}: have recorders write to a central store, and watch that")
    if not targets.watched:
        raise Failure("there is no database to watch")
    interval = options.interval or (INTERVAL if options.format is None else AT_ONCE)
    bound_memory(len(targets.watched))
    name = described(names, options.targets, config)
    if options.format is not None:
        return printed(LiveFleet(name, targets.watched, interval), options)
    from presman.cli.fleet_screens import live, watch_fleet

    gateway = acting() if options.allow_actions else None
    carry_out = gateway.carry_out if gateway is not None else None
    fleet = LiveFleet(name, targets.watched, interval, carry_out=carry_out)
    return watch_fleet(fleet, live(fleet, targets, options, gateway), options)


def _of_store(store: Target, options: Namespace) -> int:
    """Show or print what is in a central store; words behind it choose databases."""
    assert store.tape is not None
    if options.at or options.start or options.end:
        raise Failure("--at, --from and --to go with one recording; a fleet shows what is newest")
    fleet = StoreFleet(store.tape.place, options.interval or INTERVAL, options.targets[1:])
    if options.format is not None:
        return printed(fleet, options)
    from presman.cli.fleet_screens import recorded, watch_fleet

    return watch_fleet(fleet, recorded(store), options)


def printed(fleet: Fleet, options: Namespace) -> int:
    """Print the fleet once there is something to say of each database; the code tells whether all were seen."""
    fleet.start()
    try:
        _wait(fleet, options.timeout)
        members = by_trouble(fleet.members())
        if fleet.trouble or (isinstance(fleet, StoreFleet) and not fleet.is_settled):
            raise Failure(fleet.trouble or f"{fleet.name}: no answer within {options.timeout:g} s", exit_codes.SOURCE)
    finally:
        fleet.stop()
    if options.format == "json":
        console.put(fleet_list.dump(fleet.name, members, ascii_only=console.wants_ascii()))
    elif options.format == "csv":
        stream = console.data()
        stream.write(fleet_list.csv(members))
        stream.flush()
    else:
        console.show(fleet_list.text(fleet.name, members, console.width()))
    return _code(members)


def _wait(fleet: Fleet, timeout: float) -> None:
    end = time.monotonic() + timeout
    while not fleet.is_settled and time.monotonic() < end:
        time.sleep(LOOK)


def _code(members: list[Member]) -> int:
    live = sum(each.presence is Presence.LIVE for each in members)
    if live == len(members):
        return exit_codes.OK
    return exit_codes.PARTIAL if live else exit_codes.SOURCE
