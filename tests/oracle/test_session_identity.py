"""Identity of presman's session, the database's time, and rows fetched at once, compared with values by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pytest

from presman.rows.instance_rows import Instance
from presman.sources.oracle.session_identity import AT_ONCE, FEW, FIRST_ROWS, AnswerFacts, SessionClock

UTC_TIME = datetime(2026, 3, 12, 3, 0)


def clock_of(ahead: float, now: list[float]) -> SessionClock:
    """Return the clock of a database whose dates are `ahead` seconds ahead of UTC."""
    clock = SessionClock(lambda: now[0])
    clock.locate([("7", "2", UTC_TIME + timedelta(seconds=ahead), UTC_TIME)])
    return clock


@pytest.mark.parametrize(
    ("ahead", "zone"),
    [(0, 0), (3600, 3600), (3601, 3600), (-12_600.4, -12_600), (20_700, 20_700), (449, 0), (451, 900),
     (50_400, 50_400), (86_400, 0), (-86_400, 0), (85_500, 85_500)],
)  # fmt: skip
def test_a_zone_is_a_multiple_of_a_quarter_of_an_hour_less_than_a_day(ahead: float, zone: float) -> None:
    assert clock_of(ahead, [0.0]).zone.utcoffset(None) == timedelta(seconds=zone)


def test_the_databases_clock_is_carried_on_by_ours() -> None:
    now = [100.0]
    clock = clock_of(3600, now)
    assert (clock.sid, clock.instance, clock.at) == (7, 2, UTC_TIME.replace(tzinfo=UTC))
    assert clock.zone == timezone(timedelta(hours=1))
    now[0] = 105.0
    assert clock.now() == UTC_TIME.replace(tzinfo=UTC) + timedelta(seconds=5)
    clock.extrapolate()
    now[0] = 107.0
    clock.extrapolate()
    assert clock.at == clock.now() == UTC_TIME.replace(tzinfo=UTC) + timedelta(seconds=7)
    clock.forget()
    clock.extrapolate()
    assert (clock.sid, clock.instance, clock.at, clock.now(), clock.zone) == (0, 0, None, None, UTC)


@pytest.mark.parametrize("rows", [[], [("x", None, None, None)], [(None, "2", UTC_TIME, UTC_TIME)]])
def test_an_answer_without_a_time_or_a_session_is_none(rows: Any) -> None:
    clock = SessionClock(lambda: 0.0)
    with pytest.raises(ValueError, match="neither its time nor the identity"):
        clock.locate(rows)
    assert clock.sid == 0


QUERY: Any = SimpleNamespace(name="instance", record=Instance)


def test_enough_rows_are_requested_to_come_at_once() -> None:
    """A quarter more than last time, rounded up to a power of two; at least 64."""
    found = AnswerFacts()
    assert found.rows(QUERY) == FIRST_ROWS == 512
    for count, asked in ((0, 64), (51, 64), (52, 128), (102, 128), (103, 256), (1000, 2048)):
        found.learn(QUERY, count)
        assert found.rows(QUERY) == asked
    found.is_cautious = True
    assert found.rows(QUERY) == FEW == 2
    assert found.is_huge(QUERY)


def test_huge_rows_come_a_few_at_a_time() -> None:
    """An eighth of the allowed bytes divided by the bytes of a row; rows of which 64 fit are not huge."""
    found = AnswerFacts()
    found.learn(QUERY, 10, AT_ONCE)
    assert (found.rows(QUERY), found.is_huge(QUERY)) == (10, True)
    found.is_cautious = True
    assert found.rows(QUERY) == 10, "for this query the number is known"
    found.is_cautious = False
    found.learn(QUERY, 1, AT_ONCE * 9)
    assert found.rows(QUERY) == 2
    found.learn(QUERY, 0, AT_ONCE // 63)
    assert found.rows(QUERY) == 63
    found.learn(QUERY, 64, AT_ONCE)
    assert (found.rows(QUERY), found.is_huge(QUERY)) == (128, False)
    found.learn(QUERY, 10)
    assert not found.is_read_alone(QUERY)
    found.asked_alone.add("instance")
    assert found.is_read_alone(QUERY)
