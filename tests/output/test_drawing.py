"""Cells, bars and tables: the same code draws them on screens and in texts."""

from __future__ import annotations

from unittest.mock import Mock

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from presman.figures.drawing import lines
from presman.figures.drawing.columns import Look, cell_runs, fit_columns, scales_of
from presman.figures.drawing.lines import (
    Line,
    Scale,
    bar_runs,
    cells,
    changes,
    fit,
    merge,
    plain,
    shared_scale,
    wrap,
)
from presman.figures.figure import MEGABYTES, Bar, Figure
from presman.figures.statement_figures import QUEUE, RUNNING
from presman.output.cells import table
from tests.tui.drive import acted, stage
from tests.tui.readings import busy


@pytest.mark.parametrize(("text", "taken"), [("漢字", 4), ("e\u0301", 1), ("हिन्दी", cell_len("हिन्दी")), ("½ µs", 4)])
def test_text_is_as_wide_as_in_a_terminal(text: str, taken: int) -> None:
    assert cells(text) == taken
    for width in range(1, 8):
        assert cells(fit(text, width)) == width


def test_cut_text_ends_with_an_ellipsis() -> None:
    assert fit("漢字漢字", 5) == "漢字…"
    assert cells(fit("漢字", 3)) == 3


def test_text_is_padded_or_cut_to_its_width() -> None:
    assert [fit("abc", width) for width in (0, 1, 2, 3, 5)] == ["", "…", "a…", "abc", "abc  "]
    assert fit("abc", 5, "right") == "  abc"


def test_adjacent_runs_of_one_style_are_merged() -> None:
    runs = [("a", "red"), ("", "blue"), ("b", "red"), ("c", ""), ("d", "red"), ("e", "red")]
    assert merge(runs) == (("ab", "red"), ("c", ""), ("de", "red"))
    assert plain(runs) == "abcde"


@pytest.mark.parametrize(
    ("old", "new", "spans"),
    [
        ([("abc", "red")], [("abc", "red")], []),
        ([("abcd", "red")], [("aXcd", "red")], [(1, 1)]),
        ([("abcd", "red")], [("abcd", "blue")], [(0, 4)]),  # the same text in another colour
        ([("abcd", "red")], [("ab", "red"), ("cd", "")], [(2, 2)]),
        ([("ab", "red"), ("cd", "")], [("ab", ""), ("Xd", "red")], [(0, 4)]),
        ([("a" * 50, "")], [("X" + "a" * 40 + "X" + "a" * 8, "")], [(0, 42)]),  # nearby differences are sent as one
        ([("a" * 50, "")], [("X" + "a" * 41 + "X" + "a" * 7, "")], [(0, 1), (42, 1)]),
        ([("abc", "")], [("abcd", "")], [(0, 9)]),
        ([("漢a", "")], [("漢b", "")], [(0, 9)]),
    ],
)
def test_only_differing_cells_are_repainted(old: Line, new: Line, spans: list[tuple[int, int]]) -> None:
    assert changes(tuple(old), tuple(new), 9) == spans


def test_lines_with_equal_styles_are_compared_by_text_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """In most polls only figures change, in the same cells."""
    monkeypatch.setattr(lines, "_styles", Mock(side_effect=AssertionError))
    assert changes((("abcd", "red"), ("ef", "")), (("aXcd", "red"), ("ef", "")), 9) == [(1, 1)]


def test_a_text_that_fits_is_not_split_into_words(monkeypatch: pytest.MonkeyPatch) -> None:
    line = ((" two ", "red"), ("", ""), (" words", "red"), (" 漢 ", ""))
    assert wrap(line, 15) == [((" two  words", "red"), (" 漢 ", ""))]
    assert wrap(line, 14) == [((" two  words", "red"), (" 漢", ""))]
    monkeypatch.setattr(lines, "_words", None)
    assert wrap(line, 15) == [merge(line)]


def drawn(bar: Bar, width: int) -> str:
    return plain(bar_runs(bar, width)).rstrip()


