"""Events: what happened between one reading and the next, one line each."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from presman.analysis.readings.group_readings import Verdict
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import QueuedStatement

QUEUE_BEGAN, QUEUE_ENDED = "queue began", "queue ended"
PLAN_CHANGED, VERDICT_CHANGED = "plan changed", "verdict changed"
DOWNGRADE, TIMEOUT, RECONNECT, LOST = "downgrade", "timeout", "reconnect", "connection lost"
KINDS = (QUEUE_BEGAN, QUEUE_ENDED, PLAN_CHANGED, VERDICT_CHANGED, DOWNGRADE, TIMEOUT, RECONNECT, LOST)

_LASTING = 6
"""Polls after which a verdict counts: a group on the edge of its limit has another one every few seconds."""


class RecordedEvent(NamedTuple):
    """Something that happened: `kind` is one of `KINDS`; group and SQL_ID are "" where it is about neither."""

    at: datetime
    kind: str
    group: str
    sql_id: str
    text: str


class _Verdicts(Struct):
    """The verdict that holds for a group, and the one that may be about to: for how many polls and since when."""

    lasting: Verdict
    coming: Verdict = Verdict.UNKNOWN
    polls: int = 0
    since: datetime | None = None


class EventWatch:
    """Finds the events of each reading, given those before."""

    def __init__(self) -> None:
        self._before: Reading | None = None
        self._epoch = 0
        self._verdicts: dict[tuple[int, str], _Verdicts] = {}
        self._downgraded: dict[tuple[int, int, int, str], datetime] = {}

    def add(self, reading: Reading, epoch: int) -> list[RecordedEvent]:
        """Return what happened since the last reading; after a reconnection that too."""
        before, self._before = self._before, reading
        found = []
        if before is not None and epoch != self._epoch:
            found.append(RecordedEvent(reading.at, RECONNECT, "", "", "connected again: no rates across it"))
        self._epoch = epoch
        if before is not None:
            found += _plan(before, reading) + _queues(before, reading) + _timeouts(before, reading)
        found += self._changed_verdicts(reading)
        return found + self._new_downgrades(reading)

    def _changed_verdicts(self, reading: Reading) -> list[RecordedEvent]:
        found = []
        for group in reading.cluster_groups():
            key, new = (group.con_id, group.name), group.verdict
            known = self._verdicts.setdefault(key, _Verdicts(new))
            if new is known.lasting or new is Verdict.UNKNOWN:
                known.coming, known.polls = new, 0
            elif known.lasting is Verdict.UNKNOWN:
                known.lasting = new
            elif new is not known.coming:
                known.coming, known.polls, known.since = new, 1, reading.at
            else:
                known.polls += 1
            if known.polls >= _LASTING and known.since is not None:
                text = f"{group.title}: {known.lasting.value} → {new.value}"
                found.append(RecordedEvent(known.since, VERDICT_CHANGED, group.name, "", text))
                known.lasting, known.polls = new, 0
        return found

    def _new_downgrades(self, reading: Reading) -> list[RecordedEvent]:
        found, known = [], self._downgraded
        self._downgraded = {}
        for each in reading.running:
            if each.downgraded <= 0:
                continue
            key = (each.inst_id, each.sid, each.serial, each.sql_id)
            self._downgraded[key] = known.get(key, reading.at)
            if key not in known:
                text = (
                    f"{each.user} {each.sql_id}: DOP {each.degree} of {each.requested} ({each.downgraded:.0f} % lost)"
                )
                found.append(RecordedEvent(reading.at, DOWNGRADE, each.group, each.sql_id, text))
        return found


def _plan(before: Reading, now: Reading) -> list[RecordedEvent]:
    old, new = before.header.plan or "none", now.header.plan or "none"
    return [RecordedEvent(now.at, PLAN_CHANGED, "", "", f"plan {old} → {new}")] if old != new else []


def _queues(before: Reading, now: Reading) -> list[RecordedEvent]:
    old, new = _by_group(before), _by_group(now)
    began = [
        RecordedEvent(now.at, QUEUE_BEGAN, group, first.sql_id, f"{group or 'unknown group'}: {first.sql_id} waits")
        for (con_id, group), (first, *_) in new.items()
        if (con_id, group) not in old
    ]
    ended = [
        RecordedEvent(now.at, QUEUE_ENDED, group, "", f"{group or 'unknown group'}: nothing waits any more")
        for (con_id, group) in old
        if (con_id, group) not in new
    ]
    return began + ended


def _by_group(reading: Reading) -> dict[tuple[int, str], list[QueuedStatement]]:
    found: dict[tuple[int, str], list[QueuedStatement]] = {}
    for each in reading.queue:
        found.setdefault((each.con_id, each.group), []).append(each)
    return found


def _timeouts(before: Reading, now: Reading) -> list[RecordedEvent]:
    """Return the statements that left the queue as their time was up, as V$RSRC_CONSUMER_GROUP counts them."""
    old = {(each.con_id, each.name): each.totals.timeouts for each in before.cluster_groups()}
    found = []
    for group in now.cluster_groups():
        earlier = old.get((group.con_id, group.name))
        if earlier is not None and (group.totals.timeouts or 0) > earlier:
            number = (group.totals.timeouts or 0) - earlier
            text = f"{group.title}: {number} queue timeout{'s' * (number > 1)}"
            found.append(RecordedEvent(now.at, TIMEOUT, group.name, "", text))
    return found


def lost(at: datetime, text: str) -> RecordedEvent:
    """Return the event that the connection was lost."""
    return RecordedEvent(at, LOST, "", "", text)
