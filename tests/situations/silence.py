"""Polls of a scenario during which views are silent for some minutes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from presman.analysis.assemble import analyse
from presman.analysis.readings.reading import Reading
from presman.polling.poller import Poller
from presman.rows.snapshot import Snapshot
from presman.sources.simulator_source import SimulatorSource
from tests.analysis.test_simulated import Clock
from tests.scenarios import without

Course = list[tuple[Snapshot, Reading]]


def storm_without(view: str, folder: Path, polls: int) -> Course:
    """Return so many polls of the scenario storm, 8 seconds apart. The view is silent from second 15 to second 415."""
    return polls_without((view,), "storm", folder, polls)


def polls_without(views: Sequence[str], scenario: str, folder: Path, polls: int, at: float = 15) -> Course:
    """Return the same of any scenario and several views, silent from second `at`."""
    clock = Clock()
    file = without(folder, scenario, *views, at=at, lasts=400)
    poller = Poller(SimulatorSource(file, clock=clock, start=datetime(2026, 3, 14, 9, tzinfo=UTC)))
    poller.open()
    found: Course = []
    for _ in range(polls):
        clock.now += 8.0
        snapshot = poller.poll()
        found.append((snapshot, analyse(found[-1][0] if found else None, snapshot)))
    return found


def silent(course: Course) -> Course:
    """Return the polls during which the view is silent."""
    return [each for each in course if each[1].late]
