"""Charts of series: lines, positions of points, labels of axes and tooltips, compared with values by hand."""

from __future__ import annotations

import re
from datetime import datetime

import pytest

from presman.base.markup import WIDTH
from presman.reports.file_series import FileSeries, SeriesPanel
from presman.reports.series_chart import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    ChartScale,
    Point,
    chart_page,
    chart_svg,
    chart_text,
    heading,
    is_nothing,
    largest,
    panel_drawing,
    scale_of,
    segments,
    thinned,
    times,
)

NOON = datetime(2026, 3, 12, 12).astimezone()
BEGIN = NOON.timestamp()


def line(*values: float, every: float = 10.0) -> list[Point]:
    return [(BEGIN + every * n, value) for n, value in enumerate(values)]


def test_the_eight_largest_lines_are_drawn_by_their_sums_whatever_their_sign() -> None:
    series = {f"N{n}": line(float(n)) for n in range(1, 10)} | {"LOW": line(-3.0, -3.5), "NONE": []}
    assert largest(series) == ["N9", "N8", "N7", "LOW", "N6", "N5", "N4", "N3"]
    assert largest({"B": line(1.0), "A": line(1.0)}) == ["A", "B"]
    assert heading(SeriesPanel("cpu", series)) == "cpu, the 8 largest of 10"
    assert heading(SeriesPanel("cpu", {"A": line(1.0), "NONE": []})) == "cpu"


def test_a_line_is_broken_beyond_three_times_the_usual_distance() -> None:
    points = [(0.0, 1.0), (10.0, 1.0), (20.0, 1.0), (50.0, 1.0), (60.0, 1.0), (90.1, 1.0)]
    assert [[at for at, _ in piece] for piece in segments(points)] == [[0, 10, 20, 50, 60], [90.1]]
    assert segments(points[:1]) == [points[:1]]


def test_each_period_keeps_its_minimum_and_maximum() -> None:
    """Two periods of ten seconds; the last one includes the instant at its end."""
    points = [(0.0, 5.0), (2.0, 1.0), (4.0, 9.0), (9.9, 5.0), (10.0, 7.0), (15.0, 7.0), (20.0, 8.0)]
    assert thinned(points, 0.0, 20.0, 2) == [(2.0, 1.0), (4.0, 9.0), (10.0, 7.0), (20.0, 8.0)]
    assert thinned(points[:4], 0.0, 20.0, 2) == points[:4], "no more than two for each period"
    assert thinned(points, 5.0, 5.0, 2) == points


def test_a_point_is_in_proportion() -> None:
    scale = ChartScale(100.0, 300.0, [-10.0, 0.0, 10.0, 30.0])
    assert (scale.levels[0], scale.levels[-1]) == (-10.0, 30.0)
    assert [scale.across(at) for at in (100.0, 150.0, 300.0)] == [
        LEFT,
        LEFT + (WIDTH - LEFT - RIGHT) / 4,
        WIDTH - RIGHT,
    ]
    assert [scale.up(value) for value in (-10.0, 0.0, 30.0)] == [
        HEIGHT - BOTTOM, HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) / 4, TOP,
    ]  # fmt: skip
    assert ChartScale(100.0, 100.0, [0.0, 1.0]).across(100.0) == LEFT, "of one instant"


def test_a_scale_holds_what_is_drawn() -> None:
    found = scale_of(SeriesPanel("cpu", {"A": line(1.0, 8.0), "B": line(-1.0, 2.0, 3.0)}))
    assert (found.start, found.end) == (BEGIN, BEGIN + 20)
    assert (found.levels[0], found.levels[-1]) == (-2.5, 10.0), "some four steps of 2.25 or more: 2.5"
    assert is_nothing(SeriesPanel("cpu", {"A": line(0.0, 0.0), "B": []}))
    assert not is_nothing(SeriesPanel("cpu", {"A": line(0.0, -1.0)}))


def test_times_at_the_axis_are_round() -> None:
    assert list(times(ChartScale(BEGIN + 1, BEGIN + 61, [0, 1]), 4).values()) == [
        "12:00:15",
        "12:00:30",
        "12:00:45",
        "12:01:00",
    ]
    assert times(ChartScale(BEGIN + 1, BEGIN + 1, [0, 1]), 8) == {BEGIN + 1: "12:00:01"}
    odd = ChartScale(BEGIN + 0.25, BEGIN + 0.5, [0, 1])
    assert times(odd, 8) == {BEGIN + 0.25: "12:00:00"}


def test_a_drawing_has_a_path_for_each_line_and_its_legend_below() -> None:
    """880 units are 20 s, 44 a second; 320 units are 4, 80 each. A gap of 3 times the usual distance is still drawn."""
    a, b = [(BEGIN, 0.0), (BEGIN + 2, 4.0), (BEGIN + 4, 2.0), (BEGIN + 12, 1.0), (BEGIN + 14, 1.0)], [(BEGIN + 20, 3.0)]
    names = ["A", "B", *"CDEF"]
    drawn = "".join(panel_drawing(SeriesPanel("cpu", dict(zip(names, [a, b, *([[(BEGIN, 0.5)]] * 4)], strict=True)))))
    paths = dict(re.findall(r'<path d="([^"]*)" fill="none"[^>]*><title>(\w)<', drawn))
    assert {name: path for path, name in paths.items()} == {
        "A": "M80.0 370.0h0L168.0 50.0L256.0 210.0M608.0 290.0h0L696.0 290.0", "B": "M960.0 130.0h0",
        "F": "M80.0 330.0h0",
    }  # fmt: skip
    assert re.findall(r'<rect x="(\d+)" y="(\d+)" width="12" height="12"', drawn) == [
        ("80", "410"), ("380", "410"), ("680", "410"), ("80", "430"), ("380", "430"), ("680", "430"),
    ]  # fmt: skip
    assert re.findall(r'<text x="(\d+)" y="(\d+)"[^>]*>([ABF])<', drawn) == [
        ("98", "420", "A"), ("398", "420", "B"), ("698", "440", "F"),
    ]  # fmt: skip
    assert re.findall(r'<text x="72" y="([^"]*)"[^>]*>([^<]*)<', drawn) == [
        ("374", "0"), ("294", "1"), ("214", "2"), ("134", "3"), ("54", "4"),
    ]  # fmt: skip
    assert re.findall(r'<text x="([^"]*)" y="390"[^>]*>([^<]*)<', drawn)[:2] == [
        ("80", "12:00:00"),
        ("300", "12:00:05"),
    ]
    assert '<text x="500" y="28" text-anchor="middle" fill="#57606a" font-size="16">cpu</text>' in drawn


