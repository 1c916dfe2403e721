"""The measures that can be exported, and the columns of each: names, units, meaning, said once.

Names are stable: they are part of what presman promises (README.md lists them, a test compares).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from presman.analysis.reading import GroupReading, IoRates, QueuedStatement, Reading, WaitReading
from presman.analysis.waiting import Bucket, Histogram
from presman.output.cells import Cell
from presman.watch.arrivals import Arrival

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Field(Generic[T]):
    """One column: its name with the unit in it, its value, and what it is."""

    name: str
    value: Callable[[T], Cell]
    help: str


@dataclass(frozen=True, slots=True)
class Measure(Generic[T]):
    """What is exported under one name.

    Tidy: `rows` gives one item per line, `fields` its cells. Wide: `across` gives the columns of one line by
    heading, each with one of `figures`, the first unless another is asked for.
    """

    name: str
    help: str
    rows: Callable[[Reading], Iterable[T]]
    fields: tuple[Field[T], ...]
    figures: tuple[str, ...]
    across: Callable[[Reading, str], Mapping[str, Cell]]

    def header(self) -> list[str]:
        """Return the tidy header."""
        return [field.name for field in COMMON] + [field.name for field in self.fields]

    def tidy(self, reading: Reading, rows: Iterable[T] | None = None) -> list[list[Cell]]:
        """Return the lines of one reading in the order of :meth:`header`; of `rows` where they are given."""
        common = [field.value(reading) for field in COMMON]
        items = self.rows(reading) if rows is None else rows
        return [common + [field.value(item) for field in self.fields] for item in items]


COMMON: tuple[Field[Reading], ...] = (
    Field("time", lambda reading: reading.at, "the database's time of the poll, ISO 8601 with offset"),
    Field("database", lambda reading: reading.header.database, "V$DATABASE"),
    Field("interval_s", lambda reading: reading.interval, "seconds since the poll before, on the database's clock"),
)


def groups(reading: Reading) -> Sequence[GroupReading]:
    """Return the groups of each instance; on one instance the cluster's rows are that instance's."""
    apart = tuple(group for group in reading.groups if group.inst_id)
    return apart or reading.cluster_groups()


def _only_instance(reading: Reading) -> int:
    return reading.header.instances[0].inst_id if reading.header.instances else 1


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group on a real instance, whichever way the reading numbers it."""

    inst_id: int
    group: GroupReading


def _group_rows(reading: Reading) -> list[GroupRow]:
    only = _only_instance(reading)
    return [GroupRow(group.inst_id or only, group) for group in groups(reading)]


def _of_group(name: str, value: Callable[[GroupReading], Cell], help_text: str) -> Field[GroupRow]:
    return Field(name, lambda row: value(row.group), help_text)


def _of_io(name: str, value: Callable[[IoRates], Cell], help_text: str) -> Field[GroupRow]:
    return Field(name, lambda row: None if row.group.io is None else value(row.group.io), help_text)


_WHICH: tuple[Field[GroupRow], ...] = (
    Field("inst_id", lambda row: row.inst_id, "instance number"),
    _of_group("con_id", lambda group: group.con_id, "container, 0 where there are none"),
    _of_group("consumer_group", lambda group: group.name, "consumer group"),
)

