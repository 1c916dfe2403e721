"""The queue of a reading in the form of the model: rules, holders, waiting statements, past arrivals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec import Struct

from presman.analysis.advice.ending import LONG_IDLE, time_left
from presman.analysis.facts.facts import Facts
from presman.analysis.facts.plan_book import Branch, Key, bypasses_queue
from presman.analysis.facts.system_facts import ROOT
from presman.analysis.parallel import server_pools
from presman.analysis.parallel.counted_servers import Counted
from presman.analysis.parallel.queue import queue_timeout
from presman.analysis.parallel.queue_heads import Queues, placement
from presman.analysis.parallel.server_pools import ServerLimit
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import (
    Executing,
    NotKnown,
    QueuedStatement,
    RunningStatement,
    is_known,
)
from presman.base.sums import summed
from presman.forecast.course import Holder, PastArrival, QueueNow, Waiting
from presman.forecast.scheduler import LEVELS, Group, Limits, Queueing, QueueRule, ServerPoolLimit
from presman.forecast.statement_history import Durations, StatementHistory
from presman.rows.session_state import NEXT_IN_LINE

# The model needs a number of servers where there is no limit. It is also its PARALLEL_MAX_SERVERS: a forecast does not
# have statements downgraded.
_UNLIMITED = 1_000_000
_NOBODY = Group(-1, "")
"""The group of servers in use that no visible statement holds."""


class PlanBranch(Struct, frozen=True):
    """A branch of the plan in the form of the model."""

    weights: tuple[float, ...]
    children: tuple[PlanBranch, ...] = ()
    group: Group | None = None


class Modelled(NamedTuple):
    """The queue, and the statements behind its holders and waiting entries; None for servers without a statement."""

    now: QueueNow
    holders: tuple[RunningStatement | None, ...]
    waiting: tuple[QueuedStatement, ...]


def modelled(reading: Reading, rules: QueueRules, history: StatementHistory) -> Modelled | None:
    """Return the queue of a reading for the model; None if target or order is unknown or no statement has ended."""
    if rules.target is None or rules.one_queue is None or history.lasting(0, "", "") is None:
        return None
    counts = Counted.of(reading)
    unmanaged = _unmanaged(reading, counts)
    # Servers of statements that do not count against the target take none from those that queue.
    held = (each for each in reading.running if counts.of_statement(each, everybody=True) is not False)
    shown: list[tuple[RunningStatement | None, Holder]]
    shown = [(each, _holder(each, history, managed=each.executing() not in unmanaged)) for each in held]
    shown += [(None, holder) for holder in _unlisted_holders(rules, [holder for _, holder in shown])]
    waiting = sorted((each for each in reading.queue if is_known(each.wants)), key=lambda each: -(each.waited or 0.0))
    lines = [(each, found) for each in waiting if (found := _waiting(each, history)) is not None]
    now = QueueNow(
        _limits(rules, reading.queue),
        tuple(holder for _, holder in shown),
        tuple(found for _, found in lines),
        tuple(_arrivals(rules, history)),
        history.watched,
    )
    return Modelled(now, tuple(each for each, _ in shown), tuple(each for each, _ in lines))


def _unmanaged(reading: Reading, counts: Counted) -> frozenset[Executing]:
    """Return the statements that their groups do not count; if it could be any of several, prefer idle ones."""
    counted = summed(((row.con_id, row.name), row.px_servers or 0) for row in reading.cluster_groups())
    over = summed(((each.con_id, each.group), each.servers) for each in reading.running)
    over = {key: held - counted.get(key, 0) for key, held in over.items()}
    known = [(each, counts.of_statement(each, everybody=False)) for each in reading.running]
    found = set()
    for each, is_counted in sorted(known, key=lambda pair: (pair[1] is not False, pair[0].idle is None)):
        key = each.con_id, each.group
        if is_counted is False or (is_counted is None and each.servers <= over[key]):
            over[key] -= each.servers
            found.add(each.executing())
    return frozenset(found)


def _holder(each: RunningStatement, history: StatementHistory, *, managed: bool) -> Holder:
    group = Group(each.con_id, each.group)
    known = time_left(each)
    if each.idle is not None and known is None:
        lasts = history.idling(each.con_id, each.group) if each.idle_known else None
        # If nothing is known of such pauses, a session that has just gone idle is not taken to go on at once.
        idle = max(each.idle, LONG_IDLE) if lasts is None else each.idle
        return Holder(group, each.servers, idle, lasts, managed=managed)
    # How long others ran says nothing about a statement that waits for another session, or whose instance is gone.
    lasts = None if each.blocker or each.orphaned else history.lasting(each.con_id, each.group, each.sql_id)
    run = history.run(each.executing())
    held = (history.at - run.started).total_seconds() if run and run.started and history.at else 0.0
    if known is not None:
        return Holder(group, each.servers, held, lasts, known, (1.0,), managed)
    times = history.times(each.con_id, each.group, each.sql_id) if each.remaining is not None else ()
    return Holder(group, each.servers, held, lasts, each.remaining, times, managed)


def _unlisted_holders(rules: QueueRules, holders: Iterable[Holder]) -> Iterable[Holder]:
    """Yield the servers that are counted as in use but that no visible statement holds: they stay in use."""
    held: Counter[Key] = Counter()
    whole = 0
    for each in holders:
        whole += each.servers
        held[each.group] += each.servers if each.managed else 0
    for key, limits in rules.limits.items():
        counted = next((limit.held for limit in limits if limit.group), None)
        if counted is not None and counted > held[key]:
            whole += counted - held[key]
            yield Holder(Group(*key), counted - held[key], 0.0, None)
    if rules.in_use is not None and rules.in_use > whole:
        yield Holder(_NOBODY, rules.in_use - whole, 0.0, None)


def _waiting(each: QueuedStatement, history: StatementHistory) -> Waiting | None:
    lasts = history.lasting(each.con_id, each.group, each.sql_id)
    if lasts is None or each.wants is None:
        return None
    group, is_next = Group(each.con_id, each.group), each.event == NEXT_IN_LINE
    return Waiting(group, each.wants.low, each.wants.high, each.waited or 0.0, lasts, is_next)


def _arrivals(rules: QueueRules, history: StatementHistory) -> Iterable[PastArrival]:
    for at, run in history.arrivals:
        lasts: Durations | None = history.lasting(run.con_id, run.group, run.sql_id)
        if lasts is not None and run.servers:
            key = (run.con_id, run.group)
            yield PastArrival(at, Group(*key), run.servers, lasts, key not in rules.bypassing)


def _limits(rules: QueueRules, queue: Iterable[QueuedStatement]) -> Limits:
    timeouts = dict(rules.timeouts)
    for each in queue:
        if each.timeout_left is not None and each.waited is not None:
            timeouts[each.con_id, each.group] = (each.waited + each.timeout_left, each.timeout_action)
    table = {}
    for key, limits in rules.limits.items():
        pools = tuple(ServerPoolLimit(f"{limit.con_id} {limit.group}", limit.allowed) for limit in limits)
        table[Group(*key)] = QueueRule(pools, *timeouts.get(key, (None, "CANCEL")))
    queueing = Queueing.FIFO if rules.one_queue else Queueing.FULL
    root = None if rules.plan is None else plan_branch(rules.plan)
    return Limits(rules.target or _UNLIMITED, _UNLIMITED, queueing, table, root)


def plan_branch(plan: Branch, weights: tuple[float, ...] = (0.0,) * LEVELS) -> PlanBranch:
    """Return a plan in the form of the model, in which each level's parts add up to 1."""
    parts: Mapping[int, list[float]] = {index: [0.0] * LEVELS for index in range(len(plan.branches))}
    for number, level in plan.levels:
        for index, part in level:
            parts[index][number] = part
    children = tuple(plan_branch(each, tuple(parts[index])) for index, each in enumerate(plan.branches))
    return PlanBranch(weights, children, None if plan.key is None else Group(*plan.key))


