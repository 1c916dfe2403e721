from __future__ import annotations

import csv
import io
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presman.analysis.readings.group_readings import Verdict
from presman.base.text import clean
from presman.output.cells import cell, lines


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (0, "0"),
        (True, "true"),
        (-3, "-3"),
        (1.5, "1.5"),
        (1e15, "1000000000000000"),
        (1 / 3, "0.333333"),
        (-1e-9, "0"),
        (float("nan"), ""),
        (float("inf"), ""),
        ("plain", "plain"),
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=x", " =x"),
        ("a\r\nb", "a  b"),
        ("", ""),
        (Verdict.ZERO_SHARE, "zero_share"),
    ],
)
def test_cell(value: object, text: str) -> None:
    assert cell(value) == text  # type: ignore[arg-type]


def test_instants_carry_their_offset() -> None:
    at = datetime(2026, 3, 1, 22, 15, 30, 250_000, tzinfo=UTC)
    text = cell(at)
    assert datetime.fromisoformat(text) == at
    assert datetime.fromisoformat(text).utcoffset() is not None


@given(st.lists(st.lists(st.text(max_size=20), min_size=1, max_size=4), max_size=5))
def test_any_text_survives_a_csv_reader(rows: list[list[str]]) -> None:
    text = lines(rows)
    read = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert text.count("\n") == len(rows)
    assert [[value.removeprefix("'") for value in row] for row in read] == [
        [clean(value).removeprefix("'") for value in row] for row in rows
    ]
    assert not any(value and value[0] in "=+-@\t\r" for row in read for value in row)
