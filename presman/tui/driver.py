"""Driver for the keys and mouse of a terminal, without polling ten times a second."""

import asyncio
import errno
import os
import signal
import sys
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from io import TextIOWrapper
from selectors import EVENT_READ, SelectSelector
from threading import Event
from typing import Any, TextIO, cast
from weakref import finalize

from textual.constants import ESCAPE_DELAY
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from presman.base import terminal_guard
from presman.tui.textual_internals import KeyParser, end_input, key_parser

_CHUNK = 4096

_ROUNDS = 3
"""Number of checks after input whether an Esc is the key or the start of an escape sequence."""


class WakingEvent(Event):
    """An event with a file descriptor: `fileno` is readable while the event is set."""

    def __init__(self) -> None:
        super().__init__()
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        finalize(self, _close, self._reader, self._writer)

    def fileno(self) -> int:
        """Return the file descriptor to wait for."""
        return self._reader

    def set(self) -> None:
        """Set the event, and wake the waiting thread."""
        super().set()
        os.write(self._writer, b"\0")

    def clear(self) -> None:
        """Clear the event."""
        super().clear()
        with suppress(BlockingIOError):
            os.read(self._reader, _CHUNK)


def _between_messages(handler: Callable[[int, Any], Any], number: int, frame: Any) -> None:
    """Handle a signal in the event loop: Textual's handler would deadlock in the middle of a write."""
    try:
        asyncio.get_running_loop().call_soon_threadsafe(handler, number, frame)
    except RuntimeError:
        handler(number, frame)


_is_terminal = os.isatty
"""Whether a file descriptor still is a terminal: one that was taken away is none."""


def _close(*files: int) -> None:
    for file in files:
        os.close(file)


