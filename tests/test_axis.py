"""Axes: each tick is at the position of its label, on every kind of drawing and in the terminal."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from defusedxml.ElementTree import fromstring
from hypothesis import given
from hypothesis import strategies as st

from presman.base.axis import nice_axis, tick_label, time_label, time_ticks
from presman.recording.reader import Recording
from presman.reports.file_series import read_series
from presman.reports.report.incident import gather
from presman.reports.report.incident_page import incident_page
from presman.reports.series_chart import chart_page, chart_svg, chart_text
from presman.trace.tally import HistogramBar
from presman.trace.trace_report import svg
from presman.tui.widgets.gantt import GanttData, columns, gantt, label_width
from tests.recording.recorded import START, polled, record

_UNITS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_VALUE = re.compile(r"(-?[\d.]+(?:e[+-]?\d+)?)([kMGT]?)(?: .*)?")
_PAPER = 8.4
"""How wide a letter is in a chart on paper, at most, in units of the drawing: 14 px."""

SVG = "{http://www.w3.org/2000/svg}"


def value_of(label: str) -> float:
    found = _VALUE.fullmatch(label)
    assert found, label
    return float(found[1]) * _UNITS[found[2]]


@given(
    st.floats(1e-6, 1e13),
    st.floats(-1e13, -1e-6) | st.just(0.0),
    st.integers(1, 8),
)
def test_ticks_hold_all_and_their_labels_are_exact(highest: float, lowest: float, steps: int) -> None:
    top, ticks = nice_axis(highest, steps, lowest)
    assert ticks[-1] == pytest.approx(top)
    assert ticks[0] <= lowest * 0.999
    assert highest * 0.998 <= top
    assert 0.0 in ticks
    assert len(ticks) <= steps + 3
    distances = [after - before for before, after in pairwise(ticks)]
    assert distances == pytest.approx([distances[0]] * len(distances))
    assert [value_of(tick_label(tick)) for tick in ticks] == pytest.approx(ticks, rel=1e-9)


def test_an_axis_to_three_has_short_labels() -> None:
    """It was 0, 0.8, 1.5, 2.2, 3 for 0, 0.75, 1.5, 2.25, 3."""
    assert [tick_label(tick) for tick in nice_axis(3, 4)[1]] == ["0", "1", "2", "3"]
    assert [tick_label(tick) for tick in nice_axis(3, 6)[1]] == ["0", "0.5", "1", "1.5", "2", "2.5", "3"]


@pytest.mark.parametrize("highest", [1, 2, 3, 7, 20, 81, 1234])
def test_counts_have_whole_ticks(highest: int) -> None:
    """One queued statement had ticks at 0.4 and 0.8."""
    top, ticks = nice_axis(highest, 3, whole=True)
    assert all(tick.is_integer() for tick in ticks)
    assert ticks[0] == 0
    assert ticks[-1] == top >= highest
    assert len(ticks) <= 5


@given(st.integers(0, 10**7), st.integers(1, 10**7), st.integers(2, 9))
def test_times_are_those_of_their_labels(start: int, seconds: int, most: int) -> None:
    begin = START + timedelta(seconds=start + 0.25)
    end = begin + timedelta(seconds=seconds)
    ticks = time_ticks(begin, end, most)
    assert len(ticks) <= most + 1
    assert all(begin <= tick <= end for tick in ticks)
    for tick in ticks:
        local = tick.astimezone()
        label = time_label(tick, seconds)
        form = {8: "%H:%M:%S", 5: "%m-%d" if "-" in label else "%H:%M", 11: "%m-%d %H:%M"}[len(label)]
        again = datetime.strptime(f"{local.year} {label}", f"%Y {form}")
        whole = {"%H:%M:%S", "%H:%M"}
        kept = again.time() == local.time().replace(tzinfo=None)
        assert kept
        assert form in whole or (again.month, again.day) == (local.month, local.day)


def sides(text: str) -> list[list[tuple[float, float]]]:
    """Return (height, value) of the labels at the left of each drawing."""
    found = []
    for drawing in fromstring(text).iter(f"{SVG}g" if "<g" in text else f"{SVG}svg"):
        own = [each for each in drawing.iter(f"{SVG}text") if each.get("text-anchor") == "end"]
        if own:
            found.append([(float(each.get("y", "0")), value_of((each.text or "").removesuffix(" %"))) for each in own])
    return found


def assert_even(points: list[tuple[float, float]]) -> None:
    """The heights and the values of labels grow alike."""
    (low, first), (high, last) = points[0], points[-1]
    assert len(points) > 1
    assert low != high
    for y, value in points:
        assert (value - first) / (last - first) == pytest.approx((y - low) / (high - low), abs=2e-3)


def written(folder: Path, *values: float) -> Path:
    path = folder / "a.csv"
    rows = [f"2026-11-22T12:{place:02}:07+00:00,{value}" for place, value in enumerate(values)]
    path.write_text("\n".join(["DATETIME,BATCH", *rows]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("highest", [0.07, 3, 17, 1333, 86_400, 7.7e6])
def test_a_chart_of_a_file(highest: float, tmp_path: Path) -> None:
    panels = read_series(written(tmp_path, 0.0, highest, -highest / 4, highest / 2)).panels
    for points in sides(chart_svg(panels)):
        assert_even(points)
    lines = chart_text(panels[0], width=90, height=30, colour=False).splitlines()
    labelled = [(float(place), value_of(line.split("┤")[0].strip())) for place, line in enumerate(lines) if "┤" in line]
    (low, first), (high, last) = labelled[0], labelled[-1]
    assert len(labelled) > 2
    for place, value in labelled:
        assert abs((value - first) / (last - first) * (high - low) - (place - low)) <= 1, "within a line"


def test_a_chart_of_nothing_is_a_line(tmp_path: Path) -> None:
    found = read_series(written(tmp_path, 0.0, 0.0))
    assert chart_text(found.panels[0], width=90, height=30, colour=False).endswith(": none")
    page = chart_page("a.csv", found, START)
    assert "<svg" not in page
    assert "none." in page


def test_bars_of_a_trace() -> None:
    bars = [HistogramBar(1, 2, 7), HistogramBar(2, 4, 26), HistogramBar(4, 8, 5)]
    (points,) = sides(svg([("log file sync", bars)]))
    assert_even(points)


def test_charts_of_a_report_and_a_line_for_no_values(tmp_path: Path) -> None:
    """`queueing` has no group whose I/O or CPU is limited: nothing waits for CPU."""
    record(tmp_path / "a.presman", list(polled("queueing", 30)))
    with Recording(str(tmp_path / "a.presman")) as recording:
        playback = recording.playback()
        incident = gather(recording, playback, playback.indexes())
    text = incident_page(incident, START)
    waited = sum(each.waiting or 0.0 for each in incident.groups)
    assert waited == 0
    assert "<strong>CPUs waited for (throttled):</strong> none." in text
    page = fromstring(text.removeprefix("<!DOCTYPE html>\n"))
    charts = {each.get("aria-label"): each for each in page.iter("svg") if each.get("aria-label")}
    assert "CPUs waited for (throttled)" not in charts
    assert "Parallel servers" in charts
    for title in ("CPUs used", "Parallel servers", "Statements in the parallel queue", "I/O"):
        if title in charts:
            own = [each for each in charts[title].iter("text") if each.get("text-anchor") == "end"]
            assert_even([(float(each.get("y", "0")), value_of(each.text or "")) for each in own])
            assert all(_PAPER * len(each.text or "") <= float(each.get("x", "0")) for each in own), "cut off on paper"


@pytest.mark.parametrize("seconds", [300.0, 900.0, 3600.0])
@pytest.mark.parametrize("width", [60, 120, 200])
def test_times_of_the_gantt_are_at_their_places(width: int, seconds: float) -> None:
    end = START.replace(second=40)
    line = "".join(text for text, _ in gantt(GanttData((), end, seconds, (), None), width, 10)[-1])
    axis = line[label_width(width) + 1 :]
    found = [(each.start(), each[0]) for each in re.finditer(r"\d\d:\d\d", axis)]
    assert len(found) >= 2
    for place, label in found:
        at = end - timedelta(seconds=seconds * (1 - place / columns(width)))
        begun = at.replace(second=0, microsecond=0)
        minutes = [begun + timedelta(minutes=number) for number in range(3)]
        within = [each for each in minutes if -0.001 < (each - at).total_seconds() < seconds / columns(width) + 0.001]
        assert label in {each.astimezone().strftime("%H:%M") for each in within}
