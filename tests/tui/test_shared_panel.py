"""How the parts of a tab share its lines: by need, the main table first, and none without contents."""

from __future__ import annotations

import pytest

from presman.tui.panels.shared_panel import Wanted, share
from tests.tui.drive import acted
from tests.tui.test_live import playing

ABOUT = Wanted(2, 2, 2, 2)


@pytest.mark.parametrize(
    ("height", "found"),
    [
        # The queue has its first 5 before the sessions have all their rows, and those before the queue has all of its.
        (25, [2, 11, 12]),
        (20, [2, 6, 12]),
        (15, [2, 5, 8]),
        # Of 8 lines two are about it all and three each table has at least; with 7 the queue is away.
        (8, [2, 3, 3]),
        (7, [2, 0, 5]),
        # Lines left after all rows go to texts, from the top, then to the last part.
        (30, [2, 14, 14]),
        (40, [2, 14, 24]),
    ],
)
def test_lines_are_shared_by_need(height: int, found: list[int]) -> None:
    queue, sessions = Wanted(3, 5, 11, 14), Wanted(3, 5, 12, 20)
    assert sum(found) == height
    assert share(height, (ABOUT, queue, sessions), 2) == found


def test_a_part_without_its_minimum_room_is_hidden() -> None:
    assert share(6, (ABOUT, Wanted(5, 5, 5, 5), Wanted(3, 3, 3, 3)), 0) == [2, 0, 4]
    assert share(1, (ABOUT,), 0) == [0]
    assert share(9, (), 0) == []


@acted
async def test_on_the_smallest_screen_each_visible_table_has_a_row() -> None:
    async with playing("changes", (60, 15), whole=True, seed=None) as (acting, polls):
        await polls(8)
        lines = (await acting.press("enter")).splitlines()
        for title in ("Queued  1", "Sessions  56"):
            place = next(index for index, line in enumerate(lines) if line.strip().startswith(title))
            assert "REPORTS" in lines[place + 2]
        assert "Top SQL" not in acting.screen
