"""The page of a statement, with or without a session; the texts on the tab Top."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from presman.analysis.assemble import analyse
from presman.analysis.readings.session_readings import CursorCost, Detail
from presman.analysis.readings.statement_readings import DopFacts
from presman.analysis.trends import Watch
from presman.analysis.trends.statement_runs import StatementRun
from presman.figures.drawing.lines import plain
from presman.figures.top_figures import TOP_BY_CPU
from presman.rows.cursor_rows import SqlText
from presman.rows.queries import Focus
from presman.tabs.drill_down import Statement, has_cursor_page, statement_of, with_cursor
from presman.tui.pages.content import cursor_of
from presman.tui.pages.detail_lines import cost_lines
from tests.recording.recorded import Moment, polled, record
from tests.thorough import some
from tests.tui.drive import acted, stage
from tests.tui.readings import busy, queued
from tests.tui.replays import replaying, waited
from tests.tui.test_live import playing

GONE = "0000000000000"


def page(statement: Statement, reading=None, watch: Watch | None = None, *, recorded: bool = False) -> str:  # type: ignore[no-untyped-def]
    seen = watch or Watch()
    content = cursor_of(statement, lambda: seen, 100, recorded=recorded)
    return "\n".join(plain(line) for line in content(reading or busy()))


@pytest.mark.parametrize("size", some([(80, 24)], [(200, 50)]))
@acted
async def test_every_ranked_statement_has_its_text_even_after_its_end(size: tuple[int, int]) -> None:
    async with playing("mixed", size) as (acting, polls):
        await polls(6)
        await acting.keys("9")
        app = acting.app
        rows = app.panels.present.grid_of(TOP_BY_CPU).rows.all
        assert len(rows) > 2
        assert all(row.sql_text for row in rows), [row.activity.sql_id for row in rows if not row.sql_text]
        serial = [row for row in rows if not row.activity.servers]
        assert serial, "statements that are not parallel are among them"
        ended = rows[0].activity.sql_id
        reading = app.monitor.reading
        gone = replace(reading, at=reading.at + timedelta(seconds=2), number=reading.number + 1, running=(), queue=(),
                       sessions=(), texts=())  # fmt: skip
        await acting.show(gone)
        found = {row.activity.sql_id: row for row in app.panels.present.grid_of(TOP_BY_CPU).rows.all}
        assert found[ended].sql_text == rows[0].sql_text


@pytest.mark.parametrize("size", some([(120, 35)], [(80, 24), (200, 50)]))
@acted
async def test_enter_opens_the_page_and_then_its_sessions(size: tuple[int, int]) -> None:
    async with playing("storm", size) as (acting, polls):
        await polls(4)
        await acting.keys("9")
        row = acting.app.panels.grid.row
        screen = await acting.press("enter")
        assert f"Statement {row.activity.sql_id}" in screen
        text = acting.app.reader.text
        for part in ("SQL text\n", "Sessions that run it now\n", "Executions seen\n", "Why it has this degree\n"):
            assert part in text
        assert row.sql_text.split("\n")[0] in text
        assert "Enter sessions" in screen
        screen = await acting.press("enter")
        assert f"Top › {row.activity.sql_id}" in screen
        assert "listed, " in screen or "sessions, " in screen
        assert "No session is there" not in screen


def test_a_statement_that_no_session_runs_is_labelled_so() -> None:
    text = page(Statement(GONE))
    assert "now             no session runs it" in text
    assert "No session runs it at this moment." in text
    assert "No parallel execution of it was seen" in text
    assert "No session is there" not in text


def test_a_missing_text_gives_its_reason() -> None:
    watch = Watch()
    watch.sql_texts.add(replace(busy(), texts=(SqlText(1, GONE, 0, ""),)))
    assert "aged out of the shared pool" in page(Statement(GONE), watch=watch)
    assert "Not read yet" in page(Statement(GONE))
    assert "V$SQL cannot be read" in page(Statement(GONE), replace(busy(), reads_texts=False))
    old = page(Statement(GONE), recorded=True)
    assert "The text is not in the recording" in old
    assert "Not in the recording" in old, "nor plan and statistics"


def test_a_long_text_does_not_push_the_rest_away() -> None:
    """Of 40 lines the first 16 come first and 24 at the end."""
    watch = Watch()
    text = "\n".join(f"line {number}" for number in range(40))
    watch.sql_texts.add(replace(busy(), texts=(SqlText(1, GONE, 0, text),)))
    lines = page(Statement(GONE), watch=watch).split("\n")
    assert "  … 24 more lines at the end of this page" in lines
    assert lines.index("  line 15") < lines.index("Executions seen") < lines.index("  line 16")
    assert lines[-1] == "  line 39"


def test_cursor_details_are_shown_only_for_their_own_cursor() -> None:
    cost = CursorCost(7, 0, 2.0, 1.0, 0.5, 16.0, 24.0, 1.0, None, None)
    dop = DopFacts(degree=8, reason="table property", facts={"dop": "8", "dop_reason": "table property"})
    detail = Detail(1, 0, GONE, 0, 1, (), cost, (), (), (), dop=dop)
    reading = replace(busy(), detail=detail)
    text = page(Statement(GONE), reading)
    assert "7 done, 0 running now" in text
    assert "Reason in the plan: table property." in text
    assert "7 done" not in page(Statement("1111111111111"), reading)


def test_a_serial_statement_has_no_story_of_a_degree() -> None:
    facts = {"px_in_memory": "no", "db_version": "19"}
    reading = replace(busy(), detail=Detail(1, 0, GONE, 0, 1, (), None, (), (), (), dop=DopFacts(facts=facts)))
    assert "Why it has this degree" not in page(Statement(GONE), reading)
    serial = replace(reading, detail=replace(reading.detail, dop=DopFacts(reason="parallel disabled", facts=facts)))
    assert "parallel disabled" in page(Statement(GONE), serial), "the reason for serial execution is shown"


def test_the_cursor_of_a_statement_is_searched_in_order() -> None:
    """Its own; else that of a session that runs it; else one with a text; else child 0 of the first instance."""
    reading, watch = busy(), Watch()
    texts = watch.sql_texts
    own = Statement("a", 0, 2, 5)
    assert with_cursor(own, reading, texts) == own
    row = reading.running[0]
    found = with_cursor(Statement(row.sql_id), reading, texts)
    assert (found.inst_id, found.child) == (row.inst_id, row.child)
    both = replace(reading, running=(row, replace(row, inst_id=2, child=4)))
    assert with_cursor(Statement(row.sql_id, inst_id=2), both, texts)[2:4] == (2, 4), "that of its own instance first"
    assert with_cursor(Statement(GONE), reading, texts)[2:4] == (reading.header.instances[0].inst_id, 0)
    texts.add(replace(reading, texts=(SqlText(2, GONE, 3, "select 1"),)))
    assert with_cursor(Statement(GONE), reading, texts)[2:4] == (2, 3)


def test_which_rows_are_about_a_statement() -> None:
    one = queued(1)
    assert statement_of(one) == Statement(one.sql_id, one.con_id, one.inst_id, one.child, (one.sid, one.serial))
    assert not has_cursor_page(one), "an execution has a page of its own"
    lost = StatementRun(2, 5, 7, GONE, 3, "ETL", "U", 4, started=datetime.now(UTC))
    assert statement_of(lost) == Statement(GONE, 3, 2)
    assert has_cursor_page(lost)
    assert statement_of(busy().groups[0]) is None


@acted
async def test_the_page_has_the_cursor_read_and_no_session() -> None:
    async with stage(busy()) as acting:
        sql_id = busy().running[0].sql_id
        screen = await acting.press("colon", *sql_id, "enter")
        assert f"Statement {sql_id}" in screen
        row = busy().running[0]
        assert acting.feed.focused == Focus(row.inst_id, 0, sql_id, row.child, coordinator=False)
        assert "Statement" not in await acting.press("q")


def without_texts(moment: Moment) -> Moment:
    """Return a poll as a recorder wrote it that read no texts."""
    snapshot, _ = moment
    left = {record: section for record, section in snapshot.sections.items() if record is not SqlText}
    old = replace(snapshot, sections=left)
    return old, analyse(None, old)


@pytest.mark.parametrize("old", [False, True])
@acted
async def test_a_replay_has_recorded_texts_and_reports_missing_ones(old: bool, tmp_path: Path) -> None:
    place = str(tmp_path / "a.presman")
    moments = list(polled("storm", 4))
    record(place, [without_texts(each) for each in moments] if old else moments)
    async with replaying(place, (120, 40)) as acting:
        app = acting.app
        await waited(acting, lambda: app.monitor.reading is not None)
        await acting.keys("9", "right", "right")
        await waited(acting, lambda: app.monitor.reading.number == 3)
        await waited(acting, lambda: bool(app.panels.present.grid_of(TOP_BY_CPU).rows.all))
        rows = app.panels.present.grid_of(TOP_BY_CPU).rows.all
        assert {bool(row.sql_text) for row in rows} == {not old}
        assert {row.no_text for row in rows} == {"(not recorded)" if old else ""}
        assert ("(not recorded)" in acting.screen) is old
        await acting.keys("enter")
        assert ("The text is not in the recording" in app.reader.text) is old
        assert f"Statement {app.reader.row.sql_id}" in app.reader.text


def test_times_per_execution_have_suitable_units() -> None:
    """50 s of 0.25 ms each are 200,000 executions: an average below a second is not shown as 0:00."""
    cost = CursorCost(200_000, 1, 0.00025, 0.0002, 0.0, 0.0, 1.0, 0.0, None, None, 150.0)
    each = next(line for line in map(plain, cost_lines(cost)) if "each, on average" in line)
    assert each.endswith("250µs elapsed, 200µs CPU, 0µs I/O wait, 2:30 concurrency wait")
