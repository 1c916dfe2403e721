"""Reading: the meaning of one snapshot, given the one before. It holds everything that a screen, CSV or JSON shows.

Conventions: `inst_id` 0 is the whole cluster (the sum or the union of the instances). Numbers that need two snapshots
are None until there are two of the same plan window and instance start. CPUs are average running or waiting sessions,
that is CPU seconds per second. Times are in seconds. MB are 2**20 bytes, as in Oracle's views.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from math import inf
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from presman.analysis.caches import once
from presman.analysis.goals import GoalReading
from presman.analysis.readings.container_readings import LimitedContainer, MissedMinimum
from presman.analysis.readings.forecast_readings import EndingEffect, QueueForecast
from presman.analysis.readings.group_readings import GroupReading
from presman.analysis.readings.session_readings import Activity, Detail, SessionReading
from presman.analysis.readings.statement_readings import (
    Downgrades,
    Executing,
    HourReading,
    QueuedStatement,
    QueueHead,
    RunningStatement,
    StartForecast,
)
from presman.analysis.readings.wait_readings import EventWaits, Histogram, OutlierReading, RedoHealth, WaitReading
from presman.base.formats import ago, count, duration
from presman.rows.cursor_rows import SqlText
from presman.rows.snapshot import GoneInstance, MissingInstance

# ---- Readings of instances: identity, what the plan manages, CPUs and parallel servers.

CLUSTER = 0
"""The `inst_id` of figures over all instances."""


class ServerPool(Struct, frozen=True):
    """Parallel servers of one instance (V$PX_PROCESS_SYSSTAT, V$RSRC_PLAN, V$SYSTEM_PARAMETER).

    `in_use` and `available` are processes now. `counted` is PARALLEL_SERVERS_ACTIVE, which the queue counts. `target`
    is PARALLEL_SERVERS_TARGET, `maximum` is PARALLEL_MAX_SERVERS. None means that no view shows it.
    """

    inst_id: int
    in_use: int | None
    available: int | None
    counted: int | None
    target: int | None
    maximum: int | None
    highwater: int | None = None

    def left(self) -> float:
        """Return the servers left of `maximum`, infinite if that is not known."""
        return inf if self.in_use is None or self.maximum is None else max(0, self.maximum - self.in_use)


class InstanceReading(Struct, frozen=True):
    """One instance: identity, what its plan manages, its CPUs and its parallel servers.

    `num_cpus` is the number of CPUs that Resource Manager hands out (CPU_COUNT when caged, else the host's), None if no
    view shows it. `host_busy` is the part of host CPU time that was busy since the last poll (0..1). `uptime` is
    seconds since it `started`.
    """

    inst_id: int
    name: str
    host: str
    started: datetime | None
    plan: str
    cpu_managed: str
    caging: str
    px_managed: str
    num_cpus: float | None
    host_cpus: float | None
    host_busy: float | None
    load: float | None
    servers: ServerPool
    uptime: float | None = None


class Quiesce(Struct, frozen=True):
    """The database is being quiesced, or is quiesced: calls of all but SYS and SYSTEM wait for `resmgr:become active`.

    `state` is QUIESCING, QUIESCED, or "" if V$INSTANCE.ACTIVE_STATE does not show it. `by` are the sessions that wait
    for `wait for possible quiesce finish`, in words; `was_by` are those seen earlier if none waits now. `waiting` is
    the number of sessions held, None if V$SESSION does not show it; the first of them has waited for `longest` seconds.
    """

    state: str
    by: tuple[str, ...]
    waiting: int | None
    longest: float | None
    was_by: tuple[str, ...] = ()


class SwitchedPlan(Struct, frozen=True):
    """The latest change of plan (V$RSRC_PLAN_HISTORY): the time, the new plan and the one before, "" for none.

    `window` is the scheduler's window that opened it, "" if none did; no view shows who else did.
    """

    at: datetime
    plan: str
    before: str
    window: str


def instance_name(inst_id: int, name: str = "") -> str:
    """Return an instance in words: its number, and its name if known."""
    return f"instance {inst_id}" + (f" ({name})" if name else "")


STARTED_TOGETHER = 600.0
"""Seconds within which the instances of a cluster come up when all of them are started."""


def is_one_queue(managed: str) -> bool | None:
    """Whether a single queue serves all groups, longest wait first: V$RSRC_PLAN.PARALLEL_EXECUTION_MANAGED.

    None if that is neither FIFO, OFF nor FULL.
    """
    return {"FIFO": True, "OFF": True, "FULL": False}.get(managed.upper())


class Header(Struct, frozen=True):
    """The top line. `px_managed` and similar fields are of the first instance; `mixed_plans` means that plans differ.

    `exadata` means that storage cells answered, so that the database's I/O figures do not show everything. `autonomous`
    means that the session uses a service of the Autonomous Database. `nature` are words for the kind of database (CDB
    root, PDB, non-CDB, RAC, Exadata, Autonomous Database). `uptime` is that of the instance that was started last.
    `idle_blocker_minutes` is MAX_IDLE_BLOCKER_TIME, 0 for none, None if not known (before 19).
    """

    database: str
    version: str
    role: str
    cdb: bool
    container: str
    instances: tuple[InstanceReading, ...]
    plan: str
    plan_since: datetime | None
    cpu_managed: str
    caging: str
    px_managed: str
    num_cpus: float | None
    servers: ServerPool
    uptime: float | None
    mixed_plans: bool = False
    exadata: bool = False
    autonomous: bool = False
    nature: tuple[str, ...] = ()
    idle_blocker_minutes: int | None = None
    plan_starts: Mapping[int, datetime | None] = MappingProxyType({})
    """When the plan of each container was activated, by CON_ID; None if not known, or not the same on all instances."""

    @property
    def target(self) -> str:
        """PARALLEL_SERVERS_TARGET in words; for several instances as a sum: ``192 = 96 + 96``, ``96 + ?``."""
        targets = [each.servers.target for each in self.instances]
        parts = " + ".join("?" if each is None else count(each) for each in targets)
        if None in targets and len(targets) > 1:
            return parts
        return f"{count(self.servers.target)}{f' = {parts}' if len(targets) > 1 else ''}"

    @property
    def target_used(self) -> str:
        """The target, and how many servers the queue counts against it if these are not all that are in use."""
        counts = self.servers.counted
        return self.target + (f" ({counts} count against it)" if counts not in {None, self.servers.in_use} else "")

    def uptime_of(self, inst_id: int) -> float | None:
        """Return the seconds that an instance has been up, None if not known."""
        return next((each.uptime for each in self.instances if each.inst_id == inst_id), None)

    @property
    def youngest(self) -> str:
        """The instance that `uptime` belongs to, in words; "" if all were started within some minutes."""
        known = [(each.uptime, each.inst_id) for each in self.instances if each.uptime is not None]
        together = not known or max(known)[0] - min(known)[0] < STARTED_TOGETHER
        return "" if together else f" (instance {min(known)[1]})"


class InstanceTotals(Struct, frozen=True):
    """Counters of one instance since it started.

    `waits` are finished waits by wait class (V$SYSTEM_EVENT, without idle waits; classes with incomplete figures are
    left out). `redo_bytes` is the redo generated (V$SYSSTAT), None if it cannot be read.
    """

    inst_id: int
    waits: Mapping[str, EventWaits]
    redo_bytes: int | None = None


# ---- Alerts, what is not known, and the reading itself.

Severity: TypeAlias = Literal["bad", "warn", "good", "note"]
"""How bad it is: `bad` is critical now, `warn` needs attention, `note` is information, `good` is an all-clear."""

SEVERITY_WORDS: Mapping[str, str] = {
    "bad": "critical", "warn": "warning", "note": "note", "good": "ok", "off": "off",
}  # fmt: skip
"""The name of each in files, texts and config.ini; a rule may also be `off`."""


AGE, AGO = "\0", "\1"
"""Where the age of an alert stands in its words if only what comes before is older than the poll.

It is in brackets, or where there are brackets already, without.
"""


class Alert(NamedTuple):
    """One alert: how bad it is, its glyph, the sentence, and a shorter form for one line among others.

    `key` names the rule that found it and stays the same across releases. `subject` is what it is about (a group, a
    container, an instance, "" for the database); key and subject identify it from poll to poll. `amount` is compared
    with thresholds, in the rule's unit; None if the rule has no amount. `between` are sentences for lines that are too
    short for `text` or even `short`, longest first; one that is longer than `text` says more than it.
    """

    state: Severity
    glyph: str
    # `text`, `short` and `between` without the age are `words`, `brief` and `others`. If it cannot be checked, all of
    # it is as old, and `unchecked` says why.
    words: str
    brief: str
    key: str = ""
    subject: str = ""
    amount: float | None = None
    others: tuple[str, ...] = ()
    age: float = 0.0
    unchecked: str = ""

    @property
    def text(self) -> str:
        """The sentence, with the age of what is older than the poll."""
        if not self.unchecked:
            return self._aged(self.words)
        return f"{_bare(self.words).removesuffix('.')} ({ago(self.age)}: {self.unchecked})"

    @property
    def short(self) -> str:
        """The shorter form, with the same age."""
        return self._aged(self.brief)

    @property
    def between(self) -> tuple[str, ...]:
        """The forms for other lines, with the same age."""
        return tuple(map(self._aged, self.others))

    def bare(self) -> Alert:
        """The same alert without its age."""
        words, brief, *others = map(_bare, (self.words, self.brief, *self.others))
        return self._replace(words=words, brief=brief, others=tuple(others), age=0.0, unchecked="")

    def _aged(self, words: str) -> str:
        """Return words with the age: in its places, or at their end if they have none."""
        if not self.age:
            return _bare(words)
        if self.unchecked or (AGE not in words and AGO not in words):
            return f"{_bare(words)} ({ago(self.age)})"
        return words.replace(AGE, f" ({ago(self.age)})").replace(AGO, f" {ago(self.age)}")


def _bare(words: str) -> str:
    return words.replace(AGE, "").replace(AGO, "")


class EarlierAdvice(NamedTuple):
    """The step for an alert when it was last seen: the kind of step, its sentence, short, and its tab."""

    step: str
    text: str
    short: str
    tab: str


class UncheckedAlert(NamedTuple):
    """An alert that an earlier poll found and that cannot be checked now, because views do not answer.

    `alert` is as it was `at` the instant when it was last seen, `views` are those that do not answer. `why` says so
    in words, with the columns that are missing. `advice` is the step for it at that time, None if nothing was known to
    help.
    """

    alert: Alert
    at: datetime
    views: tuple[str, ...]
    advice: EarlierAdvice | None = None
    why: str = ""

    def shown(self, now: datetime) -> Alert:
        """The alert with its age and why it cannot be checked."""
        return self.alert._replace(age=(now - self.at).total_seconds(), unchecked=self.why)


class Evidence(NamedTuple):
    """The evidence that something does not exist.

    `what` is queue, starved group or downgrade. `views` are the views that must have answered. `lacking` says why it is
    not known, "" if it is known.
    """

    what: str
    views: tuple[str, ...]
    lacking: str


NO_ANSWER = "no view answers"
"""The sentence about a poll in which no view answered."""


class UnavailableView(NamedTuple):
    """A view that returned nothing, and why in words: it could not be read, or the spool has no file for it."""

    view: str
    why: str


class UnansweredQuery(Struct, frozen=True):
    """A query that got no answer: its name, the problem, the cure, and the age of its rows."""

    query: str
    view: str
    text: str
    cure: str
    age: float | None = None

    @property
    def sentence(self) -> str:
        """The problem, and the age of the rows that are shown instead."""
        return self.text if self.age is None else f"{self.text}; its data is {duration(self.age)} old"

    def __str__(self) -> str:
        return f"{self.view or self.query}: {self.sentence} {self.cure}".rstrip()


class LateView(Struct, frozen=True):
    """A view that did not answer in time: its name, and how many seconds before `Reading.at` its rows were read.

    `age` is None if there are no rows at all.
    """

    view: str
    age: float | None


class Reading(Struct, frozen=True, dict=True):
    """The complete reading. `interval` is the seconds between the two snapshots on the database's clock, or None.

    `groups` holds the cluster rows (inst_id 0) first, then those per instance if there are several. `detail` has the
    details of the session that has the focus, None without one. `hour` comes from the metric history. `sessions` are
    computed on first access: there can be thousands, and few pages show them. `unlisted` counts the idle sessions that
    are not among `sessions`, as in most polls of a screen that does not show them; None if they could not be counted, 0
    if all are there. `activity` has the sessions that were active at that instant, None if V$SESSION was not read for
    it.

    `monitor_servers` is the number of servers that GV$ queries, including presman's own, have on a cluster now; they
    belong to no statement. `basis` lists what may be reported as absent, and by which views; `unseen` are views that
    returned nothing; `notes` are facts that a reader of the figures must know. `late` are the views whose rows are
    older than the poll, `stale` is the age of the newest rows in seconds: 0 if any query was answered, None if none
    ever was. `histograms_at` is when the histograms were read: they are older than the reading if no page needs them.

    `statements_to_come` counts the statements on screen whose texts and plans are still to be read, a few at each poll.
    `texts` are the texts read for the statements on screen and the busiest ones, "" if V$SQL no longer has them;
    `reads_texts` is whether V$SQL can be read.

    `io_limited` are the containers with MAX_IOPS or MAX_MBPS, on each instance. `missed_minimums` are the containers
    that wait for CPU while they get less than their CPU_MIN_COUNT. `switched` is the latest plan change. `gone` are the
    instances that were seen within the last hour and are not open now; `just_gone` are those of them that the poll
    before still showed; `missing` are those that may be gone, while V$INSTANCE does not answer. `quiesce` is set while
    the database is being quiesced, or is quiesced. `since_startup` has the counters of each instance, computed on first
    access. `group_names` are the names of all defined consumer groups, None if DBA_RSRC_CONSUMER_GROUPS returned
    nothing.

    `alerts` are the results of thresholds and durations applied to the rules, None without such settings. `forecast` is
    the basis of the queue's forecasts, None without forecasts. `bypassed` are running statements whose group, as
    several polls have shown, does not count their servers: they did not queue. `goals` are the results for the goals of
    service in config.ini, empty without any. `unchecked` are alerts of earlier polls that cannot be checked now. `part`
    says why there may be instances that are not in view, "" if there are none: queues and limits are the cluster's.
    `late_starts` are queued statements (instance, SID, serial number, SQL_ID) that should have started by now, by an
    earlier forecast.
    """

    target: str
    kind: str
    at: datetime
    number: int
    interval: float | None
    poll_seconds: float
    round_trips: int
    header: Header
    groups: tuple[GroupReading, ...]
    queue: tuple[QueuedStatement, ...]
    heads: tuple[QueueHead, ...]
    running: tuple[RunningStatement, ...]
    sessions: Sequence[SessionReading]
    waits: tuple[WaitReading, ...]
    histograms: Sequence[Histogram]
    downgrades: tuple[Downgrades, ...]
    unmanaged_servers: int | None
    troubles: tuple[UnansweredQuery, ...]
    notes: tuple[str, ...] = ()
    redo: tuple[RedoHealth, ...] = ()
    outliers: tuple[OutlierReading, ...] = ()
    detail: Detail | None = None
    hour: tuple[HourReading, ...] = ()
    monitor_servers: int = 0
    basis: tuple[Evidence, ...] = ()
    unseen: tuple[UnavailableView, ...] = ()
    statements_to_come: int = 0
    late: tuple[LateView, ...] = ()
    stale: float | None = 0.0
    unlisted: int | None = 0
    histograms_at: datetime | None = None
    io_limited: tuple[LimitedContainer, ...] = ()
    missed_minimums: tuple[MissedMinimum, ...] = ()
    switched: SwitchedPlan | None = None
    gone: tuple[GoneInstance, ...] = ()
    just_gone: tuple[int, ...] = ()
    missing: tuple[MissingInstance, ...] = ()
    quiesce: Quiesce | None = None
    activity: Activity | None = None
    alerts: tuple[Alert, ...] | None = None
    since_startup: Sequence[InstanceTotals] = ()
    group_names: tuple[str, ...] | None = None
    texts: tuple[SqlText, ...] = ()
    reads_texts: bool = True
    forecast: QueueForecast | None = None
    bypassed: tuple[Executing, ...] = ()
    goals: tuple[GoalReading, ...] = ()
    unchecked: tuple[UncheckedAlert, ...] = ()
    part: str = ""
    late_starts: tuple[Executing, ...] = ()

    def is_silent(self) -> bool:
        """Whether no view answered in this poll: its rows, if it has any, are those of earlier polls."""
        return bool(self.late) and self.stale != 0.0

    def with_forecast(self, starts: Mapping[Executing, StartForecast], forecast: QueueForecast | None) -> Reading:
        """Return the reading with the forecasts of its queued statements, and their basis."""
        queue = {each.executing(): replace(each, starts=starts.get(each.executing())) for each in self.queue}
        heads = tuple(replace(each, statement=queue[each.statement.executing()]) for each in self.heads)
        return replace(self, queue=tuple(queue.values()), heads=heads, forecast=forecast)

    def trusted_start(self, head: QueueHead) -> StartForecast | None:
        """Return the forecast of a head's start, None without one or if too many forecasts were wrong."""
        is_poor = self.forecast is None or self.forecast.record.is_poor()
        return None if is_poor else head.statement.starts

    def effect_of(self, *way: RunningStatement) -> EndingEffect | None:
        """Return the effect of ending these statements on the whole queue, None if not forecast.

        Nothing is proven while something that decides whether a head starts is not known, such as a limit that may
        have changed since it was read: courses played before rest on it.
        """
        found = None if self.forecast is None else self.forecast.effect_of(*(each.executing() for each in way))
        is_open = bool(self.just_gone) or any(head.not_known is not None for head in self.heads)
        return replace(found, proven=False) if found is not None and is_open else found

    def head_of(self, queue: tuple[int, str]) -> QueueHead | None:
        """Return the head of a group's queue (CON_ID and name), None if nothing of the group is queued."""
        return next((each for each in self.heads if (each.con_id, each.group) == queue), None)

    def group_of(self, key: tuple[int, str]) -> GroupReading | None:
        """Return the row over all instances of a group (CON_ID and name), None without one."""
        return next((each for each in self.cluster_groups() if (each.con_id, each.name) == key), None)

    @once
    def cluster_groups(self) -> tuple[GroupReading, ...]:
        """Return the groups summed over the instances."""
        return tuple(group for group in self.groups if group.inst_id == CLUSTER)

    def judged(self, group: GroupReading) -> GroupReading:
        """Return the row that explains the verdict of a group's row.

        The cluster's row has the worst verdict of its instances. If they differ, or not all have the group, that is the
        row of the instance with this verdict that waits most.
        """
        if group.inst_id != CLUSTER:
            return group
        rows = [row for row in self.groups if row.inst_id and (row.con_id, row.name) == (group.con_id, group.name)]
        bad = [row for row in rows if row.verdict is group.verdict]
        everywhere = not bad or len(bad) == len(self.header.instances)
        return group if everywhere else max(bad, key=lambda row: row.waiting or 0.0)

    def why_unavailable(self, view: str) -> str:
        """Return why a view (``V$PX_SESSION``) returned nothing, "" if it returned rows or was not queried."""
        return next((each.why for each in self.unseen if each.view.removeprefix("G") == view), "")

    def unanswered(self, view: str) -> str:
        """Return a view as it was queried (``GV$INSTANCE``) if it gave no answer, "" if it did or was not queried."""
        return next((each.view for each in self.troubles if each.view.removeprefix("G") == view), "")

    def age_of(self, view: str) -> float | None:
        """Return how many seconds ago a view (``V$SESSION``) last answered if it did not at this poll; else None."""
        return next((each.age for each in self.late if each.view.removeprefix("G") == view), None)

    def why_unknown(self, what: str) -> str:
        """Return why it is not known whether `what` (queue, ... of the basis) exists, "" if it is known."""
        return next((each.lacking for each in self.basis if each.what == what), "")

    def lacks_values(self) -> bool:
        """Whether a view of the basis answered without values of a column that Oracle always fills."""
        return any(" lacks " in each.lacking for each in self.basis)

    def lists_queue(self) -> bool:
        """Whether V$SESSION lists the queued statements of all instances in view, even if these are not the cluster."""
        return self.why_unknown("queue") in {"", self.part}

    def queue_target(self) -> int | None:
        """Return the target of the queue, of which limits are parts; None if only a part of a cluster is in view."""
        return None if self.part else self.header.servers.target

    def queued_by_group(self) -> dict[str, int]:
        """The number of statements that each group has queued by V$RSRC_CONSUMER_GROUP, the most first.

        Empty if V$SESSION lists the statements.
        """
        if self.lists_queue():
            return {}
        found = {row.title: row.px_queued for row in self.cluster_groups() if row.px_queued}
        return dict(sorted(found.items(), key=lambda each: -each[1]))

    def not_known(self) -> tuple[tuple[str, str], ...]:
        """The unknown parts of the all-clear's basis, in words: the reason, and what is unknown."""
        whether = {"queue": "which statements are queued"} if self.queued_by_group() else {}
        whether |= {"queue": "whether there is a queue on other instances"} if self.part and self.lists_queue() else {}
        lacking = (each for each in self.basis if each.lacking)
        return tuple((each.lacking, whether.get(each.what, f"whether there is a {each.what}")) for each in lacking)

    def instance_groups(self, inst_id: int) -> tuple[GroupReading, ...]:
        """Return the groups of one instance (the cluster's if `inst_id` is 0 or there is just one instance)."""
        alone = len(self.header.instances) < 2
        return tuple(group for group in self.groups if group.inst_id == (CLUSTER if alone else inst_id))
