"""Every key on every tab: it changes the screen, or one line says why not, or where it works."""

from __future__ import annotations

import pytest
from rich.segment import Segment

from presman.tabs import TabName, tab, tab_names
from presman.tui.feed import Lost
from presman.tui.keys.all_keys import APP_KEYS
from tests.thorough import THOROUGH
from tests.tui.drive import Stage, acted, stage
from tests.tui.readings import busy
from tests.tui.test_live import playing

OF_NOBODY = ["x", "z", "G", "H", "Z", "0", "f9", "delete"]
ENDING = {"q", "ctrl+z"}
KEYS = [key for each in APP_KEYS for key in each.key.keys.split(",") if key and key not in ENDING]
KEYS += [key.keys for name in tab_names() for key in tab(name.name).keys]
KEYS += ["tab", "shift+tab", *OF_NOBODY]


def keys_on(name: TabName) -> list[str]:
    """Return the keys to try on a tab: each on one of them at least."""
    return KEYS if THOROUGH else [*KEYS[tab_names().index(name) :: len(tab_names())], name.key]


def painted(acting: Stage) -> list[list[Segment]]:
    """Return the screen with its colours: only they show the cursor."""
    return [list(strip) for strip in acting.app.screen._compositor.render_strips()]


async def back_to(acting: Stage, name: TabName) -> None:
    """Leave whatever a key has opened, for a tab without a notice."""
    app = acting.app
    while len(app.screen_stack) > 1 or app.typed_in:
        await acting.keys("escape")
    while app.reader.is_open or app.monitor.choices.scopes:
        await acting.keys("q")
    choices = app.monitor.choices
    await acting.keys(*["end"] * app.monitor.is_frozen, *[name.key] * (choices.tab != name.name))
    app.clear_notifications()
    await acting.settle()


@pytest.mark.parametrize("scenario", ["storm", "pdb"])
@acted
async def test_every_key_has_an_effect_or_a_notice(scenario: str) -> None:
    silent = []
    async with playing(scenario, (120, 35)) as (acting, polls):
        await polls(3)
        for name in (each for each in tab_names() if each.containers == (scenario == "pdb")):
            for key in keys_on(name):
                await back_to(acting, name)
                before = painted(acting)
                await acting.keys(key)
                if painted(acting) == before:
                    silent.append((name.name, key))
    assert silent == []


@acted
async def test_a_low_screen_reports_missing_room_for_heat_maps() -> None:
    async with stage(busy(), size=(80, 24)) as acting:
        assert "adds a column" in await acting.press("7", "m")
        await acting.resize(80, 12)
        assert "Wait event" in acting.screen, "the events are back"
        for key in ("m", "b"):
            screen = await acting.press(key)
            assert "Wait event" in screen
            assert "maps and buckets need 15 lines." in screen.splitlines()[-1]
            acting.app.clear_notifications()


@acted
async def test_without_data_the_help_opens_and_keys_report_no_data() -> None:
    async with stage(size=(80, 24)) as acting:
        acting.app.post_message(Lost("DPY-6005: nobody listens", 5.0))
        await acting.settle()
        before = acting.screen
        assert "q quits." in before
        for key in ("d", "s", "enter", "O"):
            assert "Nothing has been read yet." in (await acting.press(key)).splitlines()[-1], "no page is open"
        assert "Help: Overview" in await acting.press("question_mark")
        assert await acting.press("q") == before
        await acting.show(busy())
        assert "A page is open: q goes back" in (await acting.press("4", "d", "g")).splitlines()[-1]


@acted
async def test_an_unknown_key_points_to_the_help() -> None:
    async with stage(busy(), size=(80, 24)) as acting:
        assert "x is not a key here: ? lists the keys." in (await acting.press("x")).splitlines()[-1]
        assert "^b is not a key here: ? lists the keys." in (await acting.press("ctrl+b")).splitlines()[-1]
        assert "Backspace is not a key here" in (await acting.press("T", "backspace")).splitlines()[-1]
        assert "? help" in (await acting.press("down")).splitlines()[-1], "the next key takes the word away"
        assert "Overview is already shown." in (await acting.press("1")).splitlines()[-1]
        assert "m is a key of the tab Latency (7)." in (await acting.press("m")).splitlines()[-1]
        assert "x is not a key here: Esc goes back." in await acting.press("O", "x"), "a list of columns is open"
        await acting.keys("escape", "slash")
        acting.app.clear_notifications()
        assert "is not a key here" not in (await acting.press("x")), "it was typed"
