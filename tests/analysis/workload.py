"""A busy database as records: the size the speed of analysis is measured on."""

from __future__ import annotations

from presman.rows.instance_rows import EventHistogram, SystemEvent
from presman.rows.session_rows import PxProcessSysstat, PxSession, Session, SessionInfo
from presman.rows.snapshot import Snapshot
from tests.analysis.make import active_plan, directive, group, instance, queued_session, row, snapshot


def busy(
    number: int = 1, groups: int = 12, sessions: int = 500, servers: int = 128, queued: int = 20, events: int = 40
) -> Snapshot:
    """The `number`-th snapshot of one busy instance, two seconds after the one before."""
    names = [f"GROUP_{i:02d}" for i in range(groups)]
    rows = [instance(), active_plan(target=256, active=servers)]
    rows += [directive("DAY", name, 100 // groups, parallel_server_limit=50) for name in names]
    rows += [
        group(
            name,
            consumed_cpu_time=1500 * number,
            cpu_wait_time=300 * number,
            current_pq_servers_active=servers // groups,
        )
        for name in names
    ]
    for sid in range(sessions - queued):
        rows.append(
            row(
                Session,
                sid=sid,
                serial=sid + 7,
                username="APP",
                status="ACTIVE",
                resource_consumer_group=names[sid % groups],
                sql_id=f"sql{sid % 50}",
                sql_child_number=0,
                event="cell smart table scan",
                state="WAITING",
                wait_time_micro=900,
            )
        )
    rows += [queued_session(sid, names[sid % groups], sid % 97) for sid in range(sessions - queued, sessions)]
    for sid in range(sessions):
        rows.append(
            row(
                SessionInfo,
                sid=sid,
                current_consumer_group=names[sid % groups],
                mapped_consumer_group=names[sid % groups],
                state="RUNNING",
                consumed_cpu_time=20 * number * (sid % 9),
                cpu_wait_time=3 * number,
                dop=16,
            )
        )
    for server in range(servers):
        coordinator = 300 + server // 16
        rows.append(
            row(
                PxSession,
                sid=server,
                serial=server + 7,
                qcsid=coordinator,
                qcserial=coordinator + 7,
                qcinst_id=1,
                server_group=1,
                server_set=1 + server // 8 % 2,
                degree=8,
                req_degree=16,
            )
        )
    rows.append(row(PxProcessSysstat, statistic="Servers In Use", value=servers))
    for event in range(events):
        rows.append(
            row(
                SystemEvent,
                event=f"event {event}",
                wait_class="Other",
                total_waits=90 * number,
                time_waited_micro=5000 * number,
            )
        )
        rows += [
            row(EventHistogram, event=f"event {event}", wait_time_micro=2**bound, wait_count=bound * number)
            for bound in range(20)
        ]
    return snapshot(*rows, after=2.0 * number, number=number)
