"""Goals of service: statements that started in time, each counted once; by hand."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

import pytest
from msgspec.structs import replace

from presman.analysis.alerts.queue_alerts import goals_missed
from presman.analysis.goals import Goal, GoalReading, met, share
from presman.analysis.readings.reading import Reading, UnavailableView
from presman.analysis.readings.statement_readings import QueuedStatement, RunningStatement
from presman.analysis.trends.goal_counts import GoalCounts, recorded_goals
from presman.analysis.trends.statement_runs import StatementRun
from tests.tui.readings import AT, busy, queued, running

GOAL = Goal("BATCH", 0.75, 30.0)


def at(second: float, queue: Iterable[QueuedStatement] = (), held: Iterable[RunningStatement] = ()) -> Reading:
    return replace(busy(), at=AT + timedelta(seconds=second), queue=tuple(queue), running=tuple(held))


def waits(sid: int, waited: float, group: str = "BATCH") -> QueuedStatement:
    return queued(sid=sid, waited=waited, group=group, sql_id="9md3ukh000j58")


def runs(sid: int, elapsed: float, group: str = "BATCH", serial: int = 7) -> RunningStatement:
    return running(sid, elapsed=elapsed, group=group, serial=serial, sql_id="9md3ukh000j58")


def counts(*readings: Reading, goal: Goal = GOAL) -> GoalReading:
    counted = GoalCounts([goal])
    for each in readings:
        found = counted.add(each)
    return found.goals[0]


def good_and_bad(*readings: Reading) -> tuple[int, int]:
    found = counts(*readings)
    return found.good, found.bad


def test_a_start_in_time_is_good_and_counts_once() -> None:
    serial = waits(1, 5.0).serial
    queue, start = at(0, [waits(1, 5.0)]), at(10, held=[runs(1, 5.0, serial=serial)])
    assert good_and_bad(queue) == (0, 0), "it has not started yet"
    assert good_and_bad(queue, start, at(20, held=[runs(1, 15.0, serial=serial)])) == (1, 0)


def test_a_longer_wait_is_bad_before_its_start_and_stays_so() -> None:
    serial = waits(1, 25.0).serial
    late = at(0, [waits(1, 25.0)]), at(10, [waits(1, 35.0)])
    assert good_and_bad(*late) == (0, 1)
    assert good_and_bad(*late, at(20, held=[runs(1, 5.0, serial=serial)]), at(30)) == (0, 1)


def test_a_statement_that_no_view_lists_is_not_known_to_wait() -> None:
    """It had started in time while V$PX_SESSION did not answer, and counted as late."""
    silent = (UnavailableView("V$PX_SESSION", "V$PX_SESSION: ORA-00942"),)
    unseen = [replace(at(second), unseen=silent) for second in (10, 40)]
    serial = waits(1, 5.0).serial
    assert good_and_bad(at(0, [waits(1, 5.0)]), *unseen) == (0, 0)
    assert good_and_bad(at(0, [waits(1, 5.0)]), *unseen, at(50, held=[runs(1, 45.0, serial=serial)])) == (1, 0)


def test_a_statement_that_leaves_the_queue_early_does_not_count() -> None:
    assert good_and_bad(at(0, [waits(1, 5.0)]), at(10)) == (0, 0)


def test_a_statement_first_seen_running_waited_less_than_a_poll() -> None:
    assert good_and_bad(at(0, held=[runs(1, 100.0)])) == (0, 0), "it was there before the first poll"
    assert good_and_bad(at(0), at(10, held=[runs(1, 5.0)])) == (1, 0)
    assert good_and_bad(at(0), at(40, held=[runs(1, 5.0)])) == (0, 0), "in 40 seconds it may have waited for 35"


def test_other_groups_do_not_count() -> None:
    assert good_and_bad(at(0, [waits(1, 99.0, "ETL")]), at(10, held=[runs(2, 5.0, "ETL")])) == (0, 0)


def test_no_start_or_end_counts_while_the_queue_cannot_be_seen() -> None:
    unseen = (UnavailableView("V$PX_SESSION", "V$PX_SESSION: ORA-00942"),)
    assert good_and_bad(at(0, [waits(1, 5.0)]), replace(at(10), unseen=unseen)) == (0, 0)


def test_half_an_hour_and_a_day_are_counted_apart() -> None:
    found = counts(
        at(0), at(10, held=[runs(1, 5.0)]), at(20, [waits(2, 40.0)]), at(1900, held=[runs(3, 5.0)]),
        at(1905, held=[runs(3, 10.0), runs(4, 2.0)]),
    )  # fmt: skip
    # Poll 1900 comes 1880 seconds after the one before it: what is first seen there at work does not count.
    assert (found.good, found.bad) == (2, 1)
    assert (found.recent, found.day) == ((1, 0), (2, 1))
    assert found.watched == 25.0, "no poll in the 1880 seconds"
    later = counts(at(0), at(10, held=[runs(1, 5.0)]), at(86_500))
    assert (later.good, later.day) == (1, (0, 0))


def test_an_earlier_reading_begins_anew() -> None:
    assert good_and_bad(at(0), at(10, held=[runs(1, 5.0)]), at(-100)) == (0, 0)


@pytest.mark.parametrize(
    ("good", "bad", "state"), [(0, 0, ""), (3, 1, "met"), (2, 1, "missed"), (1, 0, "met"), (0, 1, "missed")]
)
def test_three_of_four_meet_a_goal_of_75_percent(good: int, bad: int, state: str) -> None:
    assert met(GOAL, good, bad) == state


def test_the_share_is_in_percent() -> None:
    assert share(3, 1) == 75.0
    assert share(0, 0) is None


def test_a_missed_goal_is_an_alert_with_its_arithmetic() -> None:
    missed = GoalReading(GOAL, 2, 2, (2, 2), (2, 2), 600.0)
    (alert,) = goals_missed(replace(busy(), goals=(missed, GoalReading(GOAL, 4, 0, (4, 0), (4, 0), 600.0))))
    assert (alert.key, alert.subject, alert.state, alert.amount) == ("goal_missed", "BATCH", "warn", 50.0)
    assert alert.text == (
        "Goal missed: BATCH: 50 % started within 0:30, 75 % wanted (2 of 4 statements in the last 10 min)"
    )


def recorded(queued_at: float | None, started: float | None, ended: float | None = None) -> StatementRun:
    times = [None if each is None else AT + timedelta(seconds=each) for each in (queued_at, started, ended)]
    first = times[0] or times[1]
    return StatementRun(
        1,
        7,
        7,
        "9md3ukh000j58",
        0,
        "BATCH",
        "U",
        8,
        queued=times[0],
        started=times[1],
        ended=times[2],
        first_seen=first,
    )


def test_what_was_recorded_is_counted_by_the_same_rule() -> None:
    lives = [
        recorded(0, 20),  # in time
        recorded(0, 31),  # too late
        recorded(0, None, 35),  # it timed out
        recorded(0, None, 20),  # it left before
        recorded(None, 50),  # it did not queue
        recorded(80, None),  # it has waited for 20 seconds
        replace(recorded(None, 60), first_seen=AT),  # another group from 60 s on: counted already
        recorded(-100, 1),  # too late at -70 s, and it still waits at the beginning
        recorded(-20, -5),  # in time, before the beginning
    ]
    (found,) = recorded_goals([GOAL], lives, AT, AT + timedelta(seconds=100), 5.0)
    assert (found.good, found.bad) == (2, 3)
    (slow,) = recorded_goals([GOAL], lives, AT, AT + timedelta(seconds=100), 60.0)
    assert (slow.good, slow.bad) == (1, 3), "a statement that was not seen queued may have waited for a minute"
