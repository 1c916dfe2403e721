"""Cells, bars and tables: drawn by the same code on screens and in texts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len

from presman.drawing.bars import bar_runs
from presman.drawing.columns import fit_columns
from presman.drawing.lines import cells, fit, plain
from presman.figures.figure import Bar
from presman.figures.statement_figures import QUEUE, RUNNING
from presman.output.text_table import table
from tests.tui.drive import acted, stage
from tests.tui.readings import busy


@pytest.mark.parametrize(("text", "taken"), [("漢字", 4), ("e\u0301", 1), ("हिन्दी", cell_len("हिन्दी")), ("½ µs", 4)])
def test_text_takes_the_cells_that_a_terminal_gives_it(text: str, taken: int) -> None:
    assert cells(text) == taken
    for width in range(1, 8):
        assert cells(fit(text, width)) == width


def test_what_is_cut_ends_in_an_ellipsis() -> None:
    assert fit("漢字漢字", 5) == "漢字…"
    assert cells(fit("漢字", 3)) == 3


def drawn(bar: Bar, width: int) -> str:
    return plain(bar_runs(bar, width)).rstrip()


def test_bars() -> None:
    assert drawn(Bar(10, 4, 2), 10) == "████▒▒"
    assert drawn(Bar(10, 4, 0, entitled=8, limit=10), 10) == "████    │┊"
    assert drawn(Bar(10, 9, 9), 10) == "█████████▶"
    assert drawn(Bar(10, 0.01), 10) == "▏"  # little is not nothing
    assert drawn(Bar(0, 0), 10) == ""


@acted
async def test_screen_and_text_draw_the_same_cells() -> None:
    text = "select /*+ parallel */ " + ", ".join(f"sum(amount_{n})" for n in range(40)) + " from sales"
    reading = busy(2)
    long = {name: tuple(replace(row, sql_text=text) for row in getattr(reading, name)) for name in ("queue", "running")}
    reading = replace(reading, **long)
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
