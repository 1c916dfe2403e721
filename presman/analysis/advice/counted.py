"""Statements that the queue counts, as far as sums can tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import RunningStatement


class Counted(Struct, frozen=True):
    """Which running statements the queue counts against the limits of their group, as far as sums can tell.

    V$RSRC_CONSUMER_GROUP does not count the servers of statements that bypassed the queue, and no view says which those
    are. If a group's statements hold 16 servers more than it counts, whoever holds more than 16 is counted, and one of
    16 is not if nothing else adds up to 16.
    """

    unknown: Mapping[tuple[int, int, int], bool | None]

    @classmethod
    def of(cls, reading: Reading) -> Counted:
        """Compare what each group holds with what its statements hold."""
        held: dict[tuple[int, str], list[RunningStatement]] = {}
        for each in reading.running:
            held.setdefault((each.con_id, each.group), []).append(each)
        found: dict[tuple[int, int, int], bool | None] = {}
        for group in reading.cluster_groups():
            statements = held.get((group.con_id, group.name), [])
            beyond = sum(each.servers for each in statements) - group.px_servers
            if beyond:
                found |= _divide(statements, beyond)
        return cls(found)

    def of_statement(self, statement: RunningStatement) -> bool | None:
        """Return whether a statement is counted, None if it cannot be told."""
        return self.unknown.get((statement.inst_id, statement.sid, statement.serial), True)


def _divide(statements: Sequence[RunningStatement], beyond: int) -> dict[tuple[int, int, int], bool | None]:
    found: dict[tuple[int, int, int], bool | None] = {}
    for each in statements:
        sums = _sums(other.servers for other in statements if other is not each)
        without = _among(sums, beyond)
        within = _among(sums, beyond - each.servers)
        # Views read at different instants may not add up at all: then nothing is known.
        counted = None if without == within else without
        if counted is not True:
            found[each.inst_id, each.sid, each.serial] = counted
    return found


def _sums(numbers: Iterable[int]) -> int:
    """Return all sums of some of the numbers, as the bits of an integer."""
    sums = 1
    for number in numbers:
        sums |= sums << number
    return sums


def _among(sums: int, number: int) -> bool:
    return number >= 0 and bool(sums >> number & 1)
