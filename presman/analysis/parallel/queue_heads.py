"""Heads of the parallel queues: which statement is the first of each, and what it waits among.

Its parallel servers may be on every instance, on those of its service, or on its own only: PARALLEL_FORCE_LOCAL keeps
them on the coordinator's instance; PARALLEL_INSTANCE_GROUP names the service whose instances they run on, else it is
the session's own. A session may have set either for itself, which no view shows.

Where a head had room at the poll before, too, what is counted does not explain why it waits: nothing is promised a
second time after it did not come true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple

from presman.analysis.facts.facts import Facts
from presman.analysis.facts.plan_book import Key
from presman.analysis.facts.system_facts import ROOT
from presman.analysis.parallel.queue import degree
from presman.analysis.parallel.queue_causes import QueueState, explain, shortages
from presman.analysis.parallel.server_pools import (
    ServerBudget,
    ServerLimit,
    allowed,
    budget_of,
    counts_servers,
    is_target_known,
    pools,
    together,
)
from presman.analysis.readings.group_readings import GroupReading
from presman.analysis.readings.reading import ServerPool
from presman.analysis.readings.statement_readings import SAME_WAIT, Cause, QueuedStatement, QueueHead, is_known
from presman.analysis.view_availability import view_of
from presman.base.formats import counted, instances_are
from presman.base.sums import added
from presman.rows.group_rows import ConsumerGroup
from presman.rows.instance_rows import RsrcPdb
from presman.rows.session_state import NEXT_IN_LINE, is_queued
from presman.rows.snapshot import CriticalQueue, GoneInstance

_NOT_WHERE = "on which instances its servers may run is not known"


class Queues(NamedTuple):
    """All parallel queues with what their statements are counted against: `pools` are the servers of each instance."""

    facts: Facts
    statements: tuple[QueuedStatement, ...]
    groups: Mapping[Key, GroupReading]
    budgets: Mapping[int, ServerBudget]
    pools: Mapping[int, ServerPool]

    @property
    def first(self) -> list[QueuedStatement]:
        """The first of each queue."""
        return [each for each in self.statements if each.position == 1]

    def of(self, head: QueuedStatement) -> list[QueuedStatement]:
        """Return the statements of a head's queue, itself among them."""
        return [each for each in self.statements if (each.con_id, each.group) == (head.con_id, head.group)]

    def alike(self, head: QueuedStatement) -> list[QueuedStatement]:
        """Return the others that have waited the same as a head, or of whom it is not known for how long.

        They may be the first as well; there are none where its event says that it is next.
        """
        if head.event == NEXT_IN_LINE:
            return []
        return [each for each in self.of(head) if each is not head and each.may_be_first(head)]

    def limits(self, key: Key, inst_id: int) -> Iterator[ServerLimit]:
        """Yield the limits that a group's statements are under, by the plan of an instance: its container's first."""
        con_id, whole = key[0], self.budgets[ROOT].target
        container = self.budgets.get(con_id) if con_id > 2 else None
        if container is not None and container.target is not None:
            name, held = self.facts.system.container_name(con_id), container.in_use
            untold = view_of(self.facts.snapshot, RsrcPdb) if held is None else ""
            if held is None:
                held = sum(row.px_servers or 0 for (of, _), row in self.groups.items() if of == con_id)
            yield ServerLimit(name, held, container.target, con_id=con_id, uncounted=untold)
            whole = container.target
        group = self.groups.get(key)
        limit, percent = allowed(key, self.facts, self.budgets, inst_id)
        if group is not None and limit is not None:
            part = "" if whole is None or percent is None else f" ({percent} % of {whole})"
            uncounted = view_of(self.facts.snapshot, ConsumerGroup) if not group.is_counted else ""
            yield ServerLimit(group.name, group.px_servers or 0, limit, part, con_id, group.name, uncounted)

    def state(self, head: QueuedStatement, placed: Placement) -> QueueState:
        """Return what a head waits among."""
        name, first = self.facts.system.container_name, self.first
        state = QueueState(
            system=self.budgets[ROOT],
            limits=tuple(self.limits((head.con_id, head.group), head.inst_id)),
            ahead=self._ahead(head) if self.facts.plans.has_one_queue(head.inst_id, head.con_id) else 0,
            rivals=tuple(sorted({each.group for each in first if each.con_id == head.con_id} - {head.group})),
            containers=tuple(name(con_id) for con_id in sorted({each.con_id for each in first} - {head.con_id})),
            unknown_container="" if is_target_known(self.facts, head.con_id, self.budgets) else name(head.con_id),
        )
        if not placed.confined_by:
            return state
        # The target is the cluster's, but free servers of other instances are no use to it.
        inst_ids = tuple(sorted(placed.inst_ids))
        pool = together(self.pools[inst_id] for inst_id in inst_ids)
        return state._replace(system=budget_of(pool, placed.where, inst_ids), inst_ids=inst_ids)

    def fits_with(self, head: QueuedStatement, state: QueueState) -> tuple[int, ...]:
        """Return the instances that are gone with whose servers a head would not be too large; () if that is not known.

        The limit of a group is a part of what all instances have. Of a container it is not told what it had there.
        """
        gone, whole = self.facts.snapshot.rows(GoneInstance), self.budgets[ROOT]
        back = added(each.servers_target for each in gone) if gone else None
        if back is None or whole.target is None or head.wants is None or state.inst_ids or head.con_id in self.budgets:
            return ()
        more = {**self.budgets, ROOT: whole._replace(target=whole.target + back)}
        limit, _ = allowed((head.con_id, head.group), self.facts, more, head.inst_id)
        fits = head.wants.high <= min(whole.target + back, limit or inf)
        return tuple(each.inst_id for each in gone) if fits else ()

    def _ahead(self, head: QueuedStatement) -> int:
        """Return how many of other groups have waited for longer in the one queue of a container."""
        others = [each for each in self.statements if each.con_id == head.con_id and each.group != head.group]
        return sum((each.waited or 0.0) > (head.waited or 0.0) + SAME_WAIT for each in others)


