"""Levels of the consumer groups at an instant: what the legends of their charts say."""

from __future__ import annotations

from presman.tabs.moment import Moment
from presman.tabs.parts import GroupLevel


def used_levels(moment: Moment) -> list[GroupLevel]:
    """Return the CPUs that each group uses, with its limit."""
    return [GroupLevel(row.con_id, row.name, row.used, row.limit) for row in moment.reading.cluster_groups()]


def waiting_levels(moment: Moment) -> list[GroupLevel]:
    """Return the CPUs that each group waits for."""
    return [GroupLevel(row.con_id, row.name, row.waiting) for row in moment.reading.cluster_groups()]


def io_levels(moment: Moment) -> list[GroupLevel]:
    """Return the megabytes per second that each group reads and writes."""
    return [GroupLevel(row.con_id, row.name, row.io.mb if row.io else None) for row in moment.reading.cluster_groups()]


def capacity(moment: Moment) -> float | None:
    """Return the CPUs there are for all of them."""
    return moment.reading.header.num_cpus or None
