"""Going into a group, an event, an instance, a PDB or folded statements, and back; rows that fold."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from msgspec.structs import replace

from presman.analysis.collapsed_rows import CollapsedStatements, collapse_queue, collapse_sessions
from presman.analysis.readings.statement_readings import QueuedStatement, StartForecast
from presman.figures.drawing.lines import plain
from presman.figures.session_figures import SESSIONS
from presman.figures.statement_figures import QUEUE, QUEUED
from presman.rows.session_rows import SessionCount
from presman.tabs import drill_down
from presman.tabs.choices import Choices, DrillScope, breadcrumb
from presman.tabs.drill_down import contents_of as inside_of
from presman.tabs.drill_down import scope_of
from presman.tabs.parallel import queue_rows
from presman.tabs.parts import Moment
from presman.tui.pages.row_details import group as group_page
from tests.analysis import make
from tests.recording.recorded import polled
from tests.thorough import some
from tests.tui.drive import acted, stage
from tests.tui.readings import busy, queued, sessions
from tests.tui.test_live import playing


@acted
async def test_drilling_from_instance_to_group_to_session_and_back() -> None:
    async with playing("rac", (120, 40)) as (acting, polls):
        await polls(2)
        before = await acting.press("4", "tab", "tab", "tab")
        assert "  Parallel › instance 1   " in await acting.press("enter")
        screen = await acting.press("down", "enter")
        assert "  Parallel › instance 1 › SHOP   " in screen
        rows = [line for line in screen.splitlines() if line.startswith((" 1:", " 2:"))]
        assert len(rows) > 5
        assert all(line.startswith(" 1:") and " SHOP " in line for line in rows), "of that instance and group only"
        group = next(row for row in acting.app.monitor.reading.groups if (row.inst_id, row.name) == (1, "SHOP"))
        assert f"{group.active_sessions} active" in screen, "as V$RSRC_CONSUMER_GROUP counts them"
        page = await acting.press("enter")
        assert "  Parallel › instance 1 › SHOP › 1:" in page
        assert "[4 Parallel]" in page
        assert screen == await acting.press("escape")
        assert "  Parallel › instance 1   " in await acting.press("q")
        assert before == await acting.press("escape"), "the previous table has the focus again"
        await acting.keys("enter", "2")
        assert acting.app.monitor.choices.scopes == ()


@pytest.mark.parametrize("size", some([(80, 24)], [(120, 35), (200, 50)]))
@acted
async def test_a_group_has_its_top_sql_and_its_sessions_behind_one_key(size: tuple[int, int]) -> None:
    async with playing("storm", size) as (acting, polls):
        await polls(4)
        screen = await acting.press("enter")
        assert " Overview › BATCH " in screen
        top, sessions = screen.index("\n Top SQL  "), screen.index("\n Sessions  ")
        assert "over the 0:06 watched" in screen[top:sessions]
        assert len(screen[sessions:].splitlines()) > 3, "the sessions have room"
        rows = drill_down.busiest(acting.app.monitor.moment())
        assert max(rows, key=lambda each: each.activity.on_cpu).activity.sql_id in screen[top:sessions]
        assert {each.activity.group for each in rows} == {"BATCH"}
        assert "over the 0:06 watched" in await acting.press("w"), "the window is chosen here, too"


@acted
async def test_events_and_single_instances_of_a_cluster_have_no_top_sql() -> None:
    async with playing("rac", (120, 40)) as (acting, polls):
        await polls(3)
        assert " Top SQL  " not in await acting.press("4", "tab", "tab", "tab", "enter")
        assert " Top SQL  " not in await acting.press("down", "enter"), "samples are of the cluster"


@acted
async def test_drilling_from_an_event_to_sessions_and_statements() -> None:
    async with playing("storm", (200, 50)) as (acting, polls):
        await polls(2)
        screen = await acting.press("tab", "enter")
        event = acting.app.monitor.choices.scopes[0].event
        assert f" Overview › {event}   " in screen
        waiting = [row for row in acting.app.monitor.reading.sessions if row.event == event]
        assert f"{len(waiting)} sessions, {len(waiting)} active" in screen
        await acting.keys("slash", *"zzzz", "enter")
        assert "Nothing matches" in acting.screen
        assert "Nothing matches" not in await acting.press("escape"), "the first ends the filter"
        assert acting.app.monitor.choices.scopes
        await acting.keys("escape")
        assert not acting.app.monitor.choices.scopes


@acted
async def test_identical_queued_statements_are_one_row() -> None:
    same = [replace(queued(number), sql_id="7k36sd695fszu", waited=90.0 - number) for number in range(1, 10)]
    reading = replace(busy(), queue=(*same, replace(queued(10), sql_id="")))
    async with stage(reading, size=(120, 40)) as acting:
        screen = await acting.press("4")
        row = next(line for line in screen.splitlines() if "7k36sd695fszu x9" in line)
        assert " 288 " in row, "32 servers each"
        assert " Queued  10  in 2 rows, identical ones folded: u unfolds" in screen
        assert "Copied, not run" in await acting.press("c", "1"), "what lets the head of its queue start"
        acting.app.gateway = mock.Mock()
        screen = await acting.press("a")
        assert "9 statements in one row" in screen
        screen = await acting.press("enter")
        assert "  Parallel › 7k36sd695fszu   0 sessions, 0 active; 9 queued" in screen
        assert [row.position for row in acting.app.panels.present.grids()[0].rows.shown] == list(range(1, 10))
        await acting.keys("enter")
        await acting.keys("a")
        assert acting.app.gateway.ask.call_args.args[1].sql_id == "7k36sd695fszu", "on the page about a statement, too"
        acting.app.gateway = None
        assert "Actions need --allow-actions" in await acting.press("a")
        await acting.keys("escape")
        screen = await acting.press("escape", "u")
        assert " Queued  10  …" in screen or " Queued  10\n" in screen
        assert "x9" not in screen
        assert "x9" in await acting.press("u")


def test_a_folded_row_shows_ranges_of_differing_values_or_nothing() -> None:
    one = replace(queued(1), waited=249.0, timeout_left=51.0, inst_id=1, module="A", starts=StartForecast(60, 30, 90))
    other = replace(
        one, sid=9, waited=104.0, timeout_left=196.0, inst_id=2, module="B", starts=StartForecast(80, 50, 120)
    )

    def shown(*rows: QueuedStatement) -> list[str]:
        (row,) = collapse_queue(rows)
        columns = "waited_s timeout_left_s starts_in_s inst_id client"
        return [figure.show(row) for figure in QUEUED.pick(columns)]

    assert shown(one, other) == ["1:44-4:09", "0:51-3:16 ✕", "0:30-2:00", "-", "several"]
    assert shown(one, replace(one, sid=9)) == ["4:09", "0:51 ✕", "0:30-1:30", "1", "A"], "the common values"
    unknown = replace(other, waited=None, starts=None)
    assert shown(one, unknown)[:3] == ["4:09?", "0:51-3:16 ✕", "0:30-?"], "the known value comes first"
    assert shown(replace(one, starts=StartForecast(why_none="unknown")), other)[2] == "-"


def test_the_longest_range_of_timeouts_has_room() -> None:
    one = replace(queued(1), timeout_left=3_600.0, timeout_action="RUN")
    (folded,) = collapse_queue((one, replace(one, sid=9, timeout_left=7_199.0)))
    column = QUEUE.column("timeout_left_s")
    assert column.show(folded) == "1:00:00-1:59:59 ▶"
    assert column.most >= len(column.show(folded))


def test_statements_that_want_different_servers_do_not_fold() -> None:
    one, other = queued(1), replace(queued(2), sql_id=queued(1).sql_id)
    assert [type(row) for row in collapse_queue((one, other))] == [CollapsedStatements]
    for change in ({"user": "ELSE"}, {"requested": 4}, {"wants": None}, {"group": "ETL"}, {"timeout_action": "RUN"}):
        assert collapse_queue((one, replace(other, **change))) == (one, replace(other, **change))
    folded = collapse_queue((one, other, replace(other, requested=4, sid=9), replace(other, requested=4, sid=8)))
    assert len({QUEUE.identity(row) for row in folded}) == 2
    assert [QUEUE.column("servers_high").show(row) for row in folded] == ["64", "64"]
    scope = scope_of(folded[1])
    assert scope is not None
    there = inside_of(scope, replace(busy(), queue=(one, other, replace(other, requested=4, sid=9))))
    assert [row.sid for row in there.queue] == [9], "those folded in that row only"


def test_servers_fold_into_their_coordinator_with_their_cpu() -> None:
    base = sessions()[0]
    coordinator = base._replace(sid=1, serial=1, px_role="QC", used=0.5, waiting=None, io_mb=1.0)
    servers = [
        base._replace(sid=sid, serial=1, px_role="server", used=1.5, waiting=0.25, coordinator=(base.inst_id, 1, 1))
        for sid in (2, 3)
    ]
    alone = servers[0]._replace(sid=4, coordinator=(base.inst_id, 77, 1))
    folded = collapse_sessions([servers[0], coordinator, servers[1], alone])
    assert [row.sid for row in folded] == [1, 4], "a server without its coordinator has its own row"
    assert (folded[0].used, folded[0].waiting) == (3.5, 0.5)
    assert SESSIONS.columns[0].show(folded[0]) == f"{base.inst_id}:1,1+2"
    assert SESSIONS.counted(folded) == 4
    unfolded = collapse_sessions([servers[0], coordinator, servers[1], alone], unfolded=True)
    assert SESSIONS.counted(unfolded) == 4
    assert [SESSIONS.columns[0].show(row)[0] for row in unfolded if row.sid in {2, 3}] == ["└", "└"]


def test_texts_have_every_statement() -> None:
    reading = replace(busy(), queue=tuple(replace(queued(number), sql_id="7k36sd695fszu") for number in (1, 2)))
    assert len(queue_rows(Moment(reading))) == 1
    assert len(queue_rows(Moment(reading, replace(Moment(reading).choices, plain=True)))) == 2


def test_sessions_that_wait_for_the_pool_are_not_counted_as_active() -> None:
    """18 sessions of BATCH are ACTIVE in V$SESSION; its pool lets 4 work, and 14 wait for that."""
    *_, (_, reading) = polled("throttled", 2)
    (batch,) = (row for row in reading.cluster_groups() if row.name == "BATCH")
    scope = DrillScope("BATCH", con_id=batch.con_id, group="BATCH")
    about = plain(drill_down.about(Moment(reading, Choices(scopes=(scope,))))[0])
    assert batch.pool is not None
    assert f", {batch.active_sessions} active, {batch.pool.queued} waiting to become active" in about
    page = "\n".join(map(plain, group_page(batch, reading)))
    assert f"{batch.active_sessions} active, {batch.execution_waiters} of them waiting for a time slice" in page
    assert f"{batch.active_sessions} of 4 allowed active; waiting: {batch.pool.queued}," in page


def test_sessions_in_a_scope_are_counted_by_the_database() -> None:
    """Of a narrow poll most idle sessions are not listed: 2 of 5 in SALES are, of 25 in all."""
    listed = [row._replace(con_id=3, status="ACTIVE") for row in sessions(2)]
    reading = replace(busy(), sessions=tuple(listed), unlisted=25)
    counts = [(3, "BATCH", "ACTIVE", 2), (3, "BATCH", "INACTIVE", 3), (4, "BATCH", "INACTIVE", 22)]
    fields = ("con_id", "resource_consumer_group", "status", "sessions")
    taken = make.snapshot(*(make.row(SessionCount, **dict(zip(fields, each, strict=True))) for each in counts))

    def look(scope: DrillScope, number: int | None = 25, **choices: Any) -> tuple[str, str]:
        seen = replace(reading, unlisted=number)
        moment = Moment(seen, Choices(scopes=(scope,), **choices), find=lambda: (None, taken))
        return "".join(text for text, _ in drill_down.about(moment)[0]), drill_down.session_note(moment)

    about, note = look(DrillScope("SALES", con_id=3), paused=1.0)
    assert "5 sessions (3 idle, not listed), 2 active" in about, "at any width, for the rows below are 2"
    assert note == "not listed: 3 idle sessions, which this poll did not read"
    about, note = look(DrillScope("SALES", con_id=3), None)
    assert "2 sessions listed, 2 active" in about
    assert note.startswith("not listed: idle sessions, read once a minute")
    event = listed[0].event
    assert "listed, " in look(DrillScope(event, event=event))[0]
    assert look(DrillScope("SALES", con_id=3), 0)[1] == ""


def test_the_path_names_the_instance_where_it_changes() -> None:
    etl = DrillScope("ETL", inst_id=2, con_id=0, group="ETL")
    assert breadcrumb("CPU", [etl], "2:503,7", several=True) == "CPU › ETL on 2 › 2:503,7"
    assert breadcrumb("CPU", [DrillScope("ETL", con_id=0, group="ETL")], several=True) == "CPU › ETL"
    assert (
        breadcrumb("Overview", [DrillScope("instance 2", inst_id=2), etl], several=True)
        == "Overview › instance 2 › ETL"
    )
    assert (
        breadcrumb("PDBs", [DrillScope("SALES", inst_id=1, con_id=3), etl], several=True)
        == "PDBs › SALES on 1 › ETL on 2"
    )
    assert breadcrumb("CPU", [etl]) == "CPU › ETL", "there is only one"
