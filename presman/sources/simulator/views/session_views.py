"""Views of sessions: V$SESSION, V$RSRC_SESSION_INFO, V$PX_SESSION, V$SESSION_LONGOPS, V$FAST_START_TRANSACTIONS."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple
from weakref import WeakKeyDictionary, proxy

from msgspec.structs import replace

from presman.base.release import Release
from presman.forecast.scheduler import Group
from presman.sources.simulator import executions
from presman.sources.simulator.counters import reading_events
from presman.sources.simulator.executions import BACKGROUND, Execution, Phase, Server, SessionStream, SimulatedSession
from presman.sources.simulator.machine import RATE_LIMIT
from presman.sources.simulator.simulation import GvMonitor, Simulation
from presman.sources.simulator.views.view import Row, View, when

# ---- Activity: what each session does at one moment, as V$SESSION shows it.

_GOLDEN = 0.6180339887
"""The golden ratio: the fractions of its multiples are spread evenly between 0 and 1, however many there are."""


class _Activity(NamedTuple):
    """The current activity of a session: columns of V$SESSION, and STATE of V$RSRC_SESSION_INFO (`rsrc_state`)."""

    status: str
    event: str
    wait_class: str
    state: str
    wait_micro: int
    rsrc_state: str


def _micro(seconds: float) -> int:
    """Return seconds as whole microseconds, at least 0."""
    return max(0, int(seconds * 1e6))


def _idle_for(seconds: float) -> _Activity:
    """Return the activity of a session that has been idle for `seconds`."""
    return _Activity("INACTIVE", "SQL*Net message from client", "Idle", "WAITING", _micro(seconds), "IDLE")


def _waits_for(seconds: float, event: str, wait_class: str, state: str = "WAITING") -> _Activity:
    """Return the activity of a session that has waited for `seconds`; `state` is that of V$RSRC_SESSION_INFO."""
    return _Activity("ACTIVE", event, wait_class, "WAITING", _micro(seconds), state)


def _held_off(part: float) -> _Activity:
    return _waits_for(0.02 + 0.35 * part, "resmgr:cpu quantum", "Scheduler", "WAITING FOR CPU")


def _reading(event: str, part: float) -> _Activity:
    return _waits_for(0.0004 + 0.002 * part, event, "User I/O", "WAITING_FOR_IO")


def _held_back(part: float) -> _Activity:
    return _waits_for(0.002 + 0.03 * part, RATE_LIMIT, "Scheduler", "WAITING_FOR_IO")


def _on_cpu(event: str, part: float) -> _Activity:
    """Return the activity of a session on CPU: it shows the event that it waited for last, a moment ago."""
    return _Activity("ACTIVE", event, "User I/O", "WAITED SHORT TIME", _micro(0.0001 + 0.0004 * part), "RUNNING")


def _dequeues(event: str, part: float, seconds: float = 1.0) -> _Activity:
    """Return the wait of a parallel server or coordinator for the others, for a fraction `part` of `seconds`."""
    return _waits_for(part * seconds, event, "Idle")


def _blocked(seconds: float) -> _Activity:
    return _waits_for(seconds, "enq: TM - contention", "Application")


def _pool_activities(pool: SessionStream, storage: str) -> Iterator[tuple[int, _Activity, float]]:
    """Yield (index of the session, its activity, its own number 0..1) for each session of a pool.

    The numbers of sessions by activity are those of the pool; which session does what changes with `pool.turn`.
    """
    number = len(pool.sessions)
    event = reading_events(storage)[0]
    using, waiting, reading, held_back = pool.split()
    busy: list[Callable[[float], _Activity]] = [*[partial(_on_cpu, event)] * using, *[_held_off] * waiting]
    busy += [*[partial(_reading, event)] * reading, *[_held_back] * held_back]
    offset = int(pool.turn * number)
    for turn in range(number):
        # Steps of 7 mix the sessions, and reach each of them unless their number is a multiple of 7.
        index = (turn * 7 + offset) % number if number % 7 else (turn + offset) % number
        part = (turn * _GOLDEN + pool.turn) % 1.0
        yield index, busy[turn](part) if turn < len(busy) else _idle_for(part * pool.cycle), part


_QUEUE_STATE_SINCE = Release(19)
"""First release whose V$RSRC_SESSION_INFO is assumed to show PQ_SERVERS and STATE PQ QUEUED for queued statements."""


def _coordinator(execution: Execution, now: float, scan: str, release: Release) -> _Activity:
    """Return the activity of the session of a statement; `scan` is the wait event of its reads."""
    since = now - execution.queued_at
    match execution.phase:
        case Phase.POOL:
            return _waits_for(since, "resmgr:become active", "Scheduler", "QUEUED")
        case Phase.QUEUED:
            state = "PQ QUEUED" if release >= _QUEUE_STATE_SINCE else "WAITING"
            return _waits_for(since, "resmgr:pq queued", "Scheduler", state)
        case Phase.HOLDING:
            idle = _idle_for(now - execution.held_since)
            state = "EXITING" if execution.status == "KILLED" else idle.rsrc_state
            return idle._replace(status=execution.status, rsrc_state=state)
    return _running(execution, now, scan)


def _running(execution: Execution, now: float, scan: str) -> _Activity:
    """Return the activity of the session of a running statement."""
    if execution.waits_for:
        return _waits_for(now - execution.started, execution.waits_for, "Administrative")
    if execution.blocker is not None and not execution.servers_blocked:
        return _blocked(now - execution.started)
    part = (execution.number * _GOLDEN + int(now) * 0.37) % 1.0
    if execution.servers:
        return _dequeues("PX Deq: Execute Reply", part)
    return _at_work(execution, part, scan)


def _at_work(execution: Execution, part: float, scan: str) -> _Activity:
    """Return the activity of a process that works for a statement: on CPU, reading, or held off CPU or I/O.

    Where no plan divides CPU, a process that the operating system keeps waiting shows no event: it is on CPU.
    """
    if part >= execution.fraction:
        return _held_off(part) if execution.wait_rate else _on_cpu(scan, part)
    at_work = execution.fraction * execution.pace
    if part >= at_work:
        return _held_back(part)
    return _on_cpu(scan, part) if part < at_work * execution.cpu_each else _reading(scan, part)


def _scans(execution: Execution, part: float, scan: str, latency: float) -> _Activity:
    """Return the activity of a parallel server that scans.

    It waits for its reads for as long as V$SYSTEM_EVENT counts (`latency` seconds each), and otherwise for the servers
    that take its rows.
    """
    at_work = execution.fraction * execution.pace
    reads = execution.cpu_each + execution.mb_each * (1 + execution.cursor.writing) * latency
    return (
        _dequeues("PX Deq Credit: send blkd", part, 0.2)
        if at_work * reads <= part < at_work
        else _at_work(execution, part, scan)
    )


def _of_server(execution: Execution, server: Server, now: float, scan: str, latency: float) -> _Activity:
    """Return the activity of one parallel server of a statement; a read takes `latency` seconds."""
    part = (server.position * _GOLDEN + server.set * 0.29 + int(now) * 0.41) % 1.0
    if execution.phase is Phase.HOLDING:
        return _waits_for(now - execution.held_since, "PX Deq: Execution Msg", "Idle")
    if execution.servers_blocked:
        return _blocked(now - execution.started)
    if execution.blocker is not None:
        return _dequeues("PX Deq: Execution Msg", part)
    # For two thirds of the work set 2 scans, and set 1 waits for its rows; then set 1 works, and set 2 waits to send.
    scanning = 2 if execution.entry.sets == 2 and execution.left > 0.35 * execution.work else 1
    if server.set != scanning:
        event = "PX Deq: Table Q Normal" if server.set < scanning else "PX Deq Credit: send blkd"
        return _dequeues(event, part, 0.2)
    return _scans(execution, part, scan, latency)


# ---- Rows


_CursorOf = tuple[str | None, int | None]
"""SQL_ID and child number."""

_NO_CURSOR: _CursorOf = (None, None)


class _Call(NamedTuple):
    """The call of a session: its statement and the one before, when that `started`, and seconds since it changed.

    `blocker` is the instance and the SID of the session that blocks it.
    """

    sql: _CursorOf = _NO_CURSOR
    previous: _CursorOf = _NO_CURSOR
    started: float | None = None
    last_call: float = 0.0
    blocker: tuple[int, int] | None = None


class _Used(NamedTuple):
    """What a session has used: seconds of CPU, seconds of waiting for it, small reads, MB read, MB written."""

    cpu: float = 0.0
    wait: float = 0.0
    reads: float = 0.0
    mb: float = 0.0
    written: float = 0.0


_NOTHING = _Used()


class SessionRows:
    """The rows of V$SESSION and V$RSRC_SESSION_INFO at one instant: made together, so that they are consistent."""

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
            waiting = _waits_for(1.0, "rdbms ipc message", "Idle", "NOT MANAGED")
            for session in machine.background:
                call = _Call(last_call=self.at - session.logon)
                self._add(session, simulation.plans.background, waiting, call)
        for session in simulation.workload.sessions:
            if id(session) not in pooled:
                self._add_session(session)
        for monitor in simulation.monitors:
            self._add_monitor(monitor)

    def _add_monitor(self, monitor: GvMonitor) -> None:
        """Add a monitor's session and, while it queries, the servers of its GV$ query."""
        session, client, cursor = monitor.session, monitor.session.client, (monitor.sql_id, 0)
        group = self._simulation.plans.resolve(session.con_id, session.group)
        querying, began = monitor.is_querying(self.at), monitor.began(self.at)
        since = self.at - began
        doing = _dequeues("PX Deq: Execute Reply", 0.01) if querying else _idle_for(since - monitor.spec.takes)
        call = _Call(cursor, _NO_CURSOR, began, since) if querying else _Call(_NO_CURSOR, cursor, None, since)
        self._add(session, group, doing, call)
        for helper in monitor.helpers if querying else ():
            host = f"{self._simulation.scenario.header.host}{helper.inst_id:02}"
            named = replace(client, program=f"oracle@{host} ({helper.name})", machine=host)
            serial = monitor.serial(self.at)
            identity = helper.inst_id, session.con_id, helper.sid, serial, named, session.group
            server_session = SimulatedSession(*identity, began)
            at_work = _on_cpu("PX Deq: Execution Msg", 0.1)
            self._add(server_session, group, at_work, _Call(cursor, started=began, last_call=since))

    def _add_pool(self, pool: SessionStream) -> None:
        cursors, number = pool.cursors, len(pool.sessions)
        for index, doing, part in _pool_activities(pool, self._storage):
            session, skew = pool.sessions[index], pool.skews[index]
            cursor = cursors[int(part * 997) % len(cursors)]
            last = cursor.sql_id, cursor.child
            sql, started = (last, self.at) if doing.status == "ACTIVE" else (_NO_CURSOR, None)
            used = _Used(*pool.time.of(skew, number), reads=pool.reads * (1 + skew) / number)
            self._add(session, pool.group, doing, _Call(sql, last, started, part * pool.cycle), used)

    def _add_session(self, session: SimulatedSession) -> None:
        execution = self._simulation.workload.executions.get(session)
        last_call = self.at - session.changed
        previous = (session.last.sql_id, session.last.child) if session.last else _NO_CURSOR
        if execution is None:
            group = self._simulation.plans.resolve(session.con_id, session.wants_group)
            call = _Call(previous=previous, last_call=last_call)
            self._add(session, group, _idle_for(last_call), call, _Used(session.cpu, session.wait))
            return
        doing = _coordinator(execution, self.at, self._scan, self._simulation.release)
        current = (execution.cursor.sql_id, execution.cursor.child)
        later = (execution.then.sql_id, execution.then.child) if execution.then else current
        sql, previous = (_NO_CURSOR, later) if execution.phase is Phase.HOLDING else (current, previous)
        if session.client.service == BACKGROUND:  # SMON executes no statement
            sql = previous = _NO_CURSOR
        runs = execution.phase is Phase.RUNNING
        started = execution.started if runs else None
        blocker = execution.blocker if runs and not execution.servers_blocked else None
        used = _Used(session.cpu, session.wait)
        if not execution.servers:
            cpu, wait, mb = session.cpu + execution.cpu, session.wait + execution.wait, execution.mb
            used = _Used(cpu, wait, mb=mb, written=mb * execution.cursor.writing)
        call = _Call(sql, previous, started, last_call, blocker)
        self._add(session, execution.group, doing, call, used, execution=execution)
        for server in execution.servers:
            self._add_server(execution, server)

    def _add_server(self, execution: Execution, server: Server) -> None:
        session, group, cursor = execution.session, execution.group, execution.cursor
        host = f"{self._simulation.scenario.header.host}{server.inst_id:02}"
        program = f"oracle@{host} ({executions.server_name(server.number)})"
        client = replace(session.client, program=program, machine=host, action="", client_id="")
        identity = server.inst_id, session.con_id, server.sid, server.serial, client, session.group
        server_session = SimulatedSession(*identity, execution.started)
        latency = self._simulation.machines[server.inst_id - 1].latency
        doing = _of_server(execution, server, self.at, self._scan, latency)
        sql = _NO_CURSOR if client.service == BACKGROUND else (cursor.sql_id, cursor.child)
        blocker = execution.blocker if execution.servers_blocked else None
        mb = execution.mb * (1 + server.skew) / len(execution.servers)
        used = _Used(*execution.time.of(server.skew, len(execution.servers)), mb=mb, written=mb * cursor.writing)
        call = _Call(sql, _NO_CURSOR, execution.started, self.at - execution.started, blocker)
        self._add(server_session, group, doing, call, used, is_server=True)

    def _add(
        self,
        session: SimulatedSession,
        group: Group,
        doing: _Activity,
        call: _Call,
        used: _Used = _NOTHING,
        *,
        is_server: bool = False,
        execution: Execution | None = None,
    ) -> None:
        """Add a session to both views."""
        self.sessions.append(self._session(session, group, doing, call, is_server=is_server))
        self.infos.append(self._info(session, group, doing, used, execution))

    def _session(
        self, session: SimulatedSession, group: Group, doing: _Activity, call: _Call, *, is_server: bool
    ) -> Row:
        """Return the row of V$SESSION. A parallel server is the operating system's user `oracle`, and has no ACTION."""
        client, simulation, blocker = session.client, self._simulation, call.blocker or (None, None)
        is_background = client.service == BACKGROUND and not is_server
        os_user = "oracle" if is_background or is_server else client.user.lower()
        shown = None if group == simulation.plans.background else group.name
        identity = (
            session.inst_id,
            session.con_id,
            session.sid,
            session.serial,
            client.user or None,
            doing.status,
            shown,
        )
        program = client.service, client.machine, client.program, client.module, client.action or None
        times = when(simulation, call.started), when(simulation, session.logon), int(call.last_call)
        wait = doing.event, doing.wait_class, doing.state, doing.wait_micro
        kind = "BACKGROUND" if is_background else "USER"
        execution = None if call.started is None else _FIRST_EXECUTION + int(call.started)
        statements, rest = (*call.sql, *call.previous, *times), (*blocker, kind, execution, *blocker)
        return (*identity, *program, client.client_id or None, os_user, *statements, *wait, *rest)

    def _info(
        self, session: SimulatedSession, group: Group, doing: _Activity, used: _Used, execution: Execution | None
    ) -> Row:
        """Return the row of V$RSRC_SESSION_INFO."""
        mapped = session.group or group.name
        original = self._simulation.plans.resolve(session.con_id, mapped).name
        queued, dop, servers = 0.0, None, None
        if execution is not None and execution.cursor.dop > 1:
            entry = execution.entry
            dop = entry.degree or entry.dop
            if execution.phase is Phase.QUEUED:
                queued = self.at - execution.queued_at
                servers = entry.needs if self._simulation.release >= _QUEUE_STATE_SINCE else None
            elif execution.servers:
                servers = entry.servers
        cpu, wait, reads, mb, written = used
        io = reads * 0.0005 + (mb + written) * 0.001
        groups = self._id(group.name), group.name, self._id(original), mapped, "ORACLE_USER"
        times = int(wait * 1000), int(wait / 0.2), int(cpu * 1000), int(cpu * 2), int(io * 1000)
        megabytes = int(reads / 128), int(reads * 0.35 / 128), int(mb), int(written)
        requests = int(reads), int(reads * 0.35), int(mb), int(written)
        parallel = dop, servers, None, int(queued * 1000), int((session.pq_queued + queued) * 1000)
        action, reason, at = session.action or (None, None, None)
        counters = *times, *megabytes, *requests, session.canceled
        identity = session.inst_id, session.con_id, session.sid
        return (*identity, *groups, doing.rsrc_state, *counters, *parallel, action, reason, when(self._simulation, at))


