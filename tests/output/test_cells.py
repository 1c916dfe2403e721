from __future__ import annotations

import csv
import io
import re
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from presman.analysis.readings.group_readings import Verdict
from presman.base.text import clean
from presman.output.cells import cell, json_value, lines


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


FORMULA_STARTS = "=+-@＝＋－＠"


def unmarked(value: str) -> str:
    """Return a cell without the apostrophes that keep spreadsheets from calculating: one at its start, one a part."""
    first, *parts = value.removeprefix("'").split(";")
    return ";".join([first, *(re.sub(f"^([ \"']*)'(?=[{FORMULA_STARTS}])", r"\1", part) for part in parts)])


@given(
    st.lists(
        st.lists(st.text(st.sampled_from(";=-@＝'\", a\t\n") | st.characters(), max_size=20), min_size=1, max_size=4),
        max_size=5,
    )
)
@example([[";=", "=;=", "; '=1", "a;b;-1;=", "x=1;y=2", ";'"]])
def test_any_text_survives_a_csv_reader(rows: list[list[str]]) -> None:
    text = lines(rows)
    read = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert text.count("\n") == len(rows)
    assert [[unmarked(value) for value in row] for row in read] == [
        [clean(value).removeprefix("'") for value in row] for row in rows
    ]
    cells = [value for row in read for value in row]
    parts = [part.lstrip(' "') for value in cells for part in value.split(";")[1:]]  # of spreadsheets that split there
    assert not any(each[0] in FORMULA_STARTS for each in cells + parts if each)


def test_json_has_no_zero_below_zero() -> None:
    assert str(json_value(-0.0)) == "0.0"
