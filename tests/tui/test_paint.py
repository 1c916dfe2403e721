"""The cost of a refresh: none without changes, and only what is visible."""

from __future__ import annotations

import gc
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import replace
from rich.segment import Segment
from rich.style import Style
from textual._styles_cache import StylesCache
from textual.geometry import Region
from textual.screen import Screen
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.widget import Widget

from presman.figures.drawing.columns import cells_needed, fit_columns, wrapped_row
from presman.figures.figure import COUNT, TEXT, Bar, Figure
from presman.tui import textual_internals
from presman.tui.tab_panels import AHEAD
from presman.tui.textual_internals import PatientScreen
from presman.tui.widgets.grid import Grid
from presman.tui.widgets.heatmap import HeatMap
from presman.tui.widgets.line_api import LineApiWidget, LineView, PlainBackground
from tests.memory import forget_others
from tests.thorough import some
from tests.tui.drive import acted, stage
from tests.tui.readings import busy, group, quiet, sessions
from tests.tui.test_live import playing

ROOT = Path(__file__).parents[2]


@acted
async def test_unchanged_content_paints_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage(busy(), size=(200, 50), painted=True) as acting:
        await acting.mount_all()
        assert set(AHEAD) < set(acting.app.panels.made)
        painted: list[Widget] = []
        original = Widget.refresh

        def refresh(self: Widget, *regions: Any, **how: Any) -> Any:
            painted.append(self)
            return original(self, *regions, **how)

        for turn, tab in enumerate("12345"):
            await acting.keys(tab)
            number = 3 * turn + 3
            await acting.show(busy(number - 1), busy(number))
            again = replace(busy(number), number=number + 1, at=busy(number).at + timedelta(milliseconds=400))
            with monkeypatch.context() as patched:
                patched.setattr(Widget, "refresh", refresh)
                patched.setattr(PatientScreen, "repaint", Mock(return_value=False))  # all goes through `refresh`
                acting.clock.now += 1
                await acting.show(again)
                acting.app._tick()
                await acting.settle()
            assert painted == [], tab


@acted
async def test_a_tab_and_its_name_are_in_one_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line of tabs came 15 ms after the panel."""
    frames: list[set[int]] = []
    paint = Screen._compositor_refresh

    def painted(screen: Screen[None]) -> None:
        frames.append({y for region in screen._compositor._dirty_regions for y in range(region.y, region.bottom)})
        paint(screen)

    async with stage(busy(), size=(200, 50), painted=True) as acting:
        await acting.mount_all()
        line = acting.app.frame.query_one("#tabs").region.y
        for tab in "426":
            await acting.keys(tab)
            await acting.settle()
            monkeypatch.setattr(Screen, "_compositor_refresh", painted)
            frames.clear()
            await acting.keys("3")
            monkeypatch.undo()
            assert line in next(rows for rows in frames if line + 1 in rows)


@acted
async def test_a_changed_value_paints_a_few_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage(replace(busy(), sessions=sessions(40)), size=(200, 50), painted=True) as acting:
        await acting.mount_all()
        await acting.keys(*"12345")
        cells: list[int] = []
        original = Widget.refresh

        def refresh(self: Widget, *regions: Any, **how: Any) -> Any:
            cells.extend(region.area for region in regions)
            assert regions, f"{self} would be painted whole"
            return original(self, *regions, **how)

        rows = sessions(40)
        with monkeypatch.context() as patched:
            patched.setattr(Widget, "refresh", refresh)
            patched.setattr(PatientScreen, "repaint", Mock(return_value=False))
            await acting.show(replace(busy(2), sessions=(*rows[:3], rows[3]._replace(io_mb=13.0), *rows[4:])))
        assert 0 < sum(cells) < 20


@acted
async def test_content_shown_again_needs_no_second_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage(busy(), size=(200, 50), painted=True) as acting:
        await acting.mount_all()
        for tab in "21314151":  # each is painted: in a burst a tab may be skipped
            await acting.keys(tab)
        wanted: list[Widget] = []
        original = Widget.refresh

        def refresh(self: Widget, *regions: Any, **how: Any) -> Any:
            if how.get("layout"):
                wanted.append(self)
            return original(self, *regions, **how)

        monkeypatch.setattr(Widget, "refresh", refresh)
        for tab in "245":
            wanted.clear()
            await acting.keys(tab)
            assert {widget.id for widget in wanted if not isinstance(widget, ScrollBar)} == {
                "panel-overview",
                acting.app.panels.present.id,
            }
            await acting.keys("1")


def cells_of(strips: list[Strip]) -> list[list[tuple[str, object]]]:
    """Return the visible part of each cell: of a blank only the background."""

    def looks(char: str, style: Style | None) -> object:
        return style.bgcolor if style is not None and char == " " else style

    return [[(char, looks(char, segment.style)) for segment in strip for char in segment.text] for strip in strips]


@pytest.mark.parametrize("size", some([(80, 24)], [(200, 50)]))
@acted
async def test_lines_are_painted_as_textual_would(size: tuple[int, int]) -> None:
    """Painting without Textual's style cache gives the same cells as with it."""
    compared: set[str] = set()
    async with stage(replace(busy(), sessions=sessions(40)), size=size, painted=True) as acting:
        for tab in "1234567":
            await acting.keys(tab)
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


