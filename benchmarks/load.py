"""Generated snapshots of a large, busy database with 12 groups and any number of sessions and parallel servers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

from presman.base.release import Release
from presman.rows.group_rows import ConsumerGroup, Plan, PlanDirective, RsrcPlan, RsrcPlanHistory
from presman.rows.instance_rows import Database, Instance
from presman.rows.queries import RecordType, Scope, to_records
from presman.rows.session_rows import PxProcessSysstat, PxSession, Session, SessionInfo
from presman.rows.snapshot import Section, Snapshot

START = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)

Rows = dict[RecordType, tuple[Any, ...]]


def _filled(record: Any, **values: Any) -> Any:
    """Return a record with `values`; other fields are as NULL would make them."""
    (row,) = to_records(record, [tuple(values.get(name) for name in record._fields)])
    return row


def snapshot(number: int, *, groups: int = 12, sessions: int = 500, servers: int = 128) -> Snapshot:
    """Return poll `number` (two seconds apart): counters grow with it, and each statement has 16 servers."""
    at = START + timedelta(seconds=2 * number)
    names = [f"GROUP_{index:02}" for index in range(groups)]
    found = _plan(names, servers) | _groups(number, names, sessions, servers) | _sessions(number, names, sessions)
    found[PxSession] = tuple(map(_server, range(servers)))
    sections = {record: Section(rows, at=at) for record, rows in found.items()}
    return Snapshot("load", "simulator", Release(19), Scope.CLUSTER, at, number, 1, 0.01, 0, MappingProxyType(sections))


def _plan(names: Sequence[str], servers: int) -> Rows:
    managed = {"cpu_managed": "ON", "instance_caging": "ON", "parallel_execution_managed": "FULL"}
    counted = {"parallel_servers_active": servers, "parallel_servers_total": servers}
    given = {"type": "CONSUMER_GROUP", "mgmt_p1": 100 // len(names), "parallel_server_limit": 50}
    return {
        Instance: (_filled(Instance, inst_id=1, instance_name="load1", version="19.22.0.0.0", startup_time=START),),
        Database: (_filled(Database, name="LOAD", cdb="NO"),),
        RsrcPlan: (_filled(RsrcPlan, inst_id=1, name="BIG_PLAN", is_top_plan="TRUE", **managed, **counted),),
        RsrcPlanHistory: (_filled(RsrcPlanHistory, inst_id=1, sequence=1, name="BIG_PLAN", start_time=START),),
        Plan: (_filled(Plan, plan="BIG_PLAN", mgmt_method="EMPHASIS"),),
        PlanDirective: tuple(_filled(PlanDirective, plan="BIG_PLAN", group_or_subplan=name, **given) for name in names),
    }


def _groups(number: int, names: Sequence[str], sessions: int, servers: int) -> Rows:
    return {
        ConsumerGroup: tuple(
            _filled(
                ConsumerGroup,
                inst_id=1,
                id=index,
                name=name,
                active_sessions=sessions // len(names),
                consumed_cpu_time=number * 2000,
                cpu_wait_time=number * 300 * (index % 3),
                small_read_megabytes=number * index,
                small_read_requests=number * index * 50,
                current_pqs_queued=2,
                current_pq_servers_active=servers // len(names),
            )
            for index, name in enumerate(names)
        ),
        PxProcessSysstat: (
            _filled(PxProcessSysstat, inst_id=1, statistic="Servers In Use", value=servers),
            _filled(PxProcessSysstat, inst_id=1, statistic="Servers Available", value=0),
        ),
    }


def _sessions(number: int, names: Sequence[str], sessions: int) -> Rows:
    groups = [names[index % len(names)] for index in range(sessions)]
    return {
        Session: tuple(_session(index, group, index % 20 == 1) for index, group in enumerate(groups)),
        SessionInfo: tuple(_managed(number, index, group) for index, group in enumerate(groups)),
    }


def _managed(number: int, index: int, group: str) -> Any:
    return _filled(
        SessionInfo,
        inst_id=1,
        sid=index + 1,
        current_consumer_group=group,
        state="RUNNING" if index % 2 else "WAITING FOR CPU",
        consumed_cpu_time=number * index,
        cpu_wait_time=number * index // 3,
    )


def _server(index: int) -> Any:
    return _filled(
        PxSession,
        inst_id=1,
        sid=1000 + index,
        serial=1,
        qcsid=index // 16 + 1,
        qcserial=1,
        qcinst_id=1,
        server_group=1,
        server_set=index % 2 + 1,
        server=index % 16,
        degree=8,
        req_degree=16,
    )


def _session(index: int, group: str, queued: bool) -> Any:
    return _filled(
        Session,
        inst_id=1,
        sid=index + 1,
        serial=1,
        username=f"USER_{index % 40}",
        status="ACTIVE" if index % 3 else "INACTIVE",
        resource_consumer_group=group,
        program="JDBC Thin Client",
        sql_id=f"{index:013}",
        sql_child_number=0,
        logon_time=START,
        event="resmgr:pq queued" if queued else "db file sequential read",
        wait_class="Scheduler" if queued else "User I/O",
        state="WAITING",
        wait_time_micro=1_000_000 * (index % 60),
    )


def simulated(scenario: str, polls: int = 40) -> list[Snapshot]:
    """Return polls of a simulated database, two simulated seconds apart, the same in each run."""
    from presman.polling.poller import Poller
    from presman.sources.simulator_source import SimulatorSource

    seconds = [0.0]
    poller = Poller(SimulatorSource(scenario, seed=1, clock=lambda: seconds[0], start=START), clock=lambda: seconds[0])
    poller.open()
    found = []
    for _ in range(polls):
        seconds[0] += 2.0
        found.append(poller.poll())
    poller.close()
    return found
