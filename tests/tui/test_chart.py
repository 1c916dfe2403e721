"""Charts and their legends for given numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace
from textual.theme import BUILTIN_THEMES

from presman.analysis.readings.reading import Reading
from presman.analysis.trends.series import Series
from presman.figures.drawing.lines import Cell, crossed, plain, stacked
from presman.tabs.charts import OTHERS, Area, ChartData, ChartFeed, chart_data, levels_of, without_gaps
from presman.tabs.choices import Choices
from presman.tabs.parts import GroupLevel, Moment, OverTime
from presman.tui.widgets import chart
from presman.tui.widgets.chart import Chart, chart_lines
from presman.tui.widgets.line_api import AREAS, palette_of
from tests.tui.drive import acted, stage
from tests.tui.readings import AT, busy, group, quiet
from tests.tui.test_live import playing

A, B, C = "a", "b", "c"


def texts(cells: list[Cell]) -> str:
    return "".join(cell.text for cell in cells)


def test_areas_are_stacked() -> None:
    """4 cells for 0 to 8: a unit is half a cell."""
    cells = stacked([3, 2], [A, B], top=8, height=4)
    assert texts(cells) == "█▄▄ "
    assert [cell.style for cell in cells] == ["a on a", "a on b", "b", ""]
    assert [cell.cover for cell in stacked([3.5, 2], [A, B], top=8, height=4)] == ["a", "a", "b", ""]


def test_values_above_the_axis_are_clipped() -> None:
    assert texts(stacked([20], [A], top=8, height=3)) == "███"


def test_a_cell_shows_the_larger_two_of_three_areas() -> None:
    (cell,) = stacked([4, 1, 3], [A, B, C], top=8, height=1)
    assert cell == Cell("▅", "a on c", "a")
    (cell,) = stacked([1, 4, 3], [A, B, C], top=8, height=1)
    assert cell == Cell("▅", "b on c", "b")


def test_without_colours_a_cell_has_the_letter_of_its_largest_area() -> None:
    assert texts(stacked([3.5, 2.5], [A, B], top=8, height=4, signs="AB")) == "AAB "


def test_a_line_across_an_area_keeps_its_colour() -> None:
    full, partly, _, empty = stacked([3, 2], [A, B], top=8, height=4)
    assert crossed(full, "─") == Cell("─", "mark on a", "a")
    assert crossed(partly, "─").style in {"mark on a", "mark on b"}
    assert crossed(empty, "─") == Cell("─", "mark", "")


def test_unmeasured_times_are_gaps() -> None:
    """Polls in every second period, then none in five: a poll covers the time before it."""
    found = {(0, "X"): (None, 1.0, None, 3.0, None, None, None, None, None, 5.0)}
    assert without_gaps(found, 2)[0, "X"] == (None, 1.0, 3.0, 3.0, None, None, None, None, None, 5.0)


def test_a_group_that_did_not_exist_counts_as_zero() -> None:
    found = {(0, "X"): (1.0, 2.0, None), (0, "Y"): (None, 4.0, None)}
    assert without_gaps(found, 1) == {(0, "X"): (1.0, 2.0, None), (0, "Y"): (0.0, 4.0, None)}


def poll(number: int, **used: float) -> Reading:
    groups = tuple(group(name, value) for name, value in used.items())
    return replace(busy(), at=AT + timedelta(seconds=15 * number), groups=groups)


def moment_of(*readings: Reading, **choices: object) -> Moment:
    series = Series()
    for reading in readings:
        series.add(reading)
    newest = readings[-1]
    back = choices.pop("on_screen", newest)
    return Moment(back, Choices(**choices), newest=newest.at, series=series)  # type: ignore[arg-type]


def test_the_axis_ends_now() -> None:
    moment = moment_of(*(poll(number, BATCH=float(number)) for number in range(9)))
    data = chart_data(moment, "used", "CPUs used", 24.0)
    assert data.ticks[-1] == (data.length, "now")
    newest = AT.timestamp() + 8 * 15
    assert newest - newest % 15 == newest - 10, "the last completed stretch ended ten seconds ago"
    assert data.areas[0].values[-1] == 7.0, "and is the last one on the chart"


def test_the_capacity_line_shows_the_capacity_of_its_time() -> None:
    """An instance with 16 of 32 CPUs is lost after ten polls: earlier values are below the earlier capacity."""
    polls = [poll(number, BATCH=24.0 if number < 10 else 8.0) for number in range(20)]
    polls = [replace(each, header=replace(each.header, num_cpus=32 if n < 10 else 16)) for n, each in enumerate(polls)]
    data = chart_data(moment_of(*polls), "used", "CPUs used", 16.0)
    assert data.capacity == 16
    first, before = data.capacities.index(32), data.capacities.index(16)
    assert set(data.capacities[:first]) == {None}, "it has changed since, so the earlier value is unknown"
    assert (set(data.capacities[first:before]), set(data.capacities[before:])) == ({32}, {16})
    values = data.areas[0].values
    assert first == next(stretch for stretch, value in enumerate(values) if value is not None)
    same = chart_data(moment_of(*polls[10:]), "used", "CPUs used", 16.0)
    (known,) = {each for each in same.capacities if each is not None}
    assert known == 16
    assert same.capacities[0] is None, "the present capacity says nothing about earlier times"
    legend, *plot = drawn(data, width=63, height=10)  # a column for each stretch
    assert "─ capacity 16" in legend
    assert [line[3:] for line in plot[:-2] if "─" in line] == [
        " " * first + "─" * (before - first),
        " " * (before - 10) + "█" * 10 + "─" * (len(values) - before),
    ]


def test_the_past_read_after_a_jump_is_on_the_chart() -> None:
    """The newest poll stays the same: it was the only one at first, or the only one with other groups."""
    polls = [poll(number, BATCH=1.0) for number in range(9)]
    feed = ChartFeed(OverTime("used", "used", "CPUs used", lambda _: ()))
    assert feed.data(moment_of(polls[-1])).areas == ()
    whole = moment_of(*polls)
    assert [area.name for area in feed.data(whole).areas] == ["BATCH"]
    assert feed.data(whole) is feed.data(whole), "and is not computed again"
    others = moment_of(*(poll(number, BATCH=1.0, REPORTS=2.0) for number in range(9)))
    assert [area.name for area in feed.data(others).areas] == ["BATCH", "REPORTS"]


def test_looking_back_the_instant_is_marked_and_the_end_is_not_called_now() -> None:
    polls = [poll(number, BATCH=1.0) for number in range(40)]
    data = chart_data(moment_of(*polls, behind=20, on_screen=polls[19]), "used", "CPUs used", None)
    assert data.cursor == 40
    end = datetime.fromtimestamp(AT.timestamp() // 15 * 15 + 39 * 15, UTC)
    assert data.ticks[-1] == (60, end.strftime("%H:%M:%S")), "it is no whole minute"
    recorded = chart_data(moment_of(*polls, recorded=True), "used", "CPUs used", None)
    assert recorded.ticks[-1] == data.ticks[-1], "the last poll of a recording was long ago"
    lines = [plain(line) for line in chart_lines(data, (), 70, 12)]
    assert sum("│" in line[3:] for line in lines[1:]) == 9, "a line over all of the plot"


def test_small_groups_are_summed_so_that_the_total_is_right() -> None:
    used = {f"G{number}": 10.0 - number for number in range(8)}
    data = chart_data(moment_of(*(poll(number, **used) for number in range(3))), "used", "CPUs used", None)
    assert [area.name for area in data.areas] == ["G0", "G1", "G2", "G3", "G4", OTHERS]
    assert data.areas[-1].values[-1] == 5.0 + 4.0 + 3.0
    assert sum(area.values[-1] or 0.0 for area in data.areas) == sum(used.values())


def test_one_group_without_a_colour_keeps_its_name() -> None:
    used = {f"G{number}": 10.0 - number for number in range(6)}
    data = chart_data(moment_of(*(poll(number, **used) for number in range(3))), "used", "CPUs used", None)
    assert [area.name for area in data.areas] == ["G0", "G1", "G2", "G3", "G4", "G5"]


def test_legends_show_current_values() -> None:
    areas = (Area("X", ((0, "X"),), (1.0,)), Area(OTHERS, (), (2.0,)))
    levels = [GroupLevel(0, "X", 7.0, 12.0), GroupLevel(0, "Y", 1.5), GroupLevel(0, "Z", 2.0), GroupLevel(3, "X", None)]
    assert levels_of(areas, levels) == [(7.0, 12.0), (3.5, None)]


def drawn(data: ChartData, *levels: GroupLevel, width: int = 39, height: int = 11, signs: bool = False) -> list[str]:
    return [plain(line).rstrip() for line in chart_lines(data, levels, width, height, signs)]


def test_a_legend_names_groups_first_and_counts_omitted_ones() -> None:
    """Below nine lines of chart it has one line. In 48 cells it named only the capacity and counted six groups."""
    levels = GroupLevel(0, "ETL", 4.1, 6.0), GroupLevel(0, "WEB", 0.3)
    legends = {width: drawn(DATA, *levels, width=width, height=8)[0] for width in (28, 39, 45, 58, 63)}
    title, line = "CPUs used, 15 min", "  ─ capacity 8"
    assert legends == {
        28: f"{title}  ■ WEB  +2",  # the larger one
        39: f"{title}  ■ WEB  ■ ETL  +1",
        45: f"{title}  ■ WEB  ■ ETL{line}",
        58: f"{title}{line}  ■ ETL  4.1  ■ WEB  0.3",
        63: f"{title}{line}  ■ ETL  4.1 of 6  ■ WEB  0.3",
    }


DATA = ChartData(
    "CPUs used, 15 min",
    (
        Area("ETL", ((0, "ETL"),), (2.0, 2.0, None, 4.0)),
        Area("WEB", ((0, "WEB"),), (2.0, 4.0, None, 4.0)),
    ),
    ((0, "03:00"), (2, "03:06"), (4, "now")),
    4,
    capacity=8.0,
)


def test_a_chart() -> None:
    """37 columns for 4 stretches, 7 lines for 8 CPUs: 2, 4, 6 and 8 of them take 1.75, 3.5, 5.25 and 7 lines."""
    assert drawn(DATA, GroupLevel(0, "ETL", 4.1, 6.0), GroupLevel(0, "WEB", 0.3)) == [
        "CPUs used, 15 min  ─ capacity 8",
        " ■ ETL  4.1 of 6  ■ WEB  0.3",
        "8┤─────────────────────────────────────",
        " │          ▂▂▂▂▂▂▂▂▂         █████████",
        " │          █████████         █████████",
        "4┤▄▄▄▄▄▄▄▄▄▄█████████         ▄▄▄▄▄▄▄▄▄",
        " │███████████████████         █████████",
        " │▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆         █████████",
        " │███████████████████         █████████",
        "0└┬──────────────────┬────────────────┬",
        "03:00              03:06            now",
    ]


def test_a_low_chart_has_areas_without_axes_and_is_never_empty() -> None:
    """At 100x30 the Overview left it four lines: they were blank."""
    assert drawn(DATA, GroupLevel(0, "ETL", 4.1, 6.0), width=40, height=2) == [
        "CPUs used, 15 min  ■ WEB  ■ ETL  +1",
        "▄▄▄▄▄▄▄▄▄▄▂▂▂▂▂▂▂▂▂▂          ▄▄▄▄▄▄▄▄▄▄",  # ETL in the foreground, WEB in the background
    ]
    assert drawn(DATA, width=40, height=3)[1:] == [
        "          ▄▄▄▄▄▄▄▄▄▄          ██████████",
        "▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄          ██████████",
    ]
    assert drawn(DATA, width=40, height=1) == ["CPUs used, 15 min  ▄▄▄▄▄▄▂▂▂▂▂     ▄▄▄▄▄"]
    assert [len(drawn(DATA, width=40, height=height)) for height in (1, 2, 3, 4, 5)] == [1, 2, 3, 4, 5]


def test_the_capacity_line_is_in_the_row_it_fills() -> None:
    """Eight lines for 8 CPUs: 4 of them fill four lines."""
    lines = drawn(replace(DATA, capacities=(8.0, 8.0, 4.0, 8.0)), height=12)
    assert [line[21:30] for line in lines[2:10]] == [" " * 9] * 4 + ["─" * 9] + [" " * 9] * 3


def test_a_new_period_is_drawn_without_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def noted(values: Sequence[float], *how: Any) -> list[Cell]:
        made.append(values)
        return stacked(values, *how)

    monkeypatch.setattr(chart, "stacked", noted)
    for values in ((1.25, 2.75, 3.5, 4.25), (2.75, 3.5, 4.25, 5.5)):
        lines = drawn(replace(DATA, areas=(Area("ETL", (), values),)))
        assert lines[2].startswith("8")
    assert made == [(1.25,), (2.75,), (3.5,), (4.25,), (5.5,)]


def test_times_that_would_touch_are_omitted_newest_first() -> None:
    """37 columns for ten stretches: 03:08 would touch "now" and 03:04 be over 03:05; each mark is its time's own."""
    ticks = ((0, "03:00"), (4, "03:04"), (5, "03:05"), (9, "03:09"), (10, "now"))
    values = (1.0,) * 10
    *_, axis, text = drawn(replace(DATA, areas=(Area("A", ((0, "A"),), values),), ticks=ticks, length=10))
    assert text.split() == ["03:00", "03:05", "now"]
    assert axis.count("┬") == 3
    assert text.index("03:05") == 2 + 19 - 2, "in the middle below its mark, the twentieth column"
    assert axis.index("┬", 3) == 2 + 19
    roomy = drawn(replace(DATA, ticks=((0, "03:00"), (2, "03:06"), (3, "03:08"), (4, "now")), length=4))[-1]
    assert roomy.split() == ["03:00", "03:06", "03:08", "now"]