@pytest.mark.parametrize("theme", some(["solarized-light"], ["textual-dark"]))
@acted
async def test_containers_are_painted_as_textual_would(monkeypatch: pytest.MonkeyPatch, theme: str) -> None:
    """Their blank lines are made without Textual's style cache, which takes longer than all that is on them."""
    compared: set[str] = set()
    async with stage(busy(), size=(120, 30), painted=True) as acting:
        acting.app.theme = theme
        await acting.settle()
        for tab in "126":
            await acting.keys(tab)
            screen = acting.app.screen
            for widget in (screen, *screen.walk_children(PlainBackground)):
                crop = Region(0, 0, *widget.region.size)
                with monkeypatch.context() as patched:
                    patched.setattr(StylesCache, "render_widget", Mock(side_effect=AssertionError))
                    direct = widget.render_lines(crop)
                assert cells_of(direct) == cells_of(Widget.render_lines(widget, crop))
                compared.add(type(widget).__name__)
    assert {"MonitorScreen", "Container", "Panel", "Horizontal"} <= compared


@acted
async def test_the_size_of_a_widget_is_read_once_for_all_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Widget] = []
    own = LineView.size
    async with stage(busy(), size=(200, 50)) as acting:
        widgets = [each for each in acting.app.screen.walk_children(LineView) if each.region.height > 5]
        monkeypatch.setattr(LineView, "size", property(lambda self: asked.append(self) or own.fget(self)))  # type: ignore[attr-defined]
        for widget in widgets:
            widget.render_lines(Region(0, 0, *widget.region.size))
        assert {asked.count(widget) for widget in widgets} == {2}


@acted
async def test_old_data_are_greyed_line_by_line() -> None:
    async with stage(busy(), size=(120, 30), painted=True) as acting:
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
    """Return how many painted lines are in memory, of those painted since `forget_others`."""
    gc.collect()
    return sum(type(found) is Strip for found in gc.get_objects())


@acted
async def test_lines_no_longer_on_screen_are_released() -> None:
    forget_others()
    async with stage(busy(), size=(200, 50), painted=True) as acting:
        await acting.mount_all()
        seen = {tab: await acting.press(tab) for tab in "5421"}
        assert acting.app.panels._painted == {"sessions", "parallel", "cpu", "overview"}
        all_tabs = lines_kept()
        acting.app.panels.forget_hidden()
        textual_internals.tidy_garbage()
        await acting.settle()
        assert lines_kept() < all_tabs - 3 * 30
        assert {tab: await acting.press(tab) for tab in "5421"} == seen


