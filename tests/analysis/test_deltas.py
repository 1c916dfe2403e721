"""Which values may be subtracted from which between two polls."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from presman.analysis.facts.deltas import SHORTEST, Deltas, difference
from presman.analysis.groups.counter_deltas import CounterDeltas, rates
from presman.analysis.readings.group_readings import IoRates
from presman.rows.group_rows import ConsumerGroup, RsrcPlanHistory
from presman.rows.snapshot import Section
from tests.analysis.make import NOON, active_plan, group, instance, row, snapshot


def window(sequence: int, name: str = "DAY", end: datetime | None = None, **values: Any) -> RsrcPlanHistory:
    return row(RsrcPlanHistory, sequence=sequence, name=name, start_time=NOON, end_time=end, **values)


def between(old: list[Any], new: list[Any], seconds: float = 2.0, **changes: Any) -> Deltas:
    return Deltas.between(snapshot(*old), snapshot(*new, after=seconds, **changes))


def test_the_open_window_is_the_newest_without_an_end() -> None:
    rows = [window(3), window(5, "NIGHT"), window(4), window(9, "OVER", NOON), window(1, "OWN", con_id=3)]
    for order in (rows, rows[::-1]):
        found = between([], order).windows
        assert {place: (each.sequence, each.plan) for place, each in found.items()} == {
            (1, 0): (5, "NIGHT"),
            (1, 3): (1, "OWN"),
        }


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ([window(3)], [window(3)], True),
        ([window(3)], [window(4)], False),
        ([window(3)], [], True),  # could not be read
        ([window(3)], [window(3), window(1, con_id=3)], True),  # another container's
        ([active_plan("DAY")], [active_plan("NIGHT")], False),
        ([active_plan("DAY")], [active_plan("NIGHT", is_top_plan="FALSE")], True),  # a subplan is none
    ],
)
def test_a_container_is_ruled_by_the_same_plan(old: list[Any], new: list[Any], same: bool) -> None:
    found = between(old, new)
    assert found.same_window(1, 0) is same
    assert found.same_start(1)


def test_a_restart_is_another_start_of_an_instance_that_was_seen() -> None:
    found = between([instance(), instance(2)], [instance(startup_time=NOON), instance(2), instance(3)])
    assert found.restarted == {1}
    assert [found.same_start(inst_id) for inst_id in (1, 2, 3)] == [False, True, True]
    assert [found.same_window(inst_id, 0) for inst_id in (1, 2)] == [False, True]


@pytest.mark.parametrize(
    ("seconds", "interval"), [(2.0, 2.0), (SHORTEST, SHORTEST), (SHORTEST - 0.01, None), (0.0, None), (-5.0, None)]
)
def test_the_interval_must_be_long_enough(seconds: float, interval: float | None) -> None:
    found = between([group("A")], [group("A")], seconds)
    assert (found.interval(), found.interval(ConsumerGroup)) == (interval, interval)
    assert len(found.before(ConsumerGroup)) == (interval is not None)


def test_the_interval_of_rows_is_between_their_own_reads() -> None:
    """Polls at 0 and 10 s; the groups were read at 1 and 9 s, other rows at an unknown instant."""

    def at(*seconds: float) -> Any:
        poll, read = (NOON + timedelta(seconds=each) for each in seconds)
        return snapshot(at=poll, sections={ConsumerGroup: Section((group("A"),), read)})

    found = Deltas.between(at(0, 1), at(10, 9))
    assert (found.interval(ConsumerGroup), found.interval(RsrcPlanHistory), found.interval()) == (8.0, 10.0, 10.0)


@pytest.mark.parametrize("changes", [{"epoch": 2}, {"target": "another"}])
def test_nothing_is_subtracted_from_another_database(changes: dict[str, Any]) -> None:
    found = between([group("A"), window(3)], [group("A"), window(4)], **changes)
    assert (found.previous, found.interval(), found.before(ConsumerGroup), found.activated) == (
        None,
        None,
        (),
        frozenset(),
    )
    assert found.windows[1, 0].sequence == 4


def test_a_counter_that_went_back_is_a_reset_of_all() -> None:
    assert difference((5, 7), (2, 7)) == (3, 0)
    assert difference((5, 7), (2, 8)) is None


def test_a_group_that_reads_and_writes_nothing_has_no_figures_but_its_waits() -> None:
    idle = CounterDeltas(*(0 for _ in CounterDeltas._fields))._replace(io_service_waits=6)
    assert rates(idle, 2.0) == IoRates(*(0.0,) * 8, None, 3.0)