class ScreenFile:
    """The file of a screen. Output after its terminal was taken away is lost without an error."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, text: str) -> int:
        """Write a text."""
        return self._unless_gone(partial(self._file.write, text))

    def flush(self) -> None:
        """Pass on what was written."""
        self._unless_gone(self._file.flush)

    def _unless_gone(self, act: Callable[[], int | None]) -> int:
        try:
            return act() or 0
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return 0


_RESET = "\x1b[0m"
_GROUND = ";48;"
"""Stands between the colours of text and background in a style that has both."""


def without_repeats(data: str) -> str:
    """Return an output that shows the same in fewer bytes: a background is named once for neighbours that share it.

    Only colours carry over: after bold or the like the style is reset, as Textual does after every piece of text.
    """
    first, *pieces = data.split(f"{_RESET}\x1b[")
    found, before = [first], _last_style(first)
    for piece in pieces:
        style, _, rest = piece.partition("m")
        colours, _, ground = style.partition(_GROUND)
        carries = ground and before.startswith("38;") and before.endswith(_GROUND + ground)
        found.append(f"\x1b[{colours}m{rest}" if carries else f"{_RESET}\x1b[{piece}")
        before = _last_style(rest) if "\x1b[" in rest else style.rpartition("\x1b[")[2]
    return "".join(found)


def _last_style(text: str) -> str:
    return text.rpartition("\x1b[")[2].partition("m")[0]


class TerminalDriver(LinuxDriver):
    """Textual's driver for Unix, with a thread that sleeps until a key comes.

    Textual's thread wakes ten times a second, which was a sixth of the CPU time of an idle monitor, and spins once its
    input has ended.
    """

    exit_event: WakingEvent

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if not os.isatty(2):  # Textual writes the screen there, even to a file
            encoding = sys.__stdout__.encoding if sys.__stdout__ else "utf-8"
            self._file = open(1, "w", encoding=encoding, errors="replace", closefd=False)  # noqa: SIM115
        self._file = cast("TextIOWrapper", ScreenFile(cast("TextIO", self._file)))
        self.exit_event = WakingEvent()
        self._is_on = False
        stop, go_on = signal.getsignal(signal.SIGTSTP), signal.getsignal(signal.SIGCONT)
        if callable(stop) and callable(go_on):
            signal.signal(signal.SIGTSTP, partial(_between_messages, stop))
            signal.signal(signal.SIGCONT, partial(_between_messages, partial(self._go_on, go_on)))

    def write(self, data: str) -> None:
        """Write a frame, or a sequence for the terminal."""
        super().write(without_repeats(data))

    def start_application_mode(self) -> None:
        """Start using the terminal, and ensure that it is restored whatever happens."""
        terminal_guard.screen_on()
        self._is_on = True
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self.attrs_before = terminal_guard.settings_before() or self.attrs_before

    def stop_application_mode(self) -> None:
        """Restore the terminal, or leave it as it is for a screen that follows at once.

        Keys typed in between belong to the next screen; a restored terminal would echo them into the picture.
        """
        self._is_on = False
        if self._hands_on:
            self.attrs_before = None
        super().stop_application_mode()

    @property
    def _hands_on(self) -> bool:
        return bool(getattr(self._app, "hands_on", False))

    def go_to_shell(self) -> bool:
        """Restore the terminal and stop the process group (presman, a make or script around it) until it is resumed.

        Return False if no shell would: presman is the session leader, or its parent is outside of the session.
        """
        session, leads = os.getsid(0), os.getpgrp() == os.getpid()
        if os.getpgrp() == session or (leads and os.getsid(os.getppid()) != session):
            return False
        self.suspend_application_mode()
        # The rest of the group stops as at Ctrl-Z. presman ignores that signal and then stops by SIGSTOP alone.
        before = signal.signal(signal.SIGTSTP, signal.SIG_IGN)
        os.killpg(0, signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, before)
        os.kill(os.getpid(), signal.SIGSTOP)  # until SIGCONT: _go_on takes the terminal again
        return True

    def _go_on(self, handler: Callable[[int, Any], Any], number: int, frame: Any) -> None:
        """Resume after SIGCONT. Textual's handler sets up everything again, which is right only after Ctrl-Z.

        After a SIGSTOP, which gives no warning, the application mode must be stopped first, or its threads never end.
        SIGCONT also follows SIGHUP when the terminal is closed: then there is nothing to resume.
        """
        if self._is_on:
            if not _is_terminal(self.fileno):
                return
            self.suspend_application_mode()
        if self._app.is_running:
            handler(number, frame)
            self._app.refresh()  # if the size is the same, Textual paints only changes

    def close(self) -> None:
        """Write the remaining output; then the terminal is as it was."""
        super().close()
        if not self._hands_on:
            terminal_guard.screen_off()

    def run_input_thread(self) -> None:
        """Pass on the input of the terminal until the event is set. Runs in a thread of its own."""
        parser = key_parser(getattr(self, "_debug", False))
        if parser is None:  # another version of Textual: use its own way
            super().run_input_thread()
        else:
            self._listen(parser)

    def _listen(self, parser: KeyParser) -> None:
        decode = getincrementaldecoder("utf-8")("replace").decode

        def take(data: bytes) -> Iterable[Message]:
            if not data and not _is_terminal(self.fileno):  # also where SIGHUP is ignored or does not come
                self._loop.call_soon_threadsafe(partial(self._app.exit, return_code=128 + signal.SIGHUP))
            text = decode(data)  # an incomplete character is no text yet
            return parser.feed(text) if text else ()

        listen(self.fileno, self.exit_event, parser, take, self.process_message)


def listen(
    file: int,
    over: WakingEvent,
    parser: KeyParser,
    take: Callable[[bytes], Iterable[Message]],
    pass_on: Callable[[Any], None],
) -> None:
    """Pass on what `take` returns for the input of a file, until `over` is set. Sleep while there is none.

    `take` gets b"" at the end of the file.
    """
    rounds = 0
    with SelectSelector() as selector:
        selector.register(over, EVENT_READ)
        selector.register(file, EVENT_READ)
        while not over.is_set():
            # Without a timeout the thread sleeps; after input it wakes a few times, so that a lone Esc counts as a key.
            came = {key.fd for key, _ in selector.select(ESCAPE_DELAY if rounds else None)}
            rounds = _ROUNDS if came else max(0, rounds - 1)
            if file in came and not over.is_set():
                if not (data := _read(file)):
                    # A file at its end is always readable: the loop would spin.
                    selector.unregister(file)
                for message in take(data):
                    pass_on(message)
            for message in parser.tick():
                pass_on(message)
    end_input(parser)


def _read(file: int) -> bytes:
    """Return the available bytes, b"" if the sender is gone."""
    try:
        return os.read(file, _CHUNK)
    except OSError:
        return b""
