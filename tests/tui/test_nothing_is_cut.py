"""No text is cut and no row hidden if there is room: on any tab and page, in any scenario."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pytest

from presman.figures.drawing.columns import is_text
from presman.tabs import TabName, tab, tab_names
from presman.tui.widgets.grid import Grid
from tests.scenarios import KINDS, with_short_past
from tests.thorough import THOROUGH, some
from tests.tui.drive import Stage, acted, body
from tests.tui.test_live import Polls, playing

SIZES = [(80, 24), (120, 35)]
BETWEEN = (100, 30)
"""A size in which tables may be cut above a free line or two, but no sentence."""

PAGED = {"locked": SIZES[0], "mixed": SIZES[1], "pdb": SIZES[0], "rac": SIZES[1]}
"""Scenarios of which the pages behind tabs are gone through, too: a holder, a queue, containers, instances."""

CUT = re.compile(r"[^\s…]…|… .*\d+ more")
"""The end of a text in its middle, or rows and sentences that are counted in place of being shown."""

SPOKEN = re.compile(r" {1,2}[●▲✕?!·▬┆○▼] \S|  ?(?:DO|WHY|TO START IT|SERVERS)  ")
"""The begin of a line that is a sentence on its own: its sign, or its label."""

IN_A_ROW = re.compile(r"\S {2,}\S.*…$")
"""A cell of a table, after other cells and blanks."""

COUNTED = re.compile(r"… \+?\d+ more")
"""Alerts that are counted in place of being shown."""

ORACLES_OWN = re.compile(r"_ORACLE_BAC.*…")
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


def cut_sentences(screen: str) -> list[str]:
    """The lines at the top, and the sentences with a sign before them, that end in the middle."""
    lines = screen.splitlines()
    spoken = [line for line in body(screen).splitlines() if SPOKEN.match(line) and not IN_A_ROW.search(line)]
    return [line for line in (*lines[:3], *spoken) if line.rstrip().endswith("…") and not COUNTED.search(line)]


def cut_beside_free_cells(grid: Grid) -> list[str]:
    """Return the columns with cut texts although another column has unused cells."""
    frame = grid.drawing
    fitted = frame.fitted(grid.scrollable_content_region.width)
    known = [(column.key, size, max(frame._needed[column.key], len(column.head)), is_text(column))
             for column, size in fitted if column.key in frame._needed]  # fmt: skip
    free = [key for key, size, needed, words in known if words and size > needed]
    return [f"{key}, and {free} have cells" for key, size, needed, words in known if words and size < needed and free]


def looked_at(acting: Stage, where: str) -> list[str]:
    """What is cut for no reason on the screen."""
    screen = acting.screen
    found = [f"{where}: {line}" for line in cut_sentences(screen)]
    if (acting.app.size.width, acting.app.size.height) == BETWEEN:
        return found
    found += [f"{where}: {line}" for line in cut_above_free_lines(screen)]
    if not acting.app.reader.is_open:
        grids = [grid for grid in acting.app.panels.present.grids() if grid.size.height]
        found += [f"{where}, {grid.table.key}: {each}" for grid in grids for each in cut_beside_free_cells(grid)]
    return found


async def pages(acting: Stage, name: TabName) -> list[str]:
    """Go through the pages of a tab: those of its first row and of its own keys."""
    found = []
    for key in ("d", "enter", *(key.keys for key in tab(name.name).keys)):
        await acting.keys(key)
        found += looked_at(acting, f"{name.key} {key}")
        while acting.app.reader.is_open or acting.app.monitor.choices.scopes:
            await acting.keys("escape")
        if acting.app.monitor.choices.tab != name.name:
            await acting.keys(name.key)
    return found


async def tabs(acting: Stage, polls: Polls, is_paged: bool, names: Sequence[TabName]) -> list[str]:
    """Go through some tabs, each with a poll of its own."""
    found = []
    for name in names:
        if name.name not in acting.app.panels.hidden():
            await acting.keys(name.key)
            await polls(1)
            found += looked_at(acting, name.key)
            found += await pages(acting, name) if is_paged else []
    return found


def sizes_of(scenario: str) -> list[tuple[int, int]]:
    """Return the sizes for a scenario, other ones for its neighbours."""
    if THOROUGH:
        return [*SIZES, BETWEEN]
    return [PAGED[scenario] if scenario in PAGED else [*SIZES, BETWEEN][KINDS.index(scenario) % 3]]


def tabs_of(scenario: str) -> Sequence[TabName]:
    """Return some tabs, other ones for its neighbours: every other tab with its pages, or every third."""
    alike, every = ([*PAGED], 2) if scenario in PAGED else (KINDS, 3)
    return tab_names() if THOROUGH else tab_names()[alike.index(scenario) % every :: every]


@pytest.mark.parametrize("scenario", KINDS)
@acted
async def test_nothing_is_cut_if_there_is_room(scenario: str) -> None:
    async with playing(scenario, SIZES[0], whole=True, seed=None) as (acting, polls):
        await polls(4)
        found = []
        for size in sizes_of(scenario):
            await acting.resize(*size)
            is_paged = size != BETWEEN and (THOROUGH or scenario in PAGED)
            found += [f"{size}, tab {each}" for each in await tabs(acting, polls, is_paged, tabs_of(scenario))]
        assert not found, "\n".join(found)


@acted
async def test_no_help_is_cut_if_there_is_room() -> None:
    """It is that of the tab, whatever the database does."""
    async with playing("pdb", SIZES[0], whole=True, seed=None) as (acting, polls):
        await polls(1)
        for turn, size in enumerate(SIZES):
            await acting.resize(*size)
            for name in tab_names() if THOROUGH else tab_names()[turn :: len(SIZES)]:
                await acting.keys(name.key, "question_mark")
                assert acting.app.reader.is_open
                assert not cut_above_free_lines(acting.screen), (name, size)
                await acting.keys("escape")


@pytest.mark.parametrize(
    ("scenario", "view"),
    some(
        [("storm", "V$SESSION"), ("throttled", "V$RSRC_PLAN")],
        [("quiet", "V$SESSION"), ("throttled", "V$SESSION"), ("quiet", "V$RSRC_PLAN"), ("storm", "V$RSRC_PLAN")],
    ),
)
@acted
async def test_no_sentence_is_cut_where_a_view_does_not_answer(scenario: str, view: str, tmp_path: Path) -> None:
    """A sentence on why something is not known, with the driver's own words in it, is the longest of all."""
    file = tmp_path / f"{scenario}.toml"
    outage = f'\n[[outages]]\nat = 5\nlasts = "2h"\nviews = ["{view}"]\n'
    file.write_text(Path(with_short_past(scenario)).read_text(encoding="utf-8") + outage, encoding="utf-8")
    async with playing(str(file), SIZES[0], whole=True, seed=None) as (acting, polls):
        await polls(4)
        found = await tabs(acting, polls, False, tabs_of(scenario))
        assert not found, "\n".join(found)
