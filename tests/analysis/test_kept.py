"""Servers that an idle holder keeps: DO and each head agree for which heads its end is enough."""

from __future__ import annotations

import re

from presman.analysis.advice.answers import too_early
from presman.analysis.advice.to_do import to_do
from presman.analysis.advice.unblock import unblock
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Cause
from tests.recording.recorded import polled

_SHORT = {Cause.SYSTEM, Cause.GROUP}


def test_do_and_each_head_name_the_same_idle_holder() -> None:
    """DO said that MARTIN keeps 16 servers, and TO START IT of the first head, the only one with room, did not."""
    met = 0
    for _, reading in polled("storm", 40):
        step = to_do(reading)
        named = re.search(r"(MARTIN 1:\d+ \(idle [\d:]+\)): it keeps 16 servers", step.text if step is not None else "")
        for found in unblock(reading) if named else ():
            if found.head.cause in _SHORT and found.turns and not found.leaves_soon and not too_early(found):
                assert named is not None
                assert f"{named[1]} keeps 16 servers" in found.sentence
                met += 1
    assert met > 5


def lacks(reading: Reading) -> dict[str, int]:
    """Return what each head is short of under the target, if nothing else holds it back."""
    return {
        each.group: each.shortages[0].short
        for each in reading.heads
        if len(each.shortages) == 1 and each.shortages[0].everybody and not each.equals
    }


def test_an_end_is_enough_for_heads_that_lack_no_more() -> None:
    words = re.compile(r"keeps 16 servers .*: ending it is enough for (.+?), but (.+?); the plan decides")
    met = 0
    for _, reading in polled("storm", 8, since=240):
        for found in unblock(reading):
            if (match := words.search(found.sentence)) is not None:
                short = lacks(reading)
                assert all(short[name] <= 16 for name in re.findall(r"[A-Z]+", match[1]))
                numbers = {name: int(number) for name, number in re.findall(r"([A-Z]+) lacks (\d+)", match[2])}
                assert all(number > 16 and short.get(name, number) == number for name, number in numbers.items())
                met += 1
    assert met
