"""Views of Resource Manager: active plans, consumer groups, their metrics and history, PDBs."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from operator import sub

from presman.forecast.scheduler import Group
from presman.rows.group_rows import IO_COLUMNS
from presman.sources.simulator.cluster import BACKGROUND, ROOT
from presman.sources.simulator.counters import Count, Minute
from presman.sources.simulator.executions import Phase
from presman.sources.simulator.machine import Machine
from presman.sources.simulator.simulation import Simulation
from presman.sources.simulator.views.view import Row, View, in_ms, of_instances, when

_OF_PDB = (
    f"CPU_WAIT_TIME CPU_WAITS CONSUMED_CPU_TIME YIELDS IO_SERVICE_TIME IO_SERVICE_WAITS {' '.join(IO_COLUMNS).upper()}"
    " PQS_COMPLETED PQ_SERVERS_USED PQS_QUEUED PQ_ACTIVE_TIME PQ_QUEUED_TIME PQ_QUEUE_TIME_OUTS"
)
_OF_GROUP = (
    f"{_OF_PDB} REQUESTS QUEUED_TIME ACTIVE_SESSION_LIMIT_HIT QUEUE_TIME_OUTS SWITCHES_IN_CPU_TIME"
    " SWITCHES_OUT_CPU_TIME SQL_CANCELED"
)
"""The counters in views of containers, and in views of groups."""
# Seconds here, milliseconds in the views. SWITCHES_IN_CPU_TIME and SWITCHES_OUT_CPU_TIME are numbers of switches.
_IN_MS = {each for each in Count if each.name.endswith("_TIME") and not each.name.startswith("SWITCHES")}
_IO = [Count[name.upper()] for name in IO_COLUMNS]
_MEGABYTES, _REQUESTS = _IO[:4], _IO[4:]
_SGA = 24 << 30
_PGA_EACH = 9 << 20
"""Bytes of all PDBs together, and of one session."""


def _counted(names: str, totals: Sequence[float]) -> Iterator[int]:
    """Return the counters of a view, in the order of its columns `names`: times in milliseconds."""
    return (int(totals[count] * times) for count, times in _counts(names))


@cache
def _counts(names: str) -> tuple[tuple[int, int], ...]:
    """Return the index and the factor of each counter; cached, because every row needs them."""
    return tuple((int(Count[name]), 1000 if Count[name] in _IN_MS else 1) for name in names.split())


def _rsrc_plan(simulation: Simulation, machine: Machine) -> Iterator[Row]:
    in_force, capacity, pdbs = simulation.plans, simulation.scenario.capacity, simulation.scenario.pdbs
    managed = "ON" if in_force.managed else "OFF"
    caged = "ON" if in_force.managed and capacity.caged else "OFF"
    unlimited = (None, None, None, None)
    plans: list[tuple[int, str, str, tuple[object, ...]]]
    plans = [(ROOT if in_force.cdb else 0, in_force.top, "TRUE", unlimited)]
    plans += [(0, name, "FALSE", unlimited) for name in in_force.subplans]
    for pdb in pdbs:
        if name := in_force.active[pdb.con_id]:
            given = pdb.directive
            directive = (given.shares or 1, given.utilization_limit, given.parallel_server_limit, given.profile or None)
            plans.append((pdb.con_id, name, "TRUE", directive))
    targets = {pdb.con_id: pdb.directive.parallel_servers_target for pdb in pdbs}
    for con_id, name, top, limits in plans:
        yield (
            *(name, top, managed, caged, machine.names.in_use, targets.get(con_id) or capacity.target),
            *(in_force.limits.queueing.value, con_id, *limits),
        )


def _plan_history(simulation: Simulation, _: Machine) -> Iterator[Row]:
    for each in simulation.plans.windows:
        yield (
            *(each.sequence, each.plan or None, when(simulation, each.start), when(simulation, each.end)),
            *("TRUE" if each.window else "FALSE", each.window or None, "TRUE", each.con_id),
        )


class Gauges:
    """The current activity of each group on one instance, counted from the executions and pools."""

    def __init__(self, simulation: Simulation, machine: Machine) -> None:
        self.active, self.statements = Counter[Group](), Counter[Group]()
        self.servers, self.queued = Counter[Group](), Counter[Group]()
        inst_id = machine.inst_id
        for pool in machine.pools:
            self.active[pool.group] += sum(pool.split())
        for execution in simulation.workload.executions.values():
            group, here = execution.group, execution.session.inst_id == inst_id
            if here and execution.phase in {Phase.QUEUED, Phase.RUNNING}:
                self.active[group] += 1
            if here and execution.phase is Phase.QUEUED:
                self.queued[group] += 1
            mine = sum(1 for server in execution.servers if server.inst_id == inst_id)
            self.active[group] += mine
            if execution.entry.managed and execution.servers:
                self.servers[group] += mine
                self.statements[group] += int(here)


def _consumer_group(simulation: Simulation, machine: Machine) -> Iterator[Row]:
    in_force, gauges = simulation.plans, Gauges(simulation, machine)
    for group in (*in_force.groups, in_force.background):
        account = machine.account(group)
        waiting = simulation.workload.pools.waiting(machine.inst_id, group)
        yield (
            *(in_force.id_of(group.name), group.name, group.con_id, gauges.active[group]),
            *(round(account.rates[Count.CPU_WAIT_TIME]), waiting, gauges.statements[group]),
            *(gauges.servers[group], gauges.queued[group]),
            *_counted(_OF_GROUP, list(map(sub, account.totals, account.base))),
        )


_AVERAGED = (
    *(Count.CONSUMED_CPU_TIME, Count.CPU_WAIT_TIME, Count.ACTIVE_STATEMENT_SECONDS, Count.PQ_QUEUED_TIME),
    *(Count.ACTIVE_SERVER_SECONDS, Count.QUEUED_SERVER_SECONDS),
)


def _of_minute(simulation: Simulation, minute: Minute, deltas: Sequence[float]) -> Iterator[object]:
    """Yield the columns that V$RSRCMGRMETRIC and V$RSRCPDBMETRIC have in common, in the order of `_MINUTE`."""
    seconds = minute.end - minute.begin
    yield from (minute.inst_id, when(simulation, minute.begin), when(simulation, minute.end), round(seconds * 100))
    yield from (minute.group.con_id, round(100 * minute.exhausted, 3), minute.num_cpus)
    yield from (in_ms(deltas[Count.CONSUMED_CPU_TIME]), in_ms(deltas[Count.CPU_WAIT_TIME]))
    yield from (round(deltas[count] / seconds, 6) for count in _AVERAGED)


def _last_minute(simulation: Simulation) -> Sequence[Minute]:
    return simulation.minutes[-1] if simulation.minutes else ()


def _by_group(simulation: Simulation, minutes: Iterable[Minute]) -> Iterator[Row]:
    for minute in _since_startup(simulation, minutes):
        yield (
            *_of_minute(simulation, minute, minute.deltas),
            *(minute.group.name, round(minute.limit * minute.num_cpus, 4), round(100 * minute.limit, 4)),
            *(int(sum(minute.deltas[count] for count in counts)) for counts in (_REQUESTS, _MEGABYTES)),
            minute.servers_limit,
        )


def _since_startup(simulation: Simulation, minutes: Iterable[Minute]) -> Iterator[Minute]:
    """Yield the minutes since the startup of the instance, because a restart clears the views."""
    return (each for each in minutes if each.begin >= simulation.started.get(each.inst_id, each.begin))


def _by_pdb(simulation: Simulation, rows: Iterable[Minute]) -> Iterator[Row]:
    capacity = simulation.scenario.capacity
    sums: dict[tuple[int, int, float], tuple[Minute, Sequence[float]]] = {}
    for minute in _since_startup(simulation, rows) if simulation.plans.cdb else ():
        if minute.group.name == BACKGROUND:
            continue
        key = (minute.inst_id, minute.group.con_id, minute.begin)
        known = sums.get(key)
        total = [a + b for a, b in zip(known[1], minute.deltas, strict=True)] if known else minute.deltas
        sums[key] = (minute, total)
    given = {pdb.con_id: pdb.directive for pdb in simulation.scenario.pdbs}
    whole = capacity.target * capacity.instances
    for (_, con_id, _), (minute, deltas) in sums.items():
        percent = 100 * given[con_id].cpu_limit(capacity.cpu_count)
        limit, seconds = given[con_id].servers_limit(whole, capacity.instances), minute.end - minute.begin
        requests, megabytes = (sum(deltas[count] for count in counts) for counts in (_REQUESTS, _MEGABYTES))
        throttle = round(1000 * deltas[Count.IO_THROTTLE] / requests, 6) if requests else 0.0  # ms for each I/O
        yield (
            *_of_minute(simulation, minute, deltas),
            *(minute.num_cpus * percent / 100, percent, whole if limit is None else limit, throttle),
            *(round(requests / seconds, 6), round(megabytes / seconds, 6)),
        )


def _rsrc_pdb(simulation: Simulation, machine: Machine) -> Iterator[Row]:
    """Yield the PDBs; their SGA is by their shares, their PGA by their sessions."""
    if not simulation.plans.cdb:
        return
    gauges, pdbs = Gauges(simulation, machine), simulation.scenario.pdbs
    shares = sum(pdb.directive.shares or 1 for pdb in pdbs)
    sessions = Counter(session.con_id for session in simulation.workload.sessions)
    for pdb in pdbs:
        total = [0.0] * len(Count)
        for group, account in machine.accounts.items():
            if group.con_id == pdb.con_id:
                total = [a + b for a, b in zip(total, account.totals, strict=True)]
        shown = gauges.statements, gauges.servers, gauges.queued
        now = [sum(value for group, value in each.items() if group.con_id == pdb.con_id) for each in shown]
        memory = _SGA * (pdb.directive.shares or 1) // shares, _PGA_EACH * sessions[pdb.con_id]
        yield (pdb.name, pdb.con_id, *now, *memory, *_counted(_OF_PDB, total))


_MINUTE = (
    "INST_ID BEGIN_TIME END_TIME INTSIZE_CSEC CON_ID CPU_EXHAUSTED NUM_CPUS CPU_CONSUMED_TIME CPU_WAIT_TIME"
    " AVG_RUNNING_SESSIONS AVG_WAITING_SESSIONS AVG_ACTIVE_PARALLEL_STMTS"
    " AVG_QUEUED_PARALLEL_STMTS AVG_ACTIVE_PARALLEL_SERVERS AVG_QUEUED_PARALLEL_SERVERS"
)
_METRIC = (
    f"{_MINUTE} CONSUMER_GROUP_NAME RUNNING_SESSIONS_LIMIT CPU_UTILIZATION_LIMIT IO_REQUESTS IO_MEGABYTES"
    " PARALLEL_SERVERS_LIMIT"
)
_PDB_METRIC = (
    f"{_MINUTE} RUNNING_SESSIONS_LIMIT CPU_UTILIZATION_LIMIT PARALLEL_SERVERS_LIMIT AVG_IO_THROTTLE IOPS IOMBPS"
)

VIEWS = (
    of_instances(
        "V$RSRC_PLAN",
        "NAME IS_TOP_PLAN CPU_MANAGED INSTANCE_CAGING PARALLEL_SERVERS_ACTIVE PARALLEL_SERVERS_TOTAL"
        " PARALLEL_EXECUTION_MANAGED CON_ID SHARES UTILIZATION_LIMIT PARALLEL_SERVER_LIMIT PROFILE",
        _rsrc_plan,
    ),
    of_instances(
        "V$RSRC_PLAN_HISTORY",
        "SEQUENCE# NAME START_TIME END_TIME ENABLED_BY_SCHEDULER WINDOW_NAME ALLOWED_AUTOMATED_SWITCHES CON_ID",
        _plan_history,
    ),
    of_instances(
        "V$RSRC_CONSUMER_GROUP",
        "ID NAME CON_ID ACTIVE_SESSIONS EXECUTION_WAITERS QUEUE_LENGTH CURRENT_PQS_ACTIVE CURRENT_PQ_SERVERS_ACTIVE"
        f" CURRENT_PQS_QUEUED {_OF_GROUP}",
        _consumer_group,
    ),
    View("V$RSRCMGRMETRIC", _METRIC, lambda each: _by_group(each, _last_minute(each))),
    View("V$RSRCMGRMETRIC_HISTORY", _METRIC, lambda each: _by_group(each, chain(*each.minutes))),
    View("V$RSRCPDBMETRIC", _PDB_METRIC, lambda each: _by_pdb(each, _last_minute(each))),
    View("V$RSRCPDBMETRIC_HISTORY", _PDB_METRIC, lambda each: _by_pdb(each, chain(*each.minutes))),
    of_instances(
        "V$RSRC_PDB",
        "PDB_NAME CON_ID CURRENT_PQS_ACTIVE CURRENT_PQ_SERVERS_ACTIVE CURRENT_PQS_QUEUED SGA_BYTES PGA_BYTES"
        f" {_OF_PDB}",
        _rsrc_pdb,
    ),
)
