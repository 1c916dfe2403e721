"""Page of metrics: each metric once, with the series of all databases. It shows the latest polls and sends no queries.

Each database has a thread that polls it and keeps the latest result, so that reading the page never waits for a poll.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace
from prometheus_client import CollectorRegistry, ProcessCollector, exposition
from prometheus_client.metrics_core import Metric as Exposed
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.samples import Sample

from presman import __version__
from presman.analysis.readings.wait_readings import Histogram
from presman.base.log_event import Level, LogEvent, Report
from presman.base.text import clean, one_line, with_more
from presman.figures import metric as figures
from presman.figures.figure import COUNT, FLAG, SECONDS, TOTAL, Figure, Unit
from presman.figures.metric import Metric, MetricKind, MetricSample
from presman.figures.metric_figures import LATE, READING_SUBJECTS, ObservedReading
from presman.polling.cadence import PollNeeds, budget_of
from presman.polling.poll_events import Event, PreviewCame, SourceLost
from presman.polling.sampler import stop_all
from presman.rows.queries import DetailLevel
from presman.services.live import LiveTarget, NotUnderstood, Reachability, ReadingCame, Readings, sampler_of

NEEDS = PollNeeds(statements=20, texts=False, most=100, largest=500_000, idle_sessions=False)
"""Metrics need the first statements of each queue but not their texts; idle sessions are only counted."""

GRACE = 5.0
"""Seconds added to the longest regular age of a result before it is dropped as too old."""


class DatabaseState(Struct, frozen=True):
    """The state of a database at a point in time.

    `observation` is that of the last poll, None while the database cannot be reached or has not answered for too long.
    Counters begin with this process. `last_poll` is when the last poll ended (seconds since 1970), `next_try` when a
    lost database is tried next, None if it is not lost or not tried again.
    """

    label: str
    interval: float
    observation: ObservedReading | None
    polls: int
    poll_seconds: float
    round_trips: int
    failures: int
    last_poll: float | None
    next_try: float | None = None

    @property
    def is_up(self) -> bool | None:
        """Whether its figures are current; None before the first poll or failure."""
        return self.observation is not None if self.polls or self.failures else None


class ObservedDatabase:
    """Poller of one database until it is stopped. `report` is called with events for the log."""

    def __init__(self, target: LiveTarget, report: Report, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.target, self._clock = target, clock
        self._fresh_for = 2 * target.interval + budget_of(target.interval, target.budget) + GRACE
        self._readings = Readings(target.notifier, with_forecasts=True)
        self.reachability = Reachability(target.name, report)
        self._histograms: tuple[Histogram, ...] = ()
        self._histograms_at: object = None
        self._answered_at = -self._fresh_for
        self._state = DatabaseState(target.name, target.interval, None, 0, 0.0, 0, 0, None)
        self.run_out = ""
        """The resource of this machine that polling needs and that has run out, in one line; "" while it is polled."""
        self.sampler = sampler_of(target, self._post, detail_level=DetailLevel.NARROW, needs=NEEDS)

    # ---- called by other threads

    def state(self) -> DatabaseState:
        """Return the current state."""
        state = self._state
        if state.observation is None or self._clock() - self._answered_at <= self._fresh_for:
            return state
        return replace(state, observation=None)

    # ---- the sampler's thread

    def _post(self, event: Event) -> None:
        if isinstance(event, PreviewCame):
            return
        live_event = self._readings.of(event)
        if isinstance(live_event, ReadingCame):
            self._take(live_event)
        elif isinstance(live_event, NotUnderstood):  # only this database is affected: the others go on
            self._lose("fault", live_event.line, "internal", "error")
        elif isinstance(live_event, SourceLost):
            until = "" if live_event.retry_in is not None else " before a restart"
            text = with_more(live_event.line, f"{live_event.outlook}{until}")
            self.run_out = live_event.line if live_event.has_run_out else ""
            level: Level = "debug" if self.run_out else "warning"  # the exporter reports it
            self._lose("lost", text, live_event.code or live_event.text, level, live_event.next_try)

    def _take(self, came: ReadingCame) -> None:
        reading, snapshot = came.reading, came.snapshot
        if reading.stale is None or reading.stale > LATE:
            self._lose("late", "no view answers in time", "late")
            return
        if reading.histograms_at != self._histograms_at:
            self._histograms, self._histograms_at = tuple(reading.histograms), reading.histograms_at
        self.reachability.answer()
        self._answered_at = self._clock()
        before = self._state
        self._state = replace(
            before,
            observation=ObservedReading(reading, came.previous, snapshot, self._histograms),
            polls=before.polls + 1,
            poll_seconds=before.poll_seconds + snapshot.seconds,
            round_trips=before.round_trips + snapshot.round_trips,
            last_poll=time.time(),
            next_try=None,
        )
        self.reachability.polled(self._state.polls, "read", snapshot)

    def _lose(
        self, event: str, text: str, cause: str, level: Level = "warning", next_try: datetime | None = None
    ) -> None:
        """Drop the figures; report each cause once while it lasts."""
        trouble = one_line(clean(text), 500)
        self.reachability.lose(trouble, cause, trouble, event, level, next_try)
        self._readings.forget()
        self._histograms = ()
        again = None if next_try is None else next_try.timestamp()
        self._state = replace(self._state, observation=None, failures=self._state.failures + 1, next_try=again)


# ---- Exporter: polls the databases and reports errors.

MOST_SPREAD = 10.0
"""The most seconds over which the first polls are spread."""

PATIENCE = 1.0
"""Seconds that the shutdown waits for polls under way."""


class Exporter:
    """Poller of all databases in parallel. `report` is called with events for the log."""

    def __init__(self, targets: Sequence[LiveTarget], report: Report) -> None:
        self.databases = [ObservedDatabase(target, report) for target in targets]
        self._report = report
        self._begun = threading.Event()
        self._without: set[str] = set()

    def start(self, wait: Callable[[float], object] = time.sleep) -> None:
        """Start one database after the other, spread over an interval: simultaneous polls get in each other's way."""
        for index, database in enumerate(self.databases):
            if index:
                wait(min(database.target.interval, MOST_SPREAD) / len(self.databases))
            database.sampler.begin()  # if no thread is available it counts as lost
        self._begun.set()

    @property
    def is_healthy(self) -> bool:
        """Whether every database is polled, or would be if it could be reached."""
        return not self._begun.is_set() or all(database.sampler.is_alive for database in self.databases)

    def run_out(self) -> str:
        """Return why this machine can poll none of the databases, "" if it can poll any; report the others once."""
        out = [each for each in self.databases if each.run_out]
        if len(out) == len(self.databases):
            return "; ".join(f"{each.target.name}: {each.run_out}" for each in out)
        for each in out:
            if each.target.name not in self._without:
                self._without.add(each.target.name)
                self._report(LogEvent("lost", each.reachability.trouble, "warning", each.target.name))
        return ""

    def stop(self) -> None:
        """End all polls at once; those that do not end die with the process."""
        stop_all([database.sampler for database in self.databases], PATIENCE)


