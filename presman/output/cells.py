"""CSV cells: plain numbers, ISO 8601 instants, text that no spreadsheet takes for a formula."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import Enum
from math import isfinite
from typing import Any

from presman.base.text import safe

Cell = str | int | float | bool | datetime | Enum | None
"""What a column's value may be. None is an empty cell: not known."""


def number(value: float) -> str:
    """Return a number with at most six decimals, without exponent or thousands; "" if it is not finite.

    >>> number(1.5), number(2.0), number(-0.0000001)
    ('1.5', '2', '0')
    """
    if not isfinite(value):
        return ""
    text = f"{value:.6f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def instant(at: datetime) -> str:
    """Return an aware instant in the user's zone as ISO 8601 with milliseconds and offset."""
    return at.astimezone().isoformat(timespec="milliseconds")


def word(value: Enum) -> str:
    """Return the stable word of a verdict or a cause: its name in lower case, whatever the screens say."""
    return value.name.lower()


def cell(value: Cell) -> str:
    """Return the text of one cell."""
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, datetime):
        return instant(value)
    if isinstance(value, Enum):
        return word(value)
    return "" if value is None else str(value)


def lines(rows: Iterable[Iterable[Cell]]) -> str:
    """Return rows as CSV (RFC 4180 quoting, ``\\n`` at line ends)."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([cell(value) for value in row] for row in rows)
    return text.getvalue()


# ---- JSON lines: the rows of CSV as JSON objects by the same names, one a line; what is not known is null.

_DIGITS = 6


def json_lines(names: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Return rows as lines."""
    return "".join(
        json.dumps(dict(zip(names, map(_plain, row), strict=True)), ensure_ascii=False) + "\n" for row in rows
    )


def has_names(line: str, names: Sequence[str]) -> bool:
    """Whether a line has these names, in this order."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and list(found) == list(names)


def _plain(value: Cell) -> Any:
    if isinstance(value, float):
        return round(value, _DIGITS) + 0.0 if isfinite(value) else None
    if isinstance(value, datetime):
        return instant(value)
    return word(value) if isinstance(value, Enum) else value
