from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from presman.analysis.readings.reading import Reading
from presman.analysis.trends.series import Series
from tests.tui.readings import AT, busy, group

KEY = ("used", 0, 0, "BATCH")


def poll(number: int, used: float, instances: tuple[int, ...] = (0,)) -> Reading:
    groups = tuple(group("BATCH", used * (inst_id or 1), inst_id=inst_id) for inst_id in instances)
    return replace(busy(), at=AT + timedelta(seconds=2 * number), groups=groups)


def means(series: Series, key: tuple[str, int, int, str], first: int, polls: int) -> tuple[float | None, ...]:
    return series.buckets(key, (AT + timedelta(seconds=2 * first)).timestamp(), 4.0, polls // 2)


def test_the_mean_of_each_stretch() -> None:
    series = Series()
    for number, used in enumerate((1.0, 2.0, 4.0, 8.0)):
        series.add(poll(number, used))
    assert means(series, KEY, 0, 8) == (1.5, 6.0, None, None)
    assert series.names("used", 0) == [(0, "BATCH")]


def test_readings_that_are_not_newer_change_nothing() -> None:
    series = Series()
    series.add(poll(1, 1.0))
    series.add(poll(1, 9.0))
    series.add(poll(0, 9.0))
    assert means(series, KEY, 0, 4) == (1.0, None)


def test_a_group_that_appears_later_has_no_earlier_values() -> None:
    series = Series()
    series.add(replace(poll(0, 1.0), groups=()))
    series.add(replace(poll(1, 1.0), groups=()))
    series.add(poll(2, 3.0))
    assert means(series, KEY, 0, 4) == (None, 3.0)


def test_the_oldest_values_are_removed_and_others_keep_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("presman.analysis.trends.series.KEPT", 100)
    series = Series()
    for number in range(600):
        series.add(poll(number, float(number)))
    newest = 598
    assert means(series, KEY, newest, 2) == (newest + 0.5,)
    assert means(series, KEY, 0, 2) == (None,)


def test_instances_are_kept_apart() -> None:
    series = Series()
    series.add(poll(0, 1.0, instances=(0, 1, 2)))
    series.add(poll(1, 1.0, instances=(0, 1, 2)))
    assert means(series, ("used", 2, 0, "BATCH"), 0, 2) == (2.0,)
    assert means(series, ("used", 3, 0, "BATCH"), 0, 2) == (None,)
