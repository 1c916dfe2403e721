"""The tab Top on simulated databases."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.thorough import some
from tests.tui.drive import acted
from tests.tui.test_live import playing


@acted
async def test_blocked_sessions_and_top_sql_are_shown_live_and_back_in_time() -> None:
    async with playing("locked", (200, 50)) as (acting, polls):
        await polls(5)
        screen = await acting.press("9")
        assert "Sampled by presman each 2 s from V$SESSION" in screen
        assert "over the 0:08 watched" in screen
        tree = [line for line in screen.splitlines() if ("MARTIN" in line or "└" in line) and " DO " not in line]
        assert "idle for " in tree[0]
        assert tree[1].startswith(" └ 1:412,9031 ")
        assert "enq: TM - contention" in tree[1]
        reading = acting.app.monitor.reading
        assert f"{reading.activity.active} now, {reading.activity.by_class['on CPU']} on CPU" in screen
        assert "over the 0:06 watched" in await acting.press("left")
        await acting.keys("end", "tab", "tab")  # behind the two tables of SQL it begins again at the top
        assert "Top › 1:88,4711" in await acting.press("enter"), "a session that holds others up has its page"
        await acting.keys("escape", "escape", "1", "9")
        sql_id = acting.app.panels.grid.row.activity.sql_id
        assert f"  Top › {sql_id}\n" in await acting.press("enter"), "a statement has its page"
        assert f"  Top › {sql_id}   " in await acting.press("enter"), "and from there a list of its sessions"


@pytest.mark.parametrize("size", some([(80, 10)], [(120, 35), (300, 12)]))
@acted
async def test_the_cursor_starts_on_the_busiest_statement(size: tuple[int, int], tmp_path: Path) -> None:
    """The table of blocked sessions is hidden while it is empty: the cursor was lost with it."""
    async with playing("storm", size) as (acting, polls):
        await polls(2)
        assert "Top SQL by CPU" in await acting.press("9")
        sql_id = acting.app.panels.grid.row.activity.sql_id
        await acting.keys("c", "c")
        assert (tmp_path / "state" / "presman" / "copied.txt").read_text() == f"{sql_id}\n"
        await acting.keys("enter")
        assert f"Statement {sql_id}\n" in acting.app.reader.text


@pytest.mark.parametrize("size", some([(80, 24)], [(120, 35), (200, 50)]))
@acted
async def test_a_statement_of_the_top_has_its_group_on_every_screen(size: tuple[int, int]) -> None:
    async with playing("storm", size) as (acting, polls):
        await polls(3)
        lines = (await acting.press("9")).splitlines()
        head = next(line for line in lines if " SQL_ID " in line)
        assert head.count(" Group ") == head.count(" SQL_ID ")
        row = acting.app.panels.grid.row
        assert any(row.activity.sql_id in line and f" {row.activity.group} " in line for line in lines)


@acted
async def test_the_help_begins_with_the_tables_always_shown() -> None:
    async with playing("storm", (120, 300)) as (acting, polls):
        await polls(1)
        assert "Blocked sessions" not in await acting.press("9")
        headings = [line.strip() for line in (await acting.press("question_mark")).splitlines() if " Table " in line]
        assert headings[0] == "Table Active sessions by wait class"
        assert headings[3].endswith("   shown only while it has rows")
