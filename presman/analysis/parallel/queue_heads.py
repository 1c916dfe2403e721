"""Heads of the parallel queues: which statement is first in each, and what it waits for.

The parallel servers of a head may run on all instances, on those of its service, or only on its own.
PARALLEL_FORCE_LOCAL keeps them on the coordinator's instance. PARALLEL_INSTANCE_GROUP names the service whose instances
they run on, by default the service of the session. A session may have changed either parameter, which no view shows.

If a head also had room at the previous poll, the counts do not explain why it waits. A start that did not come is not
predicted again, and as long as it waits, it is not known which end lets it start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple

from msgspec.structs import replace

from presman.analysis.facts.facts import Facts
from presman.analysis.facts.plan_book import Key, bypasses_queue
from presman.analysis.facts.system_facts import ROOT
from presman.analysis.parallel import server_pools
from presman.analysis.parallel.queue import degree
from presman.analysis.parallel.queue_causes import QueueState, explain, not_known, pool_too_small, shortages
from presman.analysis.parallel.running import outdated_view
from presman.analysis.parallel.server_pools import ServerBudget, ServerLimit
from presman.analysis.readings.group_readings import GroupReading
from presman.analysis.readings.reading import ServerPool
from presman.analysis.readings.statement_readings import (
    SAME_WAIT,
    Cause,
    NotKnown,
    QueuedStatement,
    QueueHead,
    RunningStatement,
    is_known,
)
from presman.analysis.view_availability import unlisted_queue, view_of
from presman.base.formats import counted, instances_are
from presman.base.sums import added
from presman.rows.group_rows import ConsumerGroup
from presman.rows.instance_rows import RsrcPdb
from presman.rows.session_rows import Session
from presman.rows.session_state import NEXT_IN_LINE, is_queued
from presman.rows.snapshot import CriticalQueue, GoneInstance, MissingInstance, UnexplainedWait

_NOT_WHERE = "on which instances its servers may run is not known"


class Queues(NamedTuple):
    """All parallel queues and the limits that count their statements; `pools` has the servers of each instance."""

    facts: Facts
    statements: tuple[QueuedStatement, ...]
    groups: Mapping[Key, GroupReading]
    budgets: Mapping[int, ServerBudget]
    pools: Mapping[int, ServerPool]
    running: Sequence[RunningStatement] = ()

    @property
    def first(self) -> list[QueuedStatement]:
        """The first statement of each queue."""
        return [each for each in self.statements if each.position == 1]

    def of(self, head: QueuedStatement) -> list[QueuedStatement]:
        """Return the statements of a head's queue, including the head."""
        return [each for each in self.statements if (each.con_id, each.group) == (head.con_id, head.group)]

    def alike(self, head: QueuedStatement) -> list[QueuedStatement]:
        """Return the other statements that have waited as long as a head, or for an unknown time.

        Any of them may be first as well. Empty if the event of the head shows that it is next.
        """
        if head.event == NEXT_IN_LINE:
            return []
        return [each for each in self.of(head) if each is not head and each.may_be_first(head)]

    def limits(self, key: Key, inst_id: int) -> Iterator[ServerLimit]:
        """Yield the limits on a group's statements that queue on an instance, the limit of its container first."""
        con_id, whole = key[0], self.budgets[ROOT].target
        # CON_ID 1 is the root, 2 the seed: only pluggable databases have a budget of their own.
        container, age = self.budgets.get(con_id) if con_id > 2 else None, None
        if container is not None and container.target is not None:
            name, held = self.facts.system.container_name(con_id), container.in_use
            unread = view_of(self.facts.snapshot, RsrcPdb) if held is None else ""
            if held is None:
                held = sum(row.px_servers or 0 for (of, _), row in self.groups.items() if of == con_id)
            age = server_pools.container_limit_age(con_id, self.facts, self.budgets)
            yield ServerLimit(name, held, container.target, "", con_id, "", unread, container.age, age)
            whole = container.target  # percentages of its groups are parts of the container's servers
        group = self.groups.get(key)
        limit, percent, _ = server_pools.group_limit(key, self.facts, self.budgets)
        if group is not None and limit is not None:
            part = "" if whole is None or percent is None else f" ({percent} % of {whole})"
            uncounted = view_of(self.facts.snapshot, ConsumerGroup) if not group.is_counted else ""
            own, held = server_pools.group_limit_age(key, self.facts, inst_id), group.px_servers or 0
            other = server_pools.other_limit(key, self.facts, self.budgets, inst_id)
            found = ServerLimit(group.name, held, limit, part, con_id, group.name, uncounted, limit_age=own or age)
            yield found._replace(is_contradicted=bool(other))

    def state(self, head: QueuedStatement, placed: Placement) -> QueueState:
        """Return the budget, limits and competitors of a head."""
        name, first, key = self.facts.system.container_name, self.first, (head.con_id, head.group)
        state = QueueState(
            system=self.budgets[ROOT],
            limits=tuple(self.limits(key, head.inst_id)),
            ahead=self._ahead(head),
            rivals=tuple(sorted({each.group for each in first if each.con_id == head.con_id} - {head.group})),
            containers=tuple(name(con_id) for con_id in sorted({each.con_id for each in first} - {head.con_id})),
            outdated=outdated_view(self.facts),
            part=self.facts.system.part,
        )
        if placed.confined_by:
            # The target is the cluster's, but the head cannot use free servers of other instances.
            state = state._replace(system=self.budget(placed), inst_ids=tuple(sorted(placed.inst_ids)))
        not_enough = pool_too_small(head.wants, state)
        return state._replace(not_known=(*self.not_known(key, head.inst_id), *filter(None, (not_enough,))))

    def budget(self, placed: Placement) -> ServerBudget:
        """Return the servers of the instances on which those of a statement may run."""
        if not placed.confined_by:
            return self.budgets[ROOT]
        inst_ids = tuple(sorted(placed.inst_ids))
        pool = server_pools.together(self.pools[inst_id] for inst_id in inst_ids)
        return server_pools.budget_of(self.facts, pool, placed.where, inst_ids)

    def not_known(self, key: Key, inst_id: int) -> Iterator[NotKnown]:
        """Yield unknown facts about a queue: its statements, and limits of its container and group that are outdated.

        If V$SESSION lists only a part of a queue, neither its head nor the servers wanted are known.
        """
        con_id, group = key
        if why := unlisted_queue(self.facts):
            yield NotKnown("which statements are queued", why)
        if not group:
            yield NotKnown("the group of the head", view_of(self.facts.snapshot, Session))
            return
        if view := server_pools.why_target_unknown(self.facts, con_id, self.budgets):
            yield NotKnown(f"how many servers {self.facts.system.container_name(con_id)} may hold", view)
        directive = self.facts.division.shares[inst_id].directives.get(key)
        if directive is not None and bypasses_queue(directive):
            yield NotKnown(f"why statements of {group} queue", "PARALLEL_STMT_CRITICAL is BYPASS_QUEUE")
        if limit := server_pools.limit_not_known(key, self.facts, self.budgets, inst_id):
            yield limit

    def unexplained(self, head: QueuedStatement) -> NotKnown | None:
        """Return the unknown reason why a head that once had room was not started, None if that was not seen."""
        seen = (row for row in self.facts.snapshot.rows(UnexplainedWait) if row[:4] == head.executing())
        servers = next((row.servers for row in seen), None)
        why = f"why the head did not start when {counted(servers or 0, 'server')} were free"
        return None if servers is None else NotKnown(why)

    def as_large(self, head: QueuedStatement, tightest: ServerLimit | None) -> bool:
        """Whether a statement of a head's group runs with more servers than the limit that it counts against.

        If the limit counts fewer, the statement did not queue. The limit may also have been higher when it started, or
        a DBA may have let it start. So it only shows that such a start is possible.
        """
        group = self.groups.get((head.con_id, head.group))
        counted_ones = group.px_servers if group is not None and group.is_counted else None
        most = inf if tightest is None else tightest.allowed
        own = (each for each in self.running if (each.con_id, each.group) == (head.con_id, head.group))
        return any(most < each.servers <= (counted_ones or 0) for each in own)

    def fits_with(self, head: QueuedStatement, state: QueueState) -> tuple[int, ...]:
        """Return the instances that are gone or may be, if their servers would make a head fit; () if not, or unknown.

        The limit of a group is a part of the servers of all instances. No view shows the limits of a container on those
        that are gone.
        """
        rows, whole = self.facts.snapshot.rows, self.budgets[ROOT]
        gone: list[GoneInstance | MissingInstance] = [*self.facts.system.gone, *rows(MissingInstance)]
        back = added(each.servers_target for each in gone) if gone else None
        if back is None or whole.target is None or head.wants is None or state.inst_ids or head.con_id in self.budgets:
            return ()
        more = {**self.budgets, ROOT: whole._replace(target=whole.target + back)}
        limit = server_pools.group_limit((head.con_id, head.group), self.facts, more).servers
        fits = head.wants.high <= min(whole.target + back, limit or inf)
        return tuple(each.inst_id for each in gone) if fits else ()

    def _ahead(self, head: QueuedStatement) -> int:
        """Return how many statements of other groups have waited longer in the single queue of a container."""
        if not self.facts.plans.has_one_queue(head.con_id):
            return 0
        others = [each for each in self.statements if each.con_id == head.con_id and each.group != head.group]
        return sum((each.waited or 0.0) > (head.waited or 0.0) + SAME_WAIT for each in others)