# ---- Rules by which statements leave the parallel queue: target, limits, the order of the plan. All in servers.


class QueueRules(NamedTuple):
    """The rules that decide which statement starts: servers `in_use` of the `target`, None if unknown.

    With `one_queue` all groups queue in order of arrival; otherwise the tree of `plan` decides between them, None if it
    is unknown. `one_queue` is None if neither is known, as between the queues of several containers. `limits` are those
    of each group and of its container. `unknown_limits` says of queues which limit on servers is unknown. `confined`
    are the sessions (instance, SID) whose servers may run on some instances only, or for which that is unknown.
    `bypassing` are groups that never queue; `timeouts` are those of the plan, in seconds, with the action at the
    timeout.
    """

    target: int | None
    in_use: int | None
    one_queue: bool | None
    plan: Branch | None
    limits: Mapping[Key, tuple[ServerLimit, ...]]
    unknown_limits: Mapping[Key, str]
    confined: frozenset[tuple[int, int]]
    bypassing: frozenset[Key]
    timeouts: Mapping[Key, tuple[float, str]] = {}


def queue_rules(facts: Facts, reading: Reading) -> QueueRules:
    """Return the rules of the queue of a reading; the plan is that of the instance that has most of its queues."""
    found = server_pools.pools(facts)
    cluster = server_pools.together(found[inst_id] for inst_id in facts.system.inst_ids)
    budgets = server_pools.budgets(facts, cluster)
    groups = {(row.con_id, row.name): row for row in reading.cluster_groups()}
    queues = Queues(facts, reading.queue, groups, budgets, found)
    shares = facts.division.naming_most(_queues(reading))
    placed = ((each, placement(facts, each)) for each in reading.queue)
    confined = ((each.inst_id, each.sid) for each, where in placed if where.confined_by or not where.known)
    # A timeout that a statement has outlived may not apply to its queue: the courses have none then.
    doubted = {(each.con_id, each.group) for each in reading.queue if each.no_timeout}
    timeouts = ((key, queue_timeout(facts, row)) for key, row in shares.directives.items() if key not in doubted)
    return QueueRules(
        target=budgets[ROOT].target,
        in_use=budgets[ROOT].in_use,
        one_queue=_one_queue(facts, reading),
        plan=shares.root if shares.shares else None,
        limits={key: tuple(queues.limits(key, facts.system.inst_ids[0])) for key in groups},
        unknown_limits=_unknown(queues),
        confined=frozenset(confined),
        bypassing=frozenset(key for key, row in shares.directives.items() if bypasses_queue(row)),
        timeouts={key: timeout for key, timeout in timeouts if timeout},
    )