def heads(queues: Queues) -> tuple[QueueHead, ...]:
    """Return the head of every group's queue, with its cause."""
    return tuple(_head(queues, first) for first in queues.first)


def _head(queues: Queues, head: QueuedStatement) -> QueueHead:
    facts, alike = queues.facts, queues.alike(head)
    placed = placement(facts, head)
    state = queues.state(head, placed)
    if state.has_room(head.wants):
        # It would have started: another that may be the first, and has no room, is it.
        another = next((each for each in alike if not state.has_room(each.wants)), None)
        if another is not None:
            return _head(queues, another)
        state = state._replace(passed_over=_is_passed_over(queues, head, state))
    directive = facts.division.shares[head.inst_id].directives.get((head.con_id, head.group))
    cause, short, sentence = explain(head.wants, degree(head.requested, head.dop, directive), state)
    fits_with = queues.fits_with(head, state) if cause is Cause.NEVER_FITS else ()
    tightest, group = state.tightest, queues.groups.get((head.con_id, head.group))
    return QueueHead(
        group=head.group,
        statement=head,
        cause=cause,
        wants=head.wants,
        held=_held_now(tightest, group),
        allowed=tightest.allowed if tightest else None,
        in_use=state.system.in_use,
        target=state.system.target,
        short=short,
        sentence="; ".join(
            filter(None, [sentence, _while_gone(fits_with), "" if placed.known else _NOT_WHERE, _same(head, alike)])
        ),
        con_id=head.con_id,
        container=head.container,
        shortages=shortages(head.wants, cause, state),
        equals=len(alike),
        queue_waited=sum(each.waited or 0.0 for each in queues.of(head)),
        was_critical=(head.con_id, head.group) in facts.snapshot.rows(CriticalQueue),
        fits_with=fits_with,
    )


def _held_now(tightest: ServerLimit | None, group: GroupReading | None) -> int | None:
    """Return the servers that a head's tightest limit counts, without one those of its group; None if not known."""
    if tightest is None:
        return group.px_servers if group else None
    return None if tightest.uncounted else tightest.held


def _while_gone(inst_ids: Sequence[int]) -> str:
    return f"that is so while {instances_are(inst_ids)} gone" if inst_ids else ""


def _is_passed_over(queues: Queues, head: QueuedStatement, state: QueueState) -> bool:
    """Whether no start is to be promised again: a head that has room had it at the poll before, too.

    By the figures it could start. Either it just came, and will, or something that no view shows holds it; where the
    plan decides, another head that was chosen first may hold it up.
    """
    contested = bool(state.rivals or state.containers)
    if not passed_over(queues.facts, head, state.system, state.limits, contested=contested):
        return False
    if queues.facts.plans.has_one_queue(head.inst_id, head.con_id):
        return True
    firsts = (one for each in queues.first for one in (each, *queues.alike(each)))
    return not any(_may_hold_up(queues, head, each) for each in firsts)


def _may_hold_up(queues: Queues, head: QueuedStatement, other: QueuedStatement) -> bool:
    """Whether the plan may have chosen another head first that its limits let start, and the target does not.

    One that was chosen is not passed by those who want less, so that all wait for its servers.
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
    """Return why it is not known which is first, "" where it is: others waited as long, or no view tells."""
    if not alike:
        return ""
    same = sum(each.waits_like(head) for each in alike)
    unknown = len(alike) - same + (head.waited is None)
    long = f"{counted(same, 'other')} {'has' if same == 1 else 'have'} waited as long" if same else ""
    untold = f"for how long {unknown} of {len(alike) + 1} have waited is not known" if unknown else ""
    return f"{' and '.join(filter(None, (long, untold)))}, so which is first is not known"


class Placement(NamedTuple):
    """Instances that servers may run on. `confined_by` is what keeps them there, "" where they may run on all.

    `known` is false if that is not known; then they are taken to run on all.
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
    """Whether a head that has room below `system` and `limits` was queued at the poll before and had room then.

    Where it is `contested`, others may have been chosen before it, so the counts must be the same.
    """
    if facts.deltas.previous is None or head.wants is None:
        return False
    before = Facts.of(None, facts.deltas.previous)
    if limits and not counts_servers(before):
        return False
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
