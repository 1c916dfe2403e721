"""Numbers over time for sparklines and charts, per measure and group; bounded by count."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import repeat
from math import isnan, nan
from typing import TYPE_CHECKING

from presman.analysis.readings.activity_readings import CLASSES
from presman.analysis.readings.instance_readings import CLUSTER
from presman.analysis.readings.reading import Reading
from presman.records.container_rows import PdbMetricHistory
from presman.records.group_rows import GroupMetricHistory
from presman.records.instance_rows import Pdb
from presman.records.snapshot import Snapshot

if TYPE_CHECKING:
    from presman.analysis.containers.containers import PdbReading

Key = tuple[str, int, int, str]
"""Measure (used, waiting, io, servers, queued), inst_id, con_id, group; group "" is all of them.

Of `active` (average active sessions) the name is a wait class."""

KEPT = 3600
"""Instants kept: two hours at the usual refresh, as long as the history of snapshots."""

GAP = 120.0
"""Seconds without a value after which nothing is known of the time between."""

_TRIM = 200
"""Instants beyond that before the oldest are dropped, all at once."""


class Series:
    """Values in order of time: the instants in one array, and in one per key its value at each (4 bytes; NaN: none).

    A key's array ends with its last value. Where there is one instance, its values are those of the cluster, kept once.
    """

    def __init__(self) -> None:
        self._times = array("d")
        self._values: dict[Key, array[float]] = {}
        self._alone: int | None = None

    def add(self, reading: Reading, containers: Iterable[PdbReading] = ()) -> None:
        """Add what a reading says, and what its containers use. One that is not newer than the last changes nothing."""
        at = reading.at.timestamp()
        if self._times and at <= self._times[-1]:
            return
        self._times.append(at)
        self._meet({group.inst_id for group in reading.groups} - {CLUSTER})
        for group in reading.groups:
            values = {
                "used": group.used, "waiting": group.waiting, "servers": group.px_servers, "queued": group.px_queued,
                "io": None if group.io is None else group.io.mb,
            }  # fmt: skip
            self._append(values, group.inst_id, group.con_id, group.name)
        for pdb in containers:
            self._append({"pdb_used": pdb.used, "pdb_waiting": pdb.waiting}, pdb.inst_id, pdb.con_id, pdb.name)
        if reading.activity is not None:
            for name in CLASSES:
                self._append({"active": reading.activity.by_class.get(name, 0)}, CLUSTER, 0, name)
        self._append({"in_use": reading.header.servers.in_use, "queued": len(reading.queue)}, CLUSTER, 0, "")
        self._trim()

    def _append(self, values: Mapping[str, float | None], inst_id: int, con_id: int, name: str) -> None:
        """Add values of the newest instant; the instants a key has missed become NaN."""
        if inst_id == self._alone:
            return
        for measure, value in values.items():
            if value is not None:
                own = self._values.setdefault((measure, inst_id, con_id, name), array("f"))
                own.extend(repeat(nan, len(self._times) - 1 - len(own)))
                own.append(value)

    def _trim(self) -> None:
        surplus = len(self._times) - KEPT
        if surplus > _TRIM:
            for values in (self._times, *self._values.values()):
                del values[:surplus]

    def fill(self, snapshot: Snapshot) -> None:
        """Fill the hour before the first poll from V$RSRCMGRMETRIC_HISTORY, if nothing is there yet."""
        if self._times:
            return
        sums: dict[float, dict[Key, float]] = {}
        for at, key, value in (*self._group_minutes(snapshot), *_pdb_minutes(snapshot)):
            for inst_id in self._places(key[1]):
                point = sums.setdefault(at, {})
                whose = (key[0], inst_id, *key[2:])
                point[whose] = point.get(whose, 0.0) + value
        newest = snapshot.at.timestamp()
        self._load({at: point for at, point in sums.items() if at <= newest})

    def fill_groups(self, instances: set[int], times: array[float], values: Mapping[Key, Iterable[float]]) -> None:
        """Fill what is empty yet with values by key at these instants (seconds; NaN: none), of `instances`."""
        if not self._times:
            self._meet(instances)
            self._times = times
            self._values = {key: array("f", own) for key, own in values.items()}

    def _load(self, points: Mapping[float, Mapping[Key, float]]) -> None:
        for at, point in sorted(points.items()):
            self._times.append(at)
            for (measure, inst_id, con_id, name), value in point.items():
                self._append({measure: value}, inst_id, con_id, name)

    def _group_minutes(self, snapshot: Snapshot) -> Iterator[tuple[float, Key, float]]:
        rows = snapshot.rows(GroupMetricHistory)
        self._meet({row.inst_id for row in rows})
        for row in rows:
            if row.end_time is None or row.intsize_csec <= 0:
                continue
            values = {
                "used": row.avg_running_sessions, "waiting": row.avg_waiting_sessions,
                "io": row.io_megabytes * 100 / row.intsize_csec, "servers": row.avg_active_parallel_servers,
                "queued": row.avg_queued_parallel_stmts,
            }  # fmt: skip
            for measure, value in values.items():
                yield _minute(row.end_time), (measure, row.inst_id, row.con_id, row.consumer_group_name), value or 0.0

    def _meet(self, instances: set[int]) -> None:
        """Note which instances there are; one that was alone until now had its values under the cluster's keys."""
        if self._alone is not None and instances - {self._alone}:
            shared = {key: values for key, values in self._values.items() if key[1] == CLUSTER and key[3]}
            for (measure, _, con_id, name), values in shared.items():
                self._values[measure, self._alone, con_id, name] = values[:]
            self._alone = None
        elif not self._values and len(instances) == 1:
            (self._alone,) = instances

    def _places(self, inst_id: int) -> tuple[int, ...]:
        return (CLUSTER,) if inst_id == self._alone else (CLUSTER, inst_id)

    def buckets(self, key: Key, start: float, width: float, count: int) -> tuple[float | None, ...]:
        """Return the mean of each of `count` stretches of `width` seconds from `start`; None where no value is."""
        measure, inst_id, con_id, name = key
        values = self._values.get((measure, CLUSTER if inst_id == self._alone else inst_id, con_id, name), ())
        sums = [0.0] * count
        counts = [0] * count
        first = bisect_left(self._times, start)
        last = min(len(values), bisect_left(self._times, start + width * count))
        for index in range(first, last):
            value = values[index]
            if not isnan(value):
                place = min(count - 1, int((self._times[index] - start) // width))
                sums[place] += value
                counts[place] += 1
        return tuple(sums[i] / counts[i] if counts[i] else None for i in range(count))

    def most(self, key: Key, start: float, end: float) -> float | None:
        """Return the highest value between two instants; None where there is none."""
        values = self._values.get(key, ())
        first, last = bisect_left(self._times, start), min(len(values), bisect_left(self._times, end + 0.001))
        return max((value for value in values[first:last] if not isnan(value)), default=None)

    def integral(self, key: Key, start: float, end: float) -> tuple[float, float]:
        """Return value x seconds between two instants, and the seconds that were measured.

        A value stands for the time since the instant before it, if there was one then, too, no longer than GAP ago.
        """
        values = self._values.get(key, ())
        area = seconds = 0.0
        first = max(1, bisect_left(self._times, start))
        for index in range(first, min(len(values), bisect_left(self._times, end + 0.001))):
            before = self._times[index - 1]
            step = self._times[index] - max(start, before)
            if not isnan(values[index] + values[index - 1]) and self._times[index] - before <= GAP:
                area += values[index] * step
                seconds += step
        return area, seconds

    def names(self, measure: str, inst_id: int) -> list[tuple[int, str]]:
        """Return the (con_id, group) that have values of a measure on an instance."""
        if inst_id == self._alone:
            inst_id = CLUSTER
        return [(con, name) for what, inst, con, name in self._values if what == measure and inst == inst_id and name]


def _pdb_minutes(snapshot: Snapshot) -> Iterator[tuple[float, Key, float]]:
    """Return the last hour of V$RSRCPDBMETRIC_HISTORY, minute by minute."""
    names = {row.con_id: row.name for row in snapshot.rows(Pdb)}
    for row in snapshot.rows(PdbMetricHistory):
        name = names.get(row.con_id, "")
        if row.end_time is not None and row.con_id > 2 and name:
            yield _minute(row.end_time), ("pdb_used", row.inst_id, row.con_id, name), row.avg_running_sessions
            yield _minute(row.end_time), ("pdb_waiting", row.inst_id, row.con_id, name), row.avg_waiting_sessions


def _minute(at: datetime) -> float:
    """Return a whole minute: those of the instances do not end at the same second, and are one point of the cluster."""
    return round(at.timestamp() / 60) * 60.0


def completed(at: datetime, width: float) -> float:
    """Return the end of the last completed stretch of `width` seconds at an instant, aligned to the clock."""
    return at.timestamp() // width * width
