"""Rows that are computed on first access: not before, only once, and equal to what they would have been."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis import session_list
from presman.analysis.advice.to_do import to_do
from presman.analysis.advice.unblock import unblock
from presman.analysis.alerts import alert_rules
from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.assemble import analyse
from presman.analysis.caches import LazyRows, prepare
from presman.analysis.latency import system_waits
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


def test_used_rows_are_prepared_again_and_unused_ones_are_not() -> None:
    made: list[str] = []

    def rows(name: str) -> LazyRows[int]:
        return LazyRows(lambda: (made.append(name), (1,))[1])

    seen, unseen, following, idle = (rows(name) for name in ("seen", "unseen", "following", "idle"))
    assert list(seen) == [1]
    prepare(seen, following)
    prepare(unseen, idle)
    prepare(following, idle)  # made, but not read yet
    prepare((), idle)
    assert made == ["seen", "following"]


def counted(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[str]:
    """Return a list that records each call of a function of a module."""
    made: list[str] = []
    really = getattr(module, name)

    def call(*given: Any) -> Any:
        made.append(name)
        return really(*given)

    monkeypatch.setattr(module, name, call)
    return made


def test_sessions_and_histograms_of_a_reading_are_not_made_until_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions, histograms = (
        counted(monkeypatch, session_list, "sessions"),
        counted(monkeypatch, system_waits, "histograms"),
    )
    reading = analyse(None, snapshot(queued_session(1, "BATCH"), queued_session(2, "BATCH")))
    assert len(reading.queue) == 2
    assert not sessions
    assert not histograms
    assert [row.sid for row in reading.sessions] == [1, 2]
    assert len(sessions) == 1
    assert list(reading.histograms) == []
    assert len(histograms) == 1


def test_shared_results_are_computed_once_for_each_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(alert_rules, "RULES", (*alert_rules.RULES, lambda reading: [asked.append(reading)][:0]))
    reading = analyse(None, snapshot(queued_session(1, "BATCH")))
    assert [wrong(reading), wrong(reading)] == 2 * [wrong(reading)]
    assert to_do(reading) is to_do(reading)
    assert unblock(reading) is unblock(reading)
    assert asked == [reading]
    changed = replace(reading, queue=(), heads=())
    assert {alert.key for alert in wrong(reading)} - {alert.key for alert in wrong(changed)} == {"queue_waits"}
    assert asked == [reading, changed]
