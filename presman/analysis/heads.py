"""Why the first statement of each queue waits, in one sentence with its arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from presman.analysis.facts import ROOT, Facts
from presman.analysis.plan import Key
from presman.analysis.queue import degree
from presman.analysis.reading import Cause, GroupReading, QueuedStatement, QueueHead, Servers
from presman.analysis.servers import Room

_COUNTS = {1: "one set", 2: "two sets", 3: "three sets", 4: "four sets"}


class Situation(NamedTuple):
    """The figures around a head, in servers: the system's room, its group's, and whom it waits among.

    `percent` is the group's limit in percent of the target; `ahead` statements of other groups that the one queue
    of a FIFO regime serves first; `rivals` the other groups with a head, which the plan chooses among.
    """

    group: str
    system: Room
    held: int
    allowed: int | None
    percent: int | None
    place: str
    ahead: int
    rivals: tuple[str, ...]


def heads(
    facts: Facts, queue: Iterable[QueuedStatement], cluster: Iterable[GroupReading], rooms: Mapping[int, Room]
) -> tuple[QueueHead, ...]:
    """Return the head of every group's queue, with its cause."""
    statements = list(queue)
    first = [each for each in statements if each.position == 1]
    groups = {(row.con_id, row.name): row for row in cluster}
    found = []
    for head in first:
        key = (head.con_id, head.group)
        situation = _situation(facts, head, statements, first, groups.get(key), rooms)
        dop = _dop(facts, key, head)
        cause, short, sentence = explain(head.wants, dop, situation)
        found.append(
            QueueHead(
                group=head.group,
                statement=head,
                cause=cause,
                wants=head.wants,
                held=situation.held,
                allowed=situation.allowed,
                in_use=situation.system.in_use or 0,
                target=situation.system.target,
                short=short,
                sentence=sentence,
                con_id=head.con_id,
            )
        )
    return tuple(found)


def _dop(facts: Facts, key: Key, head: QueuedStatement) -> int | None:
    return degree(head.requested, head.dop, facts.shares[head.inst_id].directives.get(key))


def _situation(
    facts: Facts,
    head: QueuedStatement,
    statements: list[QueuedStatement],
    first: list[QueuedStatement],
    group: GroupReading | None,
    rooms: Mapping[int, Room],
) -> Situation:
    system, place = rooms[ROOT], "the target's"
    own = rooms.get(head.con_id) if head.con_id > 2 else None
    if own is not None and own.free is not None and (system.free is None or own.free < system.free):
        system, place = own, f"{facts.pdbs.get(head.con_id) or 'its container'}'s"
    row = facts.plan_rows.get((head.inst_id, head.con_id)) or facts.top_rows.get(head.inst_id)
    fifo = row is not None and row.parallel_execution_managed in {"FIFO", "OFF"}
    others = [each for each in statements if each.con_id == head.con_id and each.group != head.group]
    return Situation(
        group=head.group,
        system=system,
        held=group.px_servers if group else 0,
        allowed=group.servers_limit if group else None,
        percent=group.servers_limit_percent if group else None,
        place=place,
        ahead=sum(each.waited > head.waited for each in others) if fifo else 0,
        rivals=tuple(sorted({each.group for each in first if each.con_id == head.con_id} - {head.group})),
    )


def explain(wants: Servers | None, dop: int | None, situation: Situation) -> tuple[Cause, int | None, str]:
    """Return the cause, the servers short (None where not exactly known) and the sentence.

    The statement waits for the scarcer of two rooms: below the system's target and below its group's limit.
    """
    system, allowed = situation.system, situation.allowed
    frees = [system.free, None if allowed is None else allowed - situation.held]
    known = [free for free in frees if free is not None]
    if wants is None or not known:
        return Cause.UNKNOWN, None, _unknown(wants, dop, situation)
    ceiling = min(number for number in (system.target, allowed) if number is not None)
    if wants.low > ceiling:
        return Cause.NEVER_FITS, None, f"{_want(wants, dop)}, more than {_ceiling(situation, ceiling)}"
    free = min(known)
    if situation.ahead and (wants.high <= free or free > 0):
        return (
            Cause.BEHIND,
            None,
            f"{_want(wants, dop)}; one queue for all groups, {_ahead(situation.ahead)} ahead of it",
        )
    if wants.high <= free:
        return Cause.NOT_CHOSEN, 0, f"{_want(wants, dop)} and {free} are free; {_draw(situation)}"
    by_group = frees[1] is not None and (frees[0] is None or frees[1] < frees[0])
    short = wants.high - free if wants.low == wants.high else None
    sentence = f"{_want(wants, dop)}; {_held(situation) if by_group else _used(situation)}; {_short(wants, free)}"
    return (Cause.GROUP if by_group else Cause.SYSTEM), short, sentence


def _want(wants: Servers, dop: int | None) -> str:
    if wants.low != wants.high:
        return f"wants {wants.low} to {wants.high} servers (DOP {dop}, one or two sets)"
    if not dop or wants.low % dop:
        return f"wants {wants.low} servers"
    sets = wants.low // dop
    return f"wants {wants.low} servers (DOP {dop}, {_COUNTS.get(sets, f'{sets} sets')})"


def _held(situation: Situation) -> str:
    part = f"{situation.percent} % of {_of(situation)}"
    return f"{situation.group or 'its group'} holds {situation.held} of {situation.allowed} allowed ({part})"


def _of(situation: Situation) -> str:
    return "the target" if situation.system.target is None else str(situation.system.target)


def _used(situation: Situation) -> str:
    return f"{situation.system.in_use} of {situation.place} {situation.system.target} are in use"


def _short(wants: Servers, free: int) -> str:
    low, high = wants.low - free, wants.high - free
    if low == high:
        return f"short by {low}"
    return f"short by {low} to {high}" if low > 0 else f"short by up to {high}"


def _ceiling(situation: Situation, ceiling: int) -> str:
    if situation.allowed == ceiling:
        return f"the {ceiling} that {situation.group} is allowed ({situation.percent} % of {_of(situation)})"
    return f"{situation.place} {ceiling}"


def _ahead(number: int) -> str:
    return f"{number} statement{'s' if number > 1 else ''} of other groups"


def _draw(situation: Situation) -> str:
    if situation.rivals:
        return f"the plan chooses between it and {', '.join(situation.rivals)}"
    return "it should start at the next look"


def _unknown(wants: Servers | None, dop: int | None, situation: Situation) -> str:
    parts = [_want(wants, dop) if wants is not None else "its DOP is not known"]
    if situation.system.free is not None:
        parts.append(_used(situation))
    if situation.allowed is not None:
        parts.append(_held(situation))
    return "; ".join(parts)
