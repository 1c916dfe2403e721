"""The monitor for somebody who looks through a browser: it can write nothing, go nowhere else, and act on nothing.

It is never given what leads to actions, nor config.ini's other targets, and keeps nothing of what is set by keys: who
looks is not who runs presman.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, ClassVar, TextIO, cast

from textual.driver import Driver

from presman.analysis.readings.reading import Reading
from presman.base.text import clean
from presman.tui.app import MonitorApp, sampler_feed
from presman.tui.browser_driver import BrowserDriver
from presman.tui.exports import CsvRecording
from presman.tui.feed import MakeFeed
from presman.tui.replay_app import ReplayApp
from presman.tui.terminal_app import run_until_ended

if TYPE_CHECKING:
    from presman.recording.recording_source import RecordingSource
    from presman.services.live import LiveTarget
    from presman.sources import Source

LARGEST = 32_000_000
"""Bytes after which a file is sent as it is: it is held in memory on its way."""


class CsvDownload(CsvRecording):
    """One growing CSV file at a time, without a name on disk; at its end `send` is given it and its name."""

    def __init__(self, send: Callable[[TextIO, str], object]) -> None:
        super().__init__()
        self._send = send
        self._content: TextIO | None = None
        self._name = ""

    def write(self, reading: Reading) -> str:
        """Append a reading; if that fails or the file is full, end, and return what to say."""
        problem = super().write(reading)
        if not problem and self._content is not None and self._content.tell() > LARGEST:
            return f"{LARGEST // 1_000_000} MB are reached. {self.end()}"
        return problem

    def end(self) -> str:
        """End the file and send it."""
        content, self._content = self._content, None
        self.close()
        if content is None:
            return "CSV export ended"
        self._send(content, self._name)
        return f"CSV export ended: your browser downloads {self._name}"

    def close(self) -> None:
        """End the file; what was not sent is gone."""
        super().close()
        if self._content is not None:
            self._content.close()
        self._content = None

    def _open(self, name: str) -> TextIO:
        self._name = name
        self._content = TemporaryFile("w+", encoding="utf-8", newline="")  # noqa: SIM115 - it is open until the end
        return self._content

    def _begun(self) -> str:
        return f"Recording {self.measure} at each poll; e ends it, and your browser downloads the file"


class ServedMonitor(MonitorApp):
    """The monitor in a browser."""

    is_served: ClassVar[bool] = True

    def __init__(
        self,
        make_feed: MakeFeed,
        *,
        name: str,
        refresh: float = 2.0,
        theme: str | None = None,
        packs: tuple[str, ...] = (),
    ) -> None:
        super().__init__(make_feed, name=name, refresh=refresh, theme=theme, packs=packs)
        self.recording = CsvDownload(self.send_csv)

    def get_driver_class(self) -> type[Driver]:
        """Return what speaks to the browser."""
        return BrowserDriver

    def send_csv(self, content: TextIO, name: str) -> None:
        """Have the browser download a file."""
        self.deliver_text(content, save_filename=name, mime_type="text/csv")


class ServedReplay(ReplayApp, ServedMonitor):
    """A recording in a browser."""


def run_served(target: LiveTarget, *, theme: str | None = None) -> int:
    """Show the monitor to a browser until who looks has enough or is gone, and return the exit code.

    What is not said here is as :func:`presman.tui.app.run_monitor` has it.
    """
    app = ServedMonitor(
        sampler_feed(target), name=clean(target.name), refresh=target.interval, theme=theme, packs=target.packs
    )
    asyncio.run(run_until_ended(app))
    return app.return_code or 0


def run_served_replay(make_source: Callable[[], Source], *, name: str, theme: str | None = None) -> int:
    """Show a recording to a browser until who looks has enough or is gone, and return the exit code."""

    def make() -> RecordingSource:
        source = make_source()
        assert source.kind == "recording"
        return cast("RecordingSource", source)

    app = ServedReplay(make, name=clean(name), theme=theme)
    asyncio.run(run_until_ended(app))
    return app.return_code or 0
