"""Metric minutes: the last hour as the database kept it, as points that the instances share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from presman.rows.group_rows import GroupMetricHistory
from presman.rows.instance_rows import Pdb, PdbMetricHistory
from presman.rows.snapshot import Snapshot

Key = tuple[str, int, int, str]
"""Measure (used, waiting, io, servers, queued; pdb_used, pdb_waiting), inst_id, con_id, group or container.

A group "" is all of them; of `active` (average active sessions) the name is a wait class.
"""


class _Window(NamedTuple):
    """What one view says of a group or container on one instance for a minute or so that ended at `end`."""

    view: str
    inst_id: int
    end: datetime
    length: float
    values: Mapping[str, float | None]
    con_id: int
    name: str


def metric_minutes(snapshot: Snapshot) -> dict[float, dict[Key, float]]:
    """Return V$RSRCMGRMETRIC_HISTORY and V$RSRCPDBMETRIC_HISTORY: by minute (seconds since 1970) the value of each key.

    A value that is lacking is 0. Of windows that fall into one minute, as a change of plan may leave them, the mean
    over their lengths is returned.
    """
    windows = [*_of_groups(snapshot), *_of_containers(snapshot)]
    minutes = _minutes(windows)
    sums: dict[float, dict[Key, list[float]]] = {}
    for each in windows:
        point = sums.setdefault(minutes[each.view, each.inst_id, each.end], {})
        for measure, value in each.values.items():
            own = point.setdefault((measure, each.inst_id, each.con_id, each.name), [0.0, 0.0])
            own[0] += (value or 0.0) * each.length
            own[1] += each.length
    return {at: {key: total / length for key, (total, length) in point.items()} for at, point in sums.items()}


def _minutes(windows: list[_Window]) -> dict[tuple[str, int, datetime], float]:
    """Return the whole minute that each window counts for, by view, instance and end.

    Windows of the instances do not end at the same second: the newest of each are one point, and those before them are
    counted back from there. To round the end of each would put two that end at half past into the same minute.
    """
    newest: dict[tuple[str, int], datetime] = {}
    for view, inst_id, end, *_ in windows:
        newest[view, inst_id] = max(end, newest.get((view, inst_id), end))
    last = max(newest.values(), default=None)

    def minute(view: str, inst_id: int, end: datetime) -> float:
        assert last is not None
        own = newest[view, inst_id]
        before = (last - own).total_seconds() // 60 + round((own - end).total_seconds() / 60)
        return 60.0 * (round(last.timestamp() / 60) - before)

    return {each[:3]: minute(*each[:3]) for each in windows}


def _of_groups(snapshot: Snapshot) -> Iterator[_Window]:
    for row in snapshot.rows(GroupMetricHistory):
        if row.end_time is None or row.intsize_csec <= 0:
            continue
        values = {
            "used": row.avg_running_sessions, "waiting": row.avg_waiting_sessions,
            "io": row.io_megabytes * 100 / row.intsize_csec, "servers": row.avg_active_parallel_servers,
            "queued": row.avg_queued_parallel_stmts,
        }  # fmt: skip
        name = row.consumer_group_name
        yield _Window("group", row.inst_id, row.end_time, row.intsize_csec, values, row.con_id, name)


def _of_containers(snapshot: Snapshot) -> Iterator[_Window]:
    names = {row.con_id: row.name for row in snapshot.rows(Pdb)}
    for row in snapshot.rows(PdbMetricHistory):
        name = names.get(row.con_id, "")
        if row.end_time is not None and row.con_id > 2 and name:
            values = {"pdb_used": row.avg_running_sessions, "pdb_waiting": row.avg_waiting_sessions}
            yield _Window("container", row.inst_id, row.end_time, 1.0, values, row.con_id, name)
