"""One possible course of the queue: drawn by chance, then played through the queue's own scheduler. All in seconds.

What is drawn before it is played is the same however it goes on: a course without one of the holders differs from the
other by that alone (common random numbers).
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
from presman.forecast.scheduler import Chance, Group, Limits, QueueEntry, QueueOutcome, StatementQueue
from presman.forecast.statement_history import Durations

HORIZON = 4 * 3600.0
"""Seconds after which a course ends, whoever still waits."""

MOST_STEPS = 4_000
"""Ends and arrivals after which a course ends."""


class Holder(NamedTuple):
    """A statement that holds `servers`, for `held` seconds so far; `lasts` is None where nothing tells how long.

    Then it may keep them for as long again as it has (as likely less as more); for good, if that is not known either.
    What it does now goes on for `remaining` seconds (V$SESSION_LONGOPS), None where nothing tells; how many times as
    long statements like it went on until their end are `times`, ascending, () where that was not seen yet. `managed`
    tells whether the queue counts it in its group.
    """

    group: Group
    servers: int
    held: float
    lasts: Durations | None
    remaining: float | None = None
    times: tuple[float, ...] = ()
    managed: bool = True


class Waiting(NamedTuple):
    """A statement that has waited for so long and wants `low` to `high` servers; how long it `lasts` then.

    `is_next` tells that its wait event says that it is the next to start.
    """

    group: Group
    low: int
    high: int
    waited: float
    lasts: Durations
    is_next: bool = False


class Came(NamedTuple):
    """A statement that came `at` so many seconds after the beginning of what was seen; how long such a one `lasts`.

    One of a group that bypasses the queue does not queue.
    """

    at: float
    group: Group
    servers: int
    lasts: Durations
    queues: bool = True


class QueueNow(NamedTuple):
    """What the queue is at one instant: its rules, who holds servers, who waits (first come first).

    `came` is who came in the `watched` seconds before, by time: who will come is drawn from it.
    """

    limits: Limits
    holders: Sequence[Holder]
    waiting: Sequence[Waiting]
    came: Sequence[Came] = ()
    watched: float = 0.0


class Draw(NamedTuple):
    """What chance decides: how long each holder has `left`, what each that waits `wants` and how long it `lasts`.

    `waited` puts those that wait in order: which of two came first that have waited alike is not known.

    What came before comes once more, `since` so many seconds after its beginning and then from the beginning on: so
    those that come together still do.
    """

    left: tuple[float, ...]
    wants: tuple[int, ...]
    lasts: tuple[float, ...]
    waited: tuple[float, ...]
    since: float
    seed: str


class Played(NamedTuple):
    """After how many seconds each that waited started, infinite for one that did not; how many `steps` it took.

    It was played `until` so many seconds: fewer than the horizon where steps came to an end before those that waited.
    """

    starts: tuple[float, ...]
    steps: int
    until: float = HORIZON

    @property
    def whole(self) -> bool:
        """Whether it was played to its end."""
        return self.until >= HORIZON

    @property
    def at_once(self) -> int:
        """How many started at once."""
        return sum(start <= 0.0 for start in self.starts)

    @property
    def empty(self) -> float:
        """After how many seconds the last of them started."""
        return max(self.starts, default=0.0)


def draw(now: QueueNow, seed: str) -> Draw:
    """Return one draw of what is not known.

    Whether the queue counts one set of servers as the DOP or twice the DOP is not documented, but it is one of the two
    for all.
    """
    random = Random(seed)
    high = random.random() < 0.5
    left = tuple(_left(each, random.random()) for each in now.holders)
    wants = tuple(each.high if high else each.low for each in now.waiting)
    lasts = tuple(each.lasts.left(0.0, random.random()) for each in now.waiting)
    since = random.random() * now.watched
    waited = tuple(each.waited + SAME_WAIT * (2.0 if each.is_next else random.random()) for each in now.waiting)
    return Draw(left, wants, lasts, waited, since, seed)


def _left(holder: Holder, chance: float) -> float:
    if holder.remaining is not None and holder.times:
        return holder.remaining * holder.times[int(chance * len(holder.times))]
    if holder.lasts is None:
        return holder.held * chance / (1.0 - chance) if holder.held else inf
    at_least = holder.remaining or 0.0
    return at_least + holder.lasts.left(holder.held + at_least, chance)


def play(now: QueueNow, drawn: Draw, ended: Collection[int] = ()) -> Played:
    """Return what becomes of those that wait; `ended` holders (by index) are gone from the start."""
    return _Course(now, drawn, ended).run()


_NOBODY = inf, Came(inf, Group(0, ""), 0, Durations((1.0,), (0.5,), 1.0))


def _again(came: Sequence[Came], watched: float, since: float) -> Iterator[tuple[float, Came]]:
    """Yield the arrivals once more, each with the seconds after which it comes."""
    first = bisect_left(came, since, key=attrgetter("at"))
    order = [*((each, 0.0) for each in came[first:]), *((each, watched) for each in came[:first])]
    for turn in count() if order and watched > 0 else ():
        for each, wrapped in order:
            yield each.at - since + wrapped + turn * watched, each


class _Course:
    def __init__(self, now: QueueNow, drawn: Draw, ended: Collection[int]) -> None:
        self._now, self._drawn = now, drawn
        self._queue = StatementQueue(now.limits, Chance(f"{drawn.seed}/order"))
        self._chance = Chance(f"{drawn.seed}/arrivals")
        self._lasts: dict[int, float] = {}
        self._ends: list[tuple[float, int, QueueEntry]] = []
        self._starts = [inf] * len(now.waiting)
        self._to_start = len(now.waiting)
        self._moves = True
        """Whether something happened by which another could start."""
        self._next = len(now.waiting)
        for index, holder in enumerate(now.holders):
            if index not in ended:
                self._hold(holder, drawn.left[index])
        for index in sorted(range(len(now.waiting)), key=lambda index: -drawn.waited[index]):
            each = now.waiting[index]
            self._submit(index, each.group, drawn.wants[index], -each.waited, drawn.lasts[index])
        heapify(self._ends)
        self._coming = _again(now.came, now.watched, drawn.since)
        self._comes, self._who = next(self._coming, _NOBODY)

    def run(self) -> Played:
        """Play until all have started that wait now."""
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
        elif self._queue.is_first(entry):
            self._moves = True

    def _come(self, when: float) -> None:
        each = self._who
        self._submit(
            self._next, each.group, each.servers, when, each.lasts.left(0.0, self._chance.random.random()), each.queues
        )
        self._next += 1
        self._comes, self._who = next(self._coming, _NOBODY)

    def _start(self, when: float, timeout: float = inf) -> None:
        for entry, outcome in self._queue.expire(when) if when >= timeout else ():
            self._moves = True
            if outcome is QueueOutcome.FORCED:
                self._started(entry, when)
            else:
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
