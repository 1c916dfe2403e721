"""Recordings for tests: a scenario polled on a simulated clock, at full speed, once for all tests."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from presman.analysis.assemble import analyse
from presman.analysis.readings.reading import Reading
from presman.base.release import Release
from presman.polling.poller import Poller
from presman.recording.store import Store
from presman.recording.writer import RecordingWriter
from presman.rows.queries import DetailLevel, Focus
from presman.rows.snapshot import Snapshot
from presman.sources.simulator_source import SimulatorSource
from tests.scenarios import with_short_past

START = datetime(2026, 3, 12, 3, 0, tzinfo=UTC)


Moment = tuple[Snapshot, Reading]


def polled(
    scenario: str, polls: int, *, release: str | None = None, step: float = 5.0, focus: Focus | None = None
) -> Iterator[Moment]:
    """Yield polls of a scenario `step` simulated seconds apart, and what each means."""
    for number in range(polls):
        yield _moment(number, scenario, release, step, focus)


@cache
def _moment(number: int, *course: Any) -> Moment:
    """Return a poll of a course, the same for everybody: nobody can change it, and each asks for those before first."""
    return next(_course(*course))


@cache
def _course(scenario: str, release: str | None, step: float, focus: Focus | None) -> Iterator[Moment]:
    now = [0.0]
    source = SimulatorSource(
        with_short_past(scenario),
        clock=lambda: now[0],
        start=START,
        release=Release.parse(release) if release else None,
    )
    poller = Poller(source, clock=lambda: now[0])
    poller.detail_level = DetailLevel.HISTOGRAMS  # as a recorder polls
    poller.focus(focus)
    poller.open()
    previous = None
    while True:
        now[0] += step
        snapshot = poller.poll()
        yield snapshot, analyse(previous, snapshot)
        previous = snapshot


def record(place: Path | str, moments: list[tuple[Snapshot, Reading]], target: str = "demo:x") -> None:
    """Write polls to a recording, and end it."""
    store = Store(str(place), writing=True)
    writer = RecordingWriter(store, target, "simulator")
    for snapshot, reading in moments:
        writer.append(snapshot, reading)
    writer.close()
    store.close()
