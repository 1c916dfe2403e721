"""Keys that come at once, as from a paste or a slow line, do what they do when they come one by one."""

from __future__ import annotations

import pytest
from textual import events

from presman.actions.gateway import ActionDialog, Gateway
from presman.base import private_files
from presman.rows.commands import CommandKind
from presman.tui.tour import Tour
from tests.tui.drive import Stage, acted, stage
from tests.tui.readings import busy

NAMES = {"\r": "enter", "\x1b": "escape", "/": "slash", "?": "question_mark", ":": "colon"}


async def burst(acting: Stage, text: str) -> str:
    """Send keys as a terminal does that has them all at once: none waits for the one before."""
    for character in text:
        acting.app.post_message(events.Key(NAMES.get(character, character), character))
    for _ in range(4):
        await acting.settle()
    return acting.screen


def copied() -> str:
    return (private_files.state_folder() / "copied.txt").read_text("utf-8")


@acted
async def test_what_is_copied_is_of_the_tab_that_was_opened_first() -> None:
    async with stage(busy(), size=(140, 40)) as acting:
        await burst(acting, "4c1")
        assert "ALTER SYSTEM" in copied()
        await burst(acting, "1c")
        assert "Group: ETL" in copied()


@acted
async def test_a_whole_dialog_in_one_burst() -> None:
    async with stage(busy(), size=(140, 40)) as acting:
        acting.app.gateway = Gateway()
        await burst(acting, "4a1y\r")
        (command,) = acting.feed.told
        assert command.kind is CommandKind.DEQUEUE
        assert not isinstance(acting.app.screen, ActionDialog)


@pytest.mark.parametrize("typed", ["q5c ", "1q5", "1yes\r", "1n\r"])
@acted
async def test_what_is_typed_into_the_dialog_reaches_the_dialog_only(typed: str) -> None:
    async with stage(busy(), size=(140, 40)) as acting:
        acting.app.gateway = Gateway()
        await burst(acting, "4a" + typed)
        assert acting.app.is_running
        assert acting.app.monitor.choices.tab == "parallel"
        assert acting.app.monitor.choices.paused is None
        assert acting.feed.told == []


@acted
async def test_a_filter_typed_in_one_burst() -> None:
    async with stage(busy(), size=(140, 40)) as acting:
        assert "filter: etl" in await burst(acting, "4/etl\r")
        assert acting.app.monitor.choices.tab == "parallel"


@acted
async def test_a_page_and_back() -> None:
    async with stage(busy(), size=(140, 40)) as acting:
        await burst(acting, "4?q5\r")
        assert acting.app.monitor.choices.tab == "sessions"
        assert acting.app.reader.is_open


@acted
async def test_a_key_that_gets_lost_does_not_lock_the_keyboard() -> None:
    """The widget that had the focus is gone before the key has come to it."""
    async with stage(busy(), size=(140, 40)) as acting:
        await acting.keys("4")
        focused = acting.app.focused
        assert focused is not None
        acting.app.post_message(events.Key("down", None))
        await focused.remove()
        await burst(acting, "2")
        for _ in range(200):
            if acting.app.monitor.choices.tab == "cpu":
                break
            await acting.pilot.pause(0.01)
        assert acting.app.monitor.choices.tab == "cpu"


@acted
async def test_what_is_typed_or_due_after_q_does_nothing() -> None:
    async with stage(busy(), size=(140, 40)) as acting:
        made = acting.app.panels.made
        await burst(acting, "q4c/")
        acting.app.panels.mount_ahead()  # its timer had rung before the key came
        acting.app.repaint()
        acting.app._tick()
        assert acting.app.panels.made == made
        assert not (private_files.state_folder() / "copied.txt").exists()
        assert not (private_files.state_folder() / "crash.log").exists()


@acted
async def test_the_tour_does_not_begin_after_q() -> None:
    async with stage(busy(), size=(140, 40)) as acting:
        tour = Tour()
        tour.attend(acting.app)
        acting.app.exit()
        acting.app.paint_lines()
        acting.app.repaint()
        assert not (private_files.state_folder() / "crash.log").exists()


@pytest.mark.parametrize("first", [":DWPROD\r", ":zork\r", ":4\r", ":19:08\r", ":\r", ":zo\x1b", "/etl\r", "/etl\x1b"])
@acted
async def test_a_line_that_is_asked_for_right_after_another(first: str) -> None:
    async with stage(busy(), size=(140, 40)) as acting:
        acting.app.targets = ("DWPROD", "storm")
        await burst(acting, f"{first}:storm\r")
        assert acting.app.switch_to == "storm"
