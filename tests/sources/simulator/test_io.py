"""I/O limits (MAX_IOPS, MAX_MBPS) in the simulator: the limits hold, and all views agree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presman.base.release import Release
from presman.rows.instance_rows import Parameter, SystemEvent
from presman.rows.session_rows import Session, SessionInfo
from presman.sources.simulator.counters import Count
from presman.sources.simulator.machine import RATE_LIMIT, Demand, pace
from presman.sources.simulator.scenario import PdbDirective
from tests.sources.simulator.conftest import Played

Play = Callable[..., Played]


class Minute(NamedTuple):
    """I/O figures of V$RSRCPDBMETRIC."""

    inst_id: int
    con_id: int
    iops: float
    avg_io_throttle: float


SCENARIO = """
cdb_plan = "CDB"
warmup = "5m"
[capacity]
cpu_count = 8
instances = {instances}
[pdbs]
LIMITED = {{ shares = 1, max_iops = 150, max_mbps = 60 }}
FREE = {{ shares = 1 }}
[[sessions]]
name = "shop"
pdb = "LIMITED"
group = "OTHER_GROUPS"
count = 6
cpu = "20ms"
io = "10ms"
think = "100ms"
[[sessions]]
name = "other"
pdb = "FREE"
group = "OTHER_GROUPS"
count = 12
cpu = "50ms"
think = "20ms"
[[statements]]
name = "scan"
pdb = "LIMITED"
group = "OTHER_GROUPS"
every = "20s"
dop = [4]
work = "20s"
mb = 20
"""


@pytest.fixture(params=[1, 2], ids=["one instance", "two instances"])
def limited(request: pytest.FixtureRequest, play: Play, tmp_path: Path) -> Played:
    path = tmp_path / "limited.toml"
    path.write_text(SCENARIO.format(instances=request.param), encoding="utf-8")
    return play(path, release=Release(19))


def test_no_limit_is_passed_and_one_is_reached(limited: Played) -> None:
    reached = held = 0
    for second in range(0, 200, 5):
        limited.to(second)
        for machine in limited.source.simulation.machines:
            own = [account.rates for group, account in machine.accounts.items() if group.con_id == 3]
            requests = sum(sum(rates[Count.SMALL_READ_REQUESTS : Count.LARGE_WRITE_REQUESTS + 1]) for rates in own)
            megabytes = sum(sum(rates[Count.SMALL_READ_MEGABYTES : Count.LARGE_WRITE_MEGABYTES + 1]) for rates in own)
            assert requests <= 150 * 1.001
            assert megabytes <= 60 * 1.001
            throttled = sum(rates[Count.IO_THROTTLE] for rates in own)
            at_limit = max(requests / 150, megabytes / 60) > 0.99
            assert at_limit or throttled < 0.05, "I/O is held back only at a limit"
            reached += at_limit
            held += throttled > 0.05
            assert not any(account.rates[Count.IO_THROTTLE] for group, account in machine.accounts.items()
                           if group.con_id == 4)  # fmt: skip
            assert (
                sum(account.rates[Count.CONSUMED_CPU_TIME] for account in machine.accounts.values())
                <= machine.capacity.cpu_count
            )
    assert reached > 10
    assert held > 10


def test_metrics_events_and_sessions_agree(limited: Played) -> None:
    simulation = limited.source.simulation
    limited.to(simulation.opened + 61.0)
    minutes = [row for row in simulation.minutes[-1] if row.group.con_id == 3]
    metrics = limited.view("gv$rsrcpdbmetric", Minute)
    for metric in metrics:
        own = [row.deltas for row in minutes if row.inst_id == metric.inst_id and metric.con_id == 3]
        throttle = sum(deltas[Count.IO_THROTTLE] for deltas in own)
        requests = sum(sum(deltas[Count.SMALL_READ_REQUESTS : Count.LARGE_WRITE_REQUESTS + 1]) for deltas in own)
        assert metric.avg_io_throttle == pytest.approx(1000 * throttle / requests if requests else 0.0, abs=1e-5)
        assert metric.iops <= 151 or metric.con_id == 4
    assert any(metric.avg_io_throttle > 1 for metric in metrics)
    settings = {(row.con_id, row.name): row.value for row in limited.rows(Parameter) if row.name.startswith("max_")}
    assert settings[3, "max_iops"] == "150"
    assert settings[3, "max_mbps"] == "60"
    assert settings[0, "max_iops"] == "0"
    total = sum(row.totals[Count.IO_THROTTLE] for each in simulation.machines for row in each.accounts.values())
    events = [row for row in limited.rows(SystemEvent) if row.event == RATE_LIMIT]
    assert sum(row.time_waited_micro for row in events) / 1e6 == pytest.approx(total, rel=0.05)
    waiting = [row for row in limited.rows(Session) if row.event == RATE_LIMIT]
    assert waiting
    assert {row.con_id for row in waiting} == {3}
    states = {(row.inst_id, row.sid): row.state for row in limited.rows(SessionInfo)}
    assert {states[row.inst_id, row.sid] for row in waiting} == {"WAITING_FOR_IO"}


def test_before_12_2_there_are_no_limits(play: Play, tmp_path: Path) -> None:
    path = tmp_path / "limited.toml"
    path.write_text(SCENARIO.format(instances=1), encoding="utf-8")
    played = play(path, release=Release(12, 1)).to(60)
    (machine,) = played.source.simulation.machines
    assert not machine.limits
    assert not any(account.totals[Count.IO_THROTTLE] for account in machine.accounts.values())


@given(
    st.integers(1, 500),
    st.lists(st.tuples(st.floats(0, 300), st.floats(0.01, 1)), min_size=1, max_size=6),
)
def test_the_pace_uses_just_what_is_allowed(limit: int, wanted: list[tuple[float, float]]) -> None:
    demands = [Demand(requests, 0.0, speed) for requests, speed in wanted]
    found = pace(PdbDirective(max_iops=limit), demands)
    done = sum(each.requests * min(found, each.speed) for each in demands)
    assert 0 < found <= 1
    assert done <= limit * (1 + 1e-9)
    assert found == 1 or done == pytest.approx(limit)
