"""Exposition: the page in the formats of Prometheus and OpenMetrics, as prometheus-client writes them."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence

from prometheus_client import CollectorRegistry, ProcessCollector, exposition
from prometheus_client.metrics_core import Metric as Exposed
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.samples import Sample

from presman import __version__
from presman.figures.metric import NAMESPACE, Distribution, MetricKind, MetricSample
from presman.services.metrics.metric_page import Family, families
from presman.services.metrics.observed_database import ObservedDatabase

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
