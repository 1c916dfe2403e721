"""The replay: observed statements from a CSV file, played again through the model of the queue.

All times are seconds.

Assumptions, which `whatif_text.py` shows to the user: a statement needs the servers that it had, arrives when it
arrived, and runs for as long as it ran, however many others run at the same time.
"""

from __future__ import annotations

import csv
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from heapq import heappop, heappush
from io import TextIOWrapper
from itertools import combinations
from math import inf
from pathlib import Path
from statistics import fmean, median_high
from sys import intern
from typing import Any, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from presman.analysis.trends.statement_runs import Arrival, ArrivalOutcome
from presman.base.errors import InputError
from presman.base.formats import counted
from presman.base.private_files import open_plain, short_lines
from presman.base.text import clean, one_line
from presman.forecast import scheduler
from presman.forecast.scheduler import LEVELS, Group, QueueRule
from presman.sources.simulator.plan_tree import Node

# ---- Arrivals as a CSV file: what `presman export --measure arrivals` writes and `presman whatif` reads.

MOST_GROUPS, MOST_ARRIVALS = 2000, 200_000
"""The most groups in a replay, counted per container, and the most statements, which need a kilobyte of memory each."""


def read_arrivals(path: Path) -> list[Arrival]:
    """Return the arrivals in a file, in order of time. Raises InputError."""
    try:
        with TextIOWrapper(open_plain(path), encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(short_lines(file))
            if missing := [name for name in COLUMNS if name not in (reader.fieldnames or ())]:
                raise InputError(f"{path}: no column {missing[0]!r}: is it from `presman export --measure arrivals`?")
            found = list(_arrivals(path, reader))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    if not found:
        raise InputError(f"{path} has no statements")
    return sorted(found, key=lambda each: each.at)


def _arrivals(path: Path, reader: csv.DictReader[str]) -> Iterable[Arrival]:
    groups = set()
    for number, row in enumerate(reader, 1):
        try:
            found = arrival(row)
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"{path}, line {reader.line_num}: {one_line(clean(str(error)), 100)}") from error
        groups.add((found.con_id, found.group))
        if len(groups) > MOST_GROUPS or number > MOST_ARRIVALS:
            many = counted(MOST_ARRIVALS, "statement") if number > MOST_ARRIVALS else counted(MOST_GROUPS, "group")
            raise InputError(f"{path}, line {reader.line_num}: more than {many} cannot be replayed")
        yield found


def arrival(row: dict[str, str]) -> Arrival:
    """Return the arrival in one row. Raises ValueError, TypeError or KeyError."""
    found = Arrival._make(read(row[name]) for name, read in COLUMNS.items())
    if found.servers < 0 or found.waited < 0 or (found.ran or 0) < 0:
        raise ValueError("a negative figure")
    return found


