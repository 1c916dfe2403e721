"""Reasons why the first statement of each queue waits, in one sentence with its arithmetic.

Its parallel servers may be on every instance, on those of its service, or on its own only: PARALLEL_FORCE_LOCAL keeps
them on the coordinator's instance; PARALLEL_INSTANCE_GROUP names the service whose instances they run on, else it is
the session's own. A session may have set either for itself, which no view shows.

Where a head had room at the poll before, too, what is counted does not explain why it waits: nothing is promised a
second time after it did not come true.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from presman.analysis.facts.facts import Facts
from presman.analysis.facts.plan_book import Key
from presman.analysis.facts.system_facts import ROOT
from presman.analysis.parallel.queue import degree
from presman.analysis.parallel.server_pools import (
    ServerBudget,
    ServerLimit,
    allowed,
    budget_of,
    is_target_known,
    pools,
    together,
)
from presman.analysis.readings.group_readings import GroupReading
from presman.analysis.readings.instance_readings import ServerPool
from presman.analysis.readings.statement_readings import (
    Cause,
    QueuedStatement,
    QueueHead,
    Servers,
    Shortage,
    WantsSource,
)
from presman.base.formats import counted
from presman.rows.group_rows import ConsumerGroup
from presman.rows.session_state import NEXT_IN_LINE, is_queued

_NOT_WHERE = "on which instances its servers may run is not known"
SAME_WAIT = 1.0
"""Seconds by which two waits must differ to tell who came first: sessions are not all read at one instant."""

_ELSEWHERE = (
    "the server counts do not explain why it waits; a limit that presman cannot see may apply (of its container, a "
    "service or another instance)"
)

_COUNTS = {1: "one set", 2: "two sets", 3: "three sets", 4: "four sets"}


class QueueState(NamedTuple):
    """What a head waits among, in servers: the system's budget and the limits of its group and container.

    `ahead` counts statements of other groups that the one queue of a FIFO queueing serves first; `rivals` are the
    other groups with a head, which the plan chooses among, and `containers` the other containers with one: the CDB plan
    chooses among these first. `inst_ids` are the instances on which its servers may run, none for all. `passed_over`
    tells that it had room at the poll before, too, and is still queued; `unknown_container` is the name of its
    container where the servers that this may hold are not known.
    """

    system: ServerBudget
    limits: tuple[ServerLimit, ...] = ()
    ahead: int = 0
    rivals: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()
    inst_ids: tuple[int, ...] = ()
    passed_over: bool = False
    unknown_container: str = ""

    def has_room(self, wants: Servers | None) -> bool:
        """Whether what is counted leaves room for so many servers."""
        free = self.free
        return wants is not None and wants.source is not WantsSource.MEAN and free is not None and wants.high <= free

    @property
    def free(self) -> int | None:
        """Servers left below the target and below every limit, None where neither is known."""
        tightest = self.tightest
        return min((each for each in (self.system.free, tightest and tightest.free) if each is not None), default=None)

    @property
    def tightest(self) -> ServerLimit | None:
        """The limit with the least budget."""
        return min(self.limits, key=lambda limit: limit.free, default=None)


def heads(
    facts: Facts,
    queue: Iterable[QueuedStatement],
    cluster: Iterable[GroupReading],
    budgets: Mapping[int, ServerBudget],
    pools: Mapping[int, ServerPool],
) -> tuple[QueueHead, ...]:
    """Return the head of every group's queue, with its cause; `pools` are the servers of each instance."""
    statements = list(queue)
    if not statements:
        return ()
    first = [each for each in statements if each.position == 1]
    groups = {(row.con_id, row.name): row for row in cluster}
    found = []
    waiting = list(first)
    while waiting:
        head = waiting.pop(0)
        placed = placement(facts, head)
        situation = _situation(facts, head, statements, first, groups, budgets)
        if placed.confined_by:  # the target is the cluster's, but free servers of other instances are no use to it
            inst_ids = tuple(sorted(placed.inst_ids))
            there = together(pools[inst_id] for inst_id in inst_ids)
            situation = situation._replace(system=budget_of(there, placed.where, inst_ids), inst_ids=inst_ids)
        if situation.has_room(head.wants):
            if (another := _another_first(head, statements, situation)) is not None:
                waiting.insert(0, another)
                continue
            # By the figures it could start. Either it just came, and will, or something that no view shows holds it:
            # had it room at the poll before, too, no start is promised again.
            contested = bool(situation.rivals or situation.containers)
            over = passed_over(facts, head, situation.system, situation.limits, contested=contested)
            by_plan = over and has_one_queue(facts, head.inst_id, head.con_id) is not True
            firsts = (one for each in first for one in (each, *_alike(each, statements)))
            held_up = by_plan and any(_may_hold_up(facts, head, each, groups, budgets) for each in firsts)
            situation = situation._replace(passed_over=over and not held_up)
        directive = facts.division.shares[head.inst_id].directives.get((head.con_id, head.group))
        cause, short, sentence = explain(head.wants, degree(head.requested, head.dop, directive), situation)
        equals = _equals(head, statements)
        sentence = "; ".join(filter(None, [sentence, "" if placed.known else _NOT_WHERE, _same(equals)]))
        tightest, own = situation.tightest, groups.get((head.con_id, head.group))
        found.append(
            QueueHead(
                group=head.group,
                statement=head,
                cause=cause,
                wants=head.wants,
                held=tightest.held if tightest else own.px_servers if own else None,
                allowed=tightest.allowed if tightest else None,
                in_use=situation.system.in_use,
                target=situation.system.target,
                short=short,
                sentence=sentence,
                con_id=head.con_id,
                container=head.container,
                shortages=shortages(head.wants, cause, situation),
                equals=equals,
                queue_waited=sum(each.waited or 0.0 for each in _queue_of(head, statements)),
            )
        )
    return tuple(found)


