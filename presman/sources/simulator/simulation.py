"""The simulation: a clock, a calendar of events, and the flow of CPU between them.

Between two events every rate is constant; at an event, demand and shares are computed again. Time is in seconds; at 0
presman opens the source, and the warm-up runs before that. The state at an instant depends only on the scenario, the
seed, and the instants that the simulation was advanced to.
"""

from array import array
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from heapq import heappop
from math import inf
from operator import sub
from random import Random
from typing import NamedTuple

from presman.base.release import Release
from presman.forecast.scheduler import Group
from presman.sources.simulator import scenario as specs
from presman.sources.simulator.cluster import Cluster
from presman.sources.simulator.counters import HISTORY, GroupCounters, Minute
from presman.sources.simulator.executions import SimulatedSession
from presman.sources.simulator.incoming import Incoming
from presman.sources.simulator.machine import RESERVED, Machine
from presman.sources.simulator.parsing import sql_id_of
from presman.sources.simulator.plan_tree import hand_out
from presman.sources.simulator.scenario import OTHER_GROUPS, OWN_SID, Client, MonitorSpec, Scenario
from presman.sources.simulator.workload import Workload, set_queue_rates

# ---- Monitors: sessions that query GV$ views, for which a cluster has separate parallel servers (PZnn) on each
# instance. presman itself is one of them. Neither the queue nor the consumer groups count these servers.

_HIGHEST = 99
"""Servers of GV$ queries are named from PZ99 downwards."""

_OWN_SQL = "SELECT inst_id, sid FROM gv$px_session"
OWN = MonitorSpec("presman", 1.0, 1.0, "PRESMAN", "presman", "dba01", "presman", _OWN_SQL)
"""presman's own session: it always appears in the middle of a query, because its query reads the view."""


class GvServer(NamedTuple):
    """A server process that reads the views of one instance for a GV$ query."""

    inst_id: int
    name: str
    sid: int