def _unknown(queues: Queues) -> dict[Key, str]:
    """Return for each queue the first unknown fact that decides whether its statements start."""
    found: dict[Key, str] = {}
    for each in queues.first:
        state = queues.state(each, placement(queues.facts, each))
        of_head = (*state.not_known, queues.unexplained(each), *(limit.not_known for limit in state.limits))
        _note(found, each, of_head)
    for each in {(each.con_id, each.group, each.inst_id): each for each in queues.statements}.values():
        _note(found, each, queues.not_known((each.con_id, each.group), each.inst_id))
    return found


def _note(found: dict[Key, str], each: QueuedStatement, reasons: Iterable[NotKnown | None]) -> None:
    for one in reasons:
        if one is not None and not one.is_recent:
            found.setdefault((each.con_id, each.group), str(one))


def _one_queue(facts: Facts, reading: Reading) -> bool | None:
    # In which order the queues of several containers are served is not documented if each has one queue for all groups.
    # Nor is it which plan orders the queues of a cluster whose instances run different ones.
    containers = {each.con_id for each in reading.queue}
    found = set(map(facts.plans.has_one_queue, containers))
    is_open = (len(containers) > 1 and True in found) or (reading.header.mixed_plans and False in found)
    # The queues of containers that are open on different instances are in no plan together.
    others = _queues(reading) - facts.division.naming_most(_queues(reading)).shares.keys()
    is_split = any(not others.isdisjoint(each.shares) for each in facts.division.shares.values())
    return None if len(found) != 1 or is_open or is_split else found.pop()


def _queues(reading: Reading) -> set[Key]:
    return {(each.con_id, each.group) for each in reading.queue}
