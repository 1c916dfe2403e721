"""Consumer groups: CPU, I/O, session pool and queue of each, and its state."""

from collections.abc import Callable, Iterator
from enum import Enum
from functools import cached_property
from operator import itemgetter
from typing import Any, Literal, NamedTuple, Self

from msgspec import Struct

from presman.analysis.readings.statement_readings import Cause
from presman.base.formats import ABSENT, counted, duration, listed
from presman.base.sums import sums_of
from presman.rows.group_rows import CPU_COLUMNS, IO_COLUMNS, ConsumerGroup

Level = Literal["bad", "warn", "note", "good", "dim"]
"""How bad a state is, shown by its colour; a word or a glyph always goes with it."""


class Marked(Enum):
    """One of a few states: the words shown, its glyph and how bad it is. States that need attention most come first."""

    glyph: str
    level: Level
    rank: int

    __hash__ = object.__hash__  # that of Enum is a function in Python, and each of them exists once

    def __new__(cls, words: str, glyph: str, level: Level) -> Self:
        """Return a state, which files identify by its name."""
        state = object.__new__(cls)
        state._value_ = words
        state.glyph, state.level, state.rank = glyph, level, len(cls.__members__)
        return state

    @property
    def text(self) -> str:
        """The glyph and the words."""
        return f"{self.glyph} {self.value}"


class Verdict(Marked):
    """What happens to a group's CPU."""

    QUIESCED = "held, database quiesced", "✕", "bad"
    STARVED = "starved", "✕", "bad"
    ZERO_SHARE = "no share while others run", "✕", "bad"
    SHORT = "below its entitlement", "▲", "warn"
    HOST = "host used by others", "▲", "warn"
    CAPPED = "at its limit", "▬", "note"
    NEAR_LIMIT = "near its limit", "▬", "note"
    CAGED = "caged, entitlement met", "▬", "note"
    CONTENDED = "contended, entitlement met", "▬", "note"
    PARTLY = "contended part of the time", "▬", "note"
    NOT_EXHAUSTED = "waits, CPUs not exhausted", "▬", "note"
    THROTTLED = "throttled, cause not known", "▬", "note"
    NOT_THROTTLED = "not throttled", "●", "good"
    IDLE = "wants no CPU", "·", "dim"
    NOT_MANAGED = "CPU not managed", "·", "dim"
    UNKNOWN = "no delta yet", "…", "dim"


LIMITED = frozenset({Verdict.CAPPED, Verdict.NEAR_LIMIT})
"""Verdicts of groups that wait while a limit is used up, or nearly."""

_NOT_COUNTED = frozenset({Verdict.NOT_MANAGED, Verdict.QUIESCED})
"""Verdicts of groups in which sessions wait for CPU, or may wait, and no view counts that."""


def verdict_words(verdict: Verdict, limited_by: str = "") -> str:
    """Return a verdict in words; if the limit belongs to something else, the words name its owner.

    `limited_by` is as in a reading: ``HR (UTILIZATION_LIMIT)``, ``subplan DAY``, ``PAYROLL (HR)``, ``each of A, B``.
    """
    if verdict not in LIMITED or not limited_by:
        return str(verdict.value)
    if limited_by.startswith("each of "):
        return f"its groups {verdict.value.replace('its limit', 'their limits')}"
    return f"{limited_by.partition(' (')[0]} {verdict.value}"


class IoRates(NamedTuple):
    """I/O of one group per second since the last poll. `service_ms` is the mean service time of a request.

    `waits` are waits for I/O per second (IO_SERVICE_WAITS), None if not known.
    """

    small_read_mb: float
    small_write_mb: float
    large_read_mb: float
    large_write_mb: float
    small_read_requests: float
    small_write_requests: float
    large_read_requests: float
    large_write_requests: float
    service_ms: float | None
    waits: float | None = 0.0

    @property
    def mb(self) -> float:
        """MB per second, all kinds."""
        return sum(self[:4])

    @property
    def requests(self) -> float:
        """Requests per second, all kinds."""
        return sum(self[4:8])


