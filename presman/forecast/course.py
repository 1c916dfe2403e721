"""One possible course of the queue: random draws, then a run of the queue's own scheduler. All times in seconds.

The draws are made before the run and do not depend on it: a course without one of the holders differs from the other
only by that (common random numbers).
"""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf
from operator import attrgetter
from random import Random
from typing import NamedTuple

from presman.analysis.readings.statement_readings import SAME_WAIT
from presman.forecast.scheduler import Group, Limits, QueueEntry, QueueOutcome, SeededRandom, StatementQueue
from presman.forecast.statement_history import Durations

HORIZON = 4 * 3600.0
"""Seconds after which a course ends, even if statements still wait."""

MOST_STEPS = 4_000
"""Ends and arrivals after which a course ends."""


class Holder(NamedTuple):
    """A statement that has held `servers` for `held` seconds; `duration` is None if it is unknown.

    Without a duration it keeps them for as long again as it has held them (as likely less as more), or forever if
    `held` is 0. Its current operation goes on for `remaining` seconds (V$SESSION_LONGOPS), None if there is no
    estimate. `times` are ratios, ascending: the time that similar statements took to their end, divided by such an
    estimate; () if none was seen. `managed` says whether the queue counts the statement in its group.
    """

    group: Group
    servers: int
    held: float
    duration: Durations | None
    remaining: float | None = None
    times: tuple[float, ...] = ()
    managed: bool = True


class Waiting(NamedTuple):
    """A statement that has `waited` and wants `low` to `high` servers; `duration` is its run time after the start.

    `is_next` says that its wait event marks it as the next to start.
    """

    group: Group
    low: int
    high: int
    waited: float
    duration: Durations
    is_next: bool = False


class PastArrival(NamedTuple):
    """A statement that arrived `at` seconds after observation began; `duration` is the run time of such statements.

    `queues` is false if its group bypasses the queue.
    """

    at: float
    group: Group
    servers: int
    duration: Durations
    queues: bool = True


class QueueNow(NamedTuple):
    """The queue at one instant: its rules, the holders of servers, and the waiting statements in order of arrival.

    `arrivals` are those in the `watched` seconds before, by time: future arrivals are drawn from them.
    """

    limits: Limits
    holders: Sequence[Holder]
    waiting: Sequence[Waiting]
    arrivals: Sequence[PastArrival] = ()
    watched: float = 0.0


class Draw(NamedTuple):
    """The random draws: the time each holder has `left`, what each waiting statement `wants` and how long it `lasts`.

    `waited` orders the waiting statements: of two that have waited equally long, the first arrival is unknown.

    Past arrivals are repeated, from `since` seconds after their beginning and then from the beginning on, so statements
    that came together come together again.
    """

    left: tuple[float, ...]
    wants: tuple[int, ...]
    lasts: tuple[float, ...]
    waited: tuple[float, ...]
    since: float
    seed: str


class Played(NamedTuple):
    """Seconds after which each waiting statement started, infinity if it did not start; the number of `steps`.

    `until` is the end of the course in seconds: less than the horizon if the steps ran out while statements waited.
    """

    starts: tuple[float, ...]
    steps: int
    until: float = HORIZON

    @property
    def whole(self) -> bool:
        """Return whether the course was played to its end."""
        return self.until >= HORIZON

    @property
    def at_once(self) -> int:
        """Return the number of statements that started at once."""
        return sum(start <= 0.0 for start in self.starts)

    @property
    def empty(self) -> float:
        """Return the seconds after which the last of them started."""
        return max(self.starts, default=0.0)


def draw(now: QueueNow, seed: str) -> Draw:
    """Return one random choice of all that is unknown.

    Whether the queue counts one set of servers as the DOP or twice the DOP is not documented, but it is the same for
    all statements.
    """
    random = Random(seed)
    high = random.random() < 0.5
    left = tuple(_left(each, random.random()) for each in now.holders)
    wants = tuple(each.high if high else each.low for each in now.waiting)
    lasts = tuple(each.duration.left(0.0, random.random()) for each in now.waiting)
    since = random.random() * now.watched
    # Waits that differ by less than SAME_WAIT may be in either order, so each draw mixes them. The statement whose wait
    # event says that it is next comes before all of them.
    waited = tuple(each.waited + SAME_WAIT * (2.0 if each.is_next else random.random()) for each in now.waiting)
    return Draw(left, wants, lasts, waited, since, seed)


def _left(holder: Holder, chance: float) -> float:
    if holder.remaining is not None and holder.times:
        return holder.remaining * holder.times[int(chance * len(holder.times))]
    if holder.duration is None:
        # These odds have the median 1: as likely as not it keeps its servers for longer than it has held them.
        return holder.held * chance / (1.0 - chance) if holder.held else inf
    # V$SESSION_LONGOPS knows the current operation only: what follows it lasts as for a statement that has run until
    # then.
    at_least = holder.remaining or 0.0
    return at_least + holder.duration.left(holder.held + at_least, chance)


