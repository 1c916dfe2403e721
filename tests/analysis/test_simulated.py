"""What analysis reads from the simulator's views, against what the simulator's scheduler really did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import presman.sources.simulator
from presman.analysis.alerts.alert_rules import all_clear, is_wrong, wrong
from presman.analysis.assemble import analyse
from presman.analysis.fleet import key_figures_of
from presman.analysis.groups.verdicts import conformance
from presman.analysis.readings.group_readings import Verdict
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Cause, QueueHead, WantsSource
from presman.analysis.totals import totals
from presman.base.release import Release
from presman.forecast.forecaster import Forecaster
from presman.polling.poller import Poller
from presman.rows.queries import DetailLevel
from presman.rows.session_state import POOL_WAIT
from presman.sources.simulator.loading import load_scenario
from presman.sources.simulator_source import SimulatorSource
from tests.forecast.hold import HoldReason, QueueHold, why_of
from tests.recording.recorded import polled
from tests.scenarios import NOT_SO, with_short_past
from tests.thorough import THOROUGH, some

SCENARIOS = sorted(path.stem for path in (Path(presman.sources.simulator.__file__).parent / "scenarios").glob("*.toml"))
CAUSES = {
    HoldReason.SYSTEM: Cause.SYSTEM,
    HoldReason.GROUP: Cause.GROUP,
    HoldReason.BEHIND: Cause.BEHIND,
    HoldReason.NOT_CHOSEN: Cause.NOT_CHOSEN,
}


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def play(
    source: SimulatorSource,
    clock: Clock,
    polls: int,
    every: float,
    detail_level: DetailLevel = DetailLevel.WHOLE,
    forecaster: Forecaster | None = None,
) -> Iterator[Reading]:
    """Poll a scenario as the monitor does, all of it or what the queue needs, with forecasts if asked for."""
    poller = Poller(source)
    poller.detail_level = detail_level
    poller.open()
    previous = None
    for _ in range(polls):
        clock.now += every
        current = poller.poll()
        reading = analyse(previous, current)
        yield reading if forecaster is None else forecaster.read(reading, previous, current, None)
        previous = current
    poller.close()


def started(scenario: str, seed: int) -> tuple[SimulatorSource, Clock]:
    clock = Clock()
    start = datetime(2026, 3, 14, 9, tzinfo=UTC)
    return SimulatorSource(with_short_past(scenario), seed=seed, clock=clock, start=start), clock


def truth(source: SimulatorSource, head: QueueHead) -> QueueHold:
    """Why the scheduler holds back the statement at the head of a queue."""
    workload = source.simulation.workload
    place = head.statement.inst_id, head.statement.sid
    session = next(each for each in workload.executions if (each.inst_id, each.sid) == place)
    return why_of(workload.queue, workload.executions[session].entry)


def _twins(reading: Reading, head: QueueHead) -> bool:
    waits = [each.waited for each in reading.queue if (each.con_id, each.group) == (head.con_id, head.group)]
    return sum(abs(waited - head.statement.waited) < 0.01 for waited in waits) > 1


def cause_is_the_schedulers(source: SimulatorSource, reading: Reading) -> None:
    """Check the reason of each head, and how many servers are short, against the scheduler that holds it back."""
    for head in reading.heads:
        assert head.wants is not None
        hold = truth(source, head)
        if hold.cause is HoldReason.BEHIND and _twins(reading, head):
            continue  # they came at the same instant: the views don't show which was first
        assert head.wants.low <= hold.wants <= head.wants.high, head.sentence
        assert (head.in_use, head.target) == (hold.in_use, hold.target)
        if head.wants.low < head.wants.high:
            continue  # its sets are not visible, so the cause is one that is possible, not the one that holds
        expected = Cause.NEVER_FITS if hold.never_fits else CAUSES[hold.cause]
        assert head.cause is expected, f"{head.sentence} / {hold}"
        if head.cause in {Cause.GROUP, Cause.SYSTEM}:
            frees = [hold.target - hold.in_use]
            frees += [hold.allowed - hold.held] if hold.allowed is not None else []
            assert head.short == hold.wants - min(frees)


@pytest.mark.parametrize(
    ("release", "sources"),
    some(
        [(Release(18), {WantsSource.RUNNING, WantsSource.PLAN}), (Release(19), {WantsSource.PQ_SERVERS})],
        [(Release(11, 2), {WantsSource.RUNNING, WantsSource.PLAN})],
    ),
    ids=lambda value: str(value) if isinstance(value, Release) else "wants",
)
def test_the_servers_wanted_are_the_schedulers(release: Release, sources: set[WantsSource]) -> None:
    """In storm, some statements have four data flow trees; their plans show as many servers as the queue counts."""
    clock = Clock()
    source = SimulatorSource(with_short_past("storm"), seed=3, clock=clock, release=release)
    origins: Counter[WantsSource] = Counter()
    for reading in play(source, clock, 4, 30.0, DetailLevel.NARROW):
        executions = {(each.inst_id, each.sid): one for each, one in source.simulation.workload.executions.items()}
        for each in reading.queue:
            assert each.wants is not None
            origins[each.wants.source] += 1
            needs = executions[each.inst_id, each.sid].entry.needs
            assert (each.wants.low, each.wants.high) == (needs, needs)
    assert set(origins) == sources


def nothing_is_called_well_that_is_not(reading: Reading) -> None:
    """The fleet showed "Nothing is wrong now" beside 73 % throttled, and no missed minimum."""
    missed = reading.missed_minimums
    assert not missed or not any("gets what it is entitled to" in each.sentence for each in conformance(reading))
    assert len(missed) == sum(each.key == "cpu_minimum" for each in wrong(reading))
    now = totals(reading)
    if now.used is None or now.waiting is None or now.cpus is None or is_wrong(wrong(reading)):
        return
    full = now.used >= 0.95 * now.cpus and now.waiting >= 0.1 * now.cpus
    (clear,) = all_clear(reading)
    assert clear.state == ("note" if full else "good")
    if full:
        assert clear.short == f"All {now.cpus:.0f} CPUs are in use, sessions wait for {now.waiting:.1f} more"
        assert clear.text.startswith(f"{clear.short}; ")
    assert key_figures_of(reading).worst.startswith(clear.short if full else "Nothing is wrong now")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_figures_agree_with_each_other(scenario: str) -> None:
    seen: Counter[Verdict] = Counter()
    for _, reading in list(polled(scenario, 60 if THOROUGH else 12))[1::3]:
        top = reading.header
        assert reading.troubles == ()
        for instance in top.instances:
            rows = [each for each in reading.instance_groups(instance.inst_id) if each.used is not None]
            assert sum(each.used or 0 for each in rows) <= instance.num_cpus * 1.01 + 0.1
        nothing_is_called_well_that_is_not(reading)
        held = [row for row in reading.sessions if row.event == POOL_WAIT] if reading.quiesce else []
        for kept in conformance(reading):
            assert not held or "is met" not in kept.sentence
        assert {row.group for row in held} == {row.name for row in reading.groups if row.verdict is Verdict.QUIESCED}
        for each in reading.groups:
            seen[each.verdict] += 1
            assert 0 <= each.share <= 1
            if each.limit is not None and each.used is not None:
                assert each.used <= each.limit * 1.02 + 0.1
        assert sum(each.share for each in reading.cluster_groups()) <= 1 + 1e-9
        pool = top.servers
        held = sum(each.px_servers for each in reading.cluster_groups())
        running = sum(each.servers for each in reading.running)
        assert held + (reading.unmanaged_servers or 0) == pool.in_use == running or scenario in NOT_SO
        lists_all = not reading.why_unavailable("V$SESSION")
        assert sum(each.px_queued for each in reading.cluster_groups()) == len(reading.queue) or not lists_all
    assert seen[Verdict.STARVED] == 0, "the simulator's scheduler gives every group its share"
    assert seen[Verdict.THROTTLED] == 0, "the simulator's plans are all visible"


@pytest.mark.parametrize("scenario", some(["rac", "storm"], sorted({*SCENARIOS} - {"rac", "storm"})))
@pytest.mark.parametrize("release", some([Release(11, 2)], [Release(23)]), ids=str)
def test_every_release_gives_a_reading(scenario: str, release: Release) -> None:
    if load_scenario(scenario).pdbs and release < Release(12, 1):
        pytest.skip("pluggable databases came with 12.1")
    clock = Clock()
    readings = list(
        play(SimulatorSource(with_short_past(scenario), seed=1, clock=clock, release=release), clock, 2, 2.0)
    )
    assert readings[-1].troubles == ()
    groups = {each.name for each in readings[-1].cluster_groups()}
    assert {each.group for each in readings[-1].queue} <= groups
    assert {each.group for each in readings[-1].running} <= groups
