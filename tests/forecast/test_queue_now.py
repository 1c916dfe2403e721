"""The queue as the model takes it over, against the simulator: target, limits, plan order, holders, waiters."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest

from presman.analysis.assemble import analyse
from presman.analysis.facts.facts import Facts
from presman.analysis.facts.plan_book import Branch
from presman.analysis.readings.reading import Reading
from presman.forecast.queue_now import Modelled, QueueRules, modelled, plan_branch, queue_rules
from presman.forecast.scheduler import LEVELS, Group, Limits, PlanNode, Queueing
from presman.forecast.statement_history import StatementHistory
from presman.polling.poller import Poller
from presman.sources.simulator.loading import FOLDER
from presman.sources.simulator_source import SimulatorSource
from tests.scenarios import with_short_past

START = datetime(2026, 3, 14, 9, tzinfo=UTC)


def looked_at(scenario: str, second: float) -> tuple[SimulatorSource, Reading, QueueRules]:
    """A scenario some seconds after its start, as it is read."""
    source = SimulatorSource(
        scenario if scenario.endswith(".toml") else with_short_past(scenario),
        seed=7, clock=lambda: now[0], start=START,
    )  # fmt: skip
    now = [0.0]
    poller = Poller(source)
    poller.open()
    now[0] = second
    snapshot = poller.poll()
    reading = analyse(None, snapshot)
    return source, reading, queue_rules(Facts.of(None, snapshot), reading)


def test_a_limit_that_no_view_shows_is_unknown_to_the_model(tmp_path: Path) -> None:
    file, outage = tmp_path / "lost.toml", '[[outages]]\nat = 0\nlasts = 36000\nviews = ["DBA_RSRC_PLAN_DIRECTIVES"]\n'
    for text, unknown in (("", {}), (outage, {(0, "REPORTS"): "how many servers REPORTS may hold is not known"})):
        file.write_text(f"{(FOLDER / 'lost.toml').read_text(encoding='utf-8')}\n{text}", encoding="utf-8")
        _, reading, rules = looked_at(str(file), 4.0)
        assert reading.queue
        assert {key: why.partition(" (")[0] for key, why in rules.unknown_limits.items()} == unknown


def candidates(root: PlanNode | None, groups: frozenset[Group]) -> dict[Group, float]:
    first = Limits(0, 0, Queueing.FULL, root=root).served_first(groups)
    return dict(zip(first.groups, first.weights, strict=True))


@pytest.mark.parametrize(("scenario", "second"), [("storm", 10.0), ("rac", 600.0), ("pdb", 900.0), ("mixed", 300.0)])
def test_the_rules_are_those_by_which_the_simulator_queues(scenario: str, second: float) -> None:
    source, reading, rules = looked_at(scenario, second)
    plans = source.simulation.plans
    assert rules.target == plans.limits.target
    assert rules.one_queue is (plans.limits.queueing is not Queueing.FULL)
    for group in plans.groups:
        expected = min((pool.limit for pool in plans.limits.rule(group).pools), default=None)
        found = [limit.allowed for limit in rules.limits.get(group, ())]
        assert min(found, default=None) == expected, group
    assert rules.in_use == reading.header.servers.counted
    assert rules.plan is not None
    tree = plan_branch(rules.plan)
    for some in (*combinations(plans.groups, 2), tuple(plans.groups)):
        groups = frozenset(some)
        assert candidates(tree, groups) == pytest.approx(candidates(plans.root, groups)), some


def test_the_plan_shows_which_groups_never_queue() -> None:
    _, _, rules = looked_at("storm", 10.0)
    assert rules.bypassing == frozenset({(0, "SYS_GROUP")})


def test_weights_become_parts_of_one_level() -> None:
    root = Branch(
        "", (100.0,), by_weight=True,
        branches=(Branch("A", (3.0,), key=(0, "A")), Branch("B", (1.0,), key=(0, "B"))),
    )  # fmt: skip
    one, other = plan_branch(root).children
    assert (one.group, one.weights) == ((0, "A"), (0.75, *(0.0,) * (LEVELS - 1)))
    assert (other.group, other.weights) == ((0, "B"), (0.25, *(0.0,) * (LEVELS - 1)))


@cache
def watched_storm() -> tuple[SimulatorSource, Reading, Modelled]:
    now = [0.0]
    source = SimulatorSource(with_short_past("storm"), seed=7, clock=lambda: now[0], start=START)
    poller, seen, previous = Poller(source), StatementHistory(), None
    poller.open()
    for _ in range(24):
        now[0] += 5.0
        snapshot = poller.poll()
        reading = analyse(previous, snapshot)
        seen.add(reading)
        before, previous = previous, snapshot
    model = modelled(reading, queue_rules(Facts.of(before, snapshot), reading), seen)
    assert model is not None
    return source, reading, model


def test_the_plans_timeout_counts_for_the_first_statement_of_a_group() -> None:
    # Later, or under other limits, its statements may queue: those of REPORTS start after 15 minutes, full or not.
    _, reading, model = watched_storm()
    assert {each.group for each in reading.queue} == {"BATCH"}
    assert model.now.limits.timeouts == {Group(0, "REPORTS"): 900.0, Group(0, "BATCH"): 7200.0}
    assert model.now.limits.rule(Group(0, "REPORTS")).action == "RUN"


def test_servers_in_use_and_those_that_wait_are_those_of_the_simulator() -> None:
    source, reading, model = watched_storm()
    queue = source.simulation.workload.queue
    assert sum(each.servers for each in model.now.holders) == queue.in_use
    assert len(model.now.waiting) == len(queue.queued()) == len(reading.queue)
    wants = sorted((each.group, each.high) for each in model.now.waiting)
    assert wants == sorted((each.group, each.needs) for each in queue.queued())
    waits = [each.waited for each in model.now.waiting]
    assert waits == sorted(waits, reverse=True)
    assert model.now.watched == 115.0
    assert {each.group.name for each in model.now.arrivals} >= {"REPORTS"}
    martin = next(
        each for each, row in zip(model.now.holders, model.holders, strict=True) if row and row.user == "MARTIN"
    )
    assert not martin.managed  # it bypassed the queue, so its group's limit does not count it
    assert martin.held > 500.0
