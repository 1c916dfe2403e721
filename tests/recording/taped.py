"""Recordings for tests: a scenario polled on a clock of its own, as fast as it goes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from presman.analysis import analyse
from presman.analysis.readings.reading import Reading
from presman.base.release import Release
from presman.polling.poller import Poller
from presman.recording.store import Store
from presman.recording.writer import RecordingWriter
from presman.records.breadth import Breadth
from presman.records.focus import Focus
from presman.records.snapshot import Snapshot
from presman.sources.simulator_source import SimulatorSource
from tests.scenarios import with_short_past

START = datetime(2026, 3, 12, 3, 0, tzinfo=UTC)


def polled(
    scenario: str, polls: int, *, release: str | None = None, step: float = 5.0, focus: Focus | None = None
) -> Iterator[tuple[Snapshot, Reading]]:
    """Yield polls of a scenario `step` simulated seconds apart, and what each means."""
    now = [0.0]
    source = SimulatorSource(
        with_short_past(scenario),
        clock=lambda: now[0],
        start=START,
        release=Release.parse(release) if release else None,
    )
    poller = Poller(source, clock=lambda: now[0])
    poller.breadth = Breadth.HISTOGRAMS  # as a recorder polls
    poller.focus(focus)
    poller.open()
    previous = None
    for _ in range(polls):
        now[0] += step
        snapshot = poller.poll()
        yield snapshot, analyse(previous, snapshot)
        previous = snapshot
    poller.close()


def record(place: Path | str, moments: list[tuple[Snapshot, Reading]], target: str = "demo:x") -> None:
    """Write polls to a recording, and end it."""
    store = Store(str(place), writing=True)
    writer = RecordingWriter(store, target, "simulator")
    for snapshot, reading in moments:
        writer.append(snapshot, reading)
    writer.close()
    store.close()