@pytest.mark.parametrize(
    ("place", "size", "second"),
    [
        ((2, 2), (39, 11), 90.0),  # of 37 columns for four stretches of 90 s the first
        ((2, 1), (39, 11), None),  # the legend has two lines
        ((1, 5), (39, 11), None),  # the axis
        ((38, 10), (39, 11), 450.0),  # the last one also covers later times
        ((21, 2), (39, 11), 270.0),  # 19 * 4 // 37 is 2: the third
        ((2, 1), (39, 8), 90.0),  # below nine lines the legend has one
        ((2, 0), (39, 8), None),
        ((2, 3), (20, 5), 90.0),
        ((2, 3), (19, 5), None),  # nothing is drawn
        ((2, 3), (20, 4), None),
    ],
)
def test_a_click_on_the_plot_names_the_end_of_its_stretch(
    place: tuple[int, int], size: tuple[int, int], second: float | None
) -> None:
    messages: list[Any] = []
    widget: Any = SimpleNamespace(
        _data=replace(DATA, start=0.0, width=90.0), _levels=(), size=size, letters_only=False,
        post_message=messages.append, InstantClicked=Chart.InstantClicked,
    )  # fmt: skip
    Chart.on_click(widget, SimpleNamespace(x=place[0], y=place[1]))  # type: ignore[arg-type]
    assert [each.at.timestamp() for each in messages] == ([] if second is None else [second])
    widget._data = None
    Chart.on_click(widget, SimpleNamespace(x=place[0], y=place[1]))  # type: ignore[arg-type]
    assert len(messages) == (second is not None), "without a chart nothing is named"


