"""Forecasts of a recording: the same as a live monitor with the polls before would have made."""

from __future__ import annotations

from pathlib import Path

import pytest

from presman.forecast.statement_history import StatementHistory
from presman.recording.reader import Recording
from presman.recording.statement_lives import forecaster_before, with_forecasts
from presman.reports.report.incident import gather
from tests.recording.recorded import polled, record


def test_a_poll_of_a_recording_gets_forecasts_and_is_otherwise_unchanged(tmp_path: Path) -> None:
    moments = list(polled("mixed", 30))
    record(tmp_path / "a.presman", moments)
    with Recording(str(tmp_path / "a.presman")) as recording:
        playback = recording.playback()
        found = with_forecasts(playback, 29)
        assert found is not None
        assert found.forecast is not None
        assert found.forecast.watched > 0
        assert all(row.starts is not None for row in found.queue)
        assert found.with_forecast({}, None) == moments[29][1]
        before = forecaster_before(playback, moments[20][0])
        later = before.read(moments[21][1], moments[20][0], moments[21][0], None)
        assert later.forecast is not None
        assert later.forecast.watched == (moments[21][0].at - moments[0][0].at).total_seconds()


@pytest.mark.parametrize("missed", [range(0), range(20, 32)], ids=["an instance goes", "and a minute is not seen"])
def test_a_replay_knows_as_many_ends_as_a_live_monitor(missed: range, tmp_path: Path) -> None:
    moments = [each for number, each in enumerate(polled("lost", 40)) if number not in missed]
    history, watched = StatementHistory(), []
    for _, reading in moments:
        history.add(reading)
        watched.append(history.ended)
    record(tmp_path / "a.presman", moments)
    with Recording(str(tmp_path / "a.presman")) as recording:
        for each in range(2, len(moments), 20):
            found = with_forecasts(recording.playback(), each)
            assert found is not None
            assert found.forecast is not None
            assert (each, found.forecast.ended) == (each, watched[each])


def test_a_report_shows_the_queue_with_when_each_should_start(tmp_path: Path) -> None:
    record(tmp_path / "a.presman", list(polled("mixed", 30)))
    with Recording(str(tmp_path / "a.presman")) as recording:
        playback = recording.playback()
        incident = gather(recording, playback, playback.indexes())
        assert incident.moment is not None
        assert incident.moment.reading.queue
        assert all(row.starts is not None for row in incident.moment.reading.queue)
