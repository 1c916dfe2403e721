"""Effects of ending somebody: worked out by hand from one queue, and as they are told."""

from __future__ import annotations

from datetime import timedelta

from msgspec.structs import replace

from presman.analysis.advice.unblock import effect_words, unblock
from presman.analysis.readings.forecasts import EndingEffect, QueueForecast
from presman.analysis.readings.statement_readings import Cause, QueueHead, Servers, Shortage
from presman.figures.drawing.lines import Line
from presman.forecast.forecaster import Forecaster
from presman.tui.pages.advice_lines import candidates_lines, ends_it
from tests.forecast.test_forecaster import RULES, reading, statement, waiting, watched
from tests.tui.readings import AT, running


def plain(line: Line) -> str:
    return "".join(text for text, _ in line)


def crowded(forecaster: Forecaster) -> QueueForecast:
    """Two want all of the 64 servers; who holds them has just begun, and others like it ran for a minute."""
    rows = (waiting(310.0), waiting(310.0, sid=502, position=2))
    head = QueueHead(
        "BATCH", rows[0], Cause.SYSTEM, Servers(64, 64), None, None, 64, 64, 64, "wants",
        shortages=(Shortage(64, everybody=True),),
    )  # fmt: skip
    one = replace(reading(310.0, rows, (statement(605, 305.0, 310.0, 64),)), heads=(head,))
    found = forecaster.add(one, lambda: RULES)
    assert found.forecast is not None
    return found.forecast


def test_the_end_of_the_holder_starts_the_head_a_minute_earlier() -> None:
    (effect,) = crowded(watched()).effects
    assert effect.who == ((1, 605, 60805, "9md3ukh000j58"),)
    assert effect.starts == 1
    assert effect.through is not None
    assert effect.otherwise is not None
    # The second starts when the first has run for its minute; with the holder there, 52 seconds later.
    assert 55.0 < effect.through < 60.0
    assert 45.0 < effect.otherwise - effect.through < 55.0


def test_what_is_told_of_an_end() -> None:
    who = ((1, 605, 60805, "9md3ukh000j58"),)
    assert effect_words(EndingEffect(who, 3, 1500.0, 2470.0)) == (
        "3 start at once, the last queued in 25:00 instead of 41:10"
    )
    assert effect_words(EndingEffect(who, 1, 30.0, 30.5)) == "1 starts at once"
    assert effect_words(EndingEffect(who, 0, None, None)) == "none starts at once"
    assert effect_words(None) == ""


def test_it_stands_beside_the_candidate_where_there_is_room() -> None:
    holder = running(605, idle=300.0, status="INACTIVE", servers=64)
    rows = (waiting(310.0),)
    head = QueueHead(
        "BATCH", rows[0], Cause.SYSTEM, Servers(64, 64), None, None, 64, 64, 64, "wants",
        shortages=(Shortage(64, everybody=True),),
    )  # fmt: skip
    effect = EndingEffect((holder.executing(),), 2, 60.0, 120.0)
    one = replace(
        reading(310.0, rows, (holder,)), at=AT + timedelta(seconds=310), heads=(head,),
        forecast=QueueForecast(effects=(effect,)),
    )  # fmt: skip
    (found,) = unblock(one)
    assert "(2 start at once, the last queued in 1:00 instead of 2:00)" in plain(ends_it(found))
    assert "(2 start at once)" in plain(ends_it(found, 100))
    assert "at once" not in plain(ends_it(found, 70))
    assert any("if ended: 2 start at once, the last" in plain(line) for line in candidates_lines(found))
