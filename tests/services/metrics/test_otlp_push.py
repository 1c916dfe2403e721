"""OTLP pushes: the same series, with kinds, units and times, to a collector that is up or down."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from presman.base.log_event import LogEvent, Report
from presman.figures.metric import Distribution
from presman.services.metrics.otlp_push import EndpointError, OtlpPush, endpoint_of
from tests.patience import until
from tests.services.metrics.observed import Shown, observed, series


class Collector(HTTPServer):
    """A collector that keeps pushed metrics."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = 200
        self.pushed: list[ExportMetricsServiceRequest] = []
        self.paths: list[str] = []
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
        self.server.paths.append(self.path)
        if self.server.status == 200:
            self.server.pushed.append(ExportMetricsServiceRequest.FromString(body))
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.shutdown()
    made.server_close()


def pusher(
    collector: Collector, *databases: Shown, report: Report = lambda _: None, interval: float = 60.0
) -> OtlpPush:
    return OtlpPush(databases, endpoint_of(collector.url), interval, report)  # type: ignore[arg-type]


def attributes(point: Any) -> frozenset[tuple[str, str]]:
    return frozenset((each.key, each.value.string_value) for each in point.attributes)


def test_a_collector_gets_the_contents_of_the_page(collector: Collector) -> None:
    observation = observed("mixed")
    push = pusher(collector, Shown(observation), Shown(None, "dead"))
    assert push.push() == ""
    push.stop()
    (resource,) = collector.pushed[0].resource_metrics
    named = {each.key: each.value.string_value for each in resource.resource.attributes}
    assert named["service.name"] == "presman"
    found: dict[Any, Any] = {}
    metrics = {each.name: each for each in resource.scope_metrics[0].metrics}
    for name, metric in metrics.items():
        kind = metric.WhichOneof("data")
        for point in getattr(metric, kind).data_points:
            value = point if kind == "histogram" else point.as_double
            found[f"{name}_total" if kind == "sum" else name, attributes(point)] = value
    expected = series(Shown(observation), Shown(None, "dead"))
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        if isinstance(value, Distribution):
            assert (found[key].count, found[key].sum) == (value.total, value.sum)
            assert sum(found[key].bucket_counts) == value.total
            assert tuple(found[key].explicit_bounds) == value.bounds
            assert len(found[key].bucket_counts) == len(value.bounds) + 1
        else:
            assert found[key] == value
    assert collector.paths == ["/v1/metrics"]
    _kinds(metrics, observation)


def _kinds(metrics: dict[str, Any], observation: Any) -> None:
    cpu = metrics["presman_group_cpu_seconds"]
    assert cpu.unit == "s"
    assert cpu.sum.is_monotonic
    assert cpu.sum.aggregation_temporality == 2  # cumulative
    started = observation.reading.header.instances[0].started.timestamp()
    assert cpu.sum.data_points[0].start_time_unix_nano == pytest.approx(started * 1e9)
    assert metrics["presman_redo_bytes"].unit == "By"
    assert metrics["presman_instance_host_busy_ratio"].unit == "1"
    assert metrics["presman_database_info"].gauge.data_points[0].start_time_unix_nano == 0


def test_a_collector_that_accepts_nothing_is_reported_once(collector: Collector) -> None:
    messages: list[LogEvent] = []
    collector.status = 400
    push = pusher(collector, Shown(None), report=messages.append, interval=0.01)
    push.start()
    until(lambda: len(collector.paths) >= 3, "three pushes")
    collector.status = 200
    until(lambda: len(messages) == 2, "one that succeeds")
    push.stop()
    assert [(event.event, event.level) for event in messages] == [("not_pushed", "warning"), ("pushed_again", "info")]
    assert messages[0].message.startswith("OTLP to http://127.0.0.1:")
    assert ".;" not in messages[0].message
    assert "400" in messages[0].message


def test_a_missing_collector_is_reported_in_a_line(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("presman.services.metrics.otlp_push.TIMEOUT", 0.2)
    push = OtlpPush([], "http://127.0.0.1:1/v1/metrics", 60.0, print)
    problem = push.push()
    push.stop()
    assert problem
    assert "\n" not in problem


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("http://collector:4318", "http://collector:4318/v1/metrics"),
        ("https://collector/", "https://collector/v1/metrics"),
        ("http://127.0.0.1:9090/api/v1/otlp", "http://127.0.0.1:9090/api/v1/otlp/v1/metrics"),
        ("http://127.0.0.1:9090/api/v1/otlp/v1/metrics", "http://127.0.0.1:9090/api/v1/otlp/v1/metrics"),
    ],
)
def test_the_usual_path_is_added(url: str, endpoint: str) -> None:
    assert endpoint_of(url) == endpoint


@pytest.mark.parametrize("url", ["collector:4318", "ftp://x", "http://", "http://x:port", "http://[", ""])
def test_an_invalid_url_is_reported(url: str) -> None:
    with pytest.raises(EndpointError, match="not a URL such as"):
        endpoint_of(url)


def test_a_password_in_a_url_is_refused_and_not_shown() -> None:
    with pytest.raises(EndpointError, match="OTEL_EXPORTER_OTLP_HEADERS") as caught:
        endpoint_of("https://me:geheim@collector:4318")
    assert "geheim" not in str(caught.value)
