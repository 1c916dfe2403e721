"""Pages of files and views: the columns of CSV, the tables of recordings, the views that presman reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sqlalchemy import Column
from sqlalchemy.sql.schema import Table as SqlTable

from docs.markdown import page, rows
from presman.figures.figure import Figure
from presman.figures.measures import COMMON, MEASURES
from presman.recording.measure_tables import ARRIVALS, BUCKET, ROW_TABLES
from presman.recording.schema import METADATA
from presman.rows.queries import Query, by_query, read
from presman.rows.query_files import variants


def csv_page() -> str:
    """Return the page of CSV columns."""
    parts = [
        "What `presman export` and `presman once --format csv` write; [CSV](../export.md) says how. "
        "Every line begins with:",
        csv_table(COMMON),
    ]
    for measure in MEASURES.values():
        parts += [f"## `{measure.name}`", f"{measure.help[0].upper()}{measure.help[1:]}. Wide: {wide(measure.wide)}."]
        parts.append(csv_table(measure.figures))
    return page(
        "CSV columns of exports",
        "Every column of presman's CSV files on Oracle consumer groups, parallel queue, latency: unit, view, formula.",
        "CSV columns",
        *parts,
    )


def csv_table(figures: Iterable[Figure[Any]]) -> str:
    """Return the columns of a CSV file."""
    return rows(("column", "unit", "what it is"), ((f"`{each.key}`", each.unit.name, each.help) for each in figures))


def wide(keys: tuple[str, ...]) -> str:
    """Return the figures that the wide layout can show."""
    return f"`{keys[0]}`" + (f", or any other of its figures ({len(keys)})" if len(keys) > 1 else "")


def recording_page() -> str:
    """Return the page of a recording's tables."""
    named = (f"[`{measure.name}`](csv.md#{measure.name})" for measure in MEASURES.values() if measure.is_kept)
    parts = [
        "What [a recording](../recording.md) is made of. Instants (`at`, `..._at`) are microseconds since 1970 in UTC; "
        "numbers that are not whole are kept in ten-thousandths.",
        "## Views",
        f"{', '.join(named)}: the columns of CSV by the same names, and `database_id`, `poll`, `at`. They put the "
        "tables below together again, so ask them.",
        "## Tables",
    ]
    helps = {each.key: each.figure.help for each in _kept()}
    for table in METADATA.sorted_tables:
        parts += [f"### `{table.name}`", rows(("column", "type", "what it is"), _columns(table, helps))]
    return page(
        "Tables and views of a recording",
        "Every table, view and column of a presman recording in SQLite or PostgreSQL, for asking it by SQL.",
        "Recording tables",
        *parts,
    )


def _kept() -> Iterator[Any]:
    for table in ROW_TABLES:
        yield from table.figures
    yield from (*ARRIVALS, *BUCKET)


def _columns(table: SqlTable, helps: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    places = [column for column in table.columns if _is_place(column)]
    for column in table.columns:
        if column in places[1:]:
            continue
        last = f"` to `{places[-1].name}" if column in places else ""
        key = ", key" if column.primary_key else ""
        yield f"`{column.name}{last}`", f"{column.type}{key}", helps.get(column.name, "")


def _is_place(column: Column[Any]) -> bool:
    """Return whether a column is one of those for a span's polls: waits_0, waits_1, ..."""
    return column.name.rpartition("_")[2].isdigit()


def views_page() -> str:
    """Return the page of the views that presman reads."""
    return page(
        "Oracle views that are read, and by which query",
        "Every V$ and DBA_ view presman selects from, how often, from which Oracle release on, and by which query.",
        "What presman reads",
        "Each file in `queries/` is one SELECT on one view. `presman grants` writes the grants for all of them; "
        "[Grants and licences](../grants.md) says more. *refresh*: at each poll. *minute*: once a minute; "
        "directives and V$SESSION_LONGOPS more often while a statement is queued. *once*: at the first poll. "
        "*demand*: while a page that needs it is open, or for a statement that is new on the screen.",
        reads(),
    )


def reads() -> str:
    """Return the views that presman reads, each with its query files and their releases."""
    found: dict[str, list[Query]] = {}
    for path in variants():
        query = read(path, by_query()[path.stem])
        found.setdefault(query.grant, []).append(query)
    cells = ((f"`{grant}`", *facts(queries)) for grant, queries in sorted(found.items()))
    return rows(("object of SYS", "how often", "from", "query"), cells)


def facts(queries: list[Query]) -> Iterator[str]:
    """Yield how often a view is read, from which release on, and by which files."""
    yield ", ".join(sorted({query.cadence.value for query in queries}))
    yield str(min(query.since for query in queries))
    yield ", ".join(f"`{name}`" for name in sorted({query.name for query in queries}))
