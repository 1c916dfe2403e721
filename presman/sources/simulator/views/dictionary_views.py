"""Dictionary views: plans, directives, consumer groups, mappings, and the CDB plan."""

from collections.abc import Callable, Iterable, Iterator

from presman.sources.simulator.cluster import BACKGROUND
from presman.sources.simulator.scenario import OTHER_GROUPS, Directive, PlanSpec
from presman.sources.simulator.simulation import Simulation
from presman.sources.simulator.views.view import Row, View

_MANDATORY = {"SYS_GROUP", OTHER_GROUPS, "ORA$AUTOTASK"}
_CDB_DEFAULTS = {"ORA$DEFAULT_PDB_DIRECTIVE": 1, "ORA$AUTOTASK": None}
"""The directives that every CDB plan has, and their shares."""


def _whole(seconds: float | None) -> int | None:
    return None if seconds is None else int(seconds)


def _plans_in(simulation: Simulation, con_id: int) -> dict[str, PlanSpec]:
    """Return the plans in the dictionary of a container: those of the PDB, or all if there are no containers."""
    scenario = simulation.scenario
    if not scenario.pdbs:
        return dict(scenario.plans)
    pdb = next((pdb for pdb in scenario.pdbs if pdb.con_id == con_id), None)
    if pdb is None:
        return {}
    used = {pdb.plan, *(change.plan.upper() for change in scenario.changes if change.pdb == pdb.name)}
    found = {name: scenario.plans[name] for name in sorted(used) if name}
    waiting = list(found)
    while waiting:
        for target in scenario.plans[waiting.pop()].directives:
            if target in scenario.plans and target not in found:
                found[target] = scenario.plans[target]
                waiting.append(target)
    return found


def _connected(simulation: Simulation) -> int:
    """Return the container that presman is connected to, whose dictionary the DBA_ views show."""
    return simulation.scenario.con_id(simulation.scenario.header.inside)


def _of_containers(rows: Callable[[Simulation, int], Iterable[Row]]) -> Callable[[Simulation], Iterator[Row]]:
    """Return the function for a CDB_ view: the rows of each container's DBA_ view, with its CON_ID."""

    def all_rows(simulation: Simulation) -> Iterator[Row]:
        con_id = _connected(simulation)
        for pdb in simulation.scenario.pdbs:
            if con_id in {0, pdb.con_id}:
                yield from ((*row, pdb.con_id) for row in rows(simulation, pdb.con_id))

    return all_rows


def _here(rows: Callable[[Simulation, int], Iterable[Row]]) -> Callable[[Simulation], Iterable[Row]]:
    """Return the function for a DBA_ view: the rows of the container that presman is connected to."""
    return lambda simulation: rows(simulation, _connected(simulation))


def _plans(simulation: Simulation, con_id: int) -> Iterator[Row]:
    plans = _plans_in(simulation, con_id)
    used = {target for plan in plans.values() for target in plan.directives}
    for plan in plans.values():
        yield (plan.name, plan.method, "YES" if plan.name in used else "NO", plan.comment, None)


def _directives(simulation: Simulation, con_id: int) -> Iterator[Row]:
    plans = _plans_in(simulation, con_id)
    for plan in plans.values():
        for target, directive in plan.directives.items():
            kind = "PLAN" if target in plans else "CONSUMER_GROUP"
            yield plan.name, target, kind, *_settings(directive)


def _settings(each: Directive) -> Row:
    limit, servers = each.utilization_limit, each.parallel_server_limit
    return (
        *(*each.levels, limit, limit, servers, servers),
        *(each.parallel_degree_limit_p1, _whole(each.parallel_queue_timeout), each.pq_timeout_action),
        *(each.parallel_stmt_critical.replace("_", " "), each.active_sess_pool_p1, _whole(each.queueing_p1)),
        *(each.switch_group or None, _whole(each.switch_time), "TRUE" if each.switch_for_call else "FALSE"),
        *(each.comment or None, None),
    )


def _groups(simulation: Simulation) -> Iterator[Row]:
    plans = simulation.scenario.plans
    named = dict.fromkeys(target for plan in plans.values() for target in plan.directives if target not in plans)
    for name in dict.fromkeys([*named, *sorted(_MANDATORY)]):
        yield (simulation.plans.id_of(name), name, None)


def _mappings(simulation: Simulation, con_id: int) -> Iterator[Row]:
    seen = {("ORACLE_USER", "SYS"): "SYS_GROUP", ("ORACLE_USER", "SYSTEM"): "SYS_GROUP"}
    scenario = simulation.scenario
    for entry in scenario.who_connects:
        if scenario.con_id(entry.pdb) == con_id:
            seen.setdefault(("ORACLE_USER", entry.user), entry.group)
    for (attribute, value), group in seen.items():
        if group != BACKGROUND:
            yield (attribute, value, group, None)


def _cdb_directives(simulation: Simulation) -> Iterator[Row]:
    plan = simulation.scenario.header.cdb_plan
    if not plan or simulation.scenario.header.inside:
        return
    for pdb in simulation.scenario.pdbs:
        given = pdb.directive
        if not given.is_named:
            continue
        limits = (given.utilization_limit, given.parallel_server_limit)
        yield (plan, None if given.profile else pdb.name, given.profile or None, given.shares, *limits, None)
    for name, shares in _CDB_DEFAULTS.items():
        yield (plan, name, None, shares, 100, 100, None)


_PLANS = "PLAN MGMT_METHOD SUB_PLAN COMMENTS STATUS"
_MAPPINGS = "ATTRIBUTE VALUE CONSUMER_GROUP STATUS"
_DIRECTIVES = (
    "PLAN GROUP_OR_SUBPLAN TYPE MGMT_P1 MGMT_P2 MGMT_P3 MGMT_P4 MGMT_P5 MGMT_P6 MGMT_P7 MGMT_P8 UTILIZATION_LIMIT"
    " MAX_UTILIZATION_LIMIT PARALLEL_SERVER_LIMIT PARALLEL_TARGET_PERCENTAGE PARALLEL_DEGREE_LIMIT_P1"
    " PARALLEL_QUEUE_TIMEOUT PQ_TIMEOUT_ACTION PARALLEL_STMT_CRITICAL ACTIVE_SESS_POOL_P1 QUEUEING_P1 SWITCH_GROUP"
    " SWITCH_TIME SWITCH_FOR_CALL COMMENTS STATUS"
)

VIEWS = (
    View("DBA_RSRC_PLANS", _PLANS, _here(_plans)),
    View("CDB_RSRC_PLANS", f"{_PLANS} CON_ID", _of_containers(_plans)),
    View("DBA_RSRC_PLAN_DIRECTIVES", _DIRECTIVES, _here(_directives)),
    View("CDB_RSRC_PLAN_DIRECTIVES", f"{_DIRECTIVES} CON_ID", _of_containers(_directives)),
    View("DBA_RSRC_CONSUMER_GROUPS", "CONSUMER_GROUP_ID CONSUMER_GROUP STATUS", _groups),
    View("DBA_RSRC_GROUP_MAPPINGS", _MAPPINGS, _here(_mappings)),
    View("CDB_RSRC_GROUP_MAPPINGS", f"{_MAPPINGS} CON_ID", _of_containers(_mappings)),
    View(
        "DBA_CDB_RSRC_PLAN_DIRECTIVES",
        "PLAN PLUGGABLE_DATABASE PROFILE SHARES UTILIZATION_LIMIT PARALLEL_SERVER_LIMIT STATUS",
        _cdb_directives,
    ),
)