def _may_hold_up(
    facts: Facts,
    head: QueuedStatement,
    other: QueuedStatement,
    groups: Mapping[Key, GroupReading],
    budgets: Mapping[int, ServerBudget],
) -> bool:
    """Whether the plan may have chosen another head first that its limits let start, and the target does not.

    One that was chosen is not passed by those who want less, so that all wait for its servers.
    """
    if (other.con_id, other.group) == (head.con_id, head.group):
        return False
    limits = tuple(limits_of(facts, (other.con_id, other.group), other.inst_id, groups, budgets))
    rooms = [limit.free for limit in limits]
    if other.wants is None or other.wants.source is WantsSource.MEAN:
        return all(room > 0 for room in rooms)
    free = budgets[ROOT].free
    return free is not None and free < other.wants.high and all(other.wants.low <= room for room in rooms)


def _another_first(
    head: QueuedStatement, statements: Iterable[QueuedStatement], situation: QueueState
) -> QueuedStatement | None:
    """Return who is the first of a queue, where one that may be it has room, and would have started: who has none.

    None where all that have waited as long have room.
    """
    return next((each for each in _alike(head, statements) if not situation.has_room(each.wants)), None)


def _equals(head: QueuedStatement, statements: Iterable[QueuedStatement]) -> int:
    """Return how many others of a head's queue may be the first as well, 0 where its event says that it is next."""
    return len(_alike(head, statements))


def _alike(head: QueuedStatement, statements: Iterable[QueuedStatement]) -> list[QueuedStatement]:
    """Return the others that have waited the same as a head, or of whom it is not known for how long."""
    first = head.waited
    if head.event == NEXT_IN_LINE:
        return []
    return [
        each
        for each in _queue_of(head, statements)
        if each is not head and (first is None or each.waited is None or abs(each.waited - first) < SAME_WAIT)
    ]


def _queue_of(head: QueuedStatement, statements: Iterable[QueuedStatement]) -> list[QueuedStatement]:
    """Return the statements of a head's queue, itself among them."""
    return [each for each in statements if (each.con_id, each.group) == (head.con_id, head.group)]


