"""Other statements that may take the servers freed for a head, and which session is chosen; by hand."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.advice.contenders import contenders, listed, too_large
from presman.analysis.advice.freeing import Freeing, by_time, covers, in_order
from presman.analysis.parallel.counted_servers import Counted
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Servers, Shortage, WantsSource
from tests.tui.readings import busy, running

ALL = Counted({}, {})
"""Everybody's servers count."""


def heads(batch: dict[str, Any] | None = None, etl: dict[str, Any] | None = None, **facts: Any) -> Reading:
    """BATCH wants 32 servers and ETL 16; 60 of the target's 64 are in use, no group has a limit."""
    found = busy()
    own: dict[str, Any] = {"allowed": None, "in_use": 60, "target": 64, "wants": Servers(32, 32)}
    first = replace(found.heads[0], **(own | {"shortages": (Shortage(28, everybody=True),)} | (batch or {})))
    wants = Servers(16, 16, WantsSource.PLAN)
    second = replace(
        found.heads[1], **(own | {"wants": wants, "shortages": (Shortage(12, everybody=True),)} | (etl or {}))
    )
    queue = tuple(replace(each.statement, wants=each.wants) for each in (first, second))
    pair = tuple(replace(each, statement=one) for each, one in zip((first, second), queue, strict=True))
    return replace(found, heads=pair, queue=queue, **facts)


def rivals(found: Reading, *freed: Any) -> tuple[str, ...]:
    return contenders(found.heads[0], freed, found, ALL)


@pytest.mark.parametrize(("servers", "taken"), [(43, ("ETL",)), (44, ())])
def test_a_start_is_certain_once_there_is_enough_for_both(servers: int, taken: tuple[str, ...]) -> None:
    """4 are free; 44 more are 48: 32 and 16."""
    assert rivals(heads(), running(1, servers=servers)) == taken


@pytest.mark.parametrize("unknown", ["target", "in_use", "wants"])
def test_without_figures_of_the_target_nothing_is_promised_or_doubted(unknown: str) -> None:
    assert rivals(heads({unknown: None}), running(1, servers=30)) == ()


def test_a_rival_that_wants_a_single_server_takes_the_one_that_is_missing() -> None:
    """4 free and 28 freed are the head's 32, and none is left."""
    found = heads(etl={"wants": Servers(1, 1, WantsSource.PLAN)})
    assert rivals(found, running(1, servers=28)) == ("ETL",)
    assert rivals(found, running(1, servers=29)) == ()


def test_heads_that_run_on_different_instances_do_not_compete() -> None:
    def on(*inst_ids: int) -> dict[str, Any]:
        return {"shortages": (Shortage(12, everybody=True, inst_ids=inst_ids),)}

    freed = running(1, servers=30, servers_by_instance={1: 20, 2: 10})
    assert rivals(heads(on(1), on(2)), freed) == ()
    assert rivals(heads(on(1), on(1, 2)), freed) == ("ETL",)
    assert rivals(heads(on(1)), freed) == ("ETL",), "ETL may run everywhere"


def test_only_servers_freed_where_the_head_may_run_count() -> None:
    """Of 44 freed servers 43 are on instance 1: one is missing for both."""
    found = heads({"shortages": (Shortage(28, everybody=True, inst_ids=(1,)),)})
    assert rivals(found, running(1, servers=44, servers_by_instance={1: 43, 2: 1})) == ("ETL",)
    assert rivals(found, running(1, servers=45, servers_by_instance={1: 44, 2: 1})) == ()


@pytest.mark.parametrize(
    ("allowed", "held", "taken"),
    [
        (64, 64, ()),  # ETL is full
        (64, 49, ()),  # 15 are left below its limit: its head wants 16
        (64, 48, ("ETL",)),
    ],
)
def test_a_rival_takes_no_more_than_its_own_limit_leaves(allowed: int, held: int, taken: tuple[str, ...]) -> None:
    assert rivals(heads(etl={"allowed": allowed, "held": held}), running(1, servers=30)) == taken


@pytest.mark.parametrize(("left", "action", "taken"), [
    (30.0, "RUN", ("ETL",)), (31.0, "RUN", ()), (30.0, "CANCEL", ()), (30.0, "", ("ETL",)),
])  # fmt: skip
def test_a_rival_that_starts_at_its_timeout_needs_no_room(left: float, action: str, taken: tuple[str, ...]) -> None:
    """ETL's own limit leaves it nothing, but PQ_TIMEOUT_ACTION RUN starts it in spite of it."""
    own = (Shortage(12, everybody=True), Shortage(16, con_id=busy().heads[1].con_id, group="ETL"))
    found = heads(etl={"allowed": 32, "held": 32, "shortages": own})
    batch, etl = found.heads
    etl = replace(etl, statement=replace(etl.statement, timeout_left=left, timeout_action=action))
    assert rivals(replace(found, heads=(batch, etl)), running(1, servers=28)) == taken


