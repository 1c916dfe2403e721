"""Samples of active sessions, their averages over time, and the tree of blocked sessions."""

from __future__ import annotations

from collections import namedtuple
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.facts.facts import Facts
from presman.analysis.groups.counter_deltas import of_sessions
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.session_readings import Activity, Amount, SqlSample
from presman.analysis.session_list import activity, amounts, blocking, together
from presman.analysis.trends.series import Series
from presman.analysis.trends.sql_minutes import SqlMinutes
from presman.rows.queries import null_row
from presman.rows.query_files import SessionRow
from presman.rows.session_rows import Session, SessionInfo
from presman.rows.snapshot import Section
from presman.tabs.choices import Choices
from presman.tabs.parts import Moment
from presman.tabs.top import classes, over
from tests.analysis.make import NOON, instance, row, snapshot
from tests.tui.readings import busy, running, sessions


def session(**facts: object) -> Session:
    return null_row(Session)._replace(status="ACTIVE", state="WAITING", **facts)


def test_active_sessions_and_their_classes() -> None:
    found = activity((
        session(event="resmgr:cpu quantum", wait_class="Scheduler", sql_id="a"),
        session(event="db file sequential read", wait_class="User I/O", sql_id="a"),
        session(event="db file sequential read", wait_class="User I/O")._replace(state="WAITED KNOWN TIME", sql_id="a"),
        session(event="PX Deq: Execution Msg", wait_class="Idle", sql_id="a"),
        session(event="SQL*Net message from client", wait_class="Idle")._replace(status="INACTIVE"),
        session(event="something new", wait_class="Of 2031"),
    ))  # fmt: skip
    assert found.active == 4
    assert found.by_class == {"Scheduler": 1, "on CPU": 1, "User I/O": 1, "Other": 1}
    assert [(each.sql_id, each.on_cpu, each.waiting) for each in found.statements] == [("a", 1, 2)]


def polled(second: float, on_cpu: int, waiting: int = 0) -> Reading:
    sample = SqlSample(0, "7k36sd695fszu", "BATCH", "RPT", on_cpu, waiting)
    by_class = {"on CPU": on_cpu, "Commit": waiting}
    return replace(
        busy(), at=busy().at + timedelta(seconds=second), activity=Activity(on_cpu + waiting, by_class, (sample,)),
        running=(running(1, sql_id="7k36sd695fszu", servers=8),),
    )  # fmt: skip


def test_averages_are_weighed_by_the_time_between_polls() -> None:
    series, minutes = Series(), SqlMinutes()
    for reading in (polled(0, 9), polled(2, 4, 1), polled(12, 1)):  # 2 s with 4, then 10 s with 1
        series.add(reading)
        minutes.add(reading)
    moment = Moment(reading, Choices(window=5), series=series)
    by_class = {row.name: row for row in classes(moment)}
    assert by_class["on CPU"].seconds == 18.0
    assert by_class["on CPU"].window == 1.5
    assert by_class["Commit"].seconds == 2.0
    assert by_class["on CPU"].share == 0.9
    assert over(moment) == "over the 0:12 watched"
    (top,) = minutes.top(reading.at, 5)
    assert (top.on_cpu, top.waiting, top.servers) == (1.5, 2 / 12, 8.0)


def test_without_polls_nothing_is_known() -> None:
    series, minutes = Series(), SqlMinutes()
    readings = (polled(0, 9), polled(500, 9), polled(502, 2), replace(polled(504, 9), activity=None))
    for reading in readings:
        series.add(reading)
        minutes.add(reading)
    end = readings[2].at.timestamp()
    assert series.integral(("active", 0, 0, "on CPU"), end - 3600, end) == (4.0, 2.0)
    assert minutes.top(readings[2].at, 60)[0].on_cpu == 2.0


