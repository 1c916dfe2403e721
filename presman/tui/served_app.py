"""The monitor in a browser: it writes no files, opens no other target, and has no actions.

It never gets access to actions or to config.ini's other targets, and saves no settings, because the user in the browser
is not the user who runs presman.
"""

from __future__ import annotations

import json
import os
import sys
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
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
from presman.base.child import ALIVE, PacketReader, file_packet, meta_packet, packet
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
"""Seconds that the app may take to end after the browser is gone."""


class BrowserDriver(WebDriver):
    """Textual's driver for browsers, but it ends with its server, and its thread sleeps until input comes.

    Textual's driver keeps running when its input ends, with a database session and no user; it writes files from
    another thread into the middle of a frame; and it polls for keys ten times a second.
    """

    exit_event: WakingEvent

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.exit_event = WakingEvent()
        self._write_lock = Lock()
        self._last = Timer(GRACE, os._exit, (1,))
        self._last.daemon = True

    def write(self, data: str) -> None:
        """Send output to the browser."""
        self._send(packet(b"D", data.encode("utf-8", "replace")))

    def write_meta(self, data: dict[str, object]) -> None:
        """Send a control message to the server."""
        self._send(meta_packet(data))

    def deliver_binary(
        self, binary: BinaryIO | TextIO, *, delivery_key: str, save_path: Path, **options: str | None
    ) -> None:
        """Make the browser download a file, which is sent to the server in one piece. `options` are Textual's."""
        binary.seek(0)
        with binary:
            content = binary.read()
        if isinstance(content, str):
            content = content.encode(options.get("encoding") or "utf-8")
        self._send(file_packet({"name": save_path.name, "type": options.get("mime_type") or ""}, content))
        self.send_message(DeliveryComplete(key=delivery_key, path=None, name=options.get("name")))

    def run_input_thread(self) -> None:
        """Pass on the input of the browser until the event is set. Runs in a thread of its own."""
        parser = key_parser()
        if parser is None:  # another version of Textual: use its own way
            super().run_input_thread()
            return
        packets = PacketReader()
        decode = getincrementaldecoder("utf-8")("replace").decode

        def take(data: bytes) -> Iterator[Message]:
            if not data:  # the browser is gone; if the app does not react, the process exits
                self._last.start()
                yield ExitApp()
            for kind, payload in packets.feed(data):
                if kind == b"D" and (text := decode(payload)):  # "" would mean the end
                    yield from parser.feed(text)
                elif kind == b"M":
                    meta = json.loads(payload)
                    self.on_meta(meta["type"], meta)

        assert sys.__stdin__ is not None
        listen(sys.__stdin__.fileno(), self.exit_event, parser, take, self.process_message)

    def on_meta(self, packet_type: str, payload: dict[str, object]) -> None:
        """Take a control message; the app's own loop answers whether it is alive, so that one that hangs is silent."""
        if packet_type == ALIVE:
            self._loop.call_soon_threadsafe(partial(self.write_meta, {"type": ALIVE}))
        else:
            super().on_meta(packet_type, payload)

    def close(self) -> None:
        """Note that the app has ended by itself."""
        self._last.cancel()
        super().close()

    def _send(self, whole: bytes) -> None:
        left = memoryview(whole)
        with self._write_lock, suppress(BrokenPipeError):  # the server is gone: the end of the input shows that, too
            while left:  # a signal may interrupt the write
                left = left[os.write(self.fileno, left) :]


# ---- The app.

LARGEST = 32_000_000
"""Bytes after which a file is ended and sent: it is held in memory until then."""


class CsvDownload(CsvRecording):
    """One growing CSV file at a time, without a name on disk; at its end it is passed to `send` with its name."""

    def __init__(self, send: Callable[[TextIO, str], object]) -> None:
        super().__init__()
        self._send = send
        self._content: TextIO | None = None
        self._name = ""

    def write(self, reading: Reading) -> str:
        """Append a reading; if that fails or the file is full, end it and return a notice."""
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
        """End the file without sending it."""
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
        """Return the writer of a CSV file for the browser to download."""
        return CsvDownload(self.send_csv)

    def get_driver_class(self) -> type[Driver]:
        """Return the driver for browsers."""
        return BrowserDriver

    def send_csv(self, content: TextIO, name: str) -> None:
        """Make the browser download a file."""
        self.deliver_text(content, save_filename=name, mime_type="text/csv")


class ServedReplay(ReplayApp, ServedMonitor):
    """A recording in a browser."""


def run_served(target: LiveTarget, *, theme: str | None = None) -> int:
    """Show the monitor in a browser until its user quits or is gone, and return the exit code.

    For everything else see :func:`presman.tui.app.run_monitor`.
    """
    app = ServedMonitor(
        sampler_feed(target), name=clean(target.name), refresh=target.interval, theme=theme, packs=target.packs
    )
    return run_until_ended(app)


def run_served_replay(make_source: Callable[[], RecordingSource], *, name: str, theme: str | None = None) -> int:
    """Show a recording in a browser until its user quits or is gone, and return the exit code."""
    return run_until_ended(ServedReplay(make_source, name=clean(name), theme=theme))