def heads(queues: Queues) -> tuple[QueueHead, ...]:
    """Return the head of every group's queue, with its cause."""
    return tuple(_head(queues, first) for first in queues.first)


def with_servers_left(queues: Queues) -> tuple[QueuedStatement, ...]:
    """Return the queued statements, each with the servers left where its own may run."""
    places = [(each.inst_id, each.con_id, each.service) for each in queues.statements]  # a placement needs no more
    alike = dict(zip(places, queues.statements, strict=True))
    left = {place: queues.budget(placement(queues.facts, each)).left for place, each in alike.items()}
    return tuple(
        each if left[place] == inf else replace(each, servers_left=int(left[place]))
        for each, place in zip(queues.statements, places, strict=True)
    )


def _head(queues: Queues, head: QueuedStatement) -> QueueHead:
    facts, alike = queues.facts, queues.alike(head)
    placed = placement(facts, head)
    state = queues.state(head, placed)
    if state.has_room(head.wants):
        # This one would have started, so the head is another that may be first and has no room.
        another = next((each for each in alike if not state.has_room(each.wants)), None)
        if another is not None:
            return _head(queues, another)
        state = state._replace(passed_over=_passed_over(queues, head, state))
    elif then := queues.unexplained(head):
        state = state._replace(not_known=(*state.not_known, then))
    directive = facts.division.shares[head.inst_id].directives.get((head.con_id, head.group))
    cause, short, sentence = explain(head.wants, degree(head.requested, head.dop.degree, directive), state)
    fits_with = queues.fits_with(head, state) if cause is Cause.NEVER_FITS else ()
    while_gone = f"this lasts while {instances_are(fits_with)} gone" if fits_with else ""
    limit, group = state.limit_named(cause), queues.groups.get((head.con_id, head.group))
    parts = (sentence, while_gone, "" if placed.known else _NOT_WHERE, _same(head, alike))
    return QueueHead(
        group=head.group,
        statement=head,
        cause=cause,
        wants=head.wants,
        held=_held_now(limit, group),
        allowed=limit.allowed if limit else None,
        in_use=state.system.in_use,
        target=state.system.target,
        short=short,
        sentence="; ".join(filter(None, parts)),
        con_id=head.con_id,
        container=head.container,
        shortages=shortages(head.wants, cause, state),
        equals=len(alike),
        queue_waited=sum(each.waited or 0.0 for each in queues.of(head)),
        was_critical=(head.con_id, head.group) in facts.snapshot.rows(CriticalQueue),
        fits_with=fits_with,
        not_known=not_known(head.wants, cause, state),
        as_large=cause is Cause.NEVER_FITS and queues.as_large(head, limit),
        one_queue=facts.plans.has_one_queue(head.con_id),
    )


