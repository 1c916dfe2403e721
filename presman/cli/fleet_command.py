"""`presman fleet`: many databases, one line each; a screen on a terminal, otherwise a table."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from presman.analysis.fleet import ConnectionState, Member, by_trouble, is_seen
from presman.base.errors import InputError, OneOf
from presman.base.formats import counted
from presman.base.private_files import is_folder
from presman.cli import console, exit_codes
from presman.cli.exit_codes import Failure
from presman.cli.limits import make_room
from presman.cli.parser import Parser, add_allow_actions, command, option, seconds, some_seconds
from presman.cli.settings import Resolved, load, resolve
from presman.cli.start import acting
from presman.config.config_file import DEFAULTS, Config
from presman.config.target import Target, TargetError, is_recording
from presman.output.alert_notifier import AlertNotifier
from presman.services.live import LiveTarget
from presman.services.live_fleet import Fleet, LiveFleet
from presman.sources import Source

if TYPE_CHECKING:
    from presman.config.credentials import Renewal

INTERVAL = 5.0
"""Seconds between two polls of each database."""

PRINT_INTERVAL = 1.0
"""Seconds between the two polls of a fleet that is printed."""

CHECK_INTERVAL = 0.02
"""Seconds between two checks whether all databases have answered."""


@command(
    "Many databases, one line each, the worst first; Enter opens one, Esc comes back. Without a TARGET\n"
    "these are all sections of config.ini. A central store that recorders write to needs no connection to the\n"
    "databases. Without a terminal, or with --format, the list is printed once.",
    """\
  presman fleet
  presman fleet 'prod-*' test
  presman fleet postgresql+psycopg://presman@dbhost/presman
  presman fleet --format json | jq -r '.databases[] | select(.alerts > 0) | .target'
