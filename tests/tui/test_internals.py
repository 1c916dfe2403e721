"""Textual without a private name that presman uses: presman still works, in Textual's own way."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import rich.cells
import textual.geometry
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

from presman.tui import textual_internals
from presman.tui.app import MonitorApp
from presman.tui.driver import TerminalDriver
from presman.tui.terminal_app import TerminalApp
from presman.tui.textual_internals import tidy_garbage
from presman.tui.widgets.line_api import LineApiWidget
from tests.memory import forget_others
from tests.tui.drive import acted, stage
from tests.tui.readings import busy

PRIVATE = Path(textual_internals.__file__)


def test_private_names_are_used_in_one_module_only() -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in PRIVATE.parent.rglob("*.py")}
    private = ("textual._", "_dirty_regions", "._exception", "_return_code", "._skip")
    assert [name for name, text in texts.items() if any(each in text for each in private)] == [PRIVATE.name]


@pytest.fixture(params=["textual._xterm_parser", "tick"])
def no_parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the parser of keys, or one of its methods."""
    if request.param == "tick":
        import textual._xterm_parser as module

        monkeypatch.setattr(module, "XTermParser", lambda debug: object())
    else:
        monkeypatch.setitem(sys.modules, request.param, None)


@pytest.mark.usefixtures("no_parser")
def test_without_its_parser_textual_reads_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(App, "get_driver_class", lambda _app: LinuxDriver)
    assert TerminalApp().get_driver_class() is LinuxDriver
    asked: list[str] = []
    monkeypatch.setattr(LinuxDriver, "run_input_thread", lambda _driver: asked.append("Textual's own"))
    object.__new__(TerminalDriver).run_input_thread()
    assert asked == ["Textual's own"]


def test_with_its_parser_presman_reads_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(App, "get_driver_class", lambda _app: LinuxDriver)
    assert TerminalApp().get_driver_class() is TerminalDriver


@acted
async def test_a_fault_is_shown_without_textuals_private_names(monkeypatch: pytest.MonkeyPatch) -> None:
    panics: list[object] = []
    async with stage(busy()) as acting:
        app = acting.app
        monkeypatch.setattr(MonitorApp, "panic", lambda _app, *texts: panics.extend(texts))
        exception, event = app._exception, app._exception_event
        del app._exception, app._exception_event
        app._handle_exception(ValueError("of a test"))
        app._exception, app._exception_event = exception, event
    assert "ValueError: of a test" in str(panics[0])


@acted
async def test_painting_without_regions_to_forget(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage(busy()) as acting:
        widget = next(each for each in acting.app.screen.walk_children(LineApiWidget))
        regions = widget._dirty_regions
        del widget._dirty_regions
        textual_internals.forget_regions(widget)
        widget._dirty_regions = regions


def test_tidying_without_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rich.cells, "cached_cell_len", len)
    monkeypatch.delattr(textual.geometry.Region, "overlaps")
    forget_others()
    tidy_garbage()


@acted
async def test_a_resize_works_on_a_busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two looks at the clock more time passes than Textual waits for the next size."""
    async with stage(busy(), size=(80, 24)) as acting:
        begun = time.monotonic()
        looks = iter([begun])
        clock = SimpleNamespace(get_time=lambda: next(looks, begun + 1.0))
        monkeypatch.setattr("textual.timer._time", clock)
        await asyncio.wait_for(acting.resize(120, 30), 60)
        assert len(acting.screen.splitlines()) == 30


def test_a_timer_that_skips_nothing_is_left_alone() -> None:
    assert textual_internals.ring_once("a timer") == "a timer"  # type: ignore[arg-type, comparison-overlap]
