"""How far what runs for long has come (V$SESSION_LONGOPS)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from presman.analysis.drill import Operation
from presman.rows import SessionLongops

Work = tuple[int, str]
"""SID of the session or coordinator, and the SQL_ID."""


def operations(rows: Iterable[SessionLongops]) -> Mapping[Work, tuple[Operation, ...]]:
    """Return the operations that are not done, of each statement; the one with most left to do first.

    Each parallel server lists its own part: parts of one operation on one target are added up, and the slowest tells
    what is left.
    """
    parts: dict[Work, dict[tuple[str, str], list[SessionLongops]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if 0 <= row.sofar < row.totalwork:
            parts[row.qcsid or row.sid, row.sql_id][row.opname, row.target].append(row)
    found = {}
    for work, named in parts.items():
        whole = [_operation(name, target, own) for (name, target), own in named.items()]
        found[work] = tuple(sorted(whole, key=lambda each: (-(each.remaining or 0.0), each.name, each.target)))
    return found


def _operation(name: str, target: str, rows: list[SessionLongops]) -> Operation:
    remaining = [row.time_remaining for row in rows if row.time_remaining is not None]
    return Operation(
        name=name,
        target=target,
        done=sum(row.sofar for row in rows),
        total=sum(row.totalwork for row in rows),
        units=rows[0].units,
        remaining=float(max(remaining)) if remaining else None,
    )
