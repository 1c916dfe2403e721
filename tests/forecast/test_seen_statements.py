"""What is learnt from readings: how long statements last by SQL_ID, group, all; what LONGOPS came to; who came."""

from __future__ import annotations

from datetime import timedelta

import pytest

from presman.analysis.readings.statement_readings import RunningStatement
from presman.forecast.seen_statements import SeenStatements
from tests.forecast.test_forecaster import reading, waiting
from tests.tui.readings import AT, running


def holder(sid: int, elapsed: float, **facts: object) -> RunningStatement:
    return running(sid, elapsed=elapsed, **{"sql_id": "9md3ukh000j58", **facts})


def in_turn(number: int, lasting: float, **facts: object) -> SeenStatements:
    """One that has seen so many statements, one after the other, each for so long, a poll every ten seconds."""
    seen = SeenStatements()
    for second in range(0, int(number * lasting) + 10, 10):
        turn, run = divmod(second, lasting)
        seen.add(reading(second, held=(holder(600 + int(turn), run, **facts),) if turn < number else ()))
    return seen


def test_a_statement_lasts_as_those_of_its_sql_id_did_else_its_group_else_all() -> None:
    seen = in_turn(6, 60.0)
    own = seen.lasting(0, "BATCH", "9md3ukh000j58")
    assert own is not None
    # Each began at the poll at which it was first seen, and ended between two polls: after 55 seconds.
    assert set(own.times) == {55.0}
    assert len(own.times) == 6
    assert seen.lasting(0, "BATCH", "another") == own
    assert seen.lasting(3, "ETL", "another") == own
    assert seen.ended == 6
    assert seen.watched == 360.0


def test_four_tell_nothing() -> None:
    seen = in_turn(4, 60.0)
    assert seen.lasting(0, "BATCH", "9md3ukh000j58") is None
    assert seen.ended == 4


def test_what_ended_more_than_an_hour_ago_is_forgotten() -> None:
    seen = in_turn(6, 60.0)
    seen.add(reading(3600.0 + 100.0))
    assert seen.ended == 5  # those that ended at 120 s and later
    seen.add(reading(2 * 3600.0))
    assert seen.ended == 0
    assert seen.lasting(0, "BATCH", "9md3ukh000j58") is None
    assert seen.watched == 3600.0


def test_idle_holders_are_learnt_from_the_end_of_their_idleness() -> None:
    seen = SeenStatements()
    for number in range(5):
        for idle in (0.0, 10.0, 20.0):
            row = holder(600 + number, 50.0 + idle, idle=idle, status="INACTIVE")
            seen.add(reading(40.0 * number + idle, held=(row,)))
        seen.add(reading(40.0 * number + 30.0))
    found = seen.idling(0, "BATCH")
    assert found is not None
    assert set(found.times) == {25.0}
    assert seen.idling(0, "ETL") is None


def test_an_operation_that_goes_on_for_twice_as_long_as_told_counts_twice() -> None:
    seen = SeenStatements()
    for number in range(3):
        for run in (0.0, 10.0, 20.0, 30.0):
            row = holder(600 + number, run, remaining=(35.0 - run) / 2)
            seen.add(reading(50.0 * number + run, held=(row,)))
        seen.add(reading(50.0 * number + 40.0))
    # It ended 35 seconds after it began; told were 17.5 seconds at the beginning, and 7.5 after 20 seconds.
    assert seen.times(0, "BATCH", "9md3ukh000j58") == pytest.approx((2.0,) * 6)
    assert seen.times(0, "BATCH", "another") == pytest.approx((2.0,) * 6)
    assert seen.times(0, "ETL", "another") == ()


def test_who_was_there_at_first_did_not_come() -> None:
    seen = SeenStatements()
    seen.add(reading(0.0, (waiting(0.0, since=-30.0),), (holder(600, 5.0),)))
    assert seen.came == []
    seen.add(reading(10.0, (waiting(10.0, since=-30.0), waiting(10.0, sid=502, since=4.0)), (holder(600, 15.0),)))
    assert [(run.sid, run.began) for run in seen.came] == [(502, AT + timedelta(seconds=4))]


def test_an_earlier_reading_begins_anew() -> None:
    seen = in_turn(6, 60.0)
    seen.add(reading(10.0))
    assert (seen.ended, seen.watched, seen.came) == (0, 0.0, [])
