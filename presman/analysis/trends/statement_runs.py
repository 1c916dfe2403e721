"""Runs of parallel statements, queued and running: the data of the queue's Gantt chart, arrivals and downgrades."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import Enum
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Executing, QueuedStatement, RunningStatement

KEPT = 400
"""Finished statements that are kept."""

_SAME = timedelta(seconds=5)

_HIDDEN = timedelta(hours=1)
"""How long a statement that no view lists still counts as queued: a view may not answer for days."""

_LONGEST = 3650 * 86400.0
"""The longest duration in seconds; a wrong counter may give one beyond the range of dates."""


def longest_step(usual: float) -> timedelta:
    """Return the longest time between two polls that still shows what happened; `usual` is the normal one in seconds.

    If a statement was there before a longer step and is not there after it, its end is not known.
    """
    return timedelta(seconds=max(60.0, 3 * usual))


class GapDetector:
    """Finds gaps: steps between two readings that are much longer than the shorter of the two before.

    `longest` is the longest first step that is none; the next ones are judged by those before.
    """

    def __init__(self, longest: timedelta) -> None:
        self._longest = longest
        self._before: timedelta | None = None

    def is_gap(self, step: timedelta) -> bool:
        """Take the next step, and return whether it is a gap: what happened in it is not known."""
        longest, usual = self._longest, min(step, self._before or step)
        self._before, self._longest = step, longest_step(usual.total_seconds())
        return step > longest


class StatementRun(Struct):
    """One execution: queued from `queued`, running from `started`, idle from `idle`, gone at `ended`; None if not yet.

    `servers` is what it holds, or may want at most while it waits (0: not known). `waiting_at` is when it was last seen
    in the queue. `group` is its last group, `came_to` that in which it came. `cut` means that it ended with an instance
    or while presman did not watch: it would have lasted longer. `downgraded_at` is when it was first seen with `degree`
    of the `requested` degree, with `downgraded` percent lost; None if it was not downgraded.
    """

    inst_id: int
    sid: int
    serial: int
    sql_id: str
    con_id: int
    group: str
    user: str
    servers: int
    queued: datetime | None = None
    started: datetime | None = None
    idle: datetime | None = None
    ended: datetime | None = None
    first_seen: datetime | None = None
    waiting_at: datetime | None = None
    cut: bool = False
    downgraded_at: datetime | None = None
    degree: int | None = None
    requested: int | None = None
    downgraded: float = 0.0
    came_to: str = ""

    def __post_init__(self) -> None:
        """Take the group as that in which it came, unless another one is given."""
        self.came_to = self.came_to or self.group

    @property
    def began(self) -> datetime:
        """When it came."""
        found = self.queued or self.started
        assert found is not None
        return found

    def waited(self, at: datetime) -> float | None:
        """Return how many seconds it was seen to wait until an instant, None if it was not seen in the queue."""
        end = self.started or self.ended or min(at, self.waiting_at or at)
        return None if self.queued is None else max(0.0, (end - self.queued).total_seconds())

    def ran(self, at: datetime) -> float | None:
        """Return how many seconds it had run by an instant, None if it had not started."""
        return None if self.started is None else max(0.0, ((self.ended or at) - self.started).total_seconds())

    def as_of(self, at: datetime) -> StatementRun:
        """Return the run as it was at an instant, without later events."""
        times = (self.started, self.idle, self.ended)
        started, idle, ended = (None if each is not None and each > at else each for each in times)
        return replace(self, started=started, idle=idle, ended=ended)


class StatementRuns:
    """The recent executions, by arrival."""

    def __init__(self, kept: int = KEPT) -> None:
        self._open: dict[Executing, StatementRun] = {}
        self._ended: deque[StatementRun] = deque(maxlen=kept)
        self._last: datetime | None = None

    def begin(self, at: datetime, runs: Iterable[StatementRun]) -> None:
        """Begin after a reading at an instant, with the runs known until then, by arrival."""
        self._last = at
        for run in runs:
            if run.ended is not None:
                self._ended.append(run)
            else:
                self._open[run.inst_id, run.sid, run.serial, run.sql_id] = run

    def add(self, reading: Reading) -> None:
        """Add the next reading. A statement that is gone is taken to have ended halfway between the last and this one.

        No statement ends while the view that would show it returns nothing, or lists only a part of the queue. A queued
        one that has not been seen for an hour is cut off.
        """
        before = self._last
        if self._last is not None and reading.at < self._last:
            self._open.clear()
            self._ended.clear()
        self._last = reading.at
        seen = {self._queued(each, reading.at) for each in reading.queue}
        seen |= {self._running(each, reading.at) for each in reading.running if not each.orphaned}
        halfway = reading.at if before is None or before > reading.at else before + (reading.at - before) / 2
        hides_servers, hides_queue = bool(reading.why_unavailable("V$PX_SESSION")), not reading.lists_queue()
        # Since the last reading an instance is gone: what is missing now may have been cut off with it.
        cut = before is not None and any(each.last_seen >= before for each in reading.gone)
        for key, run in list(self._open.items()):
            if key in seen:
                continue
            if not (hides_servers or (hides_queue and run.started is None)):
                self._end(key, halfway, cut=cut)
            elif run.started is None and reading.at - (last := run.waiting_at or run.began) > _HIDDEN:
                self._end(key, last, cut=True)

    def _queued(self, row: QueuedStatement, at: datetime) -> Executing:
        key = row.executing()
        since = at - _lasting(row.waited or 0.0)
        run = self._open.get(key)
        # The session waits anew with the same statement: it had run, or this wait began later than the known one.
        if run is not None and (run.started is not None or since - run.began > _SAME):
            self._end(key, since)
            run = None
        if run is None:
            identity, wants = (row.con_id, row.group, row.user), row.wants.high if row.wants else 0
            run = self._open[key] = StatementRun(*key, *identity, wants, queued=since, first_seen=at)
        run.waiting_at, run.group = at, row.group
        return key

    def _running(self, row: RunningStatement, at: datetime) -> Executing:
        key = row.executing()
        run = self._open.get(key)
        # No view shows when an idle holder began; it has existed at least as long as it has been idle.
        known = row.elapsed if row.elapsed is not None else row.idle
        seen_at = at - _lasting(row.seen_ago or 0.0)
        since = seen_at - _lasting(known) if known is not None else None
        if run is not None and run.started and row.elapsed is not None and since and since - run.started > _SAME:
            self._end(key, since)
            run = None
        if run is None:
            identity = (row.con_id, row.group, row.user, row.servers)
            run = self._open[key] = StatementRun(*key, *identity, started=since or at, first_seen=at)
        if run.started is None:
            # SQL_EXEC_START may be the time of submission: it did not run before it left the queue.
            left = run.waiting_at or run.began
            run.started = since if since is not None and since >= left else left + (at - left) / 2
        run.group, run.servers = row.group, row.servers
        run.idle = seen_at - _lasting(row.idle) if row.idle is not None else None
        if row.downgraded > 0 and run.downgraded_at is None:
            run.downgraded_at, run.downgraded = at, row.downgraded
            run.degree, run.requested = row.degree, row.requested
        return key

    def _end(self, key: Executing, at: datetime, *, cut: bool = False) -> None:
        run = self._open.pop(key)
        run.ended, run.cut = at, cut
        self._ended.append(run)

    @property
    def open(self) -> list[StatementRun]:
        """The current executions, by arrival."""
        return sorted(self._open.values(), key=lambda each: (each.began, each.inst_id, each.sid))

    def now(self, executing: Executing) -> StatementRun | None:
        """Return the current run of a statement: instance, SID, serial number, SQL_ID."""
        return self._open.get(executing)

    def of(self, sql_id: str) -> list[StatementRun]:
        """Return the executions of a statement, as far as they are kept."""
        return [each for each in (*self._ended, *self._open.values()) if each.sql_id == sql_id]

    def downgraded_since(self, at: datetime) -> list[StatementRun]:
        """Return the runs that were first seen downgraded at an instant or later, newest first."""
        seen = [(each.downgraded_at, each) for each in (*self._ended, *self._open.values())]
        found = [(first, each) for first, each in seen if first is not None and first >= at]
        return [each for _, each in sorted(found, key=lambda pair: pair[0], reverse=True)]

    def ended_since(self, at: datetime) -> list[StatementRun]:
        """Return the executions that ended after an instant, as far as they are kept."""
        return [each for each in self._ended if each.ended is not None and each.ended > at]

    @property
    def whole_since(self) -> datetime | None:
        """The time since when all finished executions are kept, None for since the beginning."""
        return self._ended[0].ended if len(self._ended) == self._ended.maxlen else None

    def within(self, start: datetime, end: datetime, known: datetime | None = None) -> list[StatementRun]:
        """Return the executions that existed at some time between two instants, by arrival.

        They are as `known` at an instant, else as they are now.
        """
        every: Iterable[StatementRun] = (*self._ended, *self._open.values())
        if known is not None:
            every = [each.as_of(known) for each in every if (each.first_seen or each.began) <= known]
        found = [each for each in every if each.began <= end and (each.ended is None or each.ended >= start)]
        return sorted(found, key=lambda each: (each.began, each.inst_id, each.sid))


def _lasting(seconds: float) -> timedelta:
    return timedelta(seconds=max(-_LONGEST, min(seconds, _LONGEST)))


class ArrivalOutcome(Enum):
    """The state of a statement when it was last seen."""

    ENDED = "ended"
    RUNNING = "running"
    QUEUED = "queued"
    LEFT = "left the queue"


class Arrival(NamedTuple):
    """One statement. Times are in seconds; `ran` is None if it never ran, and not final if `outcome` is RUNNING.

    The limits are those at the end: `target` of all servers, `limit` of its group's servers (None without one),
    `weight` as its share of the plan, `timeout` and its `action`. `first` and `last` are the readings in which it was
    seen.
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
    """Turns consecutive readings into arrivals; each is returned once, when the statement is over."""

    def __init__(self) -> None:
        self._runs = StatementRuns(kept=2000)
        self._timeouts: dict[tuple[int, str], tuple[float, str]] = {}
        self._reading: Reading | None = None

    def add(self, reading: Reading) -> list[Arrival]:
        """Add the next reading and return the statements that were over by then."""
        before, self._reading = self._reading, reading
        for row in reading.queue:
            if row.timeout_left is not None and row.waited is not None:
                self._timeouts[row.con_id, row.group] = (row.waited + row.timeout_left, row.timeout_action)
        self._runs.add(reading)
        if before is None:
            return []
        return [self._arrival(run, before.at) for run in self._runs.ended_since(before.at)]

    def rest(self) -> list[Arrival]:
        """Return the statements that are not over yet."""
        reading = self._reading
        return [] if reading is None else [self._arrival(run, reading.at) for run in self._runs.open]

    def _arrival(self, run: StatementRun, last: datetime) -> Arrival:
        assert self._reading is not None
        return arrival_of(run, self._reading, self._timeouts.get((run.con_id, run.group), (None, "")), last)


def arrival_of(run: StatementRun, reading: Reading, timeout: tuple[float | None, str], last: datetime) -> Arrival:
    """Return a run as an arrival under the limits of a reading; `timeout` is its group's timeout and action."""
    group = reading.group_of((run.con_id, run.group))
    return Arrival(
        at=run.began,
        con_id=run.con_id,
        group=run.group,
        servers=run.servers,
        waited=run.waited(last) or 0.0,
        ran=run.ran(last),
        outcome=_outcome(run),
        target=reading.header.servers.target,
        limit=group.servers_limit if group else None,
        weight=group.share if group else 0.0,
        timeout=timeout[0],
        action=timeout[1],
        first=run.first_seen or run.began,
        last=run.ended or last,
    )


def _outcome(run: StatementRun) -> ArrivalOutcome:
    if run.ended is None:
        return ArrivalOutcome.RUNNING if run.started else ArrivalOutcome.QUEUED
    return ArrivalOutcome.ENDED if run.started else ArrivalOutcome.LEFT
