"""History learnt from readings: durations by SQL_ID, group and all, outcomes of LONGOPS, arrivals."""

from __future__ import annotations

import pytest

from presman.analysis.readings.statement_readings import RunningStatement
from presman.forecast.statement_history import StatementHistory
from tests.forecast.test_forecaster import reading, waiting
from tests.tui.readings import running


def holder(sid: int, elapsed: float, **facts: object) -> RunningStatement:
    return running(sid, elapsed=elapsed, **{"sql_id": "9md3ukh000j58", **facts})


def in_turn(number: int, lasting: float, **facts: object) -> StatementHistory:
    """One that has seen so many statements, one after the other, each for so long, a poll every ten seconds."""
    seen = StatementHistory()
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


def test_repeated_questions_are_answered_once_for_each_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """A forecast needs it for each statement that came in the last hour."""
    seen, asked = in_turn(6, 60.0), []
    look_up = StatementHistory._durations
    monkeypatch.setattr(StatementHistory, "_durations", lambda self, key: asked.append(key) or look_up(self, key))
    before = [seen.lasting(0, "BATCH", "another") for _ in range(9)][-1]
    assert asked == [(0, "another", "sql"), (0, "BATCH")]
    for second in range(400, 1000, 10):
        turn, run = divmod(second - 400, 100)
        seen.add(reading(second, held=(holder(700 + turn, run, sql_id="another"),)))
    seen.add(reading(1000.0))
    own = seen.lasting(0, "BATCH", "another")
    assert own != before
    assert own is not None
    assert len(own.times) == 6


def test_four_are_too_few() -> None:
    seen = in_turn(4, 60.0)
    assert seen.lasting(0, "BATCH", "9md3ukh000j58") is None
    assert seen.ended == 4


def test_statements_ended_over_an_hour_ago_are_forgotten() -> None:
    seen = in_turn(6, 60.0)
    for minute in range(7, 121):
        seen.add(reading(60.0 * minute))
        if minute == 62:
            assert seen.ended == 5  # those that ended at 120 s and later
    assert seen.ended == 0
    assert seen.lasting(0, "BATCH", "9md3ukh000j58") is None
    assert seen.watched == 3600.0


def test_a_sql_id_without_an_end_for_an_hour_is_forgotten() -> None:
    seen = StatementHistory()
    for number in range(200):  # each another SQL_ID, there for one poll of each minute
        held = (holder(600, 5.0, sql_id=f"{number:013}"),) if number % 2 else ()
        seen.add(reading(30.0 * number, held=held))
        seen.lasting(0, "BATCH", f"{number:013}")
    # In an hour 60 have ended, the oldest just an hour ago; of the last minute it was asked how long three last.
    assert len(seen._ends) - len({("all",), (0, "BATCH")}) == 60
    assert len(seen._made) <= 3 + len({("all",), (0, "BATCH")})
    assert not seen._times, "V$SESSION_LONGOPS had no rows of them"


def test_a_gap_is_left_out_as_if_no_time_had_passed() -> None:
    seen = in_turn(5, 60.0)
    seen.add(reading(310.0, held=(holder(700, 5.0),)))
    assert [(at, run.sid) for at, run in seen.arrivals] == [(60, 601), (120, 602), (180, 603), (240, 604), (305, 700)]
    seen.add(reading(910.0, held=(holder(800, 2.0),)))
    # 700 ran for 5 seconds, and then longer: how long is not known. 800 may have come with others that are gone.
    assert (seen.ended, seen.watched, [run.sid for _, run in seen.arrivals]) == (5, 310.0, [601, 602, 603, 604, 700])
    own = seen.lasting(0, "BATCH", "9md3ukh000j58")
    assert own is not None
    assert set(own.times) == {55.0}
    seen.add(reading(920.0, held=(holder(900, 2.0),)))
    assert (seen.ended, seen.watched) == (6, 320.0)
    assert [at for at, _ in seen.arrivals] == [60.0, 120.0, 180.0, 240.0, 305.0, 318.0]


def test_after_an_hour_in_which_nothing_was_seen_it_is_not_known_what_comes() -> None:
    seen = in_turn(5, 60.0)
    seen.add(reading(3910.0, held=(holder(800, 2.0),)))
    assert (seen.watched, seen.arrivals) == (0.0, [])


def test_polls_that_are_far_apart_twice_are_as_far_apart_as_they_are_meant_to_be() -> None:
    seen = in_turn(5, 60.0)
    for number in range(1, 5):
        seen.add(reading(300.0 + 200.0 * number, held=(holder(700 + number, 5.0),)))
    # The third and the fourth step are as long as those before them: so the third and the fourth came and are known.
    assert [run.sid for _, run in seen.arrivals] == [601, 602, 603, 604, 703, 704]
    assert seen.watched == 300.0 + 400.0


def test_of_too_many_arrivals_those_since_the_oldest_kept_count() -> None:
    seen = StatementHistory()
    for number in range(12):
        rows = [waiting(0.0, sid=1000 * number + each, since=-0.05 * each) for each in range(100)]
        seen.add(reading(10.0 * number, rows))
    # 1,100 came in 110 seconds, after those that were there at first; the 1,000 kept ones in the last 95 to 90 seconds.
    assert len(seen.arrivals) == 1000
    assert seen.watched == pytest.approx(90.0 + 4.95)


def test_idle_holders_are_learnt_from_the_end_of_their_idleness() -> None:
    seen = StatementHistory()
    for number in range(5):
        for idle in (0.0, 10.0, 20.0):
            row = holder(600 + number, 50.0 + idle, idle=idle, status="INACTIVE")
            seen.add(reading(40.0 * number + idle, held=(row,)))
        seen.add(reading(40.0 * number + 30.0))
    found = seen.idling(0, "BATCH")
    assert found is not None
    assert set(found.times) == {25.0}
    assert seen.idling(0, "ETL") is None


def test_an_operation_twice_as_long_as_estimated_counts_twice() -> None:
    seen = StatementHistory()
    for number in range(3):
        for run in (0.0, 10.0, 20.0, 30.0):
            row = holder(600 + number, run, remaining=(35.0 - run) / 2)
            seen.add(reading(50.0 * number + run, held=(row,)))
        seen.add(reading(50.0 * number + 40.0))
    # It ended 35 seconds after it began; estimated were 17.5 seconds at first, and 7.5 after 20 seconds.
    assert seen.times(0, "BATCH", "9md3ukh000j58") == pytest.approx((2.0,) * 6)
    assert seen.times(0, "BATCH", "another") == pytest.approx((2.0,) * 6)
    assert seen.times(0, "ETL", "another") == ()


def test_statements_of_the_first_poll_are_no_arrivals() -> None:
    seen = StatementHistory()
    seen.add(reading(0.0, (waiting(0.0, since=-30.0),), (holder(600, 5.0),)))
    assert seen.arrivals == []
    seen.add(reading(10.0, (waiting(10.0, since=-30.0), waiting(10.0, sid=502, since=4.0)), (holder(600, 15.0),)))
    assert [(at, run.sid) for at, run in seen.arrivals] == [(4.0, 502)]


def test_an_earlier_reading_begins_anew() -> None:
    seen = in_turn(6, 60.0)
    seen.add(reading(10.0))
    assert (seen.ended, seen.watched, seen.arrivals) == (0, 0.0, [])
