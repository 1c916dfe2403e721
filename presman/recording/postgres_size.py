"""Size of a recording in PostgreSQL: what its rows take, without the room that removed ones left behind.

PostgreSQL gives no room back when rows are deleted: its files stay as large as they were and are filled anew. So
their size, pg_total_relation_size, is not what is removed by: it would stay too large until nothing was left. Here
rows are counted and weighed by PostgreSQL's own statistics, which ANALYZE brings up to date; long values, which
statistics know only as pointers, are added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, text

from presman.recording.schema import BLOCKS, METADATA, TEXTS

_ROW = 80
"""Bytes of a row beside its columns: its header, the pointer to it, its entry in the index of the primary key."""

_LONG = (BLOCKS.c.content, TEXTS.c.text)
"""Columns whose values stand beside their table (TOAST)."""

_NAMES = {"names": sorted(METADATA.tables)}
_LEFT_OUT = {"left_out": [f"{column.table.name}.{column.name}" for column in _LONG]}

_FILES = text(
    "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c"
    " WHERE c.relnamespace = current_schema()::regnamespace AND c.relname IN :names"
).bindparams(bindparam("names", expanding=True))

_ROWS = text(
    "SELECT min(c.reltuples), sum(c.reltuples * (:row + COALESCE(w.width, 0)))::bigint FROM pg_class c LEFT JOIN ("
    " SELECT s.tablename, sum(s.avg_width * (1 - s.null_frac)) AS width FROM pg_stats s"
    " WHERE s.schemaname = current_schema() AND s.tablename || '.' || s.attname NOT IN :left_out GROUP BY s.tablename"
    ") w ON w.tablename = c.relname WHERE c.relnamespace = current_schema()::regnamespace AND c.relname IN :names"
).bindparams(bindparam("names", expanding=True), bindparam("left_out", expanding=True))


_SHARE = text(
    "SELECT 1.0 * sum(pg_column_size(b.content)) FILTER (WHERE d.target IN :targets) / sum(pg_column_size(b.content))"
    " FROM blocks b JOIN databases d ON d.database_id = b.database_id"
).bindparams(bindparam("targets", expanding=True))
"""What the snapshots of some databases are of those of all: their figures have rows in the tables of all."""


def bytes_in_use(connection: Connection, enough: int, targets: Sequence[str] | None = None) -> int | None:
    """Return the bytes that the rows of a recording take; of files no larger than `enough`, the files' own size.

    Of the databases `targets` alone that is their share. None where PostgreSQL has no statistics and may not be told
    to make them.
    """
    files = connection.execute(_FILES, _NAMES).scalar()
    if files is None or files <= enough:
        return _whole(files)
    # First: where another recorder removes its own meanwhile, what comes out is too small, and not too much goes.
    share = 1.0 if targets is None else float(connection.execute(_SHARE, {"targets": targets}).scalar() or 0.0)
    for name in _NAMES["names"]:
        connection.exec_driver_sql(f'ANALYZE "{name}"')
    least, rows = connection.execute(_ROWS, {**_NAMES, **_LEFT_OUT, "row": _ROW}).one()
    if least is None or least < 0:  # a table that was never looked at
        return None
    beside = sum(_whole(connection.execute(text(_sum_of(column))).scalar()) or 0 for column in _LONG)
    return int(share * min(int(files), int(rows) + beside))


def _sum_of(column: Any) -> str:
    return f'SELECT sum(pg_column_size("{column.name}")) FROM "{column.table.name}"'


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)
