"""Courses of the queue, each by hand: which statement starts when, what arrives, what ending one does."""

from __future__ import annotations

from math import inf
from random import Random

import pytest

from presman.forecast import scheduler
from presman.forecast.course import Holder, PastArrival, QueueNow, Waiting, draw, play
from presman.forecast.scheduler import Group, Limits, Queueing, QueueRule, ServerPoolLimit
from presman.forecast.statement_history import Durations

A, B = Group(0, "A"), Group(0, "B")
TEN = Durations((10.0, 10.000001), (1.0, 1e-9), 1e-9)
"""All last for ten seconds."""
RULES = {A: QueueRule((ServerPoolLimit("A", 32),)), B: QueueRule()}


def now(*holders: Holder, waiting: tuple[Waiting, ...], arrivals: tuple[PastArrival, ...] = (), watched: float = 0.0,
        rules: dict[Group, QueueRule] | None = None) -> QueueNow:  # fmt: skip
    return QueueNow(Limits(64, 1000, Queueing.FIFO, rules or RULES), holders, waiting, arrivals, watched)


def starts(queue: QueueNow, seed: str = "1", ended: tuple[int, ...] = ()) -> list[float]:
    return [round(start, 3) for start in play(queue, draw(queue, seed), ended).starts]


def wants(group: Group, servers: int, waited: float = 5.0) -> Waiting:
    return Waiting(group, servers, servers, waited, TEN)


def test_a_statement_starts_when_enough_is_free_the_next_after_it() -> None:
    queue = now(Holder(B, 48, 4.0, TEN), waiting=(wants(A, 32, 9.0), wants(A, 32, 8.0)))
    assert starts(queue) == [6.0, 16.0]


def test_free_servers_are_taken_at_once() -> None:
    assert starts(now(Holder(B, 32, 4.0, TEN), waiting=(wants(A, 32),))) == [0.0]


def test_a_group_waits_at_its_own_limit_and_others_pass() -> None:
    queue = now(Holder(A, 32, 7.0, TEN), waiting=(wants(A, 16, 9.0), wants(B, 32, 1.0)))
    assert starts(queue) == [3.0, 0.0]


def test_servers_that_the_queue_does_not_count_in_a_group_do_not_fill_its_limit() -> None:
    assert starts(now(Holder(A, 32, 7.0, TEN, managed=False), waiting=(wants(A, 16),))) == [0.0]


def test_an_estimate_of_an_operation_counts_by_how_right_it_was() -> None:
    holder = Holder(B, 64, 4.0, None, 20.0, (1.5,))
    assert starts(now(holder, waiting=(wants(A, 32),))) == [30.0]
    # Its own end is not known: it lasts as long as estimated, then as others that have run as long.
    early = Holder(B, 64, 4.0, TEN, 3.0)
    assert starts(now(early, waiting=(wants(A, 32),))) == [6.0]


def test_a_session_that_keeps_its_servers_is_waited_for_in_vain() -> None:
    queue = now(Holder(B, 64, 0.0, None), waiting=(wants(A, 32),))
    assert starts(queue) == [inf]
    assert starts(queue, ended=(0,)) == [0.0]


def test_chance_that_nothing_asks_for_is_not_made_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = now(Holder(B, 48, 4.0, TEN), waiting=(wants(A, 32, 9.0),))
    drawn = draw(queue, "1")
    monkeypatch.delattr(scheduler, "Random")
    assert play(queue, drawn).starts == (pytest.approx(6.0, abs=0.001),)


def test_a_timeout_ends_it_or_starts_it() -> None:
    for action, start in (("CANCEL", inf), ("RUN", 55.0)):
        rules = {A: QueueRule((ServerPoolLimit("A", 32),), timeout=60.0, action=action), B: QueueRule()}
        assert starts(now(Holder(B, 64, 0.0, None), waiting=(wants(A, 32),), rules=rules)) == [start]


def test_an_unknown_holder_keeps_servers_as_long_again_at_the_median() -> None:
    queue = now(Holder(B, 64, 40.0, None), waiting=(wants(A, 32),))
    found = sorted(starts(queue, str(seed))[0] for seed in range(199))
    # Of an even chance c it is 40 c / (1 - c): 13.3 s for a quarter, 40 s for a half, 120 s for three.
    assert [round(found[place] / 40, 1) for place in (49, 99, 149)] == pytest.approx([1 / 3, 1.0, 3.0], rel=0.2)


def test_earlier_arrivals_come_again_together() -> None:
    queue = now(
        Holder(B, 64, 0.0, None),
        waiting=(wants(A, 64, 1.0),),
        arrivals=(PastArrival(30.0, B, 32, TEN), PastArrival(30.0, B, 32, TEN)),
        watched=100.0,
    )
    played = play(queue, draw(queue, "1"))
    assert played.starts == (inf,)
    assert played.steps > 100  # twice in each hundred seconds, for hours


@pytest.mark.parametrize("seed", range(20))
def test_those_that_come_are_behind_in_one_queue(seed: int) -> None:
    queue = now(Holder(B, 64, 4.0, TEN), waiting=(wants(A, 32),), arrivals=(PastArrival(1.0, B, 64, TEN),), watched=2.0)
    assert starts(queue, str(seed)) == [6.0]


def test_the_random_draws_are_the_same_without_one_of_the_holders() -> None:
    spread = Durations((10.0, 20.0, 40.0), (0.6, 0.3, 0.1), 20.0)
    random = Random(1)
    holders = [Holder(B, 16, random.random() * 20, spread) for _ in range(4)]
    queue = now(*holders, waiting=tuple(Waiting(B, 32, 32, 5.0, spread) for _ in range(5)))
    for seed in range(10):
        drawn = draw(queue, str(seed))
        assert play(queue, drawn) == play(queue, drawn)
        with_all, without = play(queue, drawn), play(queue, drawn, ended=(0, 1, 2, 3))
        assert all(early <= late for early, late in zip(without.starts, with_all.starts, strict=True))
        assert without.at_once == 2
        assert with_all.empty == max(with_all.starts)


def test_one_set_counts_once_or_twice_for_all_statements_alike() -> None:
    queue = now(waiting=(Waiting(A, 8, 16, 1.0, TEN), Waiting(B, 4, 8, 1.0, TEN)))
    assert {draw(queue, str(seed)).wants for seed in range(20)} == {(8, 4), (16, 8)}


def test_the_order_of_equal_waits_is_drawn_for_each_course() -> None:
    """64 are held for 6 s more and each wants 32 of A's 32: the first starts after 6 s, the other after 16."""
    queue = now(Holder(B, 64, 4.0, TEN), waiting=(wants(A, 32, 9.4), wants(A, 32, 9.0)))
    drawn = [tuple(starts(queue, str(seed))) for seed in range(100)]
    assert set(drawn) == {(6.0, 16.0), (16.0, 6.0)}
    # Of u and v, even in 0..1, u + 0.4 < v has the chance 0.6 x 0.6 / 2 = 0.18.
    assert 8 <= drawn.count((16.0, 6.0)) <= 30


def test_a_statement_that_waits_as_next_in_line_is_the_first() -> None:
    next_one = wants(A, 32, 9.0)._replace(is_next=True)
    queue = now(Holder(B, 64, 4.0, TEN), waiting=(wants(A, 32, 9.9), next_one))
    assert {tuple(starts(queue, str(seed))) for seed in range(30)} == {(16.0, 6.0)}
