"""Notes of a comparison: the overlap of windows, and the differences that chance alone would mark, by hand."""

from __future__ import annotations

from datetime import timedelta
from math import nan
from types import SimpleNamespace
from typing import Any

from presman.reports.compare.comparison import _notes, _still_queued, histograms, quantile
from presman.reports.compare.noise import FALSE_ALARMS, Judgement
from tests.recording.recorded import START


def window(first: float, last: float, recording: str = "a", database: str = "prod") -> Any:
    one, other = (START + timedelta(seconds=each) for each in (first, last))
    return SimpleNamespace(first=one, last=other, recording=recording, database=database)


def test_windows_of_one_recording_may_overlap() -> None:
    both = ["the windows overlap by 40 s, so that part is the same in both"]
    assert _notes(window(0, 100), window(60, 200), ()) == both
    assert _notes(window(60, 200), window(0, 100), ()) == both
    assert _notes(window(0, 200), window(60, 100), ()) == both
    assert _notes(window(0, 60), window(60, 100), ()) == [], "one poll ends the first and begins the second"
    assert _notes(window(0, 50), window(60, 100), ()) == []
    assert _notes(window(60, 100), window(0, 50), ()) == []
    assert _notes(window(0, 100), window(60, 200, "b"), ()) == []
    assert _notes(window(0, 100), window(60, 200, "a", "test"), ()) == ["two databases: prod and test"]


def test_statements_that_still_wait_are_counted_beside_ended_waits() -> None:
    """ "BATCH mean wait s 0.000" stood there alone while 26 of BATCH waited for over four minutes."""
    assert _still_queued([3.0, 26.0]) == [
        "26 statements were still queued at its end: waits are of those that had ended"
    ]
    assert _still_queued([3.0, 1.0])[0].startswith("1 statement was still queued")
    assert _still_queued([26.0, 0.0]) == _still_queued([26.0, nan]) == []


def test_judged_differences_are_counted() -> None:
    windows = window(0, 50), window(60, 100)
    noted = _notes(*windows, [Judgement.MORE, *[Judgement.NOISE] * 9, Judgement.TOO_FEW])
    chance = f"chance alone would mark about {10 * FALSE_ALARMS:.1f} as more than noise"
    assert noted == [f"of 10 differences judged, {chance}"]
    assert _notes(*windows, [Judgement.TOO_FEW]) == []
    assert _notes(*windows, [Judgement.MORE])[0].startswith("of 1 difference judged")


def test_events_whose_waits_took_most_time_come_first() -> None:
    """10 us 500 times, 1 ms once, 10 us 50 times in the first or second window; events without waits are left out."""

    def waits(**events: dict[int, int]) -> Any:
        return SimpleNamespace(histograms={event: [own] for event, own in events.items()})

    found = histograms(waits(a={1000: 1}, b={10: 50}, d={}), waits(c={10: 500}, a={1000: 1}, d={64: 0}))
    assert [(each.event, dict(each.first), dict(each.second)) for each in found] == [
        ("c", {}, {10: 500}), ("a", {1000: 1}, {1000: 1}), ("b", {10: 50}, {}),
    ]  # fmt: skip


def test_the_wait_of_a_rank_is_in_a_bucket() -> None:
    buckets = {64: 1, 8: 2, 16: 1, 32: 0}
    assert [quantile(buckets, percent) for percent in (1, 50, 51, 75, 76, 100)] == [8, 8, 16, 16, 64, 64]
    assert quantile({8: 0}, 50) is None
