"""Notes of a comparison: what both windows share, how many differences chance alone would mark; by hand."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from presman.reports.compare.noise import FALSE_ALARMS, Judgement
from presman.reports.compare.two_windows import _notes
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


def test_what_was_judged_is_counted() -> None:
    windows = window(0, 50), window(60, 100)
    noted = _notes(*windows, [Judgement.MORE, *[Judgement.NOISE] * 9, Judgement.UNTOLD])
    chance = f"chance alone would mark about {10 * FALSE_ALARMS:.1f} as more than noise"
    assert noted == [f"of 10 differences judged, {chance}"]
    assert _notes(*windows, [Judgement.UNTOLD]) == []
    assert _notes(*windows, [Judgement.MORE])[0].startswith("of 1 difference judged")
