"""Agreement of views: every counter follows from the same events, with any seed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

import pytest

from presman.base.release import Release
from presman.config.target import scenarios
from presman.rows.cursor_rows import PlanXml
from presman.rows.group_rows import ConsumerGroup, CpuExhausted, RsrcPlan
from presman.rows.instance_rows import EventHistogram, Sysstat, SystemEvent
from presman.rows.session_rows import PxProcess, PxProcessSysstat, PxSession, Session, SessionInfo
from presman.sources.simulator.cluster import BACKGROUND
from presman.sources.simulator.executions import Phase
from tests.scenarios import NOT_SO, with_short_past
from tests.sources.simulator.conftest import Played
from tests.thorough import THOROUGH, some

KINDS = ["mixed", "rac", "pdb", "storm", "throttled", "changes"]
CASES = some(
    [(name, 1) for name in KINDS],
    [(name, 23 if name in KINDS else 1) for name in scenarios()],
)
SECONDS = range(0, 400, 13 if THOROUGH else 133)
Play = Callable[..., Played]


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def played(request: pytest.FixtureRequest, play: Play) -> Played:
    name, seed = request.param
    return play(with_short_past(name), seed=seed)


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def five_minutes(request: pytest.FixtureRequest) -> Iterator[Played]:
    """A scenario at its 300th second, for tests that only read."""
    name, seed = request.param
    played = Played(with_short_past(name), seed=seed).to(300)
    yield played
    played.source.close()


def gauge(played: Played, inst_id: int, statistic: str) -> int:
    found = played.rows(PxProcessSysstat)
    return next(row.value for row in found if (row.inst_id, row.statistic.strip()) == (inst_id, statistic))


def test_second_by_second(played: Played) -> None:
    """Servers, the queue and the sessions' time agree at every instant."""
    if played.source.simulation.scenario.alterations or played.source.simulation.scenario.views:
        pytest.skip("a plan is switched on the way: the groups' counters begin anew; or views show what is not so")
    groups: dict[tuple[int, int, str], ConsumerGroup] = {}
    times: dict[tuple[int, int, int | None], int] = {}
    for second in SECONDS:
        played.to(second)
        servers_agree(played)
        groups = the_queue_agrees(played, groups)
        times = no_session_had_more_time_than_passed(played, times)


def servers_agree(played: Played) -> None:
    maximum = played.source.simulation.scenario.capacity.maximum
    groups, servers = played.rows(ConsumerGroup), played.rows(PxSession)
    sessions = {(row.inst_id, row.sid, row.serial): row for row in played.rows(Session)}
    unmanaged = defaultdict(int)
    for one in played.source.simulation.workload.executions.values():
        for server in one.servers if not one.entry.managed else ():
            unmanaged[server.inst_id] += 1
    for plan in played.rows(RsrcPlan):
        inst_id = plan.inst_id
        in_use = gauge(played, inst_id, "Servers In Use")
        held = sum(row.current_pq_servers_active for row in groups if row.inst_id == inst_id)
        assert held + unmanaged[inst_id] == in_use == plan.parallel_servers_active <= maximum
        gv = {(row.inst_id, row.sid) for row in played.rows(PxProcess) if row.is_gv == "TRUE"}
        mine = [row for row in servers if row.inst_id == inst_id and row.degree is not None]
        mine = [row for row in mine if (row.inst_id, row.sid) not in gv]
        assert len(mine) == in_use
        assert len({row.sid for row in mine}) == in_use
        assert all((row.inst_id, row.sid, row.serial) in sessions for row in mine)
        at_work = {(row.sid, row.serial) for row in played.rows(PxProcess) if row.inst_id == inst_id}
        assert {(row.sid, row.serial) for row in servers if row.inst_id == inst_id and row.degree} <= at_work
    for row in servers:
        assert (row.degree is None) == (row.qcinst_id is None) == (row.qcserial is None)


