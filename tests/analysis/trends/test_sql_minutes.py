"""The texts of statements: kept once read, and the reason if there is none."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.assemble import analyse
from presman.analysis.session_list import cpu_waiters
from presman.analysis.trends.sql_minutes import LARGEST, TEXTS_KEPT, SqlTexts
from presman.rows.cursor_rows import SqlText
from presman.rows.session_rows import Session
from presman.rows.snapshot import Problem, Section
from tests.analysis.make import active_plan, instance, queued_session, snapshot
from tests.sources.fakes import row

BASE = analyse(None, snapshot(instance(), active_plan()))


def of(sql_id: str, text: str = "select 1", child: int = 0) -> SqlText:
    return SqlText(1, sql_id, child, text)


def fed(*polls: tuple[SqlText, ...]) -> SqlTexts:
    texts = SqlTexts()
    for rows in polls:
        texts.add(replace(BASE, texts=rows))
    return texts


def test_a_text_that_was_seen_once_stays_though_it_is_read_no_more_and_v_sql_forgets_it() -> None:
    texts = fed((of("a"),), (), (of("a", ""),), (of("b", ""),))
    assert (texts.text("a"), texts.text("b"), texts.text("c")) == ("select 1", "", "")
    assert texts.find("b") == of("b", "")
    assert fed((of("a", ""),), (of("a"),)).text("a") == "select 1", "it has come back"


@pytest.mark.parametrize(
    ("rows", "reads", "recorded", "reason"),
    [
        ((of("a"),), False, False, ""),
        ((of("a", ""),), True, False, "(no longer in V$SQL)"),
        ((), False, False, "(V$SQL cannot be read)"),
        ((), True, False, "(not read)"),
        ((), True, True, "(not recorded)"),
    ],
)
def test_a_missing_text_has_a_reason(rows: tuple[SqlText, ...], reads: bool, recorded: bool, reason: str) -> None:
    reading = replace(BASE, reads_texts=reads)
    assert fed(rows).why_none("a", reading, recorded=recorded) == reason
    assert fed(rows).why_none("", reading) == "", "no statement"


def test_a_spool_has_what_was_written_and_says_no_more_than_that() -> None:
    reading = replace(BASE, kind="spool")
    assert fed((of("a", ""),)).why_none("a", reading) == "(not in the spool)"
    assert fed(()).why_none("a", replace(reading, reads_texts=False)) == "(not in the spool)"
    assert fed((of("a"),)).why_none("a", reading) == ""


def test_they_are_bounded_by_number_and_size_and_those_read_last_stay() -> None:
    many = tuple(of(f"sql{number}") for number in range(TEXTS_KEPT + 10))
    texts = fed(many)
    assert len(texts._rows) == TEXTS_KEPT
    assert (texts.text("sql9"), texts.text("sql10")) == ("", "select 1")
    large = "x" * (LARGEST // 3)
    texts = fed((of("a", large), of("b", large), of("c", large)), (of("a", large),), (of("d", "12345"),))
    assert [name for name in "abcd" if texts.text(name)] == ["a", "c", "d"]
    assert texts._size == 2 * (LARGEST // 3) + 5


def queued(rows: tuple[SqlText, ...], problem: Problem | None = None) -> Any:
    found = snapshot(instance(), active_plan(), queued_session(1, "ETL", 10.0, sql_id="a", sql_child_number=0))
    return analyse(None, replace(found, sections={**found.sections, SqlText: Section(rows, problem=problem)})).queue[0]


def test_a_queued_statement_says_why_it_has_no_text() -> None:
    denied = Problem("ORA-00942", "table or view does not exist", "GV$SQL")
    assert (queued((of("a"),)).sql_text, queued((of("a"),)).no_text) == ("select 1", "")
    assert queued((of("a", ""),)).no_text == "(no longer in V$SQL)"
    assert queued((of("a", ""), of("a", "select 2", 3))).sql_text == "select 2", "that of another child"
    assert queued((), denied).no_text == "(V$SQL cannot be read)"
    assert queued(()).no_text == "(not read)"


def test_a_statement_held_off_cpu_says_why_it_has_no_text() -> None:
    rows = [
        row(Session, inst_id=1, sid=sid, sql_id=sql_id, status="ACTIVE", event="resmgr:cpu quantum", state="WAITING",
            type="USER", username="U")
        for sid, sql_id in enumerate(("known", "gone", "later"), start=1)
    ]  # fmt: skip
    found = snapshot(instance(), active_plan(), *rows)
    texts = Section((of("known"), of("gone", "")))
    found = replace(found, sections={**found.sections, SqlText: texts})
    shown = {each.sql_id: (each.sql_text, each.no_text) for each in cpu_waiters(analyse(None, found))}
    assert shown == {
        "known": ("select 1", ""),
        "gone": ("", "(no longer in V$SQL)"),
        "later": ("", "(not read)"),
    }