def test_full_blocks_on_their_own_colour_are_sent_as_blanks() -> None:
    """A block takes three bytes, a blank one; with equal colours both look the same."""
    line = (("██", "a on a"), ("█", "a"), ("▄▄", "a on b"), ("─", "mark on a"))
    assert chart._ground_only(line) == (("  ", "a on a"), *line[1:])


def test_without_a_capacity_no_line_crosses_the_plot() -> None:
    assert not any("─" in line for line in drawn(replace(DATA, capacity=None))[:-2])
    assert sum("─" in line for line in drawn(DATA)[1:-2]) == 1


def test_the_same_without_colours() -> None:
    lines = drawn(DATA, signs=True)
    assert lines[1] == " A ETL    -  B WEB    -"
    assert lines[3] == " │                            BBBBBBBBB"
    assert lines[-3] == " │AAAAAAAAAAAAAAAAAAA         AAAAAAAAA"


@pytest.mark.parametrize("name", BUILTIN_THEMES)
def test_every_theme_has_a_style_for_each_pair_of_areas(name: str) -> None:
    palette = palette_of(BUILTIN_THEMES[name])
    styles = {palette[area] for area in AREAS}
    assert len({style.color for style in styles}) == len(AREAS), "six colours, of sixteen too"
    for lower in AREAS:
        assert palette[f"mark on {lower}"].bgcolor == palette[lower].color
        for upper in AREAS:
            assert palette[f"{lower} on {upper}"].color == palette[lower].color
            assert palette[f"{lower} on {upper}"].bgcolor == palette[upper].color


