"""Keys and the screen of somebody who looks through a browser: packets from and to `presman serve` through pipes."""

from __future__ import annotations

import json
import os
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Lock, Timer
from typing import Any, BinaryIO, Literal, TextIO

from textual.drivers.web_driver import WebDriver
from textual.events import DeliveryComplete
from textual.message import Message
from textual.messages import ExitApp

from presman.base.child import PacketReader, file_packet, meta_packet, packet
from presman.tui.driver import WakingEvent, listen
from presman.tui.textual_internals import key_parser

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
        self,
        binary: BinaryIO | TextIO,
        *,
        delivery_key: str,
        save_path: Path,
        open_method: Literal["browser", "download"] = "download",  # noqa: ARG002 - Textual passes it
        encoding: str | None = None,
        mime_type: str | None = None,
        name: str | None = None,
    ) -> None:
        """Have the browser download a file: all of it goes to who serves, at once."""
        binary.seek(0)
        with binary:
            content = binary.read()
        if isinstance(content, str):
            content = content.encode(encoding or "utf-8")
        self._send(file_packet({"name": save_path.name, "type": mime_type or ""}, content))
        self.send_message(DeliveryComplete(key=delivery_key, path=None, name=name))

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
                yield self._left_alone()
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

    def _left_alone(self) -> Message:
        """Return what ends the app, since nobody looks; where it is deaf the process ends without it."""
        self._last.start()
        return ExitApp()

    def _send(self, whole: bytes) -> None:
        left = memoryview(whole)
        with self._one_writes, suppress(BrokenPipeError):  # nobody reads: the end of the input says so, too
            while left:  # a signal may come between
                left = left[os.write(self.fileno, left) :]
