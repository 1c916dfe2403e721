"""The Gantt chart as lines: a cell is a minute here, twenty of them from noon on; by hand."""

from __future__ import annotations

from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.trends.statement_runs import StatementRun
from presman.base.colours import GroupColours
from presman.tabs.choices import Choices
from presman.tabs.parts import Moment
from presman.tui.panels.parallel_panel import gantt_data
from presman.tui.widgets.gantt import GanttData, columns, gantt, label_width, window_end
from tests.tui.readings import busy

NOON = datetime(2026, 3, 12, 12).astimezone()
END = NOON + timedelta(minutes=20)
WIDTH = 43
"""22 cells of labels, a blank, 20 of the chart."""


def minute(at: float | None) -> datetime | None:
    return None if at is None else NOON + timedelta(minutes=at)


def run(queued: float | None, started: float | None = None, idle: float | None = None, ended: float | None = None,
        servers: int = 8, name: str = "ETL", sql_id: str = "7xq3h0000kd0x") -> StatementRun:  # fmt: skip
    times = {
        key: minute(at)
        for key, at in zip(("queued", "started", "idle", "ended"), (queued, started, idle, ended), strict=True)
    }
    return StatementRun(1, 7, 9, sql_id, 0, name, "RPT", servers, **times)


def data(
    *spans: StatementRun, in_use: tuple[float | None, ...] = (), target: int | None = None, **more: Any
) -> GanttData:
    return GanttData(spans, END, 1200.0, in_use, target, **more)


def texts(found: GanttData, height: int = 9, width: int = WIDTH) -> list[str]:
    return ["".join(text for text, _ in line) for line in gantt(found, width, height)]


def chart(*spans: StatementRun, height: int = 9, **more: Any) -> list[str]:
    """What is drawn of the statements."""
    return [line[23:] for line in texts(data(*spans, **more), height)[1:-4]]


def test_the_chart_has_the_width_that_labels_leave() -> None:
    assert [(label_width(width), columns(width)) for width in (110, 109, 78, 77, 30)] == [
        (30, 79), (23, 85), (23, 54), (22, 54), (22, 10),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("span", "drawn"),
    [
        (run(2, 5, 9, 12), "  ░░░████▒▒▒        "),
        (run(2, 5, 9), "  ░░░████▒▒▒▒▒▒▒▒▒▒▒"),
        (run(2, 5), "  ░░░███████████████"),
        (run(2), "  ░░░░░░░░░░░░░░░░░░"),
        (run(None, 5, None, 5.1), "     █              "),
        (run(2, 2.5, None, 2.7), "  █                 "),  # it has run, however short it was
        (run(2, 2.5, 2.6, 2.7), "  ▒                 "),
        (run(2, 2.9, 3.0, 4), "  █▒                "),
        (run(-9, -5, 1, 3), "█▒▒                 "),
        (run(20, 20), "                   █"),
    ],
)
def test_a_statement_is_queued_runs_and_idles(span: StatementRun, drawn: str) -> None:
    (line, *_) = chart(span)
    assert line == drawn


def test_a_bar_ends_at_the_newest_instant() -> None:
    assert chart(run(2, 5), now=minute(8))[0] == "  ░░░███            "


def test_bars_are_between_two_eighths_and_a_full_line_high() -> None:
    spans = [run(0, 1, servers=servers) for servers in (64, 32, 24, 1)]
    assert [line[-1] for line in chart(*spans)] == ["█", "▄", "▃", "▂"]
    assert chart(run(0, 1, servers=0))[0][-1] == "█"


def test_without_room_holders_stay_then_the_queue_then_the_newest_ended() -> None:
    spans = [run(1, 2, ended=3, name="OLD"), run(1, 2, ended=4, name="NEW"), run(2, name="LATE"), run(1, name="FIRST"),
             run(1, 2, servers=4, name="SMALL"), run(1, 2, servers=8, name="BIG")]  # fmt: skip

    def names(rows: int) -> list[str]:
        return [line[:5].strip() for line in texts(data(*spans), rows + 5)[1:-4]]

    assert names(1) == ["BIG"]
    assert names(2) == ["SMALL", "BIG"]
    assert names(3) == ["FIRST", "SMALL", "BIG"]
    assert names(5) == ["NEW", "LATE", "FIRST", "SMALL", "BIG"]
    assert names(7)[-1] == ""


def test_a_label_has_the_group_the_sql_id_and_the_servers() -> None:
    lines = texts(data(run(1, 2, name="A_VERY_LONG_NAME"), run(1, servers=0, sql_id="")))
    assert lines[0] == "Statements     servers 20 min  ░ queued █ …"
    assert [line[:23] for line in lines[1:3]] == ["A_VERY_LON… 7xq3h    8 ", "ETL         -        - "]
    (name, *_, last) = gantt(data(run(1, 2, ended=3)), WIDTH, 9)[1]
    assert name[1] == "dim"
    assert last == (" " * 17, "")


def test_a_change_of_plan_is_a_line_in_free_cells() -> None:
    """Of 180 stretches nine are a cell: the 45th is in the sixth."""
    found = data(run(2, 4), run(8), marks=((0, "A"), (45, "DAY"), (171, "NIGHT")))
    lines = texts(found, 10, 123)
    assert lines[0].rstrip().endswith("┆ DAY  ┆ NIGHT"), "the last two have words"
    assert [line[23:] for line in texts(found, 9)[1:3]] == ["┆ ░░████████████████", "┆    ┆  ░░░░░░░░░░░░"]
    empty = texts(data(marks=((45, "DAY"),)), 8)[1:4]
    assert [line[23:] for line in empty[1:]] == ["     ┆" + " " * 14] * 2


