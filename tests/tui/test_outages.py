"""The screen in an outage, second by second: the real poller on simulated views, with a controlled clock.

A poll takes as long as its questions do, on a clock of its own; what it brings is shown when the screen's clock has
come as far. So nothing here waits, and every second is the one that is meant.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from textual.message import Message

from presman.analysis.assemble import analyse
from presman.base.release import Release
from presman.polling.cadence import budget_of
from presman.polling.poller import Poller
from presman.rows.snapshot import Problem, Section, Snapshot
from presman.sources import Answer, Request, SourceError
from presman.sources.simulator_source import SimulatorSource
from presman.tui.feed import Arrived, Lost
from tests.scenarios import with_short_past
from tests.tui.drive import Stage, acted, stage

REFRESH = 2.0
EVERYTHING = ""


@dataclass
class FaultyDatabase(SimulatorSource):
    """Simulated views of which those whose names contain one of `hanging` do not answer; each poll takes `cost` s.

    Like the source of a live database it gives each question half of the time that is left.
    """

    time: Callable[[], float] = lambda: 0.0
    spend: Callable[[float], None] = lambda _seconds: None
    hanging: Collection[str] = ()
    cost: float = 0.0
    gone: bool = False
    unheard: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.scenario, self.seed, self.clock, self.release = with_short_past("quiet"), 3, self.time, Release(19)
        self.start = datetime(2026, 3, 14, 9, tzinfo=UTC)
        super().__post_init__()

    def read(self, requests: Sequence[Request], within: float | None = None) -> Answer:
        if self.gone:
            raise SourceError("the database or network closed the connection", code="DPY-4011")
        answer = super().read(requests)
        self.spend(self.cost)
        left = max(0.0, (math.inf if within is None else within) - self.cost)
        sections, silent = [], set[str]()
        for request, section in zip(requests, answer.sections, strict=True):
            view = request.query.view
            if any(name in view for name in self.hanging):
                if view not in silent:  # it is not asked twice
                    taken = left / 2 if left > 1 else left
                    self.spend(taken)
                    left -= taken
                    self.unheard.append(view)
                    silent.add(view)
                late = Problem("", "no answer within 3 s", view, late=True)
                sections.append(Section(problem=late))
            else:
                sections.append(section)
        return Answer(answer.at, tuple(sections), 1)


class Outage:
    """The monitor in front of a database that fails."""

    def __init__(self, acting: Stage) -> None:
        self.acting = acting
        self.spent = 0.0
        self.database = FaultyDatabase(time=self.time, spend=self.spend)
        self.poller = Poller(self.database, clock=self.time)
        self.poller.budget = budget_of(REFRESH)
        self.previous: Snapshot | None = None
        self.coming: Message | None = None
        self.due = self.begun = acting.clock.now

    def time(self) -> float:
        """The clock of the present poll: the time of its begin plus the time that it took."""
        return self.begun + self.spent

    def spend(self, seconds: float) -> None:
        self.spent += seconds

    def poll(self) -> None:
        """Begin a poll; its answers come after its duration."""
        self.begun, self.spent = self.acting.clock.now, 0.0
        try:
            if self.poller.release is None:
                self.poller.open()
            snapshot = self.poller.poll()
        except SourceError as error:
            self.coming = Lost(str(error), 2.0)
        else:
            self.coming = Arrived(analyse(self.previous, snapshot), snapshot)
            self.previous = snapshot
        self.due = self.begun + self.spent

    async def second(self) -> str:
        """Let a second pass, and return the state on the screen."""
        self.acting.clock.now += 1
        await self.now()
        return self.state

    async def now(self) -> None:
        """Do all that is due at this instant: an answer comes, the next poll begins, the screen is read."""
        now = self.acting.clock.now
        if self.coming is not None and now >= self.due:
            self.acting.app.post_message(self.coming)
            self.coming = None
            self.due = self.begun + REFRESH * max(1, math.ceil(self.spent / REFRESH))
        if self.coming is None and now >= self.due:
            self.poll()
            if now >= self.due:
                await self.now()
        await self.acting.settle()
        self.acting.app._tick()
        await self.acting.settle()

    async def seconds(self, count: int) -> list[str]:
        return [await self.second() for _ in range(count)]

    @property
    def state(self) -> str:
        """Return the right end of the first line."""
        return self.acting.screen.splitlines()[0].rpartition("   ")[2].strip()


@asynccontextmanager
async def watching(*hanging: str) -> AsyncIterator[Outage]:
    """Show a database, from its first poll on."""
    async with stage(size=(160, 40)) as acting:
        outage = Outage(acting)
        outage.database.hanging = hanging
        await outage.now()
        yield outage


def title(outage: Outage) -> str:
    """Return the line above the table of sessions."""
    return outage.acting.screen.splitlines()[3].strip()


@acted
async def test_a_database_that_answers_is_live() -> None:
    async with watching() as outage:
        assert await outage.seconds(10) == ["● LIVE"] * 10
        assert "age ≤4s" in outage.acting.screen


@acted
async def test_a_server_that_is_stopped() -> None:
    """Polls do not end: the shown data is of second 0. After the budget of 6 s the connection is given up."""
    async with watching() as outage:
        outage.database.cost = math.inf
        assert await outage.seconds(8) == [*["● LIVE"] * 4, *(f"◌ LATE 0:0{n}" for n in (5, 6, 7, 8))]
        top = outage.acting.screen.splitlines()
        assert "age 0:08" in top[0]
        assert "◌ No answer for 0:08: the data shown is that old" in top[1]
        outage.acting.app.post_message(Lost("no answer within 3 s", 1.0))
        await outage.acting.settle()
        assert outage.state == "✕ LOST 0:00, retry in 1s"


@acted
async def test_a_line_that_is_cut() -> None:
    async with watching() as outage:
        await outage.seconds(3)
        outage.database.gone = True
        states = [each.partition(",")[0] for each in await outage.seconds(4)]
        assert states == ["✕ LOST 0:00", "✕ LOST 0:01", "✕ LOST 0:02", "✕ LOST 0:03"]
        assert "No connection" in outage.acting.screen.splitlines()[1]
        outage.database.gone = False
        outage.poll()
        assert await outage.second() == "● LIVE"


@acted
async def test_every_view_hangs() -> None:
    """Empty answers do not count as live."""
    async with watching() as outage:
        await outage.seconds(2)  # polls at 0 and 2
        outage.database.hanging = [EVERYTHING]
        states = await outage.seconds(70)
        assert states[:4] == ["● LIVE"] * 4
        for second, state in enumerate(states[4:], 5):
            assert state.startswith("◌ LATE "), (second, state)
            minutes, rest = divmod(second, 60)
            assert state == f"◌ LATE {minutes}:{rest:02}"


@acted
async def test_one_hanging_view_delays_no_other() -> None:
    async with watching() as outage:
        await outage.acting.press("5")
        await outage.seconds(2)
        assert title(outage).startswith("Sessions  ")
        sessions = title(outage).split()[1]
        outage.database.hanging = ["GV$SESSION"]
        states = await outage.seconds(60)
        assert set(states[:4]) == {"● LIVE"}
        assert all(state.startswith("◌ LATE ") and state.endswith(" view") for state in states[4:])
        # It was read at second 2, so at second 62 it is a minute old; the others are as new as ever.
        assert states[-1] == "◌ LATE 1:00 1 view"
        screen = outage.acting.screen.splitlines()
        assert "age ≤4s" in screen[0]
        assert "GV$SESSION: no answer within 3 s; its data is" in " ".join(screen[1].split())
        assert " old" in title(outage)
        assert title(outage).split()[1] == sessions, "known rows are shown"
        assert len(outage.database.unheard) <= 6, "it is asked the more rarely, the longer it is silent"
        outage.database.hanging = ()
        later = await outage.seconds(62)
        assert later[-1] == "● LIVE"
        assert " old" not in title(outage)


@acted
async def test_polls_slower_than_the_age_limit_are_late() -> None:
    async with watching() as outage:
        await outage.seconds(2)
        outage.database.cost = 5.0  # each begins 6 s after the previous one and is 5 s old on arrival
        states = await outage.seconds(24)
        assert "● LIVE" not in states[6:]
        assert "◌ LATE 0:05" in states


@acted
async def test_no_view_ever_answered() -> None:
    async with watching(EVERYTHING) as outage:
        states = await outage.seconds(12)
        assert states[:4] == ["… CONNECTING"] * 4
        assert states[4] == "… CONNECTING 0:05"
        assert states[-1] == "◌ LATE 0:12"


@pytest.mark.parametrize("refresh", [2.0, 10.0])
@acted
async def test_two_intervals_are_the_limit(refresh: float) -> None:
    async with watching() as outage:
        outage.acting.app.monitor.choose(refresh=refresh)
        outage.database.cost = math.inf
        outage.acting.app.repaint()
        states = await outage.seconds(int(2 * refresh) + 1)
        assert states[-2:] == ["● LIVE", f"◌ LATE 0:{int(2 * refresh) + 1:02}"]


@acted
async def test_a_view_without_an_answer_is_not_shown_as_empty() -> None:
    async with watching("GV$SESSION") as outage:
        await outage.acting.press("5")
        await outage.seconds(8)
        assert "◌ no answer" in title(outage)
