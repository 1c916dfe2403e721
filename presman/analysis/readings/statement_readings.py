"""Readings of parallel statements: those queued, why, and until when; those running; the history of the queue."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple, TypeGuard

from msgspec import Struct, field

from presman.base.formats import as_of, counted, duration, listed
from presman.rows.session_state import LONG_TOGETHER, SHORT_TOGETHER, SessionKind, session_name


class Cause(Enum):
    """Why the head of a group's queue waits, in the words shown."""

    SYSTEM = "short of servers (target)"
    GROUP = "short of servers (group limit)"
    CONTAINER = "short of servers (container limit)"
    BEHIND = "behind others in its queue"
    NOT_CHOSEN = "not chosen yet"
    NEVER_FITS = "too large for its limit"
    UNEXPLAINED = "not explained by the servers counted"
    UNKNOWN = "not known"


class QueueReason(Enum):
    """Why a queued statement waits, in the words shown; files have the names. The set is closed."""

    NEVER_FITS = "too large for its limit"
    GROUP_LIMIT = "its group's limit leaves too few servers"
    CONTAINER_LIMIT = "its container's limit leaves too few servers"
    TARGET = "the servers target leaves too few servers"
    BEHIND_IN_QUEUE = "behind others of its group"
    OTHER_QUEUE = "behind statements of other groups"
    ORDER_OF_PLAN = "the plan chooses between it and others"
    QUIESCED = "the database is quiesced"
    UNKNOWN = "not known"


class NotKnown(NamedTuple):
    """An unknown fact on which a start depends, with the view that did not show it, or why no view does.

    `age` is the seconds since that view showed it, None if it did not. With `is_recent` the answer is good enough for
    advice on what may help, but it proves nothing.
    """

    what: str
    view: str = ""
    age: float | None = None
    is_recent: bool = False

    @property
    def source(self) -> str:
        """The view, with the age of its answer if there was one."""
        return self.view if self.age is None else f"{self.view} of {duration(self.age)} ago"

    def __str__(self) -> str:
        return f"{self.what} is not known{f' ({self.source})' if self.view else ''}"


class DopFacts(Struct, frozen=True):
    """The facts about a statement's degree in OTHER_XML. The first occurrence of each fact counts.

    `degree` is the chosen DOP. Fields are None or "" if the document does not have them; a derived degree of 0 is None,
    too: a manual degree is not derived. `skipped` are the lines of an adaptive plan that its display map leaves out:
    they are not executed. `unread` is why the document was not read.
    """

    degree: int | None = None
    reason: str = ""
    operation_reason: str = ""
    cpu_degree: int | None = None
    io_degree: int | None = None
    queuing_reason: str = ""
    skipped: tuple[int, ...] = ()
    facts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    unread: str = ""

    @property
    def why(self) -> str:
        """The reason for its degree, in a few words; without a reason, what automatic DOP derived it from."""
        if self.reason or self.operation_reason:
            return self.reason or self.operation_reason
        derived = ((self.cpu_degree, "CPU"), (self.io_degree, "I/O"))
        by = ", ".join(f"{resource} {degree}" for degree, resource in derived if degree is not None)
        return f"auto: {by}" if by else ""


class WantsSource(Enum):
    """The source of the number of servers that a queued statement wants, in the words shown; most reliable first."""

    PQ_SERVERS = "PQ_SERVERS"
    RUNNING = "the same SQL that runs now"
    PLAN = "its plan"
    DEGREE = "its DOP alone"
    MEAN = "the mean of its group's queue"


class Servers(Struct, frozen=True):
    """Servers that a queued statement wants: exact if `low` == `high`, a range if its server sets are not known.

    One set gives a range, too: it is not documented whether the queue counts the DOP for it or twice the DOP. A MEAN is
    over a minute and a group: it says nothing certain about one statement.
    """

    low: int
    high: int
    source: WantsSource = WantsSource.DEGREE

    def times(self, count: int) -> Servers:
        """Return the servers that this many such statements want together."""
        return Servers(self.low * count, self.high * count, self.source)

    def __str__(self) -> str:
        if self.source is WantsSource.MEAN:
            return f"~{self.low}"
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"


