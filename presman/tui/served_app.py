"""The monitor for somebody who looks through a browser: it can write nothing, go nowhere else, and act on nothing.

It is never given what leads to actions, nor config.ini's other targets, and keeps nothing of what is set by keys: who
looks is not who runs presman.
"""

from __future__ import annotations

import json
import os
import sys
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, TextIO

from textual.driver import Driver
from textual.drivers.web_driver import WebDriver
from textual.events import DeliveryComplete
from textual.message import Message
from textual.messages import ExitApp

from presman.analysis.readings.reading import Reading
from presman.base.child import PacketReader, file_packet, meta_packet, packet
from presman.base.text import clean
from presman.tui.app import MonitorApp, sampler_feed
from presman.tui.driver import WakingEvent, listen
from presman.tui.exports import CsvRecording
from presman.tui.replay_app import ReplayApp
from presman.tui.terminal_app import run_until_ended
from presman.tui.textual_internals import key_parser

if TYPE_CHECKING:
    from presman.recording.recording_source import RecordingSource
    from presman.services.live import LiveTarget


GRACE = 5.0
"""Seconds that the app may take to end after nobody looks any more."""


class BrowserDriver(WebDriver):
    """Textual's driver for browsers, but it ends with whoever serves it, and its thread sleeps until something comes.

    Textual's own goes on when its input ends, with a session in the database and nobody to look; it writes files from
    another thread into the middle of what it paints; and it looks for keys ten times a second.
    """

    exit_event: WakingEvent

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.exit_event = WakingEvent()
        self._one_writes = Lock()
        self._last = Timer(GRACE, os._exit, (1,))
        self._last.daemon = True

    def write(self, data: str) -> None:
        """Show something."""
        self._send(packet(b"D", data.encode("utf-8", "replace")))

    def write_meta(self, data: dict[str, object]) -> None:
        """Tell who serves something."""
        self._send(meta_packet(data))

    def deliver_binary(
        self, binary: BinaryIO | TextIO, *, delivery_key: str, save_path: Path, **options: str | None
    ) -> None:
        """Have the browser download a file: all of it goes to who serves, at once. `options` are Textual's."""
        binary.seek(0)
        with binary:
            content = binary.read()
        if isinstance(content, str):
            content = content.encode(options.get("encoding") or "utf-8")
        self._send(file_packet({"name": save_path.name, "type": options.get("mime_type") or ""}, content))
        self.send_message(DeliveryComplete(key=delivery_key, path=None, name=options.get("name")))

    def run_input_thread(self) -> None:
        """Pass on what the browser sends until the event is set. Runs in a thread of its own."""
        parser = key_parser()
        if parser is None:  # Textual has another one: so be it its way
            super().run_input_thread()
            return
        packets = PacketReader()
        decode = getincrementaldecoder("utf-8")("replace").decode

        def take(data: bytes) -> Iterator[Message]:
            if not data:
                yield self._end_unwatched()
            for kind, payload in packets.feed(data):
                if kind == b"D" and (text := decode(payload)):  # "" would be the end
                    yield from parser.feed(text)
                elif kind == b"M":
                    meta = json.loads(payload)
                    self.on_meta(meta["type"], meta)

        assert sys.__stdin__ is not None
        listen(sys.__stdin__.fileno(), self.exit_event, parser, take, self.process_message)

    def close(self) -> None:
        """Take note that the app has ended by itself."""
        self._last.cancel()
        super().close()

    def _end_unwatched(self) -> Message:
        """Return what ends the app, since nobody looks; where it is deaf the process ends without it."""
        self._last.start()
        return ExitApp()

    def _send(self, whole: bytes) -> None:
        left = memoryview(whole)
        with self._one_writes, suppress(BrokenPipeError):  # nobody reads: the end of the input says so, too
            while left:  # a signal may come between
                left = left[os.write(self.fileno, left) :]


# ---- The app.

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

    def csv_recording(self) -> CsvRecording:
        """Return what writes a CSV file for the browser to download."""
        return CsvDownload(self.send_csv)

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
    return run_until_ended(app)


def run_served_replay(make_source: Callable[[], RecordingSource], *, name: str, theme: str | None = None) -> int:
    """Show a recording to a browser until who looks has enough or is gone, and return the exit code."""
    return run_until_ended(ServedReplay(make_source, name=clean(name), theme=theme))
