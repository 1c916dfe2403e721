"""Navigation in time: to a time, to an event, to a click on a chart, and the tab Events; live and in a replay."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from msgspec.structs import replace

from presman.analysis.trends.database_events import DatabaseEvent
from presman.tabs.charts import Area, ChartData
from presman.tui.feed import Lost
from presman.tui.monitor import Moments
from presman.tui.timeline import Timeline
from presman.tui.widgets.chart import Chart, chart_lines, instant_at
from tests.recording.recorded import polled, record
from tests.tui.drive import Stage, acted
from tests.tui.replays import replaying, waited
from tests.tui.test_live import START, playing

POLLS = 96
"""192 seconds: the plan is switched at 60, the parameter is changed at 130."""


@asynccontextmanager
async def watched(size: tuple[int, int] = (120, 35)) -> AsyncIterator[Stage]:
    async with playing("changes", size) as (acting, polls):
        await polls(POLLS)
        yield acting


def clock(seconds: float) -> str:
    return f"{(START + timedelta(seconds=seconds)).astimezone():%H:%M:%S}"


def typed(words: str) -> list[str]:
    return [{" ": "space", "-": "minus", ":": "colon", ".": "full_stop"}.get(each, each) for each in words]


def notice(acting: Stage) -> str:
    """Return the text of the newest notice."""
    return [str(each.message) for each in acting.app._notifications][-1]


def shown(acting: Stage) -> float:
    """Return how many seconds after the start the shown poll was."""
    reading = acting.app.monitor.reading
    assert reading is not None
    return (reading.at - START).total_seconds()


async def the_tab_lists_what_changed_newest_first(acting: Stage) -> None:
    screen = await acting.press("E")
    rows = [line.split(None, 2) for line in screen.splitlines()[5:] if line.strip()][:-1]
    times = [each[1] for each in rows]
    assert times == sorted(times, reverse=True)
    assert [" ".join(each[2].split()) for each in rows if each[1] in {clock(130), clock(60)}] == [
        "parameter changed PARALLEL_SERVERS_TARGET 96 → 48 on each of 2 instances, in total 192 → 96",
        "plan changed plan DAY_PLAN → NIGHT_PLAN (by NIGHT_WINDOW)",
    ]
    size = acting.app.size
    await acting.resize(80, 24)
    assert f"{clock(130)} parameter changed" in acting.screen
    assert "PARALLEL_SERVERS_TARGET 96 →" in acting.screen
    await acting.resize(*size)
    await acting.keys("slash", *"NIGHT_W", "enter")
    assert "Events  1 of " in acting.screen


async def enter_goes_to_the_moment_on_its_best_tab(acting: Stage) -> None:
    """It begins with the list that the previous function leaves."""
    await acting.keys("E", "enter")
    assert shown(acting) == 60
    assert f"◀ {clock(60)} 66 back" in acting.screen, "192 - 60 seconds, at two seconds a poll"
    assert "[6 Plan]" in acting.screen
    there = [each.text for each in acting.app.monitor.events if (each.at - START).total_seconds() == 60]
    assert "plan DAY_PLAN → NIGHT_PLAN (by NIGHT_WINDOW)" in there
    assert notice(acting) == " · ".join(text.partition("; ")[0] for text in there), "all events of that poll are named"
    await acting.keys("end", "E", "slash", *["backspace"] * 7, *"TARGET", "enter", "enter")
    assert (shown(acting), "[4 Parallel]" in acting.screen) == (130, True)


async def n_and_p_go_to_events(acting: Stage) -> None:
    times = [(each.at - START).total_seconds() for each in acting.app.monitor.events]
    before = sorted({each for each in times if each >= 2}, reverse=True)
    for at in before:
        await acting.keys("p")
        assert shown(acting) == at
    await acting.keys("p")
    assert shown(acting) == before[-1]
    assert notice(acting) == f"There is no event before this. The oldest poll is from {clock(2)}."
    await acting.keys("n")
    assert shown(acting) == before[-2]
    await acting.keys("end", "n")
    assert (notice(acting), shown(acting)) == ("There is no event after this.", 192)


async def a_time_on_the_go_line_or_after_the_key_jumps_there(acting: Stage) -> None:
    minute = f"{(START + timedelta(seconds=120)).astimezone():%Y-%m-%d %H:%M}"
    words = {clock(90): 90, clock(91): 90, "90s ago": 102, minute: 120}  # the last poll not after it
    for line, (each, at) in zip(("colon", "J", "J", "colon"), words.items(), strict=True):
        await acting.keys("end", line, *typed(each), "enter")
        assert shown(acting) == at
        assert f"◀ {clock(at)}" in acting.screen.splitlines()[0]


async def the_first_and_the_last_poll_have_words_on_both_lines(acting: Stage) -> None:
    for line in ("colon", "J"):
        await acting.keys(line, *typed("FIRST"), "enter")
        assert shown(acting) == 2, "the oldest poll that is kept"
        await acting.keys(line, *typed("last"), "enter")
        assert shown(acting) == 192


async def relative_times_count_from_the_shown_moment(acting: Stage) -> None:
    await acting.keys("J", *typed("-1m"), "enter")
    assert shown(acting) == 132
    await acting.keys("J", "1", "enter")
    assert shown(acting) == 72
    await acting.keys("colon", *typed("-30s"), "enter")
    assert shown(acting) == 42
    await acting.keys("colon", *typed("30s ago"), "enter")
    assert shown(acting) == 162, "ago is before the newest poll"
    await acting.keys("J", "enter")
    assert shown(acting) == 2, "fifteen minutes are not kept"


async def times_out_of_range_and_mistakes_are_reported(acting: Stage) -> None:
    await acting.keys("colon", *typed("-1h"), "enter")
    assert shown(acting) == 2
    first = (START + timedelta(seconds=2)).astimezone()
    assert notice(acting) == f"No poll before {first:%Y-%m-%d %H:%M:%S}: this is the first."
    await acting.keys("J", *"last", "enter")
    assert shown(acting) == 192
    assert not acting.app.monitor.is_frozen
    await acting.keys("J", *typed("2030-01-01"), "enter")
    last = (START + timedelta(seconds=192)).astimezone()
    assert notice(acting) == f"No poll after {last:%Y-%m-%d %H:%M:%S}: this is the newest."
    await acting.keys("J", "enter")
    assert (shown(acting), notice(acting).startswith("No poll before ")) == (2, True), "fifteen minutes are not kept"
    await acting.keys("end", "J", "2", "enter")
    assert shown(acting) == 72, "two minutes before the newest"
    await acting.keys("end", "J", *"soon", "enter")
    assert notice(acting).startswith("'soon' is not a time")
    await acting.keys("colon", *typed("1:45"), "enter")
    assert "no time" not in notice(acting), "1:45 is SID 45 of instance 1; 01:45 is a time"


@acted
async def test_a_connection_that_is_lost_is_an_event_once() -> None:
    async with playing("quiet", (120, 35)) as (acting, polls):
        await polls(3)
        for _ in range(2):
            acting.app.post_message(Lost("ORA-03113: end-of-file on communication channel", 5.0))
            await acting.settle()
        lines = [line for line in (await acting.press("E")).splitlines() if "connection lost" in line]
        assert len(lines) == 1
        assert clock(6) in lines[0], "the last poll was then"
        assert "ORA-03113: end-of-file" in lines[0]


@acted
async def test_looking_back_stays_while_polls_continue() -> None:
    async with playing("changes", (120, 35)) as (acting, polls):
        await polls(40)
        await acting.keys("colon", *typed(clock(30)), "enter")
        await polls(5)
        assert shown(acting) == 30
        assert f"◀ {clock(30)} 30 back" in acting.screen, "(90 - 30) / 2"


@acted
async def test_the_longest_window_has_the_metric_history_from_the_first_poll() -> None:
    """V$RSRCMGRMETRIC_HISTORY has 59 closed minutes of the hour before; the last one is not closed yet."""
    async with playing("mixed", (120, 35), whole=True) as (acting, polls):
        await polls(2)
        screen = await acting.press("w")
        assert "CPUs used, 60 min" in screen
        shown_data = acting.app.panels.present.query_one(Chart)._data
        assert shown_data is not None
        known = [
            any(each is not None for each in values)
            for values in zip(*(area.values for area in shown_data.areas), strict=True)
        ]
        assert (shown_data.length, shown_data.width) == (60, 60.0)
        assert sum(known) >= 59


async def a_click_on_a_chart_goes_to_that_time(acting: Stage) -> None:
    chart = acting.app.panels.present.query_one(Chart)
    assert chart._data is not None
    width, height = chart.size
    x = next(x for x in range(width) if (at := seconds(chart, x)) is not None and at >= 100)
    await acting.pilot.click(chart, offset=(x, height - 4))
    await acting.settle()
    assert shown(acting) == 2 * (seconds(chart, x) // 2), "polls are at even seconds"
    await acting.keys("end", "space")
    assert acting.app.monitor.is_frozen
    await acting.pilot.click(chart, offset=(width - 1, height - 4))
    await acting.settle()
    assert not acting.app.monitor.is_frozen, "its newest stretch is now"


@acted
async def test_each_way_to_go_to_a_moment() -> None:
    async with watched() as acting:
        for go in (
            the_tab_lists_what_changed_newest_first,
            enter_goes_to_the_moment_on_its_best_tab,
            n_and_p_go_to_events,
            a_time_on_the_go_line_or_after_the_key_jumps_there,
            relative_times_count_from_the_shown_moment,
            times_out_of_range_and_mistakes_are_reported,
            a_click_on_a_chart_goes_to_that_time,
        ):
            assert shown(acting) == 192, go.__name__
            await go(acting)
            await acting.keys("end", "1")


def seconds(chart: Chart, x: int) -> float | None:
    """Return how many seconds after the start column `x` of a chart ends."""
    assert chart._data is not None
    at = instant_at(chart._data, x, chart.size.width, chart.size.height - 3)
    return None if at is None else (at - START).total_seconds()


def test_a_column_of_a_chart_stands_for_the_period_drawn_there() -> None:
    """60 stretches of 15 s in 40 - 3 columns: column x shows stretch x * 60 // 37."""
    chart = ChartData("x", (Area("a", ((0, "A"),), (1.0,) * 60),), ((60, "now"),), 60, start=1000.0, width=15.0)
    (*_, axis, _) = chart_lines(chart, (), 40, 12)
    margin = axis[0][0].index("└")
    count = 40 - margin - 1
    assert instant_at(chart, margin, 40, 9) is None, "the axis"
    assert instant_at(chart, margin + 1, 40, 9).timestamp() == 1015.0
    assert instant_at(chart, margin + 1 + 10, 40, 9).timestamp() == 1000 + 15 * (10 * 60 // count + 1)
    assert instant_at(chart, 39, 40, 9).timestamp() == 1915.0, "now: 1900 was completed"
    assert instant_at(replace(chart, cursor=3), 39, 40, 9).timestamp() == 1900.0
    assert instant_at(chart, 40, 40, 9) is None


def test_the_poll_of_an_instant_is_found_when_the_oldest_are_gone() -> None:
    timeline = Timeline()
    timeline._times.extend(float(each) for each in (10, 20, 30, 40))
    with mock.patch.object(Timeline, "__len__", return_value=3):
        found = [timeline.behind(datetime.fromtimestamp(at).astimezone()) for at in (5, 15, 20, 29.9, 30, 41)]
        assert found == [2, 2, 2, 2, 1, 0]
        assert timeline.first() == datetime.fromtimestamp(20).astimezone()


@acted
async def test_a_replay_has_the_same_tab_keys_and_words(tmp_path: Path) -> None:
    place = str(tmp_path / "a.presman")
    polls = list(polled("changes", 19, step=10.0))
    record(place, polls)
    first = polls[0][0].at - timedelta(seconds=10)

    def since(seconds: float) -> bool:
        reading = app.monitor.reading
        return reading is not None and reading.at == first + timedelta(seconds=seconds)

    async with replaying(place) as acting:
        app = acting.app
        await waited(acting, lambda: app.monitor.reading is not None and "event " in acting.screen)
        await acting.keys("E", "slash", *"TARGET", "enter")
        await waited(acting, lambda: "PARALLEL_SERVERS_TARGET 96 → 48" in acting.screen)
        await acting.keys("enter")
        await waited(acting, lambda: since(130))
        assert not app.player.playing
        await acting.keys("colon", *typed(f"{(first + timedelta(seconds=90)).astimezone():%H:%M:%S}"), "enter")
        await waited(acting, lambda: since(90))
        await acting.keys("p")
        await waited(acting, lambda: since(60))


def test_events_in_a_notice_are_cut_before_their_figures() -> None:
    texts = ("critical: BATCH: head wants 32 servers; BATCH holds 64 of 64", "plan A → B")
    events = tuple(DatabaseEvent(START, "alert there", "", "", text) for text in texts)
    notices: list[str] = []
    monitor: Any = SimpleNamespace(events=events, latest=None)
    Moments(monitor, lambda text, **_: notices.append(text), lambda: None).show(events[0])
    assert notices == ["critical: BATCH: head wants 32 servers · plan A → B"]
