"""Forecasts in a recording: every reader shows those that were shown live."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from unittest import mock

import pytest
from msgspec.structs import replace

from presman.analysis.advice.ending import idle_to_end
from presman.analysis.advice.step import Step
from presman.analysis.advice.to_do import to_do
from presman.analysis.readings.forecast_readings import EndingEffect, ForecastRecord, QueueForecast
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import StartForecast
from presman.analysis.trends import Watch
from presman.figures.statement_figures import forecast_record
from presman.forecast.forecaster import Forecaster
from presman.forecast.shown import as_shown, with_shown
from presman.output.text_report import full
from presman.recording.codec.poll_codec import THOROUGH, FrameEncoder
from presman.recording.reader import Recording
from presman.recording.redaction import Redactor
from presman.recording.retention import RecordingLocation
from presman.recording.statement_lives import with_forecasts
from presman.recording.store_errors import StoreLostError
from presman.reports.report.incident import gather
from presman.rows.snapshot import Snapshot
from presman.services.live import LiveTarget
from presman.services.recorder import DatabaseRecorder
from presman.sources.simulator_source import SimulatorSource
from presman.tui.exports import PollRecording
from tests.cli.run import Run
from tests.recording.recorded import Moment, polled, record

POLLS = 40


@cache
def shown_live(scenario: str = "mixed", polls: int = POLLS) -> list[Moment]:
    """Return polls as a recorder writes them, with forecasts from its own random numbers."""
    forecaster, found, previous = Forecaster(seed=7), [], None
    for snapshot, reading in polled(scenario, polls):
        seen = forecaster.read(reading, previous, snapshot, None)
        found.append((with_shown(snapshot, seen), seen))
        previous = snapshot
    return found


def figures(reading: Reading) -> tuple[object, ...]:
    """Return the record of past forecasts and the ranges, to a tenth of a second."""
    assert reading.forecast is not None
    starts = [
        tuple(
            None if each is None else round(10 * each) for each in (row.starts.median, row.starts.low, row.starts.high)
        )
        for row in reading.queue
        if row.starts is not None
    ]
    record = reading.forecast.record
    return record.judged, record.held, reading.forecast.judged_since, starts


def test_shown_forecasts_are_repeated_by_once_replay_and_report(tmp_path: Path, inside: Run) -> None:
    place, live = tmp_path / "x.presman", shown_live()
    record(place, live)
    last = live[-1][1]
    assert last.forecast is not None
    assert last.forecast.record.judged
    with Recording(str(place)) as recording:
        playback = recording.playback()
        found = with_forecasts(playback, POLLS - 1)
        jumped = Forecaster().read(playback.reading(POLLS - 1), *playback.pair(POLLS - 1), None)
    assert found is not None
    assert figures(found) == figures(jumped) == figures(last)
    assert figures(last)[-1], "a statement waits"
    assert "again" not in forecast_record(found)
    document = json.loads(inside("once", str(place), "--format", "json").stdout)
    assert document["forecast"]["record"]["judged"] == last.forecast.record.judged
    assert [row["starts"]["median"] for row in document["queue"]] == [
        None if row.starts is None or row.starts.median is None else pytest.approx(row.starts.median, abs=0.06)
        for row in last.queue
    ]


def test_once_compares_the_queue_with_earlier_times_as_the_monitor_does(tmp_path: Path, inside: Run) -> None:
    place, live, watch = tmp_path / "x.presman", shown_live(), Watch()
    record(place, live)
    for _, reading in live:
        watch.add(reading)
    (before, _), (last, reading) = live[-2:]

    def compared(text: str) -> str:
        return text.partition("-- Worse than usual?")[2].partition("\n\n")[0]

    comparison = compared(inside("once", str(place)).stdout)
    assert comparison == compared(full(reading, None, (before, last), watch))
    assert comparison != compared(full(reading, None, (before, last))), "a single poll has no earlier minute"


def test_every_reader_shows_the_live_do(tmp_path: Path, inside: Run) -> None:
    """The effect of an end was proven live, was not proven, or is not known: each poll has one answer."""
    live = [(with_shown(snapshot, seen), seen) for snapshot, seen in map(with_effect, range(3))]
    place = tmp_path / "x.presman"
    record(place, live)
    steps = [to_do(seen) for _, seen in live]
    assert [each is not None and each.step for each in steps] == [Step.END, Step.WAIT, Step.WAIT]
    with Recording(str(place)) as recording:
        playback = recording.playback()
        assert [to_do(playback.reading(index)) for index in range(3)] == steps
        assert [playback.reading(index).bypassed for index in range(3)] == [seen.bypassed for _, seen in live]
        assert [to_do(found) for index in range(3) if (found := with_forecasts(playback, index))] == steps
        incident = gather(recording, playback, range(3), playback.at(0))
    assert [look.to_do for look in incident.samples] == steps
    assert incident.moment is not None
    assert incident.moment.to_do == steps[0]
    watched = inside("watch", str(place)).stdout
    assert watched.count("  do: ") == 2, "a change of words about a wait is no news"
    for step in filter(None, steps[:2]):
        assert f"  do: {step.text}\n" in watched
    for (snapshot, _), step in zip(live, steps, strict=True):
        document = json.loads(inside("once", str(place), "--at", str(snapshot.at), "--format", "json").stdout)
        assert step is not None
        assert (document["to_do"]["step"], document["to_do"]["text"]) == (step.step.value, step.text)


def with_effect(number: int) -> tuple[Snapshot, Reading]:
    """Return a poll of the storm and its reading with the effect of ending its idle holder: proven, not, not known."""
    snapshot, seen = list(polled("storm", 3))[number]
    (holder,) = idle_to_end(seen)
    seen = replace(seen, bypassed=(holder.executing(),))  # three polls of a recording would not show this
    range_ = {"sooner": 300.0, "sooner_low": 240.0, "sooner_high": 420.0}
    effect = EndingEffect((holder.executing(),), 1, 1200.0, 1500.0, proven=not number, **range_)
    record = ForecastRecord(50, 38, 22.0)
    return snapshot, seen.with_forecast({}, QueueForecast(record, () if number == 2 else (effect,)))


def test_earlier_forecasts_are_kept_without_a_forecaster() -> None:
    snapshot, seen = with_effect(0)
    seen = replace(seen, forecast=None)
    again = as_shown(replace(seen, bypassed=()), with_shown(snapshot, seen))
    assert again == seen


def test_missing_forecasts_are_calculated_again_and_a_note_says_so(tmp_path: Path) -> None:
    place = tmp_path / "old.presman"
    record(place, list(polled("mixed", POLLS)))
    with Recording(str(place)) as recording:
        found = with_forecasts(recording.playback(), POLLS - 1)
    assert found is not None
    assert forecast_record(found).endswith(", calculated again from the recording")


def test_a_missing_forecast_is_stored_with_its_reason(tmp_path: Path) -> None:
    snapshot, reading = next(iter(polled("mixed", 1)))
    whys = [StartForecast(why_none="too few"), StartForecast(timeout=True), StartForecast(1.25, 0.5, 60.0)]
    starts = {row.executing(): why for row, why in zip(reading.queue, whys, strict=False)}
    behind = QueueForecast(record=ForecastRecord(5, 4, None))
    kept = Redactor()(with_shown(snapshot, reading.with_forecast(starts, behind)))
    again = as_shown(reading, kept)
    assert [row.starts for row in again.queue][: len(starts)] == [
        each if each.median is None else replace(each, median=1.2) for each in list(starts.values())
    ]
    assert again.forecast is not None
    assert again.forecast.record == behind.record


def test_they_take_a_few_percent_of_a_recording() -> None:
    def size(snapshots: list[Snapshot]) -> int:
        encoder = FrameEncoder(THOROUGH)
        return sum(len(encoder.add(each)) for each in snapshots)

    """For the longest queue."""
    both = list(polled("storm", 12)), shown_live("storm", 12)
    bare, kept = ([moment[0] for moment in moments] for moments in both)
    assert size(bare) < size(kept) < 1.1 * size(bare)


def test_a_recording_of_the_monitor_has_its_forecasts(tmp_path: Path) -> None:
    snapshot, reading = next(iter(polled("mixed", 1)))
    behind = QueueForecast(record=ForecastRecord(5, 4, 2.0))
    starts = {row.executing(): StartForecast(1.0, 0.5, 60.0) for row in reading.queue}
    poll_recording = PollRecording(tmp_path, pytest.fail)
    place = poll_recording.begin("x", "simulator")
    poll_recording.loaded()
    poll_recording.write(snapshot, reading.with_forecast(starts, behind))
    poll_recording.close()
    with Recording(str(place)) as recording:
        found = with_forecasts(recording.playback(), 0)
    assert found is not None
    assert found.forecast is not None
    assert found.forecast.record == behind.record
    assert {row.starts for row in found.queue} == set(starts.values())


def test_a_recorder_writes_forecasts_and_a_repeated_poll_counts_once(tmp_path: Path) -> None:
    place = tmp_path / "r.presman"
    recorder = DatabaseRecorder(LiveTarget("demo:x", SimulatorSource), RecordingLocation(str(place)), [].append)
    expected, previous, shown = Forecaster(), None, None
    for snapshot, reading in polled("mixed", POLLS):
        shown = expected.read(reading, previous, snapshot, None)
        if snapshot.number == 20:
            full = mock.patch("presman.services.recorder.RecordingWriter.append", side_effect=StoreLostError("full"))
            with full, pytest.raises(StoreLostError):
                recorder._write(previous, snapshot)
        recorder._write(previous, snapshot)
        previous = snapshot
    recorder._close()
    with Recording(str(place)) as recording:
        found = with_forecasts(recording.playback(), POLLS - 1)
    assert found is not None
    assert shown is not None
    assert figures(found) == figures(shown)
