"""The parallel statement queue: documented cases, order, limits, timeouts, downgrades, explanations."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from presman.forecast.scheduler import (
    LEVELS,
    Group,
    Limits,
    QueueEntry,
    Queueing,
    QueueOutcome,
    QueueRule,
    SeededRandom,
    ServerPoolLimit,
    StatementQueue,
)
from presman.sources.simulator.plan_tree import Node
from tests.forecast.hold import HoldReason, why_of
from tests.thorough import THOROUGH

A, B, C = Group(0, "A"), Group(0, "B"), Group(0, "C")
_NUMBERS = count(1)


def node(group: Group, *levels: float) -> Node:
    return Node(group.name, (*levels, *(0.0,) * (LEVELS - len(levels))), group=group)


def queue(
    target: int,
    maximum: int = 1000,
    rules: dict[Group, QueueRule] | None = None,
    root: Node | None = None,
    seed: int = 1,
) -> StatementQueue:
    queueing = Queueing.FULL if root else Queueing.FIFO
    return StatementQueue(Limits(target, maximum, queueing, rules or {}, root), SeededRandom(seed))


def ask(servers: int, group: Group = A, at: float = 0.0, sets: int = 1, *, queues: bool = True) -> QueueEntry:
    return QueueEntry(next(_NUMBERS), group, servers // sets, sets, at, queues)


def enter(parallel: StatementQueue, entry: QueueEntry) -> bool:
    return parallel.submit(entry) or entry in parallel.pump()


def test_documented_60_and_16_on_64_queues() -> None:
    parallel = queue(64)
    first, second = ask(60), ask(16)
    assert enter(parallel, first)
    assert not enter(parallel, second)
    why = why_of(parallel, second)
    assert (why.cause, why.in_use, why.wants, why.target) == (HoldReason.SYSTEM, 60, 16, 64)
    parallel.release(first)
    assert parallel.pump() == [second]


def test_documented_half_of_two_nodes_of_32_is_32_servers() -> None:
    parallel = queue(64, rules={A: QueueRule((ServerPoolLimit("A", 64 * 50 // 100),))})
    assert enter(parallel, ask(16))
    assert enter(parallel, ask(16))
    third = ask(2)
    assert not enter(parallel, third)
    why = why_of(parallel, third)
    assert (why.cause, why.held, why.allowed, why.system_binds) == (HoldReason.GROUP, 32, 32, False)
    assert enter(parallel, ask(32, B)), "other groups are not held by the limit of this one"


def test_published_19c_case_counts_both_sets() -> None:
    """Target 96, limit 84 percent, DOP 4 in two sets: ten of twenty run at once."""
    parallel = queue(96, rules={A: QueueRule((ServerPoolLimit("A", 96 * 84 // 100),))})
    entries = [ask(8, sets=2) for _ in range(20)]
    assert sum(enter(parallel, entry) for entry in entries) == 10
    assert [why_of(parallel, entry).cause for entry in entries[10:]] == [HoldReason.GROUP] + [HoldReason.BEHIND] * 9


def test_more_than_the_target_runs_alone() -> None:
    parallel = queue(24)
    first = ask(12)
    assert enter(parallel, first)
    assert not enter(parallel, wide := ask(36))
    assert why_of(parallel, wide).never_fits
    parallel.release(first)
    assert parallel.pump() == [wide]
    assert wide.servers == 36


def test_a_limit_of_0_lets_none_start() -> None:
    """What-if let those of ANALYSIS run one by one at --limit ANALYSIS=0, and `once` said that it allows none."""
    group = ask(8).group
    for limit, starts in ((0, False), (4, True)):
        parallel = queue(24, rules={group: QueueRule((ServerPoolLimit("limit", limit),))})
        assert enter(parallel, ask(8)) == starts


def test_a_small_one_behind_waits_its_turn() -> None:
    parallel = queue(24)
    enter(parallel, ask(20))
    assert not enter(parallel, ask(8))
    assert not enter(parallel, small := ask(2))
    assert why_of(parallel, small).cause is HoldReason.BEHIND


def test_bypass_never_queues_and_is_downgraded_at_the_maximum() -> None:
    parallel = queue(16, 40, {B: QueueRule(bypass=True)})
    assert enter(parallel, ask(16))
    assert enter(parallel, over := ask(16, B, sets=2))
    assert (over.degree, over.managed, parallel.in_use) == (8, False, 32)
    assert enter(parallel, cut := ask(16, B, sets=2))
    assert (cut.degree, cut.servers) == (4, 8)
    assert enter(parallel, serial := ask(16, B, sets=2))
    assert (serial.degree, serial.servers, parallel.in_use) == (1, 0, 40)


def test_critical_queue_queues_whatever_the_policy_says() -> None:
    parallel = queue(16, rules={B: QueueRule(always=True)})
    enter(parallel, ask(16))
    assert enter(parallel, ask(8, A, queues=False))
    assert not enter(parallel, ask(8, B, queues=False))


def test_degree_limit_of_the_group_shrinks_what_it_needs() -> None:
    parallel = queue(16, rules={A: QueueRule(degree_limit=4)})
    assert enter(parallel, entry := ask(32, sets=2))
    assert (entry.dop, entry.degree, entry.servers) == (16, 4, 8)


@pytest.mark.parametrize(("action", "outcome"), [("CANCEL", QueueOutcome.CANCELLED), ("RUN", QueueOutcome.FORCED)])
def test_timeouts(action: str, outcome: QueueOutcome) -> None:
    parallel = queue(16, 20, {A: QueueRule(timeout=60, action=action)})
    enter(parallel, ask(16))
    assert not enter(parallel, late := ask(16, at=100.0))
    assert parallel.next_timeout() == 160.0
    assert parallel.expire(159.0) == []
    assert parallel.expire(160.0) == [(late, outcome)]
    assert parallel.queued() == []
    assert late.servers == (4 if outcome is QueueOutcome.FORCED else 0)


def test_first_level_goes_first() -> None:
    root = Node("P", children=(node(A, 1.0), node(B, 0.0, 1.0)))
    parallel = queue(16, root=root)
    enter(parallel, running := ask(16, C))
    enter(parallel, low := ask(16, B, at=1.0))
    enter(parallel, high := ask(16, A, at=2.0))
    parallel.release(running)
    assert parallel.pump() == [high]
    assert why_of(parallel, low).cause is HoldReason.SYSTEM


def test_a_level_at_its_limit_lets_the_next_level_pass() -> None:
    root = Node("P", children=(node(A, 1.0), node(B, 0.0, 1.0)))
    parallel = queue(64, rules={A: QueueRule((ServerPoolLimit("A", 16),))}, root=root)
    assert enter(parallel, ask(16, A))
    assert not enter(parallel, ask(16, A))
    assert enter(parallel, ask(16, B))


def test_a_statement_that_fits_waits_for_the_one_drawn() -> None:
    root = Node("P", children=(node(A, 1.0), node(B, 0.0, 1.0)))
    parallel = queue(16, root=root)
    enter(parallel, ask(8, C))
    assert not enter(parallel, ask(12, A))
    assert not enter(parallel, small := ask(4, B))
    assert why_of(parallel, small).cause is HoldReason.NOT_CHOSEN


def test_draw_follows_the_allocation() -> None:
    root = Node("P", children=(node(A, 0.70), node(B, 0.25), node(C, 0.05)))
    parallel = queue(8, root=root)
    wins = dict.fromkeys((A, B, C), 0)
    enter(parallel, running := ask(8, A))
    for group in (A, B, C):
        enter(parallel, ask(8, group))
    for _ in range(2000):
        parallel.release(running)
        (running,) = parallel.pump()
        wins[running.group] += 1
        enter(parallel, ask(8, running.group))
    assert [round(wins[group] / 2000, 2) for group in (A, B, C)] == pytest.approx([0.70, 0.25, 0.05], abs=0.03)


def test_other_limits_mid_way_keep_the_order() -> None:
    parallel = queue(8)
    enter(parallel, running := ask(8))
    enter(parallel, first := ask(8, A, at=1))
    enter(parallel, second := ask(8, B, at=2))
    parallel.change(Limits(16, 100, Queueing.FIFO), {first.number: C, second.number: C, running.number: C})
    assert parallel.pump() == [first]
    assert why_of(parallel, second).cause is HoldReason.SYSTEM
    assert {entry.group for entry in parallel.running()} == {C}


def test_switching_moves_the_servers() -> None:
    parallel = queue(64, rules={A: QueueRule((ServerPoolLimit("A", 32),)), B: QueueRule((ServerPoolLimit("B", 32),))})
    enter(parallel, entry := ask(16))
    parallel.move(entry, B)
    assert (parallel.held.of("A"), parallel.held.of("B")) == (0, 16)


class QueueMachine(RuleBasedStateMachine):
    """Any order of arrivals, ends and timeouts: the invariants of the queue."""

    TARGET, MAXIMUM, LIMIT = 32, 48, 16

    def __init__(self) -> None:
        super().__init__()
        root = Node("P", children=(node(A, 0.6), node(B, 0.4), node(C, 0.0, 1.0)))
        rules = {A: QueueRule((ServerPoolLimit("A", self.LIMIT),), timeout=50), C: QueueRule(bypass=True)}
        self.queue = queue(self.TARGET, self.MAXIMUM, rules, root)
        self.now = 0.0
        self.started: dict[Group, list[int]] = {A: [], B: [], C: []}
        self.timed_out: set[int] = set()

    def note(self, entries: list[QueueEntry]) -> None:
        for entry in entries:
            self.started[entry.group].append(entry.number)

    @rule(servers=st.sampled_from([2, 4, 8, 12, 16, 20, 40]), group=st.sampled_from([A, B, C]))
    def arrive(self, servers: int, group: Group) -> None:
        self.now += 1
        entry = ask(servers, group, self.now)
        before = self.queue.in_use
        if self.queue.submit(entry):
            assert group is C
        started = self.queue.pump()
        self.note(started)
        for one in started:
            assert one.servers == one.needs
            if one.needs <= self.TARGET:
                assert before + one.servers <= self.TARGET
            else:
                assert before == 0
            before += one.servers

    @precondition(lambda self: any(True for _ in self.queue.running()))
    @rule(which=st.integers(0, 100))
    def end(self, which: int) -> None:
        running = list(self.queue.running())
        self.queue.release(running[which % len(running)])
        self.note(self.queue.pump())

    @rule(seconds=st.integers(1, 60))
    def wait(self, seconds: int) -> None:
        self.now += seconds
        for entry, outcome in self.queue.expire(self.now):
            assert outcome is QueueOutcome.CANCELLED
            assert entry.group is A
        self.note(self.queue.pump())

    @invariant()
    def counts_agree(self) -> None:
        running = list(self.queue.running())
        assert self.queue.in_use == sum(entry.servers for entry in running) <= self.MAXIMUM
        mine = [entry for entry in running if entry.group is A]
        held = sum(entry.servers for entry in mine)
        assert held == self.queue.held.of("A")
        assert held <= self.LIMIT or len(mine) == 1, "beyond its limit only alone"

    @invariant()
    def first_come_first_served_in_a_group(self) -> None:
        for group in (A, B):
            assert self.started[group] == sorted(self.started[group])

    @invariant()
    def every_wait_has_its_reason(self) -> None:
        heads: set[Group] = set()
        for entry in self.queue.queued():
            why = why_of(self.queue, entry)
            assert (why.cause is HoldReason.BEHIND) == (entry.group in heads)
            heads.add(entry.group)
            if why.cause is HoldReason.GROUP:
                assert why.allowed is not None
                assert why.held + why.wants > why.allowed
            if why.cause is HoldReason.SYSTEM:
                assert why.in_use + why.wants > why.target
            if why.cause is HoldReason.NOT_CHOSEN:
                assert len({other.group for other in self.queue.queued()}) > 1


TestQueueing = QueueMachine.TestCase
TestQueueing.settings = settings(max_examples=200 if THOROUGH else 20, stateful_step_count=40, deadline=None)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=30))
def test_fifo_regime_is_one_queue(wanted: list[int]) -> None:
    parallel = queue(20)
    entries = [ask(servers * 2, (A, B, C)[servers % 3], at=index) for index, servers in enumerate(wanted)]
    started = []
    for entry in entries:
        parallel.submit(entry)
        started += parallel.pump()
    while any(True for _ in parallel.running()):
        parallel.release(next(iter(parallel.running())))
        started += parallel.pump()
    assert started == entries
