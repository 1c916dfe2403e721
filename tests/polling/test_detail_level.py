"""Polls with less detail: they leave out idle sessions that no row names, and nothing that readings need."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.assemble import analyse
from presman.analysis.groups.containers import pdbs
from presman.analysis.readings.reading import Reading
from presman.base.release import Release
from presman.base.secret import Secret
from presman.polling.named_sessions import BECOME, named
from presman.polling.poller import Poller
from presman.rows.instance_rows import EventHistogram
from presman.rows.queries import DetailLevel, Focus, Scope, load
from presman.rows.session_rows import NamedSession, NamedSessionInfo, PxSession, Session, SessionCount, SessionInfo
from presman.rows.snapshot import Problem, Section, Snapshot
from presman.sources import Request
from presman.sources.embedded import EmbeddedDatabase
from presman.sources.oracle.oracle_source import OracleSource
from presman.sources.oracle.settings import ConnectSettings
from presman.sources.simulator.loading import FOLDER
from presman.sources.simulator_source import SimulatorSource
from presman.tabs.alerts import alerts
from presman.tabs.choices import Link
from tests.oracle_server.simulated import simulated_server
from tests.scenarios import with_short_past
from tests.sources.fakes import FakeSource, row
from tests.thorough import some

START = datetime(2026, 3, 12, 1, tzinfo=UTC)
KINDS = ["mixed", "rac", "tenants", "storm", "locked", "quiesce"]
OTHERS = sorted({path.stem for path in FOLDER.glob("*.toml")} - {*KINDS})


class Shared(SimulatorSource):
    """A simulation that two pollers read at the same instants."""

    def open(self) -> Release:
        return super().open() if self._simulation is None else self.simulation.release


def played(scenario: str, polls: int = 3) -> Iterator[tuple[Poller, Snapshot, Reading, Snapshot, Reading]]:
    """Yield what a whole poll reads of a scenario, and what a narrow one does at the same instant."""
    seconds = [0.0]
    source = Shared(with_short_past(scenario), seed=3, clock=lambda: seconds[0], start=START)
    both = Poller(source, clock=lambda: 0.0), Poller(source, clock=lambda: 0.0)
    both[1].detail_level = DetailLevel.NARROW
    before: list[Snapshot | None] = [None, None]
    for poller in both:
        poller.open()
    for _ in range(polls):
        seconds[0] += 5.0
        whole, narrow = (poller.poll() for poller in both)
        yield both[1], whole, analyse(before[0], whole), narrow, analyse(before[1], narrow)
        before = [whole, narrow]
    both[0].close()


def alike(reading: Reading) -> Reading:
    """Return a reading without the parts that a narrow poll leaves out."""
    return replace(reading, sessions=(), histograms=(), histograms_at=None, unlisted=0)


@pytest.mark.parametrize("scenario", some(KINDS, OTHERS))
def test_a_narrow_poll_says_the_same_of_all_that_matters(scenario: str) -> None:
    left_out = 0
    for _, whole, reading, narrow, small in played(scenario):
        assert alike(small) == alike(reading)
        assert alerts(small, Link()) == alerts(reading, Link())
        assert pdbs(small, None, narrow) == pdbs(reading, None, whole)
        everyone = {(each.inst_id, each.sid): each for each in reading.sessions}
        listed = {(each.inst_id, each.sid): each for each in small.sessions}
        matters = named(whole.rows(Session), whole.rows(PxSession))
        missing = {place: each for place, each in everyone.items() if place not in listed}
        assert {each.status for each in missing.values()} <= {"INACTIVE"}
        assert not missing.keys() & matters
        assert all(each._replace(**RATES) == everyone[place]._replace(**RATES) for place, each in listed.items())
        assert all(each.used in {None, everyone[place].used} for place, each in listed.items())
        assert small.unlisted == len(missing)
        left_out += len(missing)
    assert left_out or scenario in {"quiesce"}, "no session is idle there"


RATES: dict[str, Any] = {"used": None, "waiting": None, "io_mb": None, "io_requests": None}


@pytest.mark.parametrize(
    ("values", "listed"),
    [
        ({"STATUS": "ACTIVE", "STATE": "WAITING", "WAIT_CLASS": "Idle"}, True),
        ({"STATUS": "KILLED"}, True),
        ({"STATUS": None}, True),
        ({"STATUS": "INACTIVE", "STATE": "WAITING", "WAIT_CLASS": "Scheduler"}, True),  # whatever that is, it waits
        ({"STATUS": "INACTIVE", "STATE": "WAITING", "WAIT_CLASS": "Idle", "PROGRAM": "oracle@db01 (P00A)"}, True),
        ({"STATUS": "INACTIVE", "STATE": "WAITING", "WAIT_CLASS": "Idle", "PROGRAM": "JDBC Thin Client"}, False),
        ({"STATUS": "INACTIVE", "STATE": "WAITED SHORT TIME", "WAIT_CLASS": "Network"}, False),
        ({"STATUS": "SNIPED", "STATE": "WAITING", "WAIT_CLASS": "Idle"}, False),
        ({"STATUS": "CACHED", "STATE": "WAITING", "WAIT_CLASS": "Idle"}, False),
    ],
)
def test_sessions_that_a_narrow_poll_reads(values: dict[str, Any], listed: bool) -> None:
    assert _rows("V$SESSION", Session, {"TYPE": "USER", **values}) == [True, listed]


@pytest.mark.parametrize(
    ("values", "listed"),
    [
        ({"STATE": "RUNNING"}, True),
        ({"STATE": "IDLE BLKR", "CURRENT_IDLE_TIME": 40}, True),
        ({"STATE": None}, True),
        ({"STATE": "NOT MANAGED", "CURRENT_IDLE_TIME": 0}, True),  # no plan is on: only its idle time shows it
        ({"STATE": "NOT MANAGED", "CURRENT_IDLE_TIME": None}, True),
        ({"STATE": "NOT MANAGED", "CURRENT_IDLE_TIME": 40}, False),
        ({"STATE": "IDLE", "CURRENT_IDLE_TIME": 0}, False),
    ],
)
def test_sessions_read_from_resource_manager(values: dict[str, Any], listed: bool) -> None:
    assert _rows("V$RSRC_SESSION_INFO", SessionInfo, values) == [True, listed]


def _rows(view: str, record: type[Any], values: dict[str, Any]) -> list[bool]:
    """Say whether a row is read with idle sessions, and without."""
    database = EmbeddedDatabase(Release(19))
    database.replace(f"G{view}", ["INST_ID", "SID", *values], [[1, 144, *values.values()]])
    own = {"own_inst_id": 1, "own_sid": 7}
    found = [
        bool(database.run(load(Release(19))[record], Scope.CLUSTER, {**own, "with_idle": idle}).rows) for idle in (1, 0)
    ]
    database.close()
    return found


WAITER = row(Session, inst_id=1, sid=5, status="ACTIVE", state="WAITING", blocking_instance=2, blocking_session=88)
HOLDER = row(Session, inst_id=2, sid=88, status="INACTIVE", username="MARTIN", last_call_et=600)


def narrow(source: FakeSource, **options: Any) -> Poller:
    made = Poller(source, clock=lambda: 0.0, **options)
    made.detail_level = DetailLevel.NARROW
    made.open()
    return made


def binds(source: FakeSource, record: type[Any]) -> list[Any]:
    return [request.binds for read in source.reads for request in read if request.query.record is record]


def test_a_named_session_is_known_in_the_same_poll_with_its_resource_manager_row() -> None:
    """SID 88 is a session on both instances; the named one is on the second."""
    other = HOLDER._replace(inst_id=1, username="SOMEBODY")
    info = row(SessionInfo, inst_id=2, sid=88, state="IDLE BLKR", mapped_consumer_group="OLTP")
    source = FakeSource({Session: (WAITER,), NamedSession: (other, HOLDER), NamedSessionInfo: (info,)})
    snapshot = narrow(source).poll()
    assert snapshot.rows(Session) == (WAITER, HOLDER)
    assert snapshot.rows(SessionInfo) == (info,)
    assert {type(each) for each in snapshot.rows(Session)} == {Session}
    assert snapshot.round_trips == 2
    (asked,) = binds(source, NamedSession)
    assert sorted(asked.values(), reverse=True) == [88] + 7 * [-1]


def test_no_lookup_without_named_sessions_or_if_they_are_listed() -> None:
    source = FakeSource({Session: (WAITER._replace(state="WAITED SHORT TIME"),)})
    assert narrow(source).poll().round_trips == 1
    source = FakeSource({Session: (WAITER, HOLDER)})
    assert narrow(source).poll().round_trips == 1


def test_a_background_session_is_looked_up_if_all_user_sessions_are_listed() -> None:
    polling = narrow(FakeSource({Session: (WAITER,)}))
    polling.detail_level = DetailLevel.WHOLE
    assert polling.poll().round_trips == 2


def test_many_named_ones_are_asked_for_a_few_at_a_time() -> None:
    rows = tuple(row(PxSession, inst_id=1, sid=500 + n, qcsid=n, qcinst_id=1, degree=2) for n in range(1, 21))
    source = FakeSource({PxSession: rows})
    narrow(source).poll()
    asked = [sid for each in binds(source, NamedSession) for sid in each.values() if sid > 0]
    assert sorted(asked) == list(range(1, 21))
    assert len(binds(source, NamedSession)) == 3


def test_background_processes_are_asked_for_once_a_minute() -> None:
    """The log writer, which commits wait for, is no user's session."""
    source = FakeSource({Session: (WAITER,)}, step=2.0)
    polling = narrow(source)
    for _ in range(25):
        polling.poll()
    assert len(binds(source, NamedSession)) == 1
    source.rows[Session] = ()
    polling.poll()
    source.rows |= {Session: (WAITER,), NamedSession: (HOLDER,)}
    assert HOLDER in polling.poll().rows(Session), "it may be another one by now"


