"""Every tab of the registry: painted, resized, sorted, filtered, helped, exported, printed.

A new tab is held to this without a line added here.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from presman.base.measure_names import MEASURES
from presman.output.text_report import full
from presman.tabs import TabName, tab, tab_names
from presman.tui.app import MonitorApp
from presman.tui.keys.table_keys import INSTANCES, WINDOW
from presman.tui.widgets.table_frame import HEADER_LINES
from tests.thorough import THOROUGH
from tests.tui.drive import Stage, acted
from tests.tui.test_live import playing

SIZES = [(200, 50), (160, 45), (120, 30), (80, 24), (60, 15)]
TABS = [pytest.param(name, id=name.name) for name in tab_names()]


def sizes_of(name: TabName) -> list[tuple[int, int]]:
    """Return the size for a tab, other ones for its neighbours."""
    return SIZES[1:] if THOROUGH else [SIZES[1 + tab_names().index(name) % 4]]


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    """What would otherwise be a notice that no test looks at."""
    found: list[Exception] = []
    monkeypatch.setattr(MonitorApp, "report_error", lambda _app, error: found.append(error))
    return found


def titles(acting: Stage) -> list[str]:
    """Return the titles of the tables with room for a row; others are blank."""
    scopes = ((grid, acting.app.screen.find_widget(grid)) for grid in acting.app.panels.present.grids())
    return [grid.table.title for grid, place in scopes if place.visible_region.height > HEADER_LINES]


async def painted_at_any_size(acting: Stage, name: TabName) -> None:
    """Make the screen smaller, and as large as it was."""
    for size in sizes_of(name):
        await acting.resize(*size)
        # On the smallest screen advice on a queue may leave no line for the tables of tab Parallel.
        assert titles(acting) or (name.name, size) == ("parallel", SIZES[-1]), size
        for title in titles(acting):
            assert title[:20] in acting.screen, (size, title)
        assert all(len(line) <= size[0] for line in acting.screen.splitlines()), size
    await acting.resize(*SIZES[0])


async def sorted_filtered_and_read(acting: Stage) -> None:
    """Go through the tables of the tab on show."""
    shown = next(each for each in tab_names() if each.name == acting.app.monitor.choices.tab)
    for _ in acting.app.panels.present.grids():
        await acting.keys("s", "S")
        grid = acting.app.panels.grid
        row = None if grid is None else grid.row
        await acting.keys("enter")
        if acting.app.reader.is_open:
            assert acting.app.reader.text
            await acting.keys("escape")
        elif acting.app.monitor.choices.scopes:
            assert acting.app.panels.of("drill_down").shows(acting.app.focused)
            await acting.keys("escape")
        elif acting.app.monitor.choices.tab != shown.name:
            assert acting.app.monitor.reading.at == row.at, "it went to the event"
            await acting.keys(shown.key)
        else:
            assert grid is not None
            assert grid.row is None, f"{grid.table.key}: a row, and no page about it"
        await acting.keys("tab")
    await acting.keys("slash", *"zzzz", "enter")
    for grid in acting.app.panels.present.grids():
        assert not (grid.rows.filterable and grid.rows.shown), grid.table.key
    assert "filter: zzzz" in acting.screen
    await acting.keys("escape")
    assert any(grid.rows.shown for grid in acting.app.panels.present.grids())


@pytest.mark.parametrize("name", TABS)
@acted
async def test_every_tab_supports_all_operations(
    name: TabName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, faults: list[Exception]
) -> None:
    monkeypatch.chdir(tmp_path)
    async with playing("pdb" if name.containers else "storm", SIZES[0]) as (acting, polls):
        await polls(2)
        assert f"[{name.key} {name.title}]" in await acting.press(*name.key.removeprefix("1"))
        await painted_at_any_size(acting, name)
        await sorted_filtered_and_read(acting)
        await acting.keys("question_mark")
        names_every_key_and_column(acting.app.reader.text, name)
        await acting.keys("escape", "e")
        measure = acting.app.recording.measure
        assert f"▸ CSV {measure}" in acting.screen.splitlines()[0]
        await polls(1)
        await acting.keys("e")
        moment = acting.app.monitor.moment()
    assert faults == []
    assert {measure, tab(name.name).measure} <= set(MEASURES)
    (path,) = tmp_path.glob(f"presman-DWPROD-{measure}-*.csv")
    with path.open(encoding="utf-8", newline="") as file:
        assert len({row["time"] for row in csv.DictReader(file)}) == 2, "one poll when it began, one after"
    assert moment is not None
    text = full(moment.reading, None, moment.snapshots)
    for part in tab(name.name).rows():
        if part.rows(moment) and part.in_text != 0 and name.name != "events":  # a text knows a single moment
            assert f"-- {part.table.title} (" in text, part.table.key


def names_every_key_and_column(text: str, name: TabName) -> None:
    """Check the help page of a tab."""
    shown = tab(name.name)
    assert all(key.help in text for key in shown.keys)
    assert all(note in text for note in shown.notes)
    assert (WINDOW.key.help in text, INSTANCES.key.help in text) == (shown.over_time, False)
    for table in shown.tables:
        for column in table.columns:
            assert column.help in text, column.key


def test_keys_and_names_of_tabs_are_unique() -> None:
    names = tab_names()
    assert len({name.key for name in names}) == len(names)
    assert [name.name for name in names][:2] == ["overview", "cpu"]
    for name in names:
        own = [key.keys for key in tab(name.name).keys]
        assert len(own) == len(set(own)), name
