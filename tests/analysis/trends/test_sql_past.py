"""The executions seen of one statement."""

from __future__ import annotations

from datetime import timedelta

from msgspec.structs import replace

from presman.analysis.assemble import analyse
from presman.analysis.readings.session_readings import Activity, SqlSample
from presman.analysis.trends import Watch
from presman.analysis.trends.sql_minutes import LISTED, SqlMinutes, sql_past
from presman.figures.drawing.lines import plain
from presman.tui.pages.content import past_lines
from tests.analysis.make import NOON, active_plan, instance, queued_session, snapshot
from tests.analysis.trends.test_watch import at, running

SQL = "9md3ukhghgj58"


def seen() -> Watch:
    """One waits 40 s before 12:00, runs from 12:00:15 on, and is gone between 30 and 40 s; another is there at 50 s."""
    waiting = analyse(None, snapshot(instance(), active_plan(), queued_session(1, "ETL", 40.0))).queue[0]
    watch = Watch()
    watch.add(at(0, queue=(replace(waiting, serial=7, sql_id=SQL),)))
    sample = SqlSample(0, SQL, "ETL", "U", on_cpu=2, waiting=6)
    watch.add(at(20, running(elapsed=5.0), activity=Activity(8, {}, (sample,))))
    watch.add(at(30, running(elapsed=15.0), activity=Activity()))
    watch.add(at(40, activity=Activity()))
    watch.add(at(50, running(2, servers=4, elapsed=3.0), activity=Activity()))
    return watch


def test_executions_waits_and_servers_of_a_statement() -> None:
    """Queued from -40 to 15: 55 s. Gone halfway between 30 and 40: it ran 20 s. The other runs for 13 s at 60 s."""
    past = sql_past(seen(), SQL, 0, NOON + timedelta(seconds=60))
    assert (past.executions, past.queued, past.mean_wait, past.longest_wait) == (2, 1, 55.0, 55.0)
    assert (past.mean_run, past.servers) == (20.0, 8)
    newest, first = past.newest
    assert (newest.waited(past.at), newest.ran(past.at), newest.servers, newest.ended) == (None, 13.0, 4, None)
    assert (first.waited(past.at), first.ran(past.at), first.servers) == (55.0, 20.0, 8)
    assert first.ended == NOON + timedelta(seconds=35)


def test_how_busy_it_was_over_the_time_that_was_watched() -> None:
    """Two on CPU for 20 of 50 s: 0.8. Servers: 8 for 30 s and 4 for 10 s of 50 s: 5.6."""
    past = sql_past(seen(), SQL, 0, NOON + timedelta(seconds=60))
    assert past.watched == 50.0
    assert past.activity is not None
    assert (past.activity.on_cpu, past.activity.waiting, past.activity.servers) == (0.8, 2.4, 5.6)


def test_the_time_before_a_poll_counts_in_the_minute_of_the_poll() -> None:
    """30 s each: one in 12:00, two in 12:01 and in 12:02, one in 12:03."""
    minutes = SqlMinutes()
    for number in range(7):
        minutes.add(at(30.0 * number, activity=Activity()))
    assert [minutes.watched(NOON + timedelta(seconds=180), last) for last in (1, 2, 3, 4)] == [30.0, 90.0, 150.0, 180.0]


def test_the_first_poll_stands_for_no_time_and_the_second_for_half_a_second() -> None:
    minutes, watched = SqlMinutes(), []
    for seconds in (0.0, 0.5):
        minutes.add(at(seconds, activity=Activity()))
        watched.append(minutes.watched(NOON + timedelta(seconds=1), 5))
    assert watched == [0.0, 0.5]


def test_an_idle_holder_is_shown_as_idle_while_it_idles() -> None:
    """Idle for 4 s at 30 s, so since 26 s: 14 s at 40 s; at 20 s it worked, and at 50 s it is gone."""
    watch = Watch()
    watch.add(at(20, running(elapsed=5.0)))
    watch.add(at(30, running(elapsed=None, idle=4.0)))
    lines = []
    for seconds in (20, 40, 50):
        if seconds == 50:
            watch.add(at(50))
        lines.append(plain(past_lines(sql_past(watch, SQL, 0, NOON + timedelta(seconds=seconds)))[-1]))
    assert ["idle for 0:14 and keeps them" in each for each in lines] == [False, True, False]


def test_what_came_later_than_the_instant_is_left_out() -> None:
    """At 22 s the first runs for 7 s; its end is not known then."""
    past = sql_past(seen(), SQL, 0, NOON + timedelta(seconds=22))
    assert (past.executions, past.mean_run) == (1, None)
    assert (past.newest[0].ran(past.at), past.newest[0].ended) == (7.0, None)


def test_another_statement_or_container_has_no_past() -> None:
    for sql_id, con_id in (("other", 0), (SQL, 3)):
        past = sql_past(seen(), sql_id, con_id, NOON + timedelta(seconds=60))
        assert (past.executions, past.servers, past.activity, past.newest) == (0, 0, None, ())
    assert sql_past(seen(), SQL, None, NOON + timedelta(seconds=60)).executions == 2


def test_only_the_newest_are_listed() -> None:
    watch = Watch()
    for number in range(LISTED + 3):
        watch.add(at(10 * number, running(number, elapsed=1.0)))
    past = sql_past(watch, SQL, None, NOON + timedelta(seconds=999))
    assert past.executions == LISTED + 3
    assert [each.began for each in past.newest] == [
        NOON + timedelta(seconds=10 * number - 1) for number in range(LISTED + 2, 2, -1)
    ]
