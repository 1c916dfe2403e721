"""Page: the metrics of all databases, each under its name once. Made of what was read last; nobody is asked."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry, ProcessCollector, exposition
from prometheus_client.metrics_core import Metric as Exposed
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.samples import Sample

from presman import __version__
from presman.figures.figure import COUNT, FLAG, SECONDS, TOTAL, Figure, Unit
from presman.figures.metric import (
    NAMESPACE,
    Distribution,
    Metric,
    MetricKind,
    MetricSample,
    Subject,
    of_figures,
    samples,
)
from presman.figures.metric_figures import READING_SUBJECTS
from presman.services.metrics.observed_database import DatabaseState, ObservedDatabase

# ---- Metrics of the watching itself: whether a database can be reached, and what polling it takes.

State = Figure[DatabaseState]

_EPOCH = Unit("seconds since 1970", str, 10)

# fmt: off
TARGET: Subject[DatabaseState] = Subject(
    "A database as presman watches it", {}, lambda state: (state,),
    of_figures("", (
        State("up", "up", FLAG,
              "Whether the database can be reached and has answered recently. While it is 0 it has no figures.",
              "is_up"),
        State("last_poll_timestamp_s", "last poll", _EPOCH,
              "When a poll last ended, since 1970, by the clock of presman's machine.", "last_poll"),
        State("next_try_timestamp_s", "next try", _EPOCH,
              "When a database that cannot be reached is tried next, since 1970, by presman's machine's clock. Absent "
              "while the database is up, and where it is not tried again before a restart.", "next_try"),
        State("poll_interval_s", "interval", SECONDS, "The configured time between polls.", "interval"),
        State("polls_total", "polls*", COUNT, "Polls since presman was started.", "polls"),
        State("poll_s_total", "poll time*", SECONDS, "Seconds that these polls took.", "poll_seconds"),
        State("round_trips_total", "round trips*", TOTAL, "Round trips to the database of these polls.", "round_trips"),
        State("connection_failures_total", "failures*", TOTAL,
              "How often the connection was lost or could not be made since presman was started.", "failures"),
    )),
)
# fmt: on

SUBJECTS: tuple[Subject[Any], ...] = (TARGET, *READING_SUBJECTS)
"""All that is exported of a database, in the order of the page."""

# ---- The page

LABEL = "target"
"""The label that tells databases apart."""

_Found = dict[str, list[MetricSample]]


class Family(NamedTuple):
    """A metric with all of its series."""

    metric: Metric[Any]
    samples: Sequence[MetricSample]


def metrics() -> Mapping[str, Metric[Any]]:
    """Return every metric by name, in the order of the page; of those of one name the first."""
    found: dict[str, Metric[Any]] = {}
    for subject in SUBJECTS:
        for metric in subject.metrics:
            found.setdefault(metric.name, metric)
    return found


METRICS = metrics()


def families(databases: Sequence[ObservedDatabase]) -> Iterator[Family]:
    """Yield the metrics that any of the databases has now."""
    parts = [_of(database.state()) for database in databases]
    for name, metric in METRICS.items():
        series = [sample for part in parts for sample in part.get(name, ())]
        if series:
            yield Family(metric, series)


def _of(state: DatabaseState) -> _Found:
    """Return the series of one database by name."""
    common = {LABEL: state.label}
    found: _Found = {}
    for metric, series in samples(TARGET, state, common):
        found.setdefault(metric.name, []).extend(series)
    if state.observation is not None:
        for subject in READING_SUBJECTS:
            for metric, series in samples(subject, state.observation, common):
                found.setdefault(metric.name, []).extend(series)
    return found


# ---- Exposition: the page in the formats of Prometheus and OpenMetrics, as prometheus-client writes them.

OPENMETRICS = "application/openmetrics-text"
QUICK = 1
"""How hard gzip tries: the page is a fifteenth even so."""


class Exposition:
    """The page of some databases, and of presman's own process, for whoever scrapes it."""

    def __init__(self, databases: Sequence[ObservedDatabase]) -> None:
        self._databases = databases
        self._process = ProcessCollector(registry=CollectorRegistry())

    def collect(self) -> Iterator[Exposed]:
        """Yield what prometheus-client writes."""
        for family in families(self._databases):
            yield exposed(family)
        build = Exposed(f"{NAMESPACE}build", "Version of presman.", "info")
        build.samples.append(Sample(f"{NAMESPACE}build_info", {"version": __version__}, 1.0))
        yield build
        yield from self._process.collect()

    def write(self, accept: str) -> tuple[bytes, str]:
        """Return the page as whoever asks accepts it, and its content type."""
        if OPENMETRICS in accept:
            # No name of ours needs escaping; to be told so spares the library looking at each letter of each line.
            page: bytes = openmetrics.generate_latest(self, escaping=openmetrics.ALLOWUTF8)  # type: ignore[no-untyped-call]
            return page, openmetrics.CONTENT_TYPE_LATEST
        return exposition.generate_latest(self), exposition.CONTENT_TYPE_PLAIN_0_0_4


def exposed(family: Family) -> Exposed:
    """Return a metric as prometheus-client has it."""
    metric = family.metric
    found = Exposed(metric.family, metric.summary, metric.kind.value, metric.unit)
    if metric.kind is MetricKind.HISTOGRAM:
        found.samples = [line for sample in family.samples for line in _buckets(metric.name, sample)]
    else:
        # They are only read, so those of a row may share their labels.
        found.samples = [Sample(metric.name, labels, value) for labels, value in family.samples]  # type: ignore[arg-type]
    return found


def _buckets(name: str, sample: MetricSample) -> Iterator[Sample]:
    """Yield the lines of a histogram."""
    labels, value = dict(sample.labels), sample.value
    assert isinstance(value, Distribution)
    for bound, below in zip(value.bounds, value.counts, strict=True):
        yield Sample(f"{name}_bucket", {**labels, "le": repr(bound)}, below)
    yield Sample(f"{name}_bucket", {**labels, "le": "+Inf"}, value.total)
    if value.sum is not None:
        yield Sample(f"{name}_count", labels, value.total)
        yield Sample(f"{name}_sum", labels, value.sum)


def compressed(page: bytes) -> bytes:
    """Return the page as gzip has it."""
    return gzip.compress(page, QUICK)
