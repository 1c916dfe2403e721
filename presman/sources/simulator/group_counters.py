"""Counters: what each consumer group has used on each instance, and the one-minute metrics made of them."""

from __future__ import annotations

from array import array
from collections import deque
from enum import IntEnum
from typing import NamedTuple

from presman.sources.simulator.plan_tree import Group

HISTORY = 60
"""Minutes that V$RSRCMGRMETRIC_HISTORY keeps."""


class Count(IntEnum):
    """What an account counts. Seconds, requests and MB since the simulation began."""

    CPU = 0
    CPU_WAIT = 1
    CPU_WAITS = 2
    YIELDS = 3
    REQUESTS = 4
    IO_TIME = 5
    IO_WAITS = 6
    SMALL_READ_MB = 7
    SMALL_WRITE_MB = 8
    LARGE_READ_MB = 9
    LARGE_WRITE_MB = 10
    SMALL_READS = 11
    SMALL_WRITES = 12
    LARGE_READS = 13
    LARGE_WRITES = 14
    PQ_QUEUED_TIME = 15
    ACTIVE_STATEMENT_SECONDS = 16
    ACTIVE_SERVER_SECONDS = 17
    QUEUED_SERVER_SECONDS = 18
    POOL_QUEUED_TIME = 19
    PQS_QUEUED = 20
    PQS_COMPLETED = 21
    PQ_SERVERS_USED = 22
    PQ_ACTIVE_TIME = 23
    PQ_TIME_OUTS = 24
    POOL_LIMIT_HIT = 25
    POOL_TIME_OUTS = 26
    SWITCHES_IN = 27
    SWITCHES_OUT = 28
    SQL_CANCELED = 29
    SESSIONS_KILLED = 30
    IO_THROTTLE = 31


ZERO = [0.0] * len(Count)


class GroupCounters:
    """One group's counters on one instance: totals, their present rates per second, and the marks they restart at.

    Totals never restart; a view shows total minus `base` (the plan's activation), a metric total minus `mark`.
    """

    __slots__ = ("base", "mark", "noted", "rates", "totals")

    def __init__(self) -> None:
        self.totals = list(ZERO)
        self.rates = list(ZERO)
        self.base = list(ZERO)
        self.mark = list(ZERO)
        self.noted = list(ZERO)

    def flow(self, seconds: float) -> None:
        """Let time pass at the present rates."""
        if any(self.rates):
            self.totals = [total + rate * seconds for total, rate in zip(self.totals, self.rates, strict=True)]

    def since_activation(self) -> list[float]:
        """Return the counters since the plan was activated."""
        return [total - base for total, base in zip(self.totals, self.base, strict=True)]

    def take_noted(self) -> list[float]:
        """Return what was counted since the last such call."""
        if self.noted is self.totals:
            return list(ZERO)
        delta = [total - noted for total, noted in zip(self.totals, self.noted, strict=True)]
        self.noted = self.totals
        return delta


class Minute(NamedTuple):
    """One group's closed interval on one instance; what V$RSRCMGRMETRIC is made of. `deltas` is by :class:`Count`.

    `exhausted` is the fraction of it in which somebody wanted more CPU than there was on the instance.
    """

    inst_id: int
    group: Group
    begin: float
    end: float
    sequence: int
    plan: str
    num_cpus: int
    limit: float
    servers_limit: int
    exhausted: float
    deltas: array[float]


class Metrics:
    """The last hour of closed intervals, oldest first, each a list of rows."""

    def __init__(self) -> None:
        self.intervals: deque[list[Minute]] = deque(maxlen=HISTORY)
        self.opened = 0.0

    def last(self) -> list[Minute]:
        """Return the newest closed interval."""
        return self.intervals[-1] if self.intervals else []
