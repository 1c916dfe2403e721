"""Tables of the measures: the figures that a recording stores of each poll, generated from their definitions.

A figure that hardly ever changes is part of a case: the subject of a row and its lasting attributes, written once. The
other figures are in rows. A row that did not change for several polls is stored once, with the first and the last of
them. A new row begins after `SPAN` polls at the latest, so that a reader never searches far back. The views join both
again, with one row for each poll and the names of CSV and JSON.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from functools import cached_property
from typing import Any

from msgspec import Struct, field

from presman.analysis.readings.statement_readings import QueuedStatement
from presman.figures.figure import COUNT, FLAG, INSTANT, NAME, NUMBER, SECONDS, TEXT, TOTAL, WORD, Figure
from presman.figures.fleet_figures import WORKED_OUT, WRITTEN
from presman.figures.measures import MEASURES

SPAN = 32
"""Polls after which each row ends and a new one begins."""

SCALE = 10_000
"""Fractional figures are stored multiplied by this: four decimals, in half the bytes of a float."""

MICRO = 1_000_000
PART = MICRO // SCALE
"""Microseconds in a ten-thousandth of a second."""

_LARGEST = 2**63 - 1
_WHOLE = frozenset(unit.name for unit in (NUMBER, COUNT, TOTAL, FLAG, INSTANT)) | {"microseconds"}
_TEXTUAL = frozenset(unit.name for unit in (TEXT, NAME, WORD))


class KeptFigure:
    """One figure of a measure as it is stored: a whole number, ten-thousandths (`is_scaled`), a word or a text.

    `key` is its name in CSV, JSON and SQL, `column` the name of its column. If `is_long`, its hash is stored here and
    the text itself only once; if `is_numbered`, its number among the words. `counts` marks seconds that grow with the
    clock: the instant that they count from is stored. `keep` converts a value before all that, to a number, a text or
    None.
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
        self.keep: Callable[[Any], Any] = _of_text if self.is_text else scaled if self.is_scaled else kept

    def kept(self, row: Any) -> Any:
        """Return the stored value of the figure for a row."""
        return self.keep(self.figure.value(row))


def _of_text(value: Any) -> Any:
    return value.name.lower() if isinstance(value, Enum) else value


def kept(value: Any) -> Any:
    """Return the stored form of a value that is not a text: a whole number or None; an instant as microseconds."""
    if value is None:
        return None
    return round(value.timestamp() * MICRO) if isinstance(value, datetime) else _whole(value)


def scaled(value: float | None) -> int | None:
    """Return a number in ten-thousandths."""
    return None if value is None else _whole(value * SCALE)


def _whole(value: float) -> int | None:
    """Return a whole number, None if it is too large for a database."""
    return round(value) if -_LARGEST < value < _LARGEST else None


class RowTable(Struct, frozen=True, dict=True):
    """One kind of rows, shared by several measures with the same subject.

    `quick` are the keys of figures that change from poll to poll; the others are part of the case. Among the quick,
    `numbered` have a few words as values, and `counting` grow with the clock. `derived` are not stored but computed by
    SQL of rows `r`, cases `c` and polls `p`; `hidden` are figures that only such SQL needs. `rows` returns the subjects
    of the rows.
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
        """Every figure of the measures once, without the derived ones."""
        every = {figure.key: figure for name in self.measures for figure in MEASURES[name].figures}
        stored = [figure for figure in every.values() if figure.key not in self.derived]
        return tuple(
            KeptFigure(each, is_numbered=each.key in self.numbered, counts=each.key in self.counting)
            for each in (*stored, *self.hidden)
        )

    @cached_property
    def of_rows(self) -> tuple[KeptFigure, ...]:
        """The figures stored in rows."""
        return tuple(each for each in self.figures if each.key in self.quick)

    @cached_property
    def of_cases(self) -> tuple[KeptFigure, ...]:
        """The figures stored in cases."""
        return tuple(each for each in self.figures if each.key not in self.quick)


def all_kinds(what: str) -> str:
    """Return SQL for the sum of small and large reads and writes in rows `r`."""
    return f"({' + '.join(f'r.{kind}_{what}' for kind in ('small_read', 'small_write', 'large_read', 'large_write'))})"


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
        "io_mb_per_s": f"{all_kinds('mb_per_s')} / {SCALE}.0",
        "io_requests_per_s": f"{all_kinds('requests_per_s')} / {SCALE}.0",
    },
    numbered=frozenset({"verdict", "state"}),
)  # fmt: skip
"""The figures of a consumer group in `cpu`, `session_io`, `parallel` and `emphasis`."""


def _timeout(row: QueuedStatement) -> float | None:
    """Return the seconds from a statement's arrival to its timeout, which are constant for a statement."""
    return None if row.timeout_left is None or row.waited is None else round(row.waited + row.timeout_left, 3)


