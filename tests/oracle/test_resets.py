"""Counters that restart: a restart, another node, another plan. No rate spans any of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import pytest

from presman.analysis.assemble import analyse
from presman.analysis.readings.group_readings import GroupReading, Verdict
from presman.analysis.readings.reading import Reading
from presman.base.release import Release
from presman.base.secret import Secret
from presman.polling.poller import Poller
from presman.rows.queries import Scope
from presman.rows.snapshot import Snapshot
from presman.sources import SourceError
from presman.sources.embedded import EmbeddedDatabase
from presman.sources.oracle.oracle_source import OracleSource
from presman.sources.oracle.settings import ConnectSettings
from tests.oracle.bench import NOW, PATIENT, hurried
from tests.oracle_server import Backend, OracleServer, profile_of
from tests.oracle_server.faults import Mute, Stage
from tests.thorough import some

STARTED = "2026-02-28 10:00:00"


class Node:
    """An instance with its views. Its one group uses half a CPU."""

    def __init__(
        self,
        release: Release,
        number: int = 1,
        cpu: int = 1_000_000,
        started: str = STARTED,
        facts: Mapping[str, str] | None = None,
    ) -> None:
        self.number, self.cpu, self.started = number, cpu, started
        self.sequence, self.plan = 1, "DAY"
        self.at = NOW
        self.database = EmbeddedDatabase(release)
        self.backend = Backend(self.database, now=lambda: self.at, context={"INSTANCE": str(number), **(facts or {})})
        self.pass_time(0)

    def pass_time(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)
        self.cpu += round(seconds * 500)
        self.put(
            "INSTANCE", INSTANCE_NAME=f"orcl{self.number}", STARTUP_TIME=self.started, STATUS="OPEN", PARALLEL="NO"
        )
        self.put("RSRC_PLAN", NAME=self.plan, IS_TOP_PLAN="TRUE", CPU_MANAGED="ON")
        self.put("RSRC_PLAN_HISTORY", **{"SEQUENCE#": self.sequence}, NAME=self.plan, START_TIME=self.started)
        self.put(
            "RSRC_CONSUMER_GROUP", ID=1, NAME="BATCH", CONSUMED_CPU_TIME=self.cpu, CPU_WAIT_TIME=0, ACTIVE_SESSIONS=1
        )
        self.put("OSSTAT", STAT_NAME="NUM_CPUS", VALUE=4)

    def put(self, view: str, **values: Any) -> None:
        """Let a V$ view and its GV$ form have one row."""
        self.database.replace(f"V${view}", [*values], [tuple(values.values())])
        self.database.replace(f"GV${view}", ["INST_ID", *values], [(self.number, *values.values())])


class Watch:
    """Polls a server every two seconds, as the sampler does; its node can be replaced."""

    def __init__(self, node: Node, release: Release, scope: Scope) -> None:
        self.node = node
        self.server = OracleServer(node.backend, profile_of(release)).start()
        settings = ConnectSettings(self.server.dsn, "presman", Secret("presman"), call_timeout=PATIENT)
        self.source = OracleSource(settings, clock=lambda: self.now)
        self.source.scope = scope
        self.poller = Poller(self.source, clock=lambda: self.now)
        self.now = 0.0
        self.previous: Snapshot | None = None
        self.inst_ids: list[int] = []

    def poll(self) -> Reading:
        self.now += 2.0
        self.server.call(lambda: self.node.pass_time(2.0))
        snapshot = self.poller.poll()
        previous, self.previous = self.previous, snapshot
        return analyse(previous, snapshot)

    def group(self) -> GroupReading:
        reading = self.poll()
        self.inst_ids = [instance.inst_id for instance in reading.header.instances]
        return reading.groups[0]

    def exchange(self, node: Node) -> None:
        """Let another node answer under the same address from the next connection on."""
        self.node = node
        self.server.backend = node.backend

    def reopen(self) -> None:
        with pytest.raises(SourceError) as caught:
            self.poll()
        assert caught.value.retry
        self.poller.open()


@pytest.fixture(params=some([Release(23)], [Release(12, 1), Release(19)]), ids=str)
def watch(request: pytest.FixtureRequest) -> Iterator[Watch]:
    watch = Watch(Node(request.param), request.param, Scope.INSTANCE)
    watch.poller.open()
    watch.poll()
    assert watch.group().used == pytest.approx(0.5)
    yield watch
    watch.poller.close()
    watch.server.stop()


def release_of(watch: Watch) -> Release:
    return watch.server.profile.release


def assert_begins_anew(watch: Watch, inst_id: int = 1) -> None:
    """The first reading has no rate and says so, the second is right."""
    first = watch.group()
    assert watch.inst_ids == [inst_id]
    assert (first.used, first.verdict) == (None, Verdict.UNKNOWN)
    assert watch.group().used == pytest.approx(0.5)
    assert watch.server.counters.most_sessions == 1


@pytest.mark.parametrize("cpu", [0, 50_000_000], ids=["counters from zero", "counters already higher"])
def test_restart_of_the_instance(watch: Watch, cpu: int) -> None:
    watch.server.drop_sessions()
    watch.exchange(Node(release_of(watch), cpu=cpu, started="2026-03-01 12:00:01"))
    watch.reopen()
    assert_begins_anew(watch)


def test_restart_that_no_connection_noticed(watch: Watch) -> None:
    """A connection through a proxy may survive a restart of the instance, which only the startup time shows."""
    watch.node.started = "2026-03-01 12:00:03"
    watch.node.cpu += 1_000_000
    assert_begins_anew(watch)


def test_failover_to_another_node(watch: Watch) -> None:
    watch.server.drop_sessions()
    watch.exchange(Node(release_of(watch), number=2, cpu=90_000_000))
    watch.reopen()
    assert_begins_anew(watch, inst_id=2)


def test_failover_in_the_middle_of_a_poll(watch: Watch) -> None:
    """A query that hangs for ever costs the connection; the next one may lead elsewhere."""
    stuck = 2 if release_of(watch) == Release(23) else 1
    watch.server.faults.add(Stage.STATEMENT, Mute(), "from v$rsrc_consumer_group", times=stuck)
    watch.exchange(Node(release_of(watch), number=2, cpu=90_000_000))
    with hurried(watch.source), pytest.raises(SourceError, match="moved from instance 1 to instance 2"):
        watch.poll()
    watch.server.faults.clear()
    watch.poller.open()
    assert_begins_anew(watch, inst_id=2)


@pytest.mark.parametrize("plan", ["DAY", "NIGHT"])
def test_activation_of_a_plan(watch: Watch, plan: str) -> None:
    """Also of the same plan: its counters begin at 0, and may be above the old values at the next poll."""
    watch.node.plan, watch.node.sequence = plan, 2
    watch.node.cpu += 1_000_000
    reading = watch.poll()
    assert reading.header.plan == plan
    assert [group.used for group in reading.groups] == [None] * len(reading.groups)
    assert watch.group().used == pytest.approx(0.5)


def test_time_passes_by_the_databases_clock(watch: Watch) -> None:
    """Rates also begin anew when the clock is set back."""
    watch.node.at -= timedelta(hours=1)
    assert watch.group().used is None
    assert watch.group().used == pytest.approx(0.5)
