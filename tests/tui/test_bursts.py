"""Keys that come at once, as from a paste or a slow line, do the same as one by one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from textual import events
from textual.command import CommandPalette

from presman.actions.gateway import ActionDialog, Gateway
from presman.base import private_files
from presman.rows.commands import CommandKind
from presman.tabs import tab, tab_names
from presman.tui import terminal_app
from presman.tui.keys.all_keys import APP_KEYS
from presman.tui.tour import Tour
from tests.thorough import THOROUGH, some
from tests.tui.drive import Stage, acted, stage
from tests.tui.readings import busy

NAMES = {"\r": "enter", "\x1b": "escape", "/": "slash", "?": "question_mark", ":": "colon"}


@pytest.fixture(autouse=True)
def no_key_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait longer for the effect of a key than a user would, for busy machines."""
    monkeypatch.setattr(terminal_app, "CHECKS", 200)


CHARACTERS = {name: character for character, name in NAMES.items()} | {"tab": "\t", "space": " "}

TIMED = {"e", "R", "r", "W", "ctrl+z"}
"""Keys with work in the background: their notice has a time, or comes when it is done."""

KEYS = sorted({key for each in APP_KEYS for key in each.key.keys.split(",") if key} - TIMED)
KEYS += sorted({key.keys for name in tab_names() for key in tab(name.name).keys} - {*KEYS, *TIMED})
MOVES = ["up", "down", "pagedown", "home", "end", "tab", "enter", "escape", "q", "backspace"]
LINES = ["colon", "slash", "J", "O", "D", "c", "a", "question_mark", "d", "enter"]


async def sent(acting: Stage, *keys: str) -> None:
    """Send keys as a terminal does that has them all at once, and wait until the last has had its effect."""
    for key in keys:
        acting.app.post_message(events.Key(key, CHARACTERS.get(key, key if len(key) == 1 else None)))
    for _ in range(2):
        await acting.settle()
    until = asyncio.get_running_loop().time() + 30
    while acting.app.typed and not acting.app.is_leaving and asyncio.get_running_loop().time() < until:
        await acting.pilot.pause(0.005)
    await acting.settle()


async def burst(acting: Stage, text: str) -> str:
    """Send the keys of these characters."""
    await sent(acting, *(NAMES.get(character, character) for character in text))
    return acting.screen


async def left_by(*bursts: tuple[str, ...]) -> dict[str, Any]:
    """Return the state after some bursts of keys, each sent after all effects of the previous one."""
    async with stage(busy(), size=(140, 40)) as acting:
        app = acting.app
        app.gateway, app.targets = Gateway(), ("DWPROD", "storm")
        for keys in bursts:
            await sent(acting, *keys)
        left = {"requests": list(acting.feed.requests), "ends": app.is_leaving, "target": app.switch_to}
        if app.is_leaving:
            return left
        lines = [(line.display, getattr(line, "value", "")) for line in app.screen.query("Input")]
        return left | {
            "screen": acting.screen, "focus": str(app.focused), "lines": lines, "choices": app.monitor.choices,
            "is page open": app.is_page_open, "screens": [type(each).__name__ for each in app.screen_stack],
        }  # fmt: skip


@settings(max_examples=400, phases=Phase if THOROUGH else [Phase.explicit])
@given(st.lists(st.sampled_from(KEYS) | st.sampled_from(MOVES) | st.sampled_from(LINES), min_size=2, max_size=6))
@example(["enter", "enter"])
@example(["slash", "colon", "escape"])
@example(["left", "enter", "at", "1"])
@example(["7", "O"])
@example(["enter", "O"])
@example(["6", "enter", "home"])
def test_a_burst_of_keys_has_the_effect_of_single_presses(keys: list[str]) -> None:
    at_once = asyncio.run(left_by(tuple(keys)))
    assert at_once == asyncio.run(left_by(*((key,) for key in keys)))


def copied() -> str:
    return (private_files.state_folder() / "copied.txt").read_text("utf-8")


@acted
async def test_a_copy_in_a_burst_is_of_the_tab_just_opened() -> None:
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
        (command,) = acting.feed.requests
        assert command.kind is CommandKind.DEQUEUE
        assert not isinstance(acting.app.screen, ActionDialog)


@pytest.mark.parametrize("typed", some(["q5c ", "1yes\r"], ["1q5", "1n\r"]))
@acted
async def test_keys_typed_into_the_dialog_reach_only_the_dialog(typed: str) -> None:
    async with stage(busy(), size=(140, 40)) as acting:
        acting.app.gateway = Gateway()
        await burst(acting, "4a" + typed)
        assert acting.app.is_running
        assert acting.app.monitor.choices.tab == "parallel"
        assert acting.app.monitor.choices.paused is None
        assert acting.feed.requests == []


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
async def test_a_lost_key_does_not_lock_the_keyboard() -> None:
    """The focused widget is removed before it gets the key."""
    async with stage(busy(), size=(140, 40), tab="4") as acting:
        focused = acting.app.focused
        assert focused is not None
        acting.app.post_message(events.Key("down", None))
        await focused.remove()
        await burst(acting, "2")
        assert acting.app.monitor.choices.tab == "cpu"


@acted
async def test_keys_and_timers_after_q_do_nothing() -> None:
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
        tour.attach(acting.app)
        acting.app.exit()
        acting.app.paint_lines()
        acting.app.repaint()
        assert not (private_files.state_folder() / "crash.log").exists()


@acted
async def test_the_palette_searches_for_the_whole_input() -> None:
    """`J` alone would ask for a time."""
    async with stage(busy(), size=(140, 40)) as acting:
        await sent(acting, "ctrl+p", "J", "s", "enter")
        assert not acting.app.is_ascii
        assert isinstance(acting.app.screen, CommandPalette)
        await sent(acting, "escape", "escape", "ctrl+p", *"signs", "enter", "enter")
        async with asyncio.timeout(30):  # the palette's search has a time of its own
            while not acting.app.is_ascii:
                await acting.pilot.pause(0.005)


@pytest.mark.parametrize(
    "first", some([":zork\r", ":4\r", ":zo\x1b", "/etl\r"], [":DWPROD\r", ":19:08\r", ":\r", "/etl\x1b"])
)
@acted
async def test_an_input_line_opened_right_after_another(first: str) -> None:
    async with stage(busy(), size=(140, 40)) as acting:
        acting.app.targets = ("DWPROD", "storm")
        await burst(acting, f"{first}:storm\r")
        assert acting.app.switch_to == "storm"


@acted
async def test_a_key_for_a_closed_screen_does_nothing() -> None:
    async with stage(busy(), size=(140, 40)) as acting:
        key = events.Key("4", "4")
        key._set_forwarded()
        acting.app._screen_stack.clear()  # as at the end, while a key is on its way up
        await acting.app.on_event(key)