def test_bars() -> None:
    assert drawn(Bar(10, 4, 2), 10) == "████▒▒"
    assert drawn(Bar(10, 4, 0, entitled=8, limit=10), 10) == "████    │┊"
    assert drawn(Bar(10, 9, 9), 10) == "█████████▶"
    assert drawn(Bar(10, 0.01), 10) == "▏"  # little is not nothing
    assert [drawn(Bar(10, 4, waiting), 10) for waiting in (0.2, 0.3, 1)] == ["████", "████▒", "████▒"]
    assert drawn(Bar(10, 9.9, 0.3), 10) == "█████████▶"
    assert drawn(Bar(0, 0), 10) == ""


@acted
async def test_screen_and_text_draw_the_same_cells() -> None:
    text = "select /*+ parallel */ " + ", ".join(f"sum(amount_{n})" for n in range(40)) + " from sales"
    reading = busy(2)
    long = {name: tuple(replace(row, sql_text=text) for row in getattr(reading, name)) for name in ("queue", "running")}
    more = replace(long["running"][0], sid=999)  # no line is left for the rest of a text
    reading = replace(reading, **{**long, "running": (*long["running"], more)})
    for size in ((100, 42), (140, 50)):  # narrower than the table is by itself
        async with stage(reading, size=size) as acting:
            screen = await acting.press("4")
            for shown, rows in ((QUEUE, reading.queue[:3]), (RUNNING, reading.running[:3])):
                grid = acting.app.query_one(f"#grid-{shown.key}")
                width = grid.scrollable_content_region.width
                figures = [each for each in shown.columns if each.key not in {"inst_id", "servers_by_instance"}]
                assert len(fit_columns(figures, width)) > 6
                for line in table(figures, rows, width)[1:]:
                    assert line in screen


def test_bars_of_a_column_share_one_scale() -> None:
    bars = [Bar(0, 8), Bar(0, 32), Bar(0, 64, limit=64)]
    scale = shared_scale(bars, least=128)
    assert scale == Scale(128)
    assert [plain(bar_runs(bar, 16, scale)).rstrip() for bar in bars] == ["█", "████", "████████┊"]
    assert shared_scale(bars) == Scale(64), "without anything else the longest bar or limit"
    assert shared_scale([Bar(24, 90), Bar(12, 4)]) == Scale(24), "the bars themselves set the full scale"
    assert shared_scale([None]) == Scale(0)


def test_a_gauge_is_full_at_the_target_and_extends_beyond_it() -> None:
    """Of 20 cells 16 are up to the target of 24, and 4 from there to the maximum of 480."""

    def gauge(used: float) -> str:
        return plain(bar_runs(Bar(24, used, limit=24, beyond=480), 20)).rstrip()

    assert gauge(12) == "████████        ┊", "half of the target is half of the way"
    assert gauge(24) == "████████████████┊"
    assert gauge(252) == "████████████████┊█", "halfway between 24 and 480"
    assert gauge(480) == "████████████████┊███"
    assert gauge(500) == "████████████████┊██▶"


def test_trends_of_a_column_share_one_scale() -> None:
    minutes = {"REPORTS": (100.0, 700.0), "SYS_GROUP": (0.0, 0.0), "ETL": (None, 350.0)}
    column = Figure[str]("io", "I/O", MEGABYTES, "I/O", str, trend=True, width=2)
    scales = scales_of([column], list(minutes), trend=lambda row, _: minutes[row])
    look = Look(1, scales, lambda row, _: minutes[row])
    rows = [cell_runs(column, 2, row, look)[0][0] for row in minutes]
    assert rows == ["▂█", "▁▁", " ▅"]


@acted
async def test_a_group_without_a_limit_has_no_full_bar() -> None:
    async with stage(busy(), size=(200, 50)) as acting:
        rows = acting.screen.split("Consumer groups", 1)[1]
        bars = {name: rows.split(f" {name} ")[1].splitlines()[0] for name in ("OTHER_GROUPS", "BATCH")}
    assert bars["OTHER_GROUPS"].endswith("78/-         ████"), "78 of a target of 256, in 13 cells"
    assert bars["BATCH"].endswith("64/64        ███┊")
