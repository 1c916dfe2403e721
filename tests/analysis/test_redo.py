from __future__ import annotations

import pytest

from presman.analysis.assemble import analyse
from presman.analysis.readings.reading import Reading
from presman.figures.histogram_figures import redo_text
from presman.polling.poller import Poller
from presman.rows.instance_rows import Sysstat, SystemEvent
from presman.sources.simulator_source import SimulatorSource
from tests.analysis.make import instance, row, snapshot


def waited(event: str, waits: int, micros: int, inst_id: int = 1) -> SystemEvent:
    return row(SystemEvent, inst_id=inst_id, event=event, total_waits=waits, time_waited_micro=micros)


def redo_size(value: int, inst_id: int = 1) -> Sysstat:
    return row(Sysstat, inst_id=inst_id, name="redo size", value=value)


def one(before: tuple[object, ...], after: tuple[object, ...]) -> Reading:
    return analyse(snapshot(*before), snapshot(*after, after=2))


SYNC, WRITE = "log file sync", "log file parallel write"


def test_what_a_commit_waits_for_besides_the_write() -> None:
    before = (waited(SYNC, 100, 0), waited(WRITE, 100, 0), redo_size(0))
    after = (waited(SYNC, 120, 40_000), waited(WRITE, 110, 5_000), redo_size(4 << 20))
    (found,) = one(before, after).redo
    assert (found.inst_id, found.sync_ms, found.write_ms) == (0, pytest.approx(2.0), pytest.approx(0.5))
    assert (found.syncs_per_s, found.writes_per_s) == (10, 5)
    assert found.outside_percent == pytest.approx(75)
    assert found.redo_mb == pytest.approx(2.0)


def test_a_write_longer_than_the_commits_leaves_nothing_outside() -> None:
    before = (waited(SYNC, 1, 0), waited(WRITE, 1, 0))
    (found,) = one(before, (waited(SYNC, 2, 1_000), waited(WRITE, 2, 9_000))).redo
    assert (found.outside_percent, found.redo_mb) == (0.0, None)


def test_instances_are_weighed_by_their_waits() -> None:
    before = (waited(SYNC, 0, 0), waited(SYNC, 0, 0, 2), redo_size(0), redo_size(0, 2))
    after = (waited(SYNC, 30, 30_000), waited(SYNC, 10, 90_000, 2), redo_size(2 << 20), redo_size(6 << 20, 2))
    whole, first, second = one(before, after).redo
    assert [each.inst_id for each in (whole, first, second)] == [0, 1, 2]
    assert [each.sync_ms for each in (whole, first, second)] == pytest.approx([3.0, 1.0, 9.0])
    assert [each.redo_mb for each in (whole, first, second)] == pytest.approx([4.0, 1.0, 3.0])
    assert whole.outside_percent is None


def test_without_a_delta_or_after_a_restart_there_is_none() -> None:
    rows = (instance(), waited(SYNC, 5, 5), redo_size(9))
    assert analyse(None, snapshot(*rows)).redo == ()
    later = snapshot(instance(startup_time=snapshot().at), waited(SYNC, 9, 9), redo_size(99), after=2)
    assert analyse(snapshot(*rows), later).redo == ()
    assert one((redo_size(9),), (redo_size(3),)).redo == ()


def test_redo_is_no_parallel_operation() -> None:
    rows = (redo_size(9), row(Sysstat, name="Parallel operations not downgraded", value=4))
    assert [each.name for each in one(rows, rows).downgrades] == ["Parallel operations not downgraded"]


def test_the_simulated_database_writes_redo() -> None:
    clock = [0.0]
    poller = Poller(SimulatorSource("mixed", seed=1, clock=lambda: clock[0]))
    poller.open()
    previous = poller.poll()
    clock[0] = 10.0
    (found,) = analyse(previous, poller.poll()).redo
    poller.close()
    assert found.redo_mb is not None
    assert found.redo_mb > 0.01
    assert found.sync_ms is not None
    assert found.write_ms is not None
    assert 0 < found.write_ms < 50


def test_the_part_of_a_commit_that_is_not_the_write_stands_beside_the_commit() -> None:
    before = (waited(SYNC, 100, 0), waited(WRITE, 100, 0))
    (found,) = one(before, (waited(SYNC, 120, 40_000), waited(WRITE, 110, 5_000))).redo
    text = "log file sync 2.00 ms, 75 % of it not spent on the write, parallel write 0.50 ms"
    assert redo_text(found).startswith(text)
