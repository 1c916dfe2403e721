"""Hand-made readings: a small database at 3 a.m. with every state."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from presman.analysis.readings.group_readings import GroupReading, IoRates, Verdict
from presman.analysis.readings.reading import Evidence, Header, InstanceReading, Reading, ServerPool, UnansweredQuery
from presman.analysis.readings.session_readings import SessionReading
from presman.analysis.readings.statement_readings import (
    Cause,
    DopFacts,
    Downgrades,
    QueuedStatement,
    QueueHead,
    RunningStatement,
    Servers,
    Shortage,
    WantsSource,
)
from presman.analysis.readings.wait_readings import WaitReading
from presman.figures.drawing.lines import Line, plain
from tests.analysis.make import counters

AT = datetime(2026, 11, 20, 3, 12, 40, tzinfo=UTC)
SQL = "select /*+ parallel */ region, sum(amount) from sales s join times t on s.time_id = t.id group by region"


def group(name: str, used: float = 1.0, waiting: float = 0.0, **facts: object) -> GroupReading:
    base = GroupReading(
        inst_id=0, con_id=0, name=name, in_plan=True, used=used, waiting=waiting, capacity=24.0, limit=None,
        share=0.25, guaranteed=6.0, entitled=6.0, verdict=Verdict.NOT_THROTTLED, active_sessions=3,
        execution_waiters=1, yields_per_s=12.0, requests_per_s=4.0, pool_queue_length=0,
        io=IoRates(1.0, 0.5, 90.0, 3.5, 100, 50, 90, 4, 2.4), px_active=1, px_servers=16, px_queued=0,
        servers_limit=128, servers_limit_percent=50, head_waited=None,
        counters=counters(
            pqs_queued=40, pqs_completed=300, pq_servers_used=9600, pq_active_time=86_400_000, pq_queued_time=1_200_000,
            pq_queue_time_outs=2,
        ),
    )  # fmt: skip
    return base._replace(**facts)  # type: ignore[arg-type]


def groups() -> tuple[GroupReading, ...]:
    return (
        group("INTERACTIVE", 10.4, 6.8, entitled=10.4, verdict=Verdict.CONTENDED, px_servers=0, px_active=0),
        group("ETL", 0.6, 2.3, entitled=2.4, verdict=Verdict.STARVED, px_servers=64, px_queued=2, head_waited=41.0),
        group("BATCH", 2.9, 0.4, entitled=3.6, limit=12.0, px_servers=64, servers_limit=64, servers_limit_percent=25,
              px_queued=12, px_active=3, head_waited=221.0),
        group("REPORTS", 6.0, 1.1, limit=6.0, entitled=6.0, verdict=Verdict.CAPPED, px_servers=8),
        group("OTHER_GROUPS", 0.3, 0.1, px_servers=78, servers_limit=None, servers_limit_percent=None),
        group("SYS_GROUP", 0.0, 0.0, verdict=Verdict.IDLE, px_servers=0, px_active=0, in_plan=False, io=None),
    )  # fmt: skip


def queued(position: int = 1, name: str = "BATCH", **facts: object) -> QueuedStatement:
    base = QueuedStatement(
        position=position, inst_id=1, sid=500 + position, serial=7, group=name, user="RPT", program="JDBC Thin Client",
        module="", service="dwh", machine="app01", sql_id=f"7xq3h{position:03}jskd0", child=0,
        waited=228.0 - 7 * position, timeout_left=3379.0 + 7 * position, timeout_action="CANCEL", requested=None,
        dop=DopFacts(16, "degree limit", cpu_degree=24, io_degree=12), wants=Servers(32, 32, WantsSource.PLAN),
        event="resmgr:pq queued", sql_text=SQL,
    )  # fmt: skip
    return replace(base, **facts)  # type: ignore[arg-type]


def running(sid: int = 526, **facts: object) -> RunningStatement:
    base = RunningStatement(
        inst_id=1, sid=sid, serial=60805, group="BATCH", user="MARTIN", program="SQL Developer", module="SQL Developer",
        service="dwh", machine="pc-martin", sql_id=f"9md3ukh{sid}j58", child=0, servers=32, sets=2, degree=16,
        requested=16, downgraded=0.0, elapsed=460.0, idle=None, status="ACTIVE", event="PX Deq: Execute Reply",
        servers_by_instance={1: 32}, dop=DopFacts(16, "hint"), sql_text=SQL, session_sql_id=f"9md3ukh{sid}j58",
    )  # fmt: skip
    return replace(base, **facts)  # type: ignore[arg-type]


def session(sid: int, **facts: object) -> SessionReading:
    base = SessionReading(
        inst_id=1, con_id=0, sid=sid, serial=11, user="APP", group="INTERACTIVE", mapped_group="INTERACTIVE",
        status="ACTIVE", state="RUNNING", event="on CPU", wait_class="", waited=None, sql_id=f"g5s2c{sid:04}hgq1",
        child=0, used=0.8, waiting=0.1, io_mb=2.5, io_requests=40.0, last_call=12.0, px_role="", px_servers=0, dop=None,
        pq_status="", program="JDBC Thin Client", module="orders", service="oltp", machine="app01", logon=AT,
    )  # fmt: skip
    return base._replace(**facts)  # type: ignore[arg-type]


def sessions(count: int = 6) -> tuple[SessionReading, ...]:
    waits = ("resmgr:cpu quantum", "Scheduler", "WAITING FOR CPU")
    return tuple(
        session(100 + n, used=round(0.9 - 0.13 * (n % 7), 2),
                event=waits[0] if n % 3 == 0 else "on CPU" if n % 5 != 4 else "",
                held=n % 3 == 0, wait_class=waits[1] if n % 3 == 0 else "", waited=0.1 * n,
                state=waits[2] if n % 3 == 0 else "RUNNING",
                group="ETL" if n % 4 == 1 else "INTERACTIVE", status="INACTIVE" if n % 5 == 4 else "ACTIVE")
        for n in range(count)
    )  # fmt: skip


def instance(inst_id: int = 1) -> InstanceReading:
    pool = ServerPool(inst_id, 214, 42, 206, 256, 640, 300)
    return InstanceReading(inst_id, f"dw{inst_id}", f"host{inst_id}", AT - timedelta(days=41), "DAYTIME_PLAN", "ON",
                           "ON", "FULL", 24.0, 32.0, 0.71, 25.0, pool, 41 * 86_400.0)  # fmt: skip


def header() -> Header:
    one, since = instance(), AT - timedelta(hours=3)
    return Header("DWPROD", "19.22.0.0.0", "PRIMARY", False, "", (one,), "DAYTIME_PLAN", since, "ON", "ON", "FULL",
                  24.0, replace(one.servers, inst_id=0), 41 * 86_400.0, plan_starts={0: since})  # fmt: skip


WHY = (
    "wants 32 servers (DOP 16, two sets); BATCH holds 64 of 64 allowed (25 % of 256); 206 of the target's 256 are in "
    "use; short by 32 servers"
)


def busy(number: int = 1) -> Reading:
    """A database in trouble: two queues, a starved group, an idle holder, a downgrade, a missing grant."""
    waiting = [queued(n) for n in range(1, 13)]
    waiting += [queued(n, "ETL", sid=600 + n, sql_id=f"1c8z0{n:03}etl2m", waited=41.0 - 8 * n) for n in (1, 2)]
    held = (
        running(526, idle=1330.0, status="INACTIVE", event="SQL*Net message from client", elapsed=1864.0),
        running(144, user="ETL"),
        running(525, group="ETL", user="ETL", servers=64, degree=32, requested=64, downgraded=50.0, elapsed=122.0),
    )
    heads = (
        QueueHead("BATCH", waiting[0], Cause.GROUP, Servers(32, 32), 64, 64, 206, 256, 32, WHY,
                  shortages=(Shortage(32, group="BATCH"),), one_queue=False),
        QueueHead("ETL", waiting[12], Cause.SYSTEM, Servers(64, 64), 64, 128, 206, 256, 14,
                  "wants 64 servers (DOP 32, two sets); 206 of the target's 256 are in use; short by 14 servers",
                  shortages=(Shortage(14, everybody=True),), one_queue=False),
    )  # fmt: skip
    return Reading(
        target="DWPROD", kind="simulator", at=AT + timedelta(seconds=2 * (number - 1)), number=number, interval=2.0,
        poll_seconds=0.004, round_trips=1, header=header(), groups=groups(), queue=tuple(waiting), heads=heads,
        running=held, sessions=sessions(),
        waits=(
            WaitReading(1, "resmgr:pq queued", "Scheduler", 14.0, 0.5, 28_000.0),
            WaitReading(1, "resmgr:cpu quantum", "Scheduler", 8.4, 40.0, 210.0),
            WaitReading(1, "cell smart table scan", "User I/O", 6.1, 900.0, 6.7),
        ),
        histograms=(), downgrades=(Downgrades(1, "Parallel operations downgraded 25 to 50 pct", 7, 0),),
        unmanaged_servers=8,
        troubles=(UnansweredQuery("osstat", "GV$OSSTAT", "ORA-00942: table or view does not exist",
                          "grant select on GV_$OSSTAT to the monitoring user"),),
        basis=(
            Evidence("queue", ("GV$SESSION",), ""),
            Evidence("starved group", ("GV$RSRC_PLAN", "GV$RSRC_CONSUMER_GROUP"), ""),
            Evidence("downgrade", ("GV$PX_SESSION", "GV$SYSSTAT"), ""),
        ),
    )  # fmt: skip


def quiet() -> Reading:
    """Return the reading of an idle database."""
    calm = tuple(each._replace(used=0.1, waiting=0.0, px_servers=0, px_active=0, px_queued=0, head_waited=None,
                         verdict=Verdict.IDLE) for each in groups())  # fmt: skip
    pool = replace(header().servers, in_use=0, counted=0)
    return replace(busy(), header=replace(header(), servers=pool), groups=calm, queue=(), heads=(), running=(),
                   waits=(), troubles=(), sessions=(), unmanaged_servers=0)  # fmt: skip


def cluster() -> Reading:
    """The busy database on two instances."""
    rows: list[GroupReading] = list(groups())
    for inst_id in (1, 2):
        rows += [each._replace(inst_id=inst_id, capacity=12.0, used=(each.used or 0) / 2) for each in groups()]
    top = replace(header(), instances=(instance(1), instance(2)))
    return replace(busy(), header=top, groups=tuple(rows))


def sections(lines: list[Line]) -> dict[str, list[str]]:
    """Return the lines below each heading, without extra blanks."""
    found: dict[str, list[str]] = {"": []}
    own = found[""]
    for line in lines:
        if line and not plain(line).startswith(" "):
            own = found.setdefault(plain(line), [])
        elif line:
            own.append(" ".join(plain(line).split()))
    return found