@lru_cache(1000)
def _instant(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError(f"no time zone in {text!r}")
    return found


def _if_any(read: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda text: read(text) if text else None


COLUMNS: Mapping[str, Callable[[str], Any]] = {
    "arrived": _instant,
    "con_id": lambda text: int(text or 0),
    "consumer_group": lambda text: intern(clean(text)),
    "servers": int,
    "waited_s": float,
    "run_s": _if_any(float),
    "fate": ArrivalOutcome,
    "px_servers_target": _if_any(int),
    "px_servers_limit": _if_any(int),
    "guaranteed_share": lambda text: float(text or 0),
    "timeout_s": _if_any(float),
    "timeout_action": clean,
    "first_seen": _instant,
    "last_seen": _instant,
}
"""The columns to read, in the order of :class:`Arrival`, each with its reader; the file may have others."""


# ---- The replay.

COURSES = 9
"""Number of courses of a replay, each with other random draws between the groups."""

UNLIMITED = 1_000_000
"""Servers of an unknown target."""
_SETTLED = 1.0
"""Seconds of waiting that still count as none: polls are no more precise."""


class Rules(Struct, frozen=True):
    """The rules of a replay: the target of servers; by group its limit, weight, level (1..8), timeout and its action.

    `plan`, where available, orders the groups instead of weights and levels; `one_queue` means that nothing does.
    """

    target: int
    limits: Mapping[Group, int] = field(default_factory=dict)
    weights: Mapping[Group, float] = field(default_factory=dict)
    levels: Mapping[Group, int] = field(default_factory=dict)
    timeouts: Mapping[Group, float] = field(default_factory=dict)
    actions: Mapping[Group, str] = field(default_factory=dict)
    plan: scheduler.PlanNode | None = None
    one_queue: bool = False


class ReplayedStatement(NamedTuple):
    """A replayed statement: seconds in the queue, whether it timed out, and whether it still waits at the end."""

    group: Group
    waited: float
    timed_out: bool
    is_cut: bool = False


class Replayed(Struct, frozen=True):
    """The result: the outcome of each arrival, in order, and the most servers in use at once (median of the courses).

    `spread` is the mean difference in seconds between a statement's waits in two courses.
    """

    statements: tuple[ReplayedStatement, ...]
    peak: int
    spread: float = 0.0


def observed_rules(arrivals: Sequence[Arrival]) -> Rules:
    """Return the rules in force when the statements were observed: for each group the newest available."""
    target = next((each.target for each in reversed(arrivals) if each.target), UNLIMITED)
    named = [(_group(each), each) for each in arrivals]
    return Rules(
        target,
        {group: each.limit for group, each in named if each.limit is not None},
        {group: each.weight for group, each in named},
        {group: 1 for group, _ in named},
        {group: each.timeout for group, each in named if each.timeout is not None},
        {group: each.action for group, each in named},
    )


def observed(arrivals: Sequence[Arrival]) -> tuple[ReplayedStatement, ...]:
    """Return the real outcomes of the statements."""
    found = []
    for each in arrivals:
        # The end of a wait is known only to an interval of polls: 5 seconds less than the timeout may be the timeout.
        timed_out = each.outcome is ArrivalOutcome.LEFT and each.timeout is not None and each.waited >= each.timeout - 5
        found.append(ReplayedStatement(_group(each), each.waited, timed_out, each.outcome is ArrivalOutcome.QUEUED))
    return tuple(found)


def replay(
    arrivals: Sequence[Arrival],
    rules: Rules,
    seed: int = 1,
    courses: int = COURSES,
    free: frozenset[int] | None = None,
) -> Replayed:
    """Play `arrivals` (in order of time) under `rules`, from the first poll of the observation to its last.

    `free` are statements that never queue; None means those that :func:`bypassing` finds.

    The plan draws at random which group's statement is next, and the draws are not observable. So several courses are
    played, each with its own draws, and each statement's wait is the median of its waits.
    """
    never_queue = bypassing(arrivals) if free is None else free
    played = [_Play(arrivals, rules, f"{seed}/whatif/{course}", never_queue).run() for course in range(courses)]
    statements = zip(*(each.statements for each in played), strict=True)
    together = tuple(sorted(same, key=lambda each: each.waited)[courses // 2] for same in statements)
    waits = [[one.waited for one in each.statements] for each in played]
    apart = (abs(a - b) for one, other in combinations(waits, 2) for a, b in zip(one, other, strict=True))
    spread = fmean(apart) if courses > 1 and arrivals else 0.0
    return Replayed(together, median_high(each.peak for each in played), spread)


def _limits(rules: Rules, groups: Sequence[Group]) -> scheduler.Limits:
    table, nodes = {}, []
    for group in groups:
        most = rules.limits.get(group)
        pools = () if most is None else (scheduler.ServerPoolLimit(f"{group.con_id} {group.name}", most),)
        table[group] = QueueRule(pools, rules.timeouts.get(group), rules.actions.get(group) or "CANCEL")
        # Above 0: without a weight on any level a group would never be drawn while another waits.
        weights = [0.0] * LEVELS
        weights[min(LEVELS, max(1, rules.levels.get(group, 1))) - 1] = max(rules.weights.get(group, 0.0), 1e-6)
        nodes.append(Node(group.name, tuple(weights), group=group))
    queueing = scheduler.Queueing.FIFO if rules.one_queue else scheduler.Queueing.FULL
    plan = rules.plan or Node("observed", children=tuple(nodes))
    return scheduler.Limits(rules.target, UNLIMITED, queueing, table, plan)


class _Play:
    def __init__(self, arrivals: Sequence[Arrival], rules: Rules, seed: str, free: frozenset[int]) -> None:
        self._arrivals = arrivals
        self._begin = min(each.first for each in arrivals)
        self._end = (max(each.last for each in arrivals) - self._begin).total_seconds()
        groups = sorted({_group(each) for each in arrivals})
        self._queue = scheduler.StatementQueue(_limits(rules, groups), scheduler.SeededRandom(seed))
        self._mean = _mean_runs(arrivals)
        self._free = free
        self._events: list[tuple[float, int, int, int]] = []
        self._entries: dict[int, scheduler.QueueEntry] = {}
        self._left: set[int] = set()
        self._statements = [ReplayedStatement(_group(each), 0.0, False) for each in arrivals]
        self._peak = 0

    def run(self) -> Replayed:
        """Play to the end of the observation."""
        for order, (came, number) in enumerate(in_order(self._arrivals, self._begin)):
            heappush(self._events, (came, 1, order, number))
        while True:
            timeout = self._queue.next_timeout()
            now = min(self._events[0][0] if self._events else inf, inf if timeout is None else timeout)
            if now > self._end:
                break
            while self._events and self._events[0][0] <= now:
                # At the same instant an end (0) comes before an arrival (1), which then finds the servers free.
                _, kind, _, number = heappop(self._events)
                if kind == 0:
                    self._queue.release(self._entries[number])
                else:
                    self._arrive(number, now)
            expired = self._queue.expire(now) if now == timeout else ()
            for entry, outcome in expired:
                self._waited(entry.number, now, timed_out=True)
                if outcome is scheduler.QueueOutcome.FORCED:
                    self._start(entry.number, now)
            for entry in self._queue.pump():
                self._waited(entry.number, now)
                self._start(entry.number, now)
        for number, entry in self._entries.items():
            if number not in self._left and not entry.running:
                self._waited(number, self._end, is_cut=True)
        return Replayed(tuple(self._statements), self._peak)

    def _arrive(self, number: int, now: float) -> None:
        each = self._arrivals[number]
        came = min(now, (each.at - self._begin).total_seconds())
        entry = scheduler.QueueEntry(number, _group(each), max(1, each.servers), 1, came)
        entry.queues = number not in self._free
        self._entries[number] = entry
        if self._queue.submit(entry):
            self._start(number, now)

    def _start(self, number: int, now: float) -> None:
        self._left.add(number)
        self._peak = max(self._peak, self._queue.in_use)
        heappush(self._events, (now + self._run_time(number, now), 0, number, number))

    def _run_time(self, number: int, now: float) -> float:
        each = self._arrivals[number]
        if each.ran is None:
            return self._mean.get((each.con_id, each.group), self._mean.get((-1, ""), 60.0))
        if each.outcome is ArrivalOutcome.RUNNING:
            return max(each.ran, self._end - now) + 1.0  # it was still running when the observation ended
        # Of a statement that already ran when the observation began, only the rest is played.
        started_before = (self._begin - each.at).total_seconds() - each.waited
        return max(0.0, each.ran - max(0.0, started_before))

    def _waited(self, number: int, now: float, *, timed_out: bool = False, is_cut: bool = False) -> None:
        entry = self._entries[number]
        self._left.add(number)
        self._statements[number] = ReplayedStatement(entry.group, max(0.0, now - entry.submitted), timed_out, is_cut)


def in_order(arrivals: Sequence[Arrival], begin: datetime) -> list[tuple[float, int]]:
    """Return when each statement comes to the queue (seconds from `begin`) and its number, in order of time.

    Arrivals are known only to a second, and a group's queue is first in, first out: of two that came together, the one
    that started first came first.
    """
    before: dict[Group, float] = {}
    found = []
    for number in sorted(range(len(arrivals)), key=lambda number: _starts(arrivals[number])):
        each = arrivals[number]
        group = _group(each)
        came = max(0.0, (each.at - begin).total_seconds())
        if came < before.get(group, 0.0) <= came + _SETTLED:
            came = before[group]
        before[group] = came
        found.append((came, number))
    return sorted(found, key=lambda arrival: arrival[0])


def bypassing(arrivals: Sequence[Arrival]) -> frozenset[int]:
    """Return the numbers of statements that did not queue although there was no room, or already ran at the start."""
    begin = min(each.first for each in arrivals)
    started = ((n, each) for n, each in enumerate(arrivals) if each.outcome is not ArrivalOutcome.QUEUED)
    found = {number for number, each in started if _starts(each) < begin.timestamp()}
    ends: list[tuple[float, int]] = []
    known = (n for n, each in enumerate(arrivals) if each.ran is not None)
    by_start = sorted(known, key=lambda n: _starts(arrivals[n]))
    coming, in_use, held = deque(by_start), 0, Counter[Group]()
    # Start and end are known to half a poll's time: what ends or starts at that moment does not count as running.
    for number in by_start:
        each, start = arrivals[number], _starts(arrivals[number])
        while coming and _starts(arrivals[coming[0]]) < start - _SETTLED:
            begun = arrivals[coming[0]]
            heappush(ends, (_starts(begun) + (begun.ran or 0.0), coming.popleft()))
            in_use += begun.servers
            held[_group(begun)] += begun.servers
        while ends and ends[0][0] <= start + 2 * _SETTLED:
            over = arrivals[heappop(ends)[1]]
            in_use -= over.servers
            held[_group(over)] -= over.servers
        is_past = _is_past(each.target, in_use, each) or _is_past(each.limit, held[_group(each)], each)
        if number not in found and each.waited <= _SETTLED and is_past:
            found.add(number)
    return frozenset(found)


def _is_past(most: int | None, there: int, each: Arrival) -> bool:
    """Return whether a statement does not fit next to the servers that are there."""
    return most is not None and there > 0 and there + each.servers > most


def _group(each: Arrival) -> Group:
    return Group(each.con_id, each.group)


def _starts(each: Arrival) -> float:
    return each.at.timestamp() + each.waited


def _mean_runs(arrivals: Sequence[Arrival]) -> dict[tuple[int, str], float]:
    runs: dict[tuple[int, str], list[float]] = {}
    for each in arrivals:
        if each.outcome is ArrivalOutcome.ENDED and each.ran is not None:
            runs.setdefault((each.con_id, each.group), []).append(each.ran)
            runs.setdefault((-1, ""), []).append(each.ran)
    return {key: fmean(values) for key, values in runs.items()}


def changed(rules: Rules, **changes: object) -> Rules:
    """Return other rules; mappings among the changes are merged into the existing ones."""
    merged = {name: value for name, value in changes.items() if value is not None}
    merged |= {name: {**getattr(rules, name), **value} for name, value in merged.items() if isinstance(value, Mapping)}
    return replace(rules, **merged)


def is_longer(wait: float, other: float) -> bool:
    """Whether the other wait is enough longer to be shown as different."""
    return other > 1.05 * wait + 1


def error(observed: Sequence[ReplayedStatement], replayed: Sequence[ReplayedStatement]) -> float | None:
    """Return the mean error of the replayed waits in seconds, None if no wait can be compared.

    A statement that still waits at the end, both as observed and as replayed, does not count: its two waits are equal,
    however wrong the replay is.
    """
    pairs = zip(observed, replayed, strict=True)
    missed = [abs(one.waited - other.waited) for one, other in pairs if not (one.is_cut and other.is_cut)]
    return fmean(missed) if missed else None