class UsageTotals(NamedTuple):
    """What a group or container used since the plan was activated (V$RSRC_CONSUMER_GROUP, V$RSRC_PDB).

    Milliseconds, megabytes, counts. None if the view has no such column: V$RSRC_PDB counts neither requests nor waits
    for CPU.
    """

    cpu_ms: int | None
    cpu_wait_ms: int | None
    io_service_ms: int | None
    small_read_mb: int | None
    small_write_mb: int | None
    large_read_mb: int | None
    large_write_mb: int | None
    small_read_requests: int | None
    small_write_requests: int | None
    large_read_requests: int | None
    large_write_requests: int | None
    requests: int | None = None
    cpu_waits: int | None = None


class SessionTotals(NamedTuple):
    """Counters of a group's sessions since the plan was activated (V$RSRC_CONSUMER_GROUP).

    `pool_waits` is the number of calls that had to wait for the active session pool, `pool_ms` their total wait in
    milliseconds. `switched_in` and `switched_out` count sessions that SWITCH_TIME moved into and out of the group.
    `pool_timeouts` counts calls that failed because they had waited for the pool as long as QUEUEING_P1 allows. None
    means not known.
    """

    pool_waits: int | None = 0
    pool_ms: int | None = 0
    switched_in: int | None = 0
    switched_out: int | None = 0
    pool_timeouts: int | None = 0


class ActiveSessionPool(NamedTuple):
    """The active session pool of a group, now.

    `allowed` is the number of sessions that may be in a call at a time (ACTIVE_SESS_POOL_P1, summed over the instances
    shown; None if it cannot be read). `queued` is the number that wait (V$RSRC_CONSUMER_GROUP.QUEUE_LENGTH or
    V$SESSION, whichever counts more), the first of them for `longest` seconds (V$SESSION). After `timeout` seconds
    (QUEUEING_P1) its call ends with an error; None means never, or that it is not known: then `no_timeout` says so.
    `waits_on` are the instances on which they wait if there are others, each with a pool of its own.
    """

    allowed: int | None
    queued: int
    longest: float | None = None
    timeout: int | None = None
    no_timeout: str = ""
    waits_on: tuple[int, ...] = ()

    @property
    def near_timeout(self) -> bool:
        """Whether the first waiting session is close to its timeout."""
        return self.timeout is not None and self.longest is not None and self.timeout - self.longest <= SOON

    @property
    def end(self) -> str:
        """Whether the wait ends by a timeout, in words."""
        if self.timeout is None:
            return self.no_timeout or "without a timeout"
        return f"timeout {duration(self.timeout)}"

    @property
    def where(self) -> str:
        """The instances on which sessions wait, in words after a blank; "" if these are all."""
        numbers = listed([str(each) for each in self.waits_on])
        return f" on instance{'s' * (len(self.waits_on) > 1)} {numbers}" if numbers else ""


class QueueTotals(NamedTuple):
    """Counters of a group's parallel statements since the plan was activated (V$RSRC_CONSUMER_GROUP), or None."""

    queued: int | None
    completed: int | None
    servers_used: int | None
    active_ms: int | None
    queued_ms: int | None
    timeouts: int | None


def _columns(*names: str) -> Callable[[ConsumerGroup], tuple[Any, ...]]:
    return itemgetter(*map(ConsumerGroup._fields.index, names))


_queue = _columns(
    "pqs_queued", "pqs_completed", "pq_servers_used", "pq_active_time", "pq_queued_time", "pq_queue_time_outs"
)
_sessions = _columns(
    "active_session_limit_hit", "queued_time", "switches_in_cpu_time", "switches_out_cpu_time", "queue_time_outs"
)
_usage = _columns(*CPU_COLUMNS, "io_service_time", *IO_COLUMNS, "requests", "cpu_waits")


