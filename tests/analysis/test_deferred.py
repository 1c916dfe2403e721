"""Rows that are worked out at the first look: not before it, once, and equal to what they would have been."""

from __future__ import annotations

from typing import Any

import pytest

from presman.analysis import session_list
from presman.analysis.assemble import analyse
from presman.analysis.caches import LazyRows, prepare
from tests.analysis.make import queued_session, snapshot


def test_nothing_is_made_before_the_first_look_and_then_once() -> None:
    made = []

    def make() -> tuple[int, ...]:
        made.append(1)
        return 3, 1, 2

    rows = LazyRows(make)
    assert not made
    assert len(rows) == 3
    assert (list(rows), rows[0], rows[1:], rows[-1]) == ([3, 1, 2], 3, (1, 2), 2)
    assert made == [1]


def test_it_equals_a_tuple_of_the_same_rows() -> None:
    rows = LazyRows(lambda: (1, 2))
    assert rows == (1, 2)
    assert rows == LazyRows(lambda: (1, 2))
    assert rows != (2, 1)
    assert hash(rows) == hash((1, 2))
    assert repr(rows) == "(1, 2)"


def test_what_was_looked_at_is_made_again_before_the_next_look_and_else_not() -> None:
    made: list[str] = []

    def rows(name: str) -> LazyRows[int]:
        return LazyRows(lambda: (made.append(name), (1,))[1])

    seen, unseen, following, idle = (rows(name) for name in ("seen", "unseen", "following", "idle"))
    assert list(seen) == [1]
    prepare(seen, following)
    prepare(unseen, idle)
    prepare(following, idle)  # made, but nobody has looked
    prepare((), idle)
    assert made == ["seen", "following"]


def test_the_sessions_of_a_reading_are_not_made_until_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    really = session_list.sessions

    def counted(facts: Any, holdings: Any) -> Any:
        made.append(1)
        return really(facts, holdings)

    monkeypatch.setattr(session_list, "sessions", counted)
    reading = analyse(None, snapshot(queued_session(1, "BATCH"), queued_session(2, "BATCH")))
    assert len(reading.queue) == 2
    assert not made
    assert [row.sid for row in reading.sessions] == [1, 2]
    assert made == [1]
