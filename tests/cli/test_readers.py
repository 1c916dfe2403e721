"""Values of options: sizes, ages, addresses, counts, groups with a number, at and beyond their bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from presman.base.errors import OneOf
from presman.cli.parser import age, listening, of_group, positive, size, some_seconds


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (size, "1M", 1_048_576), (size, "1.5g", 1_610_612_736), (size, "1024k", 1_048_576), (size, "2T", 2 * 2**40),
        (size, "1048575T", 1_048_575 * 2**40),
        (age, "60s", 60.0), (age, "1m", 60.0), (age, "14d", 1_209_600.0),
        (some_seconds, "0.001", 0.001), (some_seconds, "2h", 7200.0), (some_seconds, "99999999", 99_999_999.0),
        (listening, "127.0.0.1:9730", ("127.0.0.1", 9730)), (listening, "[::1]:0", ("::1", 0)),
        (listening, "h:65535", ("h", 65_535)),
        (positive, "1", 1), (positive, "12", 12),
        (of_group(0, 100), "ETL=0", ("ETL", 0)), (of_group(0, 100), "ETL=100", ("ETL", 100)),
    ],
)  # fmt: skip
def test_values_within_bounds_are_read(read: Callable[[str], Any], text: str, value: Any) -> None:
    assert read(text) == value


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (size, "1023k"), (size, "1048576T"), (size, "2"), (size, "M"), (size, "xM"), (size, ""),
        (age, "59s"), (age, "90"), (age, "9999999d"), (some_seconds, "0"), (some_seconds, "100000000"),
        (some_seconds, "x"), (listening, "h:65536"), (listening, "h"), (listening, ":1"), (listening, "::1:1"),
        (listening, "h:x"), (listening, "h:\u0661"), (listening, "h:"), (positive, "0"), (positive, "-1"),
        (positive, "1.5"), (of_group(0, 100), "ETL=101"), (of_group(0, 100), "ETL=-1"), (of_group(0, 100), "ETL"),
        (of_group(0, 100), "=1"), (of_group(0, 100), "ETL=x"),
    ],
)  # fmt: skip
def test_values_out_of_bounds_are_refused(read: Callable[[str], Any], text: str) -> None:
    with pytest.raises(ValueError, match=r" is (not|longer)|the number must be"):
        read(text)


def test_one_of_a_few_words() -> None:
    assert OneOf("csv", "json")("JSON") == "json"
    with pytest.raises(ValueError, match="did you mean 'json'"):
        OneOf("csv", "json")("jsn")
