"""Reading: what one snapshot means, given the one before. Everything a screen, CSV or JSON shows is here.

Conventions: `inst_id` 0 is the whole cluster (the sum or the union of the instances). Numbers that need two
snapshots are None until there are two of the same plan window and instance start. CPUs are average running or
waiting sessions, i.e. CPU seconds per second. Seconds are seconds; MB are 2**20 bytes as Oracle counts them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

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
from presman.base.formats import count, duration
from presman.rows.cursor_rows import SqlText
from presman.rows.snapshot import GoneInstance

# ---- Readings of instances: identity, what the plan manages, CPUs and parallel servers.

CLUSTER = 0
"""The `inst_id` of figures over all instances."""


class ServerPool(Struct, frozen=True):
    """Parallel servers of one instance (V$PX_PROCESS_SYSSTAT, V$RSRC_PLAN, V$SYSTEM_PARAMETER).

    `in_use` and `available` are processes now; `counted` is PARALLEL_SERVERS_ACTIVE, what the queue counts;
    `target` is PARALLEL_SERVERS_TARGET and `maximum` PARALLEL_MAX_SERVERS. None: no view tells it.
    """

    inst_id: int
    in_use: int | None
    available: int | None
    counted: int | None
    target: int | None
    maximum: int | None
    highwater: int | None = None


class InstanceReading(Struct, frozen=True):
    """One instance: identity, what its plan manages, its CPUs and its parallel servers.

    `num_cpus` is what Resource Manager hands out (CPU_COUNT when caged, else the host's); `host_busy` the share
    of host CPU time that was busy since the last poll (0..1); `uptime` is seconds since it `started`.
    """

    inst_id: int
    name: str
    host: str
    started: datetime | None
    plan: str
    cpu_managed: str
    caging: str
    px_managed: str
    num_cpus: float
    host_cpus: float | None
    host_busy: float | None
    load: float | None
    servers: ServerPool
    uptime: float | None = None


class Quiesce(Struct, frozen=True):
    """The database is being quiesced, or is: a call of anybody but SYS and SYSTEM waits for `resmgr:become active`.

    `state` is QUIESCING, QUIESCED, or "" where V$INSTANCE.ACTIVE_STATE does not tell. `by` are the sessions that wait
    for `wait for possible quiesce finish`, in words; `was_by` those that were seen to, where none does now. `waiting`
    sessions are held, None where V$SESSION does not tell; the first of them for `longest` seconds.
    """

    state: str
    by: tuple[str, ...]
    waiting: int | None
    longest: float | None
    was_by: tuple[str, ...] = ()


class SwitchedPlan(Struct, frozen=True):
    """The newest change of plan (V$RSRC_PLAN_HISTORY): when, the plan that came and the one before, "" for none.

    `window` is the scheduler's window that brought it, "" where none did; no view tells who else did.
    """

    at: datetime
    plan: str
    before: str
    window: str


def instance_name(inst_id: int, name: str = "") -> str:
    """Return an instance in words: its number, and its name where that is known."""
    return f"instance {inst_id}" + (f" ({name})" if name else "")


STARTED_TOGETHER = 600.0
"""Seconds within which the instances of a cluster come up when all of them are started."""


def is_one_queue(managed: str) -> bool | None:
    """Whether one queue serves all groups by the time they have waited: V$RSRC_PLAN.PARALLEL_EXECUTION_MANAGED.

    None where that is neither FIFO, OFF nor FULL.
    """
    return {"FIFO": True, "OFF": True, "FULL": False}.get(managed.upper())


class Header(Struct, frozen=True):
    """What the top line shows. `px_managed` etc. are those of the first instance; `mixed_plans` tells they differ.

    `exadata` tells that storage cells answered, so that the database's I/O figures are not all there is to say;
    `autonomous` that the session is in a service of the Autonomous Database.
    `nature` are the words for what kind of database it is (CDB root, PDB, non-CDB, RAC, Exadata,
    Autonomous Database). `uptime` is that of the instance that was started last.
    `idle_blocker_minutes` is MAX_IDLE_BLOCKER_TIME, 0 for none, None where it is not known (before 19).
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
    num_cpus: float
    servers: ServerPool
    uptime: float | None
    mixed_plans: bool = False
    exadata: bool = False
    autonomous: bool = False
    nature: tuple[str, ...] = ()
    idle_blocker_minutes: int | None = None

    @property
    def target(self) -> str:
        """PARALLEL_SERVERS_TARGET in words; of several instances as the sum that it is: ``192 = 96 + 96``."""
        parts = f" = {' + '.join(count(each.servers.target) for each in self.instances)}"
        return f"{count(self.servers.target)}{parts if len(self.instances) > 1 else ''}"

    def uptime_of(self, inst_id: int) -> float | None:
        """Return for how many seconds an instance has been up, None where that is not known."""
        return next((each.uptime for each in self.instances if each.inst_id == inst_id), None)

    def has_one_queue(self) -> bool | None:
        """Whether one queue serves all groups, None where that is not known."""
        return is_one_queue(self.px_managed)

    @property
    def youngest(self) -> str:
        """Which instance is up for `uptime`, in words; "" where all of them are, but for some minutes."""
        known = [(each.uptime, each.inst_id) for each in self.instances if each.uptime is not None]
        together = not known or max(known)[0] - min(known)[0] < STARTED_TOGETHER
        return "" if together else f" (instance {min(known)[1]})"


class InstanceTotals(Struct, frozen=True):
    """Counters of one instance since it started.

    `waits` are those that ended, by wait class (V$SYSTEM_EVENT, without idle waits; classes that were not told in full
    are left out); `redo_bytes` is the redo that was made (V$SYSSTAT), None where it cannot be read.
    """

    inst_id: int
    waits: Mapping[str, EventWaits]
    redo_bytes: int | None = None


# ---- Alerts, what is not known, and the reading itself.

Severity: TypeAlias = Literal["bad", "warn", "good", "note"]
"""How bad it is: `bad` hurts somebody now, `warn` is to be looked at, `note` to be known, `good` is an all-clear."""

SEVERITY_WORDS: Mapping[str, str] = MappingProxyType(
    {"bad": "critical", "warn": "warning", "note": "note", "good": "ok", "off": "off"}
)
"""What each is called in files, texts and config.ini; a rule may be `off` as well."""


class Alert(NamedTuple):
    """One thing to know: how bad, its glyph, the sentence, and a shorter form for one line among others.

    `key` names the rule that found it and stays the same from release to release; `subject` is what it is about (a
    group, a container, an instance, "" for the database), so that key and subject tell it from poll to poll. `amount`
    is what thresholds are compared with, in the rule's unit; None where it is not a matter of more or less. `between`
    are sentences for a line that `text`, or even `short`, is too long for, the longest first.
    """

    state: Severity
    glyph: str
    text: str
    short: str
    key: str = ""
    subject: str = ""
    amount: float | None = None
    between: tuple[str, ...] = ()


class Evidence(NamedTuple):
    """What it takes to say that something is not there.

    `what` is queue, starved group or downgrade; `views` are those that must have told it; `lacking` says why nothing
    is known of it, "" where it is known.
    """

    what: str
    views: tuple[str, ...]
    lacking: str


class UnavailableView(NamedTuple):
    """A view that told nothing, and why in words: it could not be read, or the spool has no file of it."""

    view: str
    why: str


class UnansweredQuery(Struct, frozen=True):
    """A question that got no answer: the query's name, what is wrong, what cures it, how old its rows are."""

    query: str
    view: str
    text: str
    cure: str
    age: float | None = None

    @property
    def sentence(self) -> str:
        """What is wrong, and how old the rows are that are shown instead."""
        return self.text if self.age is None else f"{self.text}; its data is {duration(self.age)} old"

    def __str__(self) -> str:
        return f"{self.view or self.query}: {self.sentence} {self.cure}".rstrip()


class LateView(Struct, frozen=True):
    """A view that did not answer in time: its name, and how many seconds before `Reading.at` its rows were read.

    `age` is None where there are no rows at all.
    """

    view: str
    age: float | None


class Reading(Struct, frozen=True, dict=True):
    """All of it. `interval` is seconds between the two snapshots on the database's clock, None without a delta.

    `detail` is what a close look at one session adds, None without; `hour` comes from the metric history. `sessions`
    are worked out when first looked at: there can be thousands, and few pages show them.
    `monitor_servers` are the servers that GV$ queries have on a cluster now, presman's own among them: no statement's.
    `basis` says what may be said not to be there, and by which views; `unseen` are views that told nothing;
    `notes` what a reader of the figures must know.
    `statements_to_come` counts the statements on show whose texts and plans are still to be read, a few at each poll.
    `unlisted` counts the idle sessions that are not among `sessions`, as in most polls of a screen that does not show
    them; None where they could not be counted, 0 where all are there.
    `histograms_at` is when the histograms were read: they are older than the reading where nobody needs them.
    `late` are the views whose rows are older than the poll, `stale` the seconds by which the newest rows are: 0 if
    anything was answered, None if nothing ever was.
    `io_limited` are the containers with MAX_IOPS or MAX_MBPS, on each instance; `switched` is the newest plan change.
    `missed_minimums` are the containers that wait for CPU while they get less than their CPU_MIN_COUNT.
    `gone` are the instances that were seen within the last hour and are not open now.
    `quiesce` is there while the database is being quiesced, or is.
    `activity` are the sessions that were active at that instant, None where V$SESSION was not read for it.
    `since_startup` are the counters of each instance as they stand, made at the first look.
    `group_names` are the consumer groups that are defined, by name, None where DBA_RSRC_CONSUMER_GROUPS told nothing.
    `texts` are the texts that were read of statements on show and of the busiest ones, "" where V$SQL has them no
    longer; `reads_texts` tells whether V$SQL can be read.
    `alerts` are what thresholds and durations made of what the rules find, None where there are no such settings.
    `forecast` is what stands behind the forecasts of the queue, None where nobody forecasts; `bypassed` are running
    statements of which several polls have shown that their group does not count their servers: they did not queue.
    `goals` are how the goals of service of config.ini fare, () without any.
    `groups` holds the cluster rows (inst_id 0) first, then those per instance where there is more than one.
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

    def foreseen(self, starts: Mapping[Executing, StartForecast], forecast: QueueForecast | None) -> Reading:
        """Return it with the forecasts of its queued statements, and what stands behind them."""
        queue = {each.executing(): replace(each, starts=starts.get(each.executing())) for each in self.queue}
        heads = tuple(replace(each, statement=queue[each.statement.executing()]) for each in self.heads)
        return replace(self, queue=tuple(queue.values()), heads=heads, forecast=forecast)

    def effect_of(self, *way: RunningStatement) -> EndingEffect | None:
        """Return what the end of these would do to the whole queue, None where that was not forecast."""
        return None if self.forecast is None else self.forecast.effect_of(*(each.executing() for each in way))

    def cluster_groups(self) -> tuple[GroupReading, ...]:
        """Return the groups summed over the instances."""
        return tuple(group for group in self.groups if group.inst_id == CLUSTER)

    def judged(self, group: GroupReading) -> GroupReading:
        """Return the row that the verdict on a group's row is about.

        The cluster's row has the worst verdict of its instances: where they differ, or not all have the group, that is
        the row of the instance which has it and waits most.
        """
        if group.inst_id != CLUSTER:
            return group
        rows = [row for row in self.groups if row.inst_id and (row.con_id, row.name) == (group.con_id, group.name)]
        bad = [row for row in rows if row.verdict is group.verdict]
        everywhere = not bad or len(bad) == len(self.header.instances)
        return group if everywhere else max(bad, key=lambda row: row.waiting or 0.0)

    def why_unavailable(self, view: str) -> str:
        """Return why a view (``V$PX_SESSION``) told nothing, "" where it told something or was not asked."""
        return next((each.why for each in self.unseen if each.view.removeprefix("G") == view), "")

    def why_unknown(self, what: str) -> str:
        """Return why it is not known whether there is a `what` of the basis (queue, ...), "" where that is known."""
        return next((each.lacking for each in self.basis if each.what == what), "")

    def queued_by_group(self) -> dict[str, int]:
        """How many statements each group has queued by V$RSRC_CONSUMER_GROUP, the most first.

        It has none where V$SESSION tells which they are.
        """
        if not self.why_unknown("queue"):
            return {}
        found = {row.title: row.px_queued for row in self.cluster_groups() if row.px_queued}
        return dict(sorted(found.items(), key=lambda each: -each[1]))

    def not_known(self) -> tuple[str, ...]:
        """What is not known of what the all-clear rests on, in words with the reason."""
        whether = {"queue": "which statements are queued, and why"} if self.queued_by_group() else {}
        return tuple(
            f"{whether.get(each.what, f'whether there is a {each.what}')} ({each.lacking})"
            for each in self.basis
            if each.lacking
        )

    def instance_groups(self, inst_id: int) -> tuple[GroupReading, ...]:
        """Return the groups of one instance (the cluster's if `inst_id` is 0 or there is just one instance)."""
        alone = len(self.header.instances) < 2
        return tuple(group for group in self.groups if group.inst_id == (CLUSTER if alone else inst_id))
