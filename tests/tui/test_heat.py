"""The arithmetic of heat maps: rows, shades, and the poll of each column."""

from __future__ import annotations

from colorsys import rgb_to_hls
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.theme import BUILTIN_THEMES

from presman.analysis.latency.latency_history import NUMBERS, LatencyColumn
from presman.tui.widgets import heat
from presman.tui.widgets.heat import GAP, LEVELS, RAMP, Quantity
from presman.tui.widgets.heatmap import HeatMap
from tests.tui.test_colours import SIGHT, apart

numbers = st.lists(st.integers(0, NUMBERS - 1), unique=True, max_size=NUMBERS)


@given(numbers, st.integers(1, 40))
def test_every_bucket_has_one_row_and_longer_waits_are_higher(used: list[int], height: int) -> None:
    rows = heat.rows_for(used, height)
    assert 1 <= rows.height <= height
    assert all(0 <= rows.row_of(number) < rows.count for number in used)
    for number in used:
        assert number in rows.numbers(rows.row_of(number))
    places = [rows.row_of(number) for number in sorted(used)]
    assert places == sorted(places, reverse=True)
    shown = [number for row in range(rows.count) for number in rows.numbers(row)]
    assert len(shown) == len(set(shown))


def test_buckets_share_rows_only_if_necessary() -> None:
    assert heat.rows_for([5, 20], 16) == heat.BucketRows(5, 16)
    assert heat.rows_for([5, 20], 15) == heat.BucketRows(0, 15, 2)
    assert heat.rows_for(range(NUMBERS), 11).merged == 3
    assert heat.rows_for([8, 12], 19).height == 19, "with empty buckets above and below"
    assert heat.rows_for([8, 19], 25) == heat.BucketRows(8, 12, lines=2)
    assert heat.rows_for([], 20) == heat.BucketRows(6, 10, lines=2)
    rows = heat.rows_for([12, 14], 20)
    assert not 0 <= rows.row_of(30) < rows.count


@pytest.mark.parametrize(("polls", "span"), [(1, 4), (25, 4), (26, 2), (50, 2), (51, 1), (3600, 1)])
def test_few_polls_are_drawn_wide(polls: int, span: int) -> None:
    assert heat.span_for(polls, 100) == span


def test_the_axis_shows_times_changes_and_the_cursor() -> None:
    columns = [LatencyColumn(2.0 * number, 2.0, {}, None, None) for number in range(40)]
    data = heat.HeatData(columns, 100, {}, 16, 103, "x", 0, ((107, "NIGHT_PLAN (WINDOW)"), (5, "long gone")))
    text = heat.axis_text(data, 100, 50, 2)
    assert len(text) == 100
    assert text.index("▲") == 2 * 3
    assert text.index("┆NIGHT_PLAN (WINDOW) ") == 2 * 7
    assert "long gone" not in text
    assert [number for number in range(100, 140) if text[2 * (number - 100)] == "╷"] == [104, 120, 128, 136]


@given(st.floats(1e-9, 1e12))
def test_the_strongest_shade_is_a_round_figure_just_above(value: float) -> None:
    top = heat.nice_top(value)
    assert value <= top * 1.00001
    assert top <= value * 3.4
    assert heat.level(value, top) >= LEVELS - 3


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_more_is_never_fainter(one: float, other: float) -> None:
    top = heat.nice_top(max(one, other))
    low, high = sorted((one, other))
    assert 1 <= heat.level(low, top) <= heat.level(high, top) <= LEVELS


def test_zero_and_a_gap_have_no_shade() -> None:
    assert heat.level(0, 10) == 0
    assert heat.glyph(0) == " "
    assert heat.glyph(GAP) == "╎"
    assert "".join(dict.fromkeys(heat.glyph(shade) for shade in range(1, LEVELS + 1))) == RAMP


def test_rates_are_per_second_of_the_columns_own_interval_and_bounds() -> None:
    column = LatencyColumn(0.0, 4.0, {10: 8, 12: 2}, None, None)
    assert heat.rates(column, Quantity.FREQUENCY, {}) == {10: 2.0, 12: 0.5}
    assert heat.rates(column, Quantity.INTENSITY, {10: 1000, 12: 4000}) == pytest.approx({10: 0.0015, 12: 0.0015})
    assert heat.rates(column, Quantity.INTENSITY, {})[10] == pytest.approx(0.75 * 1024 * 8 / 4e6)
    assert heat.rates(LatencyColumn(0.0, None, {}, None, None), Quantity.FREQUENCY, {}) == {}


