"""Page of `presman compare`: well-formed, loads nothing, escapes all, and has the figures of the text."""

from __future__ import annotations

import re
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from defusedxml.ElementTree import fromstring

from presman.base.colours import HUES, OTHERS
from presman.reports.compare.compare_page import _bar, compare_page, latency_chart
from presman.reports.compare.compare_text import compare_text, value_of
from presman.reports.compare.comparison import ComparedWindow, ComparedWindows, Line, PlanDifference, histograms, lines
from presman.reports.compare.noise import METHOD, Judgement, Value
from presman.reports.compare.window_figures import CPU, FigureKey
from tests.recording.recorded import START
from tests.reports.compare.test_comparison import TEN_MINUTES, THREE_HOURS, figures

HOSTILE = "<script>alert(1)</script>\"'&]]><img src=x onerror=alert(2)>"


def test_published_runs_side_by_side_as_a_page() -> None:
    event = "log file parallel write"
    key = FigureKey(CPU, HOSTILE, "used CPUs")
    one, other = (
        figures(histograms={event: [each]}, series={key: [Value(used, 1.0)]})
        for each, used in ((TEN_MINUTES, 3.0), (THREE_HOURS, 1.5))
    )
    windows = [
        ComparedWindow("slob.presman", HOSTILE, START, START + timedelta(minutes=each), 120, "P", (HOSTILE,))
        for each in (10, 180)
    ]
    plan = (PlanDifference(HOSTILE, "limit_cpus", None, 4.0),)
    found = ComparedWindows(windows[0], windows[1], plan, lines(one, other), histograms(one, other), (HOSTILE,), METHOD)
    page = compare_page(found, START)
    root = fromstring(page.removeprefix("<!DOCTYPE html>\n"))
    assert not {each.tag for each in root.iter()} & {"script", "img", "iframe", "link"}
    assert not {name for each in root.iter() for name in each.attrib} & {"src", "href", "style", "onerror"}
    assert "default-src 'none'" in page.replace("&#x27;", "'")
    shown = " ".join(root.itertext())
    assert "A: 2,460,371 waits below 1.0ms (99.56 %)" in shown
    assert "B: 51,521,618 waits below 1.0ms (99.51 %)" in shown
    for words in ("99.56", "-50.0", "≤ 1.00"):
        assert words in shown
        assert words in compare_text(found)
    few = Judgement.TOO_FEW
    assert few in {line.difference for line in found.lines}
    for text in (shown, compare_text(found)):
        assert " ".join(text.split()).count(few.value) == 1, "the method explains it; no figure repeats it"


def test_a_page_without_figures_is_valid() -> None:
    window = ComparedWindow("a.presman", "x", START, START, 1, None, ())
    page = compare_page(ComparedWindows(window, window, (), (), (), (), METHOD), START)
    assert "Nothing can be compared" in page
    fromstring(page.removeprefix("<!DOCTYPE html>\n"))


@pytest.mark.parametrize(
    ("percent", "left", "width"),
    [(50.0, "100", "50"), (-50.0, "50", "50"), (250.0, "100", "100"), (-250.0, "0", "100"), (0.1, "100", "0.5")],
)
def test_a_difference_is_a_bar_from_the_middle(percent: float, left: str, width: str) -> None:
    drawn = str(_bar(Line("", "", "", 1.0, 2.0, percent, Judgement.NOISE)))
    assert f'<rect x="{left}" y="1" width="{width}" height="10"' in drawn
    assert f'fill="{HUES[OTHERS].page}"' in drawn
    assert f'fill="{HUES[OTHERS].page}"' not in str(_bar(Line("", "", "", 1.0, 2.0, percent, Judgement.MORE)))


@pytest.mark.parametrize("percent", [None, 0.0])
def test_equal_figures_have_no_bar(percent: float | None) -> None:
    assert not _bar(Line("", "", "", 1.0, 1.0, percent, Judgement.SAME))


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, "-"), (0.5, "0.500"), (-0.5, "-0.500"), (1.0, "1.00"), (99.99, "99.99"), (100.0, "100"), (-150.4, "-150")],
)
def test_a_value_has_its_significant_digits(value: float | None, expected: str) -> None:
    assert value_of(Line("", "", "", value, value, None, Judgement.SAME), value) == expected
    bound = value_of(Line("", "", "", value, value, None, Judgement.SAME, is_bound=True), value)
    assert bound == ("-" if value is None else f"≤ {expected}")


def test_a_bar_for_each_window_of_each_bucket_on_a_scale_of_powers_of_ten() -> None:
    """Five powers of ten are 150 units high, from 160 up: 100 % ends at 10, 1 % at 70. A bucket is 449 wide."""
    found: Any = SimpleNamespace(event="x", first={1024: 99, 4096: 1}, second={1024: 1, 4096: 0})
    drawn = str(latency_chart(found))
    bars = re.findall(r'x="([^"]*)" y="([^"]*)" width="170.6" height="([^"]*)"[^>]*><title>([^<]*)<', drawn)
    assert bars == [
        ("136.9", "10.1", "149.9", "A: 99 waits below 1.0ms (99 %)"),
        ("316.5", "10", "150", "B: 1 wait below 1.0ms (100 %)"),
        ("585.9", "70", "90", "A: 1 wait below 4.1ms (1 %)"),
    ]
    assert re.findall(r'x="([^"]*)" y="176"[^>]*>([^<]*)<', drawn) == [("316.5", "&lt; 1.0ms"), ("765.5", "&lt; 4.1ms")]
    levels = re.findall(r'y="([^"]*)" text-anchor="end"[^>]*>([^<]*) %<', drawn)
    assert levels == [("164", "0.001"), ("134", "0.01"), ("104", "0.1"), ("74", "1"), ("44", "10"), ("14", "100")]
    rare = str(latency_chart(SimpleNamespace(event="x", first={1: 10**9, 2: 1}, second={})))  # type: ignore[arg-type]
    assert 'y="157" ' in rare, "one of a billion is visible, too"


@pytest.mark.parametrize(("buckets", "labels"), [(13, 13), (14, 7)])
def test_with_many_buckets_every_second_is_labelled(buckets: int, labels: int) -> None:
    found: Any = SimpleNamespace(event="x", first={1 << place: 1 for place in range(buckets)}, second={})
    assert len(re.findall(r'y="176"', str(latency_chart(found)))) == labels
