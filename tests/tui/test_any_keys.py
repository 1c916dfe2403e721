"""Any keys in any order, at any size: the screen lives, and no fault is hidden behind a notice."""

from __future__ import annotations

from random import Random

import pytest

from presman.tabs import tab, tab_names
from presman.tui.app import MonitorApp
from presman.tui.keys.all_keys import APP_KEYS
from tests.thorough import some
from tests.tui.drive import acted
from tests.tui.test_live import playing

ENDING = {"q", "escape", "ctrl+q", "ctrl+c", "ctrl+p"}
KEYS = [key for each in APP_KEYS for key in each.key.keys.split(",") if key and key not in ENDING]
KEYS += [key.keys for name in tab_names() for key in tab(name.name).keys]
USUAL = ["4", "g", "c", "tab", "2", "7", "m", "i", "left"]
"""Keys with most behind them, pressed more often."""

MOVES = ["up", "down", "pagedown", "home", "tab", "enter", "escape"]
SIZES = [(200, 50), (120, 30), (80, 24)]


@pytest.mark.parametrize("seed", some([1], list(range(2, 60))))
@acted
async def test_any_keys(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    faults: list[Exception] = []
    monkeypatch.setattr(MonitorApp, "report_error", lambda _app, error: faults.append(error))
    chance = Random(seed)
    scenario = chance.choice(["storm", "rac", "pdb", "mixed"])
    async with playing(scenario, SIZES[seed % 3]) as (acting, polls):
        await polls(2)
        pressed = []
        for _ in range(30):
            key = chance.choice(chance.choice((MOVES, USUAL, KEYS)))
            pressed.append(key)
            await acting.keys(key)
            if chance.random() < 0.15:
                await polls(1)
            assert not faults, (scenario, pressed, faults)
        assert acting.app.is_running, pressed
