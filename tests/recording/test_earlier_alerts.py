"""Earlier alerts: a recorded poll whose views did not answer keeps those of the polls before, as live."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.readings.reading import Reading
from presman.polling.poll_events import Polled
from presman.polling.poller import Poller
from presman.recording.playback import LOOKED_BACK, Playback
from presman.recording.reader import Recording
from presman.rows.snapshot import Snapshot
from presman.services.live import ReadingCame, Readings
from presman.sources.simulator_source import SimulatorSource
from tests.analysis.test_simulated import Clock
from tests.cli.run import Run
from tests.recording.recorded import record
from tests.scenarios import without

POLLS = 24
Alerts = list[tuple[str, str]]


def alerts_of(reading: Reading) -> Alerts:
    return [(each.text, each.short) for each in wrong(reading)]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Snapshot, Reading]]:
    """Return polls and live readings of a group without a share; V$RSRC_PLAN does not answer after the fifth."""
    clock, readings, found = Clock(), Readings(), []
    file = without(tmp_path_factory.mktemp("silent"), "throttled", "V$RSRC_PLAN", at=52, lasts=150)
    poller = Poller(SimulatorSource(file, clock=clock, start=datetime(2026, 3, 14, 9, tzinfo=UTC)))
    poller.open()
    for _ in range(POLLS):
        clock.now += 10.0
        came = readings.of(Polled(poller.poll()))
        assert isinstance(came, ReadingCame)
        found.append((came.snapshot, came.reading))
    return found


@pytest.fixture
def file(live: list[tuple[Snapshot, Reading]], tmp_path: Path) -> Path:
    record(tmp_path / "x.presman", live)
    return tmp_path / "x.presman"


@pytest.fixture
def playback(file: Path) -> Any:
    recording = Recording(str(file))
    yield recording.playback()
    recording.close()


def test_each_poll_has_the_alerts_of_a_live_monitor(live: list[tuple[Snapshot, Reading]], playback: Playback) -> None:
    """`once --at`, a jump in a replay, and samples of a report judged each poll alone, so the alert was missing."""
    kept = [index for index, (_, reading) in enumerate(live) if reading.unchecked]
    assert len(kept) > 12
    whole = range(POLLS)
    for indexes in (whole, [kept[8]], whole[::-5], [3, kept[12], kept[5]]):
        for index in indexes:
            assert alerts_of(playback.reading(index)) == alerts_of(live[index][1]), index


def test_alerts_before_a_restart_are_forgotten(
    live: list[tuple[Snapshot, Reading]], playback: Playback, tmp_path: Path
) -> None:
    from msgspec.structs import replace

    again = [(replace(snapshot, number=snapshot.number - 10), reading) for snapshot, reading in live[10:]]
    record(tmp_path / "again.presman", [*live[:10], *again])
    recording = Recording(str(tmp_path / "again.presman"))
    assert playback.reading(15).unchecked
    assert not recording.playback().reading(15).unchecked
    recording.close()


def test_few_polls_are_read_for_earlier_alerts(playback: Playback, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    pair = Playback.pair
    monkeypatch.setattr(Playback, "pair", lambda self, index: read.append(index) or pair(self, index))
    playback.reading(3)
    assert read == [3]
    playback.reading(19)
    assert 2 < len(read) < 17
    read.clear()
    playback.reading(20)
    assert read == [20]
    assert LOOKED_BACK > POLLS


def test_once_at_shows_earlier_alerts(live: list[tuple[Snapshot, Reading]], file: Path, inside: Run) -> None:
    snapshot, reading = live[15]
    found = json.loads(inside("once", str(file), "--at", snapshot.at.isoformat(), "--format", "json").stdout)
    assert [each["alert"]["text"] for each in found["unchecked"]] == [each.alert.text for each in reading.unchecked]
    assert reading.unchecked
