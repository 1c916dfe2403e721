"""Metrics of a database: which figures of a Reading are exported to Prometheus and OpenTelemetry, and by which labels.

What a database counts is a counter as it stands there, and no rate: whoever asks makes rates over the time that he
wants. Labels are names of things that there are few of; no statement, session or user is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Any

from presman.analysis.containers.containers import PdbReading
from presman.analysis.readings.alert import SEVERITY_WORDS, Alert
from presman.analysis.readings.group_readings import GroupReading
from presman.analysis.readings.instance_readings import Header, InstanceReading
from presman.analysis.readings.reading import LateView, UnansweredQuery
from presman.analysis.readings.statement_readings import Downgrades, QueueHead
from presman.analysis.readings.total_readings import InstanceTotals
from presman.analysis.readings.wait_readings import Histogram
from presman.figures import group_figures, usage_figures
from presman.figures.container_figures import PDBS
from presman.figures.figure import COUNT, CPUS, SECONDS, Figure, Unit
from presman.figures.instance_figures import DOWNGRADES, SERVERS
from presman.figures.metric import NAMESPACE, Metric, MetricKind, Subject, info, of_figure, of_figures
from presman.figures.observed_reading import (
    activity_rows,
    alert_rows,
    container_label,
    container_rows,
    counted_containers,
    counted_groups,
    event_rows,
    group_rows,
    of_reading,
    pooled_groups,
    rows_of,
    wait_rows,
)
from presman.figures.usage_figures import ActiveSessions, ClassWaits, io_kinds, usage
from presman.figures.wait_distributions import distribution

_BYTES = Unit("bytes", str, 8)
_EPOCH = Unit("seconds since 1970", str, 10)


def _instance(row: Any) -> str:
    return str(row.inst_id)


def _io(prefix: str, view: str) -> tuple[Metric[Any], ...]:
    """Return the metrics of the I/O that a view counts."""
    found = []
    for kind in io_kinds(view):
        labels = {"size": kind.size, "direction": kind.direction}
        found += [of_figure(prefix, figure, labels=labels) for figure in (kind.megabytes, kind.requests)]
    return tuple(found)


_HELD = "Parallel servers the group holds now (V$RSRC_CONSUMER_GROUP.CURRENT_PQ_SERVERS_ACTIVE). At the poll."
_OF_GROUP: Mapping[str, Callable[[GroupReading], str]] = {
    "container": container_label,
    group_figures.NAME.key: attrgetter("name"),
}
_OF_HEAD: Mapping[str, Callable[[QueueHead], str]] = {
    "container": container_label,
    group_figures.NAME.key: attrgetter("group"),
}
_PDB_LABELS: Mapping[str, Callable[[PdbReading], str]] = {
    "inst_id": _instance,
    "container": lambda row: row.name or str(row.con_id),
}

# fmt: off
DATABASE: Subject[Header] = Subject(
    "The database", {}, of_reading(lambda reading: (reading.header,)),
    (
        info("database", "Identity of the database (V$DATABASE, V$INSTANCE), and the container connected to.",
             {name: attrgetter(name) for name in ("database", "version", "role", "container")}),
    ),
)
INSTANCES: Subject[InstanceReading] = Subject(
    "An instance", {"inst_id": _instance}, of_reading(lambda reading: reading.header.instances),
    (
        info("instance", "Name, host and plan of the instance (V$INSTANCE, V$RSRC_PLAN), and what the plan manages.", {
            "instance_name": attrgetter("name"), "host": attrgetter("host"), "plan": attrgetter("plan"),
            "cpu_managed": attrgetter("cpu_managed"), "caging": attrgetter("caging"),
            "px_managed": attrgetter("px_managed"),
        }),
        of_figure("instance_", Figure(
            "start_time_s", "started", _EPOCH, "When the instance started, since 1970 (V$INSTANCE.STARTUP_TIME).",
            lambda row: row.started.timestamp() if row.started else None)),
        of_figure("instance_", Figure("cpus", "CPUs", CPUS, group_figures.CAPACITY.help, "num_cpus")),
        of_figure("instance_", Figure("host_cpus", "host CPUs", CPUS, "CPUs of the host (V$OSSTAT, NUM_CPUS).",
                                      "host_cpus")),
        of_figure("instance_", SERVERS.column("host_busy_percent")),
        *of_figures("parallel_", (
            SERVERS.column(f"servers_{name}")
            for name in ("in_use", "counted", "target", "maximum", "available", "highwater")
        )),
    ),
)
GROUPS: Subject[GroupReading] = Subject(
    "A consumer group on an instance: what the plan gives it", {"inst_id": _instance, **_OF_GROUP}, group_rows,
    (
        info("group_state", "State of the group: its CPU, and one word for the worst of CPU, parallel queue, "
             "session pool and its container's I/O limit; the words are those of CSV.",
             {"verdict": group_figures.VERDICT.value, "state": group_figures.STATE.value}),
        *of_figures("group_", (
            group_figures.LIMIT, group_figures.GUARANTEED, group_figures.ENTITLED, group_figures.POOL_ALLOWED,
        )),
    ),
)
GROUP_SERVERS: Subject[GroupReading] = Subject(
    "A consumer group on all instances", _OF_GROUP, of_reading(lambda reading: reading.cluster_groups()),
    (of_figure("group_", group_figures.PX_LIMIT),),
)
GROUP_COUNTS: Subject[GroupReading] = Subject(
    "A consumer group on an instance: its counters", {"inst_id": _instance, **_OF_GROUP},
    rows_of("V$RSRC_CONSUMER_GROUP", counted_groups),
    (
        *of_figures("group_", (
            group_figures.ACTIVE, group_figures.CPU_WAITERS, group_figures.PX_STATEMENTS,
            replace(group_figures.PX_SERVERS, help=_HELD), group_figures.QUEUED,
        )),
        *of_figures("group_", usage(usage_figures.GROUPS)),
        *_io("group_", usage_figures.GROUPS),
        *of_figures("group_", (
            group_figures.SWITCHED_IN, group_figures.SWITCHED_OUT, group_figures.EVER_QUEUED,
            group_figures.COMPLETED, group_figures.SERVERS_USED, group_figures.TIMEOUTS,
        )),
        of_figure("group_", group_figures.ACTIVE_MS, stem="statements_active_ms_total"),
        of_figure("group_", group_figures.QUEUED_MS, stem="statements_queued_ms_total"),
    ),
)
POOLS: Subject[GroupReading] = Subject(
    "A consumer group on an instance that has an active session pool", {"inst_id": _instance, **_OF_GROUP},
    rows_of("V$RSRC_CONSUMER_GROUP", pooled_groups),
    (
        of_figure("group_", group_figures.POOL_QUEUE),
        of_figure("group_", group_figures.POOL_WAITS),
        of_figure("group_", group_figures.POOL_MS, stem="pool_wait_ms_total"),
    ),
)
HEADS: Subject[QueueHead] = Subject(
    "The first of a group's parallel queue",
    _OF_HEAD, rows_of("V$SESSION", of_reading(lambda reading: reading.heads)),
    (
        info("queue_head", "Why the first statement of the group's queue waits.", {"cause": attrgetter("cause")}),
        of_figure("queue_head_", Figure("waited_s", "waited", SECONDS, group_figures.HEAD.help, "statement.waited")),
        of_figure("queue_head_", Figure(
            "servers_short", "short", COUNT,
            "Parallel servers that must be freed before it can start; absent where that is not known.", "short")),
    ),
)
PLUGGABLE: Subject[PdbReading] = Subject(
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
)
PLUGGABLE_COUNTS: Subject[PdbReading] = Subject(
    "A pluggable database on an instance: its counters (from 12.2 on)", _PDB_LABELS,
    rows_of("V$RSRC_PDB", counted_containers),
    (
        *of_figures("pdb_", map(PDBS.column, ("px_statements_queued", "px_servers_active"))),
        of_figure("pdb_", Figure("sga_bytes", "SGA", _BYTES, "SGA in use now (V$RSRC_PDB.SGA_BYTES).", "sga_bytes")),
        of_figure("pdb_", Figure("pga_bytes", "PGA", _BYTES, "PGA in use now (V$RSRC_PDB.PGA_BYTES).", "pga_bytes")),
        *of_figures("pdb_", usage(usage_figures.CONTAINERS)),
        *_io("pdb_", usage_figures.CONTAINERS),
    ),
)
SESSIONS: Subject[ActiveSessions] = Subject(
    "Active sessions", {"wait_class": attrgetter("wait_class")}, of_reading(activity_rows),
    (of_figure("", usage_figures.ACTIVE),),
)
WAITS: Subject[ClassWaits] = Subject(
    "Waits by class on an instance", {"inst_id": _instance, "wait_class": attrgetter("wait_class")},
    rows_of("V$SYSTEM_EVENT", of_reading(wait_rows)),
    of_figures("", (usage_figures.WAITS, usage_figures.WAITED)),
)
EVENTS: Subject[Histogram] = Subject(
    "Waits for an event on an instance", {"inst_id": _instance, "event": attrgetter("event")},
    rows_of("V$EVENT_HISTOGRAM_MICRO", rows_of("V$EVENT_HISTOGRAM", event_rows)),
    (
        Metric(
            f"{NAMESPACE}event_wait_seconds", MetricKind.HISTOGRAM, "seconds",
            "Waits for the event since the instance started, by how long they took. Buckets are those of "
            "V$EVENT_HISTOGRAM_MICRO (V$EVENT_HISTOGRAM before 12.1), which is read once a minute; the sum is "
            "V$SYSTEM_EVENT.TIME_WAITED_MICRO at that time.", distribution,
        ),
    ),
)
OPERATIONS: Subject[Downgrades] = Subject(
    "Parallel operations on an instance", {"inst_id": _instance, "statistic": attrgetter("name")},
    rows_of("V$SYSSTAT", of_reading(lambda reading: reading.downgrades)),
    (of_figure("parallel_", DOWNGRADES.column("operations_total")),),
)
STARTED: Subject[InstanceTotals] = Subject(
    "Redo of an instance", {"inst_id": _instance},
    rows_of("V$SYSSTAT", of_reading(lambda reading: reading.since_startup)), (of_figure("", usage_figures.REDO),),
)
ALERTS: Subject[Alert] = Subject(
    "An alert", {
        "rule": attrgetter("key"), "severity": lambda row: SEVERITY_WORDS[row.state], "subject": attrgetter("subject"),
    },
    of_reading(alert_rows),
    (
        Metric(
            f"{NAMESPACE}alert", MetricKind.GAUGE, "", "An alert: 1 while it lasts. The "
            "rules are those of `presman alerts`, with the thresholds of config.ini.", lambda _: 1,
        ),
    ),
)
LATE_VIEWS: Subject[LateView] = Subject(
    "A view that is late", {"view": attrgetter("view")}, of_reading(lambda reading: reading.late),
    (
        of_figure("", Figure(
            "view_age_s", "age", SECONDS, "Age of the rows of a view that did not answer in time; absent while they "
            "are of the last poll. After a minute they are left out.", "age")),
    ),
)
UNANSWERED: Subject[UnansweredQuery] = Subject(
    "A question without an answer",
    {"query": attrgetter("query"), "view": attrgetter("view")}, of_reading(lambda reading: reading.troubles),
    (
        Metric(
            f"{NAMESPACE}query_unanswered", MetricKind.GAUGE, "", "A query that got no answer: 1 while this lasts. "
            "Usually a grant is missing; `presman doctor` shows which.", lambda _: 1,
        ),
    ),
)
# fmt: on

READING_SUBJECTS: tuple[Subject[Any], ...] = (
    *(DATABASE, INSTANCES, GROUPS, GROUP_SERVERS, GROUP_COUNTS, POOLS, HEADS, PLUGGABLE, PLUGGABLE_COUNTS),
    *(SESSIONS, WAITS, EVENTS, OPERATIONS, STARTED, ALERTS, LATE_VIEWS, UNANSWERED),
)
"""All that is exported of a Reading, in the order of the page."""