def the_queue_agrees(
    played: Played, before: dict[tuple[int, int, str], ConsumerGroup]
) -> dict[tuple[int, int, str], ConsumerGroup]:
    waiting = [row for row in played.rows(Session) if row.event == "resmgr:pq queued"]
    info = {(row.inst_id, row.sid): row for row in played.rows(SessionInfo)}
    by_group: dict[tuple[int, int, str], int] = defaultdict(int)
    for row in waiting:
        by_group[row.inst_id, row.con_id, row.resource_consumer_group] += 1
        assert (row.status, row.state, row.wait_class) == ("ACTIVE", "WAITING", "Scheduler")
        assert info[row.inst_id, row.sid].current_pq_queued_time == row.wait_time_micro // 1000
        (plan,) = played.rows(PlanXml, at_inst_id=row.inst_id, sql_id=row.sql_id, child_number=row.sql_child_number)
        assert f'<info type="dop">{info[row.inst_id, row.sid].dop}</info>' in plan.other_xml
    now = {(row.inst_id, row.con_id, row.name): row for row in played.rows(ConsumerGroup)}
    for key, row in now.items():
        assert row.current_pqs_queued == by_group[key]
        old = before.get(key)
        if old is not None:
            for counter in ("pqs_queued", "pqs_completed", "pq_queued_time", "consumed_cpu_time", "cpu_wait_time"):
                assert getattr(row, counter) >= getattr(old, counter)
    return {**before, **now}


def no_session_had_more_time_than_passed(
    played: Played, before: dict[tuple[int, int, int | None], int]
) -> dict[tuple[int, int, int | None], int]:
    """A session's CPU and waits for CPU are at most the time that passed; views have whole milliseconds."""
    alive = {(row.inst_id, row.sid): row.serial for row in played.rows(Session)}
    now = {
        (row.inst_id, row.sid, alive.get((row.inst_id, row.sid))): row.consumed_cpu_time + row.cpu_wait_time
        for row in played.rows(SessionInfo)
    }
    for key, value in now.items():
        if key in before:
            assert value - before[key] <= 1000 * (SECONDS[1] - SECONDS[0]) + 2, key
    return now


def test_little(played: Played) -> None:
    """The growth of PQ_QUEUED_TIME is the mean number of statements queued."""
    played.to(10)
    first = {(row.inst_id, row.con_id, row.name): row for row in played.rows(ConsumerGroup)}
    area: dict[tuple[int, int, str], float] = defaultdict(float)
    for tenth in range(100, 700):
        played.to(tenth / 10 + 0.05)
        for one in played.source.simulation.workload.executions.values():
            if one.phase is Phase.QUEUED:
                area[one.session.inst_id, one.group.con_id, one.group.name] += 0.1
    played.to(70)
    for row in played.rows(ConsumerGroup):
        key = (row.inst_id, row.con_id, row.name)
        grown = (row.pq_queued_time - first[key].pq_queued_time) / 1000
        assert grown == pytest.approx(area[key], rel=0.05, abs=1.5)


class Minute(NamedTuple):
    """A group's figures in V$RSRCMGRMETRIC and its history."""

    inst_id: int
    con_id: int
    consumer_group_name: str
    begin_time: datetime | None
    end_time: datetime | None
    intsize_csec: int
    num_cpus: int
    cpu_consumed_time: float
    cpu_wait_time: float
    running_sessions_limit: float
    avg_running_sessions: float
    avg_waiting_sessions: float


