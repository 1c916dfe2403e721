"""Push to a collector: the metrics at a fixed interval, over OTLP (HTTP and protobuf), with the OpenTelemetry SDK."""

import logging
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import export as otlp
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from presman import __version__
from presman.base.errors import InputError
from presman.base.log_event import LogEvent, Report
from presman.base.text import clean, one_line
from presman.figures.metric import Distribution, Labels, MetricKind, MetricSample
from presman.services.metrics.metric_page import LABEL, Family, ObservedDatabase, families

PATH = "/v1/metrics"
TIMEOUT = 10.0
"""Seconds that a push may take, including retries."""


class EndpointError(InputError):
    """The endpoint is not usable; the text is one line free of secrets."""


def endpoint_of(url: str) -> str:
    """Return the URL to push to: that of the collector, with the usual path appended. Raises EndpointError."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise EndpointError("--otlp: not a URL such as http://collector:4318")
    # Other users of the machine can read the command line.
    if parts.username or parts.password:
        raise EndpointError("--otlp: put credentials into OTEL_EXPORTER_OTLP_HEADERS, not into the URL")
    path = parts.path.rstrip("/")
    return parts._replace(path=path if path.endswith(PATH) else path + PATH).geturl()


class _LastLogLine(logging.Handler):
    """Log handler that keeps the last line of the SDK, which would otherwise go to standard error."""

    def __init__(self) -> None:
        super().__init__()
        self.line = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the line."""
        self.line = one_line(clean(record.getMessage()), 300)


class OtlpPush:
    """Push of the latest results of some databases, every `interval` seconds, until it is stopped.

    The SDK takes all other settings (headers, certificates) from OTEL_EXPORTER_OTLP_*.
    """

    def __init__(self, databases: Sequence[ObservedDatabase], endpoint: str, interval: float, report: Report) -> None:
        self._databases, self._interval = databases, interval
        url = urlsplit(endpoint)  # its user, password and query may be secrets
        self._place = clean(f"{url.scheme}://{url.netloc.rpartition('@')[2]}{url.path}")
        self._report = report
        self._last_log = _LastLogLine()
        # The SDK does not return why an export failed: it only logs the reason.
        logger = logging.getLogger("opentelemetry")
        logger.addHandler(self._last_log)
        logger.propagate = False
        self._exporter = OTLPMetricExporter(endpoint, timeout=TIMEOUT)
        named = Resource.create({"service.version": __version__})
        # The SDK calls a service without OTEL_SERVICE_NAME `unknown_service`, with or without a suffix.
        nameless = str(named.attributes["service.name"]).startswith("unknown_service")
        self._resource = named.merge(Resource({"service.name": "presman"})) if nameless else named
        self._begun = time.time_ns()
        self._fails = False
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="presman-otlp", daemon=True)

    def start(self) -> None:
        """Start."""
        self._thread.start()

    def stop(self) -> None:
        """Stop pushing."""
        self._over.set()
        self._exporter.shutdown(0)

    def _run(self) -> None:
        while not self._over.wait(self._interval):
            problem = self.push()
            if problem and not self._fails:
                text = f"OTLP to {self._place}: {problem}; tried again every {self._interval:g} s"
                self._report(LogEvent("not_pushed", text, "warning"))
            elif self._fails and not problem:
                self._report(LogEvent("pushed_again", "OTLP: pushed again"))
            self._fails = bool(problem)

    def push(self) -> str:
        """Push once; return why it failed, "" if it did not."""
        self._last_log.line = ""
        data = metrics_data(families(self._databases), self._resource, time.time_ns(), self._begun)
        try:
            done = self._exporter.export(data, timeout_millis=TIMEOUT * 1_000)
        except Exception as error:  # the collector may answer anything
            return one_line(clean(f"{type(error).__name__}: {error}"), 300)
        if done is otlp.MetricExportResult.SUCCESS:
            return ""
        return self._last_log.line.rstrip(".") or "the collector did not accept it"


# ---- Points of OTLP: the metrics of a page in the form of the OpenTelemetry SDK.

SECOND = 1_000_000_000
STARTED = "presman_instance_start_time_seconds"
"""The metric with the start time of an instance."""

UNITS = {"seconds": "s", "bytes": "By", "ratio": "1", "": ""}
"""Units as UCUM spells them."""

CUMULATIVE = otlp.AggregationTemporality.CUMULATIVE

Place = tuple[str, str]
"""Target and instance."""


def metrics_data(families: Iterable[Family], resource: Resource, now: int, begun: int) -> otlp.MetricsData:
    """Return the points of `now`; `begun` is when presman began to count (both in ns since 1970).

    Counters of a database start with its instance. If they were reset since by a new plan, the values show it.
    """
    found = list(families)
    starts = (sample for family in found if family.metric.name == STARTED for sample in family.samples)
    started = {_place(each.labels): round(each.value * SECOND) for each in starts if isinstance(each.value, float)}
    metrics = [_metric(family, started, now, begun) for family in found]
    scope = otlp.ScopeMetrics(InstrumentationScope("presman", __version__), metrics, "")
    return otlp.MetricsData([otlp.ResourceMetrics(resource, [scope], "")])


def _place(labels: Labels) -> Place:
    return labels[LABEL], labels.get("inst_id", "")


def _metric(family: Family, started: Mapping[Place, int], now: int, begun: int) -> otlp.Metric:
    metric = family.metric
    data: otlp.Sum | otlp.Gauge | otlp.Histogram
    if metric.kind is MetricKind.HISTOGRAM:
        data = otlp.Histogram([_histogram(each, started, now, begun) for each in family.samples], CUMULATIVE)
    elif metric.kind is MetricKind.COUNTER:
        data = otlp.Sum(
            [_number(each, started.get(_place(each.labels), begun), now) for each in family.samples],
            CUMULATIVE,
            is_monotonic=True,
        )
    else:
        data = otlp.Gauge([_number(each, None, now) for each in family.samples])
    # Receivers add "_total" to counters only; info metrics have no kind there, and keep their name.
    name = metric.family if metric.kind is MetricKind.COUNTER else metric.name
    return otlp.Metric(name, metric.help, UNITS[metric.unit], data)


def _number(sample: MetricSample, start: int | None, now: int) -> otlp.NumberDataPoint:
    assert not isinstance(sample.value, Distribution)
    return otlp.NumberDataPoint(dict(sample.labels), start, now, sample.value)  # type: ignore[arg-type]  # None: no start


def _histogram(sample: MetricSample, started: Mapping[Place, int], now: int, begun: int) -> otlp.HistogramDataPoint:
    value = sample.value
    assert isinstance(value, Distribution)
    # OTLP counts the values of each bucket alone, Prometheus those up to its bound.
    below = (0, *value.counts)
    each = [after - before for before, after in zip(below, (*value.counts, value.total), strict=True)]
    absent: Any = None  # sum, min and max may be left out, although their types do not say so
    return otlp.HistogramDataPoint(
        attributes=dict(sample.labels),
        start_time_unix_nano=started.get(_place(sample.labels), begun),
        time_unix_nano=now,
        count=value.total,
        sum=absent if value.sum is None else value.sum,
        bucket_counts=each,
        explicit_bounds=value.bounds,
        min=absent,
        max=absent,
    )
