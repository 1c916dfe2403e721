"""Arrivals: the sessions of pools, the statements of streams and of the script, and the times at which they arrive."""

from functools import partial
from math import pi, sin
from random import Random

from presman.forecast.scheduler import QueueEntry
from presman.sources.simulator.cluster import Cluster
from presman.sources.simulator.executions import Execution, SessionStream, SimulatedSession, Stream, background
from presman.sources.simulator.parsing import Cursor, Parsed, parse, sql_id_of
from presman.sources.simulator.scenario import Client, ScriptedStatement, StatementStream
from presman.sources.simulator.workload import Workload


class Incoming:
    """Connects sessions and submits statements to the workload."""

    def __init__(self, cluster: Cluster, workload: Workload) -> None:
        self._cluster = cluster
        self._workload = workload
        self._number = self._turn = 0
        scenario, seed = cluster.scenario, cluster.seed
        for index in range(len(scenario.pools)):
            self._connect_pool(index)
        self._streams = [Stream(spec, f"{seed}/stream/{index}") for index, spec in enumerate(scenario.streams)]
        for stream in self._streams:
            self._open(stream)
        for statement in scenario.script:
            cluster.at(statement.at, partial(self._play, statement))

    def _connect(
        self, client: Client, group: str, pdb: str, inst_id: int = 0, sid: int | None = None
    ) -> SimulatedSession:
        cluster = self._cluster
        if not inst_id:
            machines = cluster.open_machines
            inst_id = machines[self._turn % len(machines)].inst_id
            self._turn += 1
        sid, serial = cluster.machines[inst_id - 1].sids.take(sid)
        con_id = cluster.scenario.con_id(pdb)
        session = SimulatedSession(inst_id, con_id, sid, serial, client, group, cluster.now, changed=cluster.now)
        self._workload.sessions.append(session)
        return session

    def _connect_pool(self, index: int) -> None:
        cluster = self._cluster
        spec = cluster.scenario.pools[index]
        random = Random(f"{cluster.seed}/pool/{index}")
        module = spec.module or spec.name
        client = Client(spec.user, spec.program, spec.machine, module, spec.service, spec.action, spec.client_id)
        instances = len(cluster.machines)
        for machine in cluster.machines:
            number = spec.count // instances + (machine.inst_id <= spec.count % instances)
            sessions = [self._connect(client, spec.group, spec.pdb, machine.inst_id) for _ in range(number)]
            if not sessions:
                continue
            for session in sessions:  # they logged on during the last working day
                session.logon -= random.random() * 8 * 3600
            pool = SessionStream(spec, machine.inst_id, sessions, random)
            pool.group = cluster.plans.resolve(sessions[0].con_id, spec.group)
            pool.cursors += [self._serial(text, spec.user) for text in spec.sql]
            machine.pools.append(pool)

    def _open(self, stream: Stream) -> None:
        spec, cluster = stream.spec, self._cluster
        for _ in range(spec.sessions):
            session = self._connect(stream.client, spec.group, spec.pdb)
            session.logon -= stream.random.random() * 6 * 3600
            stream.idle.append(session)
        if spec.every is not None:
            self._schedule(stream)
        if spec.burst_every is not None:
            cluster.at(cluster.now + stream.random.random() * spec.burst_every, partial(self._burst, stream))

    def _schedule(self, stream: Stream) -> None:
        spec, now = stream.spec, self._cluster.now
        wave = 1.0 + spec.wave.depth * sin(2 * pi * now / spec.wave.period)
        # Random arrivals that do not know of each other (a Poisson process), more of them at the crest of the wave.
        gap = stream.random.expovariate(1.0) * (spec.every or 1.0) / max(0.1, wave)
        self._cluster.at(now + gap, partial(self._next, stream))

    def _next(self, stream: Stream) -> None:
        self._arrive(stream)
        self._schedule(stream)

    def _burst(self, stream: Stream) -> None:
        for _ in range(stream.spec.burst):
            self._arrive(stream)
        self._cluster.at(self._cluster.now + (stream.spec.burst_every or 60.0), partial(self._burst, stream))

    def _arrive(self, stream: Stream) -> None:
        spec, random = stream.spec, stream.random
        asked, text = random.choice(spec.dop), random.choice(stream.texts)
        work = spec.work * random.lognormvariate(0.0, spec.spread)
        hold = spec.hold * random.lognormvariate(0.0, 0.5) if random.random() < spec.hold_chance else 0.0
        session = next((each for each in stream.idle if each.inst_id not in self._cluster.down), None)
        if session is not None:
            stream.idle.remove(session)
        else:  # all its sessions are busy: another connects, and logs off after its statement
            session = self._connect(stream.client, spec.group, spec.pdb)
            session.transient = True
        self._workload.enter(self._parse(session, spec, stream, text, asked, work, hold))

    def _play(self, spec: ScriptedStatement) -> None:
        client = Client(spec.user, spec.program, spec.machine, spec.module, spec.service)
        if spec.process:
            client = background(self._cluster.scenario.header.host, spec.instance, spec.process)
        session = self._connect(client, spec.group, spec.pdb, spec.instance, spec.sid)
        session.transient = True
        session.serial = spec.serial or session.serial
        execution = self._parse(session, spec, None, spec.sql, spec.dop, spec.seconds, spec.hold)
        if spec.then:
            execution.then = self._serial(spec.then, spec.user)
        execution.blocker, execution.servers_blocked = spec.blocked_by, spec.servers_blocked
        execution.status, execution.waits_for = spec.status, spec.waits_for
        self._workload.enter(execution)

    def _serial(self, text: str, user: str) -> Cursor:
        return self._cluster.library.cursor(text, user, 1, 1, Parsed(1, "", False), self._cluster.now, sql_id_of(text))

    def _parse(
        self,
        session: SimulatedSession,
        spec: StatementStream | ScriptedStatement,
        stream: Stream | None,
        text: str,
        asked: int,
        work: float,
        hold: float,
    ) -> Execution:
        cluster = self._cluster
        capacity = cluster.scenario.capacity
        policy = capacity.parallel_degree_policy
        group = cluster.plans.resolve(session.con_id, session.wants_group)
        rule = cluster.plans.limits.rule(group)
        parsed = parse(asked, spec.reason, policy, capacity.degree_limit, rule.degree_limit)
        sql_id = (spec.sql_id if isinstance(spec, ScriptedStatement) else "") or sql_id_of(text)
        user = session.client.user
        cursor = self._cluster.library.cursor(text, user, asked, spec.sets, parsed, cluster.now, sql_id, spec.trees)
        queues = spec.queue == "always" or (spec.queue == "policy" and policy in {"AUTO", "ADAPTIVE"})
        self._number += 1
        number, now = self._number, cluster.now
        entry = QueueEntry(number, group, parsed.dop, spec.sets, now, queues)
        return Execution(number, session, cursor, entry, group, spec.cpu, spec.mb, work, work, hold, stream)

    def forget(self, session: SimulatedSession) -> None:
        """Remove an idle session that was ended from its stream."""
        for stream in self._streams:
            if session in stream.idle:
                stream.idle.remove(session)
