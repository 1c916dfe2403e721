"""Containers side by side, and the statements behind CPU waits."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.assemble import analyse
from presman.analysis.facts.cdb_plan import allocations
from presman.analysis.facts.facts import Facts
from presman.analysis.groups.container_io import io_limited
from presman.analysis.groups.containers import pdbs
from presman.analysis.groups.verdicts import explain
from presman.analysis.parallel.server_pools import _own_target
from presman.analysis.readings.container_readings import IoVerdict, PdbReading
from presman.analysis.readings.group_readings import LIMITED, Verdict
from presman.analysis.session_list import cpu_waiters
from presman.base.release import Release
from presman.figures.group_figures import verdict_text
from presman.recording.codec.shapes import shape_of
from presman.rows.group_rows import (
    CdbPlanDirective,
    ConsumerGroup,
    ContainerPlanDirective,
    GroupMetric,
    RsrcPlanHistory,
)
from presman.rows.instance_rows import Database, Parameter, Pdb, PdbCpuExhausted, PdbMetric, RsrcPdb
from presman.rows.session_rows import Session, SessionCount, SessionInfo
from presman.rows.snapshot import Section
from tests.analysis.make import NOON, active_plan, instance, row, snapshot


def containers(*instances: int) -> list[Any]:
    rows: list[Any] = [row(Database, cdb="YES")]
    for con_id, name in ((3, "SALES"), (4, "HR"), (5, "CLOSED")):
        rows.append(row(Pdb, con_id=con_id, name=name, open_mode="MOUNTED" if name == "CLOSED" else "READ WRITE"))
    rows.append(row(CdbPlanDirective, plan="CDB", pluggable_database="SALES", shares=3, parallel_server_limit=50))
    rows.append(row(CdbPlanDirective, plan="CDB", pluggable_database="HR", shares=1, utilization_limit=50))
    for inst_id in instances:
        rows += [instance(inst_id), active_plan("CDB", inst_id=inst_id, con_id=1)]
        rows.append(row(GroupMetric, inst_id=inst_id, con_id=1, consumer_group_name="X", num_cpus=16))
        rows.append(row(Parameter, inst_id=inst_id, name="parallel_servers_target", value="128"))
        rows.append(row(Parameter, inst_id=inst_id, name="cpu_count", value="16", con_id=1))
    return rows


def used(inst_id: int = 1, scale: int = 1, **cpus: tuple[float, float]) -> list[RsrcPdb]:
    ids = {"SALES": 3, "HR": 4}
    return [
        row(RsrcPdb, inst_id=inst_id, con_id=ids[name], pdb_name=name, sga_bytes=4 << 30,
            consumed_cpu_time=round(2000 * cpu * scale), cpu_wait_time=round(2000 * wait * scale))
        for name, (cpu, wait) in cpus.items()
    ]  # fmt: skip


def compare(before: list[Any], after: list[Any]) -> dict[tuple[int, str], PdbReading]:
    old, new = snapshot(*before), snapshot(*after, after=2.0, number=2)
    return {(each.inst_id, each.name): each for each in pdbs(analyse(old, new), old, new)}


def test_cpu_shares_limits_and_verdicts_by_hand() -> None:
    fixed = containers(1)
    busy = {"SALES": (12.0, 5.0), "HR": (3.9, 2.0)}
    found = compare([*fixed, *used(scale=0, **busy)], [*fixed, *used(**busy)])
    sales, hr = found[0, "SALES"], found[0, "HR"]
    assert set(found) == {(0, "SALES"), (0, "HR")}, "closed containers take no part"
    assert (sales.used, sales.waiting, sales.shares) == (12.0, 5.0, 3)
    assert (sales.share, sales.guaranteed, sales.entitled) == pytest.approx((0.75, 12.0, 0.75 * 15.9))
    assert (hr.share, hr.limit, hr.entitled) == pytest.approx((0.25, 8.0, 0.25 * 15.9)), (
        "15.9 of 16 CPUs were handed out"
    )
    assert (sales.verdict, hr.verdict) == (Verdict.CONTENDED, Verdict.CONTENDED)
    assert (sales.servers_limit, hr.servers_limit) == (64, None)
    assert sales.sga_bytes == 4 << 30
    assert (sales.all_used, hr.all_used) == (pytest.approx(15.9), pytest.approx(15.9))


def test_a_container_at_its_limit_while_cpus_are_idle() -> None:
    fixed = containers(1)
    busy = {"SALES": (1.0, 0.0), "HR": (8.0, 6.0)}
    found = compare([*fixed, *used(scale=0, **busy)], [*fixed, *used(**busy)])
    assert found[0, "HR"].verdict is Verdict.CAPPED
    assert found[0, "SALES"].verdict is Verdict.NOT_THROTTLED


def test_cpu_count_of_a_container_limits_it_and_io_limits_are_its_own_or_the_roots() -> None:
    fixed = [
        *containers(1),
        row(Parameter, name="cpu_count", value="4", con_id=3),
        row(Parameter, name="max_iops", value="5000", con_id=3),
        row(Parameter, name="max_iops", value="0", con_id=1),
        row(Parameter, name="max_mbps", value="200", con_id=1),
        row(PdbMetric, con_id=3, avg_io_throttle=2.5, parallel_servers_limit=40),
    ]
    found = compare([*fixed, *used(scale=0, SALES=(1.0, 0.0))], [*fixed, *used(SALES=(1.0, 0.0))])
    sales, hr = found[0, "SALES"], found[0, "HR"]
    assert sales.limit == 4.0
    assert (sales.iops_limit, sales.mb_limit, sales.io_throttle_ms, sales.servers_limit) == (5000, 200, 2.5, 40)
    assert (hr.iops_limit, hr.mb_limit, hr.io_throttle_ms) == (None, 200, None)
    assert hr.used is None
    assert hr.verdict is Verdict.UNKNOWN


def test_instances_are_summed_and_kept_apart() -> None:
    fixed = containers(1, 2)
    one, two = {"SALES": (4.0, 0.0), "HR": (1.0, 0.0)}, {"SALES": (6.0, 1.0), "HR": (2.0, 0.0)}
    before = [*fixed, *used(1, 0, **one), *used(2, 0, **two)]
    found = compare(before, [*fixed, *used(1, **one), *used(2, **two)])
    assert (found[0, "SALES"].used, found[1, "SALES"].used, found[2, "SALES"].used) == (10.0, 4.0, 6.0)
    assert (found[0, "SALES"].capacity, found[0, "SALES"].sga_bytes) == (32.0, 8 << 30)
    assert found[0, "HR"].limit == 16.0


@pytest.mark.parametrize(
    ("absent", "mb"),
    [({"io_service_time"}, 10.0), ({name for name in RsrcPdb._fields if name.startswith(("small_", "large_"))}, None)],
    ids=["a column of no I/O", "all of I/O"],
)
def test_io_is_not_known_where_no_column_of_it_is_there(absent: set[str], mb: float | None) -> None:
    fixed, seen = containers(1), []
    for after, megabytes in ((0.0, 0), (2.0, 20)):
        rows = [each._replace(large_read_megabytes=megabytes) for each in used(SALES=(1.0, 0.0))]
        plain = snapshot(*fixed, after=after, number=1 + bool(after))
        section = Section(tuple(rows), plain.at, absent=frozenset(absent))
        seen.append(snapshot(*fixed, after=after, sections={**plain.sections, RsrcPdb: section}))
    (sales,) = [each for each in pdbs(analyse(*seen), *seen) if each.name == "SALES"]
    assert (sales.io.large_read_mb if sales.io else None) == mb


@pytest.mark.parametrize(
    ("con_id", "survives"), [(1, False), (3, True)], ids=["the CDB plan changes", "a container's own plan changes"]
)
def test_only_a_change_of_the_cdb_plan_ends_the_deltas(con_id: int, survives: bool) -> None:
    fixed = containers(1)
    opened: dict[str, Any] = {"con_id": con_id, "name": "P", "start_time": NOON}
    before = [*fixed, row(RsrcPlanHistory, sequence=1, **opened), *used(SALES=(1.0, 0.0))]
    after = [*fixed, row(RsrcPlanHistory, sequence=2, **opened), *used(SALES=(3.0, 0.0))]
    assert compare(before, after)[0, "SALES"].used == (2.0 if survives else None)


def test_a_recording_without_instances_in_v_pdbs_shows_its_containers_on_all_of_them() -> None:
    """Older recordings lack INST_ID: such rows have 0 and belong to the instance connected to."""
    assert shape_of("Pdb con_id name open_mode").lacking == {"inst_id"}
    fixed = [each._replace(inst_id=0) if isinstance(each, Pdb) else each for each in containers(1, 2)]
    busy = {"SALES": (4.0, 0.0), "HR": (1.0, 0.0)}
    before = [*fixed, *used(1, 0, **busy), *used(2, 0, **busy)]
    found = compare(before, [*fixed, *used(1, **busy), *used(2, **busy)])
    assert set(found) == {(inst_id, name) for inst_id in (0, 1, 2) for name in ("SALES", "HR")}
    assert (found[0, "SALES"].used, found[0, "SALES"].capacity) == (8.0, 32.0)


def test_a_container_that_is_idle_on_one_instance_has_what_it_is_due_on_the_other() -> None:
    fixed = containers(1, 2)
    busy, idle = {"SALES": (12.0, 5.0), "HR": (4.0, 0.0)}, {"SALES": (0.0, 0.0), "HR": (0.0, 0.0)}
    before = [*fixed, *used(1, 0, **busy), *used(2, 0, **idle)]
    found = compare(before, [*fixed, *used(1, **busy), *used(2, **idle)])
    assert (found[2, "SALES"].entitled, found[0, "SALES"].entitled) == (None, pytest.approx(12.0))


def test_counters_that_went_back_or_an_instance_that_restarted_give_no_rate() -> None:
    fixed = containers(1)
    back = compare([*fixed, *used(SALES=(5.0, 0.0))], [*fixed, *used(SALES=(1.0, 0.0))])
    assert back[0, "SALES"].used is None
    restarted = [instance(startup_time=NOON) if isinstance(each, type(instance())) else each for each in fixed]
    found = compare([*fixed, *used(SALES=(1.0, 0.0))], [*restarted, *used(SALES=(5.0, 0.0))])
    assert found[0, "SALES"].used is None


def test_the_groups_view_is_never_summed_over_containers() -> None:
    fixed = containers(1)
    groups = [row(ConsumerGroup, con_id=3, name="WEB", consumed_cpu_time=0)]
    later = [row(ConsumerGroup, con_id=3, name="WEB", consumed_cpu_time=9000)]
    found = compare([*fixed, *groups], [*fixed, *later])
    assert found[0, "SALES"].used is None


def test_without_containers_there_is_no_row() -> None:
    rows = [instance(), active_plan(), row(Database, cdb="NO")]
    assert compare(rows, rows) == {}


def test_statements_behind_cpu_quantum_are_grouped_by_sql_id() -> None:
    def session(sid: int, sql_id: str, event: str, group: str = "WEB", waited: int = 1_000_000) -> Session:
        return row(Session, sid=sid, sql_id=sql_id, event=event, state="WAITING", wait_time_micro=waited,
                   resource_consumer_group=group, username=f"U{sid}", status="ACTIVE")  # fmt: skip

    now = snapshot(
        instance(),
        session(1, "aaa", "resmgr:cpu quantum", waited=9_000_000),
        session(2, "aaa", "resmgr: cpu quantum"),
        session(3, "aaa", "db file sequential read"),
        session(4, "bbb", "db file sequential read"),
        session(5, "ccc", "resmgr:cpu quantum", group="BATCH")._replace(state=""),  # a listing without STATE
        row(SessionInfo, sid=5, current_consumer_group="BATCH", state="WAITING FOR CPU"),
        session(8, "ddd", "resmgr:cpu quantum")._replace(state="WAITED SHORT TIME"),
        session(6, "", "resmgr:cpu quantum", group="LOGON"),
        session(7, "", "SQL*Net message from client", group="LOGON"),
    )
    first, second, third = cpu_waiters(analyse(None, now))
    assert (first.sql_id, first.held, first.sessions, first.longest, first.users) == (
        "aaa",
        2,
        3,
        9.0,
        ("U1", "U2", "U3"),
    )
    assert (second.sql_id, second.group, second.held) == ("ccc", "BATCH", 1)
    assert (third.sql_id, third.held, third.sessions) == ("", 1, 1), "a session without a statement shares none"


def test_io_limits_are_judged_on_each_instance_and_exhaustion_is_the_metrics() -> None:
    fixed = [*containers(1, 2), row(Parameter, con_id=3, name="max_iops", value="100")]
    fixed.append(row(Parameter, inst_id=2, con_id=3, name="max_iops", value="100"))
    fixed.append(row(Parameter, inst_id=1, con_id=3, name="max_mbps", value="100"))
    fixed += [
        row(PdbMetric, inst_id=inst_id, con_id=3, avg_io_throttle=held, parallel_servers_limit=20 * inst_id)
        for inst_id, held in ((1, 0.0), (2, 7.5))
    ]
    fixed += [row(PdbCpuExhausted, inst_id=inst_id, con_id=3, cpu_exhausted=40.0 * inst_id) for inst_id in (1, 2)]
    before = [row(RsrcPdb, inst_id=inst_id, con_id=3, pdb_name="SALES") for inst_id in (1, 2)]
    after = [each._replace(small_read_requests=190 if each.inst_id == 2 else 40) for each in before]
    found = compare([*fixed, *before], [*fixed, *after])
    assert [found[inst_id, "SALES"].io_verdict for inst_id in (0, 1, 2)] == [
        IoVerdict.THROTTLED,
        IoVerdict.UNDER,
        IoVerdict.THROTTLED,
    ]
    assert found[1, "HR"].io_verdict is IoVerdict.FREE
    assert [(row.inst_id, row.name) for row in io_limited(tuple(found.values()))] == [(1, "SALES"), (2, "SALES")]
    assert [found[inst_id, "SALES"].cpu_exhausted for inst_id in (0, 1, 2)] == [80.0, 40.0, 80.0]
    assert found[0, "HR"].cpu_exhausted is None
    assert [found[inst_id, "SALES"].io_throttle_ms for inst_id in (0, 1, 2)] == [7.5, 0.0, 7.5]
    assert [found[inst_id, "SALES"].held_by for inst_id in (0, 1, 2)] == ["MAX_IOPS", "", "MAX_IOPS"]
    assert [found[inst_id, "SALES"].servers_limit for inst_id in (0, 1, 2)] == [40, 20, 40]


def test_only_pluggable_databases_are_limited_not_root_or_seed() -> None:
    fixed = [*containers(1), row(Parameter, con_id=1, name="max_mbps", value="200")]
    rows = [row(RsrcPdb, con_id=con_id, pdb_name=name) for con_id, name in ((1, "R"), (2, "SEED"), (3, "SALES"))]
    found = analyse(snapshot(*fixed, *rows), snapshot(*fixed, *rows, after=2.0, number=2)).io_limited
    assert [(each.con_id, each.name, each.mb_limit) for each in found] == [(3, "SALES", 200)]


def groups_of_hr(used: float, waiting: float, scale: int) -> list[Any]:
    """Rows of group PAYROLL in HR, held to 36 percent of HR's 50."""
    own: dict[str, Any] = {"con_id": 4, "plan": "HRP", "type": "CONSUMER_GROUP"}
    rows: list[Any] = [
        row(ContainerPlanDirective, group_or_subplan="PAYROLL", mgmt_p1=60, utilization_limit=36, **own),
        row(ContainerPlanDirective, group_or_subplan="OTHER_GROUPS", mgmt_p1=40, **own),
    ]
    rows.append(active_plan("HRP", con_id=4))
    cpus = {"consumed_cpu_time": round(2000 * used * scale), "cpu_wait_time": round(2000 * waiting * scale)}
    return [
        *rows,
        row(ConsumerGroup, con_id=4, name="PAYROLL", **cpus),
        row(ConsumerGroup, con_id=4, name="OTHER_GROUPS"),
    ]


