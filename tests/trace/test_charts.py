"""What charts are made of, and that pictures are well-formed."""

from __future__ import annotations

import random
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presman.trace.tally import HistogramBar, Scatter, Tally, Trail, histogram
from presman.trace.trace_report import PANEL, decades, histogram_text, scatter_text, svg, title

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


def test_a_trail_that_is_full_is_thinned_at_once() -> None:
    trail = Trail(4)
    sizes = []
    for time in range(9):
        trail.add([time])
        sizes.append(len(trail))
    assert sizes == [1, 2, 3, 2, 3, 3, 2, 2, 3], "the fourth slot is one too many; then two waits share one, then four"


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
    text = svg([('a <b> & "c"', scatter), ("bars", histogram(tally))])
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
    assert svg([("x", scatter), ("x", bars)]).endswith("</svg>\n")
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


NAMES = "{http://www.w3.org/2000/svg}"


def places_of(root: ElementTree.Element) -> dict[str, tuple[float, float]]:
    """Return where each text of a picture stands."""
    return {
        each.text or "": (float(each.get("x", "0")), float(each.get("y", "0"))) for each in root.iter(f"{NAMES}text")
    }


def test_each_wait_is_drawn_at_its_number_and_time() -> None:
    """Waits 1 to 5 go from 90 to 970, 10 µs to 1 ms from 370 up to 50, each power of ten half of it."""
    root = ElementTree.fromstring(svg([("x", Scatter([(1, 10), (3, 1000), (5, 100)], 5, 1))]))
    dots, *levels = sorted((path.get("d", "") for path in root.iter(f"{NAMES}path")), key=lambda each: -each.count("M"))
    assert dots == "M90.0 370.0h0M530.0 50.0h0M970.0 210.0h0"
    assert sorted(levels) == ["M90 210.0H970", "M90 370.0H970", "M90 50.0H970"]
    assert places_of(root) == {
        "x: each wait": (500, 28), "10µs": (82, 374), "100µs": (82, 214), "1.0ms": (82, 54), "1": (90, 392),
        "2": (310, 392), "3": (530, 392), "4": (750, 392), "5": (970, 392), "wait": (500, 412),
    }  # fmt: skip


def test_each_bar_is_as_high_as_its_share() -> None:
    """1 of 4 waits and 3 of 4: the higher bar takes all 320, each nine tenths of half the width of 880."""
    root = ElementTree.fromstring(svg([("x", [HistogramBar(1, 2, 1), HistogramBar(2, 4, 3)])]))
    _, *bars = root.iter(f"{NAMES}rect")
    sides = [[float(bar.get(name, "0")) for name in ("x", "y", "width", "height")] for bar in bars]
    assert sides == [[90, 263.3, 396, 106.7], [530, 50, 396, 320]]
    assert [bar.findtext(f"{NAMES}title") for bar in bars] == ["1µs to 2µs: 1", "2µs to 4µs: 3"]
    places = places_of(root)
    assert places["x: share of 4 waits by elapsed time"] == (500, 28)
    assert (places["1µs"], places["2µs"], places["from"]) == ((90, 392), (530, 392), (500, 412))
    assert [each for each in places if each.endswith(" %")] == ["0 %", "20 %", "40 %", "60 %"]


def test_at_most_ten_of_many_bars_are_named() -> None:
    bars = [HistogramBar(each, each + 1, 1) for each in range(1, 22)]
    places = places_of(ElementTree.fromstring(svg([("x", bars)])))
    assert [each for each in places if each.endswith("µs")] == ["1µs", "4µs", "7µs", "10µs", "13µs", "16µs", "19µs"]


def test_a_histogram_in_letters() -> None:
    """A third of ten cells are 27 eighths."""
    assert histogram_text("x", [HistogramBar(1, 2, 1), HistogramBar(2, 4, 3)], width=52).splitlines() == [
        "x: waits by elapsed time",
        "     1µs to 2µs      ███▍                1  25.00 %",
        "     2µs to 4µs      ██████████          3  75.00 %",
    ]
    (_, bar) = histogram_text("x", [HistogramBar(1, 2, 1)], width=10).splitlines()
    assert bar.count("█") == 10, "never narrower"
    (_, bar) = histogram_text("x", [HistogramBar(1, 2, 1)], width=72).splitlines()
    assert bar.count("█") == 30


def test_a_chart_in_letters_is_never_smaller_and_has_five_numbers() -> None:
    scatter = Scatter([(1, 10), (3, 1000), (5, 100)], 5, 1)
    lines = scatter_text("x", scatter, width=1, height=1, colour=False).splitlines()
    assert (len(lines), max(map(len, lines)) > 30) == (10, True)
    whole = scatter_text("x", scatter, width=60, height=14, colour=False).splitlines()
    assert len(whole) == 14
    assert whole[-2].split() == ["1", "2", "3", "4", "5"]
    points = {line.partition("┤")[0].strip(): line.index("•") for line in whole if "┤" in line}
    assert list(points) == ["1.0ms", "100µs", "10µs"]
    assert points["10µs"] < points["1.0ms"] < points["100µs"]


def test_a_text_chart_without_a_terminal_has_the_requested_size() -> None:
    lines = scatter_text(
        "x", Scatter([(1, 10), (3, 1000), (5, 100)], 5, 1), width=140, height=40, colour=False
    ).splitlines()
    assert (len(lines), max(map(len, lines))) == (40, 140)
