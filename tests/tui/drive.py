"""Drives the app by keys and reads its screen as text; golden files are compared, or written on request.

`PRESMAN_UPDATE_GOLDEN=1 pytest tests/tui` writes them anew: read the diff before it is committed.
"""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from textual._context import active_app
from textual.message import Message
from textual.notifications import Notification
from textual.pilot import Pilot

from presman.analysis.readings.reading import Reading
from presman.tui.app import MonitorApp
from presman.tui.feed import Arrived, MakeFeed, Post
from presman.tui.terminal_app import TerminalApp
from tests.tui.thrift import thrifty

GOLDEN = Path(__file__).parent / "golden"
NEVER = 1e6


class Clock:
    """A clock that moves only when a test sets it."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class HandFeed:
    """A feed that posts what a test gives it and notes the requests of the app."""

    post: Post
    refresh: float
    started: bool = False
    requests: list[Any] = field(default_factory=list)
    focused: Any = None
    detail_level: Any = None

    def start(self) -> None:
        self.started = True

    def stop(self) -> None:
        self.requests.append("stop")

    def set_refresh(self, seconds: float) -> None:
        self.requests.append(seconds)

    def poll_now(self) -> None:
        self.requests.append("poll")

    def request(self, name: str, binds: Mapping[str, str], *, lasting: bool) -> None:
        self.requests.append((name, dict(binds), lasting))

    def act(self, command: Any) -> None:
        self.requests.append(command)

    def focus(self, focus: Any) -> None:
        self.focused = focus

    def set_detail_level(self, detail_level: Any) -> None:
        self.detail_level = detail_level


@dataclass
class Stage:
    """A running app, its pilot, feed and clock."""

    app: MonitorApp
    pilot: Pilot[None]
    feed: HandFeed
    clock: Clock

    async def show(self, *readings: Reading) -> None:
        await self.arrive(*map(Arrived, readings))

    async def arrive(self, *messages: Message) -> None:
        """Have polls arrive; only the last one is drawn, for speed."""
        *earlier, last = messages
        if earlier:
            with mock.patch.multiple(self.app, repaint=self.app.monitor.assess, paint_lines=mock.DEFAULT):
                for each in earlier:
                    self.app.post_message(each)
                await self.settle()
        self.app.post_message(last)
        await self.settle()

    async def press(self, *keys: str) -> str:
        await self.keys(*keys)
        return self.screen

    async def keys(self, *keys: str) -> None:
        """Press keys without drawing the screen: one drawing takes longer than many keys."""
        await self.pilot.press(*keys)
        await self.settle()

    async def resize(self, width: int, height: int) -> None:
        await self.pilot.resize_terminal(width, height)
        while self.app._resize_event is not None:  # Textual takes a new size only after a moment
            await asyncio.sleep(0.005)
        await self.settle()

    async def settle(self) -> None:
        for _ in range(3):
            await self.pilot.pause()

    async def mount_all(self) -> None:
        """Mount the panels that the app mounts by itself when it has time."""
        count = -1
        while count != len(self.app.panels.made):
            count = len(self.app.panels.made)
            self.app.panels.mount_ahead()
            await self.settle()

    @property
    def screen(self) -> str:
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips) + "\n"


async def drained(min_sleep: float = 0, max_sleep: float = 0) -> None:
    """Return when nothing is left to run at once: only timers wait, and the pilot itself calls the one that paints.

    Keys wait for that one, too: it is called until the last of them has had its effect. Stands in for Textual's
    `wait_for_idle`, which guesses all that from processor time, 20 ms of sleep at a time.
    """
    ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
    await asyncio.sleep(0)
    while ready or keys_are_under_way():
        await asyncio.sleep(0)


def keys_are_under_way() -> bool:
    """Return whether the app has not yet handled all keys, and lay out their changes."""
    app = active_app.get(None)
    if not isinstance(app, TerminalApp) or app.is_leaving or not app.typed:
        return False
    app.screen._on_timer_update()
    return True


async def processed(pilot: Pilot[None], timeout: float = 0) -> bool:
    """Return when all messages are processed, and whether without a fault: Textual sends each widget one for that."""
    await drained()
    return not pilot.app._exception_event.is_set()


@asynccontextmanager
async def stage(
    reading: Reading | None = None,
    size: tuple[int, int] = (120, 30),
    theme: str | None = None,
    folder: Path | None = None,
    *,
    tab: str = "",
    painted: bool = False,
    make_app: Callable[[MakeFeed], MonitorApp] | None = None,
) -> AsyncIterator[Stage]:
    """Run the app; `painted` has each change painted, too, where otherwise only a look at the screen draws it.

    It shows the reading on the tab with the key `tab`, and spares itself the first one. `make_app` makes one of
    another kind.
    """
    clock = Clock()
    feeds: list[HandFeed] = []

    def make(post: Post, refresh: float) -> HandFeed:
        feeds.append(HandFeed(post, refresh))
        return feeds[-1]

    usual = partial(MonitorApp, name="DWPROD", theme=theme, clock=clock, folder=folder)
    app = (make_app or usual)(make)
    with resting(painted), mock.patch.multiple("presman.tui.frame_app", PACE=NEVER, SETTLED=NEVER):
        async with app.run_test(size=size, notifications=True) as pilot:
            acting = Stage(app, pilot, feeds[0], clock)
            await acting.settle()
            if tab:
                await acting.keys(tab)
            if reading is not None:
                await acting.show(reading)
            yield acting


@contextmanager
def resting(painted: bool = False) -> Iterator[None]:
    """Have apps rest as soon as they are idle, and start nothing by themselves during a test."""
    with (
        thrifty(painted),
        mock.patch("textual.pilot.wait_for_idle", drained),
        mock.patch("textual.app.wait_for_idle", drained),
        mock.patch("textual.pilot.Pilot._wait_for_screen", processed),
        mock.patch("presman.tui.tab_panels.PACE", NEVER),
        mock.patch.object(Notification, "time_left", NEVER),  # or a notice expires on a busy machine
    ):
        yield


def top_lines(screen: str) -> int:
    """Return the number of lines above the tabs: two, or three with DO."""
    lines = screen.splitlines()
    return next((place for place, line in enumerate(lines) if "1 Overview" in line), 2)


def body(screen: str) -> str:
    """Return the lines of the tab itself, without those of facts, alerts, tabs and keys."""
    return "\n".join(screen.splitlines()[top_lines(screen) + 1 : -1]) + "\n"


def frame(screen: str) -> str:
    """Return the lines of every tab."""
    lines = screen.splitlines()
    return "\n".join((*lines[: top_lines(screen) + 1], lines[-1])) + "\n"


def check(name: str, text: str) -> None:
    """Compare the screen with its golden file."""
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("PRESMAN_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"no golden file {path.name}: run with PRESMAN_UPDATE_GOLDEN=1 and read it"
    assert text == path.read_text(encoding="utf-8")


def acted(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run an async test to its end."""

    @functools.wraps(test)
    def run(*args: Any, **named: Any) -> None:
        asyncio.run(test(*args, **named))

    return run
