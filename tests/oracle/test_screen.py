"""Screen over a slow or hanging line: the whole app, the real driver, a socket.

No test measures time. A key was answered without waiting for the database if its effect is on the screen before the
server has answered the poll; `make bench --only oracle` measures the time.
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.pilot import Pilot

from presman.base.release import Release
from presman.base.secret import Secret
from presman.polling.sampler import PATIENCE
from presman.services.live import LiveTarget
from presman.sources.oracle.oracle_source import OracleSource
from presman.sources.oracle.settings import ConnectSettings
from presman.sources.simulator_source import SimulatorSource
from presman.tabs.choices import LinkState
from presman.tui.app import MonitorApp, sampler_feed
from presman.tui.feed import SamplerFeed
from tests import patience
from tests.oracle_server import OracleServer
from tests.oracle_server.faults import Delay, Mute, Ora, Stage
from tests.oracle_server.simulated import simulated_server
from tests.thorough import some

TABS = {"2": "cpu", "4": "parallel", "5": "sessions", "1": "overview"}
"""Keys and the tabs they open."""


@pytest.fixture(autouse=True)
def patience_of_the_sampler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts to reconnect are made only when the test asks for them."""
    monkeypatch.setattr("presman.polling.sampler.FIRST_PAUSE", 600.0)


class Scene:
    """A running monitor, the server it watches, and the feed between them."""

    def __init__(self, app: MonitorApp, pilot: Pilot[None], server: OracleServer, feed: SamplerFeed) -> None:
        self.app, self.pilot, self.server, self.feed = app, pilot, server, feed

    @property
    def screen(self) -> str:
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip) for strip in strips)

    async def until(self, true: Callable[[], bool]) -> None:
        end = time.monotonic() + patience.PATIENCE
        while not true():
            assert time.monotonic() < end
            await asyncio.sleep(0.02)
        await self.pilot.pause()

    async def begin_a_poll(self) -> int:
        """Let a poll begin, wait until the server has its first query, and return how many polls are shown."""
        received, shown = self.server.counters.bytes_in, self.number
        self.feed.poll_now()
        await self.until(lambda: self.server.counters.bytes_in > received)
        return shown

    async def press(self, key: str) -> None:
        """Press the key of a tab that is not open, and check that the tab is on the screen."""
        before = self.body
        await self.pilot.press(key)
        await self.pilot.pause()
        assert self.app.monitor.choices.tab == TABS[key]
        assert self.app.panels.present.display
        assert self.body != before

    @property
    def body(self) -> list[str]:
        return self.screen.splitlines()[3:-1]

    @property
    def number(self) -> int:
        return self.app.monitor.latest.number if self.app.monitor.latest else 0


def acted(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run an async test to its end, which must come."""

    @functools.wraps(test)
    def run(*args: Any, **named: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **named), 60))

    return run


@asynccontextmanager
async def watching(release: Release) -> AsyncIterator[Scene]:
    """Show two polls, then leave the polling to the test."""
    simulator = SimulatorSource("mixed", release=release, seed=3)
    simulator.open()
    with simulated_server(simulator, release) as server:
        settings = ConnectSettings(server.dsn, "presman", Secret("presman"), call_timeout=60)
        feeds: list[SamplerFeed] = []

        def make(post: Any, refresh: float) -> SamplerFeed:
            feeds.append(sampler_feed(LiveTarget("wire", lambda: OracleSource(settings)))(post, refresh))
            return feeds[-1]

        app = MonitorApp(make, name="wire", refresh=3600)
        async with app.run_test(size=(200, 50)) as pilot:
            scene = Scene(app, pilot, server, feeds[0])
            await scene.until(lambda: scene.number >= 1)
            feeds[0].poll_now()
            await scene.until(lambda: scene.number >= 2)
            yield scene
    simulator.close()


@pytest.mark.parametrize(
    ("release", "fault"), some([(Release(23), Delay(60))], [(Release(19), Delay(60)), (Release(19), Mute())]), ids=str
)
@acted
async def test_keys_and_quit_do_not_wait_for_a_hanging_query(release: Release, fault: Delay | Mute) -> None:
    async with watching(release) as scene:
        await scene.pilot.press(*TABS)  # makes the tabs, so that the rest is only the reaction
        scene.server.faults.add(Stage.STATEMENT, fault, "from gv$session\n")
        shown = await scene.begin_a_poll()
        await scene.until(lambda: "from gv$session\n" in scene.server.counters.log[-1].sql.lower())
        for key in TABS:
            await scene.press(key)
        assert scene.number == shown, "the running poll is not answered yet"
        sampler = scene.feed._sampler
        assert sampler is not None
        await scene.pilot.press("q")
    # The query would take another minute: the thread ends because it was cancelled.
    sampler._thread.join(60)
    assert not sampler.is_alive
    assert not scene.app.is_running
    assert PATIENCE < 0.5, "quitting does not wait longer for a stubborn read"


@pytest.mark.parametrize("release", some([Release(19)], [Release(23)]), ids=str)
@acted
async def test_the_screen_keeps_the_last_data_and_says_how_old_they_are(release: Release) -> None:
    """The age is that of all views while the connection is lost, and then of one that hangs, which is marked."""
    async with watching(release) as scene:
        scene.server.faults.add(Stage.STATEMENT, Ora(3113, "end-of-file on communication channel"), "from gv$session\n")
        await scene.begin_a_poll()
        await scene.until(lambda: scene.app.monitor.link.state is LinkState.LOST)
        await scene.pilot.pause()
        assert "LOST" in scene.screen
        assert "ORA-03113" in scene.screen
        assert "DAYTIME_PLAN" in scene.screen
        scene.feed.poll_now()
        await scene.until(lambda: scene.app.monitor.link.state is LinkState.LIVE)
        await scene.pilot.pause()
        assert "● LIVE" in scene.screen
        assert "ORA-03113" not in scene.screen
        assert scene.server.counters.most_sessions == 1
        sampler = scene.feed._sampler
        assert sampler is not None
        sampler.budget, shown = 4.0, scene.number
        scene.server.faults.add(Stage.STATEMENT, Delay(60), "from gv$session\n", times=-1)
        await scene.press("5")
        scene.feed.poll_now()
        await scene.until(lambda: scene.number > shown)
        latest = scene.app.monitor.latest
        assert latest is not None
        assert "GV$SESSION" in [each.view for each in latest.late]
        assert latest.sessions, "those of the poll before"
        assert latest.stale == 0.0
        await scene.until(lambda: " old" in scene.body[0])
