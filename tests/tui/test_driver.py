"""What reads keys: on a terminal of its own, and in the whole program."""

from __future__ import annotations

import asyncio
import os
import pty
import time
import tty
from collections.abc import Iterator
from contextlib import suppress
from selectors import SelectSelector
from threading import Thread
from typing import Any

import pytest
from textual.app import App
from textual.events import Key, Paste
from textual.message import Message

from presman.tui import driver
from presman.tui.driver import TerminalDriver


class Terminal(TerminalDriver):
    """The driver on a terminal that the test types into; messages are kept instead of sent to an app."""

    def __init__(self) -> None:
        async def begun() -> None:
            super(Terminal, self).__init__(App())

        asyncio.run(begun())
        self.typist, self.fileno = pty.openpty()
        self.came: list[Message] = []
        self.thread = Thread(target=self.run_input_thread, daemon=True)

    def process_message(self, message: Message) -> None:
        self.came.append(message)

    def types(self, text: bytes) -> None:
        os.write(self.typist, text)

    def keys(self, count: int) -> list[str]:
        """Wait for that many keys and return their characters, or names."""
        end = time.monotonic() + 5
        while len(self.came) < count and time.monotonic() < end:
            time.sleep(0.005)
        return [message.character or message.key for message in self.came if isinstance(message, Key)]

    def ends(self) -> bool:
        """Tell the thread to end, and whether it does."""
        self.exit_event.set()
        self.thread.join(5)
        return not self.thread.is_alive()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    monkeypatch.setattr("signal.signal", lambda *_: None)
    made = Terminal()
    tty.setraw(made.fileno)
    made.thread.start()
    yield made
    assert made.ends()
    for file in (made.typist, made.fileno):
        with suppress(OSError):
            os.close(file)


def test_keys_come_in_order(terminal: Terminal) -> None:
    terminal.types(b"4q\t")
    assert terminal.keys(3) == ["4", "q", "\t"]


def test_an_esc_alone_is_a_key(terminal: Terminal) -> None:
    terminal.types(b"\x1b")
    assert terminal.keys(1) == ["\x1b"]


def test_what_comes_in_two_parts_is_one_key(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "ESCAPE_DELAY", 1.0)
    terminal.types(b"\x1b[")
    time.sleep(0.02)
    terminal.types(b"A")
    assert terminal.keys(1) == ["up"]
    terminal.types("é".encode()[:1])
    time.sleep(0.02)
    terminal.types("é".encode()[1:])
    assert terminal.keys(2)[1:] == ["é"]


def test_bytes_that_are_no_text_end_nothing(terminal: Terminal) -> None:
    terminal.types(b"\xff\xfe")
    terminal.keys(2)
    terminal.types(b"q")
    assert terminal.keys(3)[-1] == "q"


def test_what_is_pasted_comes_as_one(terminal: Terminal) -> None:
    terminal.types(b"\x1b[200~two words\x1b[201~")
    terminal.keys(1)
    (message,) = terminal.came
    assert isinstance(message, Paste)
    assert message.text == "two words"


def test_it_sleeps_until_a_key_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float | None] = []

    class Selector(SelectSelector):
        def select(self, timeout: float | None = None) -> Any:
            waits.append(timeout)
            return super().select(timeout)

    monkeypatch.setattr(driver, "SelectSelector", Selector)
    monkeypatch.setattr(driver, "ESCAPE_DELAY", 0.01)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    made = Terminal()
    made.thread.start()
    made.types(b"a\n")
    made.keys(2)
    end = time.monotonic() + 5
    while waits[-1] is not None and time.monotonic() < end:
        time.sleep(0.005)
    assert waits.count(None) == 2, "before the key, and when nothing more is to come"
    assert made.ends()


def test_a_terminal_that_is_gone_is_not_asked_again_and_again(terminal: Terminal) -> None:
    os.close(terminal.typist)
    time.sleep(0.05)
    begun = time.process_time()
    time.sleep(0.4)
    assert time.process_time() - begun < 0.2
    assert terminal.thread.is_alive(), "it waits to be told to end"


def test_it_can_begin_again(terminal: Terminal) -> None:
    assert terminal.ends()
    terminal.exit_event.clear()
    terminal.thread = Thread(target=terminal.run_input_thread, daemon=True)
    terminal.thread.start()
    terminal.types(b"q")
    assert terminal.keys(1) == ["q"]
