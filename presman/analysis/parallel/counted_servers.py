"""Statements whose servers the queue counts against a limit: V$RSRC_CONSUMER_GROUP leaves out those that did not queue.

No view says which those are; sums tell some of them, and how many servers it is about.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Executing, RunningStatement, group_title
from presman.base.sums import grouped


class Counted(Struct, frozen=True):
    """Which running statements the queue counts, as far as sums can tell; both maps have those it may not count.

    V$RSRC_CONSUMER_GROUP does not count the servers of statements that bypassed the queue, and no view says which those
    are. If a group's statements hold 16 servers more than it counts, whoever holds more than 16 is counted, and one of
    16 is not if nothing else adds up to 16. The same goes for all statements and V$RSRC_PLAN.PARALLEL_SERVERS_ACTIVE,
    which the budget of the target is made of; where that is what the groups count, each group tells of its own.
    What polls before have shown of a statement (:class:`Bypassed`) holds as long as it runs.
    """

    in_group: Mapping[Executing, bool | None]
    in_target: Mapping[Executing, bool | None]

    @classmethod
    def of(cls, reading: Reading) -> Counted:
        """Compare what is counted with what statements hold."""
        groups = {(group.con_id, group.name): group.px_servers or 0 for group in reading.cluster_groups()}
        held = grouped(reading.running, lambda each: (each.con_id, each.group))
        in_group: dict[Executing, bool | None] = {}
        for key, number in groups.items():
            in_group |= _in_group(held.get(key, []), number, reading.bypassed)
        counted, whole = reading.header.servers.counted, _sum(reading.running)
        if counted is None or whole <= counted:
            return cls(in_group, {})
        if counted == sum(groups.values()):
            return cls(in_group, in_group)
        return cls(in_group, _divide(reading.running, whole - counted))

    def of_statement(self, statement: RunningStatement, *, everybody: bool) -> bool | None:
        """Return whether a statement counts against its group, or against the target of `everybody`.

        None where that is not known.
        """
        known = self.in_target if everybody else self.in_group
        return known.get(statement.executing(), True)


class Bypassed:
    """Which running statements a group does not count, by what several polls have shown: whether it does never changes.

    At one poll sums tell it for certain, at the next they are ambiguous.
    """

    def __init__(self) -> None:
        self._shown: dict[Executing, int] = {}

    def add(self, reading: Reading) -> tuple[Executing, ...]:
        """Take the next reading; return those known by now. A poll that shows the contrary is believed at once."""
        counts, before = Counted.of(reading), self._shown
        self._shown = {}
        for each in reading.running:
            is_counted, who = counts.of_statement(each, everybody=False), each.executing()
            self._shown[who] = 0 if is_counted else before.get(who, 0) + (is_counted is False)
        return tuple(who for who, polls in self._shown.items() if polls >= _POLLS)


_POLLS = 3
"""Polls that must have shown it: views read at different instants may say so once by chance."""


def _in_group(
    statements: Sequence[RunningStatement], number: int, bypassed: Collection[Executing]
) -> Mapping[Executing, bool | None]:
    """Return which statements of a group that counts so many servers it does not, or may not, count."""
    known = [each for each in statements if each.executing() in bypassed]
    beyond = _sum(statements) - number
    if beyond < _sum(known):  # then what was known does not hold
        known = []
    found = _divide([each for each in statements if each not in known], beyond - _sum(known))
    return found | {each.executing(): False for each in known}


def _sum(statements: Iterable[RunningStatement]) -> int:
    return sum(each.servers for each in statements)


def _divide(statements: Sequence[RunningStatement], beyond: int) -> dict[Executing, bool | None]:
    """Return the statements that are not, or may not be, counted where all hold so many servers `beyond` the count."""
    if not beyond:
        return {}
    found: dict[Executing, bool | None] = {}
    by_size: dict[int, bool | None] = {}
    for each in statements:
        if each.servers not in by_size:
            by_size[each.servers] = _is_counted(each, statements, beyond)
        if by_size[each.servers] is not True:
            found[each.executing()] = by_size[each.servers]
    return found


def _is_counted(statement: RunningStatement, statements: Sequence[RunningStatement], beyond: int) -> bool | None:
    sums = _sums(other.servers for other in statements if other is not statement)
    without = _among(sums, beyond)
    within = _among(sums, beyond - statement.servers)
    # Views read at different instants may not add up at all: then nothing is known.
    return None if without == within else without


def _sums(numbers: Iterable[int]) -> int:
    """Return all sums of some of the numbers, as the bits of an integer."""
    sums = 1
    for number in numbers:
        sums |= sums << number
    return sums


def _among(sums: int, number: int) -> bool:
    return number >= 0 and bool(sums >> number & 1)


class GroupHoldings(NamedTuple):
    """Servers that the statements of a group hold, and how many of them the group does not count."""

    held: int
    uncounted: int


def holdings(reading: Reading, con_id: int, group: str) -> GroupHoldings:
    """Return what the statements of a group hold; what it does not count is 0 where that is not known."""
    held = _sum(each for each in reading.running if (each.con_id, each.group) == (con_id, group))
    rows = (each for each in reading.cluster_groups() if (each.con_id, each.name) == (con_id, group))
    first = next(rows, None)
    return GroupHoldings(held, 0 if first is None or first.px_servers is None else max(0, held - first.px_servers))


def why_not_counted(statement: RunningStatement, reading: Reading) -> str:
    """Return why the limit of its group does not count a statement's servers, or may not; "" where it does."""
    found = holdings(reading, statement.con_id, statement.group)
    if not found.uncounted:
        return ""
    name, is_counted = group_title(statement), Counted.of(reading).of_statement(statement, everybody=False)
    if is_counted is False:
        return f"{statement.who} did not queue, so {name} does not count its servers"
    which = f"{found.uncounted} of the {found.held} held (statements that did not queue)"
    return "" if is_counted else f"{name} does not count {which}, perhaps these"