class GroupTotals(Struct, frozen=True, dict=True):
    """The counters of a group since the plan was activated; few readers need them, so they are computed on request.

    `rows` has its row of V$RSRC_CONSUMER_GROUP on each of its instances, None where the view has none.
    """

    rows: tuple[ConsumerGroup | None, ...] = ()

    @cached_property
    def known(self) -> list[ConsumerGroup]:
        """The rows that the view has."""
        return [row for row in self.rows if row is not None]

    @cached_property
    def totals(self) -> QueueTotals:
        """Those of its parallel statements; None if an instance has no row."""
        return QueueTotals._make(self._everywhere(_queue) or [None] * len(QueueTotals._fields))

    @cached_property
    def sessions(self) -> SessionTotals:
        """Those of its sessions; None if an instance has no row."""
        return SessionTotals._make(self._everywhere(_sessions) or [None] * len(SessionTotals._fields))

    @cached_property
    def usage(self) -> UsageTotals | None:
        """What it used on the instances that have a row; None if none has."""
        return UsageTotals._make(sums_of(map(_usage, self.known))) if self.known else None

    def _everywhere(self, columns: Callable[[ConsumerGroup], tuple[Any, ...]]) -> list[Any]:
        return sums_of(map(columns, self.known)) if len(self.known) == len(self.rows) else []


SOON = 300.0
"""Seconds before a timeout from which a wait is critical."""

QUIET = 2
"""The rank of a group that has no trouble."""


class GroupState(NamedTuple):
    """A problem of a group, or that it has none.

    `word` is stable (that of a CPU verdict, or cpu_minimum, queued, session_pool, blocked, io_limit), `level` is how
    bad it is, `text` describes it with its figures, `brief` is a form for use among other states.
    """

    word: str
    level: Level
    text: str
    brief: str = ""

    @property
    def is_trouble(self) -> bool:
        """Whether it needs attention."""
        return self.level in {"bad", "warn"}


_LEVELS = ("bad", "warn", "note", "good", "dim")
_BRIEF_CAUSES = {
    Cause.SYSTEM: " (target)",
    Cause.GROUP: " (group limit)",
    Cause.CONTAINER: " (container limit)",
    Cause.BEHIND: " (behind others)",
    Cause.NOT_CHOSEN: " (next)",
    Cause.NEVER_FITS: " (too large)",
}


def demand(used: float | None, waiting: float | None) -> float | None:
    """Return CPUs wanted: used + waiting."""
    return None if used is None or waiting is None else used + waiting


def throttled_percent(used: float | None, waiting: float | None) -> float | None:
    """Return percent of CPU demand that had to wait: waiting / (used + waiting)."""
    wanted = demand(used, waiting)
    if wanted is None or waiting is None:
        return None
    return 100 * waiting / wanted if wanted > 0 else 0.0


IMPOSSIBLE = "CPUs used is impossible"
"""The ending of a doubt about the CPUs used: then no CPU figure is reported as certain."""


