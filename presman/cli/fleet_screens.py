"""The screens of a fleet: its own, and the monitor on one of its databases, from which the user can return."""

from argparse import Namespace
from collections.abc import Callable, Mapping

from presman.base import terminal_guard
from presman.cli import console
from presman.cli.exit_codes import Failure
from presman.cli.settings import Resolved
from presman.cli.start import check_theme, fixed
from presman.config.target import Target
from presman.services.live_fleet import Fleet, LiveFleet
from presman.tui import saved_view
from presman.tui.app import MonitorEnd, run_monitor
from presman.tui.feed import ActionGateway, WatchedFeed
from presman.tui.fleet_app import FleetView, run_fleet

Open = Callable[[str, FleetView], MonitorEnd]
"""Shows the monitor on a database of the fleet, given its name. Raises Failure if that is impossible."""


def watch_fleet(fleet: Fleet, opened: Open, options: Namespace) -> int:
    """Show the fleet, and each database that the user opens, until the user quits; return the exit code."""
    if options.theme:
        check_theme(options.theme)
    view, kept = FleetView(theme=options.theme), saved_view.load()[0]
    if kept.fleet_refresh is not None and options.interval is None:
        fleet.set_interval(kept.fleet_refresh)
    began = False

    def begin() -> None:
        nonlocal began
        # Every screen of the fleet calls it, also after a database was open: only the first one starts the fleet.
        if not began:
            began = True
            terminal_guard.start()
            fleet.start()

    try:
        return _shown(fleet, view, begin, opened)
    finally:
        fleet.stop()
        terminal_guard.report_end()


def _shown(fleet: Fleet, view: FleetView, begin: Callable[[], None], opened: Open) -> int:
    notice = ""
    while True:
        end = run_fleet(fleet, view, begin, ascii_only=console.wants_ascii(), notice=notice)
        notice, name = "", "" if end.chosen is None else end.chosen.name
        if not name:
            return end.code
        while name:
            try:
                closed = opened(name, view)
            except Failure as error:
                notice = f"{name} is not opened: {error}"
                break
            view.cursor = name
            if not (closed.home or closed.target):
                return closed.code
            name = closed.target


def live(fleet: LiveFleet, targets: Mapping[str, Resolved], options: Namespace, gateway: ActionGateway | None) -> Open:
    """Return a function that opens a database of this process's fleet, with its existing connection."""

    def opened(name: str, view: FleetView) -> MonitorEnd:
        found, database = targets.get(name), fleet.databases.get(name)
        if found is None or database is None:
            why = "" if database is None else database.member().reason
            raise Failure(why or "it is not in this fleet")
        if found.theme:
            check_theme(found.theme)
        return run_monitor(
            lambda post, refresh: WatchedFeed(database, post, refresh),
            name=name,
            refresh=found.refresh,
            theme=found.theme or view.theme,
            packs=found.packs,
            gateway=gateway,
            ascii_only=console.wants_ascii(),
            fixed=fixed(found, options),
            targets=list(fleet.databases),
            bell=found.bell,
            home=True,
        )

    return opened


def recorded(store: Target) -> Open:
    """Return a function that opens a database of a central store: the end of its recording, as it grows."""

    def opened(name: str, view: FleetView) -> MonitorEnd:
        from presman.tui.replay_app import run_replay

        target = store.of_database(name)
        return run_replay(
            target.recording,
            name=target.name,
            theme=target.settings.theme or view.theme,
            ascii_only=console.wants_ascii(),
            home=True,
            follow=True,
        )

    return opened
