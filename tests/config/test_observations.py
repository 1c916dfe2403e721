"""Observations of the doctor's checks of assumptions: how they are judged and shown; by hand."""

from __future__ import annotations

import pytest

from presman.config.doctor import Assumption, Observation, _number, _rows_in_words


def judged(value: float | None, against: float | None, **how: object) -> str:
    each = Assumption("k", "t", "c", **how)  # type: ignore[arg-type]
    return each.judge([Observation("X", value, against)]).partition(":")[0]


@pytest.mark.parametrize(
    ("value", "against", "holds"),
    [(0, 8, False), (8, 8, True), (16, 8, True), (24, 8, True), (32, 8, True), (40, 8, False), (12, 8, False),
     (8, 0, False), (8, None, False), (None, 8, False)],
)  # fmt: skip
def test_servers_are_one_to_four_times_a_degree(value: float | None, against: float | None, holds: bool) -> None:
    assert judged(value, against, multiple=True) == ("holds" if holds else "does NOT hold")


@pytest.mark.parametrize(
    ("value", "against", "holds"),
    [(5, 10, True), (4.9, 10, False), (20, 10, True), (20.1, 10, False), (0.5, None, True), (2.1, None, False),
     (None, 10, True)],
)  # fmt: skip
def test_figures_lie_between_multiples_of_another(value: float | None, against: float | None, holds: bool) -> None:
    assert judged(value, against, between=(0.5, 2.0)) == ("holds" if holds else "does NOT hold")


def test_unexpected_names_are_listed_and_unjudged_values_shown() -> None:
    rows = [Observation("A", 1.0, None), Observation("B", 2.0, None)]
    assert Assumption("k", "t", "c", only=("A",)).judge(rows) == "does NOT hold: also B 2"
    assert Assumption("k", "t", "c", only=("A", "B")).judge(rows) == "holds: A 1, B 2"
    assert Assumption("k", "t", "c", between=(1.0, 1.5)).judge(rows) == "does NOT hold: B 2"
    assert Assumption("k", "t", "c").judge(rows) == "look: A 1, B 2"


def test_six_rows_are_listed_and_others_counted() -> None:
    rows = [Observation(name, None, None) for name in "ABCDEFGH"]
    assert _rows_in_words(rows[:6]) == "A, B, C, D, E, F"
    assert _rows_in_words(rows) == "A, B, C, D, E, F and 2 more"
    assert [_number(value) for value in (1234.0, 0.5)] == ["1,234", "0.50"]