NOT_KEPT = ("starts_in_s", "starts_low_s", "starts_high_s", "no_forecast", "reason")
"""Figures of the queue that are not stored: they are computed again from the polls."""

QUEUE = RowTable(
    "queued",
    ("queue",),
    MEASURES["queue"].rows,
    frozenset({"position", "waited_s"}),
    {
        "timeout_left_s": f"(c.timeout_s * {PART} - (p.at - r.waited_since)) / {MICRO}.0",
        **dict.fromkeys(NOT_KEPT, "NULL"),
    },
    (Figure("timeout_s", "timeout", SECONDS, "PARALLEL_QUEUE_TIMEOUT of its group.", _timeout),),
    counting=frozenset({"waited_s"}),
)
"""The figures of a waiting statement in `queue`."""

ROW_TABLES = (GROUPS, QUEUE)

ARRIVALS = tuple(KeptFigure(figure) for figure in MEASURES["arrivals"].figures)
"""The stored figures of a statement that has ended."""

BUCKET = tuple(KeptFigure(each) for each in MEASURES["latency"].figures if each.key in {"inst_id", "event", "upper_us"})
"""The figures that identify a bucket of a histogram."""

FLEET_FIGURES = tuple(
    KeptFigure(figure) for figure in WRITTEN if figure.path.startswith("key_figures.") and figure.key not in WORKED_OUT
)
"""The stored figures of the newest poll of each database, for the view of the fleet."""


_ESTIMATOR = "0.75"
"""The share of its bucket's upper bound that a wait takes on average: presman.analysis.readings.reading.ESTIMATOR."""

Instant = Callable[[str], str]
"""Formats SQL for microseconds as a text or a time of a kind of database."""


INSTANTS: dict[str, Instant] = {
    "sqlite": "strftime('%Y-%m-%dT%H:%M:%fZ', {} / 1000000.0, 'unixepoch')".format,
    "postgresql": "to_timestamp({} / 1000000.0)".format,
}
"""ISO 8601 in UTC, or a time with zone, by SQLAlchemy's name of the kind of database."""


_JOIN_POLLS = (
    f"JOIN polls p ON p.database_id = {{rows}}.database_id AND "
    f"p.poll BETWEEN {{rows}}.span * {SPAN} + {{rows}}.first AND {{rows}}.span * {SPAN} + {{rows}}.last"
)

NOT_KNOWN, QUEUED = -1, "CASE WHEN queued >= 0 THEN queued END"
"""The value of `polls.queued` if it is unknown, as the column is NOT NULL; and SQL for it with NULL if unknown."""

STRIP = (
    f"SELECT CAST((at - :start) / :width AS INTEGER) AS place, MAX({QUEUED}) AS queued, SUM(waited_cpus) AS waited,"
    " SUM(CASE WHEN waited_cpus IS NOT NULL THEN used_cpus END) AS used, COUNT(*) AS polls FROM polls"
    " WHERE database_id = :database_id"
    " GROUP BY CAST((at - :start) / :width AS INTEGER)"
)
"""Queue of all polls, CPU of those that count waits for it, in intervals of `:width` microseconds from `:start` on."""


