from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presman.sources.spool.spool_table import decimal_mark, instant, is_month_first, number

VIENNA_IN_WINTER = timezone(timedelta(hours=1))


@pytest.mark.parametrize(
    ("text", "mark", "whole", "value"),
    [
        ("0", None, True, 0),
        ("-12", None, True, -12),
        ("1234567890123456789", None, True, 1234567890123456789),
        ("18446744073709551615", None, True, 18446744073709551615.0),
        (".5", None, False, 0.5),
        (",5", None, False, 0.5),
        ("0,25", None, False, 0.25),
        ("0,125", None, False, 0.125),
        ("1,234", None, True, 1234),
        ("1.234", None, True, 1234),
        ("1.234", None, False, 1.234),
        ("1,234", ".", False, 1234),
        ("1.234", ",", False, 1234),
        ("1,234.5", None, False, 1234.5),
        ("1.234,5", None, False, 1234.5),
        ("1.234.567", None, True, 1234567),
        ("1 234 567", None, True, 1234567),
        ("1\u00a0234", None, True, 1234),
        ("1'234", None, True, 1234),
        ("2.5E+3", ".", True, 2500),
        ("2,5E-01", ",", False, 0.25),
        ("1E+20", None, True, 1e20),
        ("2.535E+10", None, True, 25_350_000_000),
        ("+7", None, True, 7),
    ],
)
def test_numbers(text: str, mark: str | None, whole: bool, value: float) -> None:
    found = number(text, mark, whole)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", ["x", "1x", "--1", "12-3", "0x1F", "1e", "nan", "inf", "########", "1__0", "٣"])
def test_values_that_are_no_numbers(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number"):
        number(text, None, False)


@pytest.mark.parametrize("text", ["1E+126", "-1e308", "1e400", "9" * 127])
def test_numbers_beyond_oracles_range(text: str) -> None:
    assert number("9.99E+125", ".", True) == 9.99e125
    with pytest.raises(ValueError, match="is larger than any number of Oracle's"):
        number(text, None, True)


@pytest.mark.parametrize(
    ("texts", "mark"),
    [
        (["12", "x", ""], None),
        (["1.234", "5,678"], None),
        (["-123.456"], None),
        (["1.234", "0.5"], "."),
        (["1.234", ",5"], ","),
        (["1234.567"], "."),
        (["1,234,567"], "."),
        (["0,123"], ","),
    ],
)
def test_the_decimal_mark_is_recognised_by_proof(texts: list[str], mark: str | None) -> None:
    assert decimal_mark(texts) == mark


@given(st.decimals(min_value=-(10**12), max_value=10**12, places=4), st.sampled_from([".", ","]))
def test_grouped_numbers_read_the_same_in_both_forms(value: object, mark: str) -> None:
    group = "," if mark == "." else "."
    text = f"{value:,.4f}".translate(str.maketrans({",": group, ".": mark}))
    assert number(text, mark, False) == float(str(value))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("21-NOV-26", "2026-11-21T00:00:00+01:00"),
        ("21-NOV-99", "1999-11-21T00:00:00+01:00"),
        ("21-Okt-2026 10:11:12", "2026-10-21T10:11:12+01:00"),
        ("21-MÄR-26", "2026-03-21T00:00:00+01:00"),
        ("21-déc.-26", "2026-12-21T00:00:00+01:00"),
        ("21.11.2026 10:11:12", "2026-11-21T10:11:12+01:00"),
        ("21.11.26", "2026-11-21T00:00:00+01:00"),
        ("1/2/2026 3:04", "2026-02-01T03:04:00+01:00"),
        ("2026-11-21", "2026-11-21T00:00:00+01:00"),
        ("2026/11/21 10:11:12", "2026-11-21T10:11:12+01:00"),
        ("2026-11-21T10:11:12Z", "2026-11-21T10:11:12+00:00"),
        ("2026-11-21 10:11:12.123 -05:30", "2026-11-21T10:11:12.123000-05:30"),
        ("2026-11-21T10:11:12,123456789+0200", "2026-11-21T10:11:12.123456+02:00"),
        ("21-NOV-26 10.11.12.123456 PM", "2026-11-21T22:11:12.123456+01:00"),
        ("21-NOV-26 12.00.00.000000000 AM +02:00", "2026-11-21T00:00:00+02:00"),
        ("21.11.26 10:11:12,500000", "2026-11-21T10:11:12.500000+01:00"),
        ("2026-11-21:10:11:12", "2026-11-21T10:11:12+01:00"),
    ],
)
def test_dates(text: str, expected: str) -> None:
    assert instant(text, VIENNA_IN_WINTER).isoformat() == expected


def test_month_first_where_a_date_proves_it() -> None:
    assert is_month_first(["", "01/02/2026", "11/21/2026"])
    assert not is_month_first(["01/02/2026", "21/11/2026"])
    assert not is_month_first(["01/02/2026"])
    assert instant("01/02/2026", UTC, month_first=True) == datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "yesterday", "32-NOV-26", "21-XXX-26", "2026-13-01", "21.11", "10:11:12", "26"])
def test_values_that_are_no_dates(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        instant(text, UTC)
