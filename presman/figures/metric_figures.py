"""Metrics of a database: the figures of a Reading exported to Prometheus and OpenTelemetry, and their labels.

A total in the database is exported as a counter, not as a rate: the reader computes rates over any time range. Labels
are names with few values; statements, sessions and users are never labels.

The histogram of a view has cumulative buckets with fixed bounds: views have no rows for buckets without waits, and
buckets that come and go would break rates. The view's bounds are powers of two, in microseconds or (before 12.1) in
milliseconds; some of them are kept, and nothing is estimated: the count of waits shorter than a bound is exact. A wait
of exactly a bound counts as longer.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct, structs

from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.facts.system_facts import ROOT
from presman.analysis.goals import GoalReading
from presman.analysis.groups.containers import pdbs
from presman.analysis.latency.histograms import OPEN_FROM
from presman.analysis.readings.container_readings import PdbReading
from presman.analysis.readings.group_readings import GroupReading
from presman.analysis.readings.reading import (
    SEVERITY_WORDS,
    Alert,
    Header,
    InstanceReading,
    InstanceTotals,
    LateView,
    Reading,
    UnansweredQuery,
)
from presman.analysis.readings.session_readings import CLASSES
from presman.analysis.readings.statement_readings import Downgrades, QueueHead
from presman.analysis.readings.wait_readings import Histogram
from presman.base.sums import grouped
from presman.figures.figure import BYTES, COUNT, CPUS, SECONDS, TOTAL, Figure, Unit
from presman.figures.group_figures import GROUPS, PDBS
from presman.figures.history_figures import GOALS
from presman.figures.instance_figures import DOWNGRADES, SERVERS
from presman.figures.measures import groups
from presman.figures.metric import NAMESPACE, Distribution, Metric, MetricKind, Subject, info, of_figure, of_figures
from presman.rows.snapshot import Snapshot

MOST_EVENTS = 24
"""Most events per instance that get a histogram: those with the longest total wait since it started."""

_POWERS = (8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 24, 28)
"""Powers of two of the kept bounds, in microseconds: each from 256 µs to 66 ms, then fewer, up to 268 s."""
_MICROSECONDS = tuple(1 << power for power in _POWERS)
_MILLISECONDS = tuple(1_000 << power - 10 for power in _POWERS if power >= 10)


def distribution(histogram: Histogram) -> Distribution:
    """Return a histogram since the instance started; its sum is measured (V$SYSTEM_EVENT), or None if it is not."""
    buckets = histogram.buckets
    bounds = _MILLISECONDS if all(bucket.upper_us % 1_000 == 0 for bucket in buckets) else _MICROSECONDS
    counts = tuple(sum(bucket.count for bucket in buckets if bucket.upper_us <= bound < OPEN_FROM) for bound in bounds)
    total = sum(bucket.count for bucket in buckets)
    measured = None if histogram.startup is None else histogram.startup.microseconds / 1_000_000
    return Distribution(tuple(bound / 1_000_000 for bound in bounds), counts, total, measured)


def longest_waited(histograms: Iterable[Histogram]) -> list[Histogram]:
    """Return the histograms of non-idle events, at most MOST_EVENTS per instance, in the order given."""
    found = [each for each in histograms if each.startup is not None]
    by_time = sorted(found, key=lambda each: -(each.startup.microseconds if each.startup else 0))
    by_instance = grouped(by_time, lambda each: each.inst_id).values()
    kept = {id(each) for longest in by_instance for each in longest[:MOST_EVENTS]}
    return [each for each in found if id(each) in kept]


T = TypeVar("T")

LATE = 60.0
"""Seconds after which the rows of a view that does not answer are no longer exported: they may be out of date."""

MOST_ROWS = 500
"""Most groups and containers of one database with metrics: those that used most CPU."""


class ObservedReading(Struct, frozen=True, dict=True):
    """A Reading, the snapshots it was made from, and the histograms last read, with their sums at that time."""

    reading: Reading
    previous: Snapshot | None
    snapshot: Snapshot
    histograms: tuple[Histogram, ...]

    @cached_property
    def containers(self) -> tuple[PdbReading, ...]:
        """The pluggable databases on each instance, computed on first use."""
        found = pdbs(self.reading, self.previous, self.snapshot)
        instances = self.reading.header.instances
        only = instances[0].inst_id if instances else 1
        # A single instance has only the rows of the cluster (INST_ID 0): they are its own.
        return tuple(row for row in found if row.inst_id) or tuple(structs.replace(row, inst_id=only) for row in found)

    @cached_property
    def silent(self) -> frozenset[str]:
        """The views (V$...) that have not answered for so long that their rows are no longer exported."""
        late = (each.view for each in self.reading.late if each.age is None or each.age > LATE)
        return frozenset(view.removeprefix("G") for view in late)


def rows_of(view: str, rows: Callable[[ObservedReading], Iterable[T]]) -> Callable[[ObservedReading], Iterable[T]]:
    """Return a function that returns the rows of a view while they are recent enough."""
    return lambda observation: () if view in observation.silent else rows(observation)


def group_rows(observation: ObservedReading) -> Sequence[GroupReading]:
    """Return the groups of each instance."""
    return _largest(groups(observation.reading))


def counted_groups(observation: ObservedReading) -> Sequence[GroupReading]:
    """Return the groups for which the view has totals: a total that starts at 0 would look like a reset."""
    return [row for row in group_rows(observation) if row.usage is not None]


def container_rows(observation: ObservedReading) -> Sequence[PdbReading]:
    """Return the pluggable databases on each instance."""
    return _largest(observation.containers)


def _largest(rows: Sequence[Any]) -> Sequence[Any]:
    if len(rows) <= MOST_ROWS:
        return rows
    return sorted(rows, key=lambda row: -(row.usage.cpu_ms if row.usage else 0))[:MOST_ROWS]


class ClassWaits(NamedTuple):
    """The waits of one class that ended on one instance since it started."""

    inst_id: int
    wait_class: str
    waits: int
    microseconds: int


def class_waits(reading: Reading) -> list[ClassWaits]:
    """Return the waits of each instance by class."""
    return [
        ClassWaits(totals.inst_id, name, each.waits, each.microseconds)
        for totals in reading.since_startup
        for name, each in sorted(totals.waits.items())
    ]


class ActiveSessions(NamedTuple):
    """The user sessions that are now active in one wait class, or on CPU."""

    wait_class: str
    sessions: int


def active_sessions(reading: Reading) -> list[ActiveSessions]:
    """Return how many sessions are active in each wait class; empty if that is not known."""
    found = reading.activity
    return [] if found is None else [ActiveSessions(name, found.by_class.get(name, 0)) for name in CLASSES]


def container_label(row: GroupReading | QueueHead) -> str:
    """Return the name of a row's container, "" outside of containers."""
    return row.container or ("CDB$ROOT" if row.con_id == ROOT else str(row.con_id or ""))