_CPU: tuple[Field[GroupRow], ...] = (
    *_WHICH,
    _of_group("used_cpus", lambda group: group.used, "CPUs used: average sessions on CPU since the poll before"),
    _of_group(
        "waited_cpus", lambda group: group.waiting, "CPUs waited for: average sessions Resource Manager held off"
    ),
    _of_group("capacity_cpus", lambda group: group.capacity, "CPUs Resource Manager hands out"),
    _of_group("limit_cpus", lambda group: group.limit, "CPUs at the group's UTILIZATION_LIMIT; empty without one"),
    _of_group("guaranteed_cpus", lambda group: group.guaranteed, "CPUs it gets when everyone is busy"),
    _of_group("entitled_cpus", lambda group: group.entitled, "CPUs it may claim among the groups with demand now"),
    _of_group("used_percent", lambda group: group.used_percent, "percent of capacity used"),
    _of_group("throttled_percent", lambda group: group.throttled_percent, "percent of CPU demand that had to wait"),
    _of_group("verdict", lambda group: group.verdict, "what happens to its CPU: one stable word"),
    _of_group("active_sessions", lambda group: group.active_sessions, "sessions in a call now"),
    _of_group("execution_waiters", lambda group: group.execution_waiters, "sessions waiting for CPU now"),
    _of_group("yields_per_s", lambda group: group.yields_per_s, "times a session gave up its CPU, per second"),
    _of_group("requests_per_s", lambda group: group.requests_per_s, "calls per second"),
    _of_group(
        "pool_queue_length", lambda group: group.pool_queue_length, "sessions queued for the active session pool"
    ),
)

_SESSION_IO: tuple[Field[GroupRow], ...] = (
    *_WHICH,
    _of_io("io_mb_per_s", lambda io: io.mb, "MB per second, all kinds"),
    _of_io("io_requests_per_s", lambda io: io.requests, "requests per second, all kinds"),
    _of_io("small_read_mb_per_s", lambda io: io.small_read_mb, "single-block reads, MB per second"),
    _of_io("small_write_mb_per_s", lambda io: io.small_write_mb, "single-block writes, MB per second"),
    _of_io("large_read_mb_per_s", lambda io: io.large_read_mb, "multi-block reads, MB per second"),
    _of_io("large_write_mb_per_s", lambda io: io.large_write_mb, "multi-block writes, MB per second"),
    _of_io("small_read_requests_per_s", lambda io: io.small_read_requests, "single-block reads per second"),
    _of_io("small_write_requests_per_s", lambda io: io.small_write_requests, "single-block writes per second"),
    _of_io("large_read_requests_per_s", lambda io: io.large_read_requests, "multi-block reads per second"),
    _of_io("large_write_requests_per_s", lambda io: io.large_write_requests, "multi-block writes per second"),
    _of_io("service_ms", lambda io: io.service_ms, "mean service time of a request, milliseconds"),
)

_PARALLEL: tuple[Field[GroupRow], ...] = (
    *_WHICH,
    _of_group("px_statements_active", lambda group: group.px_active, "parallel statements running now"),
    _of_group("px_servers_active", lambda group: group.px_servers, "parallel servers they hold now"),
    _of_group("px_statements_queued", lambda group: group.px_queued, "parallel statements queued now"),
    _of_group(
        "px_servers_limit", lambda group: group.servers_limit, "servers the group may hold; empty without a limit"
    ),
    _of_group(
        "px_servers_limit_percent", lambda group: group.servers_limit_percent, "that limit in percent of the target"
    ),
    _of_group("head_waited_s", lambda group: group.head_waited, "seconds the head of the group's queue has waited"),
    _of_group(
        "statements_queued_total", lambda group: group.totals.queued, "statements ever queued, since the plan started"
    ),
    _of_group("statements_completed_total", lambda group: group.totals.completed, "statements completed, since then"),
    _of_group("servers_used_total", lambda group: group.totals.servers_used, "servers used by them, since then"),
    _of_group("active_ms_total", lambda group: group.totals.active_ms, "milliseconds they ran, since then"),
    _of_group("queued_ms_total", lambda group: group.totals.queued_ms, "milliseconds they queued, since then"),
    _of_group(
        "queue_timeouts_total", lambda group: group.totals.timeouts, "statements whose queueing timed out, since then"
    ),
)

_EMPHASIS: tuple[Field[GroupRow], ...] = (
    *_WHICH,
    _of_group("in_plan", lambda group: group.in_plan, "true if the active plan names it"),
    _of_group("guaranteed_share", lambda group: group.share, "effective share when everyone is busy, 0 to 1"),
    _of_group("guaranteed_cpus", lambda group: group.guaranteed, "the same in CPUs"),
    _of_group("entitled_cpus", lambda group: group.entitled, "CPUs it may claim among the groups with demand now"),
    _of_group("limit_cpus", lambda group: group.limit, "CPUs at the group's UTILIZATION_LIMIT; empty without one"),
    _of_group(
        "px_servers_limit", lambda group: group.servers_limit, "servers the group may hold; empty without a limit"
    ),
)

