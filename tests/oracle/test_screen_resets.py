"""The screen while counters restart: the whole app, the real driver, a server whose node changes."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.color import Color

from presman.base.release import Release
from presman.base.secret import Secret
from presman.rows.queries import Scope
from presman.services.live import LiveTarget
from presman.sources.oracle.oracle_source import OracleSource
from presman.sources.oracle.settings import ConnectSettings
from presman.tabs.choices import LinkState
from presman.tui.app import MonitorApp, sampler_feed
from presman.tui.feed import SamplerFeed
from tests.oracle.test_resets import Node
from tests.oracle.test_screen import Scene, acted
from tests.oracle_server import OracleServer, profile_of
from tests.thorough import some
from tests.tui.drive import resting

RATE = re.compile(r" 0\.5 +0\.5 ")
"""The CPUs that the one group of a node uses and wants."""


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts to reconnect are made only when the test asks for them."""
    monkeypatch.setattr("presman.polling.sampler.FIRST_PAUSE", 600.0)


class Scenery(Scene):
    """A scene whose database time advances with each poll, and whose node can be replaced."""

    node: Node
    now = 1000.0

    async def poll(self) -> None:
        """Let two seconds pass, and wait for the result of the next poll, whatever it is."""
        before, state = self.number, self.app.monitor.link.state
        Scenery.now += 2.0
        self.server.call(lambda: self.node.pass_time(2.0))
        self.feed._sampler._regular.forget()  # by its own clock, which goes on, the poll would be an extra one
        self.feed.poll_now()
        await self.until(lambda: self.number > before or self.app.monitor.link.state is not state)
        await self.pilot.pause()

    async def lose(self, node: Node) -> None:
        """Cut the line, and let `node` answer from now on."""
        self.server.drop_sessions()
        self.node = node
        self.server.backend = node.backend
        await self.poll()

    @property
    def group(self) -> str:
        """The line of the group."""
        return next(line for line in self.body if "BATCH" in line)

    @property
    def ink(self) -> set[Color]:
        """The colours in which the group's line is written."""
        strips = self.app.screen._compositor.render_strips()
        line = next(strip for strip in strips if "BATCH" in strip.text)
        return {Color.from_rich_color(segment.style.color) for segment in line if segment.style and segment.style.color}


@asynccontextmanager
async def watching(release: Release, **facts: str) -> AsyncIterator[Scenery]:
    """Show a node that has been polled twice, then leave the polling to the test."""
    node = Node(release, facts=facts)
    with OracleServer(node.backend, profile_of(release)) as server:
        settings = ConnectSettings(server.dsn, "presman", Secret("presman"))
        feeds: list[SamplerFeed] = []

        def make(post: Any, refresh: float) -> SamplerFeed:
            target = LiveTarget("wire", lambda: OracleSource(settings), scope=Scope.INSTANCE)
            feeds.append(sampler_feed(target)(post, refresh))
            return feeds[-1]

        app = MonitorApp(make, name="wire", refresh=60, theme="textual-dark", clock=lambda: Scenery.now)
        with resting():
            async with app.run_test(size=(200, 50)) as pilot:
                scene = Scenery(app, pilot, server, feeds[0])
                scene.node = node
                # The preview bears the number of the first poll, which must end before the node's time goes on.
                await scene.until(lambda: scene.number == 1 and scene.feed._sampler.polled.has_polled)
                await scene.poll()
                yield scene


async def assert_begins_anew(scene: Scenery) -> None:
    """The first poll of the new state shows no rate, the second the right one."""
    await scene.poll()
    assert scene.app.monitor.link.state is LinkState.LIVE
    assert "● LIVE" in scene.screen
    assert "no delta yet" in scene.group
    assert not RATE.search(scene.group)
    await scene.poll()
    assert RATE.search(scene.group)
    assert scene.server.counters.most_sessions == 1


@pytest.mark.parametrize("release", some([Release(23)], [Release(19)]), ids=str)
@acted
async def test_a_restart_and_a_failover(release: Release) -> None:
    async with watching(release) as scene:
        assert RATE.search(scene.group)
        fresh = scene.ink
        for node in (Node(release, cpu=0, started="2026-03-01 12:00:01"), Node(release, number=2, cpu=90_000_000)):
            await scene.lose(node)
            assert "✕ LOST 0:00" in scene.screen
            assert RATE.search(scene.group), "the last data stay on the screen"
            assert not scene.ink & fresh, "but greyed"
            Scenery.now += 600.0
            scene.app.repaint()
            await scene.pilot.pause()
            assert "✕ LOST 10:00" in scene.screen
            assert "age 10:0" in scene.screen
            await assert_begins_anew(scene)
            assert "LOST" not in scene.screen
            assert scene.ink == fresh


@acted
async def test_another_plan() -> None:
    async with watching(Release(19)) as scene:
        scene.node.plan, scene.node.sequence = "NIGHT", 2
        await assert_begins_anew(scene)
        assert "plan NIGHT" in scene.screen


@acted
async def test_an_autonomous_database_is_recognised() -> None:
    async with watching(Release(19), CLOUD_SERVICE="OLTP") as scene:
        assert " Autonomous " in scene.screen
        assert scene.app.monitor.latest is not None
        assert scene.app.monitor.latest.header.nature[-1] == "Autonomous Database (OLTP)"
    async with watching(Release(19)) as scene:
        assert "Autonomous" not in scene.screen