class GroupReading(NamedTuple):
    """One consumer group on one instance, or on the cluster (`inst_id` 0).

    `used` and `waiting` are CPUs since the last poll (None without a delta; waits are not counted if CPU is not
    managed). `capacity` is the number of CPUs handed out. `limit` is the number of CPUs at its UTILIZATION_LIMIT
    (limits above it multiplied in), None without one. `guaranteed` is the number of CPUs it gets when all groups are
    busy, None if the CPUs shared are not those of one instance. `entitled` is the number of CPUs it is entitled to now,
    given what all groups want. `share` is the guaranteed minimum as a fraction. `cpu_waits_per_s` counts how often
    sessions were held off CPU for a time slice. `all_used` is the number of CPUs that all groups of the instance (the
    cluster) used together. `cpu_exhausted` is the percent of the last full minute in which the CPUs were exhausted (the
    highest of all instances), None before 23. `level` is the first level of its plan (1 to 8) that gives it a part,
    None without one.

    `limited_by` is the owner of the limit that holds the group back if it is not its own, with the CPUs used under it
    and allowed. `hidden` is what keeps its entitlement from being known. `inside` means that other containers, with
    which it shares the CPUs, are not visible. `doubt` is the reason why no rule judges its CPU figures, "" without one.
    `held` sessions wait for the end of a quiesce: they want CPU, and no counter shows how much.

    `servers_limit` is in servers, `servers_limit_percent` is the percentage that gives it. `limit_view` is the view
    without which it is not known if there is such a limit, or another reason why it is not, "" if it is known.
    `container_servers` is the number that its pluggable database may hold, None without a limit. `px_queued_minute` is
    the mean number of queued statements in the last full minute (V$RSRCMGRMETRIC). `head_cause` is why its queue waits,
    None without a queue.
    `timeout_left` is the seconds until its first statement times out, `starts_in` until the first starts by its timeout
    (PQ_TIMEOUT_ACTION RUN). `blocked` is the number of servers that its statements hold while they wait for another
    session. `queue_hurts` means that its queue is critical (:attr:`QueueHead.is_critical`). `is_counted` means that
    `px_servers` are the servers that its limit counts. Otherwise they are all servers of its statements, also of those
    that did not queue and do not count.

    `pool` is its active session pool, None without one. `container` is the pluggable database's name, "" outside of
    one. `io_held_by` is the I/O limit of its container that holds I/O back while the group does some.
    `missed_minimum` is the CPU_MIN_COUNT that its container misses while the group waits for CPU. `usage` has its
    counters, None if V$RSRC_CONSUMER_GROUP has no row for it: then `totals` and `sessions` are unknown, too.
    """

    inst_id: int
    con_id: int
    name: str
    in_plan: bool
    used: float | None
    waiting: float | None
    capacity: float
    limit: float | None
    share: float
    guaranteed: float | None
    entitled: float | None
    verdict: Verdict
    active_sessions: int | None
    execution_waiters: int | None
    yields_per_s: float | None
    requests_per_s: float | None
    pool_queue_length: int | None
    io: IoRates | None
    px_active: int | None
    px_servers: int | None
    px_queued: int | None
    servers_limit: int | None
    servers_limit_percent: int | None
    head_waited: float | None
    cpu_waits_per_s: float | None = None
    all_used: float | None = None
    cpu_exhausted: float | None = None
    pool: ActiveSessionPool | None = None
    container: str = ""
    limited_by: str = ""
    limit_used: float | None = None
    limit_allowed: float | None = None
    hidden: str = ""
    inside: bool = False
    head_cause: Cause | None = None
    timeout_left: float | None = None
    starts_in: float | None = None
    io_held_by: str = ""
    missed_minimum: float | None = None
    blocked: int = 0
    counters: GroupTotals = GroupTotals()
    doubt: str = ""
    queue_hurts: bool = False
    container_servers: int | None = None
    level: int | None = None
    px_queued_minute: float | None = None
    held: int = 0
    is_counted: bool = True
    limit_view: str = ""

    def is_listed(self) -> bool:
        """Whether V$RSRC_CONSUMER_GROUP has a row for it."""
        return any(row is not None for row in self.counters.rows)

    @property
    def totals(self) -> QueueTotals:
        """The counters of its parallel statements."""
        return self.counters.totals

    @property
    def sessions(self) -> SessionTotals:
        """The counters of its sessions."""
        return self.counters.sessions

    @property
    def usage(self) -> UsageTotals | None:
        """What it has used, None if V$RSRC_CONSUMER_GROUP has no row for it."""
        return self.counters.usage

    @property
    def may_hold(self) -> int | None:
        """The most servers it may hold: its own limit, else that of its container; None without either."""
        return self.container_servers if self.servers_limit is None else self.servers_limit

    @property
    def is_full(self) -> bool:
        """Whether it is known to hold all the parallel servers that it may hold."""
        return self.is_counted and self.may_hold is not None and (self.px_servers or 0) >= self.may_hold

    @property
    def states(self) -> tuple[GroupState, ...]:
        """The problems of its CPU, minimum, queue, session pool, blocked servers and I/O limit, worst first."""
        found = tuple(_states(self))
        return found if len(found) == 1 else tuple(sorted(found, key=lambda state: _LEVELS.index(state.level)))

    @property
    def state(self) -> GroupState:
        """The worst of its states, followed by its other problems."""
        worst, *others = self.states
        more = [state.brief for state in others if state.is_trouble]
        return worst._replace(text=" · ".join([worst.brief, *more])) if more else worst

    @property
    def rank(self) -> int:
        """Its rank among groups: 0 for a critical problem, 1 for one that needs attention, QUIET otherwise."""
        return {"bad": 0, "warn": 1}.get(self.states[0].level, QUIET)

    @property
    def is_judged(self) -> bool:
        """Whether it is known if it gets the CPU that it is entitled to."""
        if self.verdict is Verdict.UNKNOWN:
            return not self.is_listed() and not self.doubt  # a group that the view does not list has no sessions
        return self.verdict is not Verdict.THROTTLED

    @property
    def title(self) -> str:
        """Its name, with that of its container if several are visible."""
        name = self.name or "unknown group"
        return f"{name} ({self.container})" if self.container and not self.inside else name

    @property
    def wanted(self) -> float | None:
        """CPUs wanted: used + waiting; None if not all is counted: CPU is not managed, or a quiesce holds sessions."""
        return None if self.verdict in _NOT_COUNTED or self.doubt else demand(self.used, self.waiting)

    @property
    def used_percent(self) -> float | None:
        """Percent of capacity used."""
        return None if self.used is None or not self.capacity else 100 * self.used / self.capacity

    @property
    def consumed_percent(self) -> float | None:
        """Percent of the CPU that all groups consumed."""
        return None if self.used is None or not self.all_used else 100 * self.used / self.all_used

    @property
    def throttled_percent(self) -> float | None:
        """Percent of CPU demand that had to wait: waiting / (used + waiting); None if not all of it is counted."""
        is_judged = self.verdict not in _NOT_COUNTED and not self.doubt
        return throttled_percent(self.used, self.waiting) if is_judged else None

    @property
    def cpu_wait_ms(self) -> float | None:
        """Mean time in milliseconds that a session was held off CPU each time."""
        if self.waiting is None or not self.cpu_waits_per_s:
            return None
        return 1000 * self.waiting / self.cpu_waits_per_s