@pytest.mark.parametrize(
    ("hr", "payroll", "reason", "state"),
    [
        # HR may use 50 % of 16 = 8.0 CPUs, PAYROLL 36 % of that: 2.88.
        (
            *((2.88, 2.4), (2.88, 2.4), "gets 2.9 of 16 CPUs; PAYROLL (HR) is at its limit, 2.9 of 2.9 CPUs, even if"),
            "▬ PAYROLL at its limit",
        ),
        ((7.9, 2.4), (2.0, 0.0), "its limit of 8.0 (50 % of 16) caps it", "▬ at its limit"),
        (
            *((7.3, 2.4), (2.0, 0.0), "near its limit of 8.0 (50 % of 16); whether that throttles it is not known"),
            "▬ near its limit",
        ),
    ],
    ids=["a group's own limit", "its own limit", "neither is sure"],
)
def test_the_limit_that_holds_a_container_is_named(
    hr: tuple[float, float], payroll: tuple[float, float], reason: str, state: str
) -> None:
    fixed, busy = containers(1), {"SALES": (1.0, 0.0), "HR": hr}
    before = [*fixed, *groups_of_hr(*payroll, 0), *used(scale=0, **busy)]
    found = compare(before, [*fixed, *groups_of_hr(*payroll, 1), *used(**busy)])[0, "HR"]
    assert found.verdict in LIMITED
    assert reason in explain(found)
    assert verdict_text(found) == state
    several = replace(found, limited_by="each of PAYROLL (HR), ESS (HR)", verdict=Verdict.CAPPED)
    assert verdict_text(several) == "▬ its groups at their limits"


