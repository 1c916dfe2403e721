"""Moment: one instant with all that a tab is drawn from: reading, snapshots, what was watched until then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import wraps
from typing import Any, TypeAlias, TypeVar, cast

from presman.analysis.latency.latency_history import LatencyHistory
from presman.analysis.readings.group_readings import QUIET, GroupReading
from presman.analysis.readings.instance_readings import CLUSTER
from presman.analysis.readings.reading import Alert, Reading
from presman.analysis.trends import Watch
from presman.analysis.trends.database_events import DatabaseEvent
from presman.analysis.trends.series import Series
from presman.base.colours import GroupColours
from presman.rows.snapshot import Snapshot
from presman.tabs.choices import Choices

T = TypeVar("T")

Pair: TypeAlias = tuple[Snapshot | None, Snapshot]
"""The snapshot before, and that of the instant."""


def once(work_out: Callable[[Moment], T]) -> Callable[[Moment], T]:
    """Have a function of a moment work it out once, however many parts of a tab ask."""

    @wraps(work_out)
    def known(moment: Moment) -> T:
        if work_out not in moment.worked_out:
            moment.worked_out[work_out] = work_out(moment)
        return cast(T, moment.worked_out[work_out])

    return known


@dataclass(frozen=True, slots=True)
class Moment:
    """An instant. `newest` is that of the newest poll, later than the reading's while one looks back.

    `events` are those of all that is kept, or replayed, oldest first.
    `find` gives the two snapshots that the reading was made of, None where they are not kept: they may be on disk.
    """

    reading: Reading
    choices: Choices = field(default_factory=Choices)
    alerts: Sequence[Alert] = ()
    newest: datetime | None = None
    series: Series = field(default_factory=Series)
    latencies: LatencyHistory = field(default_factory=LatencyHistory)
    watch: Watch = field(default_factory=Watch)
    events: Sequence[DatabaseEvent] = ()
    find: Callable[[], Pair | None] = lambda: None
    worked_out: dict[Callable[[Moment], Any], Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """By function of those that are :func:`once`."""

    @property
    def snapshots(self) -> Pair | None:
        """The snapshot before and that of the instant."""
        return self.find()

    @property
    def snapshot(self) -> Snapshot | None:
        """What was read at the instant."""
        pair = self.find()
        return pair[1] if pair else None

    @property
    def latest(self) -> datetime:
        """The instant of the newest poll."""
        return self.newest or self.reading.at

    @property
    def colours(self) -> GroupColours:
        """The colours of the groups, those that are in the charts only, too."""
        return _colours(self)

    def groups(self) -> tuple[GroupReading, ...]:
        """Return the groups to show, those in trouble first: the cluster's, or those of each instance side by side.

        Among those in trouble alike, the order is that of the alerts: one reads both from above.
        """
        subjects = [alert.subject for alert in self.alerts]
        indexes = {subject: index for index, subject in reversed(list(enumerate(subjects))) if subject}

        def worst(group: GroupReading) -> tuple[int, int]:
            shown = (
                []
                if group.rank == QUIET
                else [indexes[name] for name in (group.title, group.container) if name in indexes]
            )
            return group.rank, min(shown, default=len(subjects))

        cluster = tuple(sorted(self.reading.cluster_groups(), key=worst))
        if not self.choices.by_instance:
            return cluster
        order = {(group.con_id, group.name): index for index, group in enumerate(cluster)}
        apart = [group for group in self.reading.groups if group.inst_id != CLUSTER]
        apart.sort(key=lambda group: (order.get((group.con_id, group.name), len(order)), group.inst_id))
        return tuple(apart) or cluster


@once
def _colours(moment: Moment) -> GroupColours:
    found = moment.watch.colours
    found.add((group.con_id, group.name) for group in moment.reading.groups)
    found.add(moment.series.names("used", CLUSTER))
    return found


def alike_in_groups(moment: Moment) -> set[str]:
    """Return the columns that would say the same in every row: instance on one, container in one."""
    hidden = set()
    if len(moment.reading.header.instances) < 2 or not moment.choices.by_instance:
        hidden.add("inst_id")
    if len({group.con_id for group in moment.reading.groups}) < 2:
        hidden.add("con_id")
    if all(group.pool is None for group in moment.reading.groups):
        hidden.add("session_pool")
    return hidden


def alike_on_one_instance(moment: Moment) -> set[str]:
    """Return the columns to hide in tables of statements and waits where there is one instance."""
    return {"inst_id", "servers_by_instance"} if len(moment.reading.header.instances) < 2 else set()


def servers_scale(moment: Moment) -> dict[str, float]:
    """Return what the bars of groups' servers reach up to: the target, so that they show who holds how much of it.

    One row per instance is measured against the target of one instance, the largest there is.
    """
    header = moment.reading.header
    pools = [each.servers for each in header.instances] if moment.choices.by_instance else [header.servers]
    return {"px_servers_active": float(max((pool.target or 0 for pool in pools), default=0))}
