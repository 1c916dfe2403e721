"""JSON lines: the rows of CSV as JSON objects by the same names, one a line; what is not known is null."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import Enum
from math import isfinite
from typing import Any

from presman.output.cells import Cell, instant, word

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
