"""The screen of a fleet: its contents, its keys, and the monitor opened from it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from presman.analysis.fleet import Member
from presman.recording.store import Store
from presman.recording.writer import RecordingWriter
from presman.rows.queries import DetailLevel
from presman.services.live import LiveTarget
from presman.services.live_fleet import WatchedDatabase
from presman.sources import SourceError
from presman.tui import saved_view
from presman.tui.app import MonitorApp
from presman.tui.feed import WatchedFeed
from presman.tui.fleet_app import FleetApp, FleetView
from presman.tui.keys.page_keys import return_to_fleet
from tests.recording.recorded import polled, record
from tests.services.fleet.members import every_state, live
from tests.sources.fakes import FakeSource
from tests.tui.drive import NEVER, Clock, Stage, acted, check, drained, resting
from tests.tui.replays import replaying, waited
from tests.tui.test_hostile import HOSTILE, safe


@dataclass
class HandFleet:
    """A fleet whose databases a test sets."""

    members_now: Sequence[Member]
    name: str = "config.ini"
    interval: float = 5.0
    trouble: str = ""
    is_settled: bool = True
    requests: list[Any] = field(default_factory=list)

    def start(self) -> None:
        self.requests.append("start")

    def stop(self) -> None:
        self.requests.append("stop")

    def members(self) -> list[Member]:
        return list(self.members_now)

    def poll_now(self) -> None:
        self.requests.append("poll")

    def set_interval(self, seconds: float) -> None:
        self.interval = seconds

    def to_do(self, name: str) -> str:
        return "end the idle holder MARTIN 1:2659" if name == "prod-dwh" else ""


@dataclass
class FleetStage:
    """The fleet's app, its pilot, fleet and clock."""

    app: FleetApp
    pilot: Pilot[None]
    fleet: HandFleet
    clock: Clock

    async def press(self, *keys: str) -> str:
        await self.pilot.press(*keys)
        return await self.look()

    async def look(self) -> str:
        self.app.repaint()
        for _ in range(3):
            await self.pilot.pause()
        return self.screen

    @property
    def screen(self) -> str:
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips) + "\n"

    def rows(self, screen: str) -> list[str]:
        """Return the names of the databases on the screen, in order."""
        known = {member.name for member in self.fleet.members_now}
        found = [line.split()[0] for line in screen.splitlines()[4:] if line.split()]
        names = [name for name in found if name in known]
        return names[:-1]  # the last name is in the lines below the table

    @property
    def chosen(self) -> str:
        row = self.app.grid.row
        return "" if row is None else str(row.name)


@asynccontextmanager
async def showing(
    members: Sequence[Member], size: tuple[int, int] = (120, 30), view: FleetView | None = None
) -> AsyncIterator[FleetStage]:
    clock, fleet = Clock(), HandFleet(members)
    app = FleetApp(fleet, view or FleetView(), fleet.start, clock=clock)
    with resting(), mock.patch.multiple("presman.tui.fleet_app", TICK=NEVER, SHORT_TICK=NEVER, _SETTLED=NEVER):
        async with app.run_test(size=size, notifications=True) as pilot:
            acting = FleetStage(app, pilot, fleet, clock)
            await acting.look()
            yield acting


@pytest.mark.parametrize("size", [(80, 24), (200, 50)], ids=lambda size: f"{size[0]}x{size[1]}")
@acted
async def test_every_state(size: tuple[int, int]) -> None:
    async with showing(every_state(), size) as acting:
        check(f"fleet-{size[0]}x{size[1]}", await acting.press("down"))
        assert acting.fleet.requests == ["start"]


@acted
async def test_the_cursor_stays_on_the_worst_database_until_moved() -> None:
    async with showing([live("a"), live("b"), live("c")]) as acting:
        assert acting.chosen == "a"
        hurt = live("c", alerts=1, severity="bad", worst="it hurts")
        acting.fleet.members_now = [live("a"), live("b"), hurt]
        assert "✕ c: it hurts" in await acting.look()
        assert acting.chosen == "c"
        await acting.press("down")
        assert acting.chosen == "a"
        acting.fleet.members_now = [live("a"), live("b"), live("c")]
        await acting.look()
        assert acting.chosen == "a"


@acted
async def test_keys_filter_sort_and_freeze() -> None:
    async with showing(every_state()) as acting:
        assert acting.rows(await acting.look())[:3] == ["test-lost", "prod-dwh", "test-wrong"]
        screen = await acting.press("slash", *"prod", "enter", "s")
        assert acting.rows(screen) == ["prod-dwh", "prod-erp", "prod-web"]
        assert "3 of 8  filter: prod" in screen
        assert "Database▲" in screen.replace(" ", "")
        assert acting.rows(await acting.press("S"))[0] == "prod-web"
        screen = await acting.press("escape")
        assert len(acting.rows(screen)) == 8
        assert "Nothing is filtered" in await acting.press("escape")
        await acting.press("space")
        acting.fleet.members_now = []
        assert "‖ PAUSED" in await acting.look()
        assert "Databases  8" in acting.screen
        assert "There is no database" in await acting.press("space")


@acted
async def test_keys_poll_help_and_quit() -> None:
    async with showing(every_state()) as acting:
        await acting.press("f5", "plus")
        assert acting.fleet.requests == ["start", "poll"]
        assert acting.fleet.interval > 5.0
        page = await acting.press("question_mark")
        assert "Help: Fleet" in page
        assert "The help is open" in await acting.press("s")
        text = acting.app.frame.page.text
        for word in ("STOPPED", "PARALLEL_SERVERS_TARGET", "sorted worst first", "Enter"):
            assert word in text
        assert "test-lost" in await acting.press("q")
        await acting.press("T", "t", "c")
        assert (acting.app.is_ascii, saved_view.load()[0].ascii_only) == (True, True)
        assert (await acting.look()).splitlines()[0].isascii()
        await acting.press("q")
        assert (acting.app.chosen, acting.app.return_code) == (None, 0)


