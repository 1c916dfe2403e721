"""The texts of the busiest statements: which, when, and at what cost."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from presman.base.release import Release
from presman.polling.cadence import PollNeeds
from presman.polling.lookups import AT_ONCE, MOST_COUNTED, MOST_RANKED, BusyTexts, CursorKey, Lookups, text_of
from presman.polling.poller import Poller
from presman.rows.cursor_rows import SqlText
from presman.rows.queries import Scope, bind_names, for_several, load
from presman.rows.session_rows import Session
from presman.rows.snapshot import Problem, Section
from presman.sources import Request
from tests.sources.fakes import START, FakeSource, row

QUERY = load(Release(19))[SqlText]


def active(sql_id: str, **changes: Any) -> Any:
    return row(Session, **({"inst_id": 1, "sid": 7, "status": "ACTIVE", "sql_id": sql_id} | changes))


def text(sql_id: str, child: int = 0, words: str = "select 1") -> SqlText:
    return SqlText(1, sql_id, child, words)


def after(seconds: float) -> Any:
    return START + timedelta(seconds=seconds)


def test_the_busiest_come_first_and_idle_ones_do_not_count() -> None:
    """b is active in two sessions and a in one; idle and background sessions and those without SQL_ID do not count."""
    busy = BusyTexts()
    busy.add(
        [active("a"), active("b"), active("b", sid=8, sql_child_number=3), active("idle", status="INACTIVE"),
         active("smon", type="BACKGROUND"), active("")],
        START,
    )  # fmt: skip
    assert busy.ranked == [CursorKey(1, "b", 0), CursorKey(1, "a", 0)]


def test_an_idle_statement_is_forgotten_within_minutes() -> None:
    """One sample counts 1 and half as much each minute: 0.5, 0.25, 0.125 < 0.25."""
    busy = BusyTexts()
    busy.add([], START)
    busy.add([active("a")], after(1))
    there = []
    for minute in (1, 2, 3):
        busy.add([], after(60 * minute))
        there.append(bool(busy.ranked))
    assert there == [True, True, False]


def test_counting_is_bounded() -> None:
    busy = BusyTexts()
    busy.add([], START)
    busy.add([active("most")] * 2 + [active(f"sql{number}") for number in range(3 * MOST_COUNTED)], after(1))
    assert len(busy._samples) == len(busy._cursors) == MOST_COUNTED // 2
    assert len(busy.ranked) == MOST_RANKED
    assert busy.ranked[0].sql_id == "most"


def test_texts_are_asked_for_after_five_seconds_and_then_each_minute() -> None:
    busy = BusyTexts()
    assert not busy.is_due(None)
    busy.add([active("a")], START)
    assert [busy.is_due(after(seconds)) for seconds in (0, 4.9, 5)] == [False, False, True]
    busy.lookup(busy.ranked, QUERY, after(5))
    busy.answered(Section((text("a"),)))
    assert [busy.is_due(after(seconds)) for seconds in (5, 64.9, 65)] == [False, False, True]


def test_a_slow_view_pauses_twice_as_long_each_time_up_to_an_hour() -> None:
    busy, at, rests = BusyTexts(), 5.0, []
    busy.add([active("a")], START)
    for _ in range(7):
        busy.lookup(busy.ranked, QUERY, after(at))
        busy.answered(Section(problem=Problem("", "no answer within 3 s", "GV$SQL", late=True)))
        rest = next(minutes for minutes in range(1, 100) if busy.is_due(after(at + 60 * minutes)))
        rests.append(rest)
        at += 60 * rest
    assert rests == [2, 4, 8, 16, 32, 60, 60]


def test_one_statement_asks_for_several_texts_of_one_instance() -> None:
    """30 on instance 1, one on instance 2: the query reads the first twenty of instance 1, and no bind is missing."""
    wanted = [CursorKey(1, f"sql{number}", number) for number in range(30)]
    wanted.insert(1, CursorKey(2, "elsewhere", 0))
    lookup = BusyTexts().lookup(wanted, QUERY, START)
    assert [each.sql_id for each in lookup.statements] == [f"sql{number}" for number in range(AT_ONCE)]
    assert set(lookup.request.binds) == set(bind_names(lookup.request.query.sql()))
    few = BusyTexts().lookup(wanted[:1], QUERY, START).request
    assert few.query == lookup.request.query, "one SQL text for the shared pool, for any number of statements"
    assert {few.binds[f"sql_id_{number}"] for number in range(AT_ONCE)} == {"sql0"}


def test_the_query_about_several_reads_what_the_one_about_one_reads() -> None:
    several = for_several(QUERY, 2)
    for scope in Scope:
        changed = QUERY.sql(scope).replace("sql_id = :sql_id", "sql_id IN (:sql_id_0, :sql_id_1)")
        changed = changed.replace("child_number = :child_number", "child_number IN (:child_number_0, :child_number_1)")
        assert several.sql(scope) == changed
    assert several.name != QUERY.name
    assert several.record is SqlText


def test_a_statement_has_the_text_of_its_own_cursor_or_of_another_child() -> None:
    rows = [text("a", 0, "of 0"), text("a", 2, "of 2"), text("b", 1, "of b")]
    assert text_of(CursorKey(1, "a", 2), rows) == (text("a", 2, "of 2"),)
    assert text_of(CursorKey(1, "b", 0), rows) == (text("b", 1, "of b"),)
    assert text_of(CursorKey(1, "c", 0), rows) == ()


def test_a_missing_text_is_an_empty_row_and_an_unread_one_is_none() -> None:
    lookups, keys = Lookups(), [CursorKey(1, name, 0) for name in ("there", "gone", "later")]
    lookup = BusyTexts().lookup(keys[:2], QUERY, START)
    lookups.learn_texts(lookup, Section((text("there"),)), START)
    assert lookups.sections((), keys)[SqlText].rows == (text("there"), text("gone", words=""))
    assert lookups.texts_due(keys, after(59)) == keys[2:]
    assert lookups.texts_due(keys, after(60)) == keys[1:], "it may have come back"


def test_a_refusal_is_reported_and_a_timeout_blames_no_text() -> None:
    keys = [CursorKey(1, "a", 0)]
    for late in (False, True):
        lookups = Lookups()
        problem = Problem("" if late else "ORA-00942", "no", "GV$SQL", late=late)
        lookups.learn_texts(BusyTexts().lookup(keys, QUERY, START), Section(problem=problem), START)
        section = lookups.sections((), keys)[SqlText]
        assert section.rows == ()
        assert section.problem == (None if late else problem)


def polled(source: FakeSource, seconds: int, **needs: Any) -> list[tuple[int, Request]]:
    """Return what was asked about several texts, and at which second."""
    now, asked = [0.0], []
    poller = Poller(source, clock=lambda: now[0], needs=PollNeeds(**needs))
    poller.open()
    for second in range(seconds):
        now[0] = float(second)
        before = len(source.reads)
        snapshot = poller.poll()
        found = [each for read in source.reads[before:] for each in read if each.query.name == "sql_text_of_several"]
        asked += [(second, each) for each in found]
    source.last = snapshot  # type: ignore[attr-defined]
    return asked


def test_a_databases_texts_are_read_once_a_minute_with_the_first_queries() -> None:
    sessions = tuple(active(f"sql{number}", sid=number) for number in range(45))
    source = FakeSource(rows={Session: sessions, SqlText: ()}, kind="oracle", step=1.0)
    asked = polled(source, 130)
    assert [second for second, _ in asked] == [5, 65, 125]
    named = [{each.binds[f"sql_id_{number}"] for number in range(AT_ONCE)} for _, each in asked]
    assert [len(each) for each in named] == [20, 20, 20]
    assert all(read.query.name != "sql_text_of_several" for reads in source.reads[:5] for read in reads)


def test_a_poll_without_texts_asks_for_none() -> None:
    source = FakeSource(rows={Session: (active("a"),)}, kind="oracle", step=1.0)
    assert polled(source, 10, texts=False) == []


def test_local_sources_have_their_texts_in_the_same_poll() -> None:
    source = FakeSource(rows={Session: (active("a"),), SqlText: (text("a"),)}, step=1.0)
    assert [second for second, _ in polled(source, 3)] == [0]
    assert source.last.rows(SqlText) == (text("a"),)  # type: ignore[attr-defined]