def _same(equals: int) -> str:
    if not equals:
        return ""
    have = "others have" if equals > 1 else "other has"
    return f"{equals} {have} waited as long, so which is first is not known"


def is_one_queue(managed: str) -> bool | None:
    """Whether one queue serves all groups by the time they have waited: V$RSRC_PLAN.PARALLEL_EXECUTION_MANAGED.

    None where that is neither FIFO, OFF nor FULL.
    """
    return {"FIFO": True, "OFF": True, "FULL": False}.get(managed.upper())


def has_one_queue(facts: Facts, inst_id: int, con_id: int) -> bool | None:
    """Whether one queue serves all groups of a container, None where that is not known."""
    row = facts.plans.plan_rows.get((inst_id, con_id)) or facts.plans.top_rows.get(inst_id)
    return None if row is None else is_one_queue(row.parallel_execution_managed)


def _situation(
    facts: Facts,
    head: QueuedStatement,
    statements: list[QueuedStatement],
    first: list[QueuedStatement],
    groups: Mapping[Key, GroupReading],
    budgets: Mapping[int, ServerBudget],
) -> QueueState:
    one_queue = has_one_queue(facts, head.inst_id, head.con_id)
    others = [each for each in statements if each.con_id == head.con_id and each.group != head.group]
    return QueueState(
        system=budgets[ROOT],
        limits=tuple(limits_of(facts, (head.con_id, head.group), head.inst_id, groups, budgets)),
        ahead=sum((each.waited or 0.0) > (head.waited or 0.0) + SAME_WAIT for each in others) if one_queue else 0,
        rivals=tuple(sorted({each.group for each in first if each.con_id == head.con_id} - {head.group})),
        unknown_container=(
            "" if is_target_known(facts, head.con_id, budgets) else facts.system.container_name(head.con_id)
        ),
        containers=tuple(
            facts.system.container_name(con_id) for con_id in sorted({each.con_id for each in first} - {head.con_id})
        ),
    )


def limits_of(
    facts: Facts,
    key: Key,
    inst_id: int,
    groups: Mapping[Key, GroupReading],
    budgets: Mapping[int, ServerBudget],
) -> Iterable[ServerLimit]:
    """Yield the limits that the statements of a group are under, by the plan of an instance: its container's first."""
    con_id, whole = key[0], budgets[ROOT].target
    container = budgets.get(con_id) if con_id > 2 else None
    if container is not None and container.in_use is not None and container.target is not None:
        yield ServerLimit(facts.system.container_name(con_id), container.in_use, container.target, con_id=con_id)
        whole = container.target
    group = groups.get(key)
    limit, percent = allowed(key, facts, budgets, inst_id)
    if group is not None and limit is not None:
        part = "" if whole is None or percent is None else f" ({percent} % of {whole})"
        yield ServerLimit(group.name, group.px_servers or 0, limit, part, con_id, group.name)


def explain(wants: Servers | None, dop: int | None, situation: QueueState) -> tuple[Cause, int | None, str]:
    """Return the cause, the servers short (None where not exactly known) and the sentence.

    A statement starts when it fits below the target and below its limits; a limit that binds is the cause even
    if the target binds as well, because only servers of its own group help then. One that wants more than the
    whole target was seen to start on 12.1 once nothing else ran; for a group's limit nothing is known.
    """
    system, tightest = situation.system, situation.tightest
    if wants is None or wants.source is WantsSource.MEAN:
        mean = (
            f" (those queued in its group wanted {counted(wants.low, 'server')} each in the last minute)"
            if wants
            else ""
        )
        return Cause.UNKNOWN, None, "; ".join([f"its DOP is not known{mean}", *_figures(situation)])
    never = _never(wants, situation)
    if never:
        return Cause.NEVER_FITS, None, f"{_want(wants, dop)}, {never}"
    free = situation.free
    if free is None:
        return Cause.UNKNOWN, None, f"{_want(wants, dop)}; how many are in use or allowed is not known"
    if wants.high <= free:
        return _fitting(f"{_want(wants, dop)} and {free} are free{system.where}", situation)
    if situation.ahead:
        behind = f"one queue for all groups, {_others(situation)} ahead of it"
        return Cause.BEHIND, None, "; ".join([_want(wants, dop), behind, *_figures(situation)])
    by_ceiling = tightest is not None and wants.high > tightest.free
    by_system = system.free is not None and wants.high > system.free
    figures = [str(tightest)] if by_ceiling else []
    figures += [_used(system)] if by_system else []
    sentence = "; ".join([_want(wants, dop), *figures, _short(wants, free)])
    short = wants.high - free if wants.low == wants.high else None
    return (Cause.GROUP if by_ceiling else Cause.SYSTEM), short, sentence


