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


def _dba_and_cdb(name: str, text: str, rows: Callable[[Simulation, int], Iterable[Row]]) -> tuple[View, View]:
    """Return the DBA_ view of the connected container, and the CDB_ view of all, with CON_ID."""

    def all_rows(simulation: Simulation) -> Iterator[Row]:
        con_id = _connected(simulation)
        for pdb in simulation.scenario.pdbs:
            if con_id in {0, pdb.con_id}:
                yield from ((*row, pdb.con_id) for row in rows(simulation, pdb.con_id))

    here = View(f"DBA_{name}", text, lambda simulation: rows(simulation, _connected(simulation)))
    return here, View(f"CDB_{name}", f"{text} CON_ID", all_rows)


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
    for entry in scenario.workloads:
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


_DIRECTIVES = (
    "PLAN GROUP_OR_SUBPLAN TYPE MGMT_P1 MGMT_P2 MGMT_P3 MGMT_P4 MGMT_P5 MGMT_P6 MGMT_P7 MGMT_P8 UTILIZATION_LIMIT"
    " MAX_UTILIZATION_LIMIT PARALLEL_SERVER_LIMIT PARALLEL_TARGET_PERCENTAGE PARALLEL_DEGREE_LIMIT_P1"
    " PARALLEL_QUEUE_TIMEOUT PQ_TIMEOUT_ACTION PARALLEL_STMT_CRITICAL ACTIVE_SESS_POOL_P1 QUEUEING_P1 SWITCH_GROUP"
    " SWITCH_TIME SWITCH_FOR_CALL COMMENTS STATUS"
)

VIEWS = (
    *_dba_and_cdb("RSRC_PLANS", "PLAN MGMT_METHOD SUB_PLAN COMMENTS STATUS", _plans),
    *_dba_and_cdb("RSRC_PLAN_DIRECTIVES", _DIRECTIVES, _directives),
    *_dba_and_cdb("RSRC_GROUP_MAPPINGS", "ATTRIBUTE VALUE CONSUMER_GROUP STATUS", _mappings),
    View("DBA_RSRC_CONSUMER_GROUPS", "CONSUMER_GROUP_ID CONSUMER_GROUP STATUS", _groups),
    View(
        "DBA_CDB_RSRC_PLAN_DIRECTIVES",
        "PLAN PLUGGABLE_DATABASE PROFILE SHARES UTILIZATION_LIMIT PARALLEL_SERVER_LIMIT STATUS",
        _cdb_directives,
    ),
)
