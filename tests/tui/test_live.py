"""The app on the simulator: history at the start, steps back in time, and back to live."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cache

from msgspec.structs import replace

from presman.polling.poll_events import Polled
from presman.polling.poller import Poller
from presman.rows.queries import Scope
from presman.rows.snapshot import Snapshot
from presman.services.live import LiveEvent, Readings
from presman.sources.simulator_source import SimulatorSource
from presman.tui.feed import Arrived, message_of
from tests.recording.recorded import Course
from tests.scenarios import with_short_past
from tests.tui.drive import Stage, acted, stage
from tests.tui.readings import busy

Polls = Callable[[int], Awaitable[None]]
START = datetime(2026, 11, 20, 3, 0, tzinfo=UTC)


class Play:
    """Polls of a scenario, two simulated seconds apart, with readings as the feed of the real app makes them."""

    def __init__(self, scenario: str, *, whole: bool = False, seed: int | None = 7) -> None:
        self.now = 0.0
        source = SimulatorSource(
            scenario if whole else with_short_past(scenario), seed=seed, clock=lambda: self.now, start=START
        )
        source.scope = Scope.CLUSTER
        self.poller = Poller(source, clock=lambda: self.now)  # by ours a busy machine would read a minute later
        self.poller.open()
        self._readings = Readings(with_forecasts=True)

    def poll(self) -> Snapshot:
        self.now += 2.0
        return self.poller.poll()

    def read(self) -> LiveEvent:
        """Poll and return the reading."""
        return self._readings.of(Polled(self.poll()))


@cache
def course_of(scenario: str, whole: bool, seed: int | None) -> Course[LiveEvent]:
    """Return the polls of a play."""
    return Course(played(scenario, whole, seed), "played", scenario, whole, seed)


def played(scenario: str, whole: bool, seed: int | None) -> Iterator[LiveEvent]:
    play = Play(scenario, whole=whole, seed=seed)
    while True:
        yield play.read()


@asynccontextmanager
async def playing(
    scenario: str, size: tuple[int, int] = (200, 50), *, whole: bool = False, seed: int | None = 7
) -> AsyncIterator[tuple[Stage, Callable[[int], object]]]:
    course = course_of(scenario, whole, seed)
    async with stage(size=size) as acting:
        seen = 0

        async def polls(times: int) -> None:
            nonlocal seen
            seen += times
            await acting.arrive(*map(message_of, course.first(seen)[-times:]))

        yield acting, polls


@acted
async def test_the_first_look_is_shown_but_not_stored() -> None:
    async with stage(size=(120, 40)) as acting:
        acting.app.post_message(Arrived(replace(busy(), histograms=(), waits=()), whole=False))
        await acting.settle()
        assert "● LIVE" in acting.screen
        assert "BATCH" in acting.screen
        assert (len(acting.app.monitor.timeline), acting.app.monitor.cost) == (0, None)
        assert not acting.app.monitor.timeline.series._times
        await acting.show(busy())
        assert acting.app.monitor.reading == busy()
        acting.app.post_message(Arrived(replace(busy(), groups=()), whole=False))
        await acting.settle()
        assert acting.app.monitor.reading == busy(), "a whole poll is not taken back"


@acted
async def test_the_charts_begin_with_the_last_hour() -> None:
    async with playing("mixed", whole=True) as (acting, polls):
        await polls(2)
        assert "collecting" not in acting.screen
        assert "02:5" in acting.screen, "the time axis reaches back before the start"


@acted
async def test_back_in_time_and_live_again() -> None:
    async with playing("mixed") as (acting, polls):
        seen = []
        for _ in range(6):
            await polls(1)
            seen.append(acting.screen.splitlines()[3:12])
        assert "◀ 03:00:10" in await acting.press("left")
        assert acting.screen.splitlines()[3:12] == seen[4]
        await acting.keys("left", "left")
        assert acting.screen.splitlines()[3:12] == seen[2]
        await polls(3)
        assert acting.screen.splitlines()[3:12] == seen[2], "polls go on behind the view"
        await acting.keys("right")
        assert acting.screen.splitlines()[3:12] == seen[3]
        assert "◀ 03:00:02" in await acting.press("shift+left"), "no further than the first"
        screen = await acting.press("end")
        assert "● LIVE" in screen
        assert acting.app.monitor.reading is acting.app.monitor.latest


@acted
async def test_a_step_after_a_pause_starts_at_the_paused_poll() -> None:
    async with playing("mixed") as (acting, polls):
        await polls(4)
        await acting.keys("space")
        await polls(3)
        assert "◀ 03:00:06" in await acting.press("left")
        assert "● LIVE" in await acting.press("space")


@acted
async def test_a_window_of_time_can_be_chosen() -> None:
    async with playing("mixed") as (acting, polls):
        await polls(3)
        assert "CPUs used, 15 min" in acting.screen
        assert "CPUs used, 60 min" in await acting.press("w")
        assert "CPUs used, 5 min" in await acting.press("w")


@acted
async def test_a_paused_screen_stays_unchanged_when_redrawn() -> None:
    """The next key or resize showed newer data: averages of the minute, charts, runs, late events."""
    async with playing("storm", (200, 50)) as (acting, polls):
        await polls(4)
        await acting.keys("space")
        paused = [(await acting.press(key)).splitlines() for key in "2479E"]
        assert "PAUSED" in paused[0][0]
        await polls(7)
        for key, before in zip("2479E", paused, strict=True):
            assert (await acting.press(key)).splitlines()[1:-1] == before[1:-1], key
