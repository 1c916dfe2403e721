"""Waits of the database: events, their latencies, and parallel operations by class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from presman.analysis.facts.facts import Facts
from presman.analysis.latency.redo import REDO_SIZE
from presman.analysis.readings.statement_readings import Downgrades
from presman.analysis.readings.wait_readings import Bucket, EventWaits, Histogram, WaitReading
from presman.rows.instance_rows import EventHistogram, Sysstat, SystemEvent, WatchedHistogram
from presman.rows.session_rows import Session


class WaitingNow(NamedTuple):
    """The sessions that wait for an event now, and for how many microseconds the first of them has; None: not told."""

    wait_class: str
    sessions: int
    longest: int | None


def events(facts: Facts) -> tuple[WaitReading, ...]:
    """Return the events waited for since the last poll, by average sessions waiting, the most first.

    V$SYSTEM_EVENT counts a wait when it ends, with all of its time. Where waits last longer than the time between the
    polls, that is nothing for minutes and then too much: there the sessions count that wait now.
    """
    deltas = facts.deltas
    seconds = deltas.interval(SystemEvent)
    before = {(row.inst_id, row.event): row for row in deltas.before(SystemEvent)}
    if seconds is None or not before:
        return ()
    same = {inst_id: deltas.same_start(inst_id) for inst_id, _ in before}
    waiting = _waiting(facts)
    found = []
    for row in facts.snapshot.rows(SystemEvent):
        place = (row.inst_id, row.event)
        old = before.get(place)
        if old is None or not same[row.inst_id]:
            continue
        grown = _grown(row, old)
        now = waiting.pop(place, None)
        if grown is None or not (any(grown) or _outlasts(now, seconds)):
            continue
        waits, micro = grown
        mean = micro / waits / 1000 if waits and micro is not None else None
        sessions = _sessions(waits, micro, now, seconds)
        found.append(WaitReading(*place, row.wait_class, sessions, None if waits is None else waits / seconds, mean))
    for place, now in waiting.items():
        if now.wait_class and _outlasts(now, seconds) and same.get(place[0]):
            # The first such wait since startup: the view has no row before it ends. Without a class it may be idle.
            found.append(WaitReading(*place, now.wait_class, float(now.sessions), 0.0, None))
    found.sort(key=lambda each: (-(each.sessions or 0.0), each.inst_id, each.event))
    return tuple(found)


def _grown(row: SystemEvent, old: SystemEvent) -> tuple[int | None, int | None] | None:
    """Return the waits and microseconds since, None each where they are not told; None if one went backwards."""
    waits = _less(row.total_waits, old.total_waits)
    micro = _less(row.time_waited_micro, old.time_waited_micro)
    return None if min(waits or 0, micro or 0) < 0 else (waits, micro)


def _less(after: int | None, before: int | None) -> int | None:
    return None if after is None or before is None else after - before


def _waiting(facts: Facts) -> dict[tuple[int, str], WaitingNow]:
    """Return who waits now by instance and event (V$SESSION: users' sessions), without idle waits."""
    waiting: dict[tuple[int, str], list[Session]] = {}
    for session in facts.sessions.users:
        if session.state == "WAITING" and session.wait_class != "Idle" and session.event:
            waiting.setdefault((session.inst_id, session.event), []).append(session)
    return {
        place: WaitingNow(found[0].wait_class, len(found), _longest([each.wait_time_micro for each in found]))
        for place, found in waiting.items()
    }


def _longest(micro: list[int | None]) -> int | None:
    known = [each for each in micro if each is not None]
    return max(known) if len(known) == len(micro) else None


def _outlasts(now: WaitingNow | None, seconds: float) -> bool:
    return now is not None and now.longest is not None and now.longest >= seconds * 1e6


def _sessions(waits: int | None, micro: int | None, now: WaitingNow | None, seconds: float) -> float | None:
    """Return the average sessions that waited in the last `seconds`: `waits` ended, after `micro` us in all."""
    if _outlasts(now, seconds):
        return float(now.sessions) if now else 0.0
    if micro is None:
        return None
    waited = micro / 1e6
    if waits and waited > waits * seconds:
        # They began before the last poll: of each, no more than the time since counts.
        return float(max(waits, now.sessions if now else 0))
    return waited / seconds


def histograms(facts: Facts) -> tuple[Histogram, ...]:
    """Return the latencies of each event on each instance, totals and what was added since the last poll."""
    waited = _waited(facts)
    usual = _histograms(facts, EventHistogram, waited)
    known = {each.event for each in usual}
    return (*usual, *(each for each in _histograms(facts, WatchedHistogram, waited) if each.event not in known))


_ALIKE = 0.2
"""Part by which the intervals of two views may differ that are read one after the other in each poll."""

Counts = dict[tuple[int, str], dict[int, int]]
"""Waits by bound, of each event on each instance."""

Measured = dict[tuple[int, str], tuple[str, EventWaits | None, EventWaits | None]]
"""Wait class, waits since startup and since the last poll, of each event on each instance."""


def _histograms(facts: Facts, record: type[Any], waited: Measured) -> list[Histogram]:
    seconds = facts.deltas.interval(record)
    together = _is_alike(seconds, facts.deltas.interval(SystemEvent))
    if "wait_count" in facts.snapshot.section(record).absent:
        return []
    before = _counts(facts.deltas.before(record))
    read = {inst_id for inst_id, _ in before} if record is EventHistogram else set()
    readings = []
    for place, counts in sorted(_counts(facts.snapshot.rows(record)).items()):
        # Views have no rows without waits: of an instance that was read before, what is new began at nothing.
        old = before.get(place, {} if place[0] in read else None)
        if old is not None and (not facts.deltas.same_start(place[0]) or _was_reset(old, counts)):
            old = None
        buckets = [
            Bucket(upper, count, None if old is None else count - old.get(upper, 0))
            for upper, count in sorted(counts.items())
        ]
        name, startup, now = waited.get(place, ("", None, None))
        measured = now if old is not None and together else None
        readings.append(Histogram(*place, tuple(buckets), seconds, name, startup, measured))
    return readings


def _is_alike(seconds: float | None, others: float | None) -> bool:
    """Whether two intervals are the same: histograms may be read more rarely than what all waits are summed up in."""
    return seconds is not None and others is not None and abs(seconds - others) <= _ALIKE * max(seconds, others)


def _was_reset(old: Mapping[int, int], counts: Mapping[int, int]) -> bool:
    """Whether a bucket holds less than before, or is gone."""
    return any(counts.get(upper, 0) < count for upper, count in old.items())


def _waited(facts: Facts) -> Measured:
    """Return what V$SYSTEM_EVENT measured of each event."""
    before = {(row.inst_id, row.event): row for row in facts.deltas.before(SystemEvent)}
    read = {inst_id for inst_id, _ in before}
    found: Measured = {}
    for row in facts.snapshot.rows(SystemEvent):
        place = (row.inst_id, row.event)
        now = None
        if row.inst_id in read and facts.deltas.same_start(row.inst_id):
            old = before.get(place)
            now = _event_waits(_grown(row, old) if old else (row.total_waits, row.time_waited_micro))
        found[place] = (row.wait_class, _event_waits((row.total_waits, row.time_waited_micro)), now)
    return found


def _event_waits(told: tuple[int | None, int | None] | None) -> EventWaits | None:
    """Return waits and their time, None where one of the two is not told."""
    if told is None or told[0] is None or told[1] is None:
        return None
    return EventWaits(told[0], told[1])


def _counts(rows: Iterable[EventHistogram | WatchedHistogram]) -> Counts:
    """Return the waits per bucket of each event on each instance.

    Containers of one event are summed, and so are instances that were read without their number. What no bucket can be
    is left out: a file that somebody sent may hold anything.
    """
    found: Counts = {}
    for inst_id, event, upper, count in rows:
        if upper <= 0 or count < 0:
            continue
        buckets = found.get((inst_id, event))
        if buckets is None:
            buckets = found[inst_id, event] = {}
        buckets[upper] = buckets.get(upper, 0) + count
    return found


def downgrades(facts: Facts) -> tuple[Downgrades, ...]:
    """Return the parallel operations by class, in the order they were read; none where their number is not told."""
    deltas = facts.deltas
    if not {"name", "value"}.isdisjoint(facts.snapshot.section(Sysstat).absent):
        return ()
    before = {(row.inst_id, row.name): row.value for row in deltas.before(Sysstat)}
    found = []
    for row in facts.snapshot.rows(Sysstat):
        if row.name == REDO_SIZE:
            continue
        old = before.get((row.inst_id, row.name))
        delta = row.value - old if old is not None and old <= row.value and deltas.same_start(row.inst_id) else None
        found.append(Downgrades(row.inst_id, row.name, row.value, delta))
    return tuple(found)