def test_the_session_that_is_looked_at_is_read_whatever_it_does() -> None:
    source = FakeSource({NamedSession: (HOLDER,)})
    polling = narrow(source)
    polling.focus(Focus(2, 88))
    assert polling.poll().rows(Session) == (HOLDER,)


def test_a_failed_lookup_is_reported_and_pauses() -> None:
    problem = Problem("ORA-04031", "no memory", "GV$SESSION")
    source = FakeSource(
        {Session: (WAITER,)},
        answers=lambda request: Section(problem=problem) if request.query.record in BECOME else None,
    )
    polling = narrow(source)
    snapshot = polling.poll()
    assert snapshot.problems()[NamedSession] == problem
    assert snapshot.rows(Session) == (WAITER,)
    polling.poll()
    assert len(binds(source, NamedSession)) == 1


def test_idle_sessions_are_listed_each_minute_and_while_they_are_shown() -> None:
    source = FakeSource(step=10.0)
    polling = Poller(source, clock=iter(range(0, 10_000, 1)).__next__)
    polling.detail_level = DetailLevel.NARROW
    polling.open()
    source.step = 10.0
    listed = [polling.poll().lists_idle for _ in range(20)]
    assert listed.count(True) in {2, 3}
    assert not listed[0], "there is something to see soon"
    polling.detail_level = DetailLevel.IDLE_SESSIONS
    assert [polling.poll().lists_idle for _ in range(3)] == [True] * 3
    assert {each["with_idle"] for each in binds(source, Session)} == {0, 1}
    assert binds(source, Session) == binds(source, SessionInfo)


