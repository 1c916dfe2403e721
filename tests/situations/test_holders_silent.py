"""V$PX_SESSION falls silent while statements run and queue: who holds servers is known less with every poll."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from presman.analysis.alerts.not_known import unavailable
from presman.analysis.assemble import analyse
from presman.analysis.readings.reading import Reading
from presman.analysis.totals import totals
from presman.polling.poller import Poller
from presman.rows.session_rows import PxSession, Session
from presman.rows.session_state import is_queued
from presman.rows.snapshot import Snapshot
from presman.sources.simulator_source import SimulatorSource
from tests.analysis.test_simulated import Clock
from tests.scenarios import without

Course = list[tuple[Snapshot, Reading]]


@pytest.fixture(scope="module")
def silent(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Return the polls of the scenario storm in which V$PX_SESSION is silent."""
    clock = Clock()
    file = without(tmp_path_factory.mktemp("silent"), "storm", "V$PX_SESSION", at=15, lasts=400)
    poller = Poller(SimulatorSource(file, clock=clock, start=datetime(2026, 3, 14, 9, tzinfo=UTC)))
    poller.open()
    found: Course = []
    for _ in range(30):
        clock.now += 8.0
        snapshot = poller.poll()
        found.append((snapshot, analyse(found[-1][0] if found else None, snapshot)))
    return [each for each in found if each[1].late]


def test_who_began_to_queue_is_not_shown_with_the_servers_it_once_held(silent: Course) -> None:
    snapshot, reading = silent[-1]
    once = {(row.inst_id, row.qcsid) for row in snapshot.rows(PxSession)}
    now_queued = {(row.inst_id, row.sid) for row in snapshot.rows(Session) if is_queued(row.event, row.state)}
    assert once & now_queued, "some have ended their statement, and queue with the next"
    assert reading.running
    assert not {(each.inst_id, each.sid) for each in reading.running} & now_queued
    assert once & now_queued <= {(each.inst_id, each.sid) for each in reading.queue}


def test_downgrades_are_counted_by_another_view(silent: Course) -> None:
    """`check` gave their number, and the list of alerts said that they were not known."""
    _, reading = silent[-1]
    now, away = totals(reading), unavailable(reading)
    assert (now.downgrades, "downgrade" in away) == (0, False)
    assert (now.downgraded, "degrees" in away) == (None, True)
