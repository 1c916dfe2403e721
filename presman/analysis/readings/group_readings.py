"""Consumer groups: CPU, I/O, session pool and queue of each, and in which state it is."""

from enum import Enum
from typing import Literal, NamedTuple, Self

from presman.analysis.readings.statement_readings import Cause
from presman.base.formats import ABSENT, counted, duration

Level = Literal["bad", "warn", "note", "good", "dim"]
"""How bad a state is, which its colour says; a word or a glyph stands beside it."""


class Marked(Enum):
    """One of a few states in the words shown, with its glyph and how bad it is; what needs a look most comes first."""

    glyph: str
    level: Level
    rank: int

    def __new__(cls, words: str, glyph: str, level: Level) -> Self:
        """Return a state, which files know by its name."""
        state = object.__new__(cls)
        state._value_ = words
        state.glyph, state.level, state.rank = glyph, level, len(cls.__members__)
        return state

    @property
    def text(self) -> str:
        """The words behind their glyph."""
        return f"{self.glyph} {self.value}"


class Verdict(Marked):
    """What happens to a group's CPU."""

    QUIESCED = "held, database quiesced", "✕", "bad"
    STARVED = "starved", "✕", "bad"
    ZERO_SHARE = "no share while others run", "✕", "bad"
    SHORT = "less than its due", "▲", "warn"
    HOST = "host used by others", "▲", "warn"
    CAPPED = "at its limit", "▬", "note"
    CAGED = "caged, gets its share", "▬", "note"
    CONTENDED = "contended, gets its share", "▬", "note"
    NOT_EXHAUSTED = "waits, CPUs not exhausted", "▬", "note"
    THROTTLED = "throttled, share not known", "▬", "note"
    NOT_THROTTLED = "not throttled", "●", "good"
    IDLE = "wants no CPU", "·", "dim"
    NOT_MANAGED = "CPU not managed", "○", "dim"
    UNKNOWN = "no delta yet", "…", "dim"


_NOT_COUNTED = frozenset({Verdict.NOT_MANAGED, Verdict.QUIESCED})
"""Verdicts of groups of which some wait for CPU, or may, and no view counts that."""


def verdict_words(verdict: Verdict, limited_by: str = "") -> str:
    """Return a verdict in words that name what is at its limit where it is not what the verdict is about.

    `limited_by` is as in a reading: ``HR (UTILIZATION_LIMIT)``, ``subplan DAY``, ``PAYROLL (HR)``, ``each of A, B``.
    """
    if verdict is not Verdict.CAPPED or not limited_by:
        return str(verdict.value)
    if limited_by.startswith("each of "):
        return "its groups at their limits"
    return f"{limited_by.partition(' (')[0]} {verdict.value}"


class IoRates(NamedTuple):
    """I/O of one group per second since the last poll. `service_ms` is the mean service time of a request.

    `waits` are waits for I/O per second (IO_SERVICE_WAITS).
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
    waits: float = 0.0

    @property
    def mb(self) -> float:
        """MB per second, all kinds."""
        return self.small_read_mb + self.small_write_mb + self.large_read_mb + self.large_write_mb

    @property
    def requests(self) -> float:
        """Requests per second, all kinds."""
        return (
            self.small_read_requests + self.small_write_requests + self.large_read_requests + self.large_write_requests
        )


class UsageTotals(NamedTuple):
    """What a group or container used since the plan was activated (V$RSRC_CONSUMER_GROUP, V$RSRC_PDB).

    Milliseconds, megabytes, counts. None where the view has no such column: V$RSRC_PDB counts neither requests nor how
    often CPU was waited for.
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

    `pool_waits` calls had to wait for the active session pool, `pool_ms` milliseconds in all; `switched_in` and
    `switched_out` count sessions that SWITCH_TIME moved into and out of the group; `pool_timeouts` calls failed as
    they had waited for the pool for as long as QUEUEING_P1 says. None: not known.
    """

    pool_waits: int | None = 0
    pool_ms: int | None = 0
    switched_in: int | None = 0
    switched_out: int | None = 0
    pool_timeouts: int | None = 0


class ActiveSessionPool(NamedTuple):
    """The active session pool of a group, now.

    `allowed` sessions may be in a call at a time (ACTIVE_SESS_POOL_P1, summed over the instances shown; None where it
    cannot be read), `queued` wait for a place (V$RSRC_CONSUMER_GROUP.QUEUE_LENGTH or V$SESSION, whichever counts
    more), the first of them for `longest` seconds (V$SESSION); after `timeout` seconds (QUEUEING_P1) its call ends with
    an error, None: never, or not known where the directive could not be read.
    """

    allowed: int | None
    queued: int
    longest: float | None = None
    timeout: int | None = None
    timeout_known: bool = True

    @property
    def near_timeout(self) -> bool:
        """Whether the first that waits is about to run into the timeout."""
        return self.timeout is not None and self.longest is not None and self.timeout - self.longest <= SOON


class QueueTotals(NamedTuple):
    """Counters of a group's statements in parallel since the plan was activated (V$RSRC_CONSUMER_GROUP), or None."""

    queued: int | None
    completed: int | None
    servers_used: int | None
    active_ms: int | None
    queued_ms: int | None
    timeouts: int | None


