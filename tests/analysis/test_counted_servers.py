"""Which statements bypassed the queue, by sums over several polls: worked out by hand."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from presman.analysis.parallel.counted_servers import Bypassed, Counted
from presman.analysis.readings.reading import Reading
from tests.tui.readings import busy, group, running

IDLE = running(526, servers=16, idle=900.0, status="INACTIVE")


def held(counted: int, *others: int) -> Reading:
    """BATCH counts so many servers; MARTIN holds 16, the others `others`."""
    rows = [running(600 + number, servers=servers) for number, servers in enumerate(others)]
    pool = replace(busy().header.servers, counted=counted)
    header = replace(busy().header, servers=pool)
    return replace(busy(), running=(IDLE, *rows), groups=(group("BATCH", px_servers=counted),), header=header)


def is_counted(reading: Reading, row: Any = IDLE) -> bool | None:
    return Counted.of(reading).of_statement(row, everybody=False)


def test_facts_of_three_polls_hold_while_sums_are_ambiguous() -> None:
    """48 of 64 are counted: if two hold 16 and 48, the 16 are not counted; if four hold 16 each, it may be any."""
    clear, ambiguous, bypassed = held(48, 48), held(48, 16, 16, 16), Bypassed()
    assert (is_counted(clear), is_counted(ambiguous)) == (False, None)
    assert bypassed.add(clear) == bypassed.add(ambiguous) == bypassed.add(clear) == (), "two polls may be chance"
    known = bypassed.add(clear)
    assert known == (IDLE.executing(),)
    later = replace(ambiguous, bypassed=bypassed.add(ambiguous))
    assert is_counted(later) is False
    assert [is_counted(later, each) for each in later.running[1:]] == [True, True, True], "so the others are counted"


def test_contrary_polls_count_at_once_and_ended_sessions_are_forgotten() -> None:
    clear, counted, bypassed = held(48, 48), held(64, 48), Bypassed()
    assert [bypassed.add(clear) for _ in range(3)][-1] == (IDLE.executing(),)
    assert is_counted(replace(counted, bypassed=(IDLE.executing(),))) is True, "all 64 are counted"
    assert bypassed.add(replace(counted, bypassed=(IDLE.executing(),))) == ()
    assert [bypassed.add(clear) for _ in range(3)][-1]
    assert bypassed.add(replace(clear, running=clear.running[1:])) == ()
    assert bypassed.add(clear) == ()
