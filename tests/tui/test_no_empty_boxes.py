"""At any size a chart shows its areas and a table has rows below its head."""

from __future__ import annotations

from presman.figures.drawing.lines import plain
from presman.tui.widgets.chart import Chart
from presman.tui.widgets.grid import Grid
from presman.tui.widgets.table_frame import HEADER_LINES
from tests.thorough import THOROUGH
from tests.tui.drive import Stage, acted
from tests.tui.test_live import playing


@acted
async def test_no_box_is_empty() -> None:
    """At 100x30 a chart of four lines was blank."""
    async with playing("pdb", (60, 15)) as (acting, polls):
        await polls(8)
        for turn, size in enumerate([(60, 15), (80, 24), (100, 30), (120, 35)]):
            await acting.resize(*size)
            for key in "12345678" if THOROUGH else "12345678"[turn % 2 :: 2]:
                await acting.keys(key)
                is_filled(acting, key)


def is_filled(acting: Stage, key: str) -> None:
    """Check charts and tables of the tab."""
    panel = acting.app.panels.present
    for chart in panel.query(Chart):
        lines = [plain(line) for line in chart._lines[: chart.size.height]]
        assert not chart.size.height or any(set("▁▂▃▄▅▆▇█") & set(line) for line in lines), (key, lines)
    for grid in panel.query(Grid):
        rows = grid.rows.shown if grid.display else ()
        blank = grid.size.height if grid.size.height <= HEADER_LINES else 0
        assert not rows or blank <= (not panel.is_main(grid)), (key, grid.id, "one line may be left over")


@acted
async def test_sessions_have_more_lines_than_the_statements_below_them() -> None:
    """At 60x15 six statements that waited for CPU left the sessions two lines, which were blank."""
    async with playing("throttled", (60, 15)) as (acting, polls):
        await acting.keys("5")
        await polls(8)
        sessions, waiters = acting.app.panels.present.query(Grid)
        assert sessions.size.height > waiters.size.height > HEADER_LINES