SOON = 300.0
"""Seconds before a timeout from which it is trouble that hurts."""

QUIET = 2
"""The rank of a group with which nothing is wrong."""


class GroupState(NamedTuple):
    """What is the matter with a group, or that nothing is.

    `word` is stable (that of a CPU verdict, or queued, session_pool, blocked, io_limit), `level` how bad it is, `text`
    says it with its figures, `brief` among others.
    """

    word: str
    level: Level
    text: str
    brief: str = ""

    @property
    def is_trouble(self) -> bool:
        """Whether somebody should look at it."""
        return self.level in {"bad", "warn"}


_LEVELS = ("bad", "warn", "note", "good", "dim")
_BRIEF_CAUSES = {
    Cause.SYSTEM: " (target)",
    Cause.GROUP: " (group limit)",
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
"""How a doubt ends that is about the CPUs used: then no figure of CPU is told as one."""


class GroupReading(NamedTuple):
    """One consumer group on one instance, or on the cluster (`inst_id` 0).

    `used`, `waiting`: CPUs since the last poll (None without a delta; nor are waits counted where CPU is not managed);
    `capacity`: CPUs handed out; `limit`: CPUs at its UTILIZATION_LIMIT (limits above it multiplied in), None without
    one; `guaranteed`: CPUs it gets when everyone is busy, None where it is not the CPUs of one instance that are
    shared; `entitled`: CPUs it is due now, of what all groups want; `share` is the guaranteed
    minimum as a fraction. `servers_limit` is in servers, `servers_limit_percent` says how it comes about;
    `container_servers` are those that its pluggable database may hold, None where that has no limit.
    `px_queued_minute` are the statements that it had queued, on average of the last full minute (V$RSRCMGRMETRIC).
    `cpu_waits_per_s` counts how often sessions were held off CPU for a time slice; `all_used` is the CPUs that all
    groups of the instance (the cluster) used together. `cpu_exhausted` is the percent of the last full minute in
    which the CPUs were exhausted (the most of any instance), None before 23. `pool` is its active session pool, None
    without one. `container` is the pluggable database's
    name, "" outside of one. `limited_by` is whose limit holds the group where it is not its own, with the CPUs used
    under it and allowed; `hidden` is what keeps its due from being known; `inside` tells that other containers, with
    which it shares the CPUs, are not seen. `head_cause` is why its queue waits, None without one, `timeout_left` the
    seconds until the first of it times out, `starts_in` those until the first of it starts by its timeout
    (PQ_TIMEOUT_ACTION RUN); `io_held_by` is the I/O limit of its container that holds I/O back while
    the group does some; `blocked` are the servers that its statements hold while they wait for another session.
    `held` sessions wait until the database is quiesced no more: they want CPU, and no counter says how much.
    `queue_hurts` tells that its queue is critical (:attr:`QueueHead.is_critical`).
    `doubt` is why its figures of CPU are judged by no rule, "" where they are. `level` is the first level of its plan
    (1 to 8) that gives it a part, None where none does.
    `is_counted` tells whether `px_servers` are those that its limit counts: else all that its statements hold, of which
    those that did not queue count for nothing.
    `usage` are its counters as they stand, None where V$RSRC_CONSUMER_GROUP has no row of it: then
    `totals` and `sessions` say nothing either.
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
    totals: QueueTotals
    cpu_waits_per_s: float | None = None
    all_used: float | None = None
    cpu_exhausted: float | None = None
    sessions: SessionTotals = SessionTotals()
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
    blocked: int = 0
    usage: UsageTotals | None = None
    doubt: str = ""
    queue_hurts: bool = False
    container_servers: int | None = None
    level: int | None = None
    px_queued_minute: float | None = None
    held: int = 0
    is_counted: bool = True

    @property
    def may_hold(self) -> int | None:
        """Servers it may hold at most: its own limit, else that of its container; None where there is neither."""
        return self.container_servers if self.servers_limit is None else self.servers_limit

    @property
    def is_full(self) -> bool:
        """Whether it is known to hold all the parallel servers that it may."""
        return self.is_counted and self.may_hold is not None and (self.px_servers or 0) >= self.may_hold

    @property
    def states(self) -> tuple[GroupState, ...]:
        """What is the matter with its CPU, queue, session pool, blocked servers and I/O limit, worst first."""
        more = (_queue_state, _pool_state, _blocked_state, _io_state)
        found = [_cpu_state(self), *(state for find in more for state in find(self))]
        return (found[0],) if len(found) == 1 else tuple(sorted(found, key=lambda state: _LEVELS.index(state.level)))

    @property
    def state(self) -> GroupState:
        """The worst of its states, with what else is wrong behind it."""
        worst, *others = self.states
        more = [state.brief for state in others if state.is_trouble]
        return worst._replace(text=" · ".join([worst.brief, *more])) if more else worst

    @property
    def rank(self) -> int:
        """Where it stands among groups: 0 if somebody is hurt, 1 if it is to be looked at, QUIET otherwise."""
        return {"bad": 0, "warn": 1}.get(self.states[0].level, QUIET)

    @property
    def is_judged(self) -> bool:
        """Whether it is known that it gets its due of CPU, or that it does not."""
        if self.verdict is Verdict.UNKNOWN:
            return self.usage is None and not self.doubt  # a group that the view does not list has nobody in it
        return self.verdict is not Verdict.THROTTLED

    @property
    def title(self) -> str:
        """Its name, with that of its container where several are seen."""
        name = self.name or "unknown group"
        return f"{name} ({self.container})" if self.container and not self.inside else name

    @property
    def wanted(self) -> float | None:
        """CPUs wanted: used + waiting; None where not all is counted: CPU not managed, or a quiesce holds some."""
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
        """Percent of CPU demand that had to wait: waiting / (used + waiting); None where that is not all of it."""
        is_judged = self.verdict not in _NOT_COUNTED and not self.doubt
        return throttled_percent(self.used, self.waiting) if is_judged else None

    @property
    def cpu_wait_ms(self) -> float | None:
        """Milliseconds that a session was held off CPU each time, on average."""
        if self.waiting is None or not self.cpu_waits_per_s:
            return None
        return 1000 * self.waiting / self.cpu_waits_per_s


def _cpu_state(row: GroupReading) -> GroupState:
    text = "not judged" if row.doubt else verdict_words(row.verdict, row.limited_by)
    text = f"{row.held} {row.verdict.value}" if row.held else text
    brief = "no share" if row.verdict is Verdict.ZERO_SHARE else text
    return GroupState(row.verdict.name.lower(), row.verdict.level, text, brief)


def _queue_state(row: GroupReading) -> list[GroupState]:
    if not row.px_queued:
        return []
    near = row.timeout_left is not None and row.timeout_left <= SOON
    waited = "" if row.head_waited is None else f" {duration(row.head_waited)}"
    why = f" (timeout {duration(row.timeout_left)})" if near else _BRIEF_CAUSES.get(row.head_cause or Cause.UNKNOWN, "")
    level: Literal["bad", "warn"] = "bad" if near or row.queue_hurts else "warn"
    text = f"{row.px_queued} queued{waited}"
    return [GroupState("queued", level, f"{text}{why}", text)]


def _pool_state(row: GroupReading) -> list[GroupState]:
    pool = row.pool
    if pool is None or not pool.queued:
        return []
    allowed = ABSENT if pool.allowed is None else pool.allowed
    waited = "" if pool.longest is None else f" {duration(pool.longest)}"
    more = f"+{pool.queued}{waited}"
    text = f"pool {ABSENT if row.active_sessions is None else row.active_sessions}/{allowed} {more}"
    return [GroupState("session_pool", "bad" if pool.near_timeout else "warn", text, f"pool {more}")]


def _blocked_state(row: GroupReading) -> list[GroupState]:
    if not row.blocked:
        return []
    return [GroupState("blocked", "warn", f"{counted(row.blocked, 'server')} blocked", f"{row.blocked} blocked")]


def _io_state(row: GroupReading) -> list[GroupState]:
    if not row.io_held_by:
        return []
    return [GroupState("io_limit", "warn", f"I/O held by {row.io_held_by}", row.io_held_by)]
