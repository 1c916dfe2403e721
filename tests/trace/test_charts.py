"""What charts are made of, and that pictures are well-formed."""

from __future__ import annotations

import random
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presman.trace.tally import HistogramBar, Scatter, Tally, Trail, histogram
from presman.trace.trace_charts import PANEL, SvgChart, decades, histogram_text, scatter_text, svg, title

TIMES = st.lists(st.integers(0, 10**7), min_size=1, max_size=300)


def trail_of(times: list[int], sizes: int, most: int) -> Trail:
    trail = Trail(most)
    for start in range(0, len(times), sizes):
        trail.add(times[start : start + sizes])
    return trail


@given(TIMES, st.integers(1, 90), st.sampled_from([4, 10, 2_000]))
def test_a_trail_is_bounded_and_keeps_what_matters(times: list[int], sizes: int, most: int) -> None:
    scatter = trail_of(times, sizes, most).scatter()
    assert scatter.waits == len(times)
    assert len(scatter.points) <= 2 * most
    assert all(times[number - 1] == time for number, time in scatter.points), "every point is a wait"
    assert max(time for _, time in scatter.points) == max(times)
    assert scatter.points == trail_of(times, len(times), most).scatter().points, "however the waits arrive"
    if scatter.stride == 1:
        assert [time for _, time in scatter.points] == times


def test_the_stride_doubles() -> None:
    scatter = trail_of(list(range(100)), 7, 10).scatter()
    assert scatter.stride == 16
    assert "every 16 waits" in title("x", scatter)


@given(TIMES)
def test_a_histogram_holds_every_wait_in_its_place(times: list[int]) -> None:
    tally = Tally()
    tally.add(times)
    bars = histogram(tally)
    assert sum(bar.waits for bar in bars) == len(times)
    for bar in bars:
        assert bar.waits == sum(bar.low <= time < bar.high for time in times)
    assert [bar.high for bar in bars[:-1]] == [bar.low for bar in bars[1:]]


@given(TIMES, st.lists(st.integers(0, 300), max_size=4))
def test_thinning_at_any_time_loses_no_outlier(times: list[int], moments: list[int]) -> None:
    trail, start = Trail(), 0
    for moment in sorted(min(moment, len(times)) for moment in moments):
        trail.add(times[start:moment])
        trail.thin()
        start = moment
    trail.add(times[start:])
    scatter = trail.scatter()
    assert len(trail) == -(-len(times) // scatter.stride)
    assert scatter.stride == 2 ** len(moments)
    for first in range(0, len(times), scatter.stride):
        part = times[first : first + scatter.stride]
        assert {(first + 1, part[0]), (first + 1 + part.index(max(part)), max(part))} <= set(scatter.points)


def test_no_waits_no_bars() -> None:
    assert histogram(Tally()) == []


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(1, 1, [1, 10]), (368, 501, [100, 1000]), (1000, 1000, [100, 1000]), (5, 2000, [1, 10, 100, 1000, 10000])],
)
def test_decades(low: int, high: int, expected: list[int]) -> None:
    assert decades(low, high) == expected


def test_pictures_are_well_formed_and_show_every_point() -> None:
    chance = random.Random(5)
    times = [chance.randrange(0, 50_000) for _ in range(500)]
    tally = Tally()
    tally.add(times)
    scatter = trail_of(times, 100, 2_000).scatter()
    text = svg([SvgChart('a <b> & "c"', scatter), SvgChart("bars", histogram(tally))])
    root = ElementTree.fromstring(text)
    assert root.get("height") == str(2 * PANEL)
    names = "{http://www.w3.org/2000/svg}"
    (dots,) = (path for path in root.iter(f"{names}path") if path.get("stroke-linecap"))
    assert dots.get("d", "").count("M") == 500
    texts = [element.text or "" for element in root.iter(f"{names}text")]
    assert 'a <b> & "c": each wait' in texts
    assert "100µs" in texts
    rectangles = [float(element.get("height", "0")) for element in root.iter(f"{names}rect")][1:]
    assert len(rectangles) == len(histogram(tally))
    assert max(rectangles) == PANEL - 100


def test_a_single_wait_can_be_drawn() -> None:
    scatter = Scatter([(1, 0)], 1, 1)
    bars = [HistogramBar(0, 1.5, 1)]
    assert svg([SvgChart("x", scatter), SvgChart("x", bars)]).endswith("</svg>\n")
    assert "x: each wait" in scatter_text("x", scatter, width=60, height=12, colour=False)
    assert "100.00 %" in histogram_text("x", bars, width=60)


def test_colour_only_where_wanted() -> None:
    scatter = Scatter([(1, 5), (2, 50)], 2, 1)
    assert "\x1b[" in scatter_text("x", scatter, width=60, height=12, colour=True)
    assert "\x1b" not in scatter_text("x", scatter, width=60, height=12, colour=False)


def test_the_smallest_share_still_shows() -> None:
    lines = histogram_text(
        "x", [HistogramBar(1, 2, 10**6), HistogramBar(2, 3, 1), HistogramBar(3, 4, 0)], width=80
    ).splitlines()
    assert "▏" in lines[2]
    assert "▏" not in lines[3]