def _held_now(limit: ServerLimit | None, group: GroupReading | None) -> int | None:
    """Return the servers that a limit counts, or without a limit those of the group; None if not known."""
    if limit is None:
        return group.px_servers if group else None
    return None if limit.uncounted else limit.held


def _passed_over(queues: Queues, head: QueuedStatement, state: QueueState) -> str:
    """Return when a head that has room also had room before: its start must not be predicted again. "" if never.

    By the figures it could have started then. So it is held back by something that no view shows, unless the plan may
    have chosen another head, for which it has to wait.
    """
    contested = bool(state.rivals or state.containers)
    if _is_passed_over(queues, head, state, contested=contested):
        return "as they were at the poll before"
    return "as they were before" if queues.unexplained(head) and not contested else ""


def _is_passed_over(queues: Queues, head: QueuedStatement, state: QueueState, *, contested: bool) -> bool:
    if not passed_over(queues.facts, head, state.system, state.limits, contested=contested):
        return False
    if queues.facts.plans.has_one_queue(head.con_id):
        return True
    firsts = (one for each in queues.first for one in (each, *queues.alike(each)))
    return not any(_may_hold_up(queues, head, each) for each in firsts)


def _may_hold_up(queues: Queues, head: QueuedStatement, other: QueuedStatement) -> bool:
    """Whether the plan may have chosen `other`, so that `head` waits until `other` has started.

    Its own limits must leave it room, because the plan chooses only among such heads, and the target must not, or it
    would have started. No statement passes a chosen head, even if it wants less.
    """
    if (other.con_id, other.group) == (head.con_id, head.group):
        return False
    limits = queues.limits((other.con_id, other.group), other.inst_id)
    rooms = [limit.allowed if limit.uncounted else limit.free for limit in limits]
    if not is_known(other.wants):
        return all(room > 0 for room in rooms)
    free = queues.budgets[ROOT].free
    return free is not None and free < other.wants.high and all(other.wants.low <= room for room in rooms)


