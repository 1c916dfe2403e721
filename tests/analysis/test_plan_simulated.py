"""Shares, verdicts and containers as analysis sees them, against the plan arithmetic of the simulator's scheduler."""

from __future__ import annotations

from itertools import pairwise

import pytest

from presman.analysis.assemble import analyse
from presman.analysis.groups.containers import pdbs
from presman.analysis.plans.plan_view import plan_view
from presman.analysis.readings.group_readings import Verdict
from presman.analysis.readings.reading import Reading
from presman.output.json_document import assess
from presman.polling.poller import Poller
from presman.rows.snapshot import Snapshot
from presman.sources.simulator.plan_tree import hand_out
from presman.sources.simulator_source import SimulatorSource
from tests.analysis.test_simulated import SCENARIOS, Clock, started
from tests.recording.recorded import polled
from tests.scenarios import KINDS
from tests.sources.simulator.guarantees import guaranteed
from tests.thorough import THOROUGH, some


def moments(
    source: SimulatorSource, clock: Clock, polls: int, every: float
) -> list[tuple[Snapshot, Snapshot, Reading]]:
    """The readings of some polls with the snapshots they were made of."""
    poller = Poller(source)
    poller.open()
    found, previous = [], None
    for _ in range(polls):
        clock.now += every
        current = poller.poll()
        if previous is not None:
            found.append((previous, current, analyse(previous, current)))
        previous = current
    poller.close()
    return found


@pytest.mark.parametrize("scenario", some(["mixed", "pdb", "quiesce", "rac", "tenants"], SCENARIOS))
def test_guaranteed_shares_are_those_of_the_scheduler(scenario: str) -> None:
    source, clock = started(scenario, 1)
    poller = Poller(source)
    poller.open()
    clock.now += 2
    now = poller.poll()
    reading = analyse(None, now)
    root = source.simulation.plans.root
    if root is not None:
        truth = {tuple(group): share for group, share in guaranteed(root).items()}
        for line in plan_view(reading, now).lines:
            if line.kind == "group":
                assert line.share == pytest.approx(truth[line.con_id, line.name]), line.name
    poller.close()


@pytest.mark.parametrize("scenario", ["pdb", "tenants"])
def test_a_container_is_due_the_same_in_the_plan_as_beside_the_others(scenario: str) -> None:
    """CPU that a limit inside one container leaves goes to the others: 0.5 CPUs of HR to SALES."""
    source, clock = started(scenario, 4)
    for previous, current, reading in moments(source, clock, 6, 10.0):
        lines = plan_view(reading, current).lines
        planned = {line.con_id: line.entitled for line in lines if line.kind == "container"}
        beside = {row.con_id: row.entitled for row in pdbs(reading, previous, current)}
        assert planned == {con_id: pytest.approx(beside[con_id]) for con_id in planned}
        assert len(planned) > 1


def test_nothing_in_a_plan_is_due_more_than_it_may_use() -> None:
    """HR's groups together are due more than HR may use if one of them wants little."""
    source, clock = started("pdb", 2)
    due = {}
    for _, current, reading in moments(source, clock, 3, 5.0):
        lines = plan_view(reading, current).lines
        due = {(line.con_id, line.name): line for line in lines if line.entitled is not None and line.limit is not None}
        assert all(line.entitled <= line.limit + 1e-9 for line in due.values() if line.entitled and line.limit)
    hr = due[4, "HR"]
    inside = sum(line.entitled or 0.0 for (con_id, name), line in due.items() if con_id == 4 and name != "HR")
    assert hr.entitled == hr.limit < inside


@pytest.mark.parametrize("scenario", KINDS)
def test_the_plan_is_always_kept_because_the_scheduler_keeps_it(scenario: str) -> None:
    for (previous, _), (current, reading) in list(pairwise(polled(scenario, 60 if THOROUGH else 12)))[4::6]:
        found = assess(reading, previous, current)
        assert all(each.score in {100.0, None} for each in found.conformance), found.conformance
        assert all(text.text.endswith(".") for text in found.verdicts)


def test_containers_get_what_the_scheduler_gave_their_groups() -> None:
    source, clock = started("pdb", 1)
    for previous, current, reading in moments(source, clock, 15 if THOROUGH else 6, 4.0):
        rows = {row.con_id: row for row in assess(reading, previous, current).pdbs}
        assert set(rows) == {3, 4, 5}
        for con_id, row in rows.items():
            assert row.used is not None
            by_groups = sum(group.used or 0.0 for group in reading.cluster_groups() if group.con_id == con_id)
            assert row.used == pytest.approx(by_groups, abs=0.01)
            assert row.verdict is not Verdict.STARVED
            if row.limit is not None:
                assert row.used <= row.limit * 1.01 + 0.05


def test_entitlement_under_full_demand_is_what_the_scheduler_hands_out() -> None:
    source, clock = started("pdb", 1)
    poller = Poller(source)
    poller.open()
    clock.now += 2
    current = poller.poll()
    reading = analyse(None, current)
    root = source.simulation.plans.root
    assert root is not None
    lines = [line for line in plan_view(reading, current).lines if line.kind == "group"]
    demand = dict.fromkeys(guaranteed(root), 1000.0)
    given = {tuple(group): cpus for group, cpus in hand_out(root, demand, 16.0).items()}
    assert {(line.con_id, line.name) for line in lines} == set(given)
    for line in lines:
        assert given[line.con_id, line.name] >= line.guaranteed - 1e-6
        assert line.limit is None or given[line.con_id, line.name] <= line.limit + 1e-6
