"""No text is cut, and no row hidden, while lines or cells are free: on any tab and page, in any scenario."""

from __future__ import annotations

import re
from itertools import groupby

import pytest

from presman.figures.drawing.columns import is_text
from presman.sources.simulator.loading import scenario_names
from presman.tabs import tab, tab_names
from presman.tui.widgets.grid import Grid
from tests.tui.drive import Stage, acted, body
from tests.tui.test_live import playing

SIZES = [(80, 24), (120, 35)]
CUT = re.compile(r"[^\s…]…|… .*\d+ more")
"""The end of a text in its middle, or rows and sentences that are counted in place of being shown."""

ORACLES_OWN = re.compile(r"_ORACLE_BACK.*…")
"""A group that is in every database, with the longest name and hardly any use: it is known without its tail."""


def cut_above_free_lines(screen: str) -> list[str]:
    """The lines in which something is cut, where more lines are empty than part one thing from another."""
    lines = body(screen).splitlines()
    runs = [len(list(run)) for is_blank, run in groupby(lines, key=lambda line: not line.strip()) if is_blank]
    return (
        [line for line in lines if CUT.search(line) and not ORACLES_OWN.search(line)]
        if max(runs, default=0) > 1
        else []
    )


def cut_beside_free_cells(grid: Grid) -> list[str]:
    """The columns of a table whose texts are cut while another text of it has cells that it does not need."""
    frame = grid.drawing
    fitted = frame.fitted(grid.scrollable_content_region.width)
    known = [(column.key, size, max(frame._needed[column.key], len(column.head)), is_text(column))
             for column, size in fitted if column.key in frame._needed]  # fmt: skip
    free = [key for key, size, needed, words in known if words and size > needed]
    return [f"{key}, and {free} have cells" for key, size, needed, words in known if words and size < needed and free]


def looked_at(acting: Stage, where: str) -> list[str]:
    """What is cut for no reason on the screen."""
    found = [f"{where}: {line}" for line in cut_above_free_lines(acting.screen)]
    if not acting.app.reader.is_open:
        grids = [grid for grid in acting.app.panels.present.grids() if grid.size.height]
        found += [f"{where}, {grid.table.key}: {each}" for grid in grids for each in cut_beside_free_cells(grid)]
    return found


async def pages(acting: Stage, tab_key: str, keys: tuple[str, ...]) -> list[str]:
    """Go through the pages of a tab: what is behind its first row, its help, what its own keys show."""
    found = looked_at(acting, tab_key)
    for key in ("d", "enter", "question_mark", *keys):
        await acting.keys(key)
        found += looked_at(acting, f"{tab_key} {key}")
        while acting.app.reader.is_open or acting.app.monitor.choices.scopes:
            await acting.keys("escape")
        await acting.keys(tab_key)
    return found


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("scenario", scenario_names())
@acted
async def test_nothing_is_cut_while_there_is_room(scenario: str, size: tuple[int, int]) -> None:
    async with playing(scenario, size, whole=True, seed=None) as (acting, polls):
        await polls(4)
        found: list[str] = []
        for name in tab_names():
            if name.name not in acting.app.panels.hidden():
                await acting.keys(name.key)
                await polls(1)
                found += await pages(acting, name.key, tuple(key.keys for key in tab(name.name).keys))
        assert not found, "\n".join(found)
