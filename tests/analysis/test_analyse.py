"""Analysis as a whole: any answer of a source gives a reading."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from presman.analysis.assemble import analyse, group_names, late, stale, whole_minute
from presman.analysis.readings.reading import CLUSTER, Reading
from presman.base.release import Release
from presman.rows.cursor_rows import SqlText
from presman.rows.group_rows import (
    ConsumerGroup,
    ConsumerGroupDefinition,
    CpuExhausted,
    GroupMetricHistory,
    RsrcPlanHistory,
)
from presman.rows.instance_rows import Database, EventHistogram, Instance, Osstat, Parameter, Sysstat, SystemEvent
from presman.rows.queries import Scope, by_query, field_types
from presman.rows.session_rows import NamedSession, PxProcessSysstat, PxSession, Session, SessionInfo
from presman.rows.snapshot import Problem, Section, Snapshot
from tests.analysis.make import NOON, active_plan, directive, group, instance, queued_session, row, snapshot
from tests.analysis.workload import busy
from tests.thorough import THOROUGH

WORDS = ["", "A", "B", "DAY", "YES", "ON", "OFF", "FULL", "FIFO", "TRUE", "PLAN", "RATIO", "INACTIVE", "WAITING"]
WORDS += ["resmgr:pq queued", "Servers In Use", "NUM_CPUS", "BUSY_TIME", "cpu_count", "12", "<a/>", "PENDING"]
VALUES: dict[type[Any], st.SearchStrategy[Any]] = {
    int: st.integers(-1, 4) | st.integers(-(2**70), 2**70),
    float: st.floats() | st.floats(0, 100),
    str: st.sampled_from(WORDS) | st.text(max_size=5),
    datetime: st.datetimes(datetime(2025, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC)),
}


def rows_of(record: Any) -> st.SearchStrategy[tuple[Any, ...]]:
    fields = []
    for kind, optional in field_types(record).values():
        values = VALUES[kind]
        fields.append(st.none() | values if optional or kind is datetime else values)
    return st.lists(st.tuples(*fields).map(record._make), max_size=4).map(tuple)


@st.composite
def snapshots(draw: st.DrawFn, after: float) -> Snapshot:
    sections = {}
    kinds: list[Any] = list(by_query().values())
    for record in draw(st.sets(st.sampled_from(kinds))):
        at = draw(st.none() | st.just(NOON + timedelta(seconds=after)))
        absent = frozenset(draw(st.sets(st.sampled_from(record._fields), max_size=2)))
        sections[record] = Section(draw(rows_of(record)), at, 0.0, None, absent)
    release = draw(st.sampled_from([Release(11, 2), Release(23)]))
    return snapshot(after=after, release=release, sections=sections)


def numbers(value: Any) -> list[float]:
    """Every rate and share of a group."""
    found = [value.used, value.waiting, value.yields_per_s, value.requests_per_s, value.entitled]
    return [each for each in found if each is not None]


@settings(
    max_examples=300 if THOROUGH else 6,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    deadline=None,
)
@given(st.none() | snapshots(0.0), snapshots(2.0))
def test_no_rows_raise(previous: Snapshot | None, current: Snapshot) -> None:
    reading = analyse(previous, current)
    assert isinstance(reading, Reading)
    for each in reading.groups:
        assert not any(number < 0 for number in numbers(each)), each
    assert reading.unmanaged_servers is None or reading.unmanaged_servers >= 0
    assert len(reading.sessions) == len(current.rows(Session))


def test_nothing_at_all_is_a_reading() -> None:
    reading = analyse(None, snapshot())
    assert (reading.groups, reading.header.instances, reading.header.num_cpus) == ((), (), None)
    assert analyse(snapshot(), snapshot(after=2.0)).interval == 2.0


def test_an_instance_that_goes_or_comes_activates_no_plan() -> None:
    """In the demo `changes` instance 2 went down, and "a plan was activated" stood beside "no starved group"."""
    both = [*(instance(inst_id=each) for each in (1, 2)), *(active_plan(inst_id=each) for each in (1, 2))]
    one = [instance(inst_id=1), active_plan(inst_id=1)]
    for before, after in ((both, one), (one, both)):
        assert analyse(snapshot(*before), snapshot(*after, after=2.0)).notes == ()
    switched = [instance(inst_id=1), active_plan("NIGHT", inst_id=1)]
    (note,) = analyse(snapshot(*one), snapshot(*switched, after=2.0)).notes
    assert note.startswith("a plan was activated since the last poll")


def test_problems_become_troubles_with_their_cure() -> None:
    problem = Problem("ORA-00942", "table or view does not exist", "GV$PX_SESSION", "GRANT SELECT ON ...")
    reading = analyse(None, snapshot(sections={PxSession: Section(problem=problem)}))
    (trouble,) = reading.troubles
    assert (trouble.query, trouble.view) == ("px_session", "GV$PX_SESSION")
    assert (trouble.text, trouble.cure) == ("ORA-00942: table or view does not exist", "GRANT SELECT ON ...")


def test_views_with_the_same_problem_are_named_once() -> None:
    """Two queries read V$SESSION, and their problem is named once; that of another view is named apart."""
    refused = Section(problem=Problem("ORA-00942", "table or view does not exist", "GV$SESSION", "GRANT SELECT ON ..."))
    other = Section(problem=Problem("ORA-00942", "table or view does not exist", "GV$OSSTAT", "GRANT SELECT ON ..."))
    found = analyse(None, snapshot(sections={NamedSession: refused, Session: refused, Osstat: other})).troubles
    assert [(each.query, each.view) for each in found] == [("osstat", "GV$OSSTAT"), ("session", "GV$SESSION")]


def test_a_column_that_came_with_an_update_may_be_missing() -> None:
    lacking = Section(problem=Problem("ORA-00904", '"CPU_EXHAUSTED": invalid identifier', "GV$RSRCMGRMETRIC"))
    assert analyse(None, snapshot(sections={CpuExhausted: lacking})).troubles == ()
    assert len(analyse(None, snapshot(sections={Session: lacking})).troubles) == 1


def test_the_header() -> None:
    rows = [
        row(Database, name="SALES", cdb="NO", database_role="PRIMARY"),
        instance(host_name="db1", version="19.22.0.0.0"),
        active_plan("SCHEDULER[0x4D2F]:NIGHT", active=30, target=64),
        row(RsrcPlanHistory, sequence=1, name="NIGHT", start_time=NOON - timedelta(hours=2)),
        row(Parameter, name="parallel_max_servers", value="160"),
        row(PxProcessSysstat, statistic="Servers In Use                ", value=36),
        row(PxProcessSysstat, statistic="Servers Available", value=12),
        group("A", current_pq_servers_active=30),
    ]
    reading = analyse(None, snapshot(*rows))
    top = reading.header
    assert (top.database, top.version, top.plan, top.uptime) == ("SALES", "19.22.0.0.0", "NIGHT", 864_000.0)
    assert top.plan_since == NOON - timedelta(hours=2)
    pool = top.servers
    assert (pool.in_use, pool.available, pool.counted, pool.target, pool.maximum) == (36, 12, 30, 64, 160)
    assert reading.unmanaged_servers == 6


def test_views_that_disagree_give_no_negative_number() -> None:
    rows = [group("A", current_pq_servers_active=40), row(PxProcessSysstat, statistic="Servers In Use", value=38)]
    assert analyse(None, snapshot(*rows)).unmanaged_servers is None


def test_pools_are_summed_over_the_cluster() -> None:
    rows: list[Any] = [instance(1), instance(2)]
    rows += [active_plan(inst_id=i, target=32, active=5 * i) for i in (1, 2)]
    rows += [row(PxProcessSysstat, inst_id=i, statistic="Servers In Use", value=6 * i) for i in (1, 2)]
    pool = analyse(None, snapshot(*rows)).header.servers
    assert (pool.inst_id, pool.in_use, pool.counted, pool.target, pool.maximum) == (CLUSTER, 18, 15, 64, None)


def test_instances_with_different_plans_are_reported() -> None:
    rows = [active_plan("DAY", 1), active_plan("NIGHT", 2), directive("DAY", "A", 100), directive("NIGHT", "A", 40)]
    reading = analyse(None, snapshot(*rows))
    assert reading.header.mixed_plans
    assert [each.share for each in reading.groups if each.inst_id] == [1.0, 0.4]


def test_an_instance_that_does_not_answer_runs_no_other_plan() -> None:
    header = analyse(None, snapshot(instance(1), instance(2), active_plan("DAY", 1, target=32))).header
    assert [each.plan for each in header.instances] == ["DAY", ""]
    assert not header.mixed_plans
    assert (header.target, header.servers.target) == ("32 + ?", None)


def server(sid: int, inst_id: int, **values: Any) -> PxSession:
    given = {
        "qcsid": 9,
        "qcserial": 99,
        "qcinst_id": 1,
        "server_group": 1,
        "server_set": 1,
        "degree": 4,
        "req_degree": 8,
    }
    return row(PxSession, sid=sid, serial=sid, inst_id=inst_id, **(given | values))


def test_a_running_statement_over_two_instances() -> None:
    rows: list[Any] = [row(PxSession, sid=9, serial=99, qcsid=9)]
    rows += [server(sid, 1 + sid % 2, server_set=1 + sid % 2) for sid in range(20, 28)]
    rows += [server(30, 1, server_group=2, degree=2, req_degree=8)]
    rows += [
        row(Session, sid=9, serial=99, status="ACTIVE", sql_id="q", sql_child_number=1, username="ANN",
            resource_consumer_group="ETL", sql_exec_start=NOON - timedelta(seconds=65)),
        row(SqlText, inst_id=2, sql_id="q", child_number=1, sql_text="select 1"),
    ]  # fmt: skip
    (found,) = analyse(None, snapshot(*rows)).running
    assert (found.servers, found.sets, found.degree, found.requested, found.downgraded) == (9, 3, 4, 8, 75.0)
    assert dict(found.servers_by_instance) == {1: 5, 2: 4}
    assert (found.group, found.user, found.elapsed, found.idle, found.sql_text) == (
        "ETL",
        "ANN",
        65.0,
        None,
        "select 1",
    )


def test_an_idle_holder_shows_the_statement_it_has_not_fetched() -> None:
    session = row(
        Session, sid=9, serial=99, status="INACTIVE", last_call_et=700, prev_sql_id="q", prev_child_number=0, sql_id=""
    )
    (found,) = analyse(None, snapshot(session, server(20, 1), server(21, 1))).running
    assert (found.idle, found.sql_id, found.child, found.status) == (700.0, "q", 0, "INACTIVE")


def test_idle_holders_come_before_working_ones_of_any_size() -> None:
    rows: list[Any] = []
    for sid, servers, status in ((1, 4, "ACTIVE"), (2, 1, "INACTIVE"), (3, 8, "ACTIVE"), (4, 2, "INACTIVE")):
        rows.append(row(Session, sid=sid, serial=1, status=status, last_call_et=700, sql_id="q"))
        rows += [server(100 * sid + n, 1, qcsid=sid, qcserial=1) for n in range(servers)]
    found = analyse(None, snapshot(*rows)).running
    assert [(each.sid, each.servers) for each in found] == [(4, 2), (2, 1), (3, 8), (1, 4)]


def test_a_server_with_the_coordinators_sid_on_another_instance_is_a_server() -> None:
    (found,) = analyse(None, snapshot(server(9, 2, degree=None, req_degree=None), server(10, 2))).running
    assert (found.servers, found.inst_id) == (2, 1)


def test_a_session_is_not_the_previous_one_with_its_sid() -> None:
    def poll(serial: int, cpu: int, after: float) -> Snapshot:
        session = row(Session, sid=5, serial=serial, logon_time=NOON)
        return snapshot(session, row(SessionInfo, sid=5, consumed_cpu_time=cpu, large_read_megabytes=cpu), after=after)

    (same,) = analyse(poll(1, 1000, 0), poll(1, 3000, 2)).sessions
    assert (same.used, same.io_mb, same.io_requests) == (1.0, 1000.0, 0.0)
    (other,) = analyse(poll(1, 1000, 0), poll(2, 3000, 2)).sessions
    assert (other.used, other.waiting, other.io_mb, other.io_requests) == (None, None, None, None)


def test_sessions_show_their_part_in_parallel_execution() -> None:
    rows: list[Any] = [row(Session, sid=9, serial=99), row(Session, sid=20, serial=20), queued_session(5, "A")]
    rows += [row(Session, sid=6, serial=1), server(20, 1), server(21, 1), row(PxSession, sid=9, serial=99, qcsid=9)]
    found = {each.sid: (each.px_role, each.px_servers) for each in analyse(None, snapshot(*rows)).sessions}
    assert found == {9: ("QC", 2), 20: ("server", 0), 5: ("queued", 0), 6: ("", 0)}


def test_servers_without_a_coordinator_are_counted_and_reported() -> None:
    rows = [row(PxSession, sid=sid, serial=1, degree=4, req_degree=4, server_set=1) for sid in range(20, 24)]
    reading = analyse(None, snapshot(instance(), *rows))
    assert reading.running == ()
    assert reading.header.servers.in_use == 4
    assert "4 sessions of V$PX_SESSION have no QCSID: which statements they work for is not known" in reading.notes


def test_waits_and_histograms_and_downgrades_by_delta() -> None:
    def poll(waits: int, micro: int, counts: tuple[int, ...], serial: int, after: float) -> Snapshot:
        rows: list[Any] = [row(SystemEvent, event="e", total_waits=waits, time_waited_micro=micro)]
        rows += [
            row(EventHistogram, event="e", wait_time_micro=2**n, wait_count=count) for n, count in enumerate(counts)
        ]
        return snapshot(*rows, row(Sysstat, name="downgraded", value=serial), after=after)

    reading = analyse(poll(10, 1000, (4, 6), 3, 0), poll(30, 5_001_000, (4, 16, 10), 5, 2))
    (wait,) = reading.waits
    assert (wait.sessions, wait.per_second, wait.mean_ms) == (2.5, 10.0, 250.0)
    assert [bucket.delta for bucket in reading.histograms[0].buckets] == [0, 10, 10]
    assert [(each.total, each.delta) for each in reading.downgrades] == [(5, 2)]
    back = analyse(poll(30, 5_001_000, (4, 16), 5, 0), poll(10, 1000, (1, 17), 3, 2))
    assert back.waits == ()
    assert [bucket.delta for bucket in back.histograms[0].buckets] == [None, None]
    assert back.downgrades[0].delta is None


def _queueing(
    ended: int, minutes: int, waiting: int, waited: float, after: float, other: tuple[Any, ...] = ()
) -> Snapshot:
    """`ended` waits of 5 minutes each in V$SYSTEM_EVENT, and `waiting` sessions that have waited `waited` seconds."""
    total = row(SystemEvent, event=QUEUED, total_waits=ended, time_waited_micro=ended * minutes * 60_000_000)
    sessions = [queued_session(sid, "A", waited, wait_class="Scheduler") for sid in range(waiting)]
    return snapshot(total, *sessions, *other, after=after)


QUEUED = "resmgr:pq queued"


def test_waits_longer_than_the_poll_are_those_of_the_sessions_that_wait_now() -> None:
    """43 queue for minutes and no wait ends. Then two waits of 5 minutes end: 600 s within 2 s are not 300 sessions."""
    (still,) = analyse(_queueing(9, 5, 43, 240.0, 0), _queueing(9, 5, 43, 242.0, 2)).waits
    assert (still.sessions, still.per_second, still.mean_ms, still.ended) == (43.0, 0.0, None, 0.0)
    (some,) = analyse(_queueing(9, 5, 43, 298.0, 0), _queueing(11, 5, 41, 300.0, 2)).waits
    assert (some.sessions, some.per_second, some.mean_ms, some.ended) == (41.0, 1.0, 300_000.0, 300.0)
    (last,) = analyse(_queueing(9, 5, 2, 298.0, 0), _queueing(11, 5, 0, 0.0, 2)).waits
    assert (last.sessions, last.ended) == (2.0, 300.0)
    assert analyse(_queueing(11, 5, 0, 0.0, 0), _queueing(11, 5, 0, 0.0, 2)).waits == ()


def test_the_first_long_wait_since_startup_is_seen_before_it_ends() -> None:
    """V$SYSTEM_EVENT has no row of it; idle sessions, sessions on CPU and new waits do not count."""
    before = snapshot(row(SystemEvent, event="log file sync", total_waits=1, time_waited_micro=1), after=0)
    others = [
        row(Session, sid=7, event="SQL*Net message from client", wait_class="Idle", state="WAITING",
            wait_time_micro=9_000_000),
        row(Session, sid=8, event="resmgr:cpu quantum", wait_class="Scheduler", state="WAITED KNOWN TIME",
            wait_time_micro=9_000_000),
        row(Session, sid=6, event="SQL*Net message from client", state="WAITING", wait_time_micro=9_000_000),
        row(Session, sid=9, event="latch free", wait_class="Other", state="WAITING", wait_time_micro=1_900_000),
        row(Session, sid=10, event="enq: TM - contention", wait_class="Application", state="WAITING",
            wait_time_micro=2_000_000),
    ]  # fmt: skip
    after = snapshot(row(SystemEvent, event="log file sync", total_waits=1, time_waited_micro=1), *others, after=2)
    (wait,) = analyse(before, after).waits
    assert (wait.event, wait.wait_class, wait.sessions, wait.per_second) == (
        "enq: TM - contention", "Application", 1.0, 0.0,
    )  # fmt: skip


def test_short_waits_are_averages_even_if_sessions_wait_now() -> None:
    """Six sessions have waited for 0.4 s; waits that ended took 5 s within 2 s: 2.5 sessions."""
    now = [row(Session, sid=sid, event="e", state="WAITING", wait_time_micro=400_000) for sid in range(6)]
    totals = [row(SystemEvent, event="e", total_waits=n, time_waited_micro=n * 250_000) for n in (10, 30)]
    (wait,) = analyse(snapshot(totals[0], after=0), snapshot(totals[1], *now, after=2)).waits
    assert (wait.sessions, wait.ended) == (2.5, 2.5)


def test_a_restart_and_a_new_window_are_noted() -> None:
    one = snapshot(instance(), group("A"))
    assert analyse(one, snapshot(instance(startup_time=NOON), group("A"), after=2.0)).notes == (
        "instance 1 restarted since the last poll: no rates yet",
    )
    first = snapshot(instance(), row(RsrcPlanHistory, sequence=8))
    again = snapshot(instance(), row(RsrcPlanHistory, sequence=9), after=2.0)
    assert "a plan was activated" in analyse(first, again).notes[0]
    part = snapshot(row(Instance, inst_id=1, parallel="YES"), scope=Scope.INSTANCE)
    assert "cluster-wide" in analyse(None, part).notes[0]


def test_the_order_of_groups_is_stable_and_by_share() -> None:
    one, two = busy(1), busy(2)
    names = [each.name for each in analyse(one, two).cluster_groups()]
    assert names == [each.name for each in analyse(None, one).cluster_groups()]
    mixed = {**two.sections, ConsumerGroup: Section(two.rows(ConsumerGroup)[::-1], two.at)}
    assert names == [each.name for each in analyse(one, snapshot(after=4.0, sections=mixed)).cluster_groups()]


def test_a_reading_does_not_change_what_it_was_made_from() -> None:
    one, two = busy(1), busy(2)
    before = dict(two.sections)
    first = analyse(one, two)
    assert dict(two.sections) == before
    assert analyse(one, two) == first
    assert isinstance(first.running[0].servers_by_instance, MappingProxyType)


@pytest.mark.parametrize("record", [ConsumerGroup, Session, Instance])
def test_one_section_missing_is_no_error(record: type[Any]) -> None:
    two = busy(2)
    part = {kind: section for kind, section in two.sections.items() if kind is not record}
    assert analyse(busy(1), snapshot(after=4.0, sections=part)).target == "test"


def test_groups_are_counted_from_sessions_where_their_own_view_is_missing() -> None:
    running = [server(sid, 1, degree=2) for sid in (201, 202)]
    waiting = [queued_session(301, "BATCH", 10.0), queued_session(302, "BATCH", 25.0)]
    coordinator = row(Session, sid=9, serial=99, resource_consumer_group="BATCH", status="ACTIVE")
    found = analyse(None, snapshot(instance(), active_plan(), coordinator, *running, *waiting)).cluster_groups()
    (batch,) = [each for each in found if each.name == "BATCH"]
    assert (batch.px_active, batch.px_servers, batch.px_queued, batch.head_waited) == (1, 2, 2, 25.0)
    assert batch.active_sessions == 3  # two that wait, and the coordinator
    assert (batch.execution_waiters, batch.pool_queue_length) == (None, None)  # only that view shows them


def test_a_target_of_zero_is_none_and_the_parameter_counts() -> None:
    parameter = row(Parameter, name="parallel_servers_target", value="32")
    header = analyse(None, snapshot(instance(), active_plan(target=64), parameter)).header
    silent = analyse(None, snapshot(instance(), active_plan(target=0), parameter)).header
    neither = analyse(None, snapshot(instance(), active_plan(target=0))).header
    assert (header.servers.target, silent.servers.target, neither.servers.target) == (64, 32, None)


def test_a_minute_since_1970_begins_at_its_first_second() -> None:
    assert whole_minute(0) == datetime(1970, 1, 1, tzinfo=UTC)
    assert whole_minute(61) == datetime(1970, 1, 1, 1, 1, tzinfo=UTC)
    assert whole_minute(61) is whole_minute(61)


@pytest.mark.parametrize(("ended", "is_counted"), [(60 * 60, False), (59 * 60, True), (60, True)])
def test_the_hour_is_that_before_the_minute_of_the_poll(ended: float, is_counted: bool) -> None:
    """The poll is 59 s after noon: minutes that ended by 11:00 belong to the hour before."""
    minute = row(
        GroupMetricHistory,
        consumer_group_name="ETL",
        end_time=NOON - timedelta(seconds=ended),
        intsize_csec=6000,
        avg_queued_parallel_stmts=3.0,
        avg_active_parallel_stmts=1.0,
    )
    found = analyse(None, snapshot(instance(), active_plan(), minute, after=59.0)).hour
    assert [(each.name, each.usual.mean_queue) for each in found] == ([("ETL", 3.0)] if is_counted else [])


def test_the_groups_that_are_defined_are_known_or_not() -> None:
    defined = [row(ConsumerGroupDefinition, consumer_group=name) for name in ("ETL", "BATCH", "ETL")]
    assert group_names(tuple(defined)) == ("BATCH", "ETL")
    assert group_names(()) is None


def test_how_old_what_is_shown_is() -> None:
    at = NOON + timedelta(seconds=30)
    sections = {
        Session: Section((), NOON + timedelta(seconds=20)),
        ConsumerGroup: Section(
            (), NOON, problem=Problem("", "no answer in 2 s", "V$RSRC_CONSUMER_GROUP", "", late=True)
        ),
        Database: Section((), None, problem=Problem("ORA-00942", "no such view", "V$DATABASE", "")),
    }
    seen = snapshot(at=at, sections=sections)
    assert stale(seen) == 10.0
    assert [(each.view, each.age) for each in late(seen)] == [("V$RSRC_CONSUMER_GROUP", 30.0)]
    assert stale(snapshot(at=NOON, sections=sections)) == 0.0, "rows newer than the poll have no age"
    assert stale(snapshot(at=at, sections={Database: sections[Database]})) is None


def test_active_sessions_are_known_where_sessions_and_their_status_were_read() -> None:
    active = row(Session, sid=5, status="ACTIVE", event="x", state="WAITED KNOWN TIME")
    known = analyse(None, snapshot(instance(), active)).activity
    assert known is not None
    assert known.active == 1
    assert analyse(None, snapshot(instance())).activity is None
    without = {Session: Section((active,), NOON, absent=frozenset({"status"}))}
    assert analyse(None, snapshot(sections=without)).activity is None
