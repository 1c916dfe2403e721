"""Numbers over time for sparklines and charts: a ring per measure and group, bounded by count."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING

from presman.analysis.reading import CLUSTER, Reading
from presman.rows import GroupMetricHistory, Pdb, PdbMetricHistory
from presman.snapshot import Snapshot

if TYPE_CHECKING:
    from presman.analysis.pdbs import PdbReading

Key = tuple[str, int, int, str]
"""Measure (used, waiting, io, servers, queued), inst_id, con_id, group; group "" is all of them."""

KEPT = 2000
"""Points kept per key: an hour at the usual refresh."""

_TRIM = 200
"""Points beyond that before the oldest are dropped, all at once."""


_NONE: array[float] = array("d")


class Series:
    """Points in order of time: epoch seconds and value in turn, in one array per key, at 16 bytes a point.

    Where there is one instance, its points are those of the cluster, and kept once.
    """

    def __init__(self) -> None:
        self._points: dict[Key, array[float]] = {}
        self._last = 0.0
        self._alone: int | None = None

    def add(self, reading: Reading) -> None:
        """Add what a reading says. One that is not newer than the last changes nothing."""
        at = reading.at.timestamp()
        if at <= self._last:
            return
        self._last = at
        self._meet({group.inst_id for group in reading.groups} - {CLUSTER})
        for group in reading.groups:
            if group.inst_id == self._alone:
                continue
            place = (group.inst_id, group.con_id, group.name)
            values = {
                "used": group.used, "waiting": group.waiting, "servers": group.px_servers, "queued": group.px_queued,
                "io": None if group.io is None else group.io.mb,
            }  # fmt: skip
            for measure, value in values.items():
                if value is not None:
                    self._append((measure, *place), at, float(value))
        self._append(("in_use", CLUSTER, 0, ""), at, float(reading.header.servers.in_use))
        self._append(("queued", CLUSTER, 0, ""), at, float(len(reading.queue)))

    def add_pdbs(self, at: datetime, rows: Iterable[PdbReading]) -> None:
        """Add what containers use and wait for, before the reading of the same poll is added."""
        if at.timestamp() <= self._last:
            return
        for row in rows:
            if row.inst_id == self._alone:
                continue
            place = (row.inst_id, row.con_id, row.name)
            for measure, value in (("pdb_used", row.used), ("pdb_waiting", row.waiting)):
                if value is not None:
                    self._append((measure, *place), at.timestamp(), value)

    def fill(self, snapshot: Snapshot) -> None:
        """Fill the hour before the first poll from V$RSRCMGRMETRIC_HISTORY, if nothing is there yet."""
        if self._points:
            return
        rows = [row for row in snapshot.rows(GroupMetricHistory) if row.end_time is not None and row.intsize_csec > 0]
        self._meet({row.inst_id for row in rows})
        sums: dict[Key, dict[float, float]] = {}
        for row in rows:
            assert row.end_time is not None
            # The instances' minutes do not end at the same second: a minute is one point of the cluster.
            at = round(row.end_time.timestamp() / 60) * 60.0
            values = {
                "used": row.avg_running_sessions, "waiting": row.avg_waiting_sessions,
                "io": row.io_megabytes * 100 / row.intsize_csec, "servers": row.avg_active_parallel_servers,
                "queued": row.avg_queued_parallel_stmts,
            }  # fmt: skip
            for measure, value in values.items():
                for inst_id in self._places(row.inst_id):
                    points = sums.setdefault((measure, inst_id, row.con_id, row.consumer_group_name), {})
                    points[at] = points.get(at, 0.0) + (value or 0.0)
        self._fill_pdbs(snapshot, sums)
        newest = snapshot.at.timestamp()
        for key, points in sums.items():
            self._points[key] = array("d", chain.from_iterable(p for p in sorted(points.items()) if p[0] <= newest))

    def _meet(self, instances: set[int]) -> None:
        """Note which instances there are; one that was alone until now had its points under the cluster's keys."""
        if self._alone is not None and instances - {self._alone}:
            own = {key: points for key, points in self._points.items() if key[1] == CLUSTER and key[3]}
            for (measure, _, con_id, name), points in own.items():
                self._points[measure, self._alone, con_id, name] = points[:]
            self._alone = None
        elif not self._points and len(instances) == 1:
            (self._alone,) = instances

    def _places(self, inst_id: int) -> tuple[int, ...]:
        return (CLUSTER,) if inst_id == self._alone else (CLUSTER, inst_id)

    def _fill_pdbs(self, snapshot: Snapshot, sums: dict[Key, dict[float, float]]) -> None:
        """Add the last hour of V$RSRCPDBMETRIC_HISTORY, minute by minute."""
        names = {row.con_id: row.name for row in snapshot.rows(Pdb)}
        for row in snapshot.rows(PdbMetricHistory):
            name = names.get(row.con_id, "")
            if row.end_time is None or row.con_id <= 2 or not name:
                continue
            at = round(row.end_time.timestamp() / 60) * 60.0
            for measure, value in (("pdb_used", row.avg_running_sessions), ("pdb_waiting", row.avg_waiting_sessions)):
                for inst_id in self._places(row.inst_id):
                    points = sums.setdefault((measure, inst_id, row.con_id, name), {})
                    points[at] = points.get(at, 0.0) + value

    def _append(self, key: Key, at: float, value: float) -> None:
        points = self._points.get(key)
        if points is None:
            points = self._points[key] = array("d")
        points.extend((at, value))
        if len(points) > 2 * (KEPT + _TRIM):
            del points[: -2 * KEPT]

    def buckets(self, key: Key, start: float, width: float, count: int) -> tuple[float | None, ...]:
        """Return the mean of each of `count` stretches of `width` seconds from `start`; None where no point is."""
        measure, inst_id, con_id, name = key
        points = self._points.get((measure, CLUSTER if inst_id == self._alone else inst_id, con_id, name), _NONE)
        sums = [0.0] * count
        counts = [0] * count
        for index in range(len(points) - 2, -1, -2):
            place = int((points[index] - start) // width)
            if place < 0:
                break
            if place < count:
                sums[place] += points[index + 1]
                counts[place] += 1
        return tuple(sums[i] / counts[i] if counts[i] else None for i in range(count))

    def names(self, measure: str, inst_id: int) -> list[tuple[int, str]]:
        """Return the (con_id, group) that have points of a measure on an instance."""
        if inst_id == self._alone:
            inst_id = CLUSTER
        return [(con, name) for what, inst, con, name in self._points if what == measure and inst == inst_id and name]


def completed(at: datetime, width: float) -> float:
    """Return the end of the last completed stretch of `width` seconds at an instant, aligned to the clock."""
    return at.timestamp() // width * width


def window_start(end: float, minutes: int) -> float:
    """Return where a chart that ends at `end` begins: it moves by a fifth of its length at once.

    Between two moves only the newest stretch is drawn, which keeps a slow line free.
    """
    step = minutes * 60 / 5
    return (end - 1) // step * step - 4 * step