@acted
async def test_enter_chooses_the_database_and_the_view_is_restored() -> None:
    view = FleetView()
    async with showing(every_state(), view=view) as acting:
        await acting.press("slash", *"prod", "enter", "s", "S", "down", "enter")
        assert acting.app.chosen is not None
        chosen = acting.app.chosen.name
    assert (view.cursor, view.filter) == (chosen, "prod")
    async with showing(every_state(), view=view) as acting:
        assert acting.chosen == chosen
        assert "filter: prod" in await acting.look()
        assert (acting.app.grid.rows.sort_key, acting.app.grid.rows.descending) == ("target", True)
    async with showing(every_state()) as acting:
        assert "filter: prod" not in await acting.look(), "it is not saved for the next run"
    assert saved_view.load()[0].sorts == {"fleet": ("target", True)}


@acted
async def test_columns_are_chosen_and_the_palette_has_every_key() -> None:
    async with showing(every_state()) as acting:
        await acting.press("O", "down", "down", "space", "enter")
        assert "alerts" not in (await acting.look()).splitlines()[3]
        assert "alerts" not in acting.app.grid.drawing.chosen
        titles = [command.title for command in acting.app.get_system_commands(acting.app.screen)]
        assert "open (Enter)" in titles
        assert "filter (/)" in titles


@acted
async def test_a_lost_store_is_reported_and_the_databases_age() -> None:
    async with showing([live("a")]) as acting:
        acting.fleet.trouble = "postgresql://host/presman: the server closed the connection"
        screen = await acting.look()
        assert "✕ STORE LOST" in screen
        assert "closed the connection" in screen
        acting.fleet.members_now = []
        assert "closed the connection" in (await acting.look()).splitlines()[4]


@pytest.mark.parametrize("size", [(59, 14), (200, 50)], ids=str)
@acted
async def test_hostile_names_have_no_effect(size: tuple[int, int]) -> None:
    members = [replace(live(text, alerts=1, severity="bad", worst=text, plan=text), reason=text) for text in HOSTILE]
    async with showing(members, size) as acting:
        for keys in (["down"], ["down"], ["c"]):
            screen = await acting.press(*keys)
            safe(acting)  # type: ignore[arg-type]
        assert ("terminal too small" in screen) == (size[0] < 60)


# ---- the monitor on a database of the fleet


def _on(database: WatchedDatabase, **settings: Any) -> MonitorApp:
    app = MonitorApp(lambda post, refresh: WatchedFeed(database, post, refresh), **settings)
    return_to_fleet(app)
    return app


@acted
async def test_the_monitor_reuses_the_connection_and_esc_returns() -> None:
    source = FakeSource()
    async with opened(source) as (acting, database):
        assert "● LIVE" in acting.screen
        assert (source.opened, database.is_attached) == (1, True)
        assert "Help: Overview" in await acting.press("question_mark")
        assert "q fleet" in await acting.press("q")
        assert not acting.app.goes_home
        await acting.press("escape")
        assert acting.app.goes_home
    assert not database.is_attached
    assert database.sampler._detail_level is DetailLevel.NARROW
    assert source.opened == 1


@asynccontextmanager
async def opened(source: FakeSource) -> AsyncIterator[tuple[Stage, WatchedDatabase]]:
    database = WatchedDatabase(LiveTarget("prod", lambda: source), 3600.0)
    database.start()
    while database.reading is None and not database.member().reason:
        await drained()
    app = _on(database, name="prod")
    with resting(), mock.patch.multiple("presman.tui.frame_app", PACE=NEVER, SETTLED=NEVER):
        async with app.run_test(size=(120, 30)) as pilot:
            acting = Stage(app, pilot, app.feed, Clock())  # type: ignore[arg-type]
            await acting.settle()
            yield acting, database
    assert database.sampler.stop(20)


@acted
async def test_a_lost_database_opens_as_lost() -> None:
    async with opened(FakeSource(failures=[SourceError("no listener")] * 99)) as (acting, _):
        assert "✕ No data" in acting.screen
        assert "q goes back to the fleet" in acting.screen
        await acting.press("q")
        assert acting.app.goes_home


@acted
async def test_a_recording_is_followed_at_its_end(tmp_path: Path) -> None:
    place, moments = str(tmp_path / "a.presman"), list(polled("quiet", 6))
    record(place, moments[:3])
    with mock.patch("presman.tui.player.FOLLOWING", 0.01):
        async with replaying(place, follow=True) as acting:
            app, until = acting.app, partial(waited, acting)

            def shows(number: int) -> Callable[[], bool]:
                return lambda: app.monitor.latest is not None and app.monitor.latest.at == moments[number][0].at

            await until(shows(2))
            store = Store(place, writing=True)
            writer = RecordingWriter(store, "demo:x", "simulator")
            for number in (3, 4):
                writer.append(*moments[number])
            await until(shows(4))
            assert app.player.is_following
            await acting.pilot.press("left")
            await until(shows(3))
            writer.append(*moments[5])
            assert not app.player.is_following
            await acting.pilot.press("end")
            await until(shows(5))
            assert "● newest" in app.monitor.link.text
            writer.close()
            store.close()
            away = Path(place).rename(tmp_path / "b")
            await until(lambda: "✕ not read since" in app.monitor.link.text)
            await acting.pilot.press("left")
            await until(lambda: not app.player.playing)
            away.rename(place)
            await acting.pilot.press("end")
            await until(lambda: "● newest" in app.monitor.link.text)
