"""Group chart of a report: a layer for each group with a colour, and one for the others, by hand."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from presman.base.colours import OTHERS, GroupColours
from presman.base.markup import Markup
from presman.reports.report import incident_page, report_charts
from presman.reports.report.incident_page import _chart, _ranked
from presman.reports.report.report_charts import AreaChart
from tests.recording.recorded import START

COLOURS = GroupColours([(0, "ETL"), (0, "WEB")])
ETL, WEB = COLOURS.style("ETL"), COLOURS.style("WEB")


def row(key: int, group: str, used: float | None, servers: float = 0.0) -> Any:
    return SimpleNamespace(
        key=key, con_id=0, group=group, used=used, waiting=None, servers=servers, queued=None, io=None
    )


def step(key: int, target: int | None = None, queued: int = 0) -> Any:
    start = START + timedelta(seconds=10 * key)
    return SimpleNamespace(
        key=key, start=start, end=start + timedelta(seconds=5), polls=2, target=target, queued=queued
    )


def chart(*rows: Any, steps: tuple[Any, ...] = (step(0), step(1)), **more: Any) -> AreaChart:
    incident: Any = SimpleNamespace(groups=rows, bins=steps, colours=COLOURS, usual=5.0)
    return _chart(incident, "CPUs", "CPUs", lambda each: each.used, **more)


def test_coloured_groups_have_a_layer_each_and_others_share_one() -> None:
    """X and Y have no colour; Z has no CPU; WEB, first by CPU, was not there in the second period."""
    found = chart(
        row(0, "ETL", 1.0), row(0, "WEB", 9.0), row(0, "X", 2.0), row(0, "Y", None), row(0, "Z", 0.0),
        row(1, "ETL", 3.0), row(1, "X", 0.5), row(1, "Y", 0.25),
    )  # fmt: skip
    assert (found.layers, found.styles) == (("WEB", "ETL", "2 others"), (WEB, ETL, OTHERS))
    assert [each.values for each in found.columns] == [(9.0, 1.0, 2.0), (0.0, 3.0, 0.75)]
    assert [each.polls for each in found.columns] == [2, 2]
    assert (found.title, found.unit, found.line_name) == ("CPUs", "CPUs", "")


def test_values_unknown_for_all_groups_are_gaps() -> None:
    found = chart(row(0, "ETL", 1.0), row(0, "X", 1.0), row(1, "ETL", None), row(1, "X", None))
    assert [each.values for each in found.columns] == [(1.0, 1.0), (None, None)]
    nothing = chart(row(0, "ETL", 0.0), row(1, "ETL", None))
    assert (nothing.layers, nothing.styles) == (("none",), (OTHERS,))
    assert [each.values for each in nothing.columns] == [(0.0,), (None,)]


def test_a_line_across_is_the_target_or_the_longest_queue_or_the_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: dict[str, list[float | None]] = {}

    def drawn(chart: AreaChart, _: object) -> Markup:
        lines[chart.line_name] = [each.line for each in chart.columns]
        return Markup()

    monkeypatch.setattr(report_charts, "area_chart", drawn)
    look = SimpleNamespace(reading=SimpleNamespace(header=SimpleNamespace(num_cpus=24)))
    steps, rows = (step(0, target=64, queued=3), step(1)), (row(0, "ETL", 1.0), row(1, "ETL", 1.0))
    incident: Any = SimpleNamespace(groups=rows, bins=steps, colours=COLOURS, usual=5.0, samples=(look,), width=1)
    axis: Any = None
    incident_page.over_time(incident, axis)
    assert lines["target"] == [64, None]
    assert lines["most in a poll"] == [3, 0]
    assert lines["all CPUs"] == [24, 24]  # the story says whether they are managed
    assert lines[""] == [None, None]


def test_layers_are_in_the_order_of_cpu_and_servers() -> None:
    """ETL has 1 + 4, WEB 3 + 2, and X 5, too: the name decides between equals."""
    rows = row(0, "ETL", 1.0, 4.0), row(0, "WEB", 3.0), row(1, "WEB", 2.5), row(0, "X", None, 5.0)
    incident: Any = SimpleNamespace(groups=rows)
    assert [name for _, name in _ranked(incident)] == ["WEB", "ETL", "X"]
