"""The copies offered for a statement: their keys and descriptions."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from unittest import mock

import pytest
from msgspec.structs import replace

from presman.analysis.advice.ending import ending
from presman.analysis.assemble import analyse
from presman.analysis.trends.sql_minutes import SqlTexts
from presman.recording.time_words import spelled_instant
from presman.rows.commands import CommandKind
from presman.rows.cursor_rows import SqlText
from presman.rows.session_rows import Session
from presman.rows.snapshot import Problem
from presman.tabs.drill_down import Statement
from presman.tui.app import MonitorApp
from presman.tui.copies import Copyable, copies
from presman.tui.exports import file_name
from tests.recording.recorded import polled
from tests.thorough import some
from tests.tui.drive import acted, stage
from tests.tui.readings import busy, queued
from tests.tui.test_live import playing

ROW = Copyable("r", "the row", "Group: BATCH")
SIZES = [(80, 24), (120, 35), (200, 50)]


def notice_text(app: MonitorApp) -> str:
    return "\n".join(str(each.message) for each in app._notifications)


def offered(row: object, texts: SqlTexts | None = None, old: str = "") -> dict[str, Copyable]:
    return {each.key: each for each in copies(row, busy(), texts or SqlTexts(), ROW, old=old)}


def test_sql_id_text_session_commands_and_the_row_each_have_a_key() -> None:
    row = busy().running[0]
    found = offered(row)
    assert list(found)[:3] == ["c", "t", "s"]
    assert list(found)[-1] == "r"
    assert found["c"].text == row.sql_id
    assert found["t"].text == row.sql_text
    assert found["s"].text == f"{row.sid},{row.serial},@{row.inst_id}"
    assert found["1"].text == f"ALTER SYSTEM KILL SESSION '{row.sid},{row.serial},@{row.inst_id}';"
    assert found["r"].text == "Group: BATCH"


def test_rows_without_a_statement_have_no_copy_list() -> None:
    assert offered(busy().groups[0]) == {}
    assert offered(None) == {}
    session = next(each for each in busy().sessions)
    assert offered(session._replace(sql_id="")) == {}
    assert list(offered(session._replace(sql_id="0000000000000"))) == ["c", "t", "s", "r"]


def test_a_text_comes_from_the_cache_or_gives_a_reason() -> None:
    gone, texts = Statement("0000000000000"), SqlTexts()
    assert offered(gone)["t"][2:4] == ("", "not read")
    texts.add(replace(busy(), texts=(SqlText(1, gone.sql_id, 0, "select 1"),)))
    assert offered(gone, texts)["t"][2:4] == ("select 1", "")
    assert "s" not in offered(gone), "the row is no session"
    assert "1" not in offered(gone)


def test_a_withheld_command_gives_its_reason() -> None:
    found = offered(queued(1), old="the view is paused, or back in time")
    assert found["1"][2:4] == ("", "no command is offered: the view is paused, or back in time")


def test_no_command_is_based_on_stale_v_session_rows() -> None:
    """Its queue and its holders are of one view: the holders had no command, and the head was offered to be started."""
    *_, (seen, _) = polled("storm", 2)
    section = seen.section(Session)
    late = replace(section, problem=Problem("", "no answer in time", "GV$SESSION", late=True))
    whole, blind = analyse(None, seen), analyse(None, replace(seen, sections={**seen.sections, Session: late}))
    kinds = {each.command.kind for each in copies(whole.queue[0], whole, SqlTexts(), ROW) if each.command is not None}
    assert CommandKind.DEQUEUE in kinds
    found = copies(blind.queue[0], blind, SqlTexts(), ROW)
    assert not any(each.command for each in found)
    assert ("1", "", "GV$SESSION did not answer, so this may be over") in {
        (each.key, each.text, each.why_not) for each in found
    }
    session = next(each for each in blind.sessions if each.sid == blind.queue[0].sid)
    assert ending(session, blind).refused == "GV$SESSION did not answer, so this may be over"


@pytest.mark.parametrize("size", some(SIZES[:1], SIZES[1:]))
@acted
async def test_c_twice_is_the_sql_id_and_the_file_is_named(size: tuple[int, int], tmp_path: Path) -> None:
    async with stage(busy(), size=size) as acting:
        sql_id = busy().queue[0].sql_id
        screen = await acting.press("4", "c")
        for what in ("SQL_ID", "SQL text", "sid,serial", "the row", "ALTER SYSTEM KILL"):
            assert what in screen, what
        await acting.keys("c")
        assert acting.app.clipboard == sql_id
        assert f"Copied: SQL_ID {sql_id}, also in {tmp_path}/state/presman/copied.txt" in notice_text(acting.app)
        assert (tmp_path / "state" / "presman" / "copied.txt").read_text() == f"{sql_id}\n"


@acted
async def test_enter_copies_the_line_under_the_cursor_and_escape_nothing() -> None:
    async with stage(busy(), size=(120, 35), tab="4") as acting:
        await acting.keys("c", "escape")
        assert acting.app.clipboard == ""
        await acting.keys("c", "down", "enter")
        assert acting.app.clipboard == busy().queue[0].sql_text


@pytest.mark.parametrize("keys", [("4", "c", "1"), ("4", "tab", "c", "1"), ("C",)])
@acted
async def test_a_copied_kill_is_labelled_with_its_destination(keys: tuple[str, ...], tmp_path: Path) -> None:
    async with stage(busy(), size=(200, 50)) as acting:
        await acting.keys(*keys)
        assert "KILL SESSION" in acting.app.clipboard
        notices = notice_text(acting.app)
        assert "Copied, not run: " in notices
        assert "It is a KILL command: it ends a session when you run it." in notices
        assert f"also in {tmp_path}/state/presman/copied.txt" in notices


@pytest.mark.parametrize("keys", [("4", "c", "1"), ("C",)])
@acted
async def test_a_command_from_a_recording_is_labelled_as_old(keys: tuple[str, ...]) -> None:
    async with stage(busy(), size=(200, 50)) as acting:
        acting.app.replayed = mock.Mock
        await acting.keys(*keys)
        at = spelled_instant(busy().at)
        assert f"It comes from a recording, as of {at}: check again before you run it." in notice_text(acting.app)


@acted
async def test_a_cancel_command_is_not_called_a_kill() -> None:
    async with stage(busy(), size=(200, 50), tab="4") as acting:
        await acting.keys("c", "3")
        assert acting.app.clipboard.startswith("ALTER SYSTEM CANCEL SQL")
        assert "KILL" not in notice_text(acting.app)


@acted
async def test_offers_keep_their_numbers_while_the_list_is_open() -> None:
    """Another session may let the head start after a poll: a key about to be pressed keeps its meaning."""
    async with playing("storm", (120, 35)) as (acting, polls):
        await acting.keys("4")
        await polls(2)
        offered = [line for line in (await acting.press("c")).splitlines() if "holds" in line]
        await polls(10)
        assert offered == [line for line in acting.screen.splitlines() if "holds" in line]
        await acting.keys("escape")
        again = [line for line in (await acting.press("c")).splitlines() if "holds" in line]
        assert again != offered, "a newly opened list has the present offers"


@acted
async def test_copying_works_on_a_statement_page() -> None:
    async with stage(busy(), size=(120, 35)) as acting:
        sql_id = busy().running[0].sql_id
        await acting.keys("colon", *sql_id, "enter")
        screen = await acting.press("c")
        assert "this page" in screen
        await acting.keys("p")
        assert f"Statement {sql_id}" in acting.app.clipboard
        await acting.keys("c", "c")
        assert acting.app.clipboard == sql_id


@acted
async def test_an_unknown_text_is_not_copied() -> None:
    async with stage(busy(), size=(120, 35)) as acting:
        row = replace(busy(), queue=(queued(1, sql_text="", sql_id="0000000000000"),))
        await acting.show(row)
        await acting.keys("4", "c", "t")
        assert acting.app.clipboard == ""
        assert "Nothing copied: not read." in notice_text(acting.app)


def test_a_file_of_a_replay_is_named_after_the_recording() -> None:
    at = datetime(2026, 11, 20).astimezone()
    for place in ("recording:/var/lib/a.presman", "recording:a.presman", "recording:/var/a/", "spool:/tmp/a"):
        assert file_name(place, "cpu", at) == "presman-a-cpu-20261120-000000.csv"
    chosen = "recording:/var/rec/presman-2026-11-20.presman?database=demo:pdb?speed=10"
    assert file_name(chosen, "report", at) == "presman-demo-pdb-speed-10-report-20261120-000000.csv"
    assert file_name("recording:presman-2026-11-20.presman", "", at) == "presman-2026-11-20-20261120-000000.csv"
    assert file_name("anna@db/erp", "", at, "presman") == "presman-anna-db-erp-20261120-000000.presman"
