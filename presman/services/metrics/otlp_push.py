"""Push to a collector: the page, every so often, over OTLP (HTTP and protobuf) as the OpenTelemetry SDK does it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from urllib.parse import urlsplit

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics.export import MetricExportResult
from opentelemetry.sdk.resources import Resource

from presman import __version__
from presman.base.errors import InputError
from presman.base.log_event import LogEvent, Tell
from presman.base.text import clean, one_line
from presman.services.metrics.metric_page import families
from presman.services.metrics.observed_database import ObservedDatabase
from presman.services.metrics.otlp_points import metrics_data

PATH = "/v1/metrics"
TIMEOUT = 10.0
"""Seconds that a push may take, with all attempts."""


class EndpointError(InputError):
    """An endpoint cannot be pushed to; the text is one line free of secrets."""


def endpoint_of(url: str) -> str:
    """Return where to push to: the URL of a collector, with the usual path behind it. Raises EndpointError."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise EndpointError("--otlp: not a URL such as http://collector:4318")
    if parts.username or parts.password:
        raise EndpointError("--otlp: put credentials into OTEL_EXPORTER_OTLP_HEADERS, not into the URL")
    path = parts.path.rstrip("/")
    return parts._replace(path=path if path.endswith(PATH) else path + PATH).geturl()


class _LastWords(logging.Handler):
    """Keeps the last line that the SDK logged, which would have gone to standard error."""

    def __init__(self) -> None:
        super().__init__()
        self.line = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        self.line = one_line(clean(record.getMessage()), 300)


class OtlpPush:
    """Pushes what was read of some databases last, every `interval` seconds, until it is stopped.

    What else there is to say to a collector (headers, certificates) the SDK takes from OTEL_EXPORTER_OTLP_*.
    """

    def __init__(self, databases: Sequence[ObservedDatabase], endpoint: str, interval: float, tell: Tell) -> None:
        self._databases = databases
        self._interval = interval
        self._place = _without_user(endpoint)
        self._tell = tell
        self._words = _LastWords()
        logger = logging.getLogger("opentelemetry")
        logger.addHandler(self._words)
        logger.propagate = False
        self._exporter = OTLPMetricExporter(endpoint, timeout=TIMEOUT)
        named = Resource.create({"service.version": __version__})
        nameless = str(named.attributes["service.name"]).startswith("unknown_service")
        self._resource = named.merge(Resource({"service.name": "presman"})) if nameless else named
        self._begun = time.time_ns()
        self._fails = False
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="presman-otlp", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Push no more."""
        self._over.set()
        self._exporter.shutdown(0)

    def _run(self) -> None:
        while not self._over.wait(self._interval):
            problem = self.push()
            if problem and not self._fails:
                text = f"OTLP to {self._place}: {problem}; tried again every {self._interval:g} s"
                self._tell(LogEvent("not_pushed", text, "warning"))
            elif self._fails and not problem:
                self._tell(LogEvent("pushed_again", "OTLP: pushed again"))
            self._fails = bool(problem)

    def push(self) -> str:
        """Push once; return why it failed, "" if it did not."""
        self._words.line = ""
        data = metrics_data(families(self._databases), self._resource, time.time_ns(), self._begun)
        try:
            done = self._exporter.export(data, timeout_millis=TIMEOUT * 1_000)
        except Exception as error:  # the collector's answers are anybody's
            return one_line(clean(f"{type(error).__name__}: {error}"), 300)
        return (
            ""
            if done is MetricExportResult.SUCCESS
            else self._words.line.rstrip(".") or "the collector did not accept it"
        )


def _without_user(endpoint: str) -> str:
    """Return a URL without a user and a password, and what follows its path, which may be secrets, too."""
    found = urlsplit(endpoint)
    return clean(f"{found.scheme}://{found.netloc.rpartition('@')[2]}{found.path}")
