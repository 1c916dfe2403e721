"""Starts and ends of the screens: monitor, fleet, replay, in a terminal and in a browser."""

from __future__ import annotations

import asyncio
import os
import signal
from types import SimpleNamespace
from typing import Any

import pytest

from presman.tui import served_app, terminal_app
from presman.tui.app import MonitorApp, MonitorEnd, run_monitor
from presman.tui.fleet_app import FleetApp, FleetEnd, FleetView, run_fleet
from presman.tui.replay_app import ReplayApp, run_replay
from presman.tui.saved_view import SavedView, save
from presman.tui.served_app import ServedMonitor, ServedReplay, run_served, run_served_replay
from presman.tui.terminal_app import until_ended
from tests.tui.drive import HandFeed, acted


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the apps that were run; each ends at once with code 3."""
    found: list[Any] = []

    async def run(app: Any) -> None:
        found.append(app)
        app._return_code = 3

    monkeypatch.setattr(terminal_app, "until_ended", run)
    return found


def test_a_monitor_has_its_start_options(ran: list[Any]) -> None:
    save(SavedView(refresh=10.0, theme="nord"))
    end = run_monitor(
        HandFeed, name="anna@db\x1b/prod", refresh=5.0, packs=("tuning",), targets=("a", "b"), notice="look",
        fixed=["refresh"], theme="gruvbox", gateway="a gateway",  # type: ignore[arg-type]
    )  # fmt: skip
    (app,) = ran
    assert type(app) is MonitorApp
    assert (app.monitor.name, app.targets, app.notice, app.gateway) == (
        "anna@db␛/prod", ("a", "b"), "look", "a gateway",
    )  # fmt: skip
    assert (app.monitor.choices.refresh, app.monitor.choices.packs, app.theme) == (5.0, ("tuning",), "gruvbox")
    assert app.view_saver.choices == {}, "options override saved settings"
    assert (app.is_ascii, app.news, app.home, "end_tour" in app.own_keys) == (False, None, False, False)
    assert end == MonitorEnd(3, "", home=False)


def test_ascii_bell_tour_and_fleet_are_optional(ran: list[Any]) -> None:
    run_monitor(HandFeed, name="x", refresh=5.0, ascii_only=True, bell=True, home=True, tour=True)
    (app,) = ran
    assert (app.is_ascii, app.news is not None, app.home, "end_tour" in app.own_keys) == (True, True, True, True)


def test_the_end_of_a_monitor_names_the_next_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run(app: Any) -> None:
        app.switch_to, app.goes_home = "next", True

    monkeypatch.setattr(terminal_app, "until_ended", run)
    assert run_monitor(HandFeed, name="x", refresh=5.0) == MonitorEnd(0, "next", home=True)


def test_a_fleet_and_the_database_that_was_chosen(ran: list[Any]) -> None:
    fleet: Any = SimpleNamespace(name="all", interval=5.0)
    view = FleetView(filter="prod")
    assert run_fleet(fleet, view, lambda: None, notice="look") == FleetEnd(3, None)
    run_fleet(fleet, view, lambda: None, ascii_only=True)
    one, other = ran
    assert type(one) is FleetApp
    assert (one.fleet, one.view, one.notice) == (fleet, view, "look")
    assert (one.is_ascii, other.is_ascii) == (False, True)


def test_a_replay_begins_at_the_given_time(ran: list[Any]) -> None:
    source: Any = object()
    save(SavedView(refresh=10.0, window=60))
    end = run_replay(
        lambda: source, name="recording:\x07a", begin="03:12", ascii_only=True, home=True, fixed=["window"]
    )
    assert end == MonitorEnd(3, "", home=False)
    (app,) = ran
    assert type(app) is ReplayApp
    assert (app.monitor.name, app.replayed()) == ("recording:␇a", source)
    assert (app.player._begin, app.player._follow, app.is_ascii, app.home) == ("03:12", False, True, True)
    assert app.view_saver.choices == {}, "how often it was polled is the recording's"
    run_replay(lambda: source, name="a", follow=True)
    assert ran[1].player._follow


def test_in_a_browser_the_view_is_not_saved(ran: list[Any]) -> None:
    target: Any = SimpleNamespace(name="DW\x07PROD", interval=4.0, packs=("tuning",), notifier=None)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(served_app, "sampler_feed", lambda _: HandFeed)
        assert run_served(target, theme="nord") == 3
    assert run_served_replay(lambda: target, name="recording:a", theme="nord") == 3
    watched, replayed = ran
    assert (type(watched), type(replayed)) == (ServedMonitor, ServedReplay)
    assert (watched.monitor.name, watched.monitor.choices.refresh) == ("DW␇PROD", 4.0)
    assert watched.monitor.choices.packs == ("tuning",)
    assert [(app.theme, app.view_saver, app.targets, app.gateway) for app in ran] == [("nord", None, (), None)] * 2


@acted
async def test_a_signal_ends_an_app_and_restores_the_earlier_handler() -> None:
    ends: list[tuple[int, bool]] = []
    before = {number: signal.getsignal(number) for number in terminal_app.ENDING}
    try:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as under nohup

        class App:
            """Ends at the first signal; asks for both."""

            async def run_async(self) -> None:
                ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
                os.kill(os.getpid(), signal.SIGTERM)
                while not ends:
                    await asyncio.sleep(0)
                ends.append((0, ignored))

            def exit(self, return_code: int) -> None:
                ends.append((return_code, False))

        await until_ended(App())  # type: ignore[arg-type]
        assert ends == [(128 + signal.SIGTERM, False), (0, True)]
        assert signal.getsignal(signal.SIGTERM) == before[signal.SIGTERM]
    finally:
        signal.signal(signal.SIGHUP, before[signal.SIGHUP])
