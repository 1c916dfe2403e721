"""Views of the measures: the SQL that makes of cases and rows what CSV has, one row for each poll."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from presman.figures.figure import FLAG, INSTANT
from presman.figures.measures import MEASURES
from presman.recording.measure_tables import ARRIVALS, BUCKET, MICRO, ROW_TABLES, SCALE, SPAN, KeptFigure, RowTable

_ESTIMATOR = "0.75"
"""Of its upper bound, what a wait in a bucket took: presman.analysis.readings.wait_readings.ESTIMATOR."""

Instant = Callable[[str], str]
"""Writes an instant, given in microseconds, as text or time of a kind of database."""


def sqlite_instant(column: str) -> str:
    """Return SQL for ISO 8601 in UTC."""
    return f"strftime('%Y-%m-%dT%H:%M:%fZ', {column} / 1000000.0, 'unixepoch')"


def postgresql_instant(column: str) -> str:
    """Return SQL for a time with zone."""
    return f"to_timestamp({column} / 1000000.0)"


INSTANTS: dict[str, Instant] = {"sqlite": sqlite_instant, "postgresql": postgresql_instant}
"""By the name of the kind of database, as SQLAlchemy has it."""


def selects(kind: str) -> dict[str, str]:
    """Return the SELECT of each view by name, for a kind of database."""
    return _selects(INSTANTS[kind], "")


def window_selects() -> dict[str, str]:
    """Return a SELECT for each measure of the polls `:first` to `:last` of `:database_id`, instants in microseconds."""
    where = (
        f" WHERE {{rows}}.database_id = :database_id AND {{rows}}.span BETWEEN :first / {SPAN} AND :last / {SPAN}"
        " AND p.poll BETWEEN :first AND :last"
    )
    return _selects(lambda column: column, where)


_JOIN_POLLS = (
    f"JOIN polls p ON p.database_id = {{rows}}.database_id AND "
    f"p.poll BETWEEN {{rows}}.span * {SPAN} + {{rows}}.first AND {{rows}}.span * {SPAN} + {{rows}}.last"
)

STRIP = (
    "SELECT CAST((at - :start) / :width AS INTEGER) AS place, MAX(queued) AS queued, SUM(waited_cpus) AS waited,"
    " SUM(used_cpus) AS used, COUNT(*) AS polls FROM polls WHERE database_id = :database_id"
    " GROUP BY CAST((at - :start) / :width AS INTEGER)"
)
"""Queue and CPU of all polls, in stretches of `:width` microseconds from `:start` on."""


def _selects(instant: Instant, where: str) -> dict[str, str]:
    found = {name: _of_rows(name, table, instant, where) for table in ROW_TABLES for name in table.measures}
    found["latency"] = _latency(instant, where)
    found["arrivals"] = _arrivals(instant, bool(where))
    return {name: found[name] for name in MEASURES}


def _common(instant: Instant, poll: str = "p") -> list[str]:
    return [
        "d.database_id", f"{poll}.poll", f"{poll}.at", f'{instant(poll + ".at")} AS "time"', 'd.name AS "database"',
        f'{poll}.interval_us / {MICRO}.0 AS "interval_s"',
    ]  # fmt: skip


def _expression(each: KeptFigure, place: str, instant: Instant) -> str:
    column = f'{place}."{each.column}"'
    if each.is_numbered:
        own = f"w.database_id = {place}.database_id AND w.word_id = {column}"
        return f'(SELECT w.word FROM words w WHERE {own}) AS "{each.key}"'
    if each.counts:
        return f'(p.at - {column}) / {MICRO}.0 AS "{each.key}"'
    if each.is_long:
        return f'(SELECT t."text" FROM texts t WHERE t.hash = {column}) AS "{each.key}"'
    if each.figure.unit is INSTANT:
        return f'{instant(column)} AS "{each.key}"'
    if each.figure.unit is FLAG:
        return f'{column} AS "{each.key}"'
    return f'{column} / {SCALE}.0 AS "{each.key}"' if each.is_scaled else column


def _of_rows(name: str, table: RowTable, instant: Instant, where: str) -> str:
    kept = {each.key: each for each in table.figures}
    columns = [
        f'{table.derived[figure.key]} AS "{figure.key}"'
        if figure.key in table.derived
        else _expression(kept[figure.key], "r" if figure.key in table.quick else "c", instant)
        for figure in MEASURES[name].figures
    ]
    return _select(
        [*_common(instant), *columns],
        f"{table.name}_rows r",
        f"JOIN {table.name}_cases c ON c.database_id = r.database_id AND c.case_id = r.case_id",
        _JOIN_POLLS.format(rows="r"),
        "JOIN databases d ON d.database_id = r.database_id" + where.format(rows="r"),
    )


def _latency(instant: Instant, where: str) -> str:
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
        "JOIN databases d ON d.database_id = w.database_id" + where.format(rows="w"),
    )
    derived = [
        f'{_ESTIMATOR} * "upper_us" * "waits_total" AS "estimated_us_total"',
        f'{_ESTIMATOR} * "upper_us" * "waits" AS "estimated_us"',
    ]
    return f"SELECT e.*, {', '.join(derived)} FROM ({inner}) e"


def _arrivals(instant: Instant, within: bool) -> str:
    where = " WHERE a.database_id = :database_id AND a.poll BETWEEN :first AND :last" if within else ""
    return _select(
        [*_common(instant), *(_expression(each, "a", instant) for each in ARRIVALS)],
        "arrived a",
        # The sign has polls looked up, not gone through.
        "JOIN polls p ON p.database_id = a.database_id AND p.poll = +a.poll",
        "JOIN databases d ON d.database_id = a.database_id" + where,
    )


def _select(columns: Sequence[str], table: str, *joins: str) -> str:
    return f"SELECT {', '.join(columns)} FROM {table} {' '.join(joins)}"
