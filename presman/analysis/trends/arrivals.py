"""The parallel statements that came while somebody watched: when, servers, how long they waited and ran."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import NamedTuple

from presman.analysis.readings.reading import Reading
from presman.analysis.trends.statement_spans import Span, Spans


class ArrivalOutcome(Enum):
    """What had become of a statement when it was last seen."""

    ENDED = "ended"
    RUNNING = "running"
    QUEUED = "queued"
    LEFT = "left the queue"


class Arrival(NamedTuple):
    """One statement. Times in seconds; `ran` is None if it never ran, and is not over if `outcome` is RUNNING.

    What held for its group at the end: `target` of all servers, `limit` of its group's (None without one), `weight` its
    share of the plan, `timeout` and what happens then. `first` and `last` are the readings it was seen in.
    """

    at: datetime
    con_id: int
    group: str
    servers: int
    waited: float
    ran: float | None
    outcome: ArrivalOutcome
    target: int | None
    limit: int | None
    weight: float
    timeout: float | None
    action: str
    first: datetime
    last: datetime


class ArrivalTracker:
    """Turns consecutive readings into arrivals, each told once, when it is over."""

    def __init__(self) -> None:
        self._spans = Spans(kept=2000)
        self._timeouts: dict[tuple[int, str], tuple[float, str]] = {}
        self._reading: Reading | None = None

    def add(self, reading: Reading) -> list[Arrival]:
        """Take the next reading; return the statements that were over by then."""
        before, self._reading = self._reading, reading
        for row in reading.queue:
            if row.timeout_left is not None and row.waited is not None:
                self._timeouts[row.con_id, row.group] = (row.waited + row.timeout_left, row.timeout_action)
        self._spans.add(reading)
        if before is None:
            return []
        return [self._arrival(span, before.at) for span in self._spans.ended_since(before.at)]

    def rest(self) -> list[Arrival]:
        """Return the statements that are not over yet."""
        reading = self._reading
        return [] if reading is None else [self._arrival(span, reading.at) for span in self._spans.open]

    def _arrival(self, span: Span, last: datetime) -> Arrival:
        assert self._reading is not None
        key = (span.con_id, span.group)
        group = next((each for each in self._reading.cluster_groups() if (each.con_id, each.name) == key), None)
        timeout, action = self._timeouts.get(key, (None, ""))
        end = span.ended or last
        started = span.started
        return Arrival(
            at=span.began,
            con_id=span.con_id,
            group=span.group,
            servers=span.servers,
            waited=((started or end) - span.began).total_seconds() if span.queued else 0.0,
            ran=None if started is None else (end - started).total_seconds(),
            outcome=_outcome(span),
            target=self._reading.header.servers.target,
            limit=group.servers_limit if group else None,
            weight=group.share if group else 0.0,
            timeout=timeout,
            action=action,
            first=span.first_seen or span.began,
            last=end,
        )


def _outcome(span: Span) -> ArrivalOutcome:
    if span.ended is None:
        return ArrivalOutcome.RUNNING if span.started else ArrivalOutcome.QUEUED
    return ArrivalOutcome.ENDED if span.started else ArrivalOutcome.LEFT