def is_known(wants: Servers | None) -> TypeGuard[Servers]:
    """Whether the number is known for one statement: a mean over its group says nothing about a single one."""
    return wants is not None and wants.source is not WantsSource.MEAN


def group_title(row: ParallelStatement | QueueHead) -> str:
    """Return the name of a row's group, with that of its container if several are visible."""
    return f"{row.group} ({row.container})" if row.container else row.group


Executing = tuple[int, int, int, str]
"""An execution: instance, SID, serial number and SQL_ID."""


class StartForecast(Struct, frozen=True):
    """Seconds after which a queued statement should start: the `median`, and `low` to `high` in 8 cases of 10.

    None if no forecast is shown; `why_none` says why. `timeout` means that its timeout comes first: then it starts by
    the timeout or not at all, and there are no figures either.
    """

    median: float | None = None
    low: float | None = None
    high: float | None = None
    timeout: bool = False
    why_none: str = ""


class ParallelStatement(Struct, frozen=True, kw_only=True):
    """One parallel statement, queued or running, by its session (the coordinator's if it runs).

    `event` is what the session waits for now ("on CPU" if it does not wait), `requested` is the DOP it asked for.
    `no_text` is why `sql_text` is empty. `container` is the name of its pluggable database if others are visible, too;
    `exec_id` is the session's SQL_EXEC_ID.
    """

    inst_id: int
    sid: int
    serial: int
    group: str
    user: str
    program: str
    module: str
    service: str
    machine: str
    sql_id: str
    child: int | None
    requested: int | None
    dop: DopFacts
    event: str
    sql_text: str
    con_id: int = 0
    container: str = ""
    exec_id: int | None = None
    status: str = ""
    no_text: str = ""

    def executing(self) -> Executing:
        """Return the key that the statement has both while it waits and while it runs."""
        return self.inst_id, self.sid, self.serial, self.sql_id


SAME_WAIT = 1.0
"""Seconds by which two waits must differ to show their order: sessions are not all read at one instant."""


class QueuedStatement(ParallelStatement, frozen=True, kw_only=True):
    """One statement in the parallel queue. `position` counts within its group from 1, oldest first.

    `waited` is None if no view shows how long; `waited_ago` is the seconds since it had waited so long, None if that is
    of this poll, as by V$RSRC_SESSION_INFO where V$SESSION did not answer. `timeout_left` is seconds to
    PARALLEL_QUEUE_TIMEOUT, None without one, or if `no_timeout` says why it is not known; `timeout_by` is the view that
    showed the timeout, and how long ago, "" if it did so just now. `timeout_action` is what happens then (CANCEL or
    RUN, "" if it was not read). `wants` is None if no source shows it; `servers_left` are those that the instances on
    which its servers may run have left of PARALLEL_MAX_SERVERS, at least, None if not known. `starts` is when it should
    start, None without forecasts; `reason` is why it waits.
    """

    position: int
    waited: float | None
    waited_ago: float | None = None
    timeout_left: float | None
    timeout_action: str
    wants: Servers | None
    no_timeout: str = ""
    timeout_by: str = ""
    servers_left: int | None = None
    starts: StartForecast | None = None
    reason: QueueReason = QueueReason.UNKNOWN

    @property
    def at_timeout(self) -> str:
        """What happens to it at its timeout. Before 18 it always gets the error."""
        if self.timeout_action == "RUN":
            return "it starts at once, downgraded if there are too few servers (PQ_TIMEOUT_ACTION RUN)"
        if not self.timeout_action:
            return "it ends with ORA-07454 or starts at once (PQ_TIMEOUT_ACTION was not read)"
        return "it ends with ORA-07454"

    def waits_like(self, other: QueuedStatement) -> bool:
        """Whether this is the other statement, or has waited as long, so that it is not known which is first."""
        if other.waited is not None and self.waited is not None and abs(other.waited - self.waited) < SAME_WAIT:
            return True
        return other.sid == self.sid and other.executing() == self.executing()

    def may_be_first(self, first: QueuedStatement) -> bool:
        """Whether this statement may be the first: it has waited as long, or one of the two waits is not known."""
        return self.waited is None or first.waited is None or self.waits_like(first)


