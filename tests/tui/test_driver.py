"""The reader of keys: on its own terminal, and in the whole program."""

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
from types import SimpleNamespace
from typing import Any

import pyte
import pytest
from rich.color import ColorSystem
from rich.style import Style
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Key, Paste
from textual.message import Message

from presman.tui import driver
from presman.tui.driver import ScreenFile, TerminalDriver, without_repeats
from tests.patience import until


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
        until(lambda: len(self.came) >= count, f"{count} keys")
        return [message.character or message.key for message in self.came if isinstance(message, Key)]

    def ends(self) -> bool:
        """Tell the thread to end, and whether it does."""
        self.exit_event.set()
        self.thread.join(60)
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


def test_a_key_in_two_parts_is_one_key(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "ESCAPE_DELAY", 60.0)
    terminal.types(b"\x1b[")
    time.sleep(0.02)
    terminal.types(b"A")
    assert terminal.keys(1) == ["up"]
    terminal.types("é".encode()[:1])
    time.sleep(0.02)
    terminal.types("é".encode()[1:])
    assert terminal.keys(2)[1:] == ["é"]


def test_invalid_utf_8_does_not_end_the_reader(terminal: Terminal) -> None:
    terminal.types(b"\xff\xfe")
    terminal.keys(2)
    terminal.types(b"q")
    assert terminal.keys(3)[-1] == "q"


def test_pasted_text_is_one_message(terminal: Terminal) -> None:
    terminal.types(b"\x1b[200~two words\x1b[201~")
    terminal.keys(1)
    (message,) = terminal.came
    assert isinstance(message, Paste)
    assert message.text == "two words"


