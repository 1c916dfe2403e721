"""Tables of the measures: which figures a recording keeps of each poll, generated from the figures' own definitions.

A figure that hardly ever changes is part of a case: who a row is about and all that holds for him, written once. The
others stand in rows. A row that did not change for some polls stands there once, with the first and the last of them;
at the latest after `SPAN` polls another begins, so that a reader never looks far back. The views put both together
again, one row for each poll, with the names that CSV and JSON have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import cached_property
from math import isfinite
from typing import Any

from presman.figures.figure import (
    COUNT,
    FLAG,
    INSTANT,
    NAME,
    NUMBER,
    TEXT,
    TOTAL,
    WORD,
    Figure,
)
from presman.figures.measures import MEASURES

SPAN = 16
"""Polls after which each row begins anew."""

SCALE = 1_000_000
"""Figures that are no whole numbers are kept as so many parts: with the six decimals that CSV has."""

_LARGEST = 2**63 - 1
_WHOLE = (NUMBER, COUNT, TOTAL)
_TEXTUAL = (TEXT, NAME)


@dataclass(frozen=True, slots=True)
class KeptFigure:
    """One figure of a measure as it is kept: a whole number, one of a million parts (`scaled`), a word or a text."""

    figure: Figure[Any]

    @property
    def key(self) -> str:
        """Its name, in CSV, JSON and SQL."""
        return self.figure.key

    @property
    def is_text(self) -> bool:
        """Whether it is kept as text."""
        return self.figure.unit in (*_TEXTUAL, WORD)

    @property
    def is_long(self) -> bool:
        """Whether it is kept by its hash, the text itself once."""
        return self.key == "sql_text"

    @property
    def is_scaled(self) -> bool:
        """Whether it is kept in parts of a whole."""
        return not self.is_text and self.figure.unit not in (*_WHOLE, FLAG, INSTANT)

    def kept(self, row: Any) -> Any:
        """Return what is kept of it for a row: a number, a text or None."""
        return kept(self.figure.value(row), scaled=self.is_scaled)


def kept(value: Any, *, scaled: bool = False) -> Any:
    """Return what is kept of a figure's value: a whole number, a text or None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, datetime):
        return round(value.timestamp() * SCALE)
    if isinstance(value, float) and not isfinite(value):
        return None
    number = round(value * SCALE) if scaled else round(value)
    return number if -_LARGEST <= number <= _LARGEST else None


@dataclass(frozen=True)
class RowTable:
    """One kind of rows: those of several measures that are about the same things.

    `quick` are the keys of figures that change from poll to poll, the others are part of the case. `rows` gives what
    the rows are about.
    """

    name: str
    measures: tuple[str, ...]
    rows: Callable[[Any], Any]
    quick: frozenset[str]

    @cached_property
    def figures(self) -> tuple[KeptFigure, ...]:
        """Every figure of the measures, once."""
        every = {figure.key: figure for name in self.measures for figure in MEASURES[name].figures}
        return tuple(KeptFigure(figure) for figure in every.values())

    @cached_property
    def of_rows(self) -> tuple[KeptFigure, ...]:
        """The figures that stand in rows."""
        return tuple(each for each in self.figures if each.key in self.quick)

    @cached_property
    def of_cases(self) -> tuple[KeptFigure, ...]:
        """The figures that stand in cases."""
        return tuple(each for each in self.figures if each.key not in self.quick)


GROUPS = RowTable(
    "group",
    ("cpu", "session_io", "parallel", "emphasis"),
    MEASURES["cpu"].rows,
    frozenset(
        {
            "used_cpus", "waited_cpus", "entitled_cpus", "used_percent", "throttled_percent", "verdict",
            "active_sessions", "execution_waiters", "yields_per_s", "requests_per_s", "pool_queue_length",
            "session_pool_longest_s", "io_mb_per_s", "io_requests_per_s", "small_read_mb_per_s",
            "small_write_mb_per_s", "large_read_mb_per_s", "large_write_mb_per_s", "small_read_requests_per_s",
            "small_write_requests_per_s", "large_read_requests_per_s", "large_write_requests_per_s", "service_ms",
            "px_statements_active", "px_servers_active", "px_statements_queued", "head_waited_s",
            "queued_ms_total",
        }
    ),
)  # fmt: skip
"""What `cpu`, `session_io`, `parallel` and `emphasis` say of a consumer group."""

QUEUE = RowTable(
    "queued",
    ("queue",),
    MEASURES["queue"].rows,
    frozenset({"position", "waited_s", "timeout_left_s"}),
)
"""What `queue` says of a statement that waits."""

ROW_TABLES = (GROUPS, QUEUE)

ARRIVALS = tuple(KeptFigure(figure) for figure in MEASURES["arrivals"].figures)
"""What is kept of a statement that is over."""

BUCKET = tuple(
    KeptFigure(figure) for figure in MEASURES["latency"].figures if figure.key in {"inst_id", "event", "upper_us"}
)
"""What tells one bucket of a histogram from the others."""
