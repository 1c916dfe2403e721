"""Tables of the measures: which figures a recording keeps of each poll, generated from the figures' own definitions.

A figure that hardly ever changes is part of a case: who a row is about and all that holds for him, written once. The
others stand in rows. A row that did not change for some polls stands there once, with the first and the last of them;
at the latest after `SPAN` polls another begins, so that a reader never looks far back. The views put both together
again, one row for each poll, with the names that CSV and JSON have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import Enum
from functools import cached_property
from typing import Any

from msgspec import Struct, field

from presman.analysis.readings.statement_readings import QueuedStatement
from presman.figures.figure import (
    COUNT,
    FLAG,
    INSTANT,
    NAME,
    NUMBER,
    SECONDS,
    TEXT,
    TOTAL,
    WORD,
    Figure,
)
from presman.figures.fleet_figures import WORKED_OUT, WRITTEN
from presman.figures.measures import MEASURES

SPAN = 32
"""Polls after which each row begins anew."""

SCALE = 10_000
"""Figures that are no whole numbers are kept in so many parts: four decimals, in half of a float's bytes."""

MICRO = 1_000_000
PART = MICRO // SCALE
"""Microseconds in a ten-thousandth of a second."""

_LARGEST = 2**63 - 1
_WHOLE = frozenset(unit.name for unit in (NUMBER, COUNT, TOTAL, FLAG, INSTANT)) | {"microseconds"}
_TEXTUAL = frozenset(unit.name for unit in (TEXT, NAME, WORD))


class KeptFigure:
    """One figure of a measure as it is kept: a whole number, ten-thousandths (`is_scaled`), a word or a text.

    `key` is its name, in CSV, JSON and SQL, `column` that of the column it is in; `is_long` says that it is kept by its
    hash, the text itself once; `is_numbered` by its number among the words. `counts` tells of seconds that grow with
    the clock: the instant that they count from is kept. `keep` returns what is kept of a value, before that: a
    number, a text or None.
    """

    def __init__(self, figure: Figure[Any], *, is_numbered: bool = False, counts: bool = False) -> None:
        self.figure = figure
        self.key = figure.key
        self.column = f"{figure.key.removesuffix('_s')}_since" if counts else figure.key
        self.is_numbered = is_numbered
        self.counts = counts
        self.is_text = figure.unit.name in _TEXTUAL
        self.is_long = figure.key == "sql_text"
        self.is_scaled = not self.is_text and figure.unit.name not in _WHOLE
        self.keep: Callable[[Any], Any] = _of_text if self.is_text else _in_parts if self.is_scaled else kept

    def kept(self, row: Any) -> Any:
        """Return what is kept of it for a row."""
        return self.keep(self.figure.value(row))


def _of_text(value: Any) -> Any:
    return value.name.lower() if isinstance(value, Enum) else value


def _in_parts(value: Any) -> Any:
    return _whole(value * SCALE) if value else value


def kept(value: Any) -> Any:
    """Return what is kept of a value that is no text: a whole number or None; of an instant its microseconds."""
    if value is None:
        return None
    return round(value.timestamp() * MICRO) if isinstance(value, datetime) else _whole(value)


def scaled(value: float | None) -> int | None:
    """Return a number in ten-thousandths."""
    return None if value is None else _whole(value * SCALE)


def _whole(value: float) -> int | None:
    """Return a whole number, None for one that no database holds."""
    return round(value) if -_LARGEST < value < _LARGEST else None


