"""Advice against the simulator's scheduler: if the named sessions are ended there, the head starts."""

from __future__ import annotations

from collections import Counter

import pytest

from presman.analysis.advice.contenders import Unblock
from presman.analysis.advice.unblock import unblock
from presman.analysis.readings.statement_readings import Cause, RunningStatement
from presman.rows.queries import DetailLevel
from presman.sources.simulator.executions import Execution
from presman.sources.simulator_source import SimulatorSource
from tests.analysis.test_simulated import SCENARIOS, cause_is_the_schedulers, play, started
from tests.forecast.hold import why_of
from tests.scenarios import NOT_SO
from tests.thorough import THOROUGH, some

QUEUED = ["holders", "locked", "mixed", "pdb", "rac", "storm"]
"""Scenarios in which a queue has a head at one of the polls, one of each kind."""


def execution_of(source: SimulatorSource, statement: RunningStatement) -> Execution:
    workload = source.simulation.workload
    key = (statement.inst_id, statement.sid, statement.serial)
    return next(
        one for session, one in workload.executions.items() if (session.inst_id, session.sid, session.serial) == key
    )


def ends(source: SimulatorSource, found: Unblock, number: int) -> bool:
    """Whether the head would fit if the first `number` candidates ended: tried in the scheduler, then undone."""
    queue = source.simulation.workload.queue
    entries = [execution_of(source, each.statement).entry for each in found.candidates[:number]]
    head = execution_of(source, found.head.statement).entry  # type: ignore[arg-type]
    saved = queue.in_use, dict(queue.held._held), dict(queue._running)
    for entry in entries:
        queue.release(entry)
    hold = why_of(queue, head)
    queue.in_use, queue.held._held, queue._running = saved
    for entry in entries:
        entry.running = True
    return not (hold.system_binds or hold.group_binds)


def starts_somebody(source: SimulatorSource, found: Unblock, way: tuple[RunningStatement, ...]) -> bool:
    """Whether the first of the head's queue would fit if these ended: the scheduler knows which one that is."""
    queue = source.simulation.workload.queue
    head = execution_of(source, found.head.statement).entry  # type: ignore[arg-type]
    first = next(each for each in queue.queued() if each.group == head.group and queue.is_first(each))
    saved = queue.in_use, dict(queue.held._held), dict(queue._running)
    entries = [execution_of(source, each).entry for each in way]
    for entry in entries:
        queue.release(entry)
    hold = why_of(queue, first)
    queue.in_use, queue.held._held, queue._running = saved
    for entry in entries:
        entry.running = True
    return not (hold.system_binds or hold.group_binds)


@pytest.mark.parametrize("seed", some([1], [2, 3, 6]))
@pytest.mark.parametrize("scenario", some(QUEUED, sorted({*SCENARIOS} - {*QUEUED} - NOT_SO)))
def test_the_cause_is_the_schedulers_and_the_advice_unblocks_the_head(scenario: str, seed: int) -> None:
    source, clock = started(scenario, seed)
    seen: Counter[Cause | str] = Counter()
    for reading in play(source, clock, 12 if THOROUGH else 5, 45.0, DetailLevel.NARROW):
        cause_is_the_schedulers(source, reading)
        for found in unblock(reading):
            seen[found.head.cause] += 1
            if found.needed:
                assert ends(source, found, found.needed), found
                assert found.needed == 1 or not ends(source, found, found.needed - 1)
            for way in found.answers:
                seen["offered"] += 1
                ends_too = [each for each in found.candidates[: found.needed] if each.ends_in is not None]
                assert starts_somebody(source, found, (*way, *(each.statement for each in ends_too))), found.sentence
            for place, each in enumerate(found.candidates):
                assert 0 <= each.frees <= each.perhaps <= each.statement.servers
                assert each.enough <= (found.needed == 1 or place >= found.needed)
                seen["one is enough"] += each.enough
            if found.head.cause in {Cause.GROUP, Cause.SYSTEM}:
                assert found.candidates, found.head.sentence
                seen["answered" if found.needed else "open"] += 1
    if scenario in {"storm", "rac"}:
        assert seen[Cause.GROUP] + seen[Cause.SYSTEM] > 1
        assert seen["one is enough"]
        assert seen["answered"] > 3 * seen["open"]