_QUEUE: tuple[Field[QueuedStatement], ...] = (
    Field("inst_id", lambda item: item.inst_id, "instance of the coordinator"),
    Field("sid", lambda item: item.sid, "its session"),
    Field("serial", lambda item: item.serial, "its SERIAL#"),
    Field("consumer_group", lambda item: item.group, "consumer group"),
    Field("position", lambda item: item.position, "place in its group's queue, 1 is the head"),
    Field("user", lambda item: item.user, "database user"),
    Field("sql_id", lambda item: item.sql_id, "SQL_ID"),
    Field("child_number", lambda item: item.child, "cursor"),
    Field("waited_s", lambda item: item.waited, "seconds in the queue"),
    Field("timeout_left_s", lambda item: item.timeout_left, "seconds to PARALLEL_QUEUE_TIMEOUT; empty without one"),
    Field("timeout_action", lambda item: item.timeout_action, "what happens then"),
    Field("requested_dop", lambda item: item.requested, "degree asked for"),
    Field("dop", lambda item: item.dop.degree, "degree chosen (OTHER_XML)"),
    Field("dop_reason", lambda item: item.dop.reason, "why (OTHER_XML)"),
    Field("queuing_reason", lambda item: item.dop.queuing_reason, "why it queues (OTHER_XML)"),
    Field("servers_low", lambda item: item.wants.low if item.wants else None, "servers it wants, at least"),
    Field("servers_high", lambda item: item.wants.high if item.wants else None, "servers it wants, at most"),
    Field("event", lambda item: item.event, "wait event"),
    Field("program", lambda item: item.program, "V$SESSION.PROGRAM"),
    Field("module", lambda item: item.module, "V$SESSION.MODULE"),
    Field("service", lambda item: item.service, "V$SESSION.SERVICE_NAME"),
    Field("machine", lambda item: item.machine, "V$SESSION.MACHINE"),
    Field("sql_text", lambda item: item.sql_text, "the statement"),
)


@dataclass(frozen=True, slots=True)
class BucketRow:
    """One bucket of one event's histogram."""

    histogram: Histogram
    bucket: Bucket


_LATENCY: tuple[Field[BucketRow], ...] = (
    Field("inst_id", lambda row: row.histogram.inst_id, "instance number"),
    Field("event", lambda row: row.histogram.event, "wait event"),
    Field(
        "upper_us", lambda row: row.bucket.upper_us, "waits below this many microseconds, not below the bucket before"
    ),
    Field("waits_total", lambda row: row.bucket.count, "waits in the bucket since the instance started"),
    Field("waits", lambda row: row.bucket.delta, "waits in the bucket since the poll before"),
    Field(
        "estimated_us_total",
        lambda row: row.bucket.estimated_us,
        "microseconds they took since the instance started, estimated: 0.75 of the bound each",
    ),
    Field("estimated_us", lambda row: row.bucket.estimated_delta_us, "the same of those since the poll before"),
)