# ---- Metrics of the polling itself: whether a database can be reached, and what polling it costs.

State = Figure[DatabaseState]

_EPOCH = Unit("seconds since 1970", str, 10)

# fmt: off
TARGET: figures.Subject[DatabaseState] = figures.Subject(
    "A database as presman watches it", {}, lambda state: (state,),
    figures.of_figures("", (
        State("up", "up", FLAG, "Whether the database can be reached and has answered recently. While it is 0 it has "
              "no figures.", "is_up"),
        State("last_poll_timestamp_s", "last poll", _EPOCH,
              "When a poll last ended, since 1970, by the clock of presman's machine.", "last_poll"),
        State("next_try_timestamp_s", "next try", _EPOCH,
              "When a database that cannot be reached is tried next, since 1970, by the clock of presman's machine. "
              "Absent while the database is up, and where it is not tried again before a restart.", "next_try"),
        State("poll_interval_s", "interval", SECONDS, "The configured time between polls.", "interval"),
        State("polls_total", "polls*", COUNT, "Polls since presman was started.", "polls"),
        State("poll_s_total", "poll time*", SECONDS, "Seconds that these polls took.", "poll_seconds"),
        State("round_trips_total", "round trips*", TOTAL, "Round trips to the database of these polls.", "round_trips"),
        State("connection_failures_total", "failures*", TOTAL,
              "How often the connection was lost or could not be made since presman was started.", "failures"),
    )),
)
# fmt: on