def longest_wait(queue: Iterable[QueuedStatement]) -> float | None:
    """Return how long the first of a queue has waited, None without a queue or if that is not known."""
    return max((each.waited for each in queue if each.waited is not None), default=None)


class RunningStatement(ParallelStatement, frozen=True, kw_only=True):
    """One parallel statement that holds servers, by its coordinator.

    `degree` of `requested` (V$PX_SESSION, largest over its server sets); `downgraded` is the percent lost. `tree_sets`
    is the largest number of server sets of one of its data flow trees, None if V$PX_SESSION does not show them.
    `certain` is false if it may be a monitor's GV$ query instead: on a cluster whose views do not show it.

    `sql_id` is the statement the servers are held for; `session_sql_id` is what the coordinator's session itself shows
    (its previous statement if it executes none), which may be another one. `kind` is the kind of work its session does
    if that is not an ordinary user session. `seen` is false if V$SESSION has no row for the coordinator. `last_call` is
    seconds since its session became ACTIVE or INACTIVE (LAST_CALL_ET). `blocker` is the session that the coordinator
    waits for, as ``instance:SID``, "" if it waits for none. `queued` means that its session waits in the parallel queue
    with another statement.

    `progress` (0..1) and `remaining` (seconds) are those of `operation`, its current operation (V$SESSION_LONGOPS), not
    of the whole statement. `is_last` means that `operation` is the last one of its plan and approaches its end;
    `comes_nearer` means that the end of `operation` has come nearer since the previous poll, whatever the plan does
    then, and that no earlier prediction of the statement's end has proved wrong. `overdue` means that its last
    operation should have been done by now, by the estimate at an earlier poll.

    `idle` is the time in seconds that the coordinator has been INACTIVE while it holds servers, None while it works.
    `idle_known` is false if it is idle and no view shows since when: then `idle` is 0. `oracle_ends_in` is the seconds
    until Oracle itself ends the idle session, by the parameter `ended_by`, None if it does not.

    `orphaned` means that the instance of its coordinator is not open: it no longer runs, but these servers of other
    instances are not yet freed. `outdated` is the view that did not answer at this poll, among those that must be of
    one moment to show its servers and the effect of its end; "" if all did. `seen_ago` is the seconds since V$SESSION
    last answered, None if it did at this poll.
    """

    servers: int
    sets: int
    degree: int | None
    downgraded: float
    elapsed: float | None
    idle: float | None
    servers_by_instance: Mapping[int, int]
    progress: float | None = None
    remaining: float | None = None
    operation: str = ""
    certain: bool = True
    session_sql_id: str = ""
    blocker: str = ""
    tree_sets: int | None = None
    kind: SessionKind | None = None
    seen: bool = True
    last_call: float | None = None
    is_last: bool = False
    queued: bool = False
    oracle_ends_in: float | None = None
    ended_by: str = ""
    idle_known: bool = True
    overdue: bool = False
    orphaned: bool = False
    outdated: str = ""
    comes_nearer: bool = False
    seen_ago: float | None = None

    @property
    def who(self) -> str:
        """The session by user, instance and SID."""
        return session_name(self.user, self.kind, self.inst_id, self.sid)

    def held_on(self, inst_ids: Collection[int]) -> int:
        """Return the servers it holds on these instances; all that it holds if `inst_ids` is empty."""
        if not inst_ids:
            return self.servers
        return sum(held for inst_id, held in self.servers_by_instance.items() if inst_id in inst_ids)

    @property
    def idle_time(self) -> str:
        """How long it has been idle, in words; with its age if V$SESSION did not answer: it may have gone on since."""
        return as_of(duration(self.idle), self.seen_ago) if self.idle_known else "an unknown time"


