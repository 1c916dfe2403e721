"""The simulated instance obeys the same statements that presman would send to a database."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from presman.analysis.advice.step import Proof
from presman.analysis.advice.unblock import unblock
from presman.analysis.assemble import analyse
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import QueueHead
from presman.base.release import Release
from presman.polling.poller import Poller
from presman.rows.commands import Command, Victim, cancel, dequeue, kill, switch
from presman.sources import SourceError
from presman.sources.simulator.loading import FOLDER
from presman.sources.simulator_source import SimulatorSource
from tests.analysis.test_simulated import Clock
from tests.scenarios import with_short_past
from tests.thorough import THOROUGH, some


class Play:
    """A scenario that is polled by hand."""

    def __init__(self, scenario: str | Path, *, release: Release | None = None, seed: int = 3) -> None:
        self.clock = Clock()
        start = datetime(2026, 3, 14, 9, tzinfo=UTC)
        played = scenario if isinstance(scenario, Path) else with_short_past(scenario)
        self.source = SimulatorSource(played, seed=seed, clock=self.clock, start=start, release=release)
        self.poller = Poller(self.source)
        self.poller.open()

    def reading(self, after: float = 0.0) -> Reading:
        self.clock.now += after
        return analyse(None, self.poller.poll())

    def until(self, wanted: Callable[[Reading], bool]) -> Reading:
        for _ in range(200):
            reading = self.reading(5.0)
            if wanted(reading):
                return reading
        raise AssertionError("it never came to that")

    def send(self, command: Command) -> None:
        self.source.perform(command.statement, command.binds)


def victim(row: object) -> Victim:
    return Victim(row.inst_id, row.sid, row.serial, row.sql_id)  # type: ignore[attr-defined]


def there(rows: object, asked: Victim) -> bool:
    return any(victim(row) == asked for row in rows)  # type: ignore[attr-defined]


def test_dequeue_starts_a_statement_past_every_limit() -> None:
    play = Play("storm")
    reading = play.until(lambda reading: len(reading.queue) > 3)
    waiting = victim(reading.queue[2])
    play.send(dequeue(waiting))
    after = play.reading()
    assert there(after.running, waiting)
    assert not there(after.queue, waiting)


def test_dequeue_does_nothing_to_another_statement() -> None:
    play = Play("storm")
    reading = play.until(lambda reading: len(reading.queue) > 3)
    waiting = victim(reading.queue[2])
    play.send(dequeue(waiting._replace(sql_id="9md3ukhghgj58")))
    assert there(play.reading().queue, waiting)


def test_cancel_ends_the_statement_and_leaves_the_session() -> None:
    play = Play("storm")
    reading = play.until(lambda reading: any(each.idle is None for each in reading.running))
    row = next(each for each in reading.running if each.idle is None)
    play.send(cancel(victim(row)))
    after = play.reading()
    assert not there(after.running, victim(row))
    assert any((each.sid, each.serial) == (row.sid, row.serial) for each in after.sessions)


@pytest.mark.parametrize("state", ["running", "queue"])
def test_kill_ends_the_session(state: str) -> None:
    play = Play("storm")
    reading = play.until(lambda reading: bool(getattr(reading, state)))
    row = getattr(reading, state)[0]
    play.send(kill(victim(row)))
    after = play.reading()
    assert not any((each.sid, each.serial) == (row.sid, row.serial) for each in after.sessions)
    play.until(lambda reading: reading.at > after.at)


@pytest.mark.parametrize("seed", some([3], range(10, 20)))
@pytest.mark.parametrize("scenario", some(["mixed", "rac"], ["storm", "pdb", "lost", "changes"]))
def test_an_end_that_is_proven_to_help_does(scenario: str, seed: int) -> None:
    """Whoever is ended as presman offers it, the head that this is proven to let start does start."""
    play = Play(scenario, seed=seed)

    def offered(reading: Reading) -> list[tuple[QueueHead, Command]]:
        ways = ((way.head, each) for way in unblock(reading) for each in way.candidates)
        return [(head, each.commands[0]) for head, each in ways if each.commands and Proof.HEAD_STARTS in each.proven]

    try:
        reading = play.until(lambda reading: bool(offered(reading)))
    except AssertionError:
        if not THOROUGH:
            raise
        pytest.skip("with this seed nothing is offered")
    head, command = offered(reading)[0]
    play.send(command)
    after = play.reading(1.0)
    waiting = head.statement.executing()
    alike = {each.executing() for each in reading.queue if each.group == head.group} if head.equals else {waiting}
    assert alike - {each.executing() for each in after.queue}


def test_the_held_cursor_of_a_killed_session_is_not_closed_twice(tmp_path: Path) -> None:
    """It would be closed three minutes after the start, twelve after it was opened."""
    file = tmp_path / "storm.toml"
    file.write_text((FOLDER / "storm.toml").read_text("utf-8").replace('hold = "40m"', 'hold = "12m"'), "utf-8")
    play = Play(file)
    reading = play.until(lambda reading: any(each.idle is not None for each in reading.running))
    row = next(each for each in reading.running if each.idle is not None)
    play.send(kill(victim(row)))
    for _ in range(3):
        play.reading(100.0)
    queue = play.source.simulation.workload.queue
    assert queue.in_use == sum(entry.servers for entry in queue.running()) >= 0


@pytest.mark.parametrize("state", ["running", "queue"])
def test_switch_moves_the_session_to_another_group(state: str) -> None:
    play = Play("storm")
    reading = play.until(lambda reading: any(each.group == "BATCH" for each in getattr(reading, state)))
    row = next(each for each in getattr(reading, state) if each.group == "BATCH")
    play.send(switch(victim(row), "ETL"))
    after = play.reading()
    found = next(each for each in (*after.running, *after.queue) if victim(each) == victim(row))
    assert found.group == "ETL"
    assert after.troubles == ()


def test_refusals_are_oracles() -> None:
    play = Play("storm")
    play.reading(1.0)
    nobody = Victim(1, 3, 9, "9md3ukhghgj58")
    for command, code in ((kill(nobody), "ORA-00030"), (cancel(nobody), "ORA-00026"), (dequeue(nobody), "ORA-29370")):
        with pytest.raises(SourceError) as caught:
            play.send(command)
        assert caught.value.code == code
    row = play.until(lambda reading: bool(reading.running)).running[0]
    with pytest.raises(SourceError, match="does not exist"):
        play.send(switch(victim(row), "NOBODY"))
    with pytest.raises(SourceError, match="invalid SQL"):
        play.source.perform("ALTER SYSTEM FLUSH SHARED_POOL", {})


def test_before_18_nothing_can_be_cancelled_or_dequeued() -> None:
    play = Play("storm", release=Release(12, 2))
    row = play.until(lambda reading: bool(reading.queue)).queue[0]
    for command in (cancel(victim(row)), dequeue(victim(row))):
        with pytest.raises(SourceError) as caught:
            play.send(command)
        assert caught.value.code == "ORA-00900"
    play.send(kill(victim(row)))