def test_a_slow_list_does_not_hide_active_sessions() -> None:
    late = Problem("", "no answer in time", "GV$SESSION", late=True)

    def answer(request: Request) -> Section | None:
        if request.query.record is Session and request.binds["with_idle"]:
            return Section(problem=late)
        return None

    source = FakeSource({Session: (WAITER,)}, answers=answer, step=10.0)
    polling = narrow(source)
    polling.poll()
    polling.detail_level = DetailLevel.IDLE_SESSIONS
    assert polling.poll().problems()[Session].late
    after = polling.poll()
    assert (after.rows(Session), after.lists_idle, after.problems().get(Session)) == ((WAITER,), False, None)


def test_histograms_are_read_each_minute_or_while_they_are_shown() -> None:
    source = FakeSource(step=10.0)
    polling = narrow(source)
    for _ in range(13):
        polling.poll()
    assert len(binds(source, EventHistogram)) == 3
    polling.detail_level = DetailLevel.HISTOGRAMS
    polling.poll()
    polling.poll()
    assert len(binds(source, EventHistogram)) == 5


def test_a_spool_is_read_whole() -> None:
    source = FakeSource(kind="spool")
    assert narrow(source).poll().lists_idle
    assert binds(source, Session) == [{"with_idle": 1}]


def test_a_session_that_was_idle_has_no_rate_until_it_is_read_twice() -> None:
    """Its counters at the previous poll are not known, so neither is its use since: 90 s of CPU are older."""
    works = row(Session, inst_id=1, sid=5, serial=7, status="ACTIVE")
    source = FakeSource({Session: (), SessionInfo: ()})
    polling = narrow(source)
    snapshots = [polling.poll()]
    for cpu in (90_000, 91_000):
        source.rows |= {
            Session: (works,), SessionInfo: (row(SessionInfo, inst_id=1, sid=5, consumed_cpu_time=cpu),)
        }  # fmt: skip
        snapshots.append(polling.poll())
    first, second = (analyse(before, now) for before, now in pairwise(snapshots))
    assert [each.used for each in first.sessions] == [None]
    assert [each.used for each in second.sessions] == [0.5]