@pytest.mark.parametrize(
    ("percent", "cpu_count", "running", "limit", "by"),
    [
        (None, None, None, None, ""),
        (50, None, None, 0.5, "UTILIZATION_LIMIT"),
        (50, "4", None, 0.25, "CPU_COUNT"),  # 4 of 16
        (20, "4", None, 0.2, "UTILIZATION_LIMIT"),
        (50, "4", 2.0, 0.125, "RUNNING_SESSIONS_LIMIT"),  # 2 of 16
        (50, "4", 12.0, 0.25, "CPU_COUNT"),
        (25, "4", 3.9, 3.9 / 16, "UTILIZATION_LIMIT"),  # 24.4 % is a quarter as a view rounds it
        (None, "16", 16.0, None, ""),  # all of them limit nothing
        (100, None, 0.0, None, ""),
        (None, None, 0.8, 0.05, "RUNNING_SESSIONS_LIMIT"),
        (None, "1", None, 0.0625, "CPU_COUNT"),
    ],
)
def test_the_tightest_limit_holds_and_says_which_it_is(
    percent: int | None, cpu_count: str | None, running: float | None, limit: float | None, by: str
) -> None:
    rows = [row(CdbPlanDirective, plan="CDB", pluggable_database="SALES", shares=1, utilization_limit=percent)]
    settings = [] if cpu_count is None else [row(Parameter, name="cpu_count", value=cpu_count, con_id=3)]
    metrics = [
        row(PdbMetric, inst_id=inst, con_id=3, running_sessions_limit=each) for inst, each in ((1, running), (2, 1.0))
    ]
    fixed = [each for each in containers(1) if not isinstance(each, CdbPlanDirective)]
    plans = Facts.of(None, snapshot(*fixed, *rows, *settings, *metrics)).plans
    given = allocations(plans, 1, 16.0)[3]
    assert (given.limit, given.limited_by) == (pytest.approx(limit), by)


