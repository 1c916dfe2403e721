"""The arithmetic of heat maps: rows, shades, and which poll stands where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presman.analysis.latency.latency_history import NUMBERS, LatencyColumn
from presman.tui.widgets import heat
from presman.tui.widgets.heat import GAP, LEVELS, RAMP, Quantity

numbers = st.lists(st.integers(0, NUMBERS - 1), unique=True, max_size=NUMBERS)


@given(numbers, st.integers(1, 40))
def test_every_bucket_has_exactly_one_row_and_longer_waits_stand_higher(used: list[int], height: int) -> None:
    rows = heat.rows_for(used, height)
    assert 1 <= rows.height <= height
    assert rows.holds(used)
    for number in used:
        assert number in rows.numbers(rows.row_of(number))
    places = [rows.row_of(number) for number in sorted(used)]
    assert places == sorted(places, reverse=True)
    shown = [number for row in range(rows.count) for number in rows.numbers(row)]
    assert len(shown) == len(set(shown))


def test_buckets_share_a_row_only_where_they_must_and_rows_fill_the_height() -> None:
    assert heat.rows_for([5, 20], 16) == heat.BucketRows(5, 16)
    assert heat.rows_for([5, 20], 15) == heat.BucketRows(0, 15, 2)
    assert heat.rows_for(range(NUMBERS), 11).merged == 3
    assert heat.rows_for([8, 12], 19).height == 19, "with buckets above and below that nobody waited in"
    assert heat.rows_for([8, 19], 25) == heat.BucketRows(8, 12, lines=2)
    assert heat.rows_for([], 20) == heat.BucketRows(6, 10, lines=2)
    assert not heat.rows_for([12, 14], 20).holds([30])


@pytest.mark.parametrize(("polls", "span"), [(1, 4), (25, 4), (26, 2), (50, 2), (51, 1), (3600, 1)])
def test_few_polls_are_drawn_wide(polls: int, span: int) -> None:
    assert heat.span_for(polls, 100) == span


def test_the_axis_tells_times_changes_and_where_one_looks() -> None:
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


def test_nothing_and_a_gap_are_no_shade() -> None:
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


def test_a_poll_moves_the_map_only_when_it_is_full_and_then_by_a_fifth() -> None:
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
def test_the_poll_looked_at_is_always_in_the_map(first: int, capacity: int, newest: int, data: st.DataObject) -> None:
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
        values = [luminance(color) for color in colors]
        assert values == sorted(values, reverse=not dark)
        assert len(set(colors)) == (7 if exact else LEVELS)
    cube = {0, 95, 135, 175, 215, 255}
    assert {part for color in heat.shades(quantity, dark=dark, exact=True) for part in color} <= cube


def test_sixteen_colours_have_one_for_each_sign() -> None:
    assert {len(names) for names in heat.ANSI.values()} == {len(RAMP)}


@pytest.mark.parametrize(
    ("throttled", "sign"), [(None, " "), (0.0, " "), (0.1, "▁"), (8.0, "▅"), (15.9, "█"), (40.0, "█")]
)
def test_the_throttle_strip_is_full_at_all_the_cpus_there_are(throttled: float | None, sign: str) -> None:
    assert heat.throttle_glyph(throttled, 16.0) == sign
