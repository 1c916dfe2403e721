"""Statements whose servers count against a limit: V$RSRC_CONSUMER_GROUP leaves out statements that did not queue.

No view shows which statements those are. Sums identify some of them, and show how many servers are not counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from presman.analysis.caches import once
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Executing, RunningStatement, group_title
from presman.base.sums import grouped


class Counted(Struct, frozen=True):
    """Running statements that the queue counts, as far as sums show. The maps hold only statements that may not count.

    V$RSRC_CONSUMER_GROUP does not count the servers of statements that bypassed the queue, and no view shows which
    statements did. If the statements of a group hold 16 servers more than the group counts, a statement with more than
    16 is counted, and one with 16 is not if no other statements add up to 16. The same holds for all statements and
    V$RSRC_PLAN.PARALLEL_SERVERS_ACTIVE, which the budget of the target is computed from. If that is the sum of the
    groups' counts, the result of each group is used. Results of earlier polls for a statement
    (:class:`Bypassed`) hold as long as it runs.
    """

    in_group: Mapping[Executing, bool | None]
    in_target: Mapping[Executing, bool | None]

    @staticmethod
    @once
    def of(reading: Reading) -> Counted:
        """Compare the servers that are counted with those that statements hold."""
        groups = {(group.con_id, group.name): group.px_servers or 0 for group in reading.cluster_groups()}
        held = grouped(reading.running, lambda each: (each.con_id, each.group))
        in_group: dict[Executing, bool | None] = {}
        for key, number in groups.items():
            in_group |= _in_group(held.get(key, []), number, reading.bypassed)
        # If no more servers are held than the target counts, every statement counts against it.
        counted, whole = reading.header.servers.counted, _sum(reading.running)
        if counted is None or whole <= counted:
            return Counted(in_group, {})
        if counted == sum(groups.values()):
            return Counted(in_group, in_group)
        return Counted(in_group, _divide(reading.running, whole - counted))

    def of_statement(self, statement: RunningStatement, *, everybody: bool) -> bool | None:
        """Return whether a statement counts against its group, or the target if `everybody`; None if not known."""
        known = self.in_target if everybody else self.in_group
        return known.get(statement.executing(), True)


class Bypassed:
    """Running statements that a group does not count, as several polls have shown: this never changes while they run.

    Sums may prove it at one poll and be ambiguous at the next.
    """

    def __init__(self) -> None:
        self._shown: dict[Executing, int] = {}

    def add(self, reading: Reading) -> tuple[Executing, ...]:
        """Add a reading and return the statements identified so far. A poll that shows the contrary wins at once."""
        counts, before = Counted.of(reading), self._shown
        self._shown = {}
        for each in reading.running:
            is_counted, executing = counts.of_statement(each, everybody=False), each.executing()
            self._shown[executing] = 0 if is_counted else before.get(executing, 0) + (is_counted is False)
        return tuple(executing for executing, polls in self._shown.items() if polls >= _POLLS)


_POLLS = 3
"""Polls that must show it: views that are read at different instants may show it once by chance."""


def _in_group(
    statements: Sequence[RunningStatement], number: int, bypassed: Collection[Executing]
) -> Mapping[Executing, bool | None]:
    """Return the statements of a group that it does not count, or may not count, when it counts `number` servers."""
    known = [each for each in statements if each.executing() in bypassed]
    beyond = _sum(statements) - number
    if beyond < _sum(known):  # then the earlier result no longer holds
        known = []
    found = _divide([each for each in statements if each not in known], beyond - _sum(known))
    return found | {each.executing(): False for each in known}


def _sum(statements: Iterable[RunningStatement]) -> int:
    return sum(each.servers for each in statements)


def _divide(statements: Sequence[RunningStatement], beyond: int) -> dict[Executing, bool | None]:
    """Return the statements that are not, or may not be, counted when all hold `beyond` servers more than the count."""
    if not beyond:
        return {}
    # Statements with the same number of servers cannot be told apart, so each number is tried once.
    found: dict[Executing, bool | None] = {}
    by_size: dict[int, bool | None] = {}
    for each in statements:
        if each.servers not in by_size:
            by_size[each.servers] = _is_counted(each, statements, beyond)
        if by_size[each.servers] is not True:
            found[each.executing()] = by_size[each.servers]
    return found


def _is_counted(statement: RunningStatement, statements: Sequence[RunningStatement], beyond: int) -> bool | None:
    # It is counted if the others alone can make up the uncounted servers, and is not if they can only with it.
    sums = _sums(other.servers for other in statements if other is not statement)
    without = _among(sums, beyond)
    within = _among(sums, beyond - statement.servers)
    # Views that are read at different instants may not add up at all: then the result is unknown.
    return None if without == within else without


def _sums(numbers: Iterable[int]) -> int:
    """Return the sums of all subsets of the numbers, as the bits of an integer."""
    # The number of subsets doubles with each statement; that of their sums cannot exceed the number of servers.
    sums = 1
    for number in numbers:
        sums |= sums << number
    return sums


def _among(sums: int, number: int) -> bool:
    return number >= 0 and bool(sums >> number & 1)


class GroupHoldings(NamedTuple):
    """Servers that the statements of a group hold, and the number of them that the group does not count."""

    held: int
    uncounted: int


def holdings(reading: Reading, con_id: int, group: str) -> GroupHoldings:
    """Return the servers that the statements of a group hold; the uncounted part is 0 if it is not known."""
    held = _sum(each for each in reading.running if (each.con_id, each.group) == (con_id, group))
    row = reading.group_of((con_id, group))
    return GroupHoldings(held, 0 if row is None or row.px_servers is None else max(0, held - row.px_servers))


def why_not_counted(statement: RunningStatement, reading: Reading) -> str:
    """Return why the limit of its group does not, or may not, count a statement's servers; "" if it does."""
    found = holdings(reading, statement.con_id, statement.group)
    if not found.uncounted:
        return ""
    name, is_counted = group_title(statement), Counted.of(reading).of_statement(statement, everybody=False)
    if is_counted is False:
        return f"{statement.who} did not queue, so {name} does not count its servers"
    which = f"{found.uncounted} of the {found.held} held (statements that did not queue)"
    return "" if is_counted else f"{name} does not count {which}; these may be among them"
