"""Observations for tests: polls of a scenario, and databases that show them without being polled."""

from __future__ import annotations

from functools import cache
from typing import Any

from msgspec.structs import replace

from presman.figures.metric_figures import ObservedReading
from presman.rows.snapshot import Snapshot
from presman.services.metrics.metric_page import DatabaseState, families
from tests.recording.recorded import polled


@cache
def observed(scenario: str, polls: int = 3) -> ObservedReading:
    """Return the observation after some polls, five simulated seconds apart."""
    previous: Snapshot | None = None
    found = None
    for snapshot, reading in polled(scenario, polls):
        found = ObservedReading(reading, previous, snapshot, reading.histograms)
        previous = snapshot
    assert found is not None
    return found


class Shown:
    """A database that shows one state."""

    def __init__(self, observation: ObservedReading | None, label: str = "prod") -> None:
        self.shown = DatabaseState(label, 5.0, observation, 3, 0.25, 12, 0, 1_800_000_000.0)

    def state(self) -> DatabaseState:
        return self.shown

    def changed(self, **reading: Any) -> Shown:
        """Return the same database with changes in its reading."""
        observation = self.shown.observation
        assert observation is not None
        changed = replace(observation, reading=replace(observation.reading, **reading))
        return Shown(changed, self.shown.label)


Series = dict[tuple[str, frozenset[tuple[str, str]]], Any]


def series(*databases: Shown) -> Series:
    """Return the values of all series, by name and labels."""
    found: Series = {}
    for family in families(databases):  # type: ignore[arg-type]
        for labels, value in family.samples:
            key = family.metric.name, frozenset(labels.items())
            assert key not in found, key
            found[key] = value
    return found


def of(found: Series, name: str, **labels: str) -> list[Any]:
    """Return the values of the series of a name that have these labels, in order."""
    wanted = set(labels.items())
    return [value for (known, own), value in found.items() if known == f"presman_{name}" and wanted <= own]
