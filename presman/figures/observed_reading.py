"""ObservedReading: a Reading with what is worked out beside it, and its rows as metrics have them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.containers.containers import PdbReading, pdbs
from presman.analysis.facts.system_facts import ROOT
from presman.analysis.readings.activity_readings import CLASSES
from presman.analysis.readings.alert import Alert
from presman.analysis.readings.group_readings import GroupReading
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import QueueHead
from presman.analysis.readings.wait_readings import Histogram
from presman.figures.measures import groups
from presman.figures.usage_figures import ActiveSessions, ClassWaits, class_waits
from presman.figures.wait_distributions import longest_waited
from presman.rows.snapshot import Snapshot

T = TypeVar("T")

LATE = 60.0
"""Seconds after which rows of a view that does not answer are not given any more: they were so, and may not be now."""

MOST_ROWS = 500
"""Groups and containers that one database has metrics of: those that used most CPU."""


class ObservedReading(Struct, frozen=True, dict=True):
    """A Reading, the snapshots it was made of, and the histograms as they were last read, with their sums of then."""

    reading: Reading
    previous: Snapshot | None
    snapshot: Snapshot
    histograms: tuple[Histogram, ...]

    @cached_property
    def containers(self) -> tuple[PdbReading, ...]:
        """The pluggable databases on each instance; made at the first look."""
        found = pdbs(self.reading, self.previous, self.snapshot)
        instances = self.reading.header.instances
        only = instances[0].inst_id if instances else 1
        return tuple(row for row in found if row.inst_id) or tuple(replace(row, inst_id=only) for row in found)

    @cached_property
    def silent(self) -> frozenset[str]:
        """The views (V$...) that have not answered for so long that their rows count no more."""
        late = (each.view for each in self.reading.late if each.age is None or each.age > LATE)
        return frozenset(view.removeprefix("G") for view in late)


def rows_of(view: str, rows: Callable[[ObservedReading], Iterable[T]]) -> Callable[[ObservedReading], Iterable[T]]:
    """Return what gives the rows of a view for as long as they count."""
    return lambda observation: () if view in observation.silent else rows(observation)


def of_reading(rows: Callable[[Reading], Iterable[T]]) -> Callable[[ObservedReading], Iterable[T]]:
    """Return what gives rows of an observation's reading."""
    return lambda observation: rows(observation.reading)


def group_rows(observation: ObservedReading) -> Sequence[GroupReading]:
    """Return the groups of each instance."""
    return _largest(groups(observation.reading))


def counted_groups(observation: ObservedReading) -> Sequence[GroupReading]:
    """Return the groups that the view counts: a total that began at nothing would be taken for one that was reset."""
    return [row for row in group_rows(observation) if row.usage is not None]


def pooled_groups(observation: ObservedReading) -> Sequence[GroupReading]:
    """Return those that have an active session pool."""
    return [row for row in counted_groups(observation) if row.pool is not None]


def container_rows(observation: ObservedReading) -> Sequence[PdbReading]:
    """Return the pluggable databases on each instance."""
    return _largest(observation.containers)


def counted_containers(observation: ObservedReading) -> Sequence[PdbReading]:
    """Return those that the view counts: before 12.2 there is none."""
    return [row for row in container_rows(observation) if row.usage is not None]


def _largest(rows: Sequence[Any]) -> Sequence[Any]:
    if len(rows) <= MOST_ROWS:
        return rows
    return sorted(rows, key=lambda row: -(row.usage.cpu_ms if row.usage else 0))[:MOST_ROWS]


def wait_rows(reading: Reading) -> list[ClassWaits]:
    """Return the waits of each instance by class."""
    return [waits for totals in reading.since_startup for waits in class_waits(totals)]


def event_rows(observation: ObservedReading) -> list[Histogram]:
    """Return the histograms of the events that are waited for longest."""
    return longest_waited(observation.histograms)


def activity_rows(reading: Reading) -> list[ActiveSessions]:
    """Return how many sessions are active in each wait class; none where that is not known."""
    found = reading.activity
    return [] if found is None else [ActiveSessions(name, found.by_class.get(name, 0)) for name in CLASSES]


def alert_rows(reading: Reading) -> list[Alert]:
    """Return what is wrong."""
    return [alert for alert in wrong(reading) if alert.state != "good"]


def container_label(row: GroupReading | QueueHead) -> str:
    """Return the name of a row's container, "" outside of containers."""
    return row.container or ("CDB$ROOT" if row.con_id == ROOT else str(row.con_id or ""))