def test_cut_texts_of_one_poll_are_not_cached() -> None:
    """Rich keeps 16,384 of them, some 15 MB: each poll has other ones."""
    kept = []
    for poll in range(3):
        textual_internals.tidy_garbage()
        kept.append(Segment._split_cells.cache_info().currsize)
        for line in range(10):
            Segment(f"\u8868 poll {poll} line {line}").split_cells(2)
        assert Segment._split_cells.cache_info().currsize == 10
    assert kept == [0, 0, 0]


@acted
async def test_blank_lines_of_containers_are_one_line() -> None:
    """Fifty lines on screen, and those of three containers, each cut at the edges of the widgets above it."""
    forget_others()
    before = lines_kept()
    async with stage(busy(), size=(200, 50), painted=True) as acting:
        assert acting.app.panels._painted == {"overview"}
        assert lines_kept() - before < 6 * 50


@acted
async def test_places_that_changed_do_not_add_up() -> None:
    async with stage(replace(busy(), sessions=sessions(40)), size=(200, 50), painted=True) as acting:
        await acting.keys("5")
        rows = sessions(40)
        for number in range(1, 20):
            changed = tuple(row._replace(io_mb=number * 1.5) if row is rows[number] else row for row in rows)
            await acting.show(replace(busy(number + 1), sessions=changed))
        assert max(len(widget._dirty_regions) for widget in acting.app.screen.walk_children(Widget)) < 10


@acted
async def test_only_visible_rows_are_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage(replace(busy(), sessions=sessions(500)), size=(200, 50), tab="5") as acting:
        grid = acting.app.query_one("#grid-sessions", Grid)
        drawn: list[object] = []
        monkeypatch.setattr(
            "presman.figures.drawing.columns.wrapped_row",
            lambda fitted, row, *how: drawn.append(row) or wrapped_row(fitted, row, *how),
        )
        await acting.show(replace(busy(2), sessions=sessions(500)))
        assert len(grid.rows.shown) == 500
        assert 0 < len(drawn) <= 50


@acted
async def test_scrolling_reaches_every_row() -> None:
    async with stage(replace(busy(), sessions=sessions(100)), size=(120, 30), tab="5") as acting:
        grid = acting.app.query_one("#grid-sessions", Grid)
        await acting.keys(*["pagedown"] * 15)
        last = grid.rows.shown[-1]
        assert grid.row is last
        assert f"1:{last.sid}," in acting.screen
        await acting.keys("home")
        assert grid.row is grid.rows.shown[0]