def test_a_full_map_moves_by_a_fifth() -> None:
    left, moves = 0, 0
    for newest in range(1000):
        now = heat.anchor(left, 100, newest, None, 0)
        moves += now != left
        assert now <= newest < now + 100
        if now != left:
            assert newest - now == 79
        left = now
    assert moves == len(range(100, 1000, 21))


@given(st.integers(0, 500), st.integers(10, 200), st.integers(0, 600), st.data())
def test_the_selected_poll_is_always_in_the_map(first: int, capacity: int, newest: int, data: st.DataObject) -> None:
    oldest = data.draw(st.integers(0, newest))
    cursor = data.draw(st.none() | st.integers(oldest, newest))
    left = heat.anchor(first, capacity, newest, cursor, oldest)
    assert oldest <= left <= (newest if cursor is None else cursor) < left + capacity


@pytest.mark.parametrize("quantity", Quantity)
@pytest.mark.parametrize("dark", [True, False])
def test_shades_go_one_way_from_the_ground(quantity: Quantity, dark: bool) -> None:
    def luminance(color: tuple[int, int, int]) -> float:
        return 0.2126 * color[0] + 0.7152 * color[1] + 0.0722 * color[2]

    for exact in (True, False):
        colors = heat.shades(quantity, dark=dark, exact=exact)
        assert len(colors) == LEVELS
        assert all(0 <= part <= 255 for color in colors for part in color)
        values = [luminance(color) for color in colors]
        assert values == sorted(values, reverse=not dark)
        assert len(set(colors)) == (7 if exact else LEVELS)
    cube = {0, 95, 135, 175, 215, 255}
    assert {part for color in heat.shades(quantity, dark=dark, exact=True) for part in color} <= cube


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("dark", [True, False])
def test_waits_are_blue_time_is_red_to_yellow_and_shades_are_even(dark: bool, sight: str) -> None:
    """A difference of 2.3 can just be noticed; no step is above twice the average."""
    for quantity in Quantity:
        colors = heat.shades(quantity, dark=dark, exact=False)
        steps = [apart(one, other, sight) for one, other in pairwise(colors)]
        assert min(steps) > 2.3
        assert max(steps) < 2 * sum(steps) / len(steps)
        hues = {round(rgb_to_hls(*(part / 255 for part in color))[0] * 360) for color in colors}
        blue, warm = set(range(195, 230)), {*range(60), *range(350, 361)}
        assert hues <= (blue if quantity is Quantity.FREQUENCY else warm)


def test_sixteen_colours_have_a_colour_for_each_sign() -> None:
    assert {len(names) for names in heat.ANSI.values()} == {len(RAMP)}


@pytest.mark.parametrize(
    ("throttled", "sign"), [(None, " "), (0.0, " "), (0.1, "▁"), (8.0, "▅"), (15.9, "█"), (40.0, "█")]
)
def test_the_throttle_strip_is_full_at_all_cpus(throttled: float | None, sign: str) -> None:
    assert heat.throttle_glyph(throttled, 16.0) == sign


def heat_data(*counts: dict[int, int] | None, first: int = 100, **facts: Any) -> heat.HeatData:
    """Polls two seconds apart with so many waits by bucket, None for one without a delta."""
    columns = [
        LatencyColumn(2.0 * n, None if each is None else 2.0, each or {}, None, None) for n, each in enumerate(counts)
    ]
    given: dict[str, Any] = {"bounds": {}, "cpus": 8.0, "cursor": None, "event": "x", "inst_id": 0}
    return heat.HeatData(columns, first, **(given | facts))


def cells(data: heat.HeatData, width: int = heat.GUTTER + 20, height: int = 13) -> heat.HeatCells:
    """A map of 20 cells and ten lines of rows."""
    return heat.HeatCells(Quantity.FREQUENCY, data, width, height)


def levels(found: heat.HeatCells) -> dict[int, list[int]]:
    """The shades of the rows in which anything is."""
    return {row: own for row, own in enumerate(found.levels) if set(own) - {0, heat.EMPTY}}