_CACHE: WeakKeyDictionary[Simulation, SessionRows] = WeakKeyDictionary()


def _session_rows(simulation: Simulation) -> SessionRows:
    rows = _CACHE.get(simulation)
    if rows is None or rows.at != simulation.now:
        rows = _CACHE[simulation] = SessionRows(simulation)
    return rows


def _px_session(simulation: Simulation) -> Iterator[Row]:
    """Yield the rows of statements, and of GV$ queries on a cluster, which have one server on each instance."""
    now = simulation.now
    for execution in simulation.workload.executions.values():
        if execution.servers:
            # The data flow trees of a plan run one after the other.
            trees, entry = execution.cursor.trees, execution.entry
            tree = min(trees, 1 + int(trees * (1 - max(0.0, execution.left) / execution.work)))
            servers = [(one.inst_id, one.sid, one.serial, tree, one.set, one.position) for one in execution.servers]
            yield from _px_rows(execution.session, servers, entry.degree, entry.dop)
    for monitor in simulation.monitors:
        if monitor.helpers and monitor.is_querying(now):
            serial, degree = monitor.serial(now), len(monitor.helpers)
            servers = [(each.inst_id, each.sid, serial, 1, 1, number) for number, each in enumerate(monitor.helpers, 1)]
            yield from _px_rows(monitor.session, servers, degree, degree)