def waits_of(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """Return the list of timeouts with which the thread of the next terminal waits; None has no limit."""
    waits: list[float | None] = []

    class Selector(SelectSelector):
        def select(self, timeout: float | None = None) -> Any:
            waits.append(timeout)
            return super().select(timeout)

    monkeypatch.setattr(driver, "SelectSelector", Selector)
    monkeypatch.setattr(driver, "ESCAPE_DELAY", 0.01)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    return waits


def test_the_reader_sleeps_until_a_key_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = waits_of(monkeypatch)
    made = Terminal()
    made.thread.start()
    until(lambda: waits, "waiting for a key")
    made.types(b"a\n")
    made.keys(2)
    until(lambda: waits[-1] is None and len(waits) > 1, "nothing more to come")
    assert waits.count(None) == 2, "before the key and after it"
    assert made.ends()


def test_a_closed_terminal_is_not_polled_repeatedly(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = waits_of(monkeypatch)
    made, asked = Terminal(), []
    monkeypatch.setattr(made, "_loop", SimpleNamespace(call_soon_threadsafe=asked.append))
    made.thread.start()
    os.close(made.typist)
    until(lambda: waits.count(None) > 1, "nothing more to come")
    assert made.thread.is_alive(), "it waits for the end"
    assert made.ends()
    assert waits.count(None) == 2, "before the terminal was gone, and when it was"
    assert [each.keywords for each in asked] == [{"return_code": 129}], "as after SIGHUP"
    os.close(made.fileno)


def test_writing_to_a_closed_terminal_raises_no_error() -> None:
    ours, theirs = pty.openpty()
    with open(theirs, "w", encoding="utf-8") as file:  # noqa: PTH123
        screen = ScreenFile(file)
        screen.write("before")
        screen.flush()
        assert os.read(ours, 100) == b"before"
        os.close(ours)
        screen.write("after")
        screen.flush()
        assert screen.encoding == "utf-8"
        with suppress(OSError):
            file.close()
    full = open("/dev/full", "w", encoding="utf-8")  # noqa: PTH123, SIM115
    with pytest.raises(OSError, match="No space left"):
        ScreenFile(full).write("x" * 100_000)
    with suppress(OSError):
        full.close()


def test_the_reader_can_be_restarted(terminal: Terminal) -> None:
    assert terminal.ends()
    terminal.exit_event.clear()
    terminal.thread = Thread(target=terminal.run_input_thread, daemon=True)
    terminal.thread.start()
    terminal.types(b"q")
    assert terminal.keys(1) == ["q"]


class Own(TerminalDriver):
    """The driver of an app that ends, or (`hands_on`) is followed by another screen."""

    def __init__(self, *, hands_on: bool, running: bool = True) -> None:
        self.done: list[str] = []
        self.fileno = -1
        self.attrs_before = ["Textual's"]
        self._app: Any = SimpleNamespace(
            hands_on=hands_on, is_running=running, refresh=lambda: self.done.append("painted anew")
        )

    def suspend_application_mode(self) -> None:
        self.done.append("suspended")


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is done to the terminal, by Textual and by the guard."""
    found: list[str] = []
    for name in ("start_application_mode", "stop_application_mode", "close"):
        monkeypatch.setattr(LinuxDriver, name, lambda _driver, name=name: found.append(name))
    for name in ("screen_on", "screen_off"):
        monkeypatch.setattr(driver.terminal_guard, name, lambda name=name: found.append(name))
    monkeypatch.setattr(driver.terminal_guard, "settings_before", lambda: ["as it was"])
    return found


def test_the_guard_knows_while_the_screen_is_in_use(done: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    own = Own(hands_on=False)
    own.start_application_mode()
    assert (own._is_on, own.attrs_before) == (True, ["as it was"])
    own.stop_application_mode()
    assert (own._is_on, own.attrs_before) == (False, ["as it was"])
    own.close()
    assert done == ["screen_on", "start_application_mode", "stop_application_mode", "close", "screen_off"]
    monkeypatch.setattr(driver.terminal_guard, "settings_before", lambda: None)
    own = Own(hands_on=False)
    own.start_application_mode()
    assert own.attrs_before == ["Textual's"], "without a guard those that Textual saw"


def test_a_screen_that_follows_gets_the_terminal_unchanged(done: list[str]) -> None:
    own = Own(hands_on=True)
    own.start_application_mode()
    own.stop_application_mode()
    assert own.attrs_before is None, "nothing is put back"
    own.close()
    assert "screen_off" not in done


@pytest.mark.parametrize(
    ("was_on", "there", "running", "expected"),
    [
        (False, True, True, ["handled", "painted anew"]),  # after Ctrl-Z
        (True, True, True, ["suspended", "handled", "painted anew"]),  # after a SIGSTOP
        (True, False, True, []),  # the terminal was closed
        (False, True, False, []),  # it has ended
    ],
)
def test_after_sigstop_it_continues_as_after_ctrl_z(
    was_on: bool, there: bool, running: bool, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "_is_terminal", lambda _: there)
    own = Own(hands_on=False, running=running)
    own._is_on = was_on
    own._go_on(lambda *_: own.done.append("handled"), 18, None)
    assert own.done == expected


def test_a_terminal_is_distinguished_from_other_files() -> None:
    ours, theirs = pty.openpty()
    reader, writer = os.pipe()
    try:
        assert driver._is_terminal(theirs)
        assert not driver._is_terminal(reader)
    finally:
        for file in (ours, theirs, reader, writer):
            os.close(file)


def test_a_signal_is_handled_between_messages_or_at_once_when_idle() -> None:
    handled: list[tuple[int, str]] = []

    def handler(number: int, _frame: object) -> None:
        handled.append((number, "at once" if not later else "later"))

    later: list[str] = []
    driver._between_messages(handler, 1, None)

    async def amid() -> None:
        driver._between_messages(handler, 2, None)
        assert len(handled) == 1, "not in the middle of what runs"
        later.append("now")
        await asyncio.sleep(0)

    asyncio.run(amid())
    assert handled == [(1, "at once"), (2, "later")]


PLAIN, NOTE = "#e0e0e0 on #121212", "#57a5e2 on #121212"


@pytest.mark.parametrize(
    ("styles", "resets"),
    [
        ((PLAIN, NOTE, PLAIN), 2),  # one at the end of each line, but not before the third, which begins alike
        ((PLAIN, f"bold {NOTE}", PLAIN), 5),
        ((PLAIN, "#e0e0e0 on #242f38", "#57a5e2 on #242f38"), 6),
        (("green on blue", "red on blue", "underline red on blue"), 9),
        (("color(200) on color(20)", "color(100) on color(20)"), 2),
        (("#e0e0e0", PLAIN, "on #121212", NOTE), 12),
    ],
)
def test_a_background_that_stays_is_sent_once(styles: tuple[str, ...], resets: int) -> None:
    line = "".join(Style.parse(style).render("a m", color_system=ColorSystem.TRUECOLOR) for style in styles)
    frame = f"\x1b[?2026h\x1b[1;1H{line}\n\x1b[2;3H{line}\x1b[3;1H{line}\x1b[4;1H\x1b[?2026l"
    sent = without_repeats(frame)
    assert sent.count("\x1b[0m") == resets
    screens = [pyte.Screen(40, 5) for _ in range(2)]
    for screen, data in zip(screens, (frame, sent), strict=True):
        pyte.Stream(screen).feed(data)
    assert screens[0].buffer == screens[1].buffer
    assert screens[0].cursor.attrs == screens[1].cursor.attrs
