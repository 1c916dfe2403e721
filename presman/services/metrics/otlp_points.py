"""Points of OTLP: the metrics of a page as the OpenTelemetry SDK has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from presman import __version__
from presman.figures.metric import Distribution, Labels, MetricKind, MetricSample
from presman.services.metrics.metric_page import LABEL, Family

SECOND = 1_000_000_000
STARTED = "presman_instance_start_time_seconds"
"""The metric that tells since when an instance counts."""

UNITS = {"seconds": "s", "bytes": "By", "ratio": "1", "": ""}
"""Units as UCUM writes them."""

CUMULATIVE = AggregationTemporality.CUMULATIVE

Place = tuple[str, str]
"""Target and instance."""


def metrics_data(families: Iterable[Family], resource: Resource, now: int, begun: int) -> MetricsData:
    """Return the points of `now`; `begun` is when presman began to count (both in ns since 1970).

    What a database counts began with its instance at the earliest; that a plan was activated since, the values tell.
    """
    found = list(families)
    started = {_place(labels): round(value * SECOND) for labels, value in _starts(found)}
    metrics = [_metric(family, started, now, begun) for family in found]
    scope = ScopeMetrics(InstrumentationScope("presman", __version__), metrics, "")
    return MetricsData([ResourceMetrics(resource, [scope], "")])


def _starts(families: Iterable[Family]) -> Iterable[tuple[Labels, float]]:
    for family in families:
        if family.metric.name == STARTED:
            yield from ((labels, value) for labels, value in family.samples if isinstance(value, float))


def _place(labels: Labels) -> Place:
    return labels[LABEL], labels.get("inst_id", "")


def _metric(family: Family, started: Mapping[Place, int], now: int, begun: int) -> Metric:
    metric = family.metric
    data: Sum | Gauge | Histogram
    if metric.kind is MetricKind.HISTOGRAM:
        data = Histogram([_histogram(each, started, now, begun) for each in family.samples], CUMULATIVE)
    elif metric.kind is MetricKind.COUNTER:
        data = Sum([_number(each, started.get(_place(each.labels), begun), now) for each in family.samples],
                   CUMULATIVE, is_monotonic=True)  # fmt: skip
    else:
        data = Gauge([_number(each, None, now) for each in family.samples])
    # Receivers add "_total" by the kind; words have no kind of their own there, and keep their name.
    name = metric.family if metric.kind is MetricKind.COUNTER else metric.name
    return Metric(name, metric.help, UNITS[metric.unit], data)


def _number(sample: MetricSample, start: int | None, now: int) -> NumberDataPoint:
    assert not isinstance(sample.value, Distribution)
    return NumberDataPoint(dict(sample.labels), start, now, sample.value)  # type: ignore[arg-type]  # None: no start


def _histogram(sample: MetricSample, started: Mapping[Place, int], now: int, begun: int) -> HistogramDataPoint:
    value = sample.value
    assert isinstance(value, Distribution)
    below = (0, *value.counts)
    each = [after - before for before, after in zip(below, (*value.counts, value.total), strict=True)]
    return HistogramDataPoint(
        attributes=dict(sample.labels),
        start_time_unix_nano=started.get(_place(sample.labels), begun),
        time_unix_nano=now,
        count=value.total,
        sum=value.sum,  # type: ignore[arg-type]  # it may be left out
        bucket_counts=each,
        explicit_bounds=value.bounds,
        min=None,  # type: ignore[arg-type]
        max=None,  # type: ignore[arg-type]
    )
