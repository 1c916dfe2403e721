"""Databases shared out among three processes, as among three hosts: recorders with one PostgreSQL, exporters with one
Prometheus. One of the three is killed. Run by `make test-real`."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from presman.analysis.fleet import LATE_AFTER, key_figures_of
from presman.recording.reader import Recording
from presman.recording.store import Store
from tests.cli.run import Run, command, environment
from tests.patience import until
from tests.real.postgresql import PostgresServer
from tests.real.prometheus import PROMETHEUS, PrometheusServer
from tests.scenarios import with_short_past

pytestmark = pytest.mark.skipif(
    not os.environ.get("PRESMAN_REAL"), reason="make test-real runs it: it starts PostgreSQL and Prometheus"
)

SCENARIOS = {"erp": "storm", "dwh": "queueing", "crm": "mixed", "web": "quiet", "hr": "throttled", "pay": "noplan"}
THIRDS = (("erp", "dwh"), ("crm", "web"), ("hr", "pay"))
EVERY = 1
LATE = LATE_AFTER * EVERY + 1
"""Seconds: two intervals, and one in which a poll may be on its way."""

COUNTED = "SELECT target, count(*) FROM databases JOIN polls USING (database_id) GROUP BY target"
SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"

Start = Callable[..., subprocess.Popen[str]]
"""Starts presman as one of the three, with its third of the databases."""


def errors_of(process: subprocess.Popen[str]) -> str:
    """Return the rest of the standard error of an ended process; "" at a second call."""
    process.wait()
    assert process.stderr is not None
    if process.stderr.closed:
        return ""
    with process.stderr:
        return process.stderr.read()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """They share a config.ini, and the standard error of each is a pipe."""
    sections = [f"[{name}]\nconnection_string = demo:{with_short_past(each)}\n" for name, each in SCENARIOS.items()]
    (tmp_path / "config.ini").write_text("".join(sections))
    (tmp_path / "config.ini").chmod(0o600)
    begun = []

    def begin(what: str, third: int, *words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command(what, *THIRDS[third], "--config", "config.ini", "--interval", str(EVERY), *words), cwd=tmp_path,
            env=environment(XDG_STATE_HOME=str(tmp_path)), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, encoding="utf-8",
        )  # fmt: skip
        begun.append(process)
        return process

    yield begin
    for each in begun:
        each.kill()
        errors_of(each)


# ---- recorders with one PostgreSQL


def counted(store: Store) -> dict[str, int]:
    """Return how many polls there are of each database."""
    with store.engine.connect() as connection:
        return {str(target): int(polls) for target, polls in connection.execute(text(COUNTED))}


def sessions(store: Store) -> int:
    """Return the number of other sessions."""
    with store.engine.connect() as connection:
        return int(connection.execute(text(SESSIONS)).scalar_one())


def test_three_recorders_fill_one_postgresql_and_one_is_killed(
    server: PostgresServer, inside: Run, start: Start
) -> None:
    url = server.database("hosts")
    recorders = [start("record", third, "-o", url) for third in range(3)]

    def fleet() -> dict[str, Mapping[str, Any]]:
        shown = inside("fleet", url, "--interval", str(EVERY), "--format", "json").stdout
        found = {each["target"]: each for each in json.loads(shown)["databases"]} if shown else {}
        for each in found.values():
            if each["state"] in {"live", "late"}:
                assert each["state"] == ("late" if each["age_s"] > LATE else "live")
        return found

    def are(state: str, *names: str) -> bool:
        found = fleet()
        return found.keys() == SCENARIOS.keys() and {found[name]["state"] for name in names} == {state}

    until(lambda: are("live", *SCENARIOS), "all six are live")
    store = Store(url, writing=True)
    recorders[1].kill()
    recorders[1].wait()
    before = counted(store)
    until(lambda: are("late", *THIRDS[1]), "those of the one that was killed are late")
    others = (*THIRDS[0], *THIRDS[2])
    until(lambda: all(counted(store)[name] >= before[name] + 5 for name in others), "the others go on")
    assert [counted(store)[name] - before[name] for name in THIRDS[1]] == [0, 0]
    with store.transaction() as connection:  # a minute later
        killed = "SELECT database_id FROM databases WHERE target IN ('crm', 'web')"
        connection.execute(text(f"UPDATE fleet SET polled_at = polled_at - 60000000 WHERE database_id IN ({killed})"))
    found = fleet()
    assert {found[name]["state"] for name in others} == {"live"}
    for name in THIRDS[1]:
        assert (found[name]["state"], found[name]["queued"]) == ("lost", None)
        assert "its recorder has written nothing for 1:0" in found[name]["why"]
    recorders[1] = start("record", 1, "-o", url)
    until(lambda: are("live", *SCENARIOS), "all six are live once more")
    for each in recorders:
        each.kill()
        assert "cannot be written" not in errors_of(each)
    until(lambda: sessions(store) == 0, "the end of their sessions")
    store.close()
    _is_what_was_polled(url, fleet())


def _is_what_was_polled(url: str, found: Mapping[str, Mapping[str, Any]]) -> None:
    """Assert that the fleet shows the newest poll of each database, and that no poll of any is missing or damaged."""
    with Recording(url) as recording:
        assert [playback.target for playback in recording.playbacks] == sorted(SCENARIOS)
        for playback in recording.playbacks:
            key_figures, shown = key_figures_of(playback.reading(len(playback) - 1)), found[playback.target]
            assert (shown["plan"], shown["queued"], shown["alerts"]) == (
                key_figures.plan,
                key_figures.queued,
                key_figures.alerts,
            )
            assert shown["used_cpus"] == pytest.approx(key_figures.used, abs=1e-4)
            numbers = [playback.snapshot(place).number for place in range(len(playback))]
            first = numbers.index(1, 1) if playback.target in THIRDS[1] else len(numbers)
            assert numbers == [*range(1, first + 1), *range(1, len(numbers) - first + 1)], "one run, then the other"
            assert playback.damage == []


# ---- exporters with one Prometheus


def address(exporter: subprocess.Popen[str]) -> str:
    """Return the HOST:PORT that an exporter prints."""
    assert exporter.stderr is not None
    line = exporter.stderr.readline()
    found = line.partition(" at http://")[2].partition("/metrics")[0]
    assert found, line
    return found


@pytest.mark.skipif(PROMETHEUS is None, reason="no prometheus on the PATH")
def test_three_exporters_have_one_prometheus_and_one_is_killed(start: Start, tmp_path: Path) -> None:
    exporters = [start("metrics", third, "--listen", "127.0.0.1:0") for third in range(3)]
    addresses = [address(each) for each in exporters]
    server = PrometheusServer(tmp_path, addresses)

    def those(expression: str, label: str) -> list[str]:
        return sorted(each["metric"][label] for each in server.query(expression))

    try:
        until(lambda: those("presman_up == 1", "target") == sorted(SCENARIOS), "all six databases are up")
        assert those("up == 1", "instance") == sorted(addresses)
        exporters[1].kill()
        until(lambda: those("up == 0", "instance") == [addresses[1]], "the one that was killed is down")
        assert those("up == 1", "instance") == sorted((addresses[0], addresses[2]))
        assert those("presman_up == 1", "target") == sorted((*THIRDS[0], *THIRDS[2]))
        assert those("presman_up == 0", "target") == [], "its databases are not known"
        until(lambda: those('ALERTS{alertname="PresmanAbsent"}', "instance") == [addresses[1]], "the alert of it alone")
        start("metrics", 1, "--listen", addresses[1])
        until(lambda: those("presman_up == 1", "target") == sorted(SCENARIOS), "all six are up once more")
    finally:
        server.stop()