def test_unlisted_sessions_are_counted_or_not_known() -> None:
    counts = (row(SessionCount, inst_id=1, status="INACTIVE", sessions=5000), row(SessionCount, inst_id=1, sessions=3))
    polled = narrow(FakeSource({Session: (WAITER,), NamedSession: (HOLDER,), SessionCount: counts})).poll()
    assert analyse(None, polled).unlisted == 4999
    failed = {**polled.sections, SessionCount: Section(problem=Problem("ORA-04031", "no memory"))}
    assert analyse(None, replace(polled, sections=failed)).unlisted is None


CROWD = """
title = "A crowd of idle sessions"
database = "BIGDB"
release = "19"
warmup = "3m"
plan = "P"

[capacity]
instances = 8
cpu_count = 16
parallel_servers_target = 64
parallel_max_servers = 160

[plans.P.directives]
SHOP = { mgmt_p1 = 70 }
ANALYSIS = { mgmt_p1 = 20 }
OTHER_GROUPS = { mgmt_p1 = 10 }

[[sessions]]
name = "shop"
group = "SHOP"
count = 1600
cpu = "5ms"
think = "6s"

[[statements]]
name = "analysis"
group = "ANALYSIS"
every = "15s"
dop = [8]
work = "30s"
hold_chance = 0.5
hold = "3m"
"""


@pytest.mark.parametrize("release", some([Release(23)], [Release(19)]), ids=str)
def test_idle_sessions_cost_nothing_over_the_wire(tmp_path: Any, release: Release) -> None:
    """8 instances with 200 sessions each, almost all of them idle, and some that hold parallel servers."""
    path = tmp_path / "crowd.toml"
    path.write_text(CROWD, encoding="utf-8")
    simulator = SimulatorSource(str(path), release=release, seed=1, clock=lambda: 0.0)
    simulator.open()
    with simulated_server(simulator, release) as server:
        polling = Poller(OracleSource(ConnectSettings(server.dsn, "presman", Secret("presman"), call_timeout=30)))
        polling.detail_level = DetailLevel.NARROW
        polling.open()
        for _ in range(2):
            snapshot = polling.poll()
        polling.close()
    simulator.close()
    reading = analyse(None, snapshot)
    assert not snapshot.problems()
    assert sum(row.sessions for row in snapshot.rows(SessionCount)) > 1600
    assert (reading.unlisted or 0) > 1500
    assert len(snapshot.rows(Session)) < 300 > len(snapshot.rows(SessionInfo))
    holders = [each for each in reading.running if each.idle is not None]
    assert holders
    assert all(each.user for each in holders), "they are known, idle or not"
    assert release < Release(23) or snapshot.round_trips == 2, "one, and one for the holders"