@acted
async def test_legend_and_table_show_the_same_figures() -> None:
    async with playing("storm") as (acting, polls):
        await polls(1)
        for _ in range(3):
            await polls(1)
            legend = next(line for line in acting.screen.splitlines() if "CPUs used, 15 min" in line)
            for name in ("BATCH", "ETL", "REPORTS"):
                figure = re.search(rf"■ {name} +([\d.]+)", legend)
                row = next(line for line in acting.screen.splitlines() if line.startswith(f" {name} "))
                assert figure is not None
                assert f"  {figure[1]}  " in row


@acted
async def test_a_chart_is_redrawn_in_its_new_size_after_a_query_of_its_region() -> None:
    """Textual then takes the new regions for the old ones and sends no event of a new size."""
    async with playing("storm", (160, 45)) as (acting, polls):
        await polls(2)
        await acting.keys("slash", "escape")
        assert "02:48 " in acting.screen
        chart = acting.app.query_one("#overview-chart")
        acting.app.query_one("#filter").display = True
        acting.app.screen._compositor._full_map_invalidated = True
        assert chart.region
        await acting.settle()
        assert "02:48 " in acting.screen, "the axis is not cut off"


@acted
async def test_an_empty_chart_leaves_its_space_to_the_other() -> None:
    async with stage(quiet(), size=(160, 45)) as acting:
        screen = await acting.press("2")
        assert "CPUs used, 15 min" in screen
        assert "CPUs waited for" not in screen
        alone = acting.app.query_one("#cpu-used").size.width
        assert alone > 150
        for number in range(1, 20):
            await acting.show(replace(busy(), at=AT + timedelta(seconds=15 * number), number=number + 1))
        assert "CPUs waited for (throttled), 15 min" in acting.screen
        assert acting.app.query_one("#cpu-used").size.width < alone / 2 + 1
        await acting.resize(80, 24)
        assert "CPUs waited for" not in acting.screen
