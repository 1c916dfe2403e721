"""Effects of ending a session: calculated by hand from one queue, and in words."""

from __future__ import annotations

from collections import deque
from datetime import timedelta

import pytest
from msgspec.structs import replace

from presman.analysis.advice.unblock import unblock
from presman.analysis.readings.forecast_readings import (
    LEAST_JUDGED,
    EndingEffect,
    ForecastRecord,
    QueueForecast,
    effect_words,
)
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Cause, QueuedStatement, QueueHead, Servers, Shortage
from presman.figures.drawing.lines import Line
from presman.forecast.calibration import Interval
from presman.forecast.course import draw, play
from presman.forecast.effects import Effects, _Difference
from presman.forecast.forecaster import COURSES, Forecaster
from presman.forecast.queue_now import modelled
from presman.tui.pages.advice_lines import candidates_lines, to_start_line
from tests.forecast.test_forecaster import RULES, reading, statement, waiting, watched
from tests.tui.readings import AT, running


def plain(line: Line) -> str:
    return "".join(text for text, _ in line)


def one_holder(second: float) -> Reading:
    """Two want all of the 64 servers; their holder has just begun, and others like it ran for a minute."""
    rows = (waiting(second), waiting(second, sid=502, position=2, since=302.0))
    head = QueueHead(
        "BATCH", rows[0], Cause.SYSTEM, Servers(64, 64), None, None, 64, 64, 64, "wants",
        shortages=(Shortage(64, everybody=True),),
    )  # fmt: skip
    return replace(reading(second, rows, (statement(605, 305.0, second, 64),)), heads=(head,))


def crowded(forecaster: Forecaster) -> QueueForecast:
    forecaster.add(one_holder(310.0), lambda: RULES)
    return forecaster._behind(60.0)


def judged_five_times(forecaster: Forecaster) -> Forecaster:
    """Return it with five forecasts that held: before that no effect of an end is shown."""
    for _ in range(LEAST_JUDGED):
        forecaster._calibration.judge(Interval(60.0, 50.0, 70.0), Interval(60.0, 50.0, 70.0), 60.0, 1.0)
    return forecaster


def test_the_end_of_the_holder_starts_the_head_a_minute_earlier() -> None:
    forecaster = judged_five_times(watched())
    found = forecaster.add(one_holder(310.0), lambda: RULES)
    assert found.forecast is not None
    (effect,) = found.forecast.effects
    assert effect.who == ((1, 605, 60805, "9md3ukh000j58"),)
    assert effect.starts == 1
    assert effect.through is not None
    assert effect.otherwise is not None
    # The second starts when the first has run for its minute; with the holder there, 52 seconds later.
    assert 55.0 < effect.through < 60.0
    assert 45.0 < effect.otherwise - effect.through < 55.0
    assert effect.otherwise == max(row.starts.median for row in found.queue if row.starts and row.starts.median)
    assert effect.sooner_low is not None
    assert effect.sooner_low <= effect.otherwise - effect.through <= (effect.sooner_high or 0.0) <= effect.otherwise


def test_no_last_start_is_forecast_if_two_came_together() -> None:
    """Of two that came together each has the same forecast, which is not that of the later start."""
    forecaster, one = judged_five_times(watched()), one_holder(310.0)
    alike = replace(one, queue=tuple(replace(row, waited=10.0) for row in one.queue))
    found = forecaster.add(alike, lambda: RULES)
    assert found.forecast is not None
    assert found.queue[0].starts == found.queue[1].starts
    (effect,) = found.forecast.effects
    assert (effect.through, effect.otherwise) == (None, None)
    assert effect_words(effect) == "1 of the queue starts at once, the last queued perhaps 0:47-0:49 sooner"


@pytest.mark.parametrize(("held", "count"), [((), 0), ((True,), 0), ((True,) * 5, 1), ((True, False, False) * 3, 0)])
def test_an_effect_is_shown_once_five_forecasts_were_judged_and_half_held(held: tuple[bool, ...], count: int) -> None:
    forecaster = watched()
    shown = Interval(60.0, 50.0, 70.0)
    for each in held:
        forecaster._calibration.judge(shown, shown, 60.0 if each else 90.0, 1.0)
    found = forecaster.add(one_holder(310.0), lambda: RULES)
    assert found.forecast is not None
    assert len(found.forecast.effects) == count


def test_by_how_much_sooner_is_a_range_of_the_courses_beside_the_latest_start_of_the_table() -> None:
    """Of 11 courses the second and the tenth; where no start is known to be the last, only by how much sooner."""
    effects, now = Effects(), one_holder(310.0)
    effects.offer(now)
    way = (now.running[0].executing(),)
    effects._played[way] = deque(_Difference(now.at, 0, 1000.0, 1000.0 + gain) for gain in range(100, 210, 10))
    (found,) = known(effects, 310.0, last=1449.0)
    assert (found.otherwise, found.through) == (1449.0, 1299.0)
    assert (found.sooner, found.sooner_low, found.sooner_high) == (150.0, 110.0, 190.0)
    (found,) = known(effects, 310.0, last=1449.0, factor=2.0)
    assert (found.sooner, found.sooner_low, found.sooner_high) == (150.0, 70.0, 230.0), "as wide as starts have to be"
    (found,) = known(effects, 310.0, last=60.0)
    assert (found.through, found.otherwise, found.sooner_high) == (0.0, 60.0, 60.0), "the courses are older than that"
    (found,) = known(effects, 310.0, last=None)
    assert (found.through, found.otherwise) == (None, None)
    assert (found.sooner_low, found.sooner_high) == (110.0, 190.0)