BELOW_MINIMUM = "below CPU_MIN_COUNT"
"""The state of a container that misses its minimum, and of its groups."""


def _states(row: GroupReading) -> Iterator[GroupState]:
    """Yield the state of a group's CPU, then its other problems."""
    is_unseen = row.verdict is Verdict.UNKNOWN and row.used is not None  # it has a delta: the waits are not known
    text = "not judged" if row.doubt or is_unseen else verdict_words(row.verdict, row.limited_by)
    text = f"{row.held} {row.verdict.value}" if row.held else text
    brief = "no share" if row.verdict is Verdict.ZERO_SHARE else text
    yield GroupState(row.verdict.name.lower(), row.verdict.level, text, brief)
    if row.missed_minimum is not None:
        yield GroupState("cpu_minimum", "warn", BELOW_MINIMUM, BELOW_MINIMUM)
    if row.px_queued:
        yield _queue_state(row)
    if row.pool is not None and row.pool.queued:
        yield _pool_state(row, row.pool)
    if row.blocked:
        yield GroupState("blocked", "warn", f"{counted(row.blocked, 'server')} blocked", f"{row.blocked} blocked")
    if row.io_held_by:
        yield GroupState("io_limit", "warn", f"I/O held by {row.io_held_by}", row.io_held_by)


def _queue_state(row: GroupReading) -> GroupState:
    near = row.timeout_left is not None and row.timeout_left <= SOON
    waited = "" if row.head_waited is None else f" {duration(row.head_waited)}"
    why = f" (timeout {duration(row.timeout_left)})" if near else _BRIEF_CAUSES.get(row.head_cause or Cause.UNKNOWN, "")
    text = f"{row.px_queued} queued{waited}"
    return GroupState("queued", "bad" if near or row.queue_hurts else "warn", f"{text}{why}", text)


def _pool_state(row: GroupReading, pool: ActiveSessionPool) -> GroupState:
    active, allowed = (ABSENT if each is None else each for each in (row.active_sessions, pool.allowed))
    waited = "" if pool.longest is None else f" {duration(pool.longest)}"
    more = f"+{pool.queued}{waited}"
    level: Level = "bad" if pool.near_timeout else "warn"
    # The pools of all instances have room that the one for which sessions wait has not.
    text = f"pool {more}{pool.where}" if pool.where else f"pool {active}/{allowed} {more}"
    return GroupState("session_pool", level, text, f"pool {more}")
