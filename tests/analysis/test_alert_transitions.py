"""Turns of alerts over all kinds of courses: within a minute the event list shows how severe an alert is."""

from __future__ import annotations

import random
from datetime import timedelta
from itertools import pairwise

import pytest
from msgspec.structs import replace

from presman.analysis.alerts.alert_transitions import BEGAN, BETTER, ENDED, WORSE, AlertTransition, AlertTransitions
from presman.analysis.alerts.judge import AlertChanges
from presman.analysis.readings.reading import Alert
from tests.output.readings import reading
from tests.thorough import some

STATES = ("", "warn", "bad")
POLLS = 400


def course(seed: int) -> list[tuple[float, str]]:
    """Return how severe an alert is at so many seconds: at times it changes at every poll, at times it lasts."""
    rng, at, state, found = random.Random(seed), 0.0, "", []
    for _ in range(POLLS):
        at += rng.choice((2.0, 2.0, 10.0))
        state = rng.choice(STATES) if rng.random() < (0.5 if at % 600 < 300 else 0.05) else state
        found.append((at, state))
    return found


def turns_per_poll(polls: list[tuple[float, str]]) -> list[list[AlertTransition]]:
    """Return the turns that each poll reports."""
    turns, first = AlertTransitions(), replace(reading(), alerts=())
    found = []
    for at, state in polls:
        alerts = (Alert(state, "▲", "text", "short", "queue_waits", "ETL"),) if state else ()  # type: ignore[arg-type]
        found.append(turns.take(replace(first, at=first.at + timedelta(seconds=at), alerts=alerts)))
    return found


@pytest.mark.parametrize("seed", some(range(10), range(200)))
def test_a_turn_reports_a_state_of_the_last_minute(seed: int) -> None:
    """No turn follows another that it cannot follow, none is reported twice, and a worse state is reported at once."""
    polls, start = course(seed), reading().at
    rank, before = 0, start
    for number, ((at, state), turns) in enumerate(zip(polls, turns_per_poll(polls), strict=True)):
        for turn in turns:
            assert before <= turn.at <= start + timedelta(seconds=at)
            assert turn.change in ({BEGAN} if rank == 0 else {ENDED, WORSE if rank == 1 else BETTER})
            rank, before = 0 if turn.change == ENDED else 2 if "critical: " in turn.text else 1, turn.at
        assert len(turns) <= 1
        until = pairwise(polls[: number + 1])  # each lasts until the next poll
        recent = [STATES.index(each) for (_, each), (end, _) in until if at - end < 60.0]
        assert STATES.index(state) <= rank <= max([STATES.index(state), *recent])


@pytest.mark.parametrize("seed", some(range(10), range(200)))
def test_at_most_a_few_turns_are_reported_each_minute(seed: int) -> None:
    """An alert may begin, grow worse, get better and end in a minute, and begin and grow worse again."""
    polls = course(seed)
    when = [at for (at, _), turns in zip(polls, turns_per_poll(polls), strict=True) for _ in turns]
    assert max(sum(at <= other < at + 60.0 for other in when) for at in when) <= 8


def test_an_alert_on_minute_averages_does_not_end_after_one_minute_without() -> None:
    """MAX_MBPS throttles in some minutes and not in others: in 40 minutes that was reported thirteen times."""
    minutes = [1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0]
    turns, changes, first = AlertTransitions(), AlertChanges(), replace(reading(), alerts=())
    reported, sent = [], []
    for minute, is_there in enumerate(minutes):
        alerts = (Alert("warn", "▲", "text", "short", "io_limit", "SALES"),) if is_there else ()
        at = first.at + timedelta(minutes=minute)
        reported += turns.take(replace(first, at=at, alerts=alerts))
        sent += changes.take(alerts, 60.0 * minute)
    assert [(each.change, (each.at - first.at).total_seconds() / 60) for each in reported] == [(BEGAN, 0), (ENDED, 8)]
    assert [(each.change, each.at / 60) for each in sent] == [(BEGAN, 0), (ENDED, 8)]
