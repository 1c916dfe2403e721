"""Goals of service as texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presman.analysis.goals import Goal, parse_goal
from presman.base.errors import InputError
from presman.cli.parser import of_group


@pytest.mark.parametrize(
    "text",
    [
        "REPORTS p95 wait <= 30s",
        "reports P95 <= 30",
        " REPORTS  p95 wait < 0.5m ",
        "REPORTS p95.0 wait ≤ 30 s",
        "95 % of REPORTS start within 30 s",
        "95% of reports starts within 30s",
    ],
)
def test_two_ways_to_say_the_same(text: str) -> None:
    assert parse_goal(text) == Goal("REPORTS", 0.95, 30.0)


def test_a_quoted_name_stays_as_it_is() -> None:
    assert parse_goal('"My group" p50 wait <= 2m') == Goal("My group", 0.5, 120.0)
    assert parse_goal('50 % of "My ""own""" start within 2m') == Goal('My "own"', 0.5, 120.0)


def test_a_name_of_several_words_needs_no_quotes() -> None:
    assert parse_goal("o'brien & co p95 wait <= 30s") == Goal("O'BRIEN & CO", 0.95, 30.0)
    assert parse_goal("95 % of O'Brien & Co start within 30s") == Goal("O'BRIEN & CO", 0.95, 30.0)


@pytest.mark.parametrize(("given", "name"), [("o'brien & co", "O'BRIEN & CO"), ('"My ""own"""', 'My "own"')])
def test_options_and_goals_read_a_group_alike(given: str, name: str) -> None:
    assert of_group(0, 100)(f"{given}=38") == (name, 38.0)
    assert parse_goal(f"{given} p95 wait <= 30s").group == name


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("REPORTS fast", "is not a goal such as"),
        ("", "is not a goal such as"),
        ("REPORTS p95 wait <= soon", "'soon' is not a duration"),
        ("REPORTS p9.5.1 wait <= 3s", "could not convert"),
        ("REPORTS p0 wait <= 3s", "0 is not a percentage"),
        ("101 % of REPORTS start within 3s", "101 is not a percentage"),
        ("REPORTS p95 wait <= 99999d", "longer than three years"),
        ("REPORTS p95 wait <= 0s", "the time must be longer than 0"),
    ],
)
def test_an_invalid_goal_is_a_message_of_one_line(text: str, why: str) -> None:
    with pytest.raises(InputError, match=why) as caught:
        parse_goal(text)
    assert "\n" not in str(caught.value)


def test_a_goal_in_words() -> None:
    assert str(Goal("REPORTS", 0.95, 30.0)) == "95 % of REPORTS start within 30 s"
    assert str(Goal("ETL", 0.5, 7200.0)) == "50 % of ETL start within 2 h"
    assert str(Goal("ETL", 0.999, 0.5)) == "99.9 % of ETL start within 0.5 s"
    assert Goal("ETL", 0.5, 90.0).percentile == "p50"
    assert str(Goal("My group", 1.0, 90.0)) == '100 % of "My group" start within 90 s'


NAMES = ["REPORTS", "My group", "a", '"', 'A "B"', "O'BRIEN"]


@given(st.sampled_from([50, 95, 99.9, 100]), st.integers(1, 86_399), st.sampled_from(NAMES))
def test_words_are_understood(percent: float, seconds: int, group: str) -> None:
    goal = Goal(group, percent / 100, float(seconds))
    assert parse_goal(f"{goal}") == goal
