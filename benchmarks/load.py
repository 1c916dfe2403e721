"""Snapshots of a large, busy database, made by hand: 12 groups, any number of sessions and parallel servers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

from presman.base.release import Release
from presman.rows.group_rows import ConsumerGroup, Plan, PlanDirective, RsrcPlan, RsrcPlanHistory
from presman.rows.instance_rows import Database, Instance
from presman.rows.queries import RecordType, Scope
from presman.rows.session_rows import PxProcessSysstat, PxSession, Session, SessionInfo
from presman.rows.snapshot import Section, Snapshot

START = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)


def _filled(record: Any, **values: Any) -> Any:
    """A record with `values`; what is not given is what NULL becomes."""
    from presman.rows.queries import to_records

    (row,) = to_records(record, [tuple(values.get(name) for name in record._fields)])
    return row


def snapshot(number: int, *, groups: int = 12, sessions: int = 500, servers: int = 128) -> Snapshot:
    """Return poll `number` (two seconds apart): counters grow with it, servers work for statements of 16."""
    at = START + timedelta(seconds=2 * number)
    names = [f"GROUP_{index:02}" for index in range(groups)]
    per_session = [names[index % groups] for index in range(sessions)]
    section: dict[RecordType, tuple[Any, ...]] = {
        Instance: (_filled(Instance, inst_id=1, instance_name="load1", version="19.22.0.0.0", startup_time=START),),
        Database: (_filled(Database, name="LOAD", cdb="NO"),),
        RsrcPlan: (
            _filled(
                RsrcPlan,
                inst_id=1,
                name="BIG_PLAN",
                is_top_plan="TRUE",
                cpu_managed="ON",
                instance_caging="ON",
                parallel_servers_active=servers,
                parallel_servers_total=servers,
                parallel_execution_managed="FULL",
            ),
        ),
        RsrcPlanHistory: (_filled(RsrcPlanHistory, inst_id=1, sequence=1, name="BIG_PLAN", start_time=START),),
        Plan: (_filled(Plan, plan="BIG_PLAN", mgmt_method="EMPHASIS"),),
        PlanDirective: tuple(
            _filled(
                PlanDirective,
                plan="BIG_PLAN",
                group_or_subplan=name,
                type="CONSUMER_GROUP",
                mgmt_p1=100 // groups,
                parallel_server_limit=50,
            )
            for name in names
        ),
        ConsumerGroup: tuple(
            _filled(
                ConsumerGroup,
                inst_id=1,
                id=index,
                name=name,
                active_sessions=sessions // groups,
                consumed_cpu_time=number * 2000,
                cpu_wait_time=number * 300 * (index % 3),
                small_read_megabytes=number * index,
                small_read_requests=number * index * 50,
                current_pqs_queued=2,
                current_pq_servers_active=servers // groups,
            )
            for index, name in enumerate(names)
        ),
        PxProcessSysstat: (
            _filled(PxProcessSysstat, inst_id=1, statistic="Servers In Use", value=servers),
            _filled(PxProcessSysstat, inst_id=1, statistic="Servers Available", value=0),
        ),
        Session: tuple(_session(index, per_session[index], index % 20 == 1) for index in range(sessions)),
        SessionInfo: tuple(
            _filled(
                SessionInfo,
                inst_id=1,
                sid=index + 1,
                current_consumer_group=per_session[index],
                state="RUNNING" if index % 2 else "WAITING FOR CPU",
                consumed_cpu_time=number * index,
                cpu_wait_time=number * index // 3,
            )
            for index in range(sessions)
        ),
        PxSession: tuple(
            _filled(
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
            for index in range(servers)
        ),
    }
    sections = {record: Section(found, at=at) for record, found in section.items()}
    return Snapshot("load", "simulator", Release(19), Scope.CLUSTER, at, number, 1, 0.01, 0, MappingProxyType(sections))


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
    """Return polls of a simulated database, two of its seconds apart, the same ones in each run."""
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