_EPOCH = Unit("seconds since 1970", str, 10)


def _instance(row: Any) -> str:
    return str(row.inst_id)


_SINCE = "since the plan was activated"


def _usage(prefix: str, view: str) -> tuple[Metric[Any], ...]:
    """Return the metrics of a view's CPU and I/O totals."""
    cpu: tuple[Figure[Any], ...] = (
        Figure("cpu_ms_total", "CPU ms*", TOTAL,
               f"Milliseconds of CPU used {_SINCE} ({view}.CONSUMED_CPU_TIME).", "usage.cpu_ms"),
        Figure("cpu_wait_ms_total", "CPU wait ms*", TOTAL, f"Milliseconds that sessions were throttled {_SINCE} "
               f"({view}.CPU_WAIT_TIME, resmgr:cpu quantum).", "usage.cpu_wait_ms"),
        Figure("io_service_ms_total", "I/O ms*", TOTAL,
               f"Milliseconds that I/O requests took {_SINCE} ({view}.IO_SERVICE_TIME).", "usage.io_service_ms"),
    )  # fmt: skip
    more = _MORE if view == _GROUPS else ()
    return (*of_figures(prefix, (*cpu, *more)), *(metric for kind in _KINDS for metric in _io(prefix, view, *kind)))


_GROUPS, _CONTAINERS = "V$RSRC_CONSUMER_GROUP", "V$RSRC_PDB"
_KINDS = (("small", "read"), ("small", "write"), ("large", "read"), ("large", "write"))
_MORE: tuple[Figure[Any], ...] = (
    Figure("cpu_waits_total", "CPU waits*", TOTAL,
           f"How often sessions were throttled for a time slice {_SINCE} ({_GROUPS}.CPU_WAITS).", "usage.cpu_waits"),
    Figure("requests_total", "reqs*", TOTAL, f"Requests executed {_SINCE} ({_GROUPS}.REQUESTS).", "usage.requests"),
)  # fmt: skip
"""Totals that V$RSRC_CONSUMER_GROUP has and V$RSRC_PDB has not."""


