"""Charts of a report: positions, calculated by hand on an axis of one unit a second."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from presman.base.colours import HUES, OTHERS, GroupColours
from presman.base.markup import BAD, BLANK, FAINT, IDLE, WIDTH
from presman.recording.playback_values import StatementLife
from presman.recording.time_bins import EventMark
from presman.reports.report.report_charts import (
    LEFT,
    RIGHT,
    AreaChart,
    ChartColumn,
    HeatColumn,
    TimeAxis,
    area_chart,
    event_chart,
    facts,
    heat_map,
    legend,
    life_chart,
    shade,
)

START = datetime(2026, 3, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


AXIS = TimeAxis(START, at(WIDTH - LEFT - RIGHT))
"""The x position of an instant: 104 and one unit per second."""

STYLES = tuple(list(HUES)[:2])


def chart(*columns: ChartColumn, line_name: str = "") -> AreaChart:
    return AreaChart("Servers", "servers", ("ETL", "BATCH"), STYLES, columns, line_name)


def rects(drawn: str) -> list[tuple[float, float, float, float, str]]:
    """Return x, y, width, height and fill of each bar."""
    found = []
    for attributes in re.findall(r"<rect ([^>]*)>", drawn):
        known = dict(re.findall(r'(\w+)="([^"]*)"', attributes))
        x, y, width, height = (float(known[name]) for name in ("x", "y", "width", "height"))
        found.append((x, y, width, height, known.get("fill", "")))
    return found


def size(drawn: str) -> tuple[int, str]:
    """Return the height of a drawing, and the ends of its vertical lines."""
    (height,) = re.findall(rf'<svg viewBox="0 0 {WIDTH:.0f} (\d+)"', drawn)
    (ends,) = set(re.findall(r'd="M[^V]* ([^V]*V[^"]*)"', drawn))
    return int(height), ends


def test_layers_are_stacked_and_gaps_are_empty() -> None:
    """3 servers are 150 units high, from 158 upwards: one server is 50."""
    drawn = str(
        area_chart(
            chart(
                ChartColumn(at(0), at(10), 1, (1.0, 2.0)),
                ChartColumn(at(10), at(20), 1, (None, 0.0)),
                ChartColumn(at(20), at(30), 1, (0.0, 1.0)),
            ),
            AXIS,
        )
    )
    etl, batch = re.findall(r'<path d="(M[^"]*)" fill="#', drawn)
    assert etl == "M104.0 158.0V108.0H114.0V158.0z"
    assert batch == "M104.0 108.0V8.0H114.0V108.0zM124.0 158.0V108.0H134.0V158.0z"
    assert re.findall(r">([^<]*servers)<", drawn) == ["3 servers"], "only the highest tick has the unit"
    assert '<path d="" ' not in drawn


def test_the_limit_line_has_gaps_and_may_be_the_highest() -> None:
    """6 servers are 150 units: 4 servers are at 58, 6 at 8, 2 at 108."""
    drawn = str(
        area_chart(
            chart(
                ChartColumn(at(0), at(10), 1, (1.0, 0.0), 4.0),
                ChartColumn(at(10), at(20), 1, (1.0, 0.0), 6.0),
                ChartColumn(at(20), at(30), 1, (1.0, 0.0)),
                ChartColumn(at(30), at(40), 1, (1.0, 0.0), 2.0),
                line_name="target",
            ),
            AXIS,
        )
    )
    assert 'd="M104.0 58.0H114.0V8.0H124.0M134.0 108.0H144.0" stroke' in drawn
    assert "> target</span>" in drawn


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (ChartColumn(at(0), at(10), 1, (1.0, 2.0)), ["total 3.0 servers", "ETL: 1.0", "BATCH: 2.0"]),
        (ChartColumn(at(0), at(10), 2, (1.0, 0.0), 4.0), ["total 1.0 servers", "ETL: 1.0", ": 4.0", "mean of 2 polls"]),
        (ChartColumn(at(0), at(10), 1, (None, None)), ["-", "ETL: -", "BATCH: -"]),
        (ChartColumn(at(0), at(10), 1, (None, 2.0)), ["total 2.0 servers", "ETL: -", "BATCH: 2.0"]),
    ],
)
def test_a_column_shows_its_figures(column: ChartColumn, expected: list[str]) -> None:
    drawn = str(area_chart(chart(ChartColumn(at(20), at(30), 1, (1.0, 0.0)), column), AXIS))
    (hover,) = re.findall(r'<rect x="104" y="8" width="10" height="150" class="hover"><title>([^<]*)<', drawn)
    assert hover.split("\n")[1:] == expected


def test_an_empty_chart_says_whether_anything_is_known() -> None:
    assert str(area_chart(chart(), AXIS)).endswith("</strong> not known in this period.</p>")
    unknown, none = ChartColumn(at(0), at(10), 1, (None, None)), ChartColumn(at(10), at(20), 1, (None, 0.0))
    assert str(area_chart(chart(unknown), AXIS)).endswith("</strong> not known in this period.</p>")
    assert str(area_chart(chart(unknown, none), AXIS)).endswith("</strong> none.</p>")


def test_shades_are_darker_for_more_waits() -> None:
    """On a scale of log(1 + waits) up to 127, 1 wait is one seventh, 3 waits two, 127 all."""
    shades = [shade(waits, 127) for waits in (1, 3, 7, 15, 31, 63, 127)]
    assert len(set(shades)) == 6, "the first and the last of seven"
    assert shade(0, 127) == BLANK
    assert shade(1, 1) == shade(127, 127) == shade(500, 127)
    assert shade(1, 1 << 40) != shade(1, 1)


def test_heat_has_the_slowest_bucket_on_top() -> None:
    columns = [HeatColumn(at(0), at(10), {1024: 3, 4096: 1}), HeatColumn(at(10), at(10.5), {1024: 8})]
    drawn = str(heat_map("log file sync", columns, AXIS))
    assert [each[:4] for each in rects(drawn)] == [(104, 16, 10, 12), (104, 4, 10, 12), (114, 16, 1, 12)]
    assert rects(drawn)[2][4] == shade(8, 8)
    assert rects(drawn)[0][4] == shade(3, 8)
    assert "3 of 4 waits took less than" in drawn
    assert size(drawn) == (52, "4.0V32.0"), "two lines of 12, 4 above them and 24 below for the times"
    assert re.findall(r'y="([^"]*)"[^>]*>(&lt; [^<]*)</text>', drawn) == [("14", "&lt; 4.1ms"), ("26", "&lt; 1.0ms")]
    assert size(str(heat_map("idle", [HeatColumn(at(0), at(10), {})], AXIS))) == (28, "4.0V8.0")


def test_events_have_a_line_for_each_kind() -> None:
    marks = [
        EventMark("plan changed", at(0), at(0), 1, "A to B"),
        EventMark("timeout", at(10), at(20), 3, "ETL: 1 queue timeout"),
        EventMark("plan changed", at(30), at(30), 1, "B to A"),
    ]
    drawn = str(event_chart(marks, AXIS))
    found = {each[0]: each[1:] for each in rects(drawn)}
    assert found.keys() == {102.5, 112.5, 132.5}
    assert found[102.5][1:] == found[132.5][1:] == (3, 14, FAINT)
    assert found[112.5][1:] == (10, 14, BAD)
    assert found[102.5][0] == found[132.5][0] != found[112.5][0]
    assert {each[0] for each in found.values()} == {6, 24}
    assert "\nA to B</title>" in drawn
    assert "3 × " in drawn
    assert size(drawn) == (64, "4.0V44.0"), "two lines of 18"


def life(**values: object) -> StatementLife:
    given: dict[str, object] = dict.fromkeys(StatementLife._fields) | {
        "inst_id": 1, "sid": 7, "serial": 9, "sql_id": "7xq3h0000kd0x", "con_id": 0, "user": "RPT", "group": "ETL",
        "servers": 8, "first_seen": at(0), "last_seen": at(40), "came": at(0), "gone": at(40),
    }  # fmt: skip
    return StatementLife(**(given | values))  # type: ignore[arg-type]


COLOURS = GroupColours([(0, "ETL")])
ETL = HUES[COLOURS.style("ETL")].page
WHOLE = life(queued_at=at(0), held_from=at(10), idle_at=at(30), ended_at=at(40))


@pytest.mark.parametrize(
    ("one", "bars"),
    [
        # A line is 14 high: waiting takes 4.9 of it, running 11.2.
        (WHOLE, [(104, 10, 4.9, ETL), (114, 20, 11.2, ETL), (134, 10, 11.2, IDLE)]),
        (life(queued_at=at(0)), [(104, 40, 4.9, ETL)]),
        (life(held_from=at(10)), [(114, 30, 11.2, ETL)]),
        (life(held_from=at(10), gone=at(10.5)), [(114, 1, 11.2, ETL)]),
        (life(queued_at=at(-20), held_from=at(-10), gone=at(5)), [(104, 5, 11.2, ETL)]),
        (life(held_from=at(0), group="X"), [(104, 40, 11.2, HUES[OTHERS].page)]),
    ],
)
def test_a_statement_waits_runs_and_idles(one: StatementLife, bars: list[tuple[float, float, float, str]]) -> None:
    drawn = rects(str(life_chart([one], AXIS, COLOURS)))
    assert [(x, width, pytest.approx(height, abs=0.06), fill) for x, _, width, height, fill in drawn] == bars
    assert all(y + height / 2 == pytest.approx(11, abs=0.1) for _, y, _, height, _ in drawn), (
        "in the middle of its line"
    )


def test_statements_are_in_order_of_arrival() -> None:
    names = [("c", 5, 20), ("a", 0, 20), ("b", 5, 10)]
    lives = [life(sql_id=name, came=at(came), gone=at(gone), held_from=at(came)) for name, came, gone in names]
    drawn = str(life_chart([*lives, life(sql_id="", came=at(9), held_from=at(9))], AXIS, COLOURS))
    assert re.findall(r'y="([^"]*)"[^>]*>([abc]|1:7)</text>', drawn) == [
        ("15", "a"), ("29", "b"), ("43", "c"), ("57", "1:7")
    ]  # fmt: skip
    assert size(drawn) == (84, "4.0V64.0"), "four lines of 14"


def test_the_facts_of_a_statement() -> None:
    assert [line.rpartition(" for ")[2] for line in facts(WHOLE)[2:]] == ["10 s", "20 s", "10 s"]
    assert facts(WHOLE)[:2] == ["7xq3h0000kd0x, RPT 1:7,9", "group ETL, 8 servers"]
    unknown = facts(life(sql_id="", user="", group="", servers=1, queued_at=at(0)))
    assert unknown[:2] == ["(no SQL_ID), ? 1:7,9", "group unknown, 1 server"]
    assert unknown[2].endswith(" for 40 s")
    assert unknown[3].startswith("its end was not seen; last seen ")
    assert len(facts(life(held_from=at(5), ended_at=at(40)))) == 3


def test_a_legend_has_each_group_once_and_explains_the_bars() -> None:
    text = re.sub("<[^>]*>", "", str(legend([WHOLE, WHOLE, life(group="")], COLOURS)))
    assert text == "■ group unknown■ ETL▂ queued█ running█ idle, keeps its servers"