def test_effect_of_an_end_in_words() -> None:
    holders = ((1, 605, 60805, "9md3ukh000j58"),)
    found = EndingEffect(holders, 3, 1500.0, 2470.0, proven=True, sooner=970.0, sooner_low=700.0, sooner_high=1210.0)
    assert effect_words(found) == (
        "3 of the queue start at once, the last queued 11:40-20:10 sooner: in 25:00 instead of 41:10"
    )
    sure = replace(found, sooner_low=970.0, sooner_high=970.4)
    assert effect_words(sure, enough=False) == "the last queued 16:10 sooner: in 25:00 instead of 41:10"
    perhaps = replace(found, sooner_low=0.0, proven=False)
    assert effect_words(perhaps, enough=False) == "the last queued perhaps up to 20:10 sooner", "it may be nothing"
    two = EndingEffect(holders, 0, None, None, sooner=2.0, sooner_low=1.5, sooner_high=16.0)
    assert effect_words(two, enough=False) == "the last queued perhaps less than 0:30 sooner", "within chance"
    proven = replace(found, sooner_low=0.0)
    one = "the last queued 16:10 sooner: in 25:00 instead of 41:10"
    assert effect_words(proven, enough=False) == one, "of two gains it is the one between the two times"
    assert effect_words(EndingEffect(holders, 1, 30.0, 30.5)) == "1 of the queue starts at once"
    assert effect_words(EndingEffect(holders, 0, None, None)) == ""
    assert effect_words(None) == ""


def test_the_effect_is_beside_the_candidate_if_it_fits() -> None:
    holder = running(605, idle=300.0, status="INACTIVE", servers=64)
    rows = (waiting(310.0),)
    head = QueueHead(
        "BATCH", rows[0], Cause.SYSTEM, Servers(64, 64), None, None, 64, 64, 64, "wants",
        shortages=(Shortage(64, everybody=True),),
    )  # fmt: skip
    effect = EndingEffect((holder.executing(),), 2, 60.0, 120.0, sooner=60.0, sooner_low=50.0, sooner_high=75.0)
    one = replace(
        reading(310.0, rows, (holder,)), at=AT + timedelta(seconds=310), heads=(head,),
        forecast=QueueForecast(effects=(effect,)),
    )  # fmt: skip
    (just,) = unblock(one)
    assert just.sentence == "it has waited only 0:10: too early to end a session for it"
    head = replace(head, statement=replace(rows[0], waited=40.0))
    (found,) = unblock(replace(one, heads=(head,)))
    whole = "(2 of the queue start at once, the last queued perhaps 0:50-1:15 sooner: in 1:00 instead of 2:00)"
    assert whole in plain(to_start_line(found))
    assert "(2 of the queue start at once)" in plain(to_start_line(found, 105))
    assert "at once" not in plain(to_start_line(found, 70))
    assert any("if ended: 2 of the queue start at once, the last" in plain(line) for line in candidates_lines(found))


def test_effects_are_kept_for_a_minute_without_an_offer() -> None:
    forecaster, effects = watched(), Effects()
    offered, model = one_holder(310.0), None
    forecaster._history.add(offered)
    model = modelled(offered, RULES, forecaster._history)
    assert model is not None
    courses = [(drawn, play(model.now, drawn)) for drawn in (draw(model.now, str(seed)) for seed in range(3))]
    assert effects.offer(offered) == 1
    assert effects.play(model, courses, AT + timedelta(seconds=310), 1e6) > 0
    assert known(effects, 310.0) == (), "three courses are too few"
    assert effects.offer(replace(offered, at=AT + timedelta(seconds=315), heads=())) == 0
    assert known(effects, 315.0) == ()
    assert effects.offer(one_holder(320.0)) == 1
    effects.play(model, courses, AT + timedelta(seconds=320), 1e6)
    (found,) = known(effects, 320.0)
    assert found.starts == 1
    effects.offer(one_holder(371.0))
    assert known(effects, 371.0) == (), "those of 310 s are too old, though it was offered all the time"
    effects.offer(replace(offered, at=AT + timedelta(seconds=381), heads=()))
    effects.offer(one_holder(382.0))
    assert known(effects, 382.0) == ()