def selects(kind: str) -> dict[str, str]:
    """Return the SELECT of each view by name, for a kind of database."""
    instant = INSTANTS[kind]
    found = {name: _of_rows(name, table, instant) for table in ROW_TABLES for name in table.measures}
    found |= {"latency": _latency(instant), "arrivals": _arrivals(instant)}
    return {name: found[name] for name, measure in MEASURES.items() if measure.is_kept}


def _common(instant: Instant) -> list[str]:
    at, interval = f'{instant("p.at")} AS "time"', f'p.interval_us / {MICRO}.0 AS "interval_s"'
    return ["d.database_id", "p.poll", "p.at", at, 'd.name AS "database"', interval]


def _expression(each: KeptFigure, place: str, instant: Instant) -> str:
    column = f'{place}."{each.column}"'
    if each.is_numbered:
        condition = f"w.database_id = {place}.database_id AND w.word_id = {column}"
        return f'(SELECT w.word FROM words w WHERE {condition}) AS "{each.key}"'
    if each.counts:
        return f'(p.at - {column}) / {MICRO}.0 AS "{each.key}"'
    if each.is_long:
        return f'(SELECT t."text" FROM texts t WHERE t.hash = {column}) AS "{each.key}"'
    if each.figure.unit is INSTANT:
        return f'{instant(column)} AS "{each.key}"'
    if each.figure.unit is FLAG:
        return f'{column} AS "{each.key}"'
    return f'{column} / {SCALE}.0 AS "{each.key}"' if each.is_scaled else column


def _of_rows(name: str, table: RowTable, instant: Instant) -> str:
    kept = {each.key: each for each in table.figures}
    columns = []
    for key in (figure.key for figure in MEASURES[name].figures):
        if key in table.derived:
            columns.append(f'{table.derived[key]} AS "{key}"')
        else:
            columns.append(_expression(kept[key], "r" if key in table.quick else "c", instant))
    return _select(
        [*_common(instant), *columns],
        f"{table.name}_rows r",
        f"JOIN {table.name}_cases c ON c.database_id = r.database_id AND c.case_id = r.case_id",
        _JOIN_POLLS.format(rows="r"),
        "JOIN databases d ON d.database_id = r.database_id",
    )


def _latency(instant: Instant) -> str:
    # The waits of a poll are in the column that has the number of its place in the span.
    place = f"(p.poll - w.span * {SPAN})"
    waits = f"CASE WHEN w.known = 0 AND {place} = w.first THEN NULL ELSE COALESCE(CASE {place} {{}} END, 0) END".format(
        " ".join(f"WHEN {each} THEN w.waits_{each}" for each in range(SPAN))
    )
    total = "w.waits_before + " + " + ".join(
        f"CASE WHEN {place} >= {each} THEN COALESCE(w.waits_{each}, 0) ELSE 0 END" for each in range(SPAN)
    )
    inner = _select(
        [
            *_common(instant),
            *(_expression(each, "b", instant) for each in BUCKET),
            f'{total} AS "waits_total"',
            f'{waits} AS "waits"',
        ],
        "bucket_waits w",
        "JOIN buckets b ON b.database_id = w.database_id AND b.bucket_id = w.bucket_id",
        _JOIN_POLLS.format(rows="w"),
        "JOIN databases d ON d.database_id = w.database_id",
    )
    estimates = {"waits_total": "estimated_us_total", "waits": "estimated_us"}
    derived = [f'{_ESTIMATOR} * "upper_us" * "{of}" AS "{name}"' for of, name in estimates.items()]
    return f"SELECT e.*, {', '.join(derived)} FROM ({inner}) e"


def _arrivals(instant: Instant) -> str:
    return _select(
        [*_common(instant), *(_expression(each, "a", instant) for each in ARRIVALS)],
        "arrived a",
        # The unary plus makes SQLite look up polls by key instead of scanning them.
        "JOIN polls p ON p.database_id = a.database_id AND p.poll = +a.poll",
        "JOIN databases d ON d.database_id = a.database_id",
    )


def _select(columns: Sequence[str], table: str, *joins: str) -> str:
    return f"SELECT {', '.join(columns)} FROM {table} {' '.join(joins)}"