_ARRIVALS: tuple[Field[Arrival], ...] = (
    Field("arrived", lambda item: item.at, "when it came"),
    Field("con_id", lambda item: item.con_id, "container, 0 where there are none"),
    Field("consumer_group", lambda item: item.group, "consumer group"),
    Field("servers", lambda item: item.servers, "parallel servers it had, or wants at most"),
    Field("waited_s", lambda item: round(item.waited, 1), "seconds in the queue"),
    Field(
        "run_s", lambda item: None if item.ran is None else round(item.ran, 1), "seconds it ran; empty if it never did"
    ),
    Field("fate", lambda item: item.fate.value, "ended, running, queued, left the queue"),
    Field("px_servers_target", lambda item: item.target, "PARALLEL_SERVERS_TARGET of all instances"),
    Field("px_servers_limit", lambda item: item.limit, "servers its group may hold; empty without a limit"),
    Field("guaranteed_share", lambda item: item.weight, "share of its group in the plan, 0 to 1"),
    Field("timeout_s", lambda item: item.timeout, "PARALLEL_QUEUE_TIMEOUT, where it was seen"),
    Field("timeout_action", lambda item: item.action, "what happens then"),
    Field("first_seen", lambda item: item.first, "the first poll it was seen in"),
    Field("last_seen", lambda item: item.last, "when it was over, or the last poll"),
)


def _bucket_rows(reading: Reading) -> list[BucketRow]:
    return [BucketRow(histogram, bucket) for histogram in reading.histograms for bucket in histogram.buckets]


def headings(named: Sequence[tuple[str, int, int]]) -> list[str]:
    """Return a heading for each (name, inst_id, con_id): the name, ``@2`` on RAC, ``#3`` where containers share it."""
    several = len({inst_id for _, inst_id, _ in named}) > 1
    same = Counter((name, inst_id) for name, inst_id, _ in named)
    return [
        name + (f"@{inst_id}" if several else "") + (f"#{con_id}" if same[name, inst_id] > 1 else "")
        for name, inst_id, con_id in named
    ]


def _across_groups(fields: tuple[Field[GroupRow], ...]) -> Callable[[Reading, str], Mapping[str, Cell]]:
    values = {field.name: field.value for field in fields}

    def across(reading: Reading, column: str) -> Mapping[str, Cell]:
        rows = _group_rows(reading)
        names = headings([(row.group.name, row.inst_id, row.group.con_id) for row in rows])
        return {name: values[column](row) for name, row in zip(names, rows, strict=True)}

    return across


def _queued(reading: Reading, _column: str) -> Mapping[str, Cell]:
    rows = _group_rows(reading)
    names = headings([(row.group.name, row.inst_id, row.group.con_id) for row in rows])
    return {name: row.group.px_queued for name, row in zip(names, rows, strict=True)}


def _latency_means(reading: Reading, _column: str) -> Mapping[str, Cell]:
    waits: dict[tuple[int, str], WaitReading] = {(wait.inst_id, wait.event): wait for wait in reading.waits}
    names = headings([(histogram.event, histogram.inst_id, 0) for histogram in reading.histograms])
    found = [waits.get((histogram.inst_id, histogram.event)) for histogram in reading.histograms]
    return {name: wait.mean_ms if wait else None for name, wait in zip(names, found, strict=True)}


def _group_measure(name: str, help_text: str, fields: tuple[Field[GroupRow], ...], wide: str) -> Measure[GroupRow]:
    others = (field.name for field in fields[len(_WHICH) :] if field.name != wide)
    return Measure(name, help_text, _group_rows, fields, (wide, *others), _across_groups(fields))


MEASURES: Mapping[str, Measure[Any]] = MappingProxyType(
    {
        measure.name: measure
        for measure in (
            _group_measure("cpu", "CPU used, waited for and allowed, per group", _CPU, "used_cpus"),
            _group_measure("session_io", "I/O per group", _SESSION_IO, "io_mb_per_s"),
            _group_measure("parallel", "parallel statements and servers per group", _PARALLEL, "px_servers_active"),
            Measure("queue", "every queued statement", lambda r: r.queue, _QUEUE, ("px_statements_queued",), _queued),
            Measure("latency", "wait histograms", _bucket_rows, _LATENCY, ("mean_ms",), _latency_means),
            Measure(
                "arrivals",
                "every parallel statement, once it is over",
                lambda _: (),
                _ARRIVALS,
                ("px_statements_queued",),
                _queued,
            ),
            _group_measure("emphasis", "what the plan gives each group", _EMPHASIS, "guaranteed_share"),
        )
    }
)
"""The measures by name."""