def test_metrics(played: Played) -> None:
    """The last full minute has the growth of the group counters, and its averages follow from its sums."""
    simulation = played.source.simulation
    if simulation.scenario.alterations:
        pytest.skip("a plan is switched on the way: the groups' counters begin anew")
    played.to(simulation.opened + 61.0)
    begin = simulation.opened
    start = {(row.inst_id, row.con_id, row.name): row for row in played.to(begin).rows(ConsumerGroup)}
    played.to(begin + 59.75)
    while simulation.opened == begin:
        assert played.seconds < begin + 62, "the minute has not ended"
        end = {(row.inst_id, row.con_id, row.name): row for row in played.rows(ConsumerGroup)}
        played.to(played.seconds + 0.25)
    metrics = played.view("gv$rsrcmgrmetric", Minute)
    assert metrics
    capacity = simulation.scenario.capacity
    for row in metrics:
        key = (row.inst_id, row.con_id, row.consumer_group_name)
        seconds = row.intsize_csec / 100
        used = end[key].consumed_cpu_time - start[key].consumed_cpu_time
        assert row.cpu_consumed_time == pytest.approx(used, rel=0.05, abs=1000 * capacity.cpu_count * 0.6)
        assert row.avg_running_sessions == pytest.approx(row.cpu_consumed_time / 1000 / seconds, abs=0.01)
        assert row.avg_waiting_sessions == pytest.approx(row.cpu_wait_time / 1000 / seconds, abs=0.01)
        assert row.avg_running_sessions <= row.running_sessions_limit + 0.01
        assert 60 <= seconds < 60.2


@pytest.mark.parametrize("scenario", some(["rac", "pdb"], ["mixed", "storm"]))
def test_metric_history_is_an_hour_without_gaps(scenario: str, play: Play) -> None:
    played = play(scenario)
    history = played.to(30).view("gv$rsrcmgrmetric_history", Minute)
    keys = {(row.inst_id, row.con_id, row.consumer_group_name) for row in history}
    warm = played.source.simulation.scenario.header.warmup / 60
    for key in keys:
        own = [row for row in history if (row.inst_id, row.con_id, row.consumer_group_name) == key]
        assert min(warm, 60) - 2 <= len(own) <= 60
        for earlier, later in pairwise(own):
            assert later.begin_time is not None
            assert later.end_time is not None
            assert later.begin_time == earlier.end_time
            length = later.end_time - later.begin_time
            assert abs(length - timedelta(seconds=later.intsize_csec / 100)) <= timedelta(seconds=1)


def test_waiting_only_if_contended_or_at_the_limit(played: Played) -> None:
    simulation = played.source.simulation
    seen = 0
    for second in range(0, 900 if THOROUGH else 300, 7):
        played.to(second)
        for machine in simulation.machines:
            accounts = machine.accounts.items()
            used = sum(account.rates[0] for _, account in accounts)
            assert used <= machine.capacity.cpu_count + 1e-6
            by_pdb: dict[int, float] = defaultdict(float)
            for group, account in accounts:
                by_pdb[group.con_id] += account.rates[0]
            for group, account in accounts:
                if account.rates[1] < 1e-6:
                    continue
                seen += 1
                ceiling = simulation.plans.ceilings[group] * (machine.capacity.cpu_count - 0.1)
                pdb = [one for one in simulation.scenario.pdbs if one.con_id == group.con_id]
                capped = any(
                    by_pdb[one.con_id]
                    >= (one.directive.utilization_limit or 101) / 100 * (machine.capacity.cpu_count - 0.1) - 1e-6
                    for one in pdb
                )
                full = used >= machine.capacity.cpu_count - 0.1 - 1e-6
                assert full or capped or account.rates[0] >= ceiling - 1e-6, (group, second)
    without = {"quiet", "noplan", "queueing", "storm", "rac", "holders", "locked", "locked_rac", "quiesce", "changes"}
    assert seen or simulation.scenario.name in without | NOT_SO | {"adb", "lost"}