def shortages(wants: Servers | None, cause: Cause, situation: QueueState) -> tuple[Shortage, ...]:
    """Return what must be freed under each limit that binds; nothing where that is not known or would not help.

    One that wants more than the whole target was seen to start once nothing was in use, so all of that is in its way.
    """
    system = situation.system
    if wants is None or cause not in {Cause.SYSTEM, Cause.GROUP, Cause.NEVER_FITS}:
        return ()
    if any(wants.low > limit.allowed for limit in situation.limits):
        return ()
    found = []
    if system.target is not None and system.in_use is not None:
        whole = wants.low > system.target
        short = system.in_use if whole else wants.high - system.target + system.in_use
        found.append(Shortage(min(short, system.in_use), everybody=True, inst_ids=situation.inst_ids))
    for limit in situation.limits:
        short = min(wants.high - limit.free, limit.held)
        found.append(Shortage(short, con_id=limit.con_id, group=limit.group))
    return tuple(shortage for shortage in found if shortage.short > 0)


def _fitting(start: str, situation: QueueState) -> tuple[Cause, int | None, str]:
    """Explain a head that fits: the queue's order holds it, or the views were read at different instants."""
    if situation.ahead:
        return Cause.BEHIND, 0, f"{start}; one queue for all groups, {_others(situation)} ahead of it"
    if situation.passed_over:
        return Cause.UNEXPLAINED, None, f"{start}, as they were at the poll before: {_ELSEWHERE}"
    if situation.containers:
        last = f", then the plan between it and {', '.join(situation.rivals)}" if situation.rivals else ""
        others = ", ".join(situation.containers)
        return Cause.NOT_CHOSEN, 0, f"{start}; the CDB plan chooses between its container and {others}{last}"
    if situation.rivals:
        return Cause.NOT_CHOSEN, 0, f"{start}; the plan chooses between it and {', '.join(situation.rivals)}"
    if situation.unknown_container:
        where = f"how many {situation.unknown_container} may have is not known"
        return Cause.NOT_CHOSEN, None, f"{start}; {where}, so presman cannot say whether it starts"
    return Cause.NOT_CHOSEN, 0, f"{start}; it should start by the next poll"


def _others(situation: QueueState) -> str:
    return f"{counted(situation.ahead, 'statement')} of other groups"


def _never(wants: Servers, situation: QueueState) -> str:
    """Return what is too small for the statement even when empty, "" if nothing is."""
    for limit in situation.limits:
        if wants.low > limit.allowed:
            return f"more than the {limit.allowed} that {limit.owner} is allowed{limit.part}, {limit.held} held"
    system = situation.system
    if system.target is not None and wants.low > system.target:
        rest = f", {system.in_use} in use: it may start only when none are" if system.in_use else ""
        rest = ", none are in use and it is still queued" if system.in_use == 0 else rest
        return f"more than the target's {system.target}{system.where}{rest}"
    return ""


def _want(wants: Servers, dop: int | None) -> str:
    by = "" if wants.source is WantsSource.DEGREE else f" by {wants.source.value}"
    if wants.low != wants.high:
        return f"wants {wants.low} to {wants.high} servers (DOP {dop}, {'one set' if by else 'one or two sets'}{by})"
    if not dop or wants.low % dop:
        return f"wants {counted(wants.low, 'server')}{by}"
    sets = wants.low // dop
    return f"wants {counted(wants.low, 'server')} (DOP {dop}, {_COUNTS.get(sets, f'{sets} sets')}{by})"