def elapsed_time(row: RunningStatement) -> str:
    """Return how long a statement has run, with its age if V$SESSION did not answer."""
    return as_of(duration(row.elapsed), row.seen_ago)


def runs(row: RunningStatement) -> str:
    """Return the words that a statement runs, and for how long if that is known; without STATUS it may be idle."""
    word = "may run" if row.seen and not row.status else "runs"
    return word if row.elapsed is None else f"{word} {elapsed_time(row)}"


def running_in_words(statements: Iterable[RunningStatement]) -> list[str]:
    """Return how many statements run on how many servers and, separately, how many gone ones still hold servers.

    Zero counts are left out.
    """
    counts = {False: [0, 0], True: [0, 0]}
    for each in statements:
        counts[each.orphaned][0] += 1
        counts[each.orphaned][1] += each.servers
    words = {False: "running", True: "gone with the instance"}
    return [f"{n} {words[gone]} on {counted(servers, 'server')}" for gone, (n, servers) in counts.items() if n]


LIMITS = ("group limit", "container limit", "target")
"""Limits that may leave too few servers, in the order shown."""


class Shortage(Struct, frozen=True):
    """Servers that a head is `short` of under one limit that binds: they must be freed there before it can start.

    The system's target concerns `everybody`, a container's limit the statements of `con_id`, a group's limit those of
    `group` in it. If `inst_ids` is not empty, only servers on these instances help. Without `is_certain` it is not
    known which servers the limit counts, so it may not bind.
    """

    short: int
    everybody: bool = False
    con_id: int = 0
    group: str = ""
    inst_ids: tuple[int, ...] = ()
    is_certain: bool = True

    @property
    def limit(self) -> str:
        """Which of LIMITS it is under."""
        return LIMITS[2 if self.everybody else not self.group]


class QueueHead(Struct, frozen=True):
    """Why the first statement of a group's queue waits, with the figures of the sentence.

    Figures are in servers: `wants`, `held` (None: not known) of `allowed` (None: no limit) of its group, or of its
    container if `cause` is that limit, the system's `in_use` of `target`; `short` is the number to be freed, None if it
    cannot be known. `shortages` has every limit that binds; if the servers wanted are a range, they are for its upper
    end. `container` is the name of its pluggable database if others are visible, too. `equals` other statements of its
    queue have waited as long, or for an unknown time, so it is not known which is first. `queue_waited` is the total
    time in seconds that all statements of its queue have waited. `was_critical` means that they had waited too long at
    a previous poll, and not much less since. `fits_with` are the instances that are gone or may be, if the head is too
    large only without their servers. `not_known` is what else decides whether it starts and is not known: then it is
    not known that ending a session helps. `as_large` says that a statement of its group runs although it is too large
    for the limit, too.
    """

    group: str
    statement: QueuedStatement
    cause: Cause
    wants: Servers | None
    held: int | None
    allowed: int | None
    in_use: int | None
    target: int | None
    short: int | None
    sentence: str
    con_id: int = 0
    shortages: tuple[Shortage, ...] = ()
    container: str = ""
    equals: int = 0
    queue_waited: float = 0.0
    was_critical: bool = False
    fits_with: tuple[int, ...] = ()
    not_known: NotKnown | None = None
    as_large: bool = False
    one_queue: bool | None = None
    """Whether a single queue serves all groups of its container, None if not known."""

    @property
    def is_too_large_for_target(self) -> bool:
        """Whether only the target is too small: on 12.1 such a statement was seen to start once nothing else ran."""
        if self.cause is not Cause.NEVER_FITS or self.wants is None or self.target is None:
            return False
        return self.wants.low > self.target and (self.allowed is None or self.wants.low <= self.allowed)

    @property
    def never_starts(self) -> bool:
        """Whether it is not known to start ever.

        It is too large for the limit of its group as it is now, also with the instances that are gone, none as large
        runs, and no timeout starts it (PQ_TIMEOUT_ACTION RUN).
        """
        seen = self.is_too_large_for_target or self.as_large
        may_start = seen or self.statement.timeout_action == "RUN" or bool(self.fits_with)
        return self.cause is Cause.NEVER_FITS and not may_start and self.not_known is None

    @property
    def is_critical(self) -> bool:
        """Whether it is critical, by how long and how many wait, or because time does not help."""
        return self.never_starts or self.queue_waited >= (SHORT_TOGETHER if self.was_critical else LONG_TOGETHER)

    @property
    def why(self) -> str:
        """The reason why it waits, in a few words that the handbook explains.

        A target or a limit may leave too few servers without being reached, so this gives the number missing, if known,
        for each limit that binds.
        """
        if self.is_too_large_for_target:
            return "too large for the target"
        if self.cause is Cause.UNKNOWN:
            return "why it waits is not known"
        if self.cause not in {Cause.SYSTEM, Cause.GROUP, Cause.CONTAINER} or not self.short:
            return str(self.cause.value)
        short = {each.limit: each.short for each in self.shortages}
        if len(short) > 1:
            return f"short by {listed([f'{short[name]} ({name})' for name in LIMITS if name in short])}"
        return str(self.cause.value).replace("of servers", f"by {self.short}")


