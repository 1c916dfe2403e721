from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest

from presman.base.release import Release
from presman.cli.exit_codes import Failure
from presman.cli.polling import Polling
from presman.cli.settings import Resolved
from presman.config.config_file import Settings
from presman.config.target import Target
from presman.rows.queries import Scope
from presman.rows.snapshot import Section
from presman.sources import Answer, Exhausted, Request, SourceError

START = datetime(2026, 3, 1, tzinfo=UTC)


class Clock:
    """A clock that advances only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.mark.parametrize(
    ("left", "interval", "polls", "budget"),
    [(2.5, 1.0, 2, 1.25), (1.5, 1.0, 2, 0.5), (31.0, 1.0, 2, 15.5), (0.7, 1.0, 1, 0.7), (0.5, 1.0, 2, 0.0)],
)
def test_the_interval_passes_while_a_poll_is_under_way(left: float, interval: float, polls: int, budget: float) -> None:
    """It was taken off the time limit first, so of 3 seconds the database had 0.8 for two polls."""
    clock = Clock()
    assert polling(Scripted(clock, ()), clock)._budget(interval, left, polls) == budget


class Scripted:
    """A source without rows whose polls follow a script: an answer, or an error."""

    name = kind = "oracle"
    scope = Scope.CLUSTER

    def __init__(self, clock: Clock, polls: Sequence[Exception | None], cost: float = 0.0) -> None:
        self.clock = clock
        self.polls = iter(polls)
        self.cost = cost
        self.opened = self.closed = 0

    def open(self) -> Release:
        self.opened += 1
        return Release(19)

    def advance(self) -> None:
        self.clock.now += self.cost
        fault = next(self.polls, None)
        if fault is not None:
            raise fault

    def read(self, requests: Sequence[Request], within: float | None = None) -> Answer:
        return Answer(START + timedelta(seconds=self.clock.now), tuple(Section() for _ in requests))

    def cancel(self) -> None:
        raise AssertionError("nothing to cancel")

    def close(self) -> None:
        self.closed += 1


def polling(source: Scripted, clock: Clock, *, kind: str = "oracle", refresh: float = 2.0) -> Polling:
    make: Callable[[], Scripted] = lambda: source  # noqa: E731
    target = Target("db", kind, Settings(), make)
    return Polling(Resolved(target, refresh, Scope.CLUSTER, None, None, ()), sleep=clock.sleep, clock=clock)


def test_the_beat_does_not_drift_with_the_cost_of_a_poll() -> None:
    clock = Clock()
    source = Scripted(clock, [], cost=0.5)
    found = [came.reading.at for came in polling(source, clock).moments(polls=4)]
    assert [(at - START).total_seconds() for at in found] == [0.5, 2.5, 4.5, 6.5]
    assert source.closed == 1


def test_polls_slower_than_the_beat_are_not_made_up_for() -> None:
    clock = Clock()
    found = [came.reading.at for came in polling(Scripted(clock, [], cost=5.0), clock).moments(polls=3)]
    assert [(at - START).total_seconds() for at in found] == [5.0, 10.0, 15.0]


def test_the_baseline_is_not_counted() -> None:
    clock = Clock()
    found = [came.reading.number for came in polling(Scripted(clock, []), clock).measured(polls=2)]
    assert found == [2, 3]


def test_duration_counts_from_the_first_kept_poll() -> None:
    clock = Clock()
    found = list(polling(Scripted(clock, []), clock, refresh=1.0).measured(duration=3.0))
    assert len(found) == 4


def test_a_spool_is_read_without_waiting_to_its_last_moment() -> None:
    clock = Clock()
    source = Scripted(clock, [None, None, None, Exhausted()])
    assert polling(source, clock, kind="spool").once(1.0).reading.number == 3
    assert clock.slept == []


def test_a_source_without_polls_is_a_failure() -> None:
    clock = Clock()
    with pytest.raises(Failure, match="nothing to read"):
        polling(Scripted(clock, [Exhausted()]), clock, kind="spool").once(1.0)


def test_a_lost_connection_is_reported_and_retried(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    source = Scripted(clock, [None, SourceError("gone"), SourceError("still gone"), None])
    found = [came.reading for came in islice(polling(source, clock).moments(), 2)]
    assert [reading.number for reading in found] == [1, 2]
    assert found[1].interval is None
    assert source.opened == 3
    errors = capsys.readouterr().err.splitlines()
    assert [line.split(";")[0] for line in errors] == ["presman: db: lost: gone", "presman: db: lost: still gone"]


@pytest.mark.parametrize("reason", ["the account is locked.", "the account is locked"])
def test_a_reason_is_followed_by_the_time_of_the_retry(reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    list(polling(Scripted(clock, [None, SourceError(reason), None]), clock).moments(polls=2))
    assert "lost: the account is locked; trying again in " in capsys.readouterr().err


@pytest.mark.parametrize("polls", [[SourceError("no listener")], [None, SourceError("locked", retry=False)]])
def test_permanent_errors_end_polling(polls: list[Exception | None]) -> None:
    clock = Clock()
    source = Scripted(clock, polls)
    with pytest.raises(SourceError):
        list(polling(source, clock).moments())
    assert source.closed == 1