def test_waits_and_histograms(five_minutes: Played) -> None:
    played = five_minutes
    totals = {(row.inst_id, row.event): row for row in played.rows(SystemEvent)}
    counted: dict[tuple[int, str], int] = defaultdict(int)
    for row in played.rows(EventHistogram):
        counted[row.inst_id, row.event] += row.wait_count
        assert row.wait_time_micro & (row.wait_time_micro - 1) == 0
    assert {key[1] for key in counted} >= {"log file parallel write", "log file sync"}
    for key, waits in counted.items():
        if key in totals:
            assert totals[key].total_waits == waits
    for inst_id in {key[0] for key in totals}:
        waited = sum(row.cpu_wait_time for row in played.rows(ConsumerGroup) if row.inst_id == inst_id) / 1000
        event = totals.get((inst_id, "resmgr:cpu quantum"))
        assert (event.time_waited_micro / 1e6 if event else 0.0) == pytest.approx(waited, rel=0.02, abs=20)


def test_cpu_of_groups_is_cpu_of_sessions(five_minutes: Played) -> None:
    """CPU of the groups is that of present and former sessions, of ended servers and of the background."""
    played = five_minutes
    scenario = played.source.simulation.scenario
    if scenario.changes or any(each.restart for each in scenario.alterations):
        pytest.skip("the groups' counters begin anew with a plan or an instance")
    workload = played.source.simulation.workload
    sessions = sum(row.consumed_cpu_time for row in played.rows(SessionInfo)) / 1000
    groups = sum(row.consumed_cpu_time for row in played.rows(ConsumerGroup)) / 1000
    background = sum(row.consumed_cpu_time for row in played.rows(ConsumerGroup) if row.name == BACKGROUND) / 1000
    gone = sum(workload.ended_cpu.values())
    assert groups - background == pytest.approx(sessions + gone, rel=0.001, abs=1.0)


def test_downgrades_are_counted(play: Play) -> None:
    played = play(with_short_past("mixed"), seed=1)
    seen = 0
    for second in range(0, 2400, 5):
        if seen:
            break
        played.to(second)
        for row in played.rows(PxSession):
            seen += row.degree is not None and row.degree < row.req_degree
    counted = sum(row.value for row in played.rows(Sysstat) if "downgraded " in row.name and row.name[-3:] == "pct")
    assert seen
    assert counted


def test_idle_holder_keeps_its_servers(play: Play) -> None:
    played = play("storm").to(60)
    holders = [row for row in played.rows(Session) if row.program == "SQL Developer"]
    (holder,) = [row for row in holders if not row.program.startswith("oracle@")]
    assert (holder.status, holder.sql_id, holder.state) == ("INACTIVE", "", "WAITING")
    assert holder.prev_sql_id
    assert holder.last_call_et > 400
    servers = [row for row in played.rows(PxSession) if row.qcsid == holder.sid and row.degree is not None]
    assert len(servers) == 16
    played.to(90)
    (later,) = [row for row in played.rows(Session) if row.program == "SQL Developer"]
    assert later.last_call_et == holder.last_call_et + 30


@pytest.mark.parametrize(("scenario", "least", "most"), [("throttled", 60.0, 100.0), ("quiet", 0.0, 1.0)])
def test_cpu_exhausted_is_the_part_of_the_minute_without_a_free_cpu(
    play: Callable[..., Played], scenario: str, least: float, most: float
) -> None:
    played = play(scenario, release=Release(23))
    played.to(played.source.simulation.opened + 61.0)
    found = {row.cpu_exhausted for row in played.rows(CpuExhausted)}
    assert len(found) == 1, "the CPUs of an instance are the same for all its groups"
    assert least <= found.pop() <= most


def test_a_session_has_no_more_seconds_than_the_clock(played: Played) -> None:
    """A session either runs or waits for CPU: V$RSRC_SESSION_INFO grows by no more than the time that passed."""
    before: dict[tuple[int, int, int], int] = {}
    for second in (20.0, 22.0, 24.5, 40.0):
        passed = 1000 * (second - played.seconds)
        played.to(second)
        serials = {(row.inst_id, row.sid): row.serial for row in played.rows(Session)}
        now = {
            (row.inst_id, row.sid, serials[row.inst_id, row.sid]): row.consumed_cpu_time + row.cpu_wait_time
            for row in played.rows(SessionInfo)
            if (row.inst_id, row.sid) in serials
        }
        for session in before.keys() & now.keys():
            assert now[session] - before[session] <= passed + 2, session
        before = now


