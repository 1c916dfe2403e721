"""Progress of long operations (V$SESSION_LONGOPS)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from presman.analysis.readings.detail_readings import Operation
from presman.rows.session_rows import SessionLongops

Place = tuple[int, int]
"""Instance and SID of a session."""

Work = tuple[int, int, str]
"""Instance and SID of the session or coordinator, and the SQL_ID."""


def operations(
    rows: Iterable[SessionLongops], coordinators: Mapping[Place, Place], age: float = 0.0, *, several: bool = False
) -> Mapping[Work, tuple[Operation, ...]]:
    """Return the operations that are not done, of each statement; the one with most left to do first.

    Each parallel server lists its own part: parts of one operation on one target are added up, and the slowest tells
    what is left. `coordinators` has a server's coordinator, which may be on another instance and of which the view has
    the SID alone: with `several` instances, whose work a server does that is not among them is not known. `age` is how
    many seconds ago the rows were read: what has passed since is not left any more, and how much is left of one that
    should be over is not known.
    """
    parts: dict[Work, dict[tuple[str, str], list[SessionLongops]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if 0 <= row.sofar < row.totalwork:
            place = (row.inst_id, row.sid)
            if several and row.qcsid not in {0, row.sid} and place not in coordinators:
                continue
            inst_id, sid = coordinators.get(place, (row.inst_id, row.qcsid or row.sid))
            parts[inst_id, sid, row.sql_id][row.opname, row.target].append(row)
    found = {}
    for work, named in parts.items():
        whole = [_operation(name, target, own, age) for (name, target), own in named.items()]
        found[work] = tuple(sorted(whole, key=lambda each: (-(each.remaining or 0.0), each.name, each.target)))
    return found


def _operation(name: str, target: str, rows: list[SessionLongops], age: float) -> Operation:
    told = [row.time_remaining for row in rows if row.time_remaining is not None]
    remaining = max(told) - age if told else None
    return Operation(
        name=name,
        target=target,
        done=sum(row.sofar for row in rows),
        total=sum(row.totalwork for row in rows),
        units=rows[0].units,
        remaining=remaining if remaining is not None and (remaining > 0 or not age) else None,
    )
