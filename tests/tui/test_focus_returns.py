"""Focus: after a page or dialog closes, the table and row are those of before."""

from __future__ import annotations

from typing import Any

from presman.actions.gateway import Gateway
from tests.tui.drive import Stage, acted
from tests.tui.test_live import playing

OPENED_AND_LEFT = {
    "page about the row": ("d", "escape"),
    "help": ("question_mark", "q"),
    "actions": ("a", "escape"),
    "an action, asked": ("a", "1", "n", "enter"),
    "what can be copied": ("c", "escape"),
    "columns": ("O", "escape"),
    "what if": ("W", "escape"),
    "filter": ("slash", "escape"),
    "go to": ("colon", "escape"),
    "a time": ("J", "escape"),
    "commands": ("ctrl+p", "escape"),
}


def place(acting: Stage) -> tuple[Any, Any]:
    """Return the table that has the focus and which row is under its cursor."""
    grid = acting.app.focused
    return grid.table.key, grid.table.identity(grid.row)


@acted
async def test_the_cursor_returns_to_its_row() -> None:
    async with playing("holders", (120, 35)) as (acting, polls):
        await polls(3)
        acting.app.gateway = Gateway()
        await acting.keys("4", "tab", "down")
        before = place(acting)
        assert before[0] == "running"
        for way, (*inside, leave) in OPENED_AND_LEFT.items():
            first = acting.screen
            await acting.keys(*inside)
            assert acting.screen != first, way
            await polls(1)
            await acting.keys(leave)
            await polls(1)
            assert place(acting) == before, way
