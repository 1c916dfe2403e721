"""Measures: the CSV columns of each, which are the figures of the screens.

Their keys are stable: they are part of presman's compatibility promise.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from msgspec import Struct

from presman.analysis.readings.group_readings import GroupReading
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.wait_readings import Bucket, Histogram, WaitReading
from presman.analysis.trends.statement_runs import Arrival
from presman.base.formats import count
from presman.base.measure_names import MEASURES as NAMES
from presman.figures import io_figures, session_figures, statement_figures
from presman.figures.figure import COUNT, INSTANT, NAME, NUMBER, SECONDS, SHARE, TEXT, TOTAL, Figure, Unit
from presman.figures.group_figures import GROUPS, IN_CPU, IN_EMPHASIS, IN_PARALLEL, WHICH
from presman.rows.queries import DetailLevel

T = TypeVar("T")

_MICROSECONDS = Unit("microseconds", count, 8)


class Measure(Struct, Generic[T], frozen=True):
    """The figures that are exported under one name.

    Tidy: `rows` returns one record per line, `figures` are its cells. Wide: `across` returns the records of one line
    by column heading; each cell is the figure of one of the keys in `wide`, by default the first. Recordings store
    its rows in tables if it `is_kept`; otherwise they are computed again from the rows of each poll. `detail_level` is
    the level of detail that each poll needs for it.
    """

    name: str
    rows: Callable[[Reading], Iterable[T]]
    figures: tuple[Figure[T], ...]
    wide: tuple[str, ...]
    across: Callable[[Reading, str], Mapping[str, Any]]
    is_kept: bool = True
    detail_level: DetailLevel = DetailLevel.NARROW

    @property
    def help(self) -> str:
        """A sentence on what it contains."""
        return NAMES[self.name]

    def header(self) -> list[str]:
        """Return the tidy header."""
        return [figure.key for figure in COMMON] + [figure.key for figure in self.figures]

    def tidy(self, reading: Reading, rows: Iterable[T] | None = None) -> list[list[Any]]:
        """Return the lines of one reading, or of `rows` if given, in the order of :meth:`header`."""
        common = [figure.value(reading) for figure in COMMON]
        items = self.rows(reading) if rows is None else rows
        return [common + [figure.value(item) for figure in self.figures] for item in items]


# fmt: off
COMMON: tuple[Figure[Reading], ...] = (
    Figure("time", "time", INSTANT, "The database's time of the poll, ISO 8601 with offset.", "at"),
    Figure("database", "database", TEXT, "V$DATABASE.NAME.", "header.database"),
    Figure("interval_s", "interval", SECONDS, "Seconds since the last poll, on the database's clock.", "interval"),
)
"""The first columns of every line."""
# fmt: on


def groups(reading: Reading) -> Sequence[GroupReading]:
    """Return the groups of each instance with its number; with one instance, its rows are those of the cluster."""
    only = reading.header.instances[0].inst_id if reading.header.instances else 1
    by_instance = tuple(group for group in reading.groups if group.inst_id)
    return by_instance or tuple(group._replace(inst_id=only) for group in reading.cluster_groups())


class BucketRow(Struct, frozen=True):
    """One bucket of one event's histogram."""

    histogram: Histogram
    bucket: Bucket


# fmt: off
_LATENCY: tuple[Figure[BucketRow], ...] = (
    Figure("inst_id", "Inst", NUMBER, "INST_ID.", "histogram.inst_id"),
    Figure("event", "Wait event", TEXT, "V$EVENT_HISTOGRAM_MICRO.EVENT (V$EVENT_HISTOGRAM before 12.1).",
           "histogram.event"),
    Figure("upper_us", "waits below", _MICROSECONDS,
           "Waits below this many microseconds, and not below the bucket before (WAIT_TIME_MICRO).", "bucket.upper_us"),
    Figure("waits_total", "waits*", TOTAL, "Waits in the bucket since the instance started (WAIT_COUNT).",
           "bucket.count"),
    Figure("waits", "waits", COUNT, "Waits in the bucket since the last poll.", "bucket.delta"),
    Figure("estimated_us_total", "est. time*", _MICROSECONDS, "Microseconds they took since the instance started, "
           "estimated: 0.75 of the bound each.", "bucket.estimated_us"),
    Figure("estimated_us", "est. time", _MICROSECONDS, "The same of those since the last poll.",
           "bucket.estimated_delta_us"),
)
_ARRIVALS: tuple[Figure[Arrival], ...] = (
    Figure("arrived", "arrived", INSTANT, "When it arrived.", "at"),
    Figure("con_id", "Con", NUMBER, "CON_ID of its container; 0 before 12.1 and in a non-CDB.", "con_id"),
    Figure("consumer_group", "Group", TEXT, "Its consumer group.", "group"),
    Figure("servers", "Servers", COUNT, "Parallel servers it had, or wants at most.", "servers"),
    Figure("waited_s", "Waited", SECONDS, "Seconds in the queue.", lambda row: round(row.waited, 1)),
    Figure("run_s", "Ran", SECONDS, "Seconds it ran; empty if it never did.",
           lambda row: None if row.ran is None else round(row.ran, 1)),
    Figure("fate", "fate", NAME, "Its outcome: `ended`, `running`, `queued`, `left the queue`.",
           lambda row: row.outcome.value),
    Figure("px_servers_target", "target", COUNT, "PARALLEL_SERVERS_TARGET of all instances.", "target"),
    Figure("px_servers_limit", "PX limit", COUNT, "Servers its group may hold; empty without a limit.", "limit"),
    Figure("guaranteed_share", "share", SHARE, "Share of its group in the plan, 0 to 1.", "weight"),
    Figure("timeout_s", "timeout", SECONDS, "PARALLEL_QUEUE_TIMEOUT, where it was seen.", "timeout"),
    Figure("timeout_action", "then", NAME, "What happens at the timeout: CANCEL or RUN.", "action"),
    Figure("first_seen", "first seen", INSTANT, "The first poll it was seen in.", "first"),
    Figure("last_seen", "last seen", INSTANT, "When it was over (halfway between two polls), or the last poll.",
           "last"),
)
# fmt: on


