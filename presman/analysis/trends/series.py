"""Numbers over time for sparklines and charts, per measure and group; bounded by count.

The last hour, as the database stores it by the minute, is loaded as points shared by the instances.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import repeat
from math import isnan, nan
from typing import NamedTuple

from presman.analysis.readings.container_readings import PdbReading
from presman.analysis.readings.reading import CLUSTER, Reading
from presman.analysis.readings.session_readings import CLASSES
from presman.analysis.totals import queued_now
from presman.base.sums import maxima, summed
from presman.rows.group_rows import GroupMetricHistory
from presman.rows.instance_rows import Pdb, PdbMetricHistory
from presman.rows.snapshot import Snapshot

KEPT = 3600
"""Instants kept: two hours at the usual refresh, as long as the history of snapshots."""

GAP = 120.0
"""Seconds without a value after which the time in between is unknown."""

_TRIM = 200
"""Instants beyond that before the oldest are dropped, all at once."""


class Series:
    """Values in order of time: one array of the instants, and one per key with its values (4 bytes; NaN: none).

    A key's array ends with its last value. With a single instance its values equal the cluster's and are stored once.
    """

    def __init__(self) -> None:
        self._times = array("d")
        self._values: dict[Key, array[float]] = {}
        self._alone: int | None = None

    def add(self, reading: Reading, containers: Iterable[PdbReading] = ()) -> None:
        """Add the values of a reading and its containers. A reading that is not newer than the last changes nothing."""
        at = reading.at.timestamp()
        if self._times and at <= self._times[-1]:
            return
        self._times.append(at)
        self._meet({group.inst_id for group in reading.groups} - {CLUSTER})
        for group in reading.groups:
            values = {
                "used": group.used,
                "waiting": group.waiting,
                "servers": group.px_servers,
                "queued": group.px_queued,
                "io": None if group.io is None else group.io.mb,
            }
            self._append(values, group.inst_id, group.con_id, group.name)
        for pdb in containers:
            self._append({"pdb_used": pdb.used, "pdb_waiting": pdb.waiting}, pdb.inst_id, pdb.con_id, pdb.name)
        if reading.activity is not None:
            for name in CLASSES:
                self._append({"active": reading.activity.by_class.get(name, 0)}, CLUSTER, 0, name)
        header = reading.header
        whole = {"in_use": header.servers.in_use, "queued": queued_now(reading), "cpus": header.num_cpus}
        self._append(whole, CLUSTER, 0, "")
        self._trim()

    def _append(self, values: Mapping[str, float | None], inst_id: int, con_id: int, name: str) -> None:
        """Add values of the newest instant; the instants a key has missed become NaN."""
        if inst_id == self._alone:
            return
        for measure, value in values.items():
            if value is not None:
                line = self._values.setdefault((measure, inst_id, con_id, name), array("f"))
                line.extend(repeat(nan, len(self._times) - 1 - len(line)))
                line.append(value)

    def _trim(self) -> None:
        surplus = len(self._times) - KEPT
        if surplus > _TRIM:
            for values in (self._times, *self._values.values()):
                del values[:surplus]

    def fill(self, snapshot: Snapshot) -> None:
        """Fill the hour before the first poll from V$RSRCMGRMETRIC_HISTORY if there is nothing yet."""
        if self._times:
            return
        minutes = metric_minutes(snapshot)
        self._meet({key[1] for point in minutes.values() for key in point})
        newest = snapshot.at.timestamp()
        self._load({at: self._shared(point) for at, point in minutes.items() if at <= newest})

    def _shared(self, point: Mapping[Key, float]) -> dict[Key, float]:
        """Return values of instances with their sums for the cluster."""
        return summed(
            ((measure, instance, con_id, name), value)
            for (measure, inst_id, con_id, name), value in point.items()
            for instance in self._instances(inst_id)
        )

    def fill_groups(self, instances: set[int], times: array[float], values: Mapping[Key, Iterable[float]]) -> None:
        """Fill empty keys with values at these instants (seconds; NaN: none), of `instances`."""
        if not self._times:
            self._meet(instances)
            self._times = times
            self._values = {key: array("f", own) for key, own in values.items()}

    def _load(self, points: Mapping[float, Mapping[Key, float]]) -> None:
        for at, point in sorted(points.items()):
            self._times.append(at)
            for (measure, inst_id, con_id, name), value in point.items():
                self._append({measure: value}, inst_id, con_id, name)

    def _meet(self, instances: set[int]) -> None:
        """Add these instances; a single instance until now had its values under the cluster's keys."""
        if self._alone is not None and instances - {self._alone}:
            shared = {key: values for key, values in self._values.items() if key[1] == CLUSTER and key[3]}
            for (measure, _, con_id, name), values in shared.items():
                self._values[measure, self._alone, con_id, name] = values[:]
            self._alone = None
        elif not self._values and len(instances) == 1:
            (self._alone,) = instances

    def _instances(self, inst_id: int) -> tuple[int, ...]:
        return (CLUSTER,) if inst_id == self._alone else (CLUSTER, inst_id)

    def buckets(self, key: Key, start: float, width: float, count: int) -> tuple[float | None, ...]:
        """Return the mean of each of `count` intervals of `width` seconds from `start`; None for one without values."""
        measure, inst_id, con_id, name = key
        values = self._values.get((measure, CLUSTER if inst_id == self._alone else inst_id, con_id, name), ())
        sums = [0.0] * count
        counts = [0] * count
        first = bisect_left(self._times, start)
        last = min(len(values), bisect_left(self._times, start + width * count))
        for index in range(first, last):
            value = values[index]
            if not isnan(value):
                slot = min(count - 1, int((self._times[index] - start) // width))
                sums[slot] += value
                counts[slot] += 1
        return tuple(sums[i] / counts[i] if counts[i] else None for i in range(count))

    def most(self, key: Key, start: float, end: float) -> float | None:
        """Return the highest value between two instants; None without values."""
        # Instants are fractions of seconds: a value at the end itself counts, however it is rounded.
        values = self._values.get(key, ())
        first, last = bisect_left(self._times, start), min(len(values), bisect_left(self._times, end + 0.001))
        return max((value for value in values[first:last] if not isnan(value)), default=None)

    def integral(self, key: Key, start: float, end: float) -> tuple[float, float]:
        """Return value x seconds between two instants, and the seconds that were measured.

        A value represents the time since the previous instant if there was a value then, too, no longer than GAP ago.
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


def completed(at: datetime, width: float) -> float:
    """Return the end of the last completed interval of `width` seconds at an instant, aligned to the clock."""
    return at.timestamp() // width * width


Key = tuple[str, int, int, str]
"""Measure (used, waiting, io, servers, queued; pdb_used, pdb_waiting), inst_id, con_id, group or container.

A group "" means all of them, with what they share (in_use, cpus); for `active` (average active sessions) the name is a
wait class.
"""


CPUS: Key = ("cpus", CLUSTER, 0, "")
"""The CPUs of all instances at that time."""


class _Window(NamedTuple):
    """One view's values for a group or container on one instance over about a minute that ended at `end`."""

    view: str
    inst_id: int
    end: datetime
    length: float
    values: Mapping[str, float | None]
    con_id: int
    name: str


def metric_minutes(snapshot: Snapshot) -> dict[float, dict[Key, float]]:
    """Return V$RSRCMGRMETRIC_HISTORY and V$RSRCPDBMETRIC_HISTORY by minute (seconds since 1970) and key.

    A missing value is 0. For windows within one minute, as a change of plan may leave them, the mean weighted by their
    lengths is returned.
    """
    windows = [*_of_groups(snapshot), *_of_instances(snapshot), *_of_containers(snapshot)]
    minutes = _minutes(windows)
    sums: dict[float, dict[Key, list[float]]] = {}
    for each in windows:
        point = sums.setdefault(minutes[each.view, each.inst_id, each.end], {})
        for measure, value in each.values.items():
            weighted = point.setdefault((measure, each.inst_id, each.con_id, each.name), [0.0, 0.0])
            weighted[0] += (value or 0.0) * each.length
            weighted[1] += each.length
    return {at: {key: total / length for key, (total, length) in point.items()} for at, point in sums.items()}


def _minutes(windows: list[_Window]) -> dict[tuple[str, int, datetime], float]:
    """Return the whole minute that each window counts for, by view, instance and end.

    Windows of the instances do not end at the same second: the newest of each are one point, and earlier ones are
    counted back from there. Rounding each end would put two windows that end at half past into the same minute.
    """
    newest = maxima(((view, inst_id), end) for view, inst_id, end, *_ in windows)
    last = max(newest.values(), default=None)

    def minute(view: str, inst_id: int, end: datetime) -> float:
        assert last is not None
        newest_at = newest[view, inst_id]
        before = (last - newest_at).total_seconds() // 60 + round((newest_at - end).total_seconds() / 60)
        return 60.0 * (round(last.timestamp() / 60) - before)

    return {each[:3]: minute(*each[:3]) for each in windows}


def _of_groups(snapshot: Snapshot) -> Iterator[_Window]:
    for row in snapshot.rows(GroupMetricHistory):
        if row.end_time is None or row.intsize_csec <= 0:
            continue
        values = {
            "used": row.avg_running_sessions,
            "waiting": row.avg_waiting_sessions,
            "io": row.io_megabytes * 100 / row.intsize_csec,
            "servers": row.avg_active_parallel_servers,
            "queued": row.avg_queued_parallel_stmts,
        }
        name = row.consumer_group_name
        yield _Window("group", row.inst_id, row.end_time, row.intsize_csec, values, row.con_id, name)


def _of_instances(snapshot: Snapshot) -> Iterator[_Window]:
    """Yield the CPUs of each instance; groups of a container that may use fewer have that number."""
    cpus: dict[tuple[int, datetime, int], int] = {}
    for row in snapshot.rows(GroupMetricHistory):
        if row.end_time is not None and row.intsize_csec > 0 and row.num_cpus:
            key = row.inst_id, row.end_time, row.intsize_csec
            cpus[key] = max(row.num_cpus, cpus.get(key, 0))
    for (inst_id, end, length), number in cpus.items():
        yield _Window("group", inst_id, end, length, {CPUS[0]: number}, *CPUS[2:])


def _of_containers(snapshot: Snapshot) -> Iterator[_Window]:
    names = {row.con_id: row.name for row in snapshot.rows(Pdb)}
    for row in snapshot.rows(PdbMetricHistory):
        name = names.get(row.con_id, "")
        if row.end_time is not None and row.con_id > 2 and name:
            values = {"pdb_used": row.avg_running_sessions, "pdb_waiting": row.avg_waiting_sessions}
            yield _Window("container", row.inst_id, row.end_time, 1.0, values, row.con_id, name)