def _io(prefix: str, view: str, size: str, direction: str) -> tuple[Metric[Any], ...]:
    """Return the metrics of a view's totals of one kind of I/O."""
    path, labels = f"usage.{size}_{direction}", {"size": size, "direction": direction}
    figures: tuple[Figure[Any], ...] = (
        Figure("io_mb_total", "I/O MB*", TOTAL, f"Megabytes read and written {_SINCE} ({view}.*_MEGABYTES). The "
               "database's view, not the storage cells'.", f"{path}_mb"),
        Figure("io_requests_total", "I/O reqs*", TOTAL, f"I/O requests {_SINCE} ({view}.*_REQUESTS).",
               f"{path}_requests"),
    )  # fmt: skip
    return tuple(of_figure(prefix, figure, labels=labels) for figure in figures)


_HELD = "Parallel servers the group holds now (V$RSRC_CONSUMER_GROUP.CURRENT_PQ_SERVERS_ACTIVE). At the poll."
_OF_GROUP: Mapping[str, Callable[[GroupReading], str]] = {
    "container": container_label,
    "consumer_group": attrgetter("name"),
}
_OF_HEAD: Mapping[str, Callable[[QueueHead], str]] = {
    "container": container_label,
    "consumer_group": attrgetter("group"),
}
_PDB_LABELS: Mapping[str, Callable[[PdbReading], str]] = {
    "inst_id": _instance,
    "container": lambda row: row.name or str(row.con_id),
}

