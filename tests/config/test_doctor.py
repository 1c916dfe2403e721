"""Lines of the doctor that are worked out: how long a round trip takes, whether the clocks agree; by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate, chain
from types import SimpleNamespace
from typing import Any

import pytest

from presman.config import doctor
from presman.sources import Answer

NOW = datetime(2026, 11, 22, 3, 12, tzinfo=UTC)


def lines(
    monkeypatch: pytest.MonkeyPatch, took: Sequence[float], ahead: Sequence[float], trips: int = 1
) -> list[list[str]]:
    """Return the words about reads that took so many seconds, when the database was so far ahead."""
    ticks = list(accumulate(chain.from_iterable((0.0, each) for each in took)))
    answers = [Answer(NOW + timedelta(seconds=each), (), trips) for each in ahead]
    source: Any = type("Source", (), {"read": lambda _, __: answers.pop(0)})()
    monkeypatch.setattr("presman.config.doctor.time.perf_counter", lambda: ticks.pop(0))
    return [line.split(None, 2) for line in doctor._latency(source, lambda: NOW)]


def test_clocks_are_compared_in_the_middle_of_a_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads of eight seconds whose answer says four seconds later than they began."""
    _, clock = lines(monkeypatch, [8.0] * 5, [4.0] * 5)
    assert " ".join(clock) == "clock agrees with this machine's"


def test_the_middle_one_of_five_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    trip, clock = lines(monkeypatch, [0.004, 0.002, 0.006, 9.0, 0.002], [60.0, 2.5, 3.0, -60.0, 2.75])
    assert " ".join(trip).startswith("round trip 4.0 ms (median of 5)")
    assert " ".join(clock) == "clock 3 s ahead of this machine's; presman uses the database's"
    for ahead, told in ((1.99, "agrees with"), (2.0, "2 s ahead of"), (-2.0, "2 s behind"), (-1.99, "agrees with")):
        _, clock = lines(monkeypatch, [0.0] * 5, [ahead] * 5)
        assert f" {told} this machine's" in f" {' '.join(clock)}"


def test_a_source_within_presman_has_no_round_trip(monkeypatch: pytest.MonkeyPatch) -> None:
    (only,) = lines(monkeypatch, [0.0] * 5, [9.0] * 5, trips=0)
    assert " ".join(only) == "round trip none: this source is inside presman"


def test_what_needs_a_pack_is_listed() -> None:
    def query(name: str, pack: str) -> Any:
        return SimpleNamespace(name=name, pack=pack, view=f"GV${name.upper()}")

    assert list(doctor._packs([], ("tuning",))) == ["No query needs the Diagnostics or the Tuning pack."]
    assert list(doctor._packs([query("ash", "diagnostics"), query("plans", "tuning")], ("tuning",))) == [
        "ash needs the Diagnostics pack (GV$ASH): not read",
        "plans needs the Tuning pack (GV$PLANS): allowed",
    ]


def test_what_would_help_is_said_once() -> None:
    cures, untold = {"GRANT SELECT ON a TO b": None, "ask the DBA": None}, {"ash": None, "plans": None}
    assert list(doctor._advice({}, {}, 1)) == ["Nothing is missing: 1 query was answered in full."]
    assert list(doctor._advice({}, untold, 9)) == ["These could not be read: ash, plans."]
    helps = ["What would help:", "  GRANT SELECT ON a TO b;", "  ask the DBA"]
    assert list(doctor._advice(cures, {}, 9)) == helps
    assert list(doctor._advice(cures, untold, 9)) == ["These could not be read: ash, plans.", *helps]
