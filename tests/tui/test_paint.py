"""What a refresh costs: nothing for nothing, and only what is visible."""

from __future__ import annotations

import gc
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from presman.columns import Column
from presman.tui.frame import AHEAD
from presman.tui.widgets.columns import fit_columns
from presman.tui.widgets.grid import Grid
from presman.tui.widgets.heatmap import HeatMap
from presman.tui.widgets.line_api import LineApiWidget
from tests.tui.drive import acted, stage
from tests.tui.readings import busy, quiet, sessions

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("tab", "12345")
@acted
async def test_the_same_again_paints_nothing(tab: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage(busy(), size=(200, 50)) as acting:
        await acting.mount_all()
        assert set(AHEAD) < set(acting.app.panels)
        await acting.press(tab)
        await acting.show(busy(2), busy(3))
        painted: list[Widget] = []
        original = Widget.refresh

        def refresh(self: Widget, *regions: Any, **how: Any) -> Any:
            painted.append(self)
            return original(self, *regions, **how)

        with monkeypatch.context() as patched:
            patched.setattr(Widget, "refresh", refresh)
            acting.clock.now += 1
            await acting.show(replace(busy(3), number=4, at=busy(3).at + timedelta(milliseconds=400)))
            acting.app._tick()
            await acting.settle()
        assert painted == []


@acted
async def test_one_changed_value_paints_a_few_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage(replace(busy(), sessions=sessions(40)), size=(200, 50)) as acting:
        await acting.mount_all()
        await acting.press(*"12345")
        cells: list[int] = []
        original = Widget.refresh

        def refresh(self: Widget, *regions: Any, **how: Any) -> Any:
            cells.extend(region.area for region in regions)
            assert regions, f"{self} would be painted whole"
            return original(self, *regions, **how)

        rows = sessions(40)
        with monkeypatch.context() as patched:
            patched.setattr(Widget, "refresh", refresh)
            await acting.show(replace(busy(2), sessions=(*rows[:3], rows[3]._replace(io_mb=13.0), *rows[4:])))
        assert 0 < sum(cells) < 20


@pytest.mark.parametrize("tab", "2345")
@acted
async def test_what_is_shown_again_wants_no_second_layout(tab: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage(busy(), size=(200, 50)) as acting:
        await acting.mount_all()
        for key in (tab, "1") * 2:
            await acting.press(key)
        wanted: list[Widget] = []
        original = Widget.refresh

        def refresh(self: Widget, *regions: Any, **how: Any) -> Any:
            if how.get("layout"):
                wanted.append(self)
            return original(self, *regions, **how)

        monkeypatch.setattr(Widget, "refresh", refresh)
        await acting.press(tab)
        assert {type(widget).__name__ for widget in wanted} - {"ScrollBar"} == {
            "Overview",
            type(acting.app.panel).__name__,
        }


def cells_of(strips: list[Strip]) -> list[list[tuple[str, object]]]:
    """Return what one sees: of a blank only the background."""

    def looks(char: str, style: Style | None) -> object:
        return style.bgcolor if style is not None and char == " " else style

    return [[(char, looks(char, segment.style)) for segment in strip for char in segment.text] for strip in strips]


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
@acted
async def test_lines_are_painted_as_textual_would(size: tuple[int, int]) -> None:
    """What is painted without Textual's style cache is cell by cell what it would have made of the same lines."""
    compared: set[str] = set()
    async with stage(replace(busy(), sessions=sessions(40)), size=size) as acting:
        for tab in "1234567":
            await acting.press(tab)
            for widget in acting.app.screen.walk_children(LineApiWidget):
                width, height = widget.region.size
                if not width or not widget.bare:
                    continue
                for crop in (Region(0, 0, width, height), Region(width // 3, height // 2, width // 3, 1)):
                    direct = widget.render_lines(crop)
                    assert widget._is_plain() or isinstance(widget, HeatMap)  # in sixteen colours here
                    assert cells_of(direct) == cells_of(Widget.render_lines(widget, crop))
                compared.add(type(widget).__name__)
    assert {"Grid", "Chart", "TopLines", "HeatMap", "StateView", "KeysLine"} <= compared


@acted
async def test_old_data_are_greyed_line_by_line() -> None:
    async with stage(busy(), size=(120, 30)) as acting:
        grid = acting.app.query_one("#grid-overview", Grid)
        crop = Region(0, 0, *grid.region.size)
        fresh = cells_of(grid.render_lines(crop))
        acting.app.query_one("#body").add_class("-old")
        await acting.settle()
        greyed = cells_of(grid.render_lines(crop))
        assert [[char for char, _ in line] for line in greyed] == [[char for char, _ in line] for line in fresh]
        assert greyed != fresh
        acting.app.query_one("#body").remove_class("-old")
        await acting.settle()
        assert cells_of(grid.render_lines(crop)) == fresh


def lines_kept() -> int:
    gc.collect()
    return sum(type(found) is Strip for found in gc.get_objects())


@acted
async def test_what_is_on_no_screen_any_more_is_let_go() -> None:
    async with stage(busy(), size=(200, 50)) as acting:
        await acting.mount_all()
        seen = {tab: await acting.press(tab) for tab in "5421"}
        assert acting.app._painted == {"sessions", "parallel", "cpu", "overview"}
        all_tabs = lines_kept()
        acting.app._tidy()
        await acting.settle()
        assert lines_kept() < all_tabs - 3 * 30
        assert {tab: await acting.press(tab) for tab in "5421"} == seen


@acted
async def test_blank_lines_of_containers_are_one_line() -> None:
    """Fifty lines on screen, behind them those of three containers, each cut at the edges of what stands before it."""
    before = lines_kept()
    async with stage(busy(), size=(200, 50)) as acting:
        assert acting.app._painted == {"overview"}
        assert lines_kept() - before < 6 * 50


@acted
async def test_places_that_changed_do_not_add_up() -> None:
    async with stage(replace(busy(), sessions=sessions(40)), size=(200, 50)) as acting:
        await acting.press("5")
        rows = sessions(40)
        for number in range(1, 40):
            changed = tuple(row._replace(io_mb=number * 1.5) if row is rows[number] else row for row in rows)
            await acting.show(replace(busy(number + 1), sessions=changed))
        assert max(len(widget._dirty_regions) for widget in acting.app.screen.walk_children(Widget)) < 10


@acted
async def test_only_visible_rows_are_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage(replace(busy(), sessions=sessions(500)), size=(200, 50)) as acting:
        await acting.press("5")
        grid = acting.app.query_one("#grid-sessions", Grid)
        lines: list[int] = []
        original = Grid._row_line
        monkeypatch.setattr(Grid, "_row_line", lambda self, *where: lines.append(where[0]) or original(self, *where))
        await acting.show(replace(busy(2), sessions=sessions(500)))
        assert len(grid.rows) == 500
        assert 0 < len(lines) <= 50


@acted
async def test_scrolling_reaches_every_row() -> None:
    async with stage(replace(busy(), sessions=sessions(200)), size=(120, 30)) as acting:
        await acting.press("5")
        grid = acting.app.query_one("#grid-sessions", Grid)
        for _ in range(30):
            await acting.press("pagedown")
        last = grid.rows[-1]
        assert grid.row is last
        assert f"1:{last.sid}," in acting.screen
        await acting.press("home")
        assert grid.row is grid.rows[0]


@acted
async def test_panels_not_on_show_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage(busy(), size=(200, 50)) as acting:
        await acting.press("5", "1")
        shown: list[object] = []
        monkeypatch.setattr(acting.app.panels["sessions"], "show", shown.append)
        await acting.show(busy(2))
        assert shown == []


def test_importing_the_app_is_light() -> None:
    code = (
        "import sys, presman.tui.app, presman.tables; "
        "heavy = {'sqlalchemy', 'oracledb', 'plotext', 'presman.analysis.assemble'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_tables_need_no_textual() -> None:
    code = "import sys, presman.tables; print([name for name in sys.modules if name.startswith(('textual', 'rich'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_columns_fit_every_width() -> None:
    from presman import tables

    for table in (tables.OVERVIEW, tables.CPU, tables.IO, tables.PARALLEL_GROUPS, tables.QUEUE, tables.RUNNING,
                  tables.SERVERS, tables.SESSIONS, tables.WAITS):  # fmt: skip
        names = [column.key for column in table.columns]
        assert len(names) == len(set(names))
        assert all(column.help for column in table.columns)
        for width in range(58, 260):
            fitted = fit_columns(table.columns, width, {"inst", "con"})
            gap = 2 if width >= 120 else 1
            assert sum(size for _, size in fitted) + gap * (len(fitted) - 1) <= width
        kept = {column.key for column, _ in fit_columns(table.columns, 77, {"inst", "con"})}
        assert {column.key for column in table.columns if column.narrow} - {"inst", "con"} <= kept, table.key


def test_a_column_is_never_narrower_than_it_says() -> None:
    columns: list[Column[int]] = [
        Column("a", "A", 5, str, "a"),
        Column("b", "B", 10, str, "b", flexible=True),
        Column("c", "C", 7, str, "c", narrow=False, most=20),
    ]
    assert [(column.key, size) for column, size in fit_columns(columns, 16)] == [("a", 5), ("b", 10)]
    assert [(column.key, size) for column, size in fit_columns(columns, 44)] == [("a", 5), ("b", 30), ("c", 7)]
    assert [(column.key, size) for column, size in fit_columns(columns, 100)] == [("a", 5), ("b", 73), ("c", 20)]


@acted
async def test_one_finding_more_moves_nothing_below() -> None:
    places = []
    async with stage(size=(200, 50)) as acting:
        for notes in ((), ("one",), ("one", "two"), ("one", "two", "three")):
            await acting.show(replace(quiet(), notes=notes))
            places.append(acting.app.query_one("#overview-chart").region)
    assert places[0] == places[1] == places[2]
    assert places[3].y == places[0].y + 1