def urgency(head: QueueHead) -> tuple[float, bool, float]:
    """Return the rank of a head in alerts, tables and lines of state: near its timeout, critical, time waited."""
    first = head.statement
    # At a timeout with PQ_TIMEOUT_ACTION RUN it starts, so that is not urgent.
    left = first.timeout_left if first.timeout_action != "RUN" else None
    return (left if left is not None and left <= 300.0 else 300.0, not head.is_critical, -(first.waited or 0.0))


def is_downgrade(name: str) -> bool:
    """Return whether a V$SYSSTAT name is a class of downgrades, not 'Parallel operations not downgraded'."""
    return "downgraded" in name and "not downgraded" not in name


def downgrade_in_words(name: str) -> str:
    """Return how far operations of a class were downgraded.

    >>> downgrade_in_words("Parallel operations downgraded 50 to 75 pct")
    'by 50 to 75 %'
    >>> downgrade_in_words("Parallel operations downgraded to serial")
    'to serial'
    """
    words = name.lower().partition("downgraded")[2].strip()
    return f"by {words.removesuffix(' pct')} %" if words.endswith(" pct") else words


class Downgrades(Struct, frozen=True):
    """Parallel operations per class since the last poll (None: not known) and since startup (V$SYSSTAT)."""

    inst_id: int
    name: str
    total: int
    delta: int | None


class UsualQueue(Struct, frozen=True):
    """A group's parallel queue over `seconds` (None: length not known): means and shares, None if unknown.

    `mean_wait` is the mean wait in seconds of statements that queued, `queued_share` is the part of all statements'
    lifetime spent queued (0..1), `mean_servers` is servers per completed statement, `mean_queue` is the mean number of
    queued statements.
    """

    seconds: float | None
    percent_queued: float | None = None
    mean_wait: float | None = None
    queued_share: float | None = None
    mean_servers: float | None = None
    mean_queue: float | None = None
    timeouts: int | None = None


class HourReading(Struct, frozen=True):
    """The history of one group's queue over the last hour from V$RSRCMGRMETRIC_HISTORY, all instances.

    `until` is when its newest minute ended, None if not known: later time is not included.
    """

    con_id: int
    name: str
    usual: UsualQueue
    until: datetime | None = None
