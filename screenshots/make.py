"""Maker of the pictures in this folder, from the demo: the same every time, because clock, seed and time are fixed.

    python -m screenshots.make [NAME ...]

Each picture is written as SVG and as PNG, the animation as SVG.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from textual.pilot import Pilot

from presman.analysis.assemble import analyse
from presman.polling.poller import Poller
from presman.rows.commands import Command
from presman.rows.queries import DetailLevel, Focus, by_query
from presman.rows.snapshot import Snapshot
from presman.sources.simulator_source import SimulatorSource
from presman.tui.app import MonitorApp
from presman.tui.feed import Arrived, Feed, Post
from screenshots.drawing import Scene, svg

FOLDER = Path(__file__).parent
START = datetime(2026, 11, 21, 2, 0, tzinfo=UTC)
THEME = "textual-dark"
"""Set, because otherwise the terminal in which the pictures are made would decide."""

FONT_FILES = ("DejaVuSansMono", "DejaVuSansMono-Bold", "DejaVuSans")
"""The last font has the braille patterns that the others lack."""


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture: what is watched, for how many polls, the keys pressed then, and the size of the terminal."""

    name: str
    scenario: str
    keys: tuple[str, ...] = ()
    polls: int = 90
    size: tuple[int, int] = (160, 45)
    theme: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the animation: keys, polls after them, the title above the screen, and seconds."""

    keys: tuple[str, ...]
    polls: int
    title: str
    seconds: float


SHOTS = (
    Shot("hero", "storm", ("4",), polls=36, size=(100, 30)),
    Shot("overview", "mixed"),
    Shot("cpu", "throttled", ("2",)),
    Shot("io", "mixed", ("3",)),
    Shot("parallel", "storm", ("4",)),
    Shot("statement", "storm", ("4", "d")),
    Shot("group", "storm", ("enter",)),
    Shot("sessions", "mixed", ("5",)),
    Shot("plan", "mixed", ("6",)),
    Shot("latency", "mixed", ("7",)),
    Shot("top", "locked", ("9",)),
    Shot("pdbs", "pdb", ("8",)),
    Shot("rac", "rac", ("i",)),
    Shot("narrow", "storm", ("4",), size=(80, 24)),
    Shot("light", "mixed", theme="textual-light"),
    Shot("help", "mixed", ("question_mark",)),
)


FILM = "film"
FILM_OF = Shot(FILM, "storm", polls=24, size=(100, 30))
STEPS = (
    Step((), 1, "presman prod", 1.5),
    Step((), 1, "presman prod", 1.5),
    Step((), 1, "what is wrong, the worst first, and what to do", 2.0),
    Step(("4",), 1, "4: the queue, and why its head waits", 2.5),
    Step(("down",), 0, "↓ to a statement", 0.7),
    Step(("enter",), 1, "Enter: all about it", 2.5),
    Step(("q", "g"), 1, "q, g: who ran when", 2.5),
    Step(("g", "2"), 1, "2: who gets the CPU", 2.0),
    Step(("left", "left", "left"), 0, "←: back in time", 1.5),
    Step(("end", "7"), 1, "7: how long waits take", 2.0),
    Step(("question_mark",), 0, "?: what every column means", 2.0),
)
"""The steps of the animation, some twenty seconds."""


class SteppedFeed(Feed):
    """Feed that polls a simulated database on request, at exact instants two seconds apart."""

    def __init__(self, scenario: str, post: Post) -> None:
        self._seconds = 0.0
        self._post = post
        self._poller = Poller(SimulatorSource(scenario, clock=lambda: self._seconds, start=START), clock=lambda: 0.0)
        self._previous: Snapshot | None = None

    def start(self) -> None:
        """Open the source and poll once."""
        self._poller.open()
        self.poll_now()

    def stop(self) -> None:
        """Close the source."""
        self._poller.close()

    def focus(self, focus: Focus | None) -> None:
        """Read one session closely from the next step on."""
        self._poller.focus(focus)

    def set_detail_level(self, detail_level: DetailLevel) -> None:
        """Set how much each step reads from the next one on."""
        self._poller.detail_level = detail_level

    def request(self, name: str, binds: Mapping[str, str], *, lasting: bool) -> None:
        """Run an on-demand query at the next step."""
        self._poller.request(by_query()[name], binds, lasting=lasting)

    def act(self, command: Command) -> None:
        """Refuse: pictures change nothing."""
        raise PermissionError(f"not in a picture: {command}")

    def poll_now(self) -> None:
        """Take the next step."""
        self._seconds += 2.0
        snapshot = self._poller.poll()
        self._post(Arrived(analyse(self._previous, snapshot), snapshot))
        self._previous = snapshot


async def picture(shot: Shot) -> str:
    """Return the SVG of one shot."""
    async with _playing(shot) as pilot:
        for key in shot.keys:
            await _go_on(pilot, (key,), 1)
        return svg([_scene(pilot, f"presman demo:{shot.scenario}")])


async def film(shot: Shot, steps: Sequence[Step]) -> str:
    """Return the SVG of the steps, one after the other."""
    scenes = []
    async with _playing(shot) as pilot:
        for step in steps:
            await _go_on(pilot, step.keys, step.polls)
            scenes.append(_scene(pilot, step.title, step.seconds))
    return svg(scenes)


@asynccontextmanager
async def _playing(shot: Shot) -> AsyncIterator[Pilot[None]]:
    app = MonitorApp(
        lambda post, _: SteppedFeed(shot.scenario, post),
        name=f"demo:{shot.scenario}",
        theme=shot.theme or THEME,
        clock=lambda: 0.0,
    )
    async with app.run_test(size=shot.size) as pilot:
        await _settle(pilot)
        for _ in range(shot.polls):
            app.feed.poll_now()
            await pilot.pause()
        yield pilot


async def _go_on(pilot: Pilot[None], keys: Sequence[str], polls: int) -> None:
    for key in keys:
        await pilot.press(key)
        await _settle(pilot)
    for _ in range(polls):
        cast(MonitorApp, pilot.app).feed.poll_now()
        await _settle(pilot)


def _scene(pilot: Pilot[None], title: str, seconds: float = 0.0) -> Scene:
    return Scene([list(strip) for strip in pilot.app.screen._compositor.render_strips()], title, seconds)


async def _settle(pilot: Pilot[None]) -> None:
    for _ in range(5):
        await pilot.pause(0.05)


def png(picture: str) -> bytes:
    """Return an SVG as PNG, with a font that has every block and braille pattern."""
    import matplotlib
    import resvg_py

    font = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSansMono.ttf"
    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=picture,
            font_files=[str(font.with_name(f"{name}.ttf")) for name in FONT_FILES],
            skip_system_fonts=True,
            monospace_family="DejaVu Sans Mono",
        )
    )


def main(names: Sequence[str]) -> int:
    """Make the pictures named, or all."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    os.environ.pop("NO_COLOR", None)
    unknown = set(names) - {FILM, *(shot.name for shot in SHOTS)}
    if unknown:
        print(f"no such picture: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    for shot in SHOTS:
        if names and shot.name not in names:
            continue
        made = asyncio.run(picture(shot))
        (FOLDER / f"{shot.name}.svg").write_text(made, encoding="utf-8")
        (FOLDER / f"{shot.name}.png").write_bytes(png(made))
        print(f"screenshots/{shot.name}.svg and .png")
    if not names or FILM in names:
        (FOLDER / f"{FILM}.svg").write_text(asyncio.run(film(FILM_OF, STEPS)), encoding="utf-8")
        print(f"screenshots/{FILM}.svg")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
