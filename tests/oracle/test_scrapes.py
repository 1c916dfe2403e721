"""Metrics of a database on the wire: scrapes cause no calls, figures end with the database, names are labels."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from presman.services.live import LiveTarget
from presman.services.metrics.metric_page import Exposition, ObservedDatabase
from tests.oracle.bench import Bench
from tests.patience import until
from tests.thorough import THOROUGH

SCRAPES = 1000 if THOROUGH else 100
HOSTILE = 'A"B\\C{}\n=,\x1b[31m'
OPENMETRICS = "application/openmetrics-text; version=1.0.0"


@pytest.fixture
def watched(bench19: Bench, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObservedDatabase]:
    monkeypatch.setattr("presman.polling.sampler.FIRST_PAUSE", 600.0)  # it reconnects when the test says so
    columns = ["INST_ID", "CON_ID", "NAME", "CONSUMED_CPU_TIME", "ACTIVE_SESSIONS"]
    bench19.put("GV$RSRC_CONSUMER_GROUP", columns, [(1, 0, HOSTILE, 5000, 2), (1, 0, "ETL", 7000, 1)])
    target = LiveTarget("prod", bench19.source, 3600.0)
    database = ObservedDatabase(target, lambda _: None)
    database.sampler.begin()
    until(lambda: database.state().is_up, "the first poll")
    yield database
    database.sampler.stop()


def test_scrapes_leave_no_trace(bench19: Bench, watched: ObservedDatabase) -> None:
    bench19.server.counters.reset()
    exposition = Exposition([watched])
    for _ in range(SCRAPES):
        exposition.write("")
    assert bench19.server.counters.log == []
    assert bench19.server.counters.bytes_in == 0


def test_hostile_names_are_reported_in_one_line(watched: ObservedDatabase) -> None:
    page, _ = Exposition([watched]).write(OPENMETRICS)
    groups = {
        sample.labels["consumer_group"]: sample.value
        for family in text_string_to_metric_families(page.decode())
        for sample in family.samples
        if sample.name == "presman_group_cpu_seconds_total"
    }
    assert groups == {'A"B\\C{} =,␛[31m': 5.0, "ETL": 7.0}
    assert b"\x1b" not in page


def test_a_database_that_ends_takes_its_figures_along_and_comes_back(bench19: Bench, watched: ObservedDatabase) -> None:
    bench19.server.drop_sessions()
    watched.sampler.poll_now()
    until(lambda: not watched.state().is_up, "the loss")
    page, _ = Exposition([watched]).write("")
    assert b'presman_up{target="prod"} 0.0' in page
    assert b"presman_group" not in page
    watched.sampler.poll_now()
    until(lambda: watched.state().is_up, "the next poll")
