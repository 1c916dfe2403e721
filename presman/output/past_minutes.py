"""Past minutes: what V$RSRCMGRMETRIC_HISTORY tells of the last hour, in the columns of the measures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from presman.analysis.readings.group_readings import throttled_percent
from presman.figures import group_figures
from presman.figures.measures import COMMON, MEASURES, headings
from presman.output.cells import Cell
from presman.rows.group_rows import GroupMetricHistory
from presman.rows.instance_rows import Database
from presman.rows.snapshot import Snapshot

VIEW = "V$RSRCMGRMETRIC_HISTORY"

_Told = Mapping[str, Callable[[GroupMetricHistory], Cell]]

_FIGURES: Mapping[str, _Told] = {
    "cpu": {
        group_figures.USED.key: lambda row: row.avg_running_sessions,
        group_figures.WAITING.key: lambda row: row.avg_waiting_sessions,
        group_figures.THROTTLED.key: lambda row: throttled_percent(row.avg_running_sessions, row.avg_waiting_sessions),
    },
    "session_io": {group_figures.IO_MB.key: lambda row: 100 * row.io_megabytes / row.intsize_csec},
    "parallel": {
        group_figures.PX_STATEMENTS.key: lambda row: row.avg_active_parallel_stmts,
        group_figures.PX_SERVERS.key: lambda row: row.avg_active_parallel_servers,
        group_figures.QUEUED.key: lambda row: row.avg_queued_parallel_stmts,
    },
}
"""What the view tells of a measure, by column: means of an interval of about a minute."""

KNOWN = tuple(_FIGURES)
"""The measures that it tells of."""


class PastMinute(NamedTuple):
    """The rows of all groups for intervals that ended at `at`, by column; `named` heads the columns of a wide file.

    The longest of the intervals took so many `seconds`.
    """

    at: datetime
    seconds: float
    rows: tuple[Mapping[str, Cell], ...]
    named: tuple[str, ...]


def untold(measure: str) -> list[str]:
    """Return the columns of a measure that the view says nothing of: they stay empty."""
    told = {figure.key for figure in COMMON} | set(_FIGURES[measure]) | {"inst_id", "con_id", "consumer_group"}
    return [key for key in MEASURES[measure].header() if key not in told]


def past_minutes(snapshot: Snapshot, measure: str) -> Iterator[PastMinute]:
    """Yield the intervals of V$RSRCMGRMETRIC_HISTORY by END_TIME, oldest first, each with its groups."""
    database = next((row.name for row in snapshot.rows(Database)), "")
    known = [row for row in snapshot.rows(GroupMetricHistory) if row.end_time is not None and row.intsize_csec > 0]
    known.sort(key=attrgetter("end_time", "inst_id", "con_id", "consumer_group_name"))
    for at, found in groupby(known, key=attrgetter("end_time")):
        rows = tuple(found)
        names = headings([(row.consumer_group_name, row.inst_id, row.con_id) for row in rows])
        seconds = max(row.intsize_csec for row in rows) / 100
        yield PastMinute(at, seconds, tuple(_cells(row, database, _FIGURES[measure]) for row in rows), tuple(names))


def _cells(row: GroupMetricHistory, database: str, figures: _Told) -> Mapping[str, Cell]:
    return {
        "time": row.end_time, "database": database, "interval_s": row.intsize_csec / 100, "inst_id": row.inst_id,
        "con_id": row.con_id, "consumer_group": row.consumer_group_name,
        **{key: value(row) for key, value in figures.items()},
    }  # fmt: skip


def within(minutes: Sequence[PastMinute], start: datetime | None, end: datetime | None) -> list[PastMinute]:
    """Return the intervals that ended between two instants; None is an open end."""
    return [each for each in minutes if (start is None or each.at >= start) and (end is None or each.at <= end)]