@pytest.mark.parametrize(
    ("otherwise", "through", "trusted", "proven"),
    [
        (1440.0, 1240.0, True, True),
        (1440.0, 1402.0, True, False),  # half a minute of 24: that is no reason to end a session
        (100.0, 75.0, True, False),  # a quarter of the time, which passes while a person decides
        (1440.0, 1240.0, False, False),  # the forecasts have not been judged often enough, or are poor
    ],
)
def test_it_is_proven_by_what_matters_for_a_minute(
    otherwise: float, through: float, trusted: bool, proven: bool
) -> None:
    effects = Effects()
    found = [looked(effects, second, [(otherwise, through)] * 5, trusted=trusted) for second in range(310, 381, 10)]
    assert found == [*[False] * 6, proven, proven]


def test_proven_it_stays_until_half_the_courses_deny_it_and_then_takes_a_minute_again() -> None:
    """An offer that is withdrawn and repeated within seconds is not advice."""
    effects, saves, little = Effects(), (1440.0, 1000.0), (1440.0, 1430.0)
    for second in range(310, 371, 10):
        looked(effects, second, [saves] * 5)
    assert looked(effects, 380, [*[saves] * 3, *[little] * 2]), "three of five"
    assert not looked(effects, 390, [*[saves] * 2, *[little] * 3]), "two of five"
    found = [looked(effects, second, [saves] * 5) for second in range(400, 461, 10)]
    assert found == [*[False] * 6, True]
    doubtful = Effects()
    assert not [
        one for second in range(310, 400, 10) if (one := looked(doubtful, second, [*[saves] * 3, little, little]))
    ]


def test_forecasts_prove_something_once_twenty_were_judged_and_half_of_them_held() -> None:
    records = [ForecastRecord(*each, 9.0) for each in ((1, 0), (19, 19), (20, 10), (50, 38), (50, 24))]
    assert [each.is_proof() for each in records] == [False, False, True, True, False]


def looked(effects: Effects, second: int, courses: list[tuple[float, float]], *, trusted: bool = True) -> bool:
    """Return whether the end of the holder is proven to help after a look whose courses end so, without and with it."""
    now = one_holder(float(second))
    effects.offer(now)
    way = (now.running[0].executing(),)
    differences = (_Difference(now.at, 0, through, otherwise) for otherwise, through in courses)
    effects._played[way] = deque(differences)
    (found,) = known(effects, float(second), trusted=trusted)
    return found.proven


def known(
    effects: Effects, second: float, *, trusted: bool = True, last: float | None = None, factor: float = 1.0
) -> tuple[EndingEffect, ...]:
    return effects.known(AT + timedelta(seconds=second), trusted=trusted, last=last, factor=factor)


def with_two_ways(*queue: QueuedStatement) -> Reading:
    """The first of a queue may start once either of two that run has ended."""
    head = QueueHead(
        "BATCH", queue[0], Cause.SYSTEM, Servers(64, 64), None, None, 128, 128, 64, "wants",
        shortages=(Shortage(64, everybody=True),),
    )  # fmt: skip
    held = (statement(605, 305.0, 310.0, 64), statement(606, 305.0, 310.0, 64))
    return replace(reading(310.0, queue, held), heads=(head,))


def test_each_way_is_played_once_with_each_draw_as_long_as_there_are_steps() -> None:
    forecaster, effects, two = watched(), Effects(), with_two_ways(waiting(310.0))
    forecaster._history.add(two)
    model = modelled(two, RULES._replace(target=128), forecaster._history)
    assert model is not None
    courses = [(drawn, play(model.now, drawn)) for drawn in (draw(model.now, str(seed)) for seed in range(5))]
    assert effects.offer(two) == 2
    effects.play(model, courses, two.at, 1.0)
    assert [each.who[0][1] for each in known(effects, 310.0)] == [605], "the steps were used up by the first way"
    effects.play(model, courses[:1], two.at, 1.0)
    assert len(known(effects, 310.0)) == 1, "the second was played with one draw: one is too few"
    effects.play(model, courses, two.at, 1e6)
    assert sorted(each.who[0][1] for each in known(effects, 310.0)) == [605, 606]


@pytest.mark.parametrize(("courses", "least", "most"), [(0, -1000.0, 0.0), (40, 1000.0, 2000.0)])
def test_half_of_the_steps_is_left_for_the_effects_once_there_are_enough_courses(
    courses: int, least: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A course of 60 statements has up to 1,000 steps: 4,000 are used up, or all but those of the last of 2,000."""
    forecaster, two = watched(), with_two_ways(*(waiting(310.0, sid=1000 + number) for number in range(60)))
    forecaster._steps = 1e9
    forecaster.add(two, lambda: RULES)
    assert len(forecaster._courses) == COURSES
    while len(forecaster._courses) > courses:
        forecaster._courses.pop()
    left: list[float] = []

    def played(_model: object, _courses: object, _at: object, steps: float) -> int:
        left.append(steps)
        return 0

    monkeypatch.setattr(forecaster._effects, "play", played)
    model = modelled(two, RULES, forecaster._history)
    assert model is not None
    forecaster._steps = 4000.0
    forecaster._play(model, two)
    assert least <= left[0] <= most