def test_servers_wait_for_each_other_only_where_there_are_some(played: Played) -> None:
    machines = played.source.simulation.machines
    played.to(20)
    seen = []
    for second in (20, 22, 24, 26):
        played.to(second)
        waits = {(row.inst_id, row.event): row.total_waits for row in played.rows(SystemEvent)}
        seen.append((waits, {each.inst_id: (each.names.in_use, each.names.sessions) for each in machines}))
    for (before, had), (after, has) in pairwise(seen):
        none = {inst_id for inst_id, (in_use, begun) in has.items() if (in_use, begun) == had[inst_id] and not in_use}
        grown = {key for key in after if key[1] == "PX Deq: reap credit" and after[key] > before.get(key, 0)}
        assert not {key for key in grown if key[0] in none}


def test_sessions_write_what_their_groups_write(played: Played) -> None:
    """A session that executes a writing statement shows the writes, as its group does."""
    played.to(120)
    workload = played.source.simulation.workload
    writing = {
        (server.inst_id, server.sid)
        for one in workload.executions.values()
        if one.cursor.writes and one.mb > 20 * max(1, len(one.servers))
        for server in (one.servers or [one.session])
    }
    infos = {(row.inst_id, row.sid): row for row in played.rows(SessionInfo)}
    for session in writing:
        assert infos[session].large_write_megabytes > 0
        assert infos[session].large_write_megabytes == pytest.approx(0.3 * infos[session].large_read_megabytes, abs=1)


def test_a_plan_scans_what_the_text_names_and_begins_with_its_verb(played: Played) -> None:
    played.to(30)
    cursors = played.source.simulation.library.cursors.values()
    assert cursors
    for cursor in cursors:
        lines = cursor.lines()
        scanned = [line.object_name for line in lines if line.operation == "TABLE ACCESS"]
        assert scanned
        assert all(name is not None and name.lower() in cursor.text.lower() for name in scanned), cursor.text
        assert lines[0].operation.split()[0].lower() in {cursor.text.split()[0].lower(), "select"}


def test_no_two_polls_are_alike(played: Played) -> None:
    """In every database something changes within a second: at least its sessions' waits and its counters."""
    seen = []
    for second in (30.0, 31.0, 32.0):
        played.to(second)
        seen.append((played.rows(Session), played.rows(SystemEvent)))
    assert seen[0] != seen[1] != seen[2]


class _Calls(NamedTuple):
    sql_id: str
    executions: int
    cpu_time: int
    elapsed_time: int
    buffer_gets: int
    disk_reads: int


def test_short_calls_are_counted_in_their_cursors(play: Play) -> None:
    """Sessions of a pool execute its statements all the time, so each of its cursors has been executed."""

    def served(played: Played) -> tuple[list[_Calls], float]:
        pool = next(pool for pool in played.source.simulation.machines[0].pools if pool.spec.group == "INTERACTIVE")
        own = {cursor.sql_id for cursor in pool.cursors}
        return [row for row in played.view("V$SQL", _Calls) if row.sql_id in own], pool.cpu

    played = play("mixed").to(60)
    before, cpu_before = served(played)
    after, cpu = served(played.to(120))
    assert len(after) == len(before) > 1
    for was, row in zip(before, after, strict=True):
        assert row.executions > was.executions > 0
        assert row.elapsed_time >= row.cpu_time > was.cpu_time
        assert row.buffer_gets >= row.disk_reads > 0
    assert sum(row.cpu_time for row in after) == pytest.approx(cpu * 1e6, rel=1e-6), "it is what the group has used"
    assert cpu > cpu_before
