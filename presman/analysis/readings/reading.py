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
from presman.analysis.readings.detail_readings import Detail
from presman.analysis.readings.group_readings import GroupReading, LimitedContainer
from presman.analysis.readings.instance_readings import CLUSTER, Header, Quiesce, SwitchedPlan
from presman.analysis.readings.session_readings import Activity, SessionReading
from presman.analysis.readings.statement_readings import (
    Downgrades,
    Executing,
    HourReading,
    QueuedStatement,
    QueueForecast,
    QueueHead,
    RunningStatement,
    StartForecast,
)
from presman.analysis.readings.wait_readings import Histogram, InstanceTotals, OutlierReading, RedoHealth, WaitReading
from presman.rows.cursor_rows import SqlText

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
    is what thresholds are compared with, in the rule's unit; None where it is not a matter of more or less.
    """

    state: Severity
    glyph: str
    text: str
    short: str
    key: str = ""
    subject: str = ""
    amount: float | None = None


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
    """A question that got no answer: the query's name, what is wrong and what cures it."""

    query: str
    view: str
    text: str
    cure: str


class LateView(Struct, frozen=True):
    """A view that did not answer in time: its name, and how many seconds before `Reading.at` its rows were read.

    `age` is None where there are no rows at all.
    """

    view: str
    age: float | None


class Reading(Struct, frozen=True):
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
    `quiesce` is there while the database is being quiesced, or is.
    `activity` are the sessions that were active at that instant, None where V$SESSION was not read for it.
    `since_startup` are the counters of each instance as they stand, made at the first look.
    `group_names` are the consumer groups that are defined, by name, None where DBA_RSRC_CONSUMER_GROUPS told nothing.
    `texts` are the texts that were read of statements on show and of the busiest ones, "" where V$SQL has them no
    longer; `reads_texts` tells whether V$SQL can be read.
    `alerts` are what thresholds and durations made of what the rules find, None where there are no such settings.
    `forecast` is what stands behind the forecasts of the queue, None where nobody forecasts.
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
    histograms: tuple[Histogram, ...]
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
    switched: SwitchedPlan | None = None
    quiesce: Quiesce | None = None
    activity: Activity | None = None
    alerts: tuple[Alert, ...] | None = None
    since_startup: Sequence[InstanceTotals] = ()
    group_names: tuple[str, ...] | None = None
    texts: tuple[SqlText, ...] = ()
    reads_texts: bool = True
    forecast: QueueForecast | None = None
    goals: tuple[GoalReading, ...] = ()

    def foreseen(self, starts: Mapping[Executing, StartForecast], forecast: QueueForecast | None) -> Reading:
        """Return it with the forecasts of its queued statements, and what stands behind them."""
        queue = {each.executing(): replace(each, starts=starts.get(each.executing())) for each in self.queue}
        heads = tuple(replace(each, statement=queue[each.statement.executing()]) for each in self.heads)
        return replace(self, queue=tuple(queue.values()), heads=heads, forecast=forecast)

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

    def instance_groups(self, inst_id: int) -> tuple[GroupReading, ...]:
        """Return the groups of one instance (the cluster's if `inst_id` is 0 or there is just one instance)."""
        alone = len(self.header.instances) < 2
        return tuple(group for group in self.groups if group.inst_id == (CLUSTER if alone else inst_id))
