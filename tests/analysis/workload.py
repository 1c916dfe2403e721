"""A busy database as records: the size the speed of analysis is measured on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from presman.rows.instance_rows import EventHistogram, SystemEvent
from presman.rows.session_rows import PxProcessSysstat, PxSession, Session, SessionInfo
from presman.rows.snapshot import Snapshot
from tests.analysis.make import active_plan, directive, group, instance, queued_session, row, snapshot


def busy(
    number: int = 1, groups: int = 12, sessions: int = 500, servers: int = 128, queued: int = 20, events: int = 40
) -> Snapshot:
    """The `number`-th snapshot of one busy instance, two seconds after the one before."""
    names = [f"GROUP_{i:02d}" for i in range(groups)]
    rows = [
        instance(),
        active_plan(target=256, active=servers),
        *(directive("DAY", name, 100 // groups, parallel_server_limit=50) for name in names),
        *_groups(names, servers // groups, number),
        *_sessions(names, sessions - queued),
        *(queued_session(sid, names[sid % groups], sid % 97) for sid in range(sessions - queued, sessions)),
        *_infos(names, sessions, number),
        *_servers(servers),
        row(PxProcessSysstat, statistic="Servers In Use", value=servers),
        *_events(events, number),
    ]
    return snapshot(*rows, after=2.0 * number, number=number)


def _groups(names: Sequence[str], servers: int, number: int) -> Iterator[Any]:
    counted = {"consumed_cpu_time": 1500 * number, "cpu_wait_time": 300 * number}
    for name in names:
        yield group(name, **counted, current_pq_servers_active=servers)


def _sessions(names: Sequence[str], many: int) -> Iterator[Any]:
    for sid in range(many):
        yield row(
            Session,
            sid=sid,
            serial=sid + 7,
            username="APP",
            status="ACTIVE",
            resource_consumer_group=names[sid % len(names)],
            sql_id=f"sql{sid % 50}",
            sql_child_number=0,
            event="cell smart table scan",
            state="WAITING",
            wait_time_micro=900,
        )


def _infos(names: Sequence[str], many: int, number: int) -> Iterator[Any]:
    for sid in range(many):
        yield row(
            SessionInfo,
            sid=sid,
            current_consumer_group=names[sid % len(names)],
            mapped_consumer_group=names[sid % len(names)],
            state="RUNNING",
            consumed_cpu_time=20 * number * (sid % 9),
            cpu_wait_time=3 * number,
            dop=16,
        )


def _servers(many: int) -> Iterator[Any]:
    """Yield servers in statements of sixteen, each of two sets of eight."""
    for server in range(many):
        coordinator = 300 + server // 16
        yield row(
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


def _events(many: int, number: int) -> Iterator[Any]:
    for event in range(many):
        name, waited = f"event {event}", {"total_waits": 90 * number, "time_waited_micro": 5000 * number}
        yield row(SystemEvent, event=name, wait_class="Other", **waited)
        for bound in range(20):
            yield row(EventHistogram, event=name, wait_time_micro=2**bound, wait_count=bound * number)
