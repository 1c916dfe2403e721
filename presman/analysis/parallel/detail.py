"""Details of one session and its cursor, from the sections that a focus adds to a snapshot."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from presman.analysis.facts.facts import Facts
from presman.analysis.readings.session_readings import CursorCost, Detail, PlanStep, ServerWork, SessionFigure, SetSkew
from presman.analysis.readings.statement_readings import DopFacts
from presman.base.sums import grouped
from presman.rows.cursor_rows import CursorTotals, PlanLine
from presman.rows.queries import BYTES_READ, CPU, LOGICAL_READS
from presman.rows.session_rows import PxStatistic, SessionStatistic, StatisticName
from presman.rows.session_state import doing

_IN_OUT = {
    "PARALLEL_TO_SERIAL": "P->S",
    "PARALLEL_TO_PARALLEL": "P->P",
    "PARALLEL_FROM_SERIAL": "S->P",
    "SERIAL_TO_PARALLEL": "S->P",
    "PARALLEL_COMBINED_WITH_PARENT": "PCWP",
    "PARALLEL_COMBINED_WITH_CHILD": "PCWC",
    "SINGLE_COMBINED_WITH_PARENT": "SCWP",
    "SINGLE_COMBINED_WITH_CHILD": "SCWC",
    "SERIAL_TO_REMOTE": "R->S",
}
"""V$SQL_PLAN.OTHER_TAG as DBMS_XPLAN abbreviates it in the column IN-OUT; other values are shown unchanged."""

_TABLE_QUEUE = re.compile(r":(?:Q(\d+)(\d{3})|TQ(\d+)(\d{4}))", re.ASCII)
"""A table queue: the data flow tree, and the data flow operation in that tree."""

_MB = 2**20


def detail(facts: Facts) -> Detail | None:
    """Return the session details that the snapshot holds, None if it has no focus."""
    snapshot = facts.snapshot
    lines, totals = snapshot.rows(PlanLine), snapshot.rows(CursorTotals)
    statistics, servers = snapshot.rows(SessionStatistic), snapshot.rows(PxStatistic)
    if not (lines or totals or statistics or servers):
        return None
    cursor = next(iter(lines), None) or next(iter(totals), None)
    sid = statistics[0].sid if statistics else servers[0].qcsid if servers else 0
    inst_id = statistics[0].inst_id if statistics else cursor.inst_id if cursor else 0
    names = {row.statistic: row.name for row in snapshot.rows(StatisticName)}
    work = tuple(_servers(facts, inst_id, servers, names))
    return Detail(
        inst_id=inst_id,
        sid=sid,
        sql_id=cursor.sql_id if cursor else "",
        child=cursor.child_number if cursor else None,
        plan_hash=cursor.plan_hash_value if cursor else None,
        plan=tuple(plan_step(line) for line in sorted(lines, key=lambda line: line.id)),
        cost=cost(totals[0]) if totals else None,
        servers=work,
        skew=skew(work),
        statistics=tuple(_figures(facts, statistics, names)),
        dop=facts.cursors.dop_facts(inst_id, cursor.sql_id, cursor.child_number) if cursor else DopFacts(),
        operations=facts.sessions.operations.get((inst_id, sid, cursor.sql_id if cursor else ""), ()),
    )


def plan_step(line: PlanLine) -> PlanStep:
    """Return a line of the plan in the wording of DBMS_XPLAN."""
    return PlanStep(
        id=line.id,
        depth=line.depth,
        operation=" ".join(part for part in (line.operation, line.options) if part),
        name=line.object_name,
        queue=_queue(line.object_node),
        in_out=_IN_OUT.get(line.other_tag, line.other_tag),
        distribution=line.distribution,
        rows=line.cardinality,
        bytes=line.bytes,
        cost=line.cost,
        seconds=line.time,
        partitions=(line.partition_start, line.partition_stop),
        access=line.access_predicates,
        filter=line.filter_predicates,
    )


def _queue(node: str) -> str:
    """Return a table queue as DBMS_XPLAN does: ``:Q1000`` is Q1,00. Anything else (a database link) stays unchanged."""
    found = _TABLE_QUEUE.fullmatch(node)
    if found is None:
        return node
    tree, operation = (part for part in found.groups() if part)
    return f"Q{tree},{int(operation):02}"


def cost(row: CursorTotals) -> CursorCost:
    """Return the cost of a cursor per execution. A first execution that still runs counts as one."""
    number = max(row.executions, 1) if row.executions is not None and (row.executions or row.elapsed_time) else None
    eligible, read, sent = row.io_cell_offload_eligible_bytes or 0, row.physical_read_bytes, row.io_interconnect_bytes

    def mean(total: int | None, unit: float = 1.0) -> float | None:
        return None if total is None or number is None else total / unit / number

    return CursorCost(
        executions=row.executions,
        running=row.users_executing,
        elapsed=mean(row.elapsed_time, 1e6),
        cpu=mean(row.cpu_time, 1e6),
        io_wait=mean(row.user_io_wait_time, 1e6),
        servers=mean(row.px_servers_executions) if row.executions else None,
        rows=mean(row.rows_processed),
        megabytes=mean(read, _MB),
        offloaded=min(1.0, eligible / read) if read and eligible > 0 < read else None,
        saved=max(0.0, 1 - sent / eligible) if sent is not None and eligible > 0 else None,
        concurrency_wait=mean(row.concurrency_wait_time, 1e6),
        buffer_gets=mean(row.buffer_gets),
        disk_reads=mean(row.disk_reads),
        written=mean(row.physical_write_bytes, _MB),
    )


def _servers(facts: Facts, inst_id: int, rows: Iterable[PxStatistic], names: Mapping[int, str]) -> Iterable[ServerWork]:
    """Yield the servers of the coordinator, ordered by server set. Another instance may have the same SID."""
    working = [row for row in rows if row.degree is not None and row.qcinst_id in {inst_id, None}]
    # The coordinator has rows in V$PX_SESSTAT, too, without a degree: it is no server.
    earlier = (row for row in facts.deltas.before(PxStatistic) if row.degree)
    before = {(row.inst_id, row.sid, row.statistic): row.value for row in earlier}
    seconds = facts.deltas.interval(PxStatistic)
    by_server: dict[tuple[int, int, int, int], dict[str, int]] = defaultdict(dict)
    grown: dict[tuple[int, int], int | None] = {}
    for row in working:
        name = names.get(row.statistic, "")
        by_server[row.server_set or 0, row.server or 0, row.inst_id, row.sid][name] = row.value
        if name == CPU:
            old = before.get((row.inst_id, row.sid, row.statistic))
            grown[row.inst_id, row.sid] = row.value - old if old is not None and old <= row.value else None
    for (server_set, number, inst, sid), values in sorted(by_server.items()):
        session = facts.sessions.find(inst, sid, None)
        delta = grown.get((inst, sid))
        yield ServerWork(
            inst_id=inst,
            sid=sid,
            name=_process(session.program) if session else "",
            server_set=server_set,
            number=number,
            event=doing(session.event, session.state, session.status) if session else "",
            cpu=values.get(CPU, 0) / 100,  # the statistic counts hundredths of a second
            cpu_rate=delta / 100 / seconds if delta is not None and seconds else None,
            logical_reads=values.get(LOGICAL_READS, 0),
            megabytes=values.get(BYTES_READ, 0) / _MB,
        )


def _process(program: str) -> str:
    """Return the name of the process in a program such as ``oracle@host (P00A)``."""
    start, _, end = program.rpartition("(")
    return end.removesuffix(")") if start else program


def skew(servers: Iterable[ServerWork]) -> tuple[SetSkew, ...]:
    """Return the skew of each server set: the busiest server divided by the mean, 1 if all do the same work."""
    sets = sorted(grouped(servers, lambda server: server.server_set).items())
    return tuple(
        SetSkew(number, len(each), _uneven([one.cpu for one in each]), _uneven([one.megabytes for one in each]))
        for number, each in sets
    )


def _uneven(values: list[float]) -> float | None:
    total = sum(values)
    return max(values) * len(values) / total if total > 0 else None


def _figures(facts: Facts, rows: Iterable[SessionStatistic], names: Mapping[int, str]) -> Iterable[SessionFigure]:
    before = {(row.inst_id, row.sid, row.statistic): row.value for row in facts.deltas.before(SessionStatistic)}
    for row in sorted(rows, key=lambda row: names.get(row.statistic, "")):
        if row.statistic in names:
            old = before.get((row.inst_id, row.sid, row.statistic))
            yield SessionFigure(names[row.statistic], row.value, None if old is None else row.value - old)