exit codes of a printed fleet:
  0 all databases answered   7 some did not, or not all of their views   3 none did, or the store cannot be read""",
    "scope packs theme",
)
def arguments(parser: Parser) -> None:
    """Add the options of `presman fleet`."""
    words = (
        "sections of config.ini ('prod-*' names several) and other live databases; or one recording (a file, a folder, "
        "a central store), then databases in it"
    )
    option(parser, "targets TARGET", words, nargs="*")
    option(parser, "--format F", "print it once: text, json, csv", type=OneOf("text", "json", "csv"))
    option(parser, "--interval S", "seconds between polls of each (default 5; when printed: 1)", type=seconds)
    words = "when printed: seconds on top of the interval to wait for databases that do not answer (default 30)"
    option(parser, "--timeout S", words, type=some_seconds, default=30.0)
    add_allow_actions(parser, " in an opened database")


def run(options: Namespace) -> int:
    """Show the fleet until the user quits, or print it once. Raises Failure."""
    config = load(options)
    if options.format is None and not console.is_terminal():
        options.format = "text"
    store = store_of(options.targets, config, options)
    return _of_targets(options, config) if store is None else _of_store(store, options)


def _of_targets(options: Namespace, config: Config) -> int:
    """Show or print databases that this process polls."""
    names = chosen(options.targets, config)
    targets = FleetTargets(names, config, options, named=bool(options.targets))
    if not targets.watched:
        raise Failure("there is no database to watch")
    server = any(found.target.connect is not None for found in targets.resolved.values())
    make_room(len(targets.watched), server=server)
    name = described(names, options.targets, config)
    if options.format is not None:
        return _printed(LiveFleet(name, targets.watched, options.interval or PRINT_INTERVAL), options)
    from presman.cli.fleet_screens import live, watch_fleet

    gateway = acting() if options.allow_actions else None
    carry_out = gateway.carry_out if gateway is not None else None
    fleet = LiveFleet(name, targets.watched, options.interval or INTERVAL, carry_out=carry_out)
    return watch_fleet(fleet, live(fleet, targets.resolved, options, gateway), options)


def _of_store(store: Target, options: Namespace) -> int:
    """Show or print the databases of a central store; further arguments choose among them."""
    from presman.services.store_fleet import StoreFleet  # imported here, because live databases do not need it

    assert store.recorded is not None
    if (second := next(filter(is_recording, options.targets[1:]), None)) is not None:
        one = "a fleet shows the databases of one. presman record writes many databases into one file or folder"
        raise Failure(f"{options.targets[0]} is a recording and {second} another: {one}")
    fleet = StoreFleet(store.recorded.location, options.interval or INTERVAL, options.targets[1:])
    if options.format is not None:
        return _printed(fleet, options)
    from presman.cli.fleet_screens import recorded, watch_fleet

    return watch_fleet(fleet, recorded(store), options)


def _printed(fleet: Fleet, options: Namespace) -> int:
    """Print the fleet once each database has a result; the exit code shows whether all were reached."""
    from presman.output import fleet_list

    found = _settled(fleet, options.timeout + (fleet.interval if isinstance(fleet, LiveFleet) else 0.0))
    members = by_trouble(map(_without_retry, found) if isinstance(fleet, LiveFleet) else found)
    if options.format == "json":
        console.put(fleet_list.dump(fleet.name, members, ascii_only=console.wants_ascii()))
    elif options.format == "csv":
        console.put_csv(fleet_list.csv(members))
    else:
        console.show(fleet_list.text(fleet.name, members, console.width()))
    return _code(members)


def _without_retry(member: Member) -> Member:
    """Return a database without the countdown to a retry: only the next command tries again."""
    outlook = "tried again by the next presman fleet" if member.outlook else ""
    return replace(member, retry_in=None, outlook=outlook)


def _settled(fleet: Fleet, timeout: float) -> list[Member]:
    """Return the databases as soon as all their results are there, at the latest after `timeout` seconds.

    Raises Failure if a store cannot be read.
    """
    fleet.start()
    try:
        end = time.monotonic() + timeout
        while not fleet.is_settled and time.monotonic() < end:
            time.sleep(CHECK_INTERVAL)
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
    if all(map(is_seen, members)):
        return exit_codes.OK
    live = any(each.connection is ConnectionState.LIVE for each in members)
    return exit_codes.PARTIAL if live else exit_codes.SOURCE


# ---- Targets of a fleet: sections of config.ini, by name or by a glob, and any other targets that the user names.

WATCHED = frozenset({"oracle", "simulator"})
"""Kinds of targets that do not end. A spool or a recording ends, so a fleet cannot watch it."""


def chosen(words: Sequence[str], config: Config) -> list[str]:
    """Return the targets that `words` name: sections, globs of sections, other targets; all sections without words.

    Sections without a connection are included, so that the fleet shows that they lack one. Raises Failure.
    """
    found: list[str] = []
    sections = [name for name in config.sections if name != DEFAULTS or name in config.targets]
    for word in words:
        matching = [name for name in sections if fnmatchcase(name, word)]
        if not matching and is_pattern(word):
            known = ", ".join(sections) or "none"
            raise Failure(f"no section of {config.path or 'config.ini'} matches {word!r}; there are: {known}")
        found += matching or [word]
    if not (found or sections):
        none = f"{config.path or 'config.ini'} names no database"
        raise Failure(f"{none}: `presman connect` writes it; or name TARGETs: presman fleet demo")
    return list(dict.fromkeys(found or sections))


def store_of(words: Sequence[str], config: Config, options: Namespace) -> Target | None:
    """Return the central store that the first word names: a URL, a recording or a section with one; None for none."""
    if not words:
        return None
    word = words[0]
    is_section = word in config.sections
    is_named = is_section or is_recording(word)  # as a target: a folder or another URL is none without "recording:"
    if not (is_named or "://" in word or is_folder(Path(word))):
        return None
    try:
        text = word if is_named else f"recording:{word}"
        found = resolve(text, config, options, ask=False).target
    except (InputError, Failure):
        if not is_section:
            raise
        return None  # the fleet shows the error of a section in its row
    return found if found.recorded is not None else None


def is_pattern(word: str) -> bool:
    """Return whether a word is a glob."""
    return any(sign in word for sign in "*?[") and not any(sign in word for sign in ":@/")


class FleetTargets:
    """The targets of a fleet: `watched` in the order of their names, and `resolved` for the monitor's screens."""

    def __init__(self, names: Sequence[str], config: Config, options: Namespace, *, named: bool) -> None:
        self._config, self._options = config, options
        self.resolved: dict[str, Resolved] = {}
        self.watched: list[LiveTarget] = []
        left_out = []
        for name in names:
            try:
                found = resolve(name, config, options, ask=False)
            except (InputError, Failure) as error:
                if name not in config.sections:
                    alone = "" if len(names) == 1 else f"; none of the {len(names)} was asked"
                    raise Failure(f"{error}{alone}") from error
                text = str(error).removeprefix(f"{config.path}, [{name}]: ")
                self.watched.append(LiveTarget(name, partial(_refuse, text)))
                continue
            if found.target.kind in WATCHED:
                self._add(name, found)
            elif named:
                raise Failure(f"{name} is a {found.target.kind}, not a live database: there is nothing to watch")
            else:
                left_out.append(name)
        if left_out:
            console.note(f"left out, because they are not live databases: {', '.join(left_out)}")

    def _add(self, name: str, found: Resolved) -> None:
        shown = found.target.name
        if shown in self.resolved:
            raise Failure(f"{name}: {shown} is named twice")
        self.resolved[shown] = found
        is_printed = self._options.format is not None
        notifier = AlertNotifier(found.alerts, only_once=True) if is_printed else found.notifier()
        make = partial(_with_password, found.target, found.renewal)
        self.watched.append(found.live(notifier=notifier)._replace(make_source=make))


def _refuse(text: str) -> Source:
    raise InputError(text)


def _with_password(target: Target, renewal: Renewal | None) -> Source:
    """Make the source in the thread that will use it, so that a command or a keyring that hangs delays no other
    database.
    """
    from presman.config.credentials import with_password

    found = with_password(target)
    if found.needs_password:
        where = "config.ini, password_command, the keyring or $PRESMAN_PASSWORD"
        raise TargetError(f"no password of {found.connect.user if found.connect else found.name} in {where}")
    if renewal is not None and found.connect is not None:
        renewal.tried = found.connect.password
    return found.make_source()


def described(names: Sequence[str], words: Sequence[str], config: Config) -> str:
    """Return the name of a fleet: where its databases come from."""
    if words and not any(name in config.sections for name in names):
        return counted(len(names), "target")
    return " ".join([str(config.path), *words])
