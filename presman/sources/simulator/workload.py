"""The life cycle of statements: active session pool, parallel queue, servers, switches, idle cursors, end."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from random import Random

from presman.forecast.scheduler import Group, QueueEntry, QueueOutcome, SeededRandom, StatementQueue
from presman.sources.simulator.cluster import Cluster
from presman.sources.simulator.counters import Count
from presman.sources.simulator.executions import Execution, Phase, Server, SimulatedSession, even_skews
from presman.sources.simulator.machine import Machine
from presman.sources.simulator.scenario import ACTIONS

_DONE = 1e-6
"""Seconds of remaining work below which a statement is done."""
_SKEW = 0.25
"""Largest relative deviation of a server's CPU from the mean of its statement."""


class SessionPools:
    """The active session pools of all groups and instances, and the calls that wait for them."""

    def __init__(self, cluster: Cluster, executions: Mapping[SimulatedSession, Execution]) -> None:
        self._cluster = cluster
        self._executions = executions
        self._waiting: dict[tuple[int, Group], deque[Execution]] = {}

    def hold(self, execution: Execution, end: Callable[[], None]) -> None:
        """Let a call wait; `end` is called when it times out by its group's QUEUEING_P1."""
        cluster, pool = self._cluster, (execution.session.inst_id, execution.group)
        execution.phase = Phase.POOL
        execution.queued_at = cluster.now
        self._waiting.setdefault(pool, deque()).append(execution)
        cluster.count(*pool, Count.ACTIVE_SESSION_LIMIT_HIT)
        leaf = cluster.plans.leaves[execution.group]
        if leaf.directive.queueing_p1 is not None:
            cluster.at(cluster.now + leaf.directive.queueing_p1, partial(self._time_out, execution, end))

    def _time_out(self, execution: Execution, end: Callable[[], None]) -> None:
        pool = (execution.session.inst_id, execution.group)
        if execution.phase is Phase.POOL and execution in self._waiting.get(pool, ()):
            self.drop(execution)
            self._cluster.count(*pool, Count.QUEUE_TIME_OUTS)
            end()

    def drop(self, execution: Execution) -> None:
        """Remove a waiting call."""
        self._waiting[execution.session.inst_id, execution.group].remove(execution)

    def admitted(self, inst_id: int, group: Group) -> Iterator[Execution]:
        """Yield the waiting calls while there is room; the caller starts each before it requests the next."""
        waiting = self._waiting.get((inst_id, group))
        while waiting and self.has_room(inst_id, group):
            execution = waiting.popleft()
            waited = self._cluster.now - execution.queued_at
            self._cluster.machines[inst_id - 1].events["resmgr:become active"].record_one(waited)
            yield execution

    def waiting(self, inst_id: int, group: Group) -> int:
        """Return the number of waiting calls."""
        return len(self._waiting.get((inst_id, group), ()))

    def regroup(self) -> list[tuple[int, Group]]:
        """Move the waiting calls to the pools of their current groups; return the instances and groups with any."""
        waiting = [each for queue in self._waiting.values() for each in queue]
        self._waiting.clear()
        for execution in waiting:
            self._waiting.setdefault((execution.session.inst_id, execution.group), deque()).append(execution)
        return list(self._waiting)

    def has_room(self, inst_id: int, group: Group) -> bool:
        """Return whether a pool has room for another call."""
        leaf = self._cluster.plans.leaves.get(group)
        limit = leaf.directive.active_sess_pool_p1 if leaf else None
        if limit is None:
            return True
        mine = (each for each in self._executions.values() if (each.session.inst_id, each.group) == (inst_id, group))
        return sum(each.phase in {Phase.QUEUED, Phase.RUNNING} for each in mine) < limit


