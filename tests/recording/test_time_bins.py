"""Figures of a stretch of a recording, worked out of its polls by hand."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from presman.analysis.readings.reading import Reading
from presman.recording.reader import Recording
from presman.recording.time_bins import PollGap, gaps, sampled, time_bins, usual_interval, width_of, worst
from presman.rows.snapshot import Snapshot
from tests.recording.recorded import polled, record

QUEUES = {5: 1, 10: 4, 15: 2, 86_400: 0, 86_405: 3, 86_500: 2}
"""Seconds since the first poll, and how many statements were queued: on two days, so in two files."""


def recorded(folder: Path) -> datetime:
    """Write such a recording; return when it begins."""
    *_, (snapshot, reading) = polled("storm", 2)
    start = snapshot.at
    days: dict[str, list[tuple[Snapshot, Reading]]] = {}
    for number, (seconds, queued) in enumerate(QUEUES.items(), 1):
        at = start + timedelta(seconds=seconds)
        queue = reading.queue[:queued]
        moment = replace(snapshot, at=at, number=number), replace(reading, at=at, queue=queue)
        days.setdefault(f"{at:%Y-%m-%d}", []).append(moment)
    for day, moments in days.items():
        record(folder / f"presman-{day}.presman", moments)
    return start


def test_the_worst_moment_the_gaps_and_the_bins_of_two_days(tmp_path: Path) -> None:
    start = recorded(tmp_path)

    def at(seconds: float) -> datetime:
        return start + timedelta(seconds=seconds)

    with Recording(str(tmp_path)) as recording:
        playback = recording.playback()
        whole = at(0), at(90_000)
        assert worst(playback, *whole, "queued") == at(10)
        assert worst(playback, at(12), at(90_000), "queued") == at(86_405), (
            "the worst of the second day is worse than 2"
        )
        assert worst(playback, at(86_400), at(86_401), "queued") is None, "nobody was queued"
        assert usual_interval(playback, *whole) == 5.0
        assert gaps(playback, *whole) == [PollGap(at(15), at(86_400)), PollGap(at(86_405), at(86_500))]
        bins = time_bins(playback, *whole, 1000)
        assert [(each.start, each.end, each.polls, each.queued, each.busy) for each in bins] == [
            (at(5), at(15), 3, 4, 3),
            (at(86_400), at(86_500), 3, 3, 2),
        ]


@pytest.mark.parametrize(
    ("polls", "bins", "width"),
    [(0, 100, 1), (100, 100, 1), (101, 100, 2), (1600, 100, 16), (1601, 100, 32), (3200, 100, 32), (3201, 100, 64)],
)
def test_a_bin_takes_a_few_polls_or_whole_spans_of_32(polls: int, bins: int, width: int) -> None:
    assert width_of(polls, bins) == width


@pytest.mark.parametrize(
    ("first", "last", "step", "spans"),
    [
        (0, 31, 1, [0]),
        (31, 32, 1, [0, 1]),
        (32, 2000 * 32 + 31, 1, list(range(1, 2001))),  # 2,000 spans
        (0, 2000 * 32, 2, list(range(0, 2001, 2))),  # 2,001
    ],
)
def test_of_a_long_stretch_every_so_manieth_span_is_read(first: int, last: int, step: int, spans: list[int]) -> None:
    assert sampled(SimpleNamespace(first=first, last=last)) == (step, spans)  # type: ignore[arg-type]
