"""A fleet of live connections: the one thing to do about a database."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from presman.analysis.advice.to_do import to_do
from presman.analysis.fleet import ConnectionState
from presman.services.live import LiveTarget
from presman.services.live_fleet import LiveFleet
from tests.output.readings import reading
from tests.sources.fakes import FakeSource


class Database:
    """A database with one reading."""

    def __init__(self, live_reading: Any) -> None:
        self.live_reading = live_reading


def test_to_do_is_that_of_the_database_looked_at_and_of_its_newest_poll(monkeypatch: Any) -> None:
    busy, other = reading(), reading()
    said = to_do(busy)
    assert said is not None
    asked: list[Any] = []

    def counted(found: Any) -> Any:
        asked.append(found)
        return said if found is busy else None

    monkeypatch.setattr("presman.services.live_fleet.to_do", counted)
    fleet = LiveFleet("all", [LiveTarget("a", FakeSource)], 5.0)
    fleet.databases = {"busy": Database(busy), "idle": Database(other), "lost": Database(None)}  # type: ignore[dict-item]
    assert [fleet.to_do(name) for name in ("busy", "busy", "idle", "lost", "busy")] == [
        said.text,
        said.text,
        "",
        "",
        said.text,
    ]
    assert [found is busy for found in asked] == [True, False, True], "worked out once for each look at another poll"


def test_all_are_polled_now_but_those_that_refuse_us() -> None:
    """Whoever tries a wrong password again and again locks the account."""
    polled: list[str] = []

    def database(state: ConnectionState) -> SimpleNamespace:
        sampler = SimpleNamespace(poll_now=lambda: polled.append(state.value))
        return SimpleNamespace(member=lambda: SimpleNamespace(connection=state), sampler=sampler)

    fleet: Any = SimpleNamespace(databases={state.value: database(state) for state in ConnectionState})
    LiveFleet.poll_now(fleet)
    assert polled == [state.value for state in ConnectionState if state is not ConnectionState.REFUSED]


@pytest.mark.parametrize(
    ("begun", "trouble"), [("yy", ""), ("yn", ""), ("ny", ""), ("nn", "reason 1"), ("n", "reason 0"), ("", "before")]
)
def test_a_fleet_is_in_trouble_where_not_one_database_can_be_begun(begun: str, trouble: str) -> None:
    def database(number: int, letter: str) -> SimpleNamespace:
        reason = SimpleNamespace(reason=f"reason {number}")
        return SimpleNamespace(start=lambda: letter == "y", member=lambda: reason)

    databases = dict(enumerate(map(database, range(2), begun)))
    waits: list[float] = []
    stopping = SimpleNamespace(is_set=lambda: False, wait=waits.append)
    fleet = SimpleNamespace(databases=databases, _stopping=stopping, trouble="before")
    LiveFleet._start_all(fleet)  # type: ignore[arg-type]
    assert fleet.trouble == trouble
    assert len(waits) == len(begun), "one after the other"
