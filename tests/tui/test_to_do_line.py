"""The line DO: on every tab, as long as there is room, with the key that copies its command."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from presman.analysis.advice.to_do import Step, ToDo
from presman.drawing.lines import plain
from presman.tui.feed import Lost
from presman.tui.widgets.top_lines import do_line
from tests.tui.drive import acted, stage
from tests.tui.readings import busy, quiet

END = "end MARTIN 1:526 (idle 22:10, keeps 32 servers): then the head of BATCH can start"
KILL = "ALTER SYSTEM KILL SESSION '526,60805,@1';"


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
@acted
async def test_it_stands_on_every_tab_and_its_key_copies_its_command(size: tuple[int, int]) -> None:
    async with stage(busy(), size=size) as acting:
        expected = f" DO  {END if size[0] == 200 else 'end MARTIN 1:526: BATCH can start'}   C copies the command"
        for key in "1234567":
            lines = (await acting.press(key)).splitlines()
            assert lines[2] == expected
            assert "1 Overview" in lines[3]
        screen = await acting.press("C")
        assert "Copied, not run" in screen
        assert acting.app.clipboard == KILL
        assert "It affects" in screen


@acted
async def test_where_nothing_is_wrong_there_is_no_such_line() -> None:
    async with stage(quiet()) as acting:
        assert "1 Overview" in acting.screen.splitlines()[2]
        assert " DO " not in acting.screen
        assert "The line DO has no command now." in await acting.press("C")
        await acting.show(busy(2))
        assert acting.screen.splitlines()[2].startswith(" DO ")
        await acting.show(replace(quiet(), number=3))
        assert "1 Overview" in acting.screen.splitlines()[2]


@acted
async def test_of_what_is_old_no_command_is_offered() -> None:
    async with stage(busy(), size=(120, 30)) as acting:
        paused = (await acting.press("space")).splitlines()
        assert paused[2].startswith(f" DO  {END}")
        assert "copies" not in paused[2]
        assert "The line DO has no command now." in await acting.press("C")
        assert "C copies the command" in await acting.press("space")
        acting.app.post_message(Lost("ORA-03113: end-of-file on communication channel", 4.0))
        await acting.settle()
        assert "C copies the command" not in acting.screen


def test_longer_words_where_they_fit_and_the_tab_that_tells_more() -> None:
    found = ToDo(Step.LOOK, "look at the sessions that work in BATCH", "look at BATCH", "7")
    assert plain(do_line(found, 80)) == " DO  look at the sessions that work in BATCH   7 shows more"
    assert plain(do_line(found, 40)) == " DO  look at BATCH   7 shows more"
    assert plain(do_line(found, 30)) == " DO  look at B…   7 shows more"
    assert plain(do_line(found, 80, "latency")) == " DO  look at the sessions that work in BATCH"