def test_a_map_has_a_column_for_each_poll_and_a_row_for_each_bucket() -> None:
    """20 waits in 2 s are 10 a second, the strongest; 2 are a tenth: three quarters of four decades, level 12 of 15."""
    found = cells(heat_data({10: 20, 12: 2}, None, {10: 2}))
    assert (found.span, found.capacity, found.newest, found.top) == (4, 5, 102, 10.0)
    # 10 to 12 in the midst of ten rows: three above and four below.
    assert found.rows == heat.BucketRows(6, 10)
    gap = {row: [0, GAP, 0, heat.EMPTY, heat.EMPTY] for row in range(10)}
    assert levels(found) == gap | {
        3: [12, GAP, 0, heat.EMPTY, heat.EMPTY], 5: [15, GAP, 12, heat.EMPTY, heat.EMPTY],
    }  # fmt: skip
    signs = [heat.glyph(shade) for shade in range(heat.MARK + 1)]
    assert len(found.lines(signs, None)) == 10 + heat.STRIP + heat.AXIS
    tall = cells(heat_data({10: 20}), height=3 + 20)
    lines = tall.lines(signs, None)
    assert (tall.rows.lines, len(lines)) == (2, 20 + heat.STRIP + heat.AXIS)
    assert [line[0] for line in lines[6:8]] == [("  <2.0ms ", "dim"), (" " * heat.GUTTER, "dim")], "it is labelled once"


@pytest.mark.parametrize(
    ("counts", "left"), [([{10: 20}] * 19, 0), ([{10: 20}] * 20, 0), ([{10: 20}] * 21, 5), ([{10: 20}] * 24, 8)]
)
def test_a_map_moves_only_when_it_is_full(counts: list[dict[int, int] | None], left: int) -> None:
    """Twenty polls of a cell each fit; one more, and it moves by a fifth of them."""
    data = heat_data(*counts, first=0)
    found = heat.HeatCells(Quantity.FREQUENCY, data, heat.GUTTER + 20, 13)
    assert found.left == left
    assert heat.HeatCells(Quantity.FREQUENCY, data, heat.GUTTER + 20, 13, before=4).left == (
        4 if len(counts) > 4 else 0
    )


def test_the_throttle_below_the_rows_is_drawn_with_its_poll() -> None:
    data = heat_data({10: 20}, {})
    data.columns[1] = data.columns[1]._replace(throttled=4.0)  # type: ignore[index]
    signs = [heat.glyph(shade) for shade in range(heat.MARK + 1)]
    assert cells(data).lines(signs, None)[-2] == (("throttle ", "dim"), ("    ▅▅▅▅", "waiting"))


def test_a_mark_is_drawn_in_empty_cells() -> None:
    found = cells(heat_data({10: 20}, {10: 20}, marks=((100, "DAY"), (103, "NIGHT"), (99, "OLD"), (105, "LATE"))))
    assert found.levels[4] == [15, 15, heat.EMPTY, heat.MARK, heat.EMPTY]
    assert found.levels[5] == [heat.MARK, 0, heat.EMPTY, heat.MARK, heat.EMPTY]
    assert cells(heat_data({10: 20})).levels[5] == [0] + [heat.EMPTY] * 4


def test_a_bucket_of_a_poll_maps_to_a_cell_and_back() -> None:
    found = cells(heat_data({10: 20}, {10: 20}, {10: 20}))
    assert found.rows == heat.BucketRows(5, 10)
    assert (found.cell_of(10), found.cell_of(14), found.cell_of(5)) == ((2, 4), (2, 0), (2, 9))
    assert (found.cell_of(15), found.cell_of(4)) == (None, None)
    back = cells(heat_data({10: 20}, {10: 20}, {10: 20}, cursor=101))
    assert back.cell_of(10) == (1, 4)
    signs = [heat.glyph(shade) for shade in range(heat.MARK + 1)]
    read = back.lines(signs, (1, 4))
    assert read[4][1:4] == (("████", "shade 15"), ("████", "cursor"), ("████", "shade 15"))
    assert read[:4] == back.lines(signs, None)[:4]
    assert back.lines(signs, (1, 9))[9][2] == ("◇   ", "cursor"), "in an empty cell the cursor has its own sign"
    assert [back.at(heat.GUTTER + x, 5) for x in (0, 3, 4, 11, 19)] == [(10, -1), (10, -1), (10, 0), (10, 1), (10, 1)]
    assert [back.at(heat.GUTTER, y) for y in (0, 1, 10, 11)] == [None, (14, -1), (5, -1), None]
    assert back.at(heat.GUTTER - 1, 5) is None
    assert found.at(heat.GUTTER, 5) == (10, -2)


