"""Waits of the database: events, their latencies, redo writes, I/O outliers, and parallel operations by class.

On some platforms the latency column of V$IO_OUTLIER and V$LGWRIO_OUTLIER has been seen to hold no latency: its values
only grew from row to row. presman checks the values before it shows them.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Any, NamedTuple

from msgspec.structs import replace

from presman.analysis.facts.facts import Facts
from presman.analysis.latency.histograms import OPEN_FROM, is_alike
from presman.analysis.readings.reading import CLUSTER
from presman.analysis.readings.statement_readings import Downgrades
from presman.analysis.readings.wait_readings import (
    Bucket,
    EventWaits,
    Histogram,
    Outlier,
    OutlierReading,
    RedoHealth,
    WaitReading,
)
from presman.base.sums import added, grouped, largest
from presman.rows.instance_rows import EventHistogram, IoOutlier, LgwrioOutlier, Sysstat, SystemEvent, WatchedHistogram
from presman.rows.snapshot import Snapshot

_event, _statistic = attrgetter("inst_id", "event"), attrgetter("inst_id", "name")

SYNC = "log file sync"
WRITE = "log file parallel write"
REDO_SIZE = "redo size"
_MB = 1 << 20


def redo(facts: Facts, waits: Iterable[WaitReading]) -> tuple[RedoHealth, ...]:
    """Return the redo writes of the cluster, then of each instance if there are several; empty without a delta."""
    rates = _rates(facts)
    found = [wait for wait in waits if wait.event in (SYNC, WRITE)]
    inst_ids = sorted({wait.inst_id for wait in found} | rates.keys())
    if not inst_ids:
        return ()
    whole = _health(CLUSTER, found, sum(rates.values()) if rates else None)
    if len(inst_ids) == 1:
        return (whole,)
    instances = [_health(each, [wait for wait in found if wait.inst_id == each], rates.get(each)) for each in inst_ids]
    return (whole, *instances)


def _rates(facts: Facts) -> dict[int, float]:
    """Return MB of redo per second by instance (V$SYSSTAT, 'redo size')."""
    seconds = facts.deltas.interval(Sysstat) if redo_sizes(facts.snapshot) else None
    pairs = ((row, old) for row, old in facts.deltas.pairs(Sysstat, _statistic) if row.name == REDO_SIZE)
    grown = {row.inst_id: row.value - old.value for row, old in pairs if old is not None and row.value >= old.value}
    return {inst_id: number / seconds / _MB for inst_id, number in grown.items()} if seconds else {}


def redo_sizes(snapshot: Snapshot) -> dict[int, int]:
    """Return the bytes of redo since startup by instance; empty if V$SYSSTAT has no values."""
    if "value" in snapshot.section(Sysstat).absent:
        return {}
    return {row.inst_id: row.value for row in snapshot.rows(Sysstat) if row.name == REDO_SIZE}


def _health(inst_id: int, waits: Iterable[WaitReading], redo_mb: float | None) -> RedoHealth:
    means = (_mean([each for each in waits if each.event == name]) for name in (SYNC, WRITE))
    (sync_ms, syncs), (write_ms, writes) = means
    # A session waits for log file sync until LGWR has written: the rest of its wait is not the write itself.
    outside = 100 * max(0.0, sync_ms - write_ms) / sync_ms if sync_ms and write_ms is not None else None
    return RedoHealth(inst_id, sync_ms, write_ms, syncs, writes, outside, redo_mb)


def _mean(waits: Iterable[WaitReading]) -> tuple[float | None, float | None]:
    """Return the mean of ended waits in milliseconds, and their number per second."""
    ended, per_second = (added(getattr(wait, name) for wait in waits) for name in ("ended", "per_second"))
    return 1000 * ended / per_second if ended is not None and per_second else None, per_second


VIEWS = {IoOutlier: "V$IO_OUTLIER", LgwrioOutlier: "V$LGWRIO_OUTLIER"}

LONGEST_MS = 3_600_000
"""One hour: no storage answers that late without failing first."""

GROWING = 5
"""This many rows in ascending order are no chance: its probability is one in 120."""

BEYOND = 4
"""A latency this many times above the bound of the longest wait since startup contradicts the histogram."""


def outliers(facts: Facts, histograms: Sequence[Histogram]) -> tuple[OutlierReading, ...]:
    """Return the rows queried from the views of outliers; empty if they were not queried."""
    found = []
    for record, view in VIEWS.items():
        section = facts.snapshot.sections.get(record)
        if section is None or section.problem:
            continue
        rows = tuple(_outlier(view, row) for row in section.rows)
        reasons = doubts([(row.inst_id, row.wait_event, row.io_latency) for row in section.rows], histograms)
        if reasons:  # if some of the values are no latencies, none of them is shown
            rows = tuple(replace(row, latency_ms=None, disks=()) for row in rows)
        found.append(OutlierReading(view, section.at, rows, reasons))
    return tuple(found)


def _outlier(view: str, row: IoOutlier | LgwrioOutlier) -> Outlier:
    disks = (
        (row.disk1_name, row.disk1_latency),
        (row.disk2_name, row.disk2_latency),
        (row.disk3_name, row.disk3_latency),
    )
    named = tuple(disk for disk in disks if disk[0])
    what = row.function_name, row.io_size, row.wait_event, row.file_name, row.io_latency
    return Outlier(view, row.inst_id, *what, named)


Latency = tuple[int, str, int]
"""Instance, wait event and milliseconds of one row."""


def doubts(rows: Sequence[Latency], histograms: Sequence[Histogram] = ()) -> tuple[str, ...]:
    """Return why the latencies of `rows`, in the order they were read, are not trusted; empty if they may be true."""
    found = []
    for instance in sorted({inst_id for inst_id, _, _ in rows}):
        values = [value for inst_id, _, value in rows if inst_id == instance]
        if len(values) >= GROWING and all(earlier < later for earlier, later in pairwise(values)):
            growing = f"instance {instance}: each of the {len(values)} values is larger than the one before"
            found.append(f"{growing}: a clock or a counter, not a latency")
    if any(value < 0 for _, _, value in rows):
        found.append("some values are negative")
    absurd = sum(value > LONGEST_MS for _, _, value in rows)
    if absurd:
        found.append(f"{absurd} of {len(rows)} values are above an hour")
    return (*found, *_contradictions(rows, histograms))


def _contradictions(rows: Sequence[Latency], histograms: Sequence[Histogram]) -> list[str]:
    """Return contradictions to the longest wait for the same event that the histogram has counted."""
    counted = {(each.inst_id, each.event): [row.upper_us for row in each.buckets if row.count] for each in histograms}
    found = []
    for inst_id, event in dict.fromkeys(row[:2] for row in rows):
        longest = max(counted.get((inst_id, event), ()), default=0)
        bound = longest / 1000 if longest < OPEN_FROM else 0.0
        beyond = sum(1 for row in rows if row[:2] == (inst_id, event) and row[2] > BEYOND * bound)
        if bound and beyond:
            wait = f"the longest wait for {event} on instance {inst_id} since startup (under {bound:,.0f} ms)"
            found.append(f"{beyond} values are far above {wait}")
    return found


class WaitingNow(NamedTuple):
    """The sessions that wait for an event now, and the microseconds that the first has waited; None: not known."""

    wait_class: str
    sessions: int
    longest: int | None


def events(facts: Facts) -> tuple[WaitReading, ...]:
    """Return the events waited for since the last poll, by average sessions waiting, most first.

    V$SYSTEM_EVENT counts a wait when it ends, with all of its time. If waits last longer than the time between the
    polls, that gives nothing for minutes and then too much: for these the sessions that wait now are counted.
    """
    seconds, read = facts.deltas.interval(SystemEvent), _read_before(facts)
    if seconds is None or not facts.deltas.before(SystemEvent):
        return ()
    waiting = _waiting(facts)  # the events of V$SESSION; those with a row in V$SYSTEM_EVENT are taken out below
    found = []
    for row, old in facts.deltas.pairs(SystemEvent, _event):
        key = _event(row)
        if old is None:
            continue
        grown = _grown(row, old)
        now = waiting.pop(key, None)
        if grown is None or not (any(grown) or _outlasts(now, seconds)):
            continue
        waits, micro = grown
        mean = micro / waits / 1000 if waits and micro is not None else None
        sessions = _sessions(waits, micro, now, seconds)
        found.append(WaitReading(*key, row.wait_class, sessions, None if waits is None else waits / seconds, mean))
    for key, now in waiting.items():
        if now.wait_class and _outlasts(now, seconds) and key[0] in read:
            # The first such wait since startup: the view has no row until it ends. Without a class it may be idle.
            found.append(WaitReading(*key, now.wait_class, float(now.sessions), 0.0, None))
    found.sort(key=lambda each: (-(each.sessions or 0.0), each.inst_id, each.event))
    return tuple(found)


def _grown(row: SystemEvent, old: SystemEvent) -> tuple[int | None, int | None] | None:
    """Return the waits and microseconds since, None for a missing one; None if one went backwards."""
    pairs = (row.total_waits, old.total_waits), (row.time_waited_micro, old.time_waited_micro)
    waits, micro = (None if after is None or before is None else after - before for after, before in pairs)
    return None if min(waits or 0, micro or 0) < 0 else (waits, micro)


def _waiting(facts: Facts) -> dict[tuple[int, str], WaitingNow]:
    """Return the sessions that wait now by instance and event (V$SESSION: users' sessions), without idle waits."""
    users = facts.sessions.users
    waiting = (row for row in users if row.state == "WAITING" and row.wait_class != "Idle" and row.event)
    found = grouped(waiting, _event).items()
    longest = {key: largest(row.wait_time_micro for row in rows) for key, rows in found}
    return {key: WaitingNow(rows[0].wait_class, len(rows), longest[key]) for key, rows in found}


def _outlasts(now: WaitingNow | None, seconds: float) -> bool:
    return now is not None and now.longest is not None and now.longest >= seconds * 1e6


def _sessions(waits: int | None, micro: int | None, now: WaitingNow | None, seconds: float) -> float | None:
    """Return the average sessions that waited in the last `seconds`: `waits` ended, after `micro` us in total."""
    if _outlasts(now, seconds):
        return float(now.sessions) if now else 0.0
    if micro is None:
        return None
    waited = micro / 1e6
    if waits and waited > waits * seconds:
        # They began before the last poll: each counts only for the time since.
        return float(max(waits, now.sessions if now else 0))
    return waited / seconds


def histograms(facts: Facts) -> tuple[Histogram, ...]:
    """Return the latencies of each event on each instance, totals and what was added since the last poll."""
    waited = _waited(facts)
    usual = _histograms(facts, EventHistogram, waited)
    known = {each.event for each in usual}
    return (*usual, *(each for each in _histograms(facts, WatchedHistogram, waited) if each.event not in known))


Counts = dict[tuple[int, str], dict[int, int]]
"""Waits by bound, of each event on each instance."""

Measured = dict[tuple[int, str], tuple[str, EventWaits | None, EventWaits | None]]
"""Wait class, waits since startup and since the last poll, of each event on each instance."""


def _histograms(facts: Facts, record: type[Any], waited: Measured) -> list[Histogram]:
    seconds = facts.deltas.interval(record)
    together = is_alike(seconds, facts.deltas.interval(SystemEvent))
    if "wait_count" in facts.snapshot.section(record).absent:
        return []
    before = _counts(facts.deltas.before(record))
    read = {inst_id for inst_id, _ in before} if record is EventHistogram else set()
    readings = []
    for key, counts in sorted(_counts(facts.snapshot.rows(record)).items()):
        # Views have no rows without waits: for an instance that was read before, a new row started at zero.
        old = before.get(key, {} if key[0] in read else None)
        if old is not None and (not facts.deltas.same_start(key[0]) or _was_reset(old, counts)):
            old = None
        buckets = [
            Bucket(upper, count, None if old is None else count - old.get(upper, 0))
            for upper, count in sorted(counts.items())
        ]
        name, startup, now = waited.get(key, ("", None, None))
        measured = now if old is not None and together else None
        readings.append(Histogram(*key, tuple(buckets), seconds, name, startup, measured))
    return readings


def _was_reset(old: Mapping[int, int], counts: Mapping[int, int]) -> bool:
    """Whether a bucket has fewer waits than before, or is missing."""
    return any(counts.get(upper, 0) < count for upper, count in old.items())


def _waited(facts: Facts) -> Measured:
    """Return what V$SYSTEM_EVENT measured for each event."""
    read = _read_before(facts)
    found: Measured = {}
    for row, old in facts.deltas.pairs(SystemEvent, _event):
        whole = row.total_waits, row.time_waited_micro
        now = _event_waits(_grown(row, old) if old else whole) if row.inst_id in read else None
        found[_event(row)] = (row.wait_class, _event_waits(whole), now)
    return found


def _read_before(facts: Facts) -> set[int]:
    """Return the instances whose V$SYSTEM_EVENT was read at the previous poll and that have not restarted since."""
    return {row.inst_id for row in facts.deltas.before(SystemEvent)} - facts.deltas.restarted


def _event_waits(totals: tuple[int | None, int | None] | None) -> EventWaits | None:
    """Return waits and their time, None if one of the two is missing."""
    if totals is None or totals[0] is None or totals[1] is None:
        return None
    return EventWaits(totals[0], totals[1])


def _counts(rows: Iterable[EventHistogram | WatchedHistogram]) -> Counts:
    """Return the waits per bucket of each event on each instance.

    Containers of one event are summed, and so are instances that were read without their number. Impossible buckets are
    left out: a file from someone else may hold anything.
    """
    found: Counts = {}
    for inst_id, event, upper, count in rows:
        if upper > 0 and count >= 0:
            buckets = found.setdefault((inst_id, event), {})
            buckets[upper] = buckets.get(upper, 0) + count
    return found


def downgrades(facts: Facts) -> tuple[Downgrades, ...]:
    """Return the parallel operations by class, in the order they were read; empty if their number is missing."""
    if not {"name", "value"}.isdisjoint(facts.snapshot.section(Sysstat).absent):
        return ()
    return tuple(
        Downgrades(*_statistic(row), row.value, row.value - old.value if old and old.value <= row.value else None)
        for row, old in facts.deltas.pairs(Sysstat, _statistic)
        if row.name != REDO_SIZE
    )