def test_pictures_are_stacked() -> None:
    panel = SeriesPanel("cpu", {"A": line(1.0, 2.0)})
    drawn = chart_svg([panel, panel])
    assert f'viewBox="0 0 1000 {2 * HEIGHT}"' in drawn
    assert f"translate(0 {HEIGHT})" in drawn


def page(*points: list[Point]) -> str:
    panel = SeriesPanel("cpu", dict(zip("AB", points, strict=False)))
    return chart_page("a.csv", FileSeries("cpu", (panel,), ("cut",)), NOON)


def test_a_page_shows_the_values_of_each_period_under_the_mouse() -> None:
    """Three instants make three periods of 880 / 3 units; the second line has no value in the first two."""
    found = re.findall(r'<rect x="([^"]*)" y="50" width="([^"]*)" height="320" class="hover"><title>([^<]*)<',
                       page(line(1.0, 2.5, 4.0), [(BEGIN + 20, 8.0)]))  # fmt: skip
    assert found == [
        ("80", "293.3", "2026-03-12 12:00:00\nA: 1.00"),
        ("373.3", "293.3", "2026-03-12 12:00:10\nA: 2.50"),
        ("666.7", "293.3", "2026-03-12 12:00:20\nB: 8.00\nA: 4.00"),
    ]


def test_both_ends_of_a_period_with_two_polls_are_shown() -> None:
    """Two of three instants are in the first third."""
    titles = re.findall('class="hover"><title>([^<]*)<', page([(BEGIN, 1.0), (BEGIN + 1, 3.0), (BEGIN + 30, 2.0)]))
    assert titles == [
        "2026-03-12 12:00:00 to 2026-03-12 12:00:01, 2 polls\nA: 1.00 to 3.00", "2026-03-12 12:00:30\nA: 2.00",
    ]  # fmt: skip


def test_a_page_names_its_file_and_the_number_of_values() -> None:
    found = page(line(1.0, 2.0), line(3.0, 4.0, 5.0))
    assert "<p>Measure cpu; drawn: cpu.</p>" in found
    assert "<p>2026-03-12 12:00:00 to 2026-03-12 12:00:20, 3 times with a value.</p>" in found
    wide = chart_page("a.csv", FileSeries("", (SeriesPanel("x", {"A": line(0.0)}),), ()), NOON)
    assert "<p>A column for each group; drawn: x.</p>" in wide
    assert '<p class="none"><strong>x:</strong> none.</p>' in wide


def grid(panel: SeriesPanel, **more: int) -> list[str]:
    return chart_text(panel, **{"width": 60, "height": 12, "colour": False, **more}).splitlines()  # type: ignore[arg-type]


def test_a_chart_in_text_has_a_letter_for_each_line_and_round_ticks() -> None:
    lines = grid(SeriesPanel("cpu", {"BATCH": line(0.0, 4.0, 0.0), "ETL": line(1.0, 1.0, 1.0)}))
    assert len(lines) == 12
    assert max(map(len, lines)) <= 60
    assert lines[0].strip() == "cpu"
    assert [found[0] for each in lines if (found := re.findall(r"^ *(\d+)┤", each))] == ["4", "3", "2", "1", "0"]
    assert lines[-1].split() == ["12:00:00", "12:00:05", "12:00:10", "12:00:15", "12:00:20"]
    text = "\n".join(lines)
    assert text.count("aa BATCH") == text.count("bb ETL") == 1
    assert len(grid(SeriesPanel("cpu", {"A": line(1.0)}), width=9, height=9)) == 12
    assert grid(SeriesPanel("x", {"A": line(0.0)})) == ["x: none"]
    assert max(map(len, grid(SeriesPanel("cpu", {"A": line(1.0, 2.0)}), width=9))) == 40


@pytest.mark.parametrize(("width", "step"), [(40, 60), (56, 30), (140, 15)])
def test_a_wider_chart_has_more_times(width: int, step: int) -> None:
    """One for each 14 cells of 120 s, at least 2 and at most 8: 2, 4 and 8 steps; all without a terminal."""
    ticks = grid(SeriesPanel("cpu", {"A": line(1.0, 2.0, every=120.0)}), width=width)[-1].split()
    assert ticks == [f"12:0{at // 60}:{at % 60:02}" for at in range(0, 121, step)]


def test_a_line_with_a_gap_has_one_name() -> None:
    points = [*line(1.0, 2.0, 1.0, 2.0), (BEGIN + 500, 1.0), (BEGIN + 510, 2.0)]
    assert sum("aa A" in each for each in grid(SeriesPanel("cpu", {"A": points}))) == 1


def test_in_colour_lines_are_dots() -> None:
    drawn = chart_text(SeriesPanel("cpu", {"A": line(1.0, 2.0)}), width=60, height=12, colour=True)
    assert "\x1b[38;2;" in drawn
    assert re.search("[\u2801-\u28ff]", drawn)
