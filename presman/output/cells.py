"""Cells of files and texts: plain numbers in CSV, no text that a spreadsheet would run as a formula, aligned tables."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from math import isfinite
from typing import TypeVar

from presman.base.formats import ABSENT
from presman.base.text import safe
from presman.figures.drawing import columns as drawing
from presman.figures.drawing.lines import cells, fit, plain
from presman.figures.figure import Figure

Cell = str | int | float | bool | datetime | Enum | None
"""The type of a column's value. None is an empty cell: unknown."""


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
    """Return the stable word of a verdict or a cause: its name in lower case, independent of the screens' words."""
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


# ---- JSON lines: the rows of CSV as JSON objects with the same names, one per line; unknown values are null.

_DIGITS = 6
"""Decimals of a number; infinity and NaN become null."""


def json_lines(names: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Return rows as JSON lines."""
    objects = (dict(zip(names, map(json_value, row), strict=True)) for row in rows)
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in objects)


def has_names(line: str, names: Sequence[str]) -> bool:
    """Return whether a line has these names, in this order."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and list(found) == list(names)


def json_value(value: Cell) -> str | int | float | bool | None:
    """Return the value of one cell in JSON's own types."""
    if isinstance(value, float):
        return round(value, _DIGITS) + 0.0 if isfinite(value) else None
    if isinstance(value, datetime):
        return instant(value)
    return word(value) if isinstance(value, Enum) else value


# ---- Tables as aligned text, formatted as on the screens: for terminals, pipes and logs.

T = TypeVar("T")

_GAP = 2
_BAR = 24
"""Cells of a flexible bar if the width is unlimited."""
_WIDEST = 60
"""Cells of a flexible text if the width is unlimited."""
_SAME_FOR_ALL = frozenset({"inst_id", "con_id"})
_OFTEN_EMPTY = frozenset({"session_pool"})
"""Columns that are left out if no row has a value."""


def table(
    figures: Sequence[Figure[T]], rows: Sequence[T], width: int | None = None, least: Mapping[str, float] | None = None
) -> list[str]:
    """Return heads and rows as aligned lines of at most `width` cells (None: unlimited).

    Columns with the same value in each row (the only instance) are left out, and so are trends: a text has no earlier
    minutes. The scales of bars reach at least the values in `least`. If `width` is too small for all columns, the table
    has the columns of a screen of that width.
    """
    shown = [figure for figure in figures if not figure.trend and not _is_uninformative(figure, rows)]
    fitted: drawing.Fitted = tuple((figure, _needed(figure, rows)) for figure in shown)
    gap = _GAP
    if width is not None and sum(size + gap for _, size in fitted) - gap > width:
        fitted, gap = drawing.fit_columns(shown, width, needed=drawing.cells_needed(shown, rows)), drawing.gap_at(width)
    look = drawing.Look(gap, drawing.scales_of(shown, rows, least))
    lines = [drawing.head_line(fitted, gap), *(plain(drawing.row_line(fitted, row, look)) for row in rows)]
    return [(line if width is None else fit(line, width)).rstrip() for line in lines]


def _is_uninformative(figure: Figure[T], rows: Sequence[T]) -> bool:
    if figure.key in _OFTEN_EMPTY:
        return all(figure.show(row) == ABSENT for row in rows)
    return figure.key in _SAME_FOR_ALL and len({figure.show(row) for row in rows}) <= 1


def _needed(figure: Figure[T], rows: Sequence[T]) -> int:
    """Return the cells that a column needs; a bar beside a text needs as many again."""
    text = max((cells(figure.show(row)) for row in rows), default=0)
    if figure.bar is not None:
        text = _BAR if figure.flexible else 2 * text + 1
    elif figure.flexible:
        text = min(text, _WIDEST)
    return max(cells(figure.head), text)
