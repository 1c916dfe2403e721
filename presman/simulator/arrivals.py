"""Who connects and what arrives when: pools of sessions, streams of statements, scripted statements."""

from __future__ import annotations

from collections import deque
from itertools import count
from math import pi, sin
from random import Random
from typing import TYPE_CHECKING

from presman.simulator.scenario import Client, ScriptedStatement, StatementStream
from presman.simulator.scheduler import Ticket
from presman.simulator.sessions import Execution, Pool, Session
from presman.simulator.statements import Library, Parsed, parse, sql_id_of

if TYPE_CHECKING:
    from presman.simulator.simulation import Simulation
    from presman.simulator.workload import Workload


class Stream:
    """One :class:`StatementStream` at play: its idle sessions and its own source of chance."""

    def __init__(self, spec: StatementStream, seed: str) -> None:
        self.spec = spec
        self.random = Random(seed)
        self.idle: deque[Session] = deque()
        self.client = Client(spec.user, spec.program, spec.machine, spec.module or spec.name, spec.service)
        noun = spec.name.replace(" ", "_")
        hint = "/*+ parallel */ " if spec.reason == "hint" else ""
        self.texts = spec.sql or tuple(
            f"select {hint}d.month, sum(f.amount) from {noun}_{n} f, days d where f.day = d.day group by d.month"
            for n in range(1, 4)
        )


class Arrivals:
    """Connects sessions and lets statements arrive; what becomes of them is the workload's matter."""

    def __init__(self, simulation: Simulation, workload: Workload) -> None:
        self._simulation = simulation
        self._workload = workload
        self._numbers = count(1)
        self._turn = count()
        self.library = Library()
        scenario, seed = simulation.scenario, simulation.seed
        for index in range(len(scenario.pools)):
            self._connect_pool(index)
        self._streams = [Stream(spec, f"{seed}/stream/{index}") for index, spec in enumerate(scenario.streams)]
        for stream in self._streams:
            self._open(stream)
        for one in scenario.script:
            simulation.at(one.at, lambda one=one: self._play(one))  # type: ignore[misc]

    def _connect(self, client: Client, group: str, pdb: str, inst_id: int = 0, sid: int | None = None) -> Session:
        simulation = self._simulation
        inst_id = inst_id or next(self._turn) % len(simulation.machines) + 1
        sid, serial = simulation.machines[inst_id - 1].sids.take(sid)
        con_id = simulation.scenario.con_id(pdb)
        session = Session(inst_id, con_id, sid, serial, client, group, simulation.now, changed=simulation.now)
        self._workload.sessions.append(session)
        return session

    def _connect_pool(self, index: int) -> None:
        simulation = self._simulation
        spec = simulation.scenario.pools[index]
        random = Random(f"{simulation.seed}/pool/{index}")
        client = Client(spec.user, spec.program, spec.machine, spec.module or spec.name, spec.service)
        instances = len(simulation.machines)
        for machine in simulation.machines:
            number = spec.count // instances + (machine.inst_id <= spec.count % instances)
            sessions = [self._connect(client, spec.group, spec.pdb, machine.inst_id) for _ in range(number)]
            if not sessions:
                continue
            for session in sessions:
                session.logon -= random.random() * 8 * 3600
            pool = Pool(spec, machine.inst_id, sessions, random)
            pool.group = simulation.governance.resolve(sessions[0].con_id, spec.group)
            serial = Parsed(1, "", False)
            pool.cursors += [
                self.library.cursor(text, spec.user, 1, 1, serial, simulation.now, sql_id_of(text)) for text in spec.sql
            ]
            machine.pools.append(pool)

    def _open(self, stream: Stream) -> None:
        spec, simulation = stream.spec, self._simulation
        for _ in range(spec.sessions):
            session = self._connect(stream.client, spec.group, spec.pdb)
            session.logon -= stream.random.random() * 6 * 3600
            stream.idle.append(session)
        if spec.every is not None:
            self._schedule(stream)
        if spec.burst_every is not None:
            simulation.at(simulation.now + stream.random.random() * spec.burst_every, lambda: self._burst(stream))

    def _schedule(self, stream: Stream) -> None:
        spec, now = stream.spec, self._simulation.now
        wave = 1.0 + spec.wave.depth * sin(2 * pi * now / spec.wave.period)
        gap = stream.random.expovariate(1.0) * (spec.every or 1.0) / max(0.1, wave)
        self._simulation.at(now + gap, lambda: self._next(stream))

    def _next(self, stream: Stream) -> None:
        self._arrive(stream)
        self._schedule(stream)

    def _burst(self, stream: Stream) -> None:
        for _ in range(stream.spec.burst):
            self._arrive(stream)
        self._simulation.at(self._simulation.now + (stream.spec.burst_every or 60.0), lambda: self._burst(stream))

    def _arrive(self, stream: Stream) -> None:
        spec, random = stream.spec, stream.random
        asked, text = random.choice(spec.dop), random.choice(stream.texts)
        work = spec.work * random.lognormvariate(0.0, spec.spread)
        hold = spec.hold * random.lognormvariate(0.0, 0.5) if random.random() < spec.hold_chance else 0.0
        if stream.idle:
            session = stream.idle.popleft()
        else:
            session = self._connect(stream.client, spec.group, spec.pdb)
            session.transient = True
        self._workload.enter(self._parse(session, spec, stream, text, asked, work, hold))

    def _play(self, one: ScriptedStatement) -> None:
        client = Client(one.user, one.program, one.machine, one.module, one.service)
        session = self._connect(client, one.group, one.pdb, 1, one.sid)
        session.transient = True
        session.serial = one.serial or session.serial
        self._workload.enter(self._parse(session, one, None, one.sql, one.dop, one.seconds, one.hold))

    def _parse(
        self,
        session: Session,
        spec: StatementStream | ScriptedStatement,
        stream: Stream | None,
        text: str,
        asked: int,
        work: float,
        hold: float,
    ) -> Execution:
        simulation = self._simulation
        capacity = simulation.scenario.capacity
        policy = capacity.parallel_degree_policy
        group = simulation.governance.resolve(session.con_id, session.wants_group)
        rule = simulation.governance.limits.rule(group)
        parsed = parse(asked, spec.reason, policy, capacity.degree_limit, rule.degree_limit)
        sql_id = (spec.sql_id if isinstance(spec, ScriptedStatement) else "") or sql_id_of(text)
        user = session.client.user
        cursor = self.library.cursor(text, user, asked, spec.sets, parsed, simulation.now, sql_id)
        queues = spec.queue == "always" or (spec.queue == "policy" and policy in {"AUTO", "ADAPTIVE"})
        number, now = next(self._numbers), simulation.now
        ticket = Ticket(number, group, parsed.dop, spec.sets, now, queues)
        return Execution(number, session, cursor, ticket, group, spec.cpu, spec.mb, work, work, hold, now, stream)

    def forget(self, session: Session) -> None:
        """Take an idle session out of its stream: it was ended."""
        for stream in self._streams:
            if session in stream.idle:
                stream.idle.remove(session)

    def end(self, execution: Execution) -> None:
        """Give the session of an ended statement back to its stream, or let it log off."""
        session = execution.session
        if session.transient:
            self._workload.disconnect(session)
        elif execution.stream is not None:
            execution.stream.idle.append(session)