def test_sessions_and_active_sessions_of_a_container_are_counted() -> None:
    fixed = containers(1, 2)
    counts = [
        row(SessionCount, inst_id=inst_id, con_id=con_id, resource_consumer_group=name, status=status, sessions=number)
        for inst_id, con_id, name, status, number in (
            (1, 3, "WEB", "ACTIVE", 4), (1, 3, "WEB", "INACTIVE", 20), (1, 3, "ETL", "ACTIVE", 1),
            (1, 4, "WEB", "ACTIVE", 7), (2, 3, "WEB", "KILLED", 2),
        )
    ]  # fmt: skip
    found = compare(fixed, [*fixed, *counts, *used(SALES=(1.0, 0.0)), *used(2, SALES=(1.0, 0.0))])
    sessions = {
        inst_id: (found[inst_id, "SALES"].sessions, found[inst_id, "SALES"].active_sessions) for inst_id in (0, 1, 2)
    }
    assert sessions == {0: (27, 5), 1: (25, 5), 2: (2, 0)}


@pytest.mark.parametrize(
    ("settings", "target"),
    [
        ({"sga_target": "1", "cpu_count": "4", "parallel_threads_per_cpu": "2"}, 64),  # 4 CPUs x 2 x 4 users x 2
        ({"sga_target": "0", "memory_target": "1", "cpu_count": "4", "parallel_threads_per_cpu": "1"}, 32),
        ({"sga_target": "0", "pga_aggregate_target": "1", "cpu_count": "4", "parallel_threads_per_cpu": "1"}, 16),
        ({"sga_target": "0", "cpu_count": "4", "parallel_threads_per_cpu": "1"}, 8),
        ({"cpu_count": "4", "parallel_threads_per_cpu": "1"}, None),
        ({"sga_target": "1", "cpu_count": "4"}, None),
        ({"sga_target": "1", "cpu_count": "4", "parallel_threads_per_cpu": "1", "parallel_servers_target": "5"}, 5),
    ],
)
def test_a_containers_own_target_is_reckoned_as_oracle_does_where_none_is_set(
    settings: dict[str, str], target: int | None
) -> None:
    rows = [
        row(Parameter, con_id=3, name=name, value=value) for name, value in settings.items() if name != "sga_target"
    ]
    rows += [
        row(Parameter, name=name, value=value) for name, value in settings.items() if name != "parallel_servers_target"
    ]
    base = [each for each in containers(1) if not isinstance(each, Parameter)]
    found = _own_target(Facts.of(None, snapshot(*base, *rows, release=Release(19))), 1, 3)
    assert found == target
