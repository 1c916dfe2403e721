"""Readings made by hand: one instance, two instances, hostile text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from msgspec.structs import replace

from presman.analysis.readings.group_readings import GroupReading, IoRates, Verdict
from presman.analysis.readings.reading import Header, InstanceReading, Reading, ServerPool, UnansweredQuery
from presman.analysis.readings.session_readings import SessionReading
from presman.analysis.readings.statement_readings import (
    Cause,
    DopFacts,
    Downgrades,
    QueuedStatement,
    QueueHead,
    RunningStatement,
    Servers,
)
from presman.analysis.readings.wait_readings import Bucket, Histogram, WaitReading
from tests.analysis.make import counters

AT = datetime(2026, 3, 1, 22, 15, 30, 250_000, tzinfo=UTC)


def instance(inst_id: int = 1) -> InstanceReading:
    pool = ServerPool(inst_id, 48, 16, 48, 128, 320, 64)
    return InstanceReading(
        inst_id, f"ORCL{inst_id}", "db1", AT, "DAYTIME", "ON", "OFF", "FULL", 16.0, 16.0, 0.75, 14.2, pool, 3600.0
    )


def group(name: str, inst_id: int = 0, used: float | None = 2.5, con_id: int = 0, px_queued: int = 1) -> GroupReading:
    io = None if used is None else IoRates(1.0, 0.5, 90.25, 8.25, 100.0, 50.0, 95.0, 5.0, 1.75)
    return GroupReading(
        inst_id=inst_id,
        con_id=con_id,
        name=name,
        in_plan=True,
        used=used,
        waiting=None if used is None else 1.5,
        capacity=16.0,
        limit=8.0,
        share=0.25,
        guaranteed=4.0,
        entitled=None if used is None else 6.0,
        verdict=Verdict.UNKNOWN if used is None else Verdict.CONTENDED,
        active_sessions=7,
        execution_waiters=2,
        yields_per_s=None if used is None else 12.5,
        requests_per_s=None if used is None else 900.0,
        pool_queue_length=0,
        io=io,
        px_active=2,
        px_servers=48,
        px_queued=px_queued,
        servers_limit=64,
        servers_limit_percent=50,
        head_waited=221.0,
        counters=counters(
            pqs_queued=10,
            pqs_completed=20,
            pq_servers_used=640,
            pq_active_time=90_000,
            pq_queued_time=30_000,
            pq_queue_time_outs=1,
        ),
    )


def queued(sql_text: str = "select /*+ parallel */ * from t", program: str = "JDBC Thin Client") -> QueuedStatement:
    return QueuedStatement(
        position=1,
        inst_id=1,
        sid=526,
        serial=60805,
        group="BATCH",
        user="RPT",
        program=program,
        module="",
        service="batch",
        machine="app1",
        sql_id="7xq3h0000kd0",
        child=0,
        waited=221.5,
        timeout_left=3379.0,
        timeout_action="CANCEL",
        requested=16,
        dop=DopFacts(16, "degree limit", queuing_reason="", facts=MappingProxyType({"dop": "16"})),
        wants=Servers(16, 32),
        event="resmgr:pq queued",
        sql_text=sql_text,
    )


def running() -> RunningStatement:
    return RunningStatement(
        inst_id=1, sid=525, serial=17778, group="ETL", user="ETL", program="sqlplus", module="", service="etl",
        machine="app2", sql_id="4dz3dapm4uy8q", child=0, servers=48, sets=2, degree=24, requested=32, downgraded=25.0,
        elapsed=122.0, idle=None, status="ACTIVE", event="PX Deq: Execute Reply",
        servers_by_instance=MappingProxyType({1: 48}), dop=DopFacts(), sql_text="insert /*+ append */ into t",
    )  # fmt: skip


def session() -> SessionReading:
    return SessionReading(
        1, 0, 101, 5, "APP", "OLTP", "OLTP", "ACTIVE", "RUNNING", "on CPU", "", None, "abc", 0, 0.5, 0.25, 1.0, 10.0,
        3.0, "", 0, None, "", "JDBC", "", "app", "app1", AT,
    )  # fmt: skip


def reading(
    groups: Sequence[GroupReading] | None = None,
    *,
    instances: int = 1,
    number: int = 2,
    queue: Sequence[QueuedStatement] = (),
) -> Reading:
    """Return a reading; poll `number` is two seconds after the one before."""
    pool = ServerPool(0, 48, 16, 48, 128, 320, 64)
    header = Header(
        "ORCL", "19.22.0.0.0", "PRIMARY", False, "", tuple(instance(i + 1) for i in range(instances)), "DAYTIME", AT,
        "ON", "OFF", "FULL", 16.0, pool, 3600.0,
    )  # fmt: skip
    statements = tuple(queue) or (queued(),)
    head = QueueHead("BATCH", statements[0], Cause.GROUP, Servers(16, 32), 48, 64, 48, 128, 16, "BATCH is short by 16.")
    head = replace(head, one_queue=False)
    return Reading(
        target="demo:mixed",
        kind="simulator",
        at=AT + timedelta(seconds=2 * number),
        number=number,
        interval=None if number == 1 else 2.0,
        poll_seconds=0.006,
        round_trips=1,
        header=header,
        groups=tuple(groups) if groups is not None else (group("BATCH"), group("OLTP", used=0.1)),
        queue=statements,
        heads=(head,),
        running=(running(),),
        sessions=(session(),),
        waits=(WaitReading(1, "log file sync", "Commit", 0.5, 100.0, 1.25),),
        histograms=(Histogram(1, "log file sync", (Bucket(512, 10, 4), Bucket(1024, 3, None))),),
        downgrades=(Downgrades(1, "Parallel operations not downgraded", 100, 2),),
        unmanaged_servers=0,
        troubles=(UnansweredQuery("osstat", "GV$OSSTAT", "ORA-00942", "grant select on sys.gv_$osstat"),),
        notes=("a note",),
    )


def on_two_instances() -> Reading:
    apart = [group("BATCH", 1, 1.0), group("BATCH", 2, 2.0), group("OLTP", 1, 3.0), group("OLTP", 2, 4.0)]
    return reading([group("BATCH", used=3.0), group("OLTP", used=7.0), *apart], instances=2)


def with_groups(*names: str, number: int = 2) -> Reading:
    return replace(reading([group(name) for name in names]), number=number)