def play(now: QueueNow, drawn: Draw, ended: Collection[int] = ()) -> Played:
    """Return the course of the waiting statements; holders in `ended` (by index) are absent from the start."""
    return _Course(now, drawn, ended).run()


# An arrival that never comes, after the last one: the loop needs no case for "no more arrivals".
_NOBODY = inf, PastArrival(inf, Group(0, ""), 0, Durations((1.0,), (0.5,), 1.0))


def _repeated_arrivals(
    arrivals: Sequence[PastArrival], watched: float, since: float
) -> Iterator[tuple[float, PastArrival]]:
    """Yield the arrivals repeatedly, each with the seconds after which it comes."""
    first = bisect_left(arrivals, since, key=attrgetter("at"))
    order = [*((each, 0.0) for each in arrivals[first:]), *((each, watched) for each in arrivals[:first])]
    for turn in count() if order and watched > 0 else ():
        for each, wrapped in order:
            yield each.at - since + wrapped + turn * watched, each


class _Course:
    def __init__(self, now: QueueNow, drawn: Draw, ended: Collection[int]) -> None:
        self._now, self._drawn = now, drawn
        self._queue = StatementQueue(now.limits, SeededRandom(f"{drawn.seed}/order"))
        self._chance = SeededRandom(f"{drawn.seed}/arrivals")
        self._lasts: dict[int, float] = {}
        # The number decides between two ends at the same time: entries have no order of their own.
        self._ends: list[tuple[float, int, QueueEntry]] = []
        self._starts = [inf] * len(now.waiting)
        self._to_start = len(now.waiting)
        self._moves = True
        """Whether anything happened that could let another statement start."""
        self._next = len(now.waiting)
        for index, holder in enumerate(now.holders):
            if index not in ended:
                self._hold(holder, drawn.left[index])
        # The longest wait first: the model takes the order of a group's queue from the order of these calls.
        for index in sorted(range(len(now.waiting)), key=lambda index: -drawn.waited[index]):
            each = now.waiting[index]
            self._submit(index, each.group, drawn.wants[index], -each.waited, drawn.lasts[index])
        heapify(self._ends)
        self._coming = _repeated_arrivals(now.arrivals, now.watched, drawn.since)
        self._comes, self._newcomer = next(self._coming, _NOBODY)

    def run(self) -> Played:
        """Play until all statements that wait now have started."""
        steps = len(self._starts) + len(self._now.holders)
        most, until = steps + MOST_STEPS, 0.0
        self._start(0.0, 0.0)
        while self._to_start > 0 and steps < most:
            timeout = self._queue.next_timeout()
            timeout = inf if timeout is None else timeout
            when = min(self._ends[0][0] if self._ends else inf, self._comes, timeout)
            if when > HORIZON:
                break
            until = when
            # Ends come before arrivals of the same instant: what comes may use the servers that become free.
            while self._ends and self._ends[0][0] <= when:
                steps += 1
                self._queue.release(heappop(self._ends)[2])
                self._moves = True
            while self._comes <= when:
                steps += 1
                self._come(when)
            self._start(when, timeout)
        return Played(tuple(self._starts), steps, HORIZON if steps < most else until)

    def _hold(self, holder: Holder, left: float) -> None:
        # The model counts servers alone, so every statement is entered as one set with a DOP of all its servers.
        entry = QueueEntry(self._next, holder.group, max(1, holder.servers), 1, 0.0, managed=holder.managed)
        self._queue.resume(entry, holder.servers)
        if left < inf:
            self._ends.append((left, self._next, entry))
        self._next += 1

    def _submit(self, number: int, group: Group, servers: int, at: float, lasts: float, queues: bool = True) -> None:
        entry = QueueEntry(number, group, max(1, servers), 1, at, queues)
        self._lasts[number] = lasts
        if self._queue.submit(entry):
            self._started(entry, at)
        elif self._queue.is_first(entry):  # behind a head it changes nothing
            self._moves = True

    def _come(self, when: float) -> None:
        each = self._newcomer
        lasts = each.duration.left(0.0, self._chance.random.random())
        self._submit(self._next, each.group, each.servers, when, lasts, each.queues)
        self._next += 1
        self._comes, self._newcomer = next(self._coming, _NOBODY)

    def _start(self, when: float, timeout: float = inf) -> None:
        for entry, outcome in self._queue.expire(when) if when >= timeout else ():
            self._moves = True
            if outcome is QueueOutcome.FORCED:
                self._started(entry, when)
            else:  # cancelled: its start stays infinite, and the course need not wait for it
                self._to_start -= entry.number < len(self._starts)
        if self._moves:
            self._moves = False
            for entry in self._queue.pump():
                self._started(entry, when)

    def _started(self, entry: QueueEntry, when: float) -> None:
        if entry.number < len(self._starts):
            self._starts[entry.number] = max(0.0, when)
            self._to_start -= 1
        heappush(self._ends, (max(0.0, when) + self._lasts.pop(entry.number), entry.number, entry))