def test_in_one_queue_only_longer_waits_come_before() -> None:
    found = heads()
    later, fifo = found.heads[1].statement.waited, tuple(replace(each, one_queue=True) for each in found.heads)
    assert later is not None
    assert rivals(replace(found, heads=fifo), running(1, servers=30)) == (), "BATCH has waited longer"
    first = replace(found.queue[1], waited=9999.0)
    assert rivals(replace(found, heads=fifo, queue=(found.queue[0], first)), running(1, servers=30)) == ("ETL",)


@pytest.mark.parametrize(("sooner", "taken"), [(1.0, ("ETL",)), (-0.5, ("ETL",)), (-1.0, ()), (-1.5, ())])
def test_a_wait_within_a_second_may_come_before(sooner: float, taken: tuple[str, ...]) -> None:
    found = heads()
    waited = found.heads[0].statement.waited
    assert waited is not None
    rival = replace(found.queue[1], waited=waited + sooner)
    fifo = tuple(replace(each, one_queue=True) for each in found.heads)
    assert rivals(replace(found, heads=fifo, queue=(found.queue[0], rival)), running(1, servers=30)) == taken


def test_a_rival_that_may_want_more_than_there_is() -> None:
    """4 free and 30 freed are 34."""

    def larger(wants: Servers | None) -> tuple[str, ...]:
        found = heads(etl={"wants": wants})
        return too_large(found.heads[0], ("ETL",), [running(1, servers=30)], found, ALL)

    assert larger(Servers(34, 34)) == ()
    assert larger(Servers(34, 35)) == ("ETL",)
    assert larger(Servers(4, 8, WantsSource.MEAN)) == ("ETL",), "an average of others is not evidence for this one"
    assert larger(None) == ("ETL",)


def test_names_in_a_sentence() -> None:
    assert [listed(names) for names in ((), ("A",), ("A", "B"), ("A", "B", "C"))] == ["", "A", "A and B", "A, B and C"]


def freeing(sid: int, servers: int, **facts: Any) -> Freeing:
    return Freeing(running(sid, servers=servers, **facts), (servers,), (servers,))


def sids(found: list[Freeing]) -> list[int]:
    return [each.statement.sid for each in found]


def chosen(short: int, *helpers: Freeing) -> list[int]:
    return sids(in_order(helpers, (), [short])[0])


def test_the_session_that_loses_less_work_is_chosen() -> None:
    small, large = freeing(1, 20, elapsed=100.0), freeing(2, 20, elapsed=200.0)
    assert chosen(16, large, small) == [1]
    unknown = freeing(3, 16, elapsed=None, last_call=None)
    assert chosen(16, unknown, large) == [2], "what is lost with it is not known"
    assert chosen(21, small, large) == [1, 2]
    assert chosen(41, small, large) == []


def test_of_sessions_too_small_alone_the_largest_comes_first() -> None:
    """32 are short: 24 and 8, not 24 and 20."""
    three = freeing(1, 20, elapsed=10.0), freeing(2, 24, elapsed=10.0), freeing(3, 8, elapsed=1.0)
    assert sorted(chosen(32, *three)) == [2, 3]


def test_the_longest_idle_holder_is_chosen_before_working_ones() -> None:
    work = freeing(1, 20, elapsed=1.0)
    idle = [freeing(sid, 20, idle=seconds, status="INACTIVE") for sid, seconds in ((2, 100.0), (3, 900.0))]
    assert chosen(16, work, *idle) == [3]
    assert chosen(30, work, *idle) == [3, 2]
    assert chosen(60, work, *idle) == [3, 2, 1]
    now, later = (freeing(sid, 20, idle=seconds, status="INACTIVE") for sid, seconds in ((4, 0.0), (5, 0.5)))
    assert chosen(16, now, later) == [5]


def test_the_earliest_ends_that_are_enough_without_the_needless() -> None:
    ends = [freeing(sid, servers, remaining=left, progress=0.9, operation="Table Scan", is_last=True)
            for sid, servers, left in ((1, 8, 5.0), (2, 16, 10.0), (3, 32, 20.0))]  # fmt: skip
    assert sids(by_time(ends, [16])) == [2]
    assert sids(by_time(ends, [24])) == [1, 2]
    assert sids(by_time(ends, [48])) == [2, 3]
    assert by_time(ends, [57]) == []
    assert covers(ends, [56])
    assert not covers(ends, [57])
