"""Views of sessions: V$SESSION, V$RSRC_SESSION_INFO, V$PX_SESSION, V$SESSION_LONGOPS, from one description each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, proxy

from presman.forecast.scheduler import Group
from presman.sources.simulator.counters import reading_events
from presman.sources.simulator.executions import Execution, Phase, SessionStream
from presman.sources.simulator.gv_monitors import GvMonitor
from presman.sources.simulator.processes import BACKGROUND, Server, SimulatedSession, server_name
from presman.sources.simulator.views.session_activity import (
    TELLS_THE_QUEUE,
    SessionActivity,
    coordinator,
    dequeues,
    idle_for,
    micro,
    ms,
    of_server,
    on_cpu,
    pool_doings,
)
from presman.sources.simulator.views.view import Row, View, columns, when

if TYPE_CHECKING:
    from presman.sources.simulator.simulation import Simulation


_NOBODY = (None, None)
"""Instance and SID of who blocks a session that nobody blocks."""


class SessionRows:
    """The rows of V$SESSION and V$RSRC_SESSION_INFO at one instant: made together, so that they agree."""

    def __init__(self, simulation: Simulation) -> None:
        self.at = simulation.now
        self.sessions: list[Row] = []
        self.infos: list[Row] = []
        self._simulation: Simulation = proxy(simulation)
        self._storage = simulation.scenario.capacity.storage
        self._scan = reading_events(self._storage)[1]
        self._id = simulation.plans.id_of
        pooled: set[int] = set()
        for machine in simulation.machines:
            for pool in machine.pools:
                self._add_pool(pool)
                pooled.update(map(id, pool.sessions))
            self._add_background(machine.inst_id)
        for session in simulation.workload.sessions:
            if id(session) not in pooled:
                self._add_session(session)
        for monitor in simulation.monitors:
            self._add_monitor(monitor)

    def _add_background(self, inst_id: int) -> None:
        in_force = self._simulation.plans
        for session in self._simulation.machines[inst_id - 1].background:
            age = self.at - session.logon
            self.sessions.append(
                (
                    *(inst_id, 1 if in_force.cdb else 0, session.sid, session.serial, None, "ACTIVE", None),
                    *(BACKGROUND, None, session.client.program, None, None, None, "oracle", None, None, None),
                    *(None, None, when(self._simulation, session.logon), int(age), "rdbms ipc message", "Idle"),
                    *("WAITING", micro(1.0), None, None, "BACKGROUND", 1, None, None, None),
                )
            )
            self.infos.append(self._info(session, in_force.background, idle_for(0.0), 0.0, 0.0, state="NOT MANAGED"))

    def _add_monitor(self, monitor: GvMonitor) -> None:
        """Add a monitor's session and, while it queries, the servers of its GV$ query."""
        session, client, cursor = monitor.session, monitor.session.client, (monitor.sql_id, 0)
        group = self._simulation.plans.resolve(session.con_id, session.group)
        querying, began = monitor.is_querying(self.at), monitor.began(self.at)
        doing = dequeues("PX Deq: Execute Reply", 0.01) if querying else idle_for(self.at - began - monitor.spec.takes)
        own, before = (cursor, (None, None)) if querying else ((None, None), cursor)
        self._row(session, group, doing, own, before, began if querying else None, int(self.at - began))
        self.infos.append(self._info(session, group, doing, 0.0, 0.0))
        for helper in monitor.helpers if querying else ():
            host = f"{self._simulation.scenario.header.host}{helper.inst_id:02}"
            named = replace(client, program=f"oracle@{host} ({helper.name})", machine=host)
            serial = monitor.serial(self.at)
            face = SimulatedSession(helper.inst_id, session.con_id, helper.sid, serial, named, session.group, began)
            at_work = on_cpu("PX Deq: Execution Msg", 0.1)
            self._row(face, group, at_work, cursor, (None, None), began, int(self.at - began))
            self.infos.append(self._info(face, group, at_work, 0.0, 0.0))

    def _add_pool(self, pool: SessionStream) -> None:
        cursors = pool.cursors
        for index, doing, part in pool_doings(pool, self._storage):
            session, skew = pool.sessions[index], pool.skews[index]
            cursor = cursors[int(part * 997) % len(cursors)]
            last_call = int(part * pool.cycle)
            started = self.at if doing.active == "TRUE" else None
            sql = (cursor.sql_id, cursor.child) if doing.active == "TRUE" else (None, None)
            self._row(session, pool.group, doing, sql, (cursor.sql_id, cursor.child), started, last_call)
            cpu, wait = pool.time.of(skew, len(pool.sessions))
            self.infos.append(
                self._info(session, pool.group, doing, cpu, wait, reads=pool.reads * (1 + skew) / len(pool.sessions))
            )

    def _row(
        self,
        session: SimulatedSession,
        group: Group,
        doing: SessionActivity,
        sql: tuple[str | None, int | None],
        previous: tuple[str | None, int | None],
        started: float | None,
        last_call: int,
        blocker: tuple[int, int] | None = None,
    ) -> None:
        client = session.client
        simulation = self._simulation
        self.sessions.append(
            (
                *(session.inst_id, session.con_id, session.sid, session.serial, client.user or None, doing.status),
                *(group.name, client.service, client.machine, client.program, client.module, client.action or None),
                *(client.client_id or None, client.user.lower()),
                *(*sql, *previous, when(simulation, started), when(simulation, session.logon), last_call),
                *(doing.event, doing.wait_class, doing.state, doing.wait_micro),
                *(blocker or _NOBODY),
                "BACKGROUND" if client.service == BACKGROUND else "USER",
                doing.wait_micro // 1_000_000,
                None if started is None else _FIRST_EXECUTION + int(started),
                *(blocker or _NOBODY),
            )
        )

    def _add_session(self, session: SimulatedSession) -> None:
        execution = self._simulation.workload.executions.get(session)
        last_call = int(self.at - session.changed)
        previous = (session.last.sql_id, session.last.child) if session.last else (None, None)
        if execution is None:
            group = self._simulation.plans.resolve(session.con_id, session.wants_group)
            doing = idle_for(self.at - session.changed)
            self._row(session, group, doing, (None, None), previous, None, last_call)
            self.infos.append(self._info(session, group, doing, session.cpu, session.wait))
            return
        doing = coordinator(execution, self.at, self._scan, self._simulation.release)
        cursor = execution.cursor
        own = (cursor.sql_id, cursor.child)
        later = (execution.then.sql_id, execution.then.child) if execution.then else own
        holding = execution.phase is Phase.HOLDING
        started = execution.started if execution.phase is Phase.RUNNING else None
        sql, previous = ((None, None), later) if holding else (own, previous)
        if session.client.service == BACKGROUND:  # SMON executes no statement
            sql = previous = (None, None)
        waits = execution.phase is Phase.RUNNING and not execution.servers_blocked
        blocker = execution.blocker if waits else None
        self._row(session, execution.group, doing, sql, previous, started, last_call, blocker)
        serial = not execution.servers
        cpu = session.cpu + (execution.cpu if serial else 0.0)
        wait = session.wait + (execution.wait if serial else 0.0)
        mb = execution.mb if serial else 0.0
        written = mb * cursor.writing
        info = self._info(session, execution.group, doing, cpu, wait, execution=execution, mb=mb, written=written)
        self.infos.append(info)
        for server in execution.servers:
            self._add_server(execution, server)

    def _add_server(self, execution: Execution, server: Server) -> None:
        simulation, client = self._simulation, execution.session.client
        doing = of_server(execution, server, self.at, self._scan)
        cursor, header = execution.cursor, simulation.scenario.header
        sql = (None, None) if client.service == BACKGROUND else (cursor.sql_id, cursor.child)
        host = f"{header.host}{server.inst_id:02}"
        program = f"oracle@{host} ({server_name(server.number)})"
        started = when(simulation, execution.started)
        con_id = execution.session.con_id
        blocker = execution.blocker if execution.servers_blocked else None
        self.sessions.append(
            (
                *(server.inst_id, con_id, server.sid, server.serial, client.user or None, doing.status),
                *(execution.group.name, client.service, host, program, client.module, None, None),
                *("oracle", *sql, None, None, started, started),
                *(int(self.at - execution.started), doing.event, doing.wait_class, doing.state, doing.wait_micro),
                *(*(blocker or _NOBODY), "USER", doing.wait_micro // 1_000_000),
                *(_FIRST_EXECUTION + int(execution.started), *(blocker or _NOBODY)),
            )
        )
        cpu, wait = execution.time.of(server.skew, len(execution.servers))
        mb = execution.mb * (1 + server.skew) / len(execution.servers)
        face = SimulatedSession(server.inst_id, con_id, server.sid, server.serial, client, execution.session.group, 0.0)
        written = mb * cursor.writing
        self.infos.append(self._info(face, execution.group, doing, cpu, wait, mb=mb, written=written))

    def _info(  # noqa: PLR0913
        self,
        session: SimulatedSession,
        group: Group,
        doing: SessionActivity,
        cpu: float,
        wait: float,
        *,
        reads: float = 0.0,
        mb: float = 0.0,
        written: float = 0.0,
        execution: Execution | None = None,
        state: str = "",
    ) -> Row:
        mapped = session.group or group.name
        original = self._simulation.plans.resolve(session.con_id, mapped).name
        action, reason, at = session.action or ("", "", 0.0)
        queued = running = 0.0
        dop = servers = None
        active = "FALSE"
        if execution is not None and execution.cursor.dop > 1:
            ticket = execution.ticket
            dop = ticket.degree or ticket.dop
            if execution.phase is Phase.QUEUED:
                queued = self.at - execution.queued_at
                servers = ticket.needs if self._simulation.release >= TELLS_THE_QUEUE else None
            elif execution.servers:
                servers, active = ticket.servers, "TRUE"
                running = self.at - execution.started
        idle = 0 if doing.active == "TRUE" else doing.wait_micro // 1_000_000
        io = reads * 0.0005 + (mb + written) * 0.001
        pool = session.pool_queued
        if execution is not None and execution.phase is Phase.POOL:
            pool += self.at - execution.queued_at
        return (
            *(session.inst_id, session.con_id, session.sid, self._id(group.name), group.name, self._id(original)),
            *(mapped, "ORACLE_USER", state or doing.rsrc_state, doing.active, idle, ms(wait), int(wait / 0.2)),
            *(ms(cpu), int(cpu * 2), ms(pool), ms(io)),
            *(int(reads / 128), int(reads * 0.35 / 128), int(mb), int(written)),
            *(int(reads), int(reads * 0.35), int(mb), int(written), session.canceled, dop, servers, active, None),
            *(ms(running), ms(queued), ms(session.pq_queued + queued), session.times_queued, session.time_outs),
            *((action, reason, when(self._simulation, at)) if action else (None, None, None)),
        )


_FACES: WeakKeyDictionary[Simulation, SessionRows] = WeakKeyDictionary()


def _faces(simulation: Simulation) -> SessionRows:
    known = _FACES.get(simulation)
    if known is None or known.at != simulation.now:
        known = _FACES[simulation] = SessionRows(simulation)
    return known


def _session(simulation: Simulation) -> list[Row]:
    return _faces(simulation).sessions


def _session_info(simulation: Simulation) -> list[Row]:
    return _faces(simulation).infos


def _px_session(simulation: Simulation) -> Iterator[Row]:
    for execution in simulation.workload.executions.values():
        if not execution.servers:
            continue
        qc, ticket = execution.session, execution.ticket
        yield (qc.inst_id, qc.sid, qc.serial, qc.sid, None, None, None, None, None, None, None, qc.con_id)
        tree = _tree_at_work(execution)
        for server in execution.servers:
            yield (
                *(server.inst_id, server.sid, server.serial, qc.sid, qc.serial, qc.inst_id, tree, server.set),
                *(server.position, ticket.degree, ticket.dop, qc.con_id),
            )
    yield from _px_of_monitors(simulation)


def _tree_at_work(execution: Execution) -> int:
    """Return which of the plan's data flow trees the servers work for: one after the other."""
    trees = execution.cursor.trees
    return min(trees, 1 + int(trees * (1 - max(0.0, execution.left) / execution.work)))


def _px_of_monitors(simulation: Simulation) -> Iterator[Row]:
    """Yield what a GV$ query on a cluster shows: its coordinator, and one server on each instance."""
    now = simulation.now
    for monitor in simulation.monitors:
        if not monitor.helpers or not monitor.is_querying(now):
            continue
        qc, degree = monitor.session, len(monitor.helpers)
        yield (qc.inst_id, qc.sid, qc.serial, qc.sid, None, None, None, None, None, None, None, qc.con_id)
        for number, helper in enumerate(monitor.helpers, 1):
            yield (
                *(helper.inst_id, helper.sid, monitor.serial(now), qc.sid, qc.serial, qc.inst_id, 1, 1),
                *(number, degree, degree, qc.con_id),
            )


_FIRST_EXECUTION = 2**24
"""The first SQL_EXEC_ID of an instance; here they count on with the seconds."""

_SHORTEST = 6.0
"""Seconds that an operation must run to be listed in V$SESSION_LONGOPS."""


def _longops(simulation: Simulation) -> Iterator[Row]:
    now = simulation.now
    for execution in simulation.workload.running:
        elapsed = now - execution.started
        if elapsed < _SHORTEST or execution.session.client.service == BACKGROUND:
            continue
        total = max(1, int(execution.work * execution.mb_each * 128))
        done = min(total, int(total * (1 - max(0.0, execution.left) / execution.work)))
        left = int(execution.left / execution.speed) if execution.speed > 0 else None
        session, cursor = execution.session, execution.cursor
        yield (
            *(session.inst_id, session.sid, session.serial, "Table Scan", cursor.table, done, total, "Blocks"),
            *(when(simulation, execution.started), when(simulation, now), left, int(elapsed)),
            *(f"Table Scan:  {cursor.table}: {done} out of {total} Blocks done", session.client.user, cursor.sql_id),
            *(session.sid, session.con_id),
        )


def _recovering(simulation: Simulation) -> Iterator[Row]:
    """Yield the transactions that SMON rolls back with parallel servers; a block takes a hundredth of a second."""
    for number, execution in enumerate(simulation.workload.running, 1):
        if execution.session.client.service == BACKGROUND and execution.servers:
            total = int(execution.work * 100)
            done = total - int(max(0.0, execution.left) * 100)
            spent = int(simulation.now - execution.started)
            yield (execution.session.inst_id, number, 1, 1, "RECOVERING", done, total, spent, len(execution.servers), 0)


VIEWS = (
    View(
        "V$FAST_START_TRANSACTIONS",
        columns("INST_ID USN SLT SEQ STATE UNDOBLOCKSDONE UNDOBLOCKSTOTAL CPUTIME RCVSERVERS CON_ID"),
        _recovering,
    ),
    View(
        "V$SESSION",
        columns(
            "INST_ID CON_ID SID SERIAL# USERNAME STATUS RESOURCE_CONSUMER_GROUP SERVICE_NAME MACHINE PROGRAM MODULE"
            " ACTION CLIENT_IDENTIFIER OSUSER SQL_ID SQL_CHILD_NUMBER PREV_SQL_ID PREV_CHILD_NUMBER SQL_EXEC_START"
            " LOGON_TIME LAST_CALL_ET EVENT WAIT_CLASS STATE WAIT_TIME_MICRO BLOCKING_INSTANCE BLOCKING_SESSION TYPE"
            " SECONDS_IN_WAIT SQL_EXEC_ID FINAL_BLOCKING_INSTANCE FINAL_BLOCKING_SESSION"
        ),
        _session,
    ),
    View(
        "V$RSRC_SESSION_INFO",
        columns(
            "INST_ID CON_ID SID CURRENT_CONSUMER_GROUP_ID CURRENT_CONSUMER_GROUP ORIG_CONSUMER_GROUP_ID"
            " MAPPED_CONSUMER_GROUP MAPPING_ATTRIBUTE STATE ACTIVE CURRENT_IDLE_TIME CPU_WAIT_TIME CPU_WAITS"
            " CONSUMED_CPU_TIME YIELDS QUEUED_TIME IO_SERVICE_TIME SMALL_READ_MEGABYTES SMALL_WRITE_MEGABYTES"
            " LARGE_READ_MEGABYTES LARGE_WRITE_MEGABYTES SMALL_READ_REQUESTS SMALL_WRITE_REQUESTS"
            " LARGE_READ_REQUESTS LARGE_WRITE_REQUESTS SQL_CANCELED DOP PQ_SERVERS PQ_ACTIVE PQ_STATUS"
            " CURRENT_PQ_ACTIVE_TIME CURRENT_PQ_QUEUED_TIME PQ_QUEUED_TIME PQ_QUEUED PQ_QUEUE_TIME_OUTS LAST_ACTION"
            " LAST_ACTION_REASON LAST_ACTION_TIME"
        ),
        _session_info,
    ),
    View(
        "V$PX_SESSION",
        columns(
            "INST_ID SID SERIAL# QCSID QCSERIAL# QCINST_ID SERVER_GROUP SERVER_SET SERVER# DEGREE REQ_DEGREE CON_ID"
        ),
        _px_session,
    ),
    View(
        "V$SESSION_LONGOPS",
        columns(
            "INST_ID SID SERIAL# OPNAME TARGET SOFAR TOTALWORK UNITS START_TIME LAST_UPDATE_TIME TIME_REMAINING"
            " ELAPSED_SECONDS MESSAGE USERNAME SQL_ID QCSID CON_ID"
        ),
        _longops,
    ),
)