def _px_rows(qc: SimulatedSession, servers: Iterable[tuple[int, ...]], degree: int, asked: int) -> Iterator[Row]:
    """Yield the row of a coordinator, and those of its servers: instance, SID, serial, tree, set and position."""
    yield (qc.inst_id, qc.sid, qc.serial, qc.sid, *[None] * 7, qc.con_id)
    for inst_id, sid, serial, *place in servers:
        yield (inst_id, sid, serial, qc.sid, qc.serial, qc.inst_id, *place, degree, asked, qc.con_id)


_FIRST_EXECUTION = 2**24
"""The first SQL_EXEC_ID of an instance; here it increases by one per second."""

_SHORTEST = 6.0
"""Seconds after which an operation is listed in V$SESSION_LONGOPS."""


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
            *(left, int(elapsed), cursor.sql_id, session.sid, session.con_id),
        )


def _recovering(simulation: Simulation) -> Iterator[Row]:
    """Yield the transactions that SMON rolls back with parallel servers, at a hundredth of a second per block."""
    for execution in simulation.workload.running:
        if execution.session.client.service == BACKGROUND and execution.servers:
            total = int(execution.work * 100)
            yield (execution.session.inst_id, "RECOVERING", total - int(max(0.0, execution.left) * 100), total)


VIEWS = (
    View("V$FAST_START_TRANSACTIONS", "INST_ID STATE UNDOBLOCKSDONE UNDOBLOCKSTOTAL", _recovering),
    View(
        "V$SESSION",
        "INST_ID CON_ID SID SERIAL# USERNAME STATUS RESOURCE_CONSUMER_GROUP SERVICE_NAME MACHINE PROGRAM MODULE"
        " ACTION CLIENT_IDENTIFIER OSUSER SQL_ID SQL_CHILD_NUMBER PREV_SQL_ID PREV_CHILD_NUMBER SQL_EXEC_START"
        " LOGON_TIME LAST_CALL_ET EVENT WAIT_CLASS STATE WAIT_TIME_MICRO BLOCKING_INSTANCE BLOCKING_SESSION TYPE"
        " SQL_EXEC_ID FINAL_BLOCKING_INSTANCE FINAL_BLOCKING_SESSION",
        lambda simulation: _session_rows(simulation).sessions,
    ),
    View(
        "V$RSRC_SESSION_INFO",
        "INST_ID CON_ID SID CURRENT_CONSUMER_GROUP_ID CURRENT_CONSUMER_GROUP ORIG_CONSUMER_GROUP_ID"
        " MAPPED_CONSUMER_GROUP MAPPING_ATTRIBUTE STATE CPU_WAIT_TIME CPU_WAITS CONSUMED_CPU_TIME YIELDS"
        " IO_SERVICE_TIME SMALL_READ_MEGABYTES SMALL_WRITE_MEGABYTES LARGE_READ_MEGABYTES LARGE_WRITE_MEGABYTES"
        " SMALL_READ_REQUESTS SMALL_WRITE_REQUESTS LARGE_READ_REQUESTS LARGE_WRITE_REQUESTS SQL_CANCELED DOP"
        " PQ_SERVERS PQ_STATUS CURRENT_PQ_QUEUED_TIME PQ_QUEUED_TIME LAST_ACTION LAST_ACTION_REASON"
        " LAST_ACTION_TIME",
        lambda simulation: _session_rows(simulation).infos,
    ),
    View(
        "V$PX_SESSION",
        "INST_ID SID SERIAL# QCSID QCSERIAL# QCINST_ID SERVER_GROUP SERVER_SET SERVER# DEGREE REQ_DEGREE CON_ID",
        _px_session,
    ),
    View(
        "V$SESSION_LONGOPS",
        "INST_ID SID SERIAL# OPNAME TARGET SOFAR TOTALWORK UNITS TIME_REMAINING ELAPSED_SECONDS SQL_ID QCSID CON_ID",
        _longops,
    ),
)