@acted
async def test_hidden_panels_are_not_updated(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage(busy(), size=(200, 50), tab="5") as acting:
        await acting.keys("1")
        shown: list[object] = []
        monkeypatch.setattr(acting.app.panels.of("sessions"), "show", shown.append)
        await acting.show(busy(2))
        assert shown == []


def test_importing_the_app_is_light() -> None:
    code = (
        "import sys, presman.tui.app, presman.figures, presman.tabs.plan, presman.tui.panels.latency_panel; "
        "import presman.sources.subprocess_source; "
        "heavy = {'sqlalchemy', 'oracledb', 'plotext', 'json', 'presman.analysis.assemble', "
        "'presman.analysis.plans.lint', 'presman.tui.pages.content'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_tables_need_no_textual_and_a_simulated_source_no_openssl() -> None:
    code = (
        "import sys, presman.figures, presman.sources.source_process, presman.sources.simulator.simulation; "
        "heavy = 'textual', 'rich', '_hashlib', 'difflib'; "
        "print([name for name in sys.modules if name.startswith(heavy)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_columns_fit_every_width() -> None:
    from presman.figures.group_figures import CPU, OVERVIEW, PARALLEL_GROUPS
    from presman.figures.instance_figures import SERVERS, WAITS
    from presman.figures.io_figures import IO
    from presman.figures.session_figures import SESSIONS
    from presman.figures.statement_figures import QUEUE, RUNNING

    for table in (OVERVIEW, CPU, IO, PARALLEL_GROUPS, QUEUE, RUNNING,
                  SERVERS, SESSIONS, WAITS):  # fmt: skip
        names = [column.key for column in table.columns]
        assert len(names) == len(set(names))
        assert all(column.help for column in table.columns)
        for width in range(58, 260):
            fitted = fit_columns(table.columns, width, {"inst_id", "con_id"})
            gap = 2 if width >= 120 else 1
            assert sum(size for _, size in fitted) + gap * (len(fitted) - 1) <= width
        kept = {column.key for column, _ in fit_columns(table.columns, 77, {"inst_id", "con_id"})}
        assert {column.key for column in table.columns if column.narrow} - {"inst_id", "con_id"} <= kept, table.key


def test_a_column_is_never_narrower_than_its_width() -> None:
    columns: list[Figure[int]] = [
        Figure("a", "A", TEXT, "a", str, width=5),
        Figure("b", "B", TEXT, "b", str, width=10, flexible=True),
        Figure("c", "C", TEXT, "c", str, width=7, narrow=False, most=20),
    ]
    assert [(column.key, size) for column, size in fit_columns(columns, 16)] == [("a", 5), ("b", 10)]
    assert [(column.key, size) for column, size in fit_columns(columns, 44)] == [("a", 5), ("b", 30), ("c", 7)]
    assert [(column.key, size) for column, size in fit_columns(columns, 100)] == [("a", 5), ("b", 73), ("c", 20)]


def test_a_text_is_not_cut_for_a_longer_bar_or_one_more_column() -> None:
    """Widths: name 6 to 20, bar 10, two more columns; 2 blanks between them from 120 cells on."""
    columns: list[Figure[str]] = [
        Figure("name", "Name", TEXT, "a", str, width=6, most=20),
        Figure("bar", "Bar", COUNT, "b", lambda _: 1, width=10, flexible=True, bar=lambda _: Bar(1, 1)),
        Figure("more", "More", TEXT, "c", lambda _: "m", width=5, narrow=False),
        Figure("words", "Words", TEXT, "d", lambda row: f"{row} {row}", width=8, most=40, narrow=False),
    ]
    rows = ["SHORT", "_ORACLE_BACKGROUND"]
    assert cells_needed(columns, rows) == {"name": 18, "more": 1, "words": 37}
    assert cells_needed(columns, ()) == {}

    def widths(width: int) -> list[tuple[str, int]]:
        return [(column.key, size) for column, size in fit_columns(columns, width, needed=cells_needed(columns, rows))]

    assert widths(30) == [("name", 18), ("bar", 11)]
    assert widths(45) == [("name", 18), ("bar", 20), ("more", 5)]
    assert widths(83) == [("name", 18), ("bar", 20), ("more", 5), ("words", 37)]
    assert widths(70) == [("name", 18), ("bar", 10), ("more", 4), ("words", 35)], (
        "cut, but there, and as long as can be"
    )
    assert widths(100) == [("name", 18), ("bar", 37), ("more", 5), ("words", 37)]


def test_vital_columns_get_room_first_and_go_last() -> None:
    columns: list[Figure[int]] = [
        Figure("name", "Name", TEXT, "a", str, width=6, vital=True),
        Figure("bar", "Bar", COUNT, "b", lambda _: 1, width=10, flexible=True, bar=lambda _: Bar(1, 1)),
        Figure("use", "Use", TEXT, "c", str, width=5),
        Figure("state", "State", TEXT, "d", str, width=8, vital=True),
        Figure("trend", "Trend", TEXT, "e", str, width=9, narrow=False),
        Figure("queued", "Queued", TEXT, "f", str, width=6, narrow=False, vital=True),
    ]

    def shown(width: int) -> list[str]:
        return [column.key for column, _ in fit_columns(columns, width)]

    assert shown(32) == ["name", "bar", "use", "state"]  # 6 + 10 + 5 + 8 and a blank between two
    assert shown(31) == ["name", "bar", "state"]
    assert shown(25) == ["name", "state", "queued"]  # 26 would have room for the bar
    assert shown(14) == ["name", "queued"], "6 and 6: what is left has room for that much"
    assert shown(12) == ["name"]
    assert shown(39) == ["name", "bar", "use", "state", "queued"], "7 more cells: before the bar is longer than 10"
    assert shown(58) == ["name", "bar", "use", "state", "queued"], "the trend is shown once the bar has 20 cells"
    assert shown(59) == ["name", "bar", "use", "state", "trend", "queued"]


@acted
async def test_state_queue_and_servers_are_the_last_to_go() -> None:
    async with stage(busy(), size=(120, 35)) as acting:
        for width, height, heads in (
            (120, 35, ("CPU", "state", "queued", "PX servers")),
            (80, 24, ("CPU", "state", "PX servers")),  # the state says how many are queued, and for how long
            (60, 15, ("state", "PX servers")),
        ):
            await acting.resize(width, height)
            head = next(line for line in acting.screen.splitlines() if line.startswith(" Group"))
            assert all(each in head for each in heads), head
            assert ("I/O trend" in head) <= ("PX servers" in head and "queued" in head)
            assert "PX servers 214/256" in acting.screen.splitlines()[0]
            assert "12 queued 3:41" in acting.screen


@acted
async def test_columns_grow_with_their_contents_and_stay() -> None:
    async with stage(busy(), size=(120, 35)) as acting:
        long = replace(busy(2), groups=(*busy().groups, group("_ORACLE_BACKGROUND_GROUP_")))
        await acting.show(long)
        assert " _ORACLE_BACKGROUND_GROUP_ " in acting.screen
        wide = acting.screen.splitlines()[5]
        await acting.show(busy(3))
        assert acting.screen.splitlines()[5] == wide, "no column shrinks when a row is removed"


@pytest.mark.parametrize(("scenario", "key", "size"), [("mixed", "6", (200, 50)), ("throttled", "2", (160, 45)),
                                                       ("pdb", "8", (160, 45)), ("storm", "1", (160, 45))])  # fmt: skip
@acted
async def test_no_text_is_cut_if_there_is_room(scenario: str, key: str, size: tuple[int, int]) -> None:
    async with playing(scenario, size) as (acting, polls):
        await polls(3)
        await acting.keys(key)
        grid = acting.app.panels.present.grids()[0]
        top = grid.region.y
        rows = acting.screen.splitlines()[top + 2 : top + 2 + len(grid.rows.shown)]
        assert len(rows) > 2
        assert not [row for row in rows if "…" in row]


@acted
async def test_the_overview_has_its_chart_from_100_columns_on_if_there_are_28_lines() -> None:
    async with stage(busy(), size=(120, 35)) as acting:
        for size, shown in (((120, 35), True), ((100, 28), True), ((120, 27), False), ((99, 35), False)):
            await acting.resize(*size)
            assert ("CPUs used, 15 min" in acting.screen) is shown, size
            assert "Top waits" in acting.screen, size


@acted
async def test_a_new_finding_moves_nothing_below() -> None:
    places = []
    async with stage(size=(200, 50)) as acting:
        for notes in ((), ("one",), ("one", "two")):  # behind the all-clear
            await acting.show(replace(quiet(), notes=notes))
            places.append(acting.app.query_one("#overview-chart").region)
    assert places[0] == places[1]
    assert places[2].y == places[0].y + 1


@acted
async def test_lines_that_changed_are_painted_without_messages_between_widgets(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage(busy(), size=(200, 50), painted=True) as acting:
        refreshed: list[tuple[Region, ...]] = []
        frames: list[set[Region]] = []
        refresh, paint = Widget.refresh, Screen._compositor_refresh

        def noted(self: Widget, *regions: Region, **how: Any) -> Any:
            refreshed.append(regions)
            return refresh(self, *regions, **how)

        def painted(screen: Screen[None]) -> None:
            frames.append({*screen._compositor._dirty_regions})
            paint(screen)

        monkeypatch.setattr(Widget, "refresh", noted)
        monkeypatch.setattr(Screen, "_compositor_refresh", painted)
        await acting.show(replace(busy(2), groups=()))
        assert any(frames)
        assert not any(refreshed)
