"""The whole chain: simulator, SQL, wire protocol, driver, records and analysis give the simulator's own values."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import fields

from presman.analysis.assemble import analyse
from presman.base.release import Release
from presman.base.secret import Secret
from presman.polling import poller
from presman.polling.poller import Poller
from presman.rows.queries import Scope
from presman.rows.snapshot import Snapshot
from presman.sources.oracle.oracle_source import OracleSource
from presman.sources.oracle.settings import ConnectSettings
from presman.sources.simulator_source import SimulatorSource
from tests.oracle.bench import RELEASES
from tests.oracle_server.simulated import simulated_server
from tests.scenarios import with_short_past
from tests.thorough import some

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
INSTANTS = (0.0, 2.0, 65.0)


class Clock:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def simulator(scenario: str, release: Release, clock: Clock) -> SimulatorSource:
    return SimulatorSource(with_short_past(scenario), seed=7, release=release, clock=clock, start=START)


def polled(poller: Poller, clock: Clock) -> list[Snapshot]:
    """Poll at each instant."""
    poller.open()
    snapshots = []
    for instant in INSTANTS:
        clock.now = instant
        snapshots.append(poller.poll())
    poller.close()
    return snapshots


def directly(scenario: str, release: Release, scope: Scope) -> list[Snapshot]:
    clock = Clock()
    source = simulator(scenario, release, clock)
    source.scope = scope
    return polled(Poller(source, clock=clock), clock)


def over_the_wire(scenario: str, release: Release, scope: Scope) -> list[Snapshot]:
    clock = Clock()
    inner = simulator(scenario, release, clock)
    inner.open()
    with simulated_server(inner, release, accounts={"PRESMAN": "presman"}) as server:
        settings = ConnectSettings(server.dsn, "presman", Secret("presman"), call_timeout=60)
        source = OracleSource(settings, clock=clock)
        source.scope = scope
        snapshots = polled(Poller(source, clock=clock), clock)
    inner.close()
    return snapshots


@pytest.mark.parametrize(
    ("scenario", "scope", "release"),
    some(
        [
            ("mixed", Scope.INSTANCE, RELEASES[1]),
            ("rac", Scope.CLUSTER, RELEASES[2]),
        ],
        [
            *(("mixed", Scope.CLUSTER, release) for release in RELEASES),
            *(("storm", Scope.INSTANCE, release) for release in RELEASES[:3]),
            *(("rac", Scope.CLUSTER, release) for release in RELEASES[:2]),
        ],
    ),
    ids=str,
)
def test_the_wire_changes_nothing(
    scenario: str, release: Release, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All texts and plans are read at each poll, as from the simulator itself."""
    monkeypatch.setattr(poller, "is_live", lambda source: False)
    direct = directly(scenario, release, scope)
    remote = over_the_wire(scenario, release, scope)
    previous: tuple[Snapshot | None, Snapshot | None] = (None, None)
    for one, other in zip(direct, remote, strict=True):
        assert not other.problems()
        assert one.at == other.at
        assert set(one.sections) == set(other.sections)
        for record, section in one.sections.items():
            assert other.rows(record) == section.rows, record
        readings = analyse(previous[0], one), analyse(previous[1], other)
        assert comparable(readings[0]) == comparable(readings[1])
        previous = one, other


def comparable(reading: Any) -> dict[str, Any]:
    """Return a reading without its source's name and cost."""
    apart = {"target", "kind", "round_trips"}
    return {item.name: getattr(reading, item.name) for item in fields(reading) if item.name not in apart}