class RowTable(Struct, frozen=True, dict=True):
    """One kind of rows: those of several measures that are about the same things.

    `quick` are the keys of figures that change from poll to poll, the others are part of the case; of the quick ones
    `numbered` are those of a few words, and `counting` those that grow with the clock. `derived` are not kept because
    others tell them: SQL of rows `r`, cases `c` and polls `p`; `hidden` are figures that only such SQL needs. `rows`
    gives what the rows are about.
    """

    name: str
    measures: tuple[str, ...]
    rows: Callable[[Any], Any]
    quick: frozenset[str]
    derived: Mapping[str, str] = field(default_factory=dict)
    hidden: tuple[Figure[Any], ...] = ()
    numbered: frozenset[str] = frozenset()
    counting: frozenset[str] = frozenset()

    @cached_property
    def figures(self) -> tuple[KeptFigure, ...]:
        """Every figure of the measures once, but those that are derived."""
        every = {figure.key: figure for name in self.measures for figure in MEASURES[name].figures}
        kept_ones = [figure for figure in every.values() if figure.key not in self.derived]
        return tuple(
            KeptFigure(each, is_numbered=each.key in self.numbered, counts=each.key in self.counting)
            for each in (*kept_ones, *self.hidden)
        )

    @cached_property
    def of_rows(self) -> tuple[KeptFigure, ...]:
        """The figures that stand in rows."""
        return tuple(each for each in self.figures if each.key in self.quick)

    @cached_property
    def of_cases(self) -> tuple[KeptFigure, ...]:
        """The figures that stand in cases."""
        return tuple(each for each in self.figures if each.key not in self.quick)


_IO_KINDS = ("small_read", "small_write", "large_read", "large_write")

GROUPS = RowTable(
    "group",
    ("cpu", "session_io", "parallel", "emphasis"),
    MEASURES["cpu"].rows,
    frozenset(
        {
            "used_cpus", "waited_cpus", "entitled_cpus", "throttled_percent", "verdict", "state",
            "active_sessions", "execution_waiters", "yields_per_s", "requests_per_s", "pool_queue_length",
            "session_pool_longest_s", "small_read_mb_per_s",
            "small_write_mb_per_s", "large_read_mb_per_s", "large_write_mb_per_s", "small_read_requests_per_s",
            "small_write_requests_per_s", "large_read_requests_per_s", "large_write_requests_per_s", "service_ms",
            "px_statements_active", "px_servers_active", "px_statements_queued", "head_waited_s",
            "queued_ms_total",
        }
    ),
    {
        "used_percent": "CASE WHEN c.capacity_cpus > 0 THEN 100.0 * r.used_cpus / c.capacity_cpus END",
        "io_mb_per_s": f"({' + '.join(f'r.{kind}_mb_per_s' for kind in _IO_KINDS)}) / {SCALE}.0",
        "io_requests_per_s": f"({' + '.join(f'r.{kind}_requests_per_s' for kind in _IO_KINDS)}) / {SCALE}.0",
    },
    numbered=frozenset({"verdict", "state"}),
)  # fmt: skip
"""What `cpu`, `session_io`, `parallel` and `emphasis` say of a consumer group."""


def _timeout(row: QueuedStatement) -> float | None:
    """Return the seconds after which a statement times out, from when it came: always the same for one statement."""
    return None if row.timeout_left is None or row.waited is None else round(row.waited + row.timeout_left, 3)


QUEUE = RowTable(
    "queued",
    ("queue",),
    MEASURES["queue"].rows,
    frozenset({"position", "waited_s"}),
    {"timeout_left_s": f"(c.timeout_s * {PART} - (p.at - r.waited_since)) / {MICRO}.0"},
    (Figure("timeout_s", "timeout", SECONDS, "PARALLEL_QUEUE_TIMEOUT of its group.", _timeout),),
    counting=frozenset({"waited_s"}),
)
"""What `queue` says of a statement that waits."""

ROW_TABLES = (GROUPS, QUEUE)

ARRIVALS = tuple(KeptFigure(figure) for figure in MEASURES["arrivals"].figures)
"""What is kept of a statement that is over."""

BUCKET = tuple(
    KeptFigure(figure) for figure in MEASURES["latency"].figures if figure.key in {"inst_id", "event", "upper_us"}
)
"""What tells one bucket of a histogram from the others."""

FLEET_FIGURES = tuple(
    KeptFigure(figure) for figure in WRITTEN if figure.path.startswith("vitals.") and figure.key not in WORKED_OUT
)
"""What is kept of the newest poll of each database, for who looks at all of them at once."""