def _bucket_rows(reading: Reading) -> list[BucketRow]:
    return [BucketRow(histogram, bucket) for histogram in reading.histograms for bucket in histogram.buckets]


def headings(named: Sequence[tuple[str, int, int]]) -> list[str]:
    """Return a heading for each (name, inst_id, con_id): the name, ``@2`` on RAC, ``#3`` if containers share it."""
    several = len({inst_id for _, inst_id, _ in named}) > 1
    same = Counter((name, inst_id) for name, inst_id, _ in named)
    return [
        name + (f"@{inst_id}" if several else "") + (f"#{con_id}" if same[name, inst_id] > 1 else "")
        for name, inst_id, con_id in named
    ]


def _by_group(reading: Reading, value: Callable[[GroupReading], Any]) -> dict[str, Any]:
    rows = groups(reading)
    names = headings([(row.name, row.inst_id, row.con_id) for row in rows])
    return {name: value(row) for name, row in zip(names, rows, strict=True)}


def _across_groups(figures: Sequence[Figure[GroupReading]]) -> Callable[[Reading, str], Mapping[str, Any]]:
    values = {figure.key: figure.value for figure in figures}
    return lambda reading, key: _by_group(reading, values[key])


def _latency_means(reading: Reading, _key: str) -> Mapping[str, Any]:
    waits: dict[tuple[int, str], WaitReading] = {(wait.inst_id, wait.event): wait for wait in reading.waits}
    names = headings([(histogram.event, histogram.inst_id, 0) for histogram in reading.histograms])
    found = [waits.get((histogram.inst_id, histogram.event)) for histogram in reading.histograms]
    return {name: wait.mean_ms if wait else None for name, wait in zip(names, found, strict=True)}


def _of_groups(name: str, figures: tuple[Figure[GroupReading], ...], wide: str) -> Measure[GroupReading]:
    others = (figure.key for figure in figures[len(WHICH) :] if figure.key != wide)
    return Measure(name, groups, figures, (wide, *others), _across_groups(figures))


_QUEUED_KEY, _ACTIVE_KEY = "px_statements_queued", "active_sessions"
_queued, _active = (_across_groups(GROUPS.pick(key)) for key in (_QUEUED_KEY, _ACTIVE_KEY))

_ALL: tuple[Measure[Any], ...] = (
    _of_groups("cpu", IN_CPU, "used_cpus"),
    _of_groups("session_io", io_figures.IN_SESSION_IO, "io_mb_per_s"),
    _of_groups("parallel", IN_PARALLEL, "px_servers_active"),
    Measure("queue", lambda reading: reading.queue, statement_figures.IN_QUEUE, (_QUEUED_KEY,), _queued),
    Measure(
        "sessions",
        lambda reading: reading.sessions,
        session_figures.SESSIONS.columns,
        (_ACTIVE_KEY,),
        _active,
        is_kept=False,
        detail_level=DetailLevel.IDLE_SESSIONS,
    ),
    Measure("latency", _bucket_rows, _LATENCY, ("mean_ms",), _latency_means, detail_level=DetailLevel.HISTOGRAMS),
    Measure("arrivals", lambda _: (), _ARRIVALS, (_QUEUED_KEY,), _queued),
    _of_groups("emphasis", IN_EMPHASIS, "guaranteed_share"),
)
MEASURES: Mapping[str, Measure[Any]] = {measure.name: measure for measure in _ALL}
"""The measures by name."""
