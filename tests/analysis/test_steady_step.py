"""The step of DO from poll to poll: no session is named for a decision because a head has just changed."""

from __future__ import annotations

from functools import cache

import pytest
from msgspec.structs import replace

from presman.analysis.advice.steady_step import MARGIN, SteadyStep
from presman.analysis.advice.step import Step
from presman.analysis.advice.to_do import to_do, to_do_for_now
from presman.analysis.advice.unblock import unblock
from presman.analysis.readings.reading import Reading
from presman.tui.monitor import Monitor
from tests.recording.recorded import polled

EVERY = 5.0


@cache
def course(scenario: str) -> list[Reading]:
    return [reading for _, reading in polled(scenario, 30, step=EVERY)]


def named(reading: Reading, words: str) -> set[str]:
    """Return the sessions that a text names for a person to decide about."""
    sessions = {each.who for each in reading.running}
    return {each for each in sessions if any(f"{verb} {each}" in words for verb in ("cancel", "whether to end"))}


@pytest.mark.parametrize("scenario", ["rac", "mixed", "lost"])
def test_a_session_is_named_for_a_decision_only_after_a_while(scenario: str) -> None:
    steady, texts, hidden, decisions = SteadyStep(), list[str](), 0, 0
    lasts = int(MARGIN // EVERY)
    for reading in course(scenario):
        shown, plain = steady.take(reading).step, to_do(reading)
        texts.append("" if plain is None else plain.text)
        names = set[str]() if shown is None else named(reading, shown.text)
        hidden += names != named(reading, texts[-1])
        decisions += shown is not None and "or decide whose work to end" in shown.text
        if len(texts) > lasts + 2:
            assert all(name in text for text in texts[-lasts - 1 :] for name in names), "it has just become the answer"
    assert (hidden and decisions) or scenario == "mixed"


def test_the_first_poll_and_the_first_with_rates_name_sessions_at_once() -> None:
    polls = [each for each in course("rac") if (step := to_do(each)) is not None and named(each, step.text)]
    for reading in polls:
        assert SteadyStep().take(reading).step == to_do(reading)
    steady, other = SteadyStep(), replace(polls[0], interval=None, queue=(), heads=(), running=())
    assert steady.take(other).step == to_do(other)
    assert steady.take(polls[1]).step == to_do(polls[1])


def test_without_named_sessions_the_answer_is_computed_once() -> None:
    nameless = [
        each for each in course("mixed") if not any(one.commands for way in unblock(each) for one in way.candidates)
    ]
    assert nameless
    assert all(to_do_for_now(each) is to_do(each) for each in nameless)


def test_a_proven_end_is_shown_and_withdrawn_at_once() -> None:
    """The end of an idle holder is no decision about lost work; each reading has only what holds in it."""
    steady = SteadyStep()
    for reading in course("rac"):
        now, plain = steady.take(reading).step, to_do(reading)
        if plain is not None and plain.step is Step.END:
            assert now == plain
        if plain is None or not plain.commands:
            assert now is None or not now.commands


def test_an_earlier_reading_is_shown_as_it_is_and_the_same_may_be_taken_again() -> None:
    steady, readings = SteadyStep(), course("rac")
    taken = [steady.take(each) for each in readings[:20]]
    assert steady.take(readings[19]) == taken[-1]
    assert steady.take(readings[3]).step == to_do(readings[3])
    assert steady.take(readings[19]) == taken[-1]


def test_the_screen_shows_the_steady_step() -> None:
    steady, monitor = SteadyStep(), Monitor("x", 2.0, (), lambda: 0.0)
    differs = 0
    for reading in course("rac"):
        monitor.arrive(reading, None)
        monitor.assess()
        assert monitor.to_do == steady.take(reading).step
        differs += monitor.to_do != to_do(reading)
    assert differs