SUBJECTS: tuple[figures.Subject[Any], ...] = (TARGET, *READING_SUBJECTS)
"""All subjects that are exported for a database, in the order of the page."""

# ---- The page

LABEL = "target"
"""The label that identifies the database."""

_Found = dict[str, list[MetricSample]]


class Family(NamedTuple):
    """A metric with all of its series."""

    metric: Metric[Any]
    samples: Sequence[MetricSample]


METRICS: dict[str, Metric[Any]] = {}
"""Every metric by name, in the order of the page; if several have the same name, the first."""
for _metric in (metric for subject in SUBJECTS for metric in subject.metrics):
    METRICS.setdefault(_metric.name, _metric)


def families(databases: Sequence[ObservedDatabase]) -> Iterator[Family]:
    """Yield the metrics that at least one database has now."""
    parts = [_of(database.state()) for database in databases]
    for name, metric in METRICS.items():
        if series := [sample for part in parts for sample in part.get(name, ())]:
            yield Family(metric, series)


def _of(state: DatabaseState) -> _Found:
    """Return the series of one database by name."""
    observed = READING_SUBJECTS if state.observation is not None else ()
    found: _Found = {}
    for subject in (TARGET, *observed):
        observation = state if subject is TARGET else state.observation
        for metric, series in figures.samples(subject, observation, {LABEL: state.label}):
            found.setdefault(metric.name, []).extend(series)
    return found


# ---- Exposition: the page in the formats of Prometheus and OpenMetrics, as prometheus-client writes them.

OPENMETRICS = "application/openmetrics-text"


class Exposition:
    """Page of all databases and of presman's own process."""

    def __init__(self, databases: Sequence[ObservedDatabase]) -> None:
        self._databases = databases
        self._process = ProcessCollector(registry=CollectorRegistry())

    def collect(self) -> Iterator[Exposed]:
        """Yield the metrics for prometheus-client to write."""
        for family in families(self._databases):
            yield exposed(family)
        build = Exposed(f"{figures.NAMESPACE}build", "Version of presman.", "info")
        build.samples.append(Sample(f"{figures.NAMESPACE}build_info", {"version": __version__}, 1.0))
        yield build
        yield from self._process.collect()

    def write(self, accept: str) -> tuple[bytes, str]:
        """Return the page in the format that the Accept header asks for, and its content type."""
        if OPENMETRICS in accept:
            # No name of ours needs escaping; saying so spares the library a check of each letter of each line.
            page: bytes = openmetrics.generate_latest(self, escaping=openmetrics.ALLOWUTF8)  # type: ignore[no-untyped-call]
            return page, openmetrics.CONTENT_TYPE_LATEST
        return exposition.generate_latest(self), exposition.CONTENT_TYPE_PLAIN_0_0_4


def exposed(family: Family) -> Exposed:
    """Return a metric in the form of prometheus-client."""
    metric = family.metric
    found = Exposed(metric.family, metric.summary, metric.kind.value, metric.unit)
    if metric.kind is MetricKind.HISTOGRAM:
        found.samples = [line for sample in family.samples for line in _buckets(metric.name, sample)]
    else:
        # The labels are only read, so samples of the same row may share them.
        found.samples = [Sample(metric.name, labels, value) for labels, value in family.samples]  # type: ignore[arg-type]
    return found


def _buckets(name: str, sample: MetricSample) -> Iterator[Sample]:
    """Yield the lines of a histogram."""
    labels, value = dict(sample.labels), sample.value
    assert isinstance(value, figures.Distribution)
    for bound, below in zip(value.bounds, value.counts, strict=True):
        yield Sample(f"{name}_bucket", {**labels, "le": repr(bound)}, below)
    yield Sample(f"{name}_bucket", {**labels, "le": "+Inf"}, value.total)
    if value.sum is not None:
        yield Sample(f"{name}_count", labels, value.total)
        yield Sample(f"{name}_sum", labels, value.sum)
