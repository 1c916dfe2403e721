"""Holds a container's I/O to its MAX_IOPS and MAX_MBPS: demand and limits in, a pace out. Pure arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from presman.sources.simulator.scenario import PdbDirective

RATE_LIMIT = "resmgr: I/O rate limit"
"""The event that I/O held back waits for."""


class Demand(NamedTuple):
    """What some work would read and write per second at full speed, and the part of that speed its CPU lets it have."""

    requests: float
    megabytes: float
    speed: float = 1.0


def pace(limits: PdbDirective, demands: Iterable[Demand]) -> float:
    """Return the part of full speed (0..1) at which all of a container's I/O may go on; work slower anyway is let be.

    >>> pace(PdbDirective(max_iops=60), [Demand(50, 1), Demand(50, 1, speed=0.2)])
    1.0
    >>> pace(PdbDirective(max_iops=40), [Demand(50, 1), Demand(50, 1, speed=0.2)])
    0.6
    """
    found = 1.0
    rows = tuple(demands)
    if limits.max_iops:
        found = min(found, _level(limits.max_iops, [(row.requests, row.speed) for row in rows]))
    if limits.max_mbps:
        found = min(found, _level(limits.max_mbps, [(row.megabytes, row.speed) for row in rows]))
    return found


def _level(limit: float, wanted: Sequence[tuple[float, float]]) -> float:
    """Return the speed at which the sum of what is wanted, each up to its own speed, is just the limit."""
    if sum(amount * speed for amount, speed in wanted) <= limit:
        return 1.0
    rest, weight = limit, sum(amount for amount, _ in wanted)
    for amount, speed in sorted(wanted, key=lambda each: each[1]):
        if rest <= weight * speed:
            break
        rest -= amount * speed
        weight -= amount
    return rest / weight