def _figures(situation: QueueState) -> list[str]:
    tightest = situation.tightest
    used = [_used(situation.system)] if situation.system.free is not None else []
    return used + ([str(tightest)] if tightest else [])


def _used(system: ServerBudget) -> str:
    added = f" (the targets of {system.instances} instances added up)" if system.instances > 1 else ""
    return f"{system.in_use} of the target's {system.target}{system.where} are in use{added}"


def _short(wants: Servers, free: int) -> str:
    low, high = wants.low - free, wants.high - free
    if low == high:
        return f"short by {low}"
    return f"short by {low} to {high}" if low > 0 else f"short by up to {high}"


class Placement(NamedTuple):
    """Instances that servers may run on. `confined_by` is what keeps them there, "" where they may run on all.

    `known` is false where it cannot be told; then they are taken to run on all.
    """

    inst_ids: frozenset[int]
    confined_by: str = ""
    known: bool = True

    @property
    def where(self) -> str:
        """The instances in words, "" for all."""
        if not self.confined_by:
            return ""
        numbers = ", ".join(map(str, sorted(self.inst_ids)))
        return f" on instance{'s' if len(self.inst_ids) > 1 else ''} {numbers} ({self.confined_by})"


def placement(facts: Facts, statement: QueuedStatement) -> Placement:
    """Return where the servers of a queued statement may run."""
    everywhere = frozenset(facts.system.inst_ids)
    if len(everywhere) < 2:
        return Placement(everywhere)
    if _parameter(facts, statement, "parallel_force_local").upper() == "TRUE":
        return Placement(frozenset({statement.inst_id}), "PARALLEL_FORCE_LOCAL")
    service = _parameter(facts, statement, "parallel_instance_group") or statement.service
    runs_on = facts.system.services.get(service, frozenset()) & everywhere
    if not runs_on:
        return Placement(everywhere, known=False)
    return Placement(everywhere) if runs_on == everywhere else Placement(runs_on, f"service {service}")


def _parameter(facts: Facts, statement: QueuedStatement, name: str) -> str:
    own = facts.system.parameters.of_container(statement.inst_id, statement.con_id, name)
    return own or facts.system.parameters.by_name.get((statement.inst_id, name), "")


def passed_over(
    facts: Facts, head: QueuedStatement, system: ServerBudget, limits: Sequence[ServerLimit], *, contested: bool
) -> bool:
    """Whether a head that has room below `system` and `limits` was queued at the poll before and had room then.

    Where it is `contested`, others may have been chosen before it, so the counts must be the same.
    """
    if facts.deltas.previous is None or head.wants is None:
        return False
    before = Facts.of(None, facts.deltas.previous)
    session = before.sessions.find(head.inst_id, head.sid, head.serial)
    if session is None or not is_queued(session.event, session.state) or session.sql_id != head.sql_id:
        return False
    then, held = _system(before, system), [_held(before, limit) for limit in limits]
    if contested and (then.in_use != system.in_use or held != [limit.held for limit in limits]):
        return False
    rooms = [limit.allowed - number for limit, number in zip(limits, held, strict=True)]
    rooms += [] if then.free is None else [then.free]
    return bool(rooms) and head.wants.high <= min(rooms)


def _system(before: Facts, now: ServerBudget) -> ServerBudget:
    """Return the budget of the same instances at the poll before."""
    found = pools(before)
    if now.inst_ids:
        return budget_of(together(found[inst_id] for inst_id in now.inst_ids if inst_id in found))
    return budget_of(together(found[inst_id] for inst_id in before.system.inst_ids))


def _held(before: Facts, limit: ServerLimit) -> int:
    """Return the servers that were held under a limit at the poll before."""
    return sum(
        row.current_pq_servers_active
        for row in before.snapshot.rows(ConsumerGroup)
        if row.con_id == limit.con_id and limit.group in {"", row.name}
    )