class Workload:
    """All sessions and executions, and the parallel statement queue between them."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.queue = StatementQueue(cluster.plans.limits, SeededRandom(f"{cluster.seed}/queue"))
        self.sessions: list[SimulatedSession] = []
        self.executions: dict[SimulatedSession, Execution] = {}
        self.running: list[Execution] = []
        self.ended_cpu: dict[Group, float] = {}
        self._entries: dict[int, Execution] = {}
        self._entered: list[Execution] = []
        self.pools = SessionPools(cluster, self.executions)
        self._skew = Random(f"{cluster.seed}/skew")

    def disconnect(self, session: SimulatedSession) -> None:
        """Log a session off."""
        self.sessions.remove(session)
        self._cluster.machines[session.inst_id - 1].sids.give(session.sid)
        group = self._cluster.plans.resolve(session.con_id, session.wants_group)
        self.ended_cpu[group] = self.ended_cpu.get(group, 0.0) + session.cpu

    # The active session pool, then the parallel statement queue

    def enter(self, execution: Execution) -> None:
        """Begin a call: submit it, or let it wait for the active session pool of its group."""
        cluster, session = self._cluster, execution.session
        self.executions[session] = execution
        session.changed = cluster.now
        cluster.dirty = True
        cluster.count(session.inst_id, execution.group, Count.REQUESTS)
        if self.pools.has_room(session.inst_id, execution.group):
            self._submit(execution)
        else:
            self.pools.hold(execution, partial(self._end, execution))

    def _fill_pool(self, inst_id: int, group: Group) -> None:
        for execution in self.pools.admitted(inst_id, group):
            self._submit(execution)

    def _submit(self, execution: Execution) -> None:
        cluster, entry = self._cluster, execution.entry
        entry.submitted = execution.queued_at = cluster.now
        entry.group = execution.group
        execution.phase = Phase.QUEUED
        cluster.dirty = True
        self._entries[entry.number] = execution
        if self.queue.submit(entry):
            self._start(execution)
        else:
            self._entered.append(execution)

    def pump(self) -> None:
        """Start the statements that the queue allows to start, and count those that have to wait."""
        for entry in self.queue.pump():
            self._start(self._entries[entry.number])
        for execution in self._entered:
            if execution.phase is Phase.QUEUED:
                execution.session.times_queued += 1
                _count(self._cluster, execution, Count.PQS_QUEUED)
        self._entered.clear()

    def expire(self) -> None:
        """Start or end the statements that have timed out in the parallel queue."""
        for entry, outcome in self.queue.expire(self._cluster.now):
            execution = self._entries[entry.number]
            _count(self._cluster, execution, Count.PQ_QUEUE_TIME_OUTS)
            if outcome is QueueOutcome.FORCED:
                self._start(execution)
            else:
                _note_queue_wait(self._cluster, execution)
                self._end(execution)

    # Running

    def _start(self, execution: Execution) -> None:
        cluster, entry = self._cluster, execution.entry
        _note_queue_wait(self._cluster, execution)
        execution.phase = Phase.RUNNING
        execution.started = cluster.now
        cluster.dirty = True
        _assign_servers(execution, self._cluster.open_machines, self._skew)
        if entry.dop > 1:
            verb = execution.cursor.text.split(None, 1)[0].lower()
            cluster.machines[execution.session.inst_id - 1].count_start(entry.degree, entry.dop, verb)
        self.running.append(execution)

    def finish_done(self) -> None:
        """Finish the executions whose work is done; some keep their servers."""
        cluster = self._cluster
        for execution in [each for each in self.running if each.left <= _DONE]:
            cluster.dirty = True
            self.running.remove(execution)
            if execution.hold > 0 and execution.servers:
                execution.phase = Phase.HOLDING
                execution.held_since = execution.session.changed = cluster.now
                cluster.at(cluster.now + execution.hold, partial(self.abort, execution))
            else:
                self._close(execution)

    def _close(self, execution: Execution) -> None:
        """Close the cursor: free its servers, and add its usage to the totals."""
        cluster, entry, cursor = self._cluster, execution.entry, execution.cursor
        lasted = cluster.now - execution.started
        self.queue.release(entry)
        for server in execution.servers:
            machine = cluster.machines[server.inst_id - 1]
            machine.names.give(server.number)
            machine.sids.give(server.sid)
        if execution.servers and entry.managed:
            _count(self._cluster, execution, Count.PQS_COMPLETED)
            _count(self._cluster, execution, Count.PQ_SERVERS_USED, entry.servers)
            _count(self._cluster, execution, Count.PQ_ACTIVE_TIME, lasted)
        cursor.executions += 1
        cursor.px_executions += entry.servers
        cursor.elapsed += lasted
        cursor.cpu += execution.cpu
        cursor.mb += execution.mb
        self._end(execution)

    def _end(self, execution: Execution) -> None:
        cluster, session = self._cluster, execution.session
        cluster.dirty = True
        del self.executions[session]
        self._entries.pop(execution.number, None)
        session.last, session.changed = execution.cursor, cluster.now
        # The CPU of a parallel statement is that of its servers, whose sessions have ended: only the group keeps it.
        if execution.servers:
            group = execution.group
            self.ended_cpu[group] = self.ended_cpu.get(group, 0.0) + execution.cpu
            session.pq_active += cluster.now - execution.started
        else:
            session.cpu += execution.cpu
            session.wait += execution.wait
        # The session returns to its stream, or logs off.
        if session.transient:
            self.disconnect(session)
        elif execution.stream is not None:
            execution.stream.idle.append(session)
        self._fill_pool(session.inst_id, execution.group)

    # Groups

    def switch(self) -> None:
        """Apply SWITCH_GROUP to statements that have used up SWITCH_TIME: switch or cancel them, or end the session."""
        plans = self._cluster.plans
        for execution in list(self.running):
            leaf = plans.leaves.get(execution.group)
            limit = leaf.directive.switch_time if leaf is not None else None
            if leaf is None or limit is None or execution.cpu - execution.cpu_at_switch < limit:
                continue
            execution.cpu_at_switch = execution.cpu
            target = leaf.directive.switch_group
            # Oracle's words are assumed, not confirmed: presman shows them, but does not compare them.
            done = target if target in ACTIONS else f"SWITCH TO {target}"
            execution.session.action = done, "SWITCH_CPU_TIME", self._cluster.now
            if target in {"CANCEL_SQL", "KILL_SESSION"}:
                self._cancel(execution, killed=target == "KILL_SESSION")
            elif target != "LOG_ONLY":
                execution.switched = target
                if not leaf.directive.switch_for_call:
                    execution.session.switched = target
                self._move(execution, plans.resolve(execution.group.con_id, target))

    def _cancel(self, execution: Execution, *, killed: bool) -> None:
        if not killed:
            _count(self._cluster, execution, Count.SQL_CANCELED)
        execution.session.canceled += 1
        execution.session.transient = execution.session.transient or killed
        self.abort(execution)

    # Commands from outside

    def abort(self, execution: Execution) -> None:
        """End a call in any phase: in a queue, running, or holding its cursor; do nothing if it has ended."""
        if self.executions.get(execution.session) is not execution:
            return
        if execution.phase is Phase.POOL:
            self.pools.drop(execution)
            self._end(execution)
        elif execution.phase is Phase.QUEUED:
            self.queue.release(execution.entry)
            _note_queue_wait(self._cluster, execution)
            self._end(execution)
        else:
            if execution in self.running:
                self.running.remove(execution)
            self._close(execution)

    def dequeue(self, execution: Execution) -> None:
        """Start a queued statement now, regardless of the limits."""
        self.queue.force(execution.entry)
        self._start(execution)

    def reassign(self, execution: Execution, name: str) -> None:
        """Switch a call, running or queued, to another consumer group."""
        group = self._cluster.plans.resolve(execution.group.con_id, name)
        execution.switched = name
        if execution.phase is Phase.QUEUED:
            self.queue.requeue(execution.entry, group)
            execution.group = group
        elif execution.phase is not Phase.POOL:
            self._move(execution, group)

    def _move(self, execution: Execution, group: Group) -> None:
        if group == execution.group:
            return
        _count(self._cluster, execution, Count.SWITCHES_OUT_CPU_TIME)
        pool = (execution.session.inst_id, execution.group)
        execution.group = group
        self.queue.move(execution.entry, group)
        _count(self._cluster, execution, Count.SWITCHES_IN_CPU_TIME)
        self._cluster.dirty = True
        self._fill_pool(*pool)

    def remap(self) -> None:
        """Move all sessions and calls to the groups that they have under the active plans."""
        plans = self._cluster.plans
        groups = {}
        for execution in self.executions.values():
            session = execution.session
            execution.group = plans.resolve(session.con_id, execution.switched or session.wants_group)
            groups[execution.number] = execution.group
        for machine in self._cluster.machines:
            for pool in machine.pools:
                pool.group = plans.resolve(pool.sessions[0].con_id, pool.spec.group)
        self.queue.change(plans.limits, groups)
        for instance_and_group in self.pools.regroup():
            self._fill_pool(*instance_and_group)


def set_queue_rates(cluster: Cluster, executions: Iterable[Execution]) -> None:
    """Add the queued and running parallel statements to the rates of the counters that integrate their time."""
    for execution in executions:
        rates = cluster.account(execution.session.inst_id, execution.group).rates
        entry: QueueEntry = execution.entry
        if execution.phase is Phase.QUEUED:
            rates[Count.PQ_QUEUED_TIME] += 1.0
            rates[Count.QUEUED_SERVER_SECONDS] += entry.needs
        elif execution.phase is Phase.POOL:
            rates[Count.QUEUED_TIME] += 1.0
        elif execution.servers and entry.managed:
            rates[Count.ACTIVE_STATEMENT_SECONDS] += 1.0
            for inst_id, threads in execution.threads.items():
                account = cluster.account(inst_id, execution.group)
                account.rates[Count.ACTIVE_SERVER_SECONDS] += threads * entry.sets


def _assign_servers(execution: Execution, machines: Sequence[Machine], skew: Random) -> None:
    """Distribute the servers over the instances: each is allocated on the instance with most free servers."""
    entry = execution.entry
    skews = even_skews(entry.servers, _SKEW, skew)
    for index in range(entry.servers):
        # Of equally free instances the first is taken: the same seed gives the same servers.
        machine = max(machines, key=lambda each: (each.names.free, -each.inst_id))
        sid, serial = machine.sids.take()
        set_, position = divmod(index, entry.degree)
        number = machine.names.take()
        execution.servers.append(Server(machine.inst_id, number, sid, serial, set_ + 1, position + 1, skews[index]))
        threads = execution.threads
        threads[machine.inst_id] = threads.get(machine.inst_id, 0.0) + 1 / entry.sets
    if not entry.servers:
        execution.threads[execution.session.inst_id] = 1.0


def _count(cluster: Cluster, execution: Execution, what: Count, amount: float = 1.0) -> None:
    cluster.count(execution.session.inst_id, execution.group, what, amount)


def _note_queue_wait(cluster: Cluster, execution: Execution) -> None:
    if (waited := cluster.now - execution.queued_at) > 0:
        execution.session.pq_queued += waited
        cluster.machines[execution.session.inst_id - 1].events["resmgr:pq queued"].record_one(waited)
