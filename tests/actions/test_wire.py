"""Actions through the real driver: the simulated instance receives and obeys what is sent over the wire."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from presman.actions.gateway import ActionRunner
from presman.analysis.assemble import analyse
from presman.analysis.readings.reading import Reading
from presman.base.release import Release
from presman.base.secret import Secret
from presman.polling.poller import Poller
from presman.rows.commands import Victim, cancel, dequeue, kill, switch
from presman.sources import SourceError
from presman.sources.oracle import oracle_source
from presman.sources.oracle.oracle_source import OracleSource
from presman.sources.oracle.settings import ConnectSettings
from presman.sources.simulator_source import SimulatorSource
from tests.actions.test_obedience import there, victim
from tests.analysis.test_simulated import Clock
from tests.oracle_server import OracleServer
from tests.oracle_server.faults import Cut, Mute, Stage
from tests.oracle_server.simulated import simulated_server

RELEASE = Release(19)
SERVERS: dict[OracleSource, OracleServer] = {}
"""The server that a source is connected to."""


@pytest.fixture
def live() -> Iterator[tuple[Poller, OracleSource, Clock]]:
    clock = Clock()
    simulator = SimulatorSource(
        "storm", seed=3, release=RELEASE, clock=clock, start=datetime(2026, 3, 14, 9, tzinfo=UTC)
    )
    simulator.open()
    server = simulated_server(simulator, RELEASE)
    server.start()
    source = OracleSource(ConnectSettings(dsn=server.dsn, user="presman", password=Secret("presman")))
    poller = Poller(source)
    poller.open()
    SERVERS[source] = server
    yield poller, source, clock
    poller.close()
    server.stop()
    simulator.close()


def reading(poller: Poller) -> Reading:
    return analyse(None, poller.poll())


def test_all_four_are_obeyed(live: tuple[Poller, OracleSource, Clock], tmp_path: Path) -> None:
    poller, source, clock = live
    runner = ActionRunner(tmp_path / "actions.log")
    clock.now += 60
    before = reading(poller)
    waiting, second, third = (victim(row) for row in before.queue[1:4])
    busy = next(row for row in before.running if row.idle is None)
    commands = [dequeue(waiting), cancel(second), switch(third, "ETL"), kill(victim(busy))]
    outcomes = [runner.carry_out(command, source, RELEASE) for command in commands]
    assert [outcome.text for outcome in outcomes] == ["done"] * 4
    after = reading(poller)
    assert there(after.running, waiting)
    assert not there((*after.queue, *after.running), second)
    assert next(row.group for row in (*after.queue, *after.running) if victim(row) == third) == "ETL"
    assert not any((row.sid, row.serial) == (busy.sid, busy.serial) for row in after.sessions)
    assert len((tmp_path / "actions.log").read_text().splitlines()) == 12


def test_refusals_are_passed_on_and_the_connection_stays(live: tuple[Poller, OracleSource, Clock]) -> None:
    poller, source, _ = live
    nobody = Victim(1, 3, 9, "9md3ukhghgj58")
    for command, code in ((kill(nobody), "ORA-00030"), (cancel(nobody), "ORA-00026"), (dequeue(nobody), "ORA-29370")):
        with pytest.raises(SourceError) as caught:
            source.perform(command.statement, command.binds)
        assert caught.value.code == code
    with pytest.raises(SourceError):
        source.perform("ALTER SYSTEM FLUSH SHARED_POOL", {})
    assert reading(poller).troubles == ()


@pytest.mark.parametrize("fault", [Cut(), Mute()])
def test_a_line_that_is_lost_after_sending_leaves_the_outcome_unknown(
    live: tuple[Poller, OracleSource, Clock], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Cut | Mute
) -> None:
    poller, source, clock = live
    clock.now += 60
    waiting = victim(reading(poller).queue[1])
    monkeypatch.setattr(oracle_source, "ACTING", 0.3)
    monkeypatch.setattr(source, "_settings", replace(source._settings, call_timeout=0.3))  # not while it polls
    SERVERS[source].faults.add(Stage.STATEMENT, fault, "alter system")
    runner = ActionRunner(tmp_path / "actions.log")
    outcome = runner.carry_out(kill(waiting), source, RELEASE)
    assert not outcome.done
    assert outcome.text.startswith("sent; its result is not known: ")
    outcomes = [json.loads(line)["outcome"] for line in runner.log.read_text().splitlines()]
    assert outcomes == ["asked for", "being sent", outcome.text]
