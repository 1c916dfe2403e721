"""Recordings for tests: polls of a scenario on a simulated clock, at full speed, shared by all tests."""

from __future__ import annotations

import fcntl
import hashlib
import pickle
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Generic, TypeVar

from sqlalchemy import text

from presman.analysis.assemble import analyse
from presman.analysis.readings.reading import Reading
from presman.base.release import Release
from presman.figures.figure import FLAG, INSTANT, Unit
from presman.figures.measures import COMMON, MEASURES
from presman.polling.poller import Poller
from presman.recording.playback import Playback
from presman.recording.store import Store
from presman.recording.writer import RecordingWriter
from presman.rows.queries import DetailLevel, Focus
from presman.rows.snapshot import Snapshot
from presman.sources.simulator_source import SimulatorSource
from presman.sources.subprocess_source import _WRITERS, _written
from tests.scenarios import with_short_past

START = datetime(2026, 3, 12, 3, 0, tzinfo=UTC)


Moment = tuple[Snapshot, Reading]


def polled(
    scenario: str,
    polls: int,
    *,
    release: str | None = None,
    step: float = 5.0,
    focus: Focus | None = None,
    since: float = 0.0,
) -> Iterator[Moment]:
    """Yield snapshots and readings of a scenario, `step` simulated seconds apart, from second `since` on."""
    yield from _course(scenario, release, step, focus, since).first(polls)


T = TypeVar("T")


class Course(Generic[T]):
    """The polls of a scenario: immutable, and the same for all tests. Each `how` is another course."""

    folder: Path | None = None
    """Where workers share their polls: to read a poll takes a sixth of the time of making it."""

    def __init__(self, play: Iterator[T], *how: Any) -> None:
        self._name = hashlib.sha256(repr(how).encode()).hexdigest()
        self._known: list[T] = []
        self._play = play
        self._played = 0

    def first(self, polls: int) -> list[T]:
        """Return the first polls."""
        if len(self._known) < polls and self.folder is None:
            self._poll(polls)
        elif len(self._known) < polls:
            self._share(self.folder / self._name, polls)
        return self._known[:polls]

    def _share(self, place: Path, polls: int) -> None:
        """Take the polls of other workers and add the rest; workers that want the same polls wait for it."""
        place.mkdir(parents=True, exist_ok=True)
        with (place / "turn").open("w") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            while (path := place / str(len(self._known))).exists():
                self._known += pickle.loads(path.read_bytes())
            begin = len(self._known)
            if begin < polls:
                self._poll(polls)
                path.write_bytes(_written(self._known[begin:], _WRITERS))

    def _poll(self, polls: int) -> None:
        for number in range(self._played, polls):
            moment = next(self._play)
            if number >= len(self._known):
                self._known.append(moment)
        self._played = polls


@cache
def _course(*how: Any) -> Course[Moment]:
    return Course(_play(*how), *how)


def _play(scenario: str, release: str | None, step: float, focus: Focus | None, since: float) -> Iterator[Moment]:
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
    previous, now[0] = None, since
    while True:
        now[0] += step
        snapshot = poller.poll()
        yield snapshot, analyse(previous, snapshot)
        previous = snapshot


def record(place: Path | str, moments: list[tuple[Snapshot, Reading]], target: str = "demo:x") -> None:
    """Write polls to a recording, and close it."""
    if "://" not in str(place) and not Path(place).exists():
        Path(place).write_bytes(_without_polls())
    store = Store(str(place), writing=True)
    writer = RecordingWriter(store, target, "simulator")
    for snapshot, reading in moments:
        writer.append(snapshot, reading)
    writer.close()
    store.close()


@cache
def _without_polls() -> bytes:
    """Return a new recording: to create its tables takes longer than to write a poll."""
    with TemporaryDirectory() as folder:
        Store(f"{folder}/a.presman", writing=True).close()
        return Path(folder, "a.presman").read_bytes()


@cache
def recorded(scenario: str, polls: int) -> bytes:
    """Return a recording of the first polls of a scenario, for tests that each change a copy."""
    with TemporaryDirectory() as folder:
        record(Path(folder) / "a.presman", list(polled(scenario, polls)))
        return (Path(folder) / "a.presman").read_bytes()


def figures(
    playback: Playback, measure: str, start: datetime | None = None, end: datetime | None = None
) -> list[dict[str, Any]]:
    """Return the rows of a measure's view for the polls between two instants, as CSV has them."""
    units = {figure.key: figure.unit for figure in (*COMMON, *MEASURES[measure].figures)}
    chosen = text(f'SELECT * FROM "{measure}" WHERE database_id = :database_id AND poll BETWEEN :first AND :last')
    return playback.each(lambda row: {key: _as_read(row[key], unit) for key, unit in units.items()}, chosen, start, end)


def _as_read(value: Any, unit: Unit) -> Any:
    if unit is INSTANT and isinstance(value, str):
        return datetime.fromisoformat(value)
    return bool(value) if unit is FLAG and value is not None else value
