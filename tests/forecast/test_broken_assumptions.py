"""Broken assumptions: no forecast that rests on one is shown, or judged."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import Enum

import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers
from msgspec.structs import replace

from presman.analysis.readings.forecast_readings import ForecastRecord
from presman.analysis.readings.reading import Quiesce, Reading, UnavailableView
from presman.analysis.readings.statement_readings import QueuedStatement, RunningStatement, Servers, WantsSource
from presman.base.formats import clock
from presman.forecast.forecaster import Forecaster
from presman.forecast.queue_now import QueueRules
from tests.forecast.test_forecaster import RULES, forecast_of, reading, statement, waiting, watched
from tests.thorough import THOROUGH
from tests.tui.readings import AT, running

STEP = 5
QUIESCED = Quiesce("QUIESCED", ("SYS",), 3, 60.0)


class Broken(Enum):
    """What happens to the database, or to its views, for some polls."""

    QUIESCED = "no statement starts, and a view shows why"
    TARGET = "the target is a third of what it was, from then on"
    GAP = "there is no poll"
    VIEW = "a view is silent"


class World:
    """One queue, first come first served: a statement of 32 servers comes every 15 seconds and lasts for 40 to 79."""

    def __init__(self, broken: Broken, begin: int, polls: int) -> None:
        self.broken, self.begin, self.end = broken, begin, begin + polls
        self._came: dict[int, int] = {}
        self._started: dict[int, int] = {}

    def is_broken(self, poll: int) -> bool:
        """Whether it is broken at a poll."""
        return self.begin <= poll < self.end

    def target(self, poll: int) -> int:
        """The target at a poll."""
        return 32 if self.broken is Broken.TARGET and poll >= self.begin else 96

    def polls(self, number: int) -> Iterator[tuple[int, Reading]]:
        """Yield the polls that there are."""
        for poll in range(number):
            now = STEP * poll
            self._move(poll, now)
            if self.broken is Broken.GAP and self.is_broken(poll):
                continue
            found = reading(now, self._queue(now), self._held(now))
            if self.is_broken(poll) and self.broken is Broken.QUIESCED:
                found = replace(found, quiesce=QUIESCED)
            if self.is_broken(poll) and self.broken is Broken.VIEW:
                found = replace(found, unseen=(UnavailableView("V$SESSION", "V$SESSION: ORA-00942"),))
            yield poll, found

    def _move(self, poll: int, now: int) -> None:
        if now % 15 == 0:
            self._came[501 + now // 15] = now
        for sid, since in list(self._started.items()):
            if now - since >= 40 + 13 * sid % 40:
                del self._started[sid]
        stands_still = self.broken is Broken.QUIESCED and self.is_broken(poll)
        while self._came and not stands_still and 32 * (len(self._started) + 1) <= self.target(poll):
            sid = min(self._came)
            del self._came[sid]
            self._started[sid] = now

    def _queue(self, now: int) -> list[QueuedStatement]:
        wants = Servers(32, 32, WantsSource.PLAN)
        return [replace(waiting(now, sid=sid, since=since), wants=wants) for sid, since in sorted(self._came.items())]

    def _held(self, now: int) -> list[RunningStatement]:
        return [replace(statement(sid, since, now), serial=7) for sid, since in self._started.items()]


def rules(target: int) -> QueueRules:
    return RULES._replace(target=target)


@pytest.mark.parametrize("broken", Broken)
@settings(max_examples=30 if THOROUGH else 1, deadline=None)
@given(begin=integers(60, 75), polls=integers(13, 30))
def test_no_forecast_rests_on_what_no_longer_holds(broken: Broken, begin: int, polls: int) -> None:
    world, forecaster = World(broken, begin, polls), Forecaster()
    foreseen: dict[int, tuple[datetime, float]] = {}
    for poll, plain in world.polls(begin + polls + 20):
        target = world.target(poll)
        found = forecaster.add(plain, lambda target=target: rules(target))
        if broken is Broken.TARGET and poll >= begin:
            assert all(each.at >= AT + timedelta(seconds=STEP * begin) for each in forecaster._courses)
        if poll == begin or (broken in {Broken.QUIESCED, Broken.GAP} and begin <= poll <= world.end):
            foreseen.clear()
        for row in found.queue:
            assert row.starts is not None
            if row.starts.median is not None:
                assert plain.quiesce is None
                assert not plain.unseen
                assert forecaster.forecast_basis is not None
                assert (forecaster.forecast_basis.at, forecaster.forecast_basis.model.now.limits.target) == (
                    plain.at,
                    target,
                )
                assert forecaster.forecast_basis.model.now.arrivals, "what came before a gap comes again"
                foreseen.setdefault(row.sid, (plain.at, row.starts.high or 0.0))
            elif row.starts.why_none.startswith("it should have started by "):
                assert row.sid in foreseen, f"{row.sid}: that forecast was for other conditions"
                at, high = foreseen[row.sid]
                until = [clock(at + timedelta(seconds=high + least)) for least in (STEP - 0.1, STEP, STEP + 0.1)]
                assert any(each in row.starts.why_none for each in until)


def record_of(found: Reading) -> ForecastRecord:
    assert found.forecast is not None
    return found.forecast.record


@pytest.mark.parametrize("broken", [{"quiesce": QUIESCED}, {}])
def test_a_statement_within_its_forecast_or_held_by_a_quiesce_is_not_late(broken: dict[str, Quiesce]) -> None:
    forecaster = watched()
    first = forecast_of(forecaster, 310.0, waiting(310.0))
    assert first.high is not None
    other = RULES if broken else RULES._replace(target=63)
    late = 310.0 + first.high
    for second in range(315, int(late) + 30, STEP):
        now, soon = reading(second, (waiting(second),), (statement(605, 300.0, second),)), second < late - 10.0
        found = forecaster.add(now if soon else replace(now, **broken), lambda soon=soon: RULES if soon else other)
    after = forecast_of(forecaster, second + 5.0, waiting(second + 5.0), rules=other)
    assert record_of(found) == ForecastRecord()
    assert after.median is not None


def test_a_start_within_a_gap_is_not_judged() -> None:
    forecaster = watched()
    forecast_of(forecaster, 310.0, waiting(310.0))
    started = running(501, elapsed=None, serial=7, sql_id="9md3ukh000j58")
    found = forecaster.add(reading(600.0, (waiting(600.0, sid=502, since=590.0),), (started,)), lambda: RULES)
    assert record_of(found) == ForecastRecord()
