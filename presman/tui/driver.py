"""Keys and the mouse from a terminal, without looking for them ten times a second."""

import asyncio
import os
import signal
import sys
import termios
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from selectors import EVENT_READ, SelectSelector
from threading import Event
from typing import Any
from weakref import finalize

from textual.constants import ESCAPE_DELAY
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from presman.base import terminal_guard
from presman.tui.textual_internals import KeyParser, end_input, key_parser

_CHUNK = 4096

_ROUNDS = 3
"""How often to look, after something came, whether an Esc is the key or begins the name of another."""


class WakingEvent(Event):
    """An event with a file descriptor to wait for: `fileno` is readable while it is set."""

    def __init__(self) -> None:
        super().__init__()
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        finalize(self, _close, self._reader, self._writer)

    def fileno(self) -> int:
        """Return the file to wait for."""
        return self._reader

    def set(self) -> None:
        """Set the event, and wake who waits."""
        super().set()
        os.write(self._writer, b"\0")

    def clear(self) -> None:
        """Have it not happened."""
        super().clear()
        with suppress(BlockingIOError):
            os.read(self._reader, _CHUNK)


def _between_messages(handler: Callable[[int, Any], Any], number: int, frame: Any) -> None:
    """Handle a signal when the app does nothing else: in the middle of a write Textual's handler waits for itself."""
    try:
        asyncio.get_running_loop().call_soon_threadsafe(handler, number, frame)
    except RuntimeError:
        handler(number, frame)


def _is_terminal(terminal: int) -> bool:
    """Whether a terminal still is one."""
    try:
        termios.tcgetattr(terminal)
    except termios.error:
        return False
    return True


def _close(*files: int) -> None:
    for file in files:
        os.close(file)


class TerminalDriver(LinuxDriver):
    """Textual's driver for Unix, but its thread sleeps until a key comes.

    Textual's own wakes ten times a second, which was a sixth of all that the monitor cost when nobody touched it, and
    never sleeps once its input has ended.
    """

    exit_event: WakingEvent

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if not os.isatty(2):  # Textual writes the screen there, even to a file
            encoding = sys.__stdout__.encoding if sys.__stdout__ else "utf-8"
            self._file = open(1, "w", encoding=encoding, errors="replace", closefd=False)  # noqa: SIM115
        self.exit_event = WakingEvent()
        self._is_on = False
        stop, go_on = signal.getsignal(signal.SIGTSTP), signal.getsignal(signal.SIGCONT)
        if callable(stop) and callable(go_on):
            signal.signal(signal.SIGTSTP, partial(_between_messages, stop))
            signal.signal(signal.SIGCONT, partial(_between_messages, partial(self._go_on, go_on)))

    def start_application_mode(self) -> None:
        """Begin to use the terminal, and have it put back whatever happens."""
        terminal_guard.screen_on()
        self._is_on = True
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self.attrs_before = terminal_guard.settings_before() or self.attrs_before

    def stop_application_mode(self) -> None:
        """Leave the terminal as it was, or, to a screen that follows at once, as it is.

        What is typed between the two is for the next one; the terminal would write it into what is painted.
        """
        self._is_on = False
        if self._hands_on:
            self.attrs_before = None
        super().stop_application_mode()

    @property
    def _hands_on(self) -> bool:
        return bool(getattr(self._app, "hands_on", False))

    def go_to_shell(self) -> bool:
        """Put the terminal back and stop, with all that runs presman (make, a script), until the shell says go on.

        Return False where no shell would: presman leads the session, or was begun by somebody out of it.
        """
        session, leads = os.getsid(0), os.getpgrp() == os.getpid()
        if os.getpgrp() == session or (leads and os.getsid(os.getppid()) != session):
            return False
        self.suspend_application_mode()
        before = signal.signal(signal.SIGTSTP, signal.SIG_IGN)
        os.killpg(0, signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, before)
        os.kill(os.getpid(), signal.SIGSTOP)  # SIGCONT will wake it: _go_on takes the terminal again
        return True

    def _go_on(self, handler: Callable[[int, Any], Any], number: int, frame: Any) -> None:
        """Go on after SIGCONT. Textual's handler sets up everything again, which is right only after Ctrl-Z.

        After a SIGSTOP, of which nobody had notice, what there is must end first, or its threads never do. SIGCONT also
        comes when the terminal is closed, behind SIGHUP: then there is nothing to go on with.
        """
        if self._is_on:
            if not _is_terminal(self.fileno):
                return
            self.suspend_application_mode()
        if self._app.is_running:
            handler(number, frame)
            self._app.refresh()  # of a screen as large as before Textual paints only what has changed

    def close(self) -> None:
        """Write what is left to write; then the terminal is as it was."""
        super().close()
        if not self._hands_on:
            terminal_guard.screen_off()

    def run_input_thread(self) -> None:
        """Pass on what the terminal sends until the event is set. Runs in a thread of its own."""
        parser = key_parser(getattr(self, "_debug", False))
        if parser is None:  # Textual has another one: so be it its way
            super().run_input_thread()
        else:
            self._listen(parser)

    def _listen(self, parser: KeyParser) -> None:
        decode = getincrementaldecoder("utf-8")("replace").decode

        def take(data: bytes) -> Iterable[Message]:
            text = decode(data)  # half a character is no text yet
            return parser.feed(text) if text else ()

        listen(self.fileno, self.exit_event, parser, take, self.process_message)


def listen(
    file: int,
    over: WakingEvent,
    parser: KeyParser,
    take: Callable[[bytes], Iterable[Message]],
    pass_on: Callable[[Any], None],
) -> None:
    """Pass on what `take` makes of what comes through a file, until `over` is set; sleep meanwhile.

    `take` is given b"" when the file has ended.
    """
    rounds = 0
    with SelectSelector() as selector:
        selector.register(over, EVENT_READ)
        selector.register(file, EVENT_READ)
        while not over.is_set():
            came = {key.fd for key, _ in selector.select(ESCAPE_DELAY if rounds else None)}
            rounds = _ROUNDS if came else max(0, rounds - 1)
            if file in came and not over.is_set():
                data = _read(file)
                if not data:
                    selector.unregister(file)
                for message in take(data):
                    pass_on(message)
            for message in parser.tick():
                pass_on(message)
    end_input(parser)


def _read(file: int) -> bytes:
    """Return the bytes that came; none if the sender is gone."""
    try:
        return os.read(file, _CHUNK)
    except OSError:
        return b""