# fmt: off
READING_SUBJECTS: tuple[Subject[Any], ...] = (
    Subject[Header](
        "The database", {}, lambda seen: (seen.reading.header,),
        (
            info("database", "Identity of the database (V$DATABASE, V$INSTANCE), and the container connected to.",
                 {name: attrgetter(name) for name in ("database", "version", "role", "container")}),
        ),
    ),
    Subject[InstanceReading](
        "An instance", {"inst_id": _instance}, lambda seen: seen.reading.header.instances,
        (
            info("instance", "Name, host and plan of the instance (V$INSTANCE, V$RSRC_PLAN), and what the plan "
                 "manages.", {"instance_name": attrgetter("name")} | {
                name: attrgetter(name) for name in ("host", "plan", "cpu_managed", "caging", "px_managed")
            }),
            of_figure("instance_", Figure(
                "start_time_s", "started", _EPOCH, "When the instance started, since 1970 (V$INSTANCE.STARTUP_TIME).",
                lambda row: row.started.timestamp() if row.started else None)),
            of_figure("instance_", Figure("cpus", "CPUs", CPUS, GROUPS["capacity_cpus"].help, "num_cpus")),
            of_figure("instance_", Figure("host_cpus", "host CPUs", CPUS, "CPUs of the host (V$OSSTAT, NUM_CPUS).",
                                          "host_cpus")),
            of_figure("instance_", SERVERS.column("host_busy_percent")),
            *of_figures("parallel_", (
                SERVERS.column(f"servers_{name}")
                for name in ("in_use", "counted", "target", "maximum", "available", "highwater")
            )),
        ),
    ),
    Subject[GroupReading](
        "A consumer group on an instance: what the plan gives it", {"inst_id": _instance, **_OF_GROUP}, group_rows,
        (
            info("group_state", "State of the group: its CPU, and one word for the worst of CPU, parallel queue, "
                 "session pool and its container's I/O limit; the words are those of CSV.",
                 {name: GROUPS[name].value for name in ("verdict", "state")}),
            *of_figures("group_", GROUPS.pick("limit_cpus guaranteed_cpus entitled_cpus session_pool_limit")),
        ),
    ),
    Subject[GroupReading](
        "A consumer group on all instances", _OF_GROUP, lambda seen: seen.reading.cluster_groups(),
        (of_figure("group_", GROUPS["px_servers_limit"]),),
    ),
    Subject[GroupReading](
        "A consumer group on an instance: its counters", {"inst_id": _instance, **_OF_GROUP},
        rows_of(_GROUPS, counted_groups),
        (
            *of_figures("group_", GROUPS.pick("active_sessions execution_waiters px_statements_active")),
            of_figure("group_", replace(GROUPS["px_servers_active"], help=_HELD)),
            of_figure("group_", GROUPS["px_statements_queued"]),
            *_usage("group_", _GROUPS),
            *of_figures("group_", GROUPS.pick(
                "switched_in_total switched_out_total statements_queued_total statements_completed_total "
                "servers_used_total queue_timeouts_total"
            )),
            of_figure("group_", GROUPS["active_ms_total"], stem="statements_active_ms_total"),
            of_figure("group_", GROUPS["queued_ms_total"], stem="statements_queued_ms_total"),
        ),
    ),
    Subject[GroupReading](
        "A consumer group on an instance that has an active session pool", {"inst_id": _instance, **_OF_GROUP},
        rows_of(_GROUPS, lambda observation: [row for row in counted_groups(observation) if row.pool is not None]),
        (
            *of_figures("group_", GROUPS.pick("pool_queue_length pool_waits_total")),
            of_figure("group_", GROUPS["pool_ms_total"], stem="pool_wait_ms_total"),
        ),
    ),
    Subject[QueueHead](
        "The first of a group's parallel queue",
        _OF_HEAD, rows_of("V$SESSION", lambda seen: seen.reading.heads),
        (
            info("queue_head", "Why the first statement of the group's queue waits.", {
                "cause": attrgetter("cause"), "reason": attrgetter("statement.reason"),
            }),
            *of_figures("queue_head_", (
                Figure("waited_s", "waited", SECONDS, GROUPS["head_waited_s"].help, "statement.waited"),
                Figure("servers_short", "short", COUNT, "Parallel servers that must be freed before it can start; "
                       "absent where that is not known.", "short"),
                Figure("starts_in_s", "starts in", SECONDS, "Seconds until it should start, in the median of possible "
                       "courses of the queue; absent where that is not known.", "statement.starts.median"),
                Figure("starts_low_s", "at least", SECONDS, "Seconds before which it starts in one case of ten.",
                       "statement.starts.low"),
                Figure("starts_high_s", "at most", SECONDS, "Seconds after which it starts in one case of ten.",
                       "statement.starts.high"),
            )),
        ),
    ),
    Subject[PdbReading](
        "A pluggable database on an instance: what the CDB plan gives it", _PDB_LABELS, container_rows,
        (
            info("pdb_state", "State of the container: its plan, its CPU, and what MAX_IOPS and MAX_MBPS do to it.", {
                "plan": attrgetter("plan"), "verdict": PDBS.column("verdict").value,
                "io_verdict": PDBS.column("io_verdict").value,
            }),
            *of_figures("pdb_", map(PDBS.column, (
                "limit_cpus", "guaranteed_cpus", "entitled_cpus", "active_sessions", "io_throttle_ms",
            ))),
        ),
    ),
    Subject[PdbReading](
        "A pluggable database on an instance: its counters (from 12.2 on)", _PDB_LABELS,
        rows_of(_CONTAINERS, lambda observation: [row for row in container_rows(observation) if row.usage is not None]),
        (
            *of_figures("pdb_", map(PDBS.column, ("px_statements_queued", "px_servers_active"))),
            of_figure("pdb_", Figure("sga_bytes", "SGA", BYTES, "SGA in use now (V$RSRC_PDB.SGA_BYTES).", "sga_bytes")),
            of_figure("pdb_", Figure("pga_bytes", "PGA", BYTES, "PGA in use now (V$RSRC_PDB.PGA_BYTES).", "pga_bytes")),
            *_usage("pdb_", _CONTAINERS),
        ),
    ),
    Subject[GoalReading](
        "A goal of service of config.ini", {"consumer_group": attrgetter("group"), "goal": lambda row: str(row.goal)},
        lambda seen: seen.reading.goals,
        tuple(of_figure("goal_", GOALS.column(key)) for key in ("good_total", "bad_total", "wanted_percent")),
    ),
    Subject[ActiveSessions](
        "Active sessions", {"wait_class": attrgetter("wait_class")}, lambda seen: active_sessions(seen.reading),
        (
            of_figure("", Figure(
                "active_sessions", "active", COUNT, "User sessions in a call and not in an idle wait, by what they "
                "wait for (V$SESSION). At the poll.", "sessions")),
        ),
    ),
    Subject[ClassWaits](
        "Waits by class on an instance", {"inst_id": _instance, "wait_class": attrgetter("wait_class")},
        rows_of("V$SYSTEM_EVENT", lambda seen: class_waits(seen.reading)),
        of_figures("", (
            Figure("waits_total", "waits*", TOTAL, "Waits of the class that ended since the instance started, idle "
                   "ones left out (V$SYSTEM_EVENT.TOTAL_WAITS).", "waits"),
            Figure("wait_us_total", "waited*", TOTAL, "Microseconds of the waits of the class that ended since the "
                   "instance started (V$SYSTEM_EVENT.TIME_WAITED_MICRO).", "microseconds"),
        )),
    ),
    Subject[Histogram](
        "Waits for an event on an instance", {"inst_id": _instance, "event": attrgetter("event")},
        rows_of("V$EVENT_HISTOGRAM_MICRO", rows_of(
            "V$EVENT_HISTOGRAM", lambda observation: longest_waited(observation.histograms))),
        (
            Metric(
                f"{NAMESPACE}event_wait_seconds", MetricKind.HISTOGRAM, "seconds",
                "Waits for the event since the instance started, by how long they took. Buckets are those of "
                "V$EVENT_HISTOGRAM_MICRO (V$EVENT_HISTOGRAM before 12.1), which is read once a minute; the sum is "
                "V$SYSTEM_EVENT.TIME_WAITED_MICRO at that time.", distribution,
            ),
        ),
    ),
    Subject[Downgrades](
        "Parallel operations on an instance", {"inst_id": _instance, "statistic": attrgetter("name")},
        rows_of("V$SYSSTAT", lambda seen: seen.reading.downgrades),
        (of_figure("parallel_", DOWNGRADES.column("operations_total")),),
    ),
    Subject[InstanceTotals](
        "Redo of an instance", {"inst_id": _instance},
        rows_of("V$SYSSTAT", lambda seen: seen.reading.since_startup),
        (
            of_figure("", Figure("redo_bytes_total", "redo*", TOTAL, "Bytes of redo made since the instance started "
                                 "(V$SYSSTAT, 'redo size').", "redo_bytes")),
        ),
    ),
    Subject[Alert](
        "An alert", {
            "rule": attrgetter("key"), "severity": lambda row: SEVERITY_WORDS[row.state],
            "subject": attrgetter("subject"),
        },
        lambda seen: [alert for alert in wrong(seen.reading) if alert.state != "good"],
        (
            Metric(
                f"{NAMESPACE}alert", MetricKind.GAUGE, "", "An alert: 1 while it lasts. The "
                "rules are those of `presman alerts`, with the thresholds of config.ini.", lambda _: 1,
            ),
        ),
    ),
    Subject[LateView](
        "A view that is late", {"view": attrgetter("view")}, lambda seen: seen.reading.late,
        (
            of_figure("", Figure(
                "view_age_s", "age", SECONDS, "Age of the rows of a view that did not answer in time; absent while "
                "they are of the last poll. After a minute they are left out.", "age")),
        ),
    ),
    Subject[UnansweredQuery](
        "A query without an answer",
        {"query": attrgetter("query"), "view": attrgetter("view")}, lambda seen: seen.reading.troubles,
        (
            Metric(
                f"{NAMESPACE}query_unanswered", MetricKind.GAUGE, "", "A query that got no answer: 1 while this lasts. "
                "Usually a grant is missing; `presman doctor` shows which.", lambda _: 1,
            ),
        ),
    ),
)
"""Everything exported from a Reading, in the order of the page."""
# fmt: on