def test_an_empty_chart_says_that_no_statement_has_been_seen() -> None:
    lines = texts(data(), 9, 120)
    assert lines[0].startswith("Statements  SQL        servers 20 min")
    assert [line.rstrip() for line in lines[1:5]] == [
        "No parallel statement has been seen in these 20 minutes.", "", "", "",
    ]  # fmt: skip


def test_the_strip_has_the_servers_in_eighths_and_the_target_as_a_line() -> None:
    """Three lines are 88 servers, the target of 80 and a tenth: 44 are a line and a half, 11 three eighths of one."""
    use = (0.0,) * 5 + (11.0,) * 5 + (44.0,) * 5 + (None,) * 5
    top, middle, bottom = texts(data(in_use=use, target=80, most=50.4))[-4:-1]
    assert [line[23:] for line in (top, middle, bottom)] == [
        "─" * 20, " " * 10 + "▄" * 5 + " " * 5, " " * 5 + "▃" * 5 + "█" * 5 + " " * 5,
    ]  # fmt: skip
    assert [line[:23].strip() for line in (top, middle, bottom)] == ["servers, ─ target 80", "", "most in use 50"]
    full = texts(data(in_use=(100.0,), target=80))[-4:-1]
    assert [line[23:] for line in full] == ["█" * 20] * 3, "100 servers are all of it, and cover the target's line"
    assert [line[23:] for line in texts(data(in_use=(88.0, 44.0)))[-4:-1]] == [
        "█" * 10 + " " * 10, "█" * 10 + "▄" * 10, "█" * 20,
    ]  # fmt: skip
    assert [line.strip() for line in texts(data(in_use=(0.0,)))[-4:-1]] == [""] * 3
    assert [line.strip() for line in texts(data())[-4:-1]] == [""] * 3


def test_times_and_the_shown_instant_are_below_the_chart() -> None:
    """Of 20 cells two times are asked for: they are ten minutes apart, and the last does not fit any more."""
    assert texts(data())[-1] == " " * 23 + "12:00     12:10     "
    assert texts(data(cursor=minute(15.5)))[-1] == " " * 23 + "12:00     12:10▲    "
    assert texts(data(cursor=END))[-1].endswith("    ▲")
    for outside in (-0.1, 20.1):
        assert "▲" not in texts(data(cursor=minute(outside)))[-1]


def test_a_time_without_room_at_the_end_is_omitted() -> None:
    """From 12:03 on twenty cells are twenty minutes: 12:20 would begin in the last but two."""
    late = data()._replace(end=END + timedelta(minutes=3))
    assert texts(late)[-1] == " " * 23 + " " * 7 + "12:10" + " " * 8


def test_a_low_chart_has_no_statements() -> None:
    assert len(texts(data(run(1, 2)), 5)) == 5
    assert len(texts(data(run(1, 2)), 3)) == 3
    assert len(texts(data(run(1, 2)), 6)) == 6


def test_a_window_ends_with_a_whole_stretch() -> None:
    """Of 1,800 s a stretch is 10 s."""
    for seconds, end in ((0, 0), (0.1, 10), (10, 10), (10.1, 20)):
        assert window_end(NOON + timedelta(seconds=seconds), 1800.0) == NOON + timedelta(seconds=end)


def test_times_of_a_window_of_minutes_have_no_seconds() -> None:
    """Five minutes in twenty cells: two times are asked for, each three minutes a whole one."""
    line = texts(data()._replace(seconds=300.0))[-1][23:]
    assert line.split() == ["12:15", "12:18"]
    assert line.index("12:18") == 12, "three of five minutes are twelve of twenty cells"


def of_moment(ago: float, **choices: Any) -> tuple[GanttData, tuple[Any, ...]]:
    """Return the chart of a reading some seconds before the newest, of 12:00:02, and the requested spans."""
    asked: list[tuple[Any, ...]] = []
    newest = NOON + timedelta(seconds=2)
    watch: Any = SimpleNamespace(runs=SimpleNamespace(within=lambda *given: asked.append(given) or []),
                                 colours=GroupColours())  # fmt: skip
    reading = replace(busy(), at=newest - timedelta(seconds=ago))
    data = gantt_data(Moment(reading, Choices(window=15, **choices), newest=newest, watch=watch))
    return data, asked[0]


def test_the_window_ends_with_the_newest_poll_and_marks_the_shown_instant() -> None:
    """Of 15 minutes a stretch is 5 s."""
    end, newest = NOON + timedelta(seconds=5), NOON + timedelta(seconds=2)
    data, asked = of_moment(0)
    assert (data.end, data.seconds, data.now, data.cursor, data.target) == (end, 900.0, newest, None, 256)
    assert asked == (end - timedelta(minutes=15), end, None)
    back, asked = of_moment(60, behind=30)
    assert (back.end, back.cursor) == (end, newest - timedelta(seconds=60))
    assert asked[2] is None, "looking back uses all that is known now"
    paused, asked = of_moment(60, paused=1.0)
    assert (paused.cursor, asked[2]) == (None, newest - timedelta(seconds=60)), "a paused view shows nothing newer"


def test_the_window_moves_back_to_an_earlier_instant() -> None:
    """It is in the middle then: 450 s after 11:44:01 is 11:51:31, of which the stretch ends at :35."""
    assert of_moment(897, behind=400)[0].end == NOON + timedelta(seconds=5), "still in the first period"
    assert of_moment(961, behind=400)[0].end == NOON - timedelta(seconds=505)
