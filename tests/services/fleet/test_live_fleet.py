"""Fleet of live connections: the one thing to do about a database."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from presman.analysis.advice.steady_step import SteadyStep
from presman.analysis.advice.to_do import to_do
from presman.analysis.fleet import ConnectionState
from presman.analysis.readings.reading import Reading
from presman.services.live import LiveTarget
from presman.services.live_fleet import LiveFleet
from tests.recording.recorded import polled
from tests.sources.fakes import FakeSource


class Database:
    """A database with one reading."""

    def __init__(self, live_reading: Reading | None) -> None:
        self.live_reading = live_reading
        self.steady_step = SteadyStep()


def test_do_of_a_fleet_is_as_steady_as_on_a_single_screen() -> None:
    """DO named a session whose work would be lost at the first poll."""
    readings = [reading for _, reading in polled("rac", 30, step=5.0)]
    fleet = LiveFleet("all", [LiveTarget("a", FakeSource)], 5.0)
    busy, alone = Database(None), SteadyStep()
    fleet.databases = {"busy": busy, "lost": Database(None)}  # type: ignore[dict-item]
    differs = 0
    for reading in readings:
        busy.live_reading, step, plain = reading, alone.take(reading).step, to_do(reading)
        expected = "" if step is None else step.text
        assert [fleet.to_do(name) for name in ("busy", "lost", "busy")] == [expected, "", expected]
        differs += step != plain
    assert differs


def test_all_databases_but_refusing_ones_are_polled_now() -> None:
    """Repeated attempts with a wrong password lock the account."""
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
def test_a_fleet_without_any_startable_database_is_in_trouble(begun: str, trouble: str) -> None:
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