def _same(head: QueuedStatement, alike: Sequence[QueuedStatement]) -> str:
    """Return why it is not known which is first, "" if it is: others waited as long, or for an unknown time."""
    if not alike:
        return ""
    same = sum(each.waits_like(head) for each in alike)
    unknown = len(alike) - same + (head.waited is None)
    long = f"{counted(same, 'other')} {'has' if same == 1 else 'have'} waited as long" if same else ""
    unclear = f"for how long {unknown} of {len(alike) + 1} have waited is not known" if unknown else ""
    return f"{' and '.join(filter(None, (long, unclear)))}, so which is first is not known"


class Placement(NamedTuple):
    """Instances that servers may run on. `confined_by` is what keeps them there, "" if they may run on all.

    `known` is false if the instances are not known; `inst_ids` then holds all.
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
    local = facts.system.parameters.of_container(statement.inst_id, statement.con_id, name)
    return local or facts.system.parameters.by_name.get((statement.inst_id, name), "")


def passed_over(
    facts: Facts, head: QueuedStatement, system: ServerBudget, limits: Sequence[ServerLimit], *, contested: bool
) -> bool:
    """Whether a head that has room below `system` and `limits` was queued at the previous poll and had room then.

    What it was allowed then counts, too: a limit that was raised since explains why it waited. If it is `contested`,
    others may have been chosen before it, so the counts must be the same.
    """
    if facts.deltas.previous is None or head.wants is None:
        return False
    before = Facts.of(None, facts.deltas.previous)
    if limits and not server_pools.counts_servers(before):  # the servers that these limits counted then are not known
        return False
    session = before.sessions.find(head.inst_id, head.sid, head.serial)
    if session is None or not is_queued(session.event, session.state) or session.sql_id != head.sql_id:
        return False
    # Any change may be the start of a head that the plan chose before this one.
    then, held = _system(before, system), [_held(before, limit) for limit in limits]
    if contested and (then.in_use != system.in_use or held != [limit.held for limit in limits]):
        return False
    rooms = [limit.allowed - number for limit, number in zip(limits, held, strict=True)]
    rooms += [*([] if then.free is None else [then.free]), *_rooms_then(before, head)]
    return bool(rooms) and head.wants.high <= min(*rooms, then.left)


def _rooms_then(before: Facts, head: QueuedStatement) -> Iterator[int]:
    """Yield the servers left below the limits that applied to the group of a head at the previous poll."""
    pools = server_pools.pools(before)
    found = server_pools.budgets(before, server_pools.together(pools[inst_id] for inst_id in before.system.inst_ids))
    container = found.get(head.con_id) if head.con_id > ROOT else None
    allowed = server_pools.group_limit((head.con_id, head.group), before, found).servers
    for name, most in (("", None if container is None else container.target), (head.group, allowed)):
        if most is not None:
            yield most - _held(before, ServerLimit(head.group, 0, most, con_id=head.con_id, group=name))


def _system(before: Facts, now: ServerBudget) -> ServerBudget:
    """Return the budget of the same instances at the previous poll."""
    found = server_pools.pools(before)
    parts = (found[inst_id] for inst_id in now.inst_ids or found if inst_id in found)
    return server_pools.budget_of(before, server_pools.together(parts))


def _held(before: Facts, limit: ServerLimit) -> int:
    """Return the servers that were held under a limit at the previous poll."""
    rows = (row for row in before.snapshot.rows(ConsumerGroup) if row.con_id == limit.con_id)
    return sum(row.current_pq_servers_active for row in rows if limit.group in {"", row.name})
