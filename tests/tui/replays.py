"""A recording on the screens of the monitor: it stays at its first poll until a test plays, steps or jumps."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from presman.recording.recording_source import RecordingSource
from presman.tui.replay_app import ReplayApp
from tests.patience import PATIENCE
from tests.tui.drive import NEVER, Clock, Stage, resting


@asynccontextmanager
async def replaying(
    recording: Path | str | Callable[[], RecordingSource], size: tuple[int, int] = (160, 40), **how: Any
) -> AsyncIterator[Stage]:
    """Replay a recording, or a source that a function opens. The player has its own thread, so use `waited`."""
    opened = recording if callable(recording) else partial(RecordingSource, str(recording), name="recording:a")
    app = ReplayApp(opened, name="recording:a", **how)
    with (
        resting(),
        mock.patch.multiple("presman.tui.frame_app", PACE=NEVER, SETTLED=NEVER),
        mock.patch("presman.tui.player._LONGEST_PAUSE", NEVER),
    ):
        async with app.run_test(size=size) as pilot:
            yield Stage(app, pilot, app.feed, Clock())  # type: ignore[arg-type]


async def waited(acting: Stage, seen: Callable[[], bool]) -> None:
    """Wait for something to be seen: a look may draw the whole screen, so that it costs more than a moment's wait."""
    end = time.monotonic() + PATIENCE
    while not seen():
        assert time.monotonic() < end, acting.screen
        await acting.pilot.pause(0.01)