def test_all_shown_maps_have_the_rows_of_the_lowest() -> None:
    assert heat.room_for(heat_data({}, height=13), 20) == 10
    assert heat.room_for(heat_data({}, height=30), 20) == 17


def test_signs_replace_shades_without_colours() -> None:
    theme = BUILTIN_THEMES["textual-dark"]
    for mode in ("truecolor", "256"):
        palette, signs = heat.paints(Quantity.FREQUENCY, theme, mode)
        assert signs == [" "] * GAP + ["╎", " ", "┆"]
        colours = [palette[name].bgcolor for _, name in heat.legend(signs)]
        assert [tuple(each.triplet) for each in colours if each and each.triplet] == list(
            heat.shades(Quantity.FREQUENCY, dark=True, exact=mode == "256")
        )
    palette, signs = heat.paints(Quantity.INTENSITY, theme, "16")
    assert "".join(signs) == " ···░░░▒▒▒▓▓▓███╎ ┆"
    found = [palette[name].color for _, name in heat.legend(signs)[::3]]
    assert [color.name if color else "" for color in found] == list(heat.ANSI[Quantity.INTENSITY])
    palette, signs = heat.paints(Quantity.INTENSITY, theme, "mono")
    assert {palette[name] for _, name in heat.legend(signs)} == {palette[""]}


def heat_map(bucket: int | None, found: heat.HeatCells | None) -> tuple[Any, list[HeatMap.Read]]:
    """Return a map with its cursor on a bucket, and the list of its requests."""
    asked: list[HeatMap.Read] = []
    return SimpleNamespace(bucket=bucket, _cells=found, post_message=asked.append, Read=HeatMap.Read), asked


@pytest.mark.parametrize(
    ("bucket", "direction", "read"), [(10, 1, 11), (10, -1, 9), (15, 1, 15), (6, -1, 6), (None, 1, 7), (None, -1, 6)]
)
def test_up_reads_longer_waits_and_down_shorter_ones(bucket: int | None, direction: int, read: int) -> None:
    """Ten rows, of the buckets 6 to 15."""
    widget, asked = heat_map(bucket, cells(heat_data({10: 20, 12: 2})))
    HeatMap.action_bucket(widget, direction)
    assert [(each.number, each.steps) for each in asked] == [(read, 0)]
    widget._cells = None
    HeatMap.action_bucket(widget, direction)
    assert len(asked) == 1, "nothing is drawn yet"


def test_buckets_that_share_a_row_are_read_together() -> None:
    """Eleven lines of rows for 33 buckets: three a row."""
    widget, asked = heat_map(7, cells(heat_data({0: 1, NUMBERS - 1: 1}), height=14))
    assert HeatMap.row_numbers(widget, 7) == range(6, 9)
    HeatMap.action_bucket(widget, 1)
    assert [each.number for each in asked] == [9]
    alone, _ = heat_map(7, None)
    assert HeatMap.row_numbers(alone, 7) == range(7, 8)
    narrow, _ = heat_map(7, cells(heat_data({10: 20, 12: 2})))
    assert [HeatMap.row_numbers(narrow, each) for each in (5, 6, 15, 16)] == [
        range(5, 6), range(6, 7), range(15, 16), range(16, 17),
    ]  # fmt: skip


def test_a_click_reads_its_cell_but_none_outside_the_map() -> None:
    widget, asked = heat_map(10, cells(heat_data({10: 20}, {10: 20}, {10: 20})))
    HeatMap.on_click(widget, SimpleNamespace(x=heat.GUTTER, y=5))  # type: ignore[arg-type]
    HeatMap.on_click(widget, SimpleNamespace(x=heat.GUTTER - 1, y=5))  # type: ignore[arg-type]
    assert [(each.number, each.steps) for each in asked] == [(10, -2)]