class GvMonitor:
    """One monitor: its session on the first instance, and a server on every instance of a cluster while it queries."""

    def __init__(self, spec: MonitorSpec, machines: list[Machine], con_id: int, number: int, start: float) -> None:
        self.spec = spec
        self.sql_id = sql_id_of(spec.sql)
        client = Client(spec.user, spec.program, spec.machine, spec.module, "SYS$USERS")
        first = machines[0]
        sid, serial = (OWN_SID, 1) if spec is OWN else first.sids.take()
        self.session = SimulatedSession(first.inst_id, con_id, sid, serial, client, OTHER_GROUPS, start, changed=start)
        name = f"PZ{_HIGHEST - number:02}"
        self.helpers: list[GvServer] = []
        if len(machines) > 1:
            self.helpers = [GvServer(machine.inst_id, name, machine.sids.take()[0]) for machine in machines]

    def is_querying(self, now: float) -> bool:
        """Return whether one of its queries is running."""
        return now % self.spec.every < self.spec.takes

    def began(self, now: float) -> float:
        """Return when its latest query began."""
        return now - now % self.spec.every

    def serial(self, now: float) -> int:
        """Return the SERIAL# of its servers, which is different for every query."""
        return 1 + int(now // self.spec.every) % 65_000


# ---- Simulation

STEP = 1.0
"""Seconds between updates of activity, waits and switch times."""
COARSE = 10.0
"""The same during the warm-up."""
_ITERATIONS = 8
"""Iterations of CPU and I/O: I/O that is held back needs less CPU, with which other sessions do more I/O."""

_FREED = 15.0
"""Seconds until servers of a lost instance's statements on other instances are freed; Oracle documents no number."""

EPOCH = datetime(2026, 3, 12, 9, tzinfo=UTC)
"""The default time of the simulated instant 0."""


class Simulation(Cluster):
    """One simulated database: its instances, plans and workload."""

    def __init__(self, scenario: Scenario, release: Release, seed: int, step: float = STEP) -> None:
        super().__init__(scenario, release, seed)
        self.step = step
        self.origin = EPOCH
        self.own_sid = OWN_SID
        root = 1 if self.plans.cdb else 0
        monitors = enumerate((OWN, *scenario.monitors))
        self.monitors = [GvMonitor(spec, self.machines, root, number, self.born) for number, spec in monitors]
        self.minutes: deque[list[Minute]] = deque(maxlen=HISTORY)
        """The closed intervals of the metrics in the last hour, oldest first; the open interval began at `opened`."""
        self.opened = self.now
        self._minutes = Random(f"{seed}/minutes")
        self.fractions: dict[int, dict[Group, float]] = {machine.inst_id: {} for machine in self.machines}
        self._finish = self._timeout = inf
        self.workload = Workload(self)
        self.incoming = Incoming(self, self.workload)
        for pool in (pool for machine in self.machines for pool in machine.pools):
            pool.change_activity(self.now, COARSE)
        for change in scenario.changes:
            self.at(change.at, partial(self._change_plan, change))
        for alteration in scenario.alterations:
            self.at(alteration.at, partial(self._alter, alteration))
        self.at(self.now, self._tick)
        self._noted = self.now
        self.at(self.now + 60.0, self._close_minute)
        self.open_accounts()
        self.settle()

    def advance(self, to: float, is_unwanted: Callable[[], bool] = bool) -> None:
        """Run all events up to and including the instant `to`; do nothing if it is in the past.

        It ends early once `is_unwanted` returns True.
        """
        while not is_unwanted():
            due = self.calendar[0][0]
            when = min(due, self._finish, self._timeout)
            if when > to:
                break
            self._flow(max(0.0, when - self.now))
            self.now = max(self.now, when)
            if when == due:
                heappop(self.calendar)[2]()
            self.workload.expire()
            self.workload.finish_done()
            self.settle()
        if to > self.now and not is_unwanted():
            self._flow(to - self.now)
            self.now = to

    def _flow(self, seconds: float) -> None:
        if seconds <= 0:
            return
        for machine in self.machines:
            machine.flow(seconds)
        for execution in self.workload.running:
            execution.flow(seconds)

    def settle(self) -> None:
        """Apply all changes at the current instant: start queued statements, and allocate CPU again."""
        self.workload.pump()
        if self.dirty:
            self._balance()
            self.dirty = False
        ends = (self.now + max(0.0, run.left) / run.speed for run in self.workload.running if run.speed > 0)
        self._finish = min(ends, default=inf)
        timeout = self.workload.queue.next_timeout()
        self._timeout = inf if timeout is None else timeout

    def _balance(self) -> None:
        """Allocate CPU on every instance for the current demand, and set all rates."""
        plans, running = self.plans, self.workload.running
        for execution in running:
            execution.cpu_rate = execution.wait_rate = execution.mb_rate = 0.0
        for machine in self.machines:
            wanted, given = self._hand_out(machine)
            fractions = machine.settle(wanted, given, plans.background)
            self.fractions[machine.inst_id] = fractions
            for pool in machine.pools:
                machine.add_pool(pool, fractions[pool.group], plans.managed)
            for execution in running:
                if machine.inst_id in execution.threads:
                    machine.add_execution(execution, fractions[execution.group], plans.managed)
        for execution in running:
            threads, group = sum(execution.threads.values()), execution.group
            paces = {inst: self.machines[inst - 1].pace_for(execution) for inst in execution.threads}
            gained = sum(n * self.fractions[inst][group] for inst, n in execution.threads.items())
            done = sum(n * self.fractions[inst][group] * paces[inst] for inst, n in execution.threads.items())
            execution.fraction, execution.pace = gained / threads, done / gained if gained else 1.0
            entry = execution.entry
            # The work is that of the full DOP: a statement that runs with fewer servers takes longer in proportion.
            execution.speed = done / threads * entry.degree / entry.dop
        set_queue_rates(self, self.workload.executions.values())

    def _hand_out(self, machine: Machine) -> tuple[dict[Group, float], dict[Group, float]]:
        """Return the CPUs that each group demands on an instance and those it gets, given the I/O limits."""
        running, room, root = self.workload.running, machine.capacity.cpu_count - RESERVED, self.plans.root
        machine.paces = {}
        for iteration in range(_ITERATIONS):
            wanted = machine.demand(running)
            if root is None:  # the operating system divides CPU: every group gets the same fraction of its demand
                asked = sum(wanted.values())
                part = 1.0 if asked <= room else room / asked
                given = {group: want * part for group, want in wanted.items()}
            else:
                given = hand_out(root, wanted, room)
            is_last = not machine.limits or iteration == _ITERATIONS - 1
            if is_last or not machine.set_paces(running, machine.fractions(wanted, given)):
                break
        return wanted, given

    def _tick(self) -> None:
        """Update the activity of the pools, count waits, and switch statements that have run too long."""
        seconds = self.now - self._noted
        self._noted = self.now
        step = COARSE if self.now < -COARSE / 2 else self.step
        for machine in self.machines:
            if seconds > 0:
                busy = sum(1 for each in self.workload.running if each.session.inst_id == machine.inst_id)
                machine.observe(seconds, self.fractions[machine.inst_id], busy)
            for pool in machine.pools:
                pool.change_activity(self.now, step)
        self.workload.switch()
        self.dirty = True
        self.at(self.now + step, self._tick)

    def _close_minute(self) -> None:
        """Close the interval of V$RSRCMGRMETRIC: about a minute, but as on a real database not exactly."""
        rows = []
        for machine in self.machines:
            for group in [*self.plans.groups, self.plans.background]:
                rows.append(self._minute(machine, group, machine.account(group)))
            for account in machine.accounts.values():
                account.mark = account.totals
            machine.exhausted_mark = machine.exhausted
        self.minutes.append(rows)
        self.opened = self.now
        self.at(self.now + 60.0 + self._minutes.randrange(0, 12) / 100, self._close_minute)

    def _minute(self, machine: Machine, group: Group, account: GroupCounters) -> Minute:
        ceiling, servers = self.plans.ceilings.get(group, 1.0), self.plans.servers_limit(group)
        exhausted = (machine.exhausted - machine.exhausted_mark) / (self.now - self.opened)
        deltas = array("d", map(sub, account.totals, account.mark))
        where = machine.inst_id, group, self.opened, self.now
        return Minute(*where, machine.capacity.cpu_count, ceiling, servers, exhausted, deltas)

    def _alter(self, change: specs.Alteration) -> None:
        if change.restart is not None:
            self._crash(change.restart)
            self.at(self.now + change.takes, partial(self._restart, change.restart))
            return
        self.scenario = self.plans.scenario = self.scenario.altered(change)
        self._apply_plans()

    def _apply_plans(self) -> None:
        self.plans.instances = len(self.open_machines)
        self.plans.rebuild()
        self.workload.remap()
        self.dirty = True

    def _crash(self, inst_id: int) -> None:
        """Crash an instance: statements with servers on it fail at once.

        Statements that it coordinates keep their servers on other instances for a moment.
        """
        self.down = self.down | {inst_id}
        self._apply_plans()
        for execution in list(self.workload.executions.values()):
            has = {server.inst_id for server in execution.servers}
            if execution.session.inst_id != inst_id and inst_id in has:
                self.workload.abort(execution)
            elif execution.session.inst_id == inst_id:
                later = _FREED if has - {inst_id} else 0.0
                self.at(self.now + later, partial(self.workload.abort, execution))

    def _restart(self, inst_id: int) -> None:
        self.down = self.down - {inst_id}
        self.started[inst_id] = self.now
        machine = self.machines[inst_id - 1]
        machine.restart()
        for session in (*machine.background, *self.workload.sessions):
            if session.inst_id == inst_id:
                session.serial, session.logon, session.changed = session.serial + 1, self.now, self.now
                session.cpu = session.wait = session.pq_queued = session.pq_active = 0.0
        self._apply_plans()

    def _change_plan(self, change: specs.PlanChange) -> None:
        con_id = self.scenario.con_id(change.pdb)
        self.plans.change(con_id, change.plan.upper(), self.now, change.window)
        self.open_accounts()
        # Counters restart with the plan of their own container only (Database Reference, V$RSRC_CONSUMER_GROUP).
        for machine in self.machines:
            for group, account in machine.accounts.items():
                if group.con_id == con_id:
                    account.base = account.totals
        self.workload.remap()
        self.dirty = True
        if change.every is not None:
            self.at(self.now + change.every, partial(self._change_plan, change))


def warmed(
    scenario: Scenario, release: Release, seed: int, step: float, is_unwanted: Callable[[], bool] = bool
) -> Simulation:
    """Return a simulation after its warm-up, at the instant 0, or earlier if `is_unwanted` returns True."""
    simulation = Simulation(scenario, release, seed, step)
    simulation.advance(0.0, is_unwanted)
    return simulation