def test_the_tree_has_each_session_once_and_the_worst_first() -> None:
    def waiter(sid: int, blocker: int | None = None, inst_id: int = 1) -> object:
        return sessions()[0]._replace(
            inst_id=inst_id, sid=sid, blocker=f"{inst_id}:{blocker}" if blocker else "", waited=sid
        )

    links = ((1,), (2, 1), (3, 2), (4, 1), (5, 99), (6,), (7, 8), (8, 7), (9, 9))
    found = blocking([waiter(*each) for each in links])
    assert [(row.name, row.depth, row.below) for row in found] == [
        ("1:1", 0, 3), ("1:4", 1, 0), ("1:2", 1, 1), ("1:3", 2, 0),
        ("1:99", 0, 1), ("1:5", 1, 0), ("1:8", 0, 1), ("1:7", 1, 0),
    ]  # fmt: skip
    assert found[4].session is None
    assert blocking([waiter(1), waiter(2)]) == ()


def test_the_highest_value_is_no_average() -> None:
    series = Series()
    for reading in (polled(0, 9), polled(2, 4), polled(4, 1)):
        series.add(reading)
    key, at = ("active", 0, 0, "on CPU"), reading.at.timestamp()
    assert series.most(key, at - 10, at) == 9.0
    assert series.most(key, at - 3, at) == 4.0
    assert series.most(key, at + 1, at + 5) is None


@pytest.mark.parametrize(
    ("absent", "rates"),
    [
        (set(), (1.0, 0.5, 3.0, 2.0)),
        ({"consumed_cpu_time"}, (None, 0.5, 3.0, 2.0)),
        ({"cpu_wait_time"}, (1.0, None, 3.0, 2.0)),
        ({"large_read_megabytes"}, (1.0, 0.5, None, 2.0)),
        ({"small_write_requests"}, (1.0, 0.5, 3.0, None)),
    ],
)
def test_a_rate_of_a_column_that_is_not_there_is_not_known(absent: set[str], rates: tuple[float | None, ...]) -> None:
    """In 2 s it used 2 s of CPU, waited for 1 s of it, read 6 MB and wrote 4 times."""
    seen = []
    for after, grown in ((0.0, 0), (2.0, 1)):
        info = row(SessionInfo, sid=7, consumed_cpu_time=2000 * grown, cpu_wait_time=1000 * grown,
                   large_read_megabytes=6 * grown, small_write_requests=4 * grown)  # fmt: skip
        plain = snapshot(instance(), row(Session, sid=7, serial=1), after=after)
        section = Section((info,), plain.at, absent=frozenset(absent))
        seen.append(snapshot(after=after, number=1 + grown, sections={**plain.sections, SessionInfo: section}))
    assert of_sessions(Facts.of(*seen))[1, 7] == rates


def test_several_rows_add_up_numbers_and_keep_the_first_text() -> None:
    rows: list[dict[str, Amount | None]] = [
        {"bytes": None, "work": "", "since": None},
        {"bytes": 2.0, "work": "sort", "since": NOON},
        {"bytes": 3.5, "work": "hash", "since": NOON - timedelta(seconds=1)},
    ]
    assert together(rows) == {"bytes": 5.5, "work": "sort", "since": NOON}
    assert together([{"bytes": None, "work": ""}]) == {}


READS: Any = type("Reads", (namedtuple("Reads", "inst_id sid reads_per_s bytes"), SessionRow), {})


def test_a_counter_is_shown_as_its_growth_per_second_while_it_grows_in_the_same_session() -> None:
    before = snapshot(READS(1, 7, 100.0, 5.0), READS(1, 8, 100.0, None), READS(1, 9, 100.0, None))
    now = snapshot(
        READS(1, 7, 130.0, 6.0), READS(1, 7, 20.0, 1.0), READS(1, 8, 90.0, 2.0), READS(1, 9, 170.0, 3.0), after=2
    )
    grown, less, other = {"reads_per_s": 25.0, "bytes": 7.0}, {"bytes": 2.0}, {"bytes": 3.0}
    assert amounts(Facts.of(before, now), {(1, 7), (1, 8)}) == {(1, 7): grown, (1, 8): less, (1, 9): other}
    assert amounts(Facts.of(None, now), {(1, 7)})[1, 7] == {"bytes": 7.0}
