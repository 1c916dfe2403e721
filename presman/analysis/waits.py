"""What the database waits for: events, their latencies, and parallel operations by class."""

from __future__ import annotations

from collections.abc import Iterable

from presman.analysis.deltas import difference
from presman.analysis.facts import Facts
from presman.analysis.reading import Bucket, Downgrades, Histogram, WaitReading
from presman.rows import EventHistogram, Sysstat, SystemEvent

_BINARY = 1.05
"""Histogram bounds are powers of two: 1,024 us stand for one millisecond, 2**20 for one second."""


def events(facts: Facts) -> tuple[WaitReading, ...]:
    """Return the events waited for since the last poll, by average sessions waiting, the most first."""
    deltas = facts.deltas
    seconds = deltas.interval(SystemEvent)
    before = {(row.inst_id, row.event): row for row in deltas.before(SystemEvent)}
    if seconds is None or not before:
        return ()
    same = {inst_id: deltas.same_start(inst_id) for inst_id, _ in before}
    found = []
    for row in facts.snapshot.rows(SystemEvent):
        old = before.get((row.inst_id, row.event))
        if old is None or not same[row.inst_id]:
            continue
        grown = difference((row.total_waits, row.time_waited_micro), (old.total_waits, old.time_waited_micro))
        if grown is None or not any(grown):
            continue
        waits, micro = grown
        mean = micro / waits / 1000 if waits else None
        found.append(WaitReading(row.inst_id, row.event, row.wait_class, micro / 1e6 / seconds, waits / seconds, mean))
    found.sort(key=lambda each: (-each.sessions, each.inst_id, each.event))
    return tuple(found)


def histograms(facts: Facts) -> tuple[Histogram, ...]:
    """Return the latencies of each event on each instance, totals and what was added since the last poll."""
    before = _counts(facts.deltas.before(EventHistogram))
    readings = []
    for place, counts in sorted(_counts(facts.snapshot.rows(EventHistogram)).items()):
        old = before.get(place) if facts.deltas.same_start(place[0]) else None
        # A bucket that was not there before held nothing.
        if old is not None and any(count < old.get(upper, 0) for upper, count in counts.items()):
            old = None
        buckets = [
            Bucket(upper, count, None if old is None else count - old.get(upper, 0))
            for upper, count in sorted(counts.items())
        ]
        readings.append(Histogram(*place, tuple(buckets)))
    return tuple(readings)


def _counts(rows: Iterable[EventHistogram]) -> dict[tuple[int, str], dict[int, int]]:
    """Return the waits per bucket of each event on each instance; containers of one event are summed."""
    found: dict[tuple[int, str], dict[int, int]] = {}
    for inst_id, event, upper, count in rows:
        buckets = found.get((inst_id, event))
        if buckets is None:
            buckets = found[inst_id, event] = {}
        buckets[upper] = buckets.get(upper, 0) + count
    return found


def percent_under(histogram: Histogram, microseconds: float, *, since_poll: bool = False) -> float | None:
    """Return the percent of waits shorter than `microseconds`; None without waits, or without a delta to take.

    Only whole buckets count, so the figure is never too high. `since_poll` takes the last interval, not the totals.
    """
    counts = [(bucket.upper_us, bucket.delta if since_poll else bucket.count) for bucket in histogram.buckets]
    if any(count is None for _, count in counts):
        return None
    total = sum(count or 0 for _, count in counts)
    under = sum(count or 0 for upper, count in counts if upper <= microseconds * _BINARY)
    return 100 * under / total if total > 0 else None


def downgrades(facts: Facts) -> tuple[Downgrades, ...]:
    """Return the parallel operations by class, in the order they were read."""
    deltas = facts.deltas
    before = {(row.inst_id, row.name): row.value for row in deltas.before(Sysstat)}
    found = []
    for row in facts.snapshot.rows(Sysstat):
        old = before.get((row.inst_id, row.name))
        delta = row.value - old if old is not None and old <= row.value and deltas.same_start(row.inst_id) else None
        found.append(Downgrades(row.inst_id, row.name, row.value, delta))
    return tuple(found)
