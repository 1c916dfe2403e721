"""Pages on a statement's past, on the sessions that run it now, and on outliers; by hand."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.readings.reading import UnansweredQuery
from presman.analysis.readings.wait_readings import Outlier, OutlierReading
from presman.analysis.trends import Watch
from presman.analysis.trends.sql_minutes import SqlActivity, SqlPast
from presman.analysis.trends.statement_runs import StatementRun
from presman.base.formats import clock
from presman.figures.drawing.lines import plain
from presman.figures.statement_figures import QUEUE
from presman.tabs.drill_down import ScopeContents
from presman.tui.pages.content import _owner_and_sessions, _sessions, details_of, outliers_page, past_lines
from tests.tui.readings import AT, busy, queued, running, sections, session

ACTIVE = SqlActivity(0, "7xq3h0000kd0x", "ETL", "RPT", 3.0, 2.0, 1.0, 16.0)
PAST = SqlPast(5, 2, 41.0, 60.0, 300.0, 32, (), ACTIVE, 600.0, AT)
RUN = StatementRun(1, 7, 7, "7xq3h0000kd0x", 0, "ETL", "RPT", 0, queued=AT, ended=AT)


def texts(lines: Any) -> list[str]:
    return [" ".join(plain(line).split()) for line in lines if line]


def test_the_executions_seen_of_a_statement() -> None:
    assert sections(past_lines(PAST))["Executions seen"] == [
        "on average 2.0 sessions on CPU, 1.0 waiting, 16.0 servers, over the 10:00 watched",
        "executions 5 parallel, on up to 32 servers",
        "in the queue 2 of 5 were seen queued, 0:41 on average, 1:00 at most",
        "ran 5:00 on average",
    ]
    never = PAST._replace(queued=0, mean_run=None, activity=None, servers=1)
    assert sections(past_lines(never))["Executions seen"] == [
        "executions 5 parallel, on up to 1 server", "in the queue 0 of 5 were seen queued", "ran none has finished",
    ]  # fmt: skip
    serial = PAST._replace(executions=0)
    assert sections(past_lines(serial))["Executions seen"][1:] == [
        "No parallel execution of it was seen; serial ones are not counted."
    ]


@pytest.mark.parametrize(
    ("queued", "ran", "ended", "idle", "servers", "expected"),
    [
        (41.0, 300.0, True, None, 32, "queued 0:41, ran 5:00, 32 servers"),
        (None, 300.0, False, None, 1, "not seen in the queue, runs 5:00, 1 server"),
        (41.0, None, False, None, 0, "queued 0:41, waits, servers not known"),
        (41.0, None, True, None, 0, "queued 0:41, never ran, servers not known"),
        (None, 300.0, False, 61.0, 8, "not seen in the queue, idle for 1:01 and keeps them, 8 servers"),
    ],
)
def test_the_outcome_of_one_execution(
    queued: float | None, ran: float | None, ended: bool, idle: float | None, servers: int, expected: str
) -> None:
    now = AT + timedelta(seconds=(queued or 0.0) + (ran or 0.0))
    started = None if ran is None else now - timedelta(seconds=ran)
    one = replace(
        RUN, servers=servers, queued=AT if queued else None, started=started, ended=now if ended else None,
        idle=None if idle is None else now - timedelta(seconds=idle),
    )  # fmt: skip
    past = PAST._replace(at=now)
    assert texts(past_lines(past._replace(newest=(one,))))[-1] == f"{clock(AT)} RPT: {expected}"
    assert texts(past_lines(past._replace(newest=(replace(one, user=""),))))[-1].endswith(f"?: {expected}")


OWN = session(7, user="APP", group="BATCH", event="", status="ACTIVE", px_role="")


def contents(**facts: Any) -> ScopeContents:
    return replace(ScopeContents((), (), (), ()), **facts)


@pytest.mark.parametrize(
    ("found", "now"),
    [
        (contents(running=(running(1, servers=8), running(2, servers=16)), queue=(queued(1),), sessions=(OWN,)),
         "2 running on 24 servers, 1 queued, 1 other session"),
        (contents(queue=(queued(1), queued(2))), "2 queued"),
        (contents(sessions=(OWN, OWN)), "2 sessions"),
        (contents(), "no session runs it"),
    ],
)  # fmt: skip
def test_the_running_sessions_of_a_statement_are_counted(found: ScopeContents, now: str) -> None:
    assert texts(_owner_and_sessions(found, PAST))[-1] == f"now {now}"


def test_the_owner_is_that_of_running_sessions_else_of_earlier_executions() -> None:
    last = replace(RUN, group="OLD", user="LAST")
    assert texts(_owner_and_sessions(contents(running=(running(1),)), PAST))[:2] == ["group BATCH", "user MARTIN"]
    assert texts(_owner_and_sessions(contents(), PAST))[:2] == ["group ETL", "user RPT"]
    assert texts(_owner_and_sessions(contents(), PAST._replace(activity=None, newest=(last,))))[:2] == [
        "group OLD",
        "user LAST",
    ]
    assert texts(_owner_and_sessions(contents(), PAST._replace(activity=None)))[:2] == ["group -", "user -"]


def test_up_to_twelve_running_sessions_are_listed() -> None:
    """The server of a coordinator and a session whose statement is listed are not listed again."""
    at_work = running(1, operation="Hash Join", progress=0.25)
    server, same = session(8, px_role="server"), session(1, serial=at_work.serial)
    found = contents(running=(at_work, running(2, idle=90.0)), queue=(queued(1),), sessions=(OWN, server, same))
    assert texts(_sessions(found, busy())) == [
        "1:1,60805 MARTIN of BATCH: 32 servers, runs 7:40, Hash Join 25 %",
        "1:2,60805 MARTIN of BATCH: 32 servers, idle for 1:30",
        "1:501,7 RPT of BATCH: queued for 3:41, number 1",
        "1:7,11 APP of BATCH: ACTIVE",
        "Enter lists them, with what can be done",
    ]
    thirteen = contents(sessions=tuple(OWN._replace(sid=number) for number in range(13)))
    lines = texts(_sessions(thirteen, busy()))
    assert (len(lines), lines[-1]) == (13, "… and 1 more: Enter lists them, with what can be done")
    twelve = contents(sessions=thirteen.sessions[:12])
    assert texts(_sessions(twelve, busy()))[-1] == "Enter lists them, with what can be done"
    assert texts(_sessions(contents(), busy())) == ["No session runs it at this moment."]


def outliers(**facts: Any) -> list[str]:
    return texts(outliers_page(120)(replace(busy(), **({"troubles": ()} | facts))))[2:]


def test_outliers_are_listed_by_view_or_their_absence_explained() -> None:
    one = Outlier("V$IO_OUTLIER", 1, "Reads", 8, "db file read", "+DATA/x.dbf", 713, (("A", 700), ("B", 1_200)))
    none = OutlierReading("V$LGWRIO_OUTLIER", AT + timedelta(seconds=5), (), ())
    found = outliers(outliers=(OutlierReading("V$IO_OUTLIER", AT, (one, one), ("they only grow",)), none))
    assert found == [
        f"V$IO_OUTLIER rows: 2, asked at {clock(AT)}", "▲ not plausible: they only grow",
        "latency ms size function wait event file disks, ms",
        *["713 8 Reads db file read +DATA/x.dbf A 700, B 1,200"] * 2,
        f"V$LGWRIO_OUTLIER rows: 0, asked at {clock(none.at)}",
        "No outliers: no I/O took longer than about half a second, or Oracle kept none.",
    ]  # fmt: skip
    assert outliers() == ["requested; the answer comes with the next poll (the views exist from 12.1 on)"]
    missing = UnansweredQuery("lgwrio_outlier", "GV$LGWRIO_OUTLIER", "ORA-00942", "grant select")
    assert outliers(troubles=(missing, *busy().troubles)) == ["GV$LGWRIO_OUTLIER: ORA-00942 grant select"]
    assert len(outliers_page(120)(None)) == 3


def test_the_page_of_a_row_is_empty_without_a_poll() -> None:
    assert details_of(busy().queue[0], QUEUE, Watch(), 80)(None) == []
