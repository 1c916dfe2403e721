"""The monitor for a browser: refused keys, and its packets."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TextIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.app import App
from textual.driver import Driver
from textual.drivers.web_driver import WebDriver

from presman.base.child import PacketReader, file_of, file_packet, meta_packet, packet
from presman.tui import served_app
from presman.tui.app import MonitorApp
from presman.tui.replay_app import ReplayApp
from presman.tui.served_app import BrowserDriver, ServedMonitor, ServedReplay
from tests.patience import PATIENCE
from tests.tui.drive import NEVER, acted, stage
from tests.tui.readings import busy

served = partial(stage, size=(200, 50), make_app=partial(ServedMonitor, name="DWPROD"))


# ---- what it does not do


@acted
async def test_a_browser_cannot_act_record_or_switch_targets(tmp_path: Path) -> None:
    async with served(busy()) as acting:
        acting.app.targets = ("prod", "test")
        assert acting.app.gateway is None
        assert "Actions are not possible in a browser." in await acting.press("a")
        assert "A recording would be written where presman runs." in await acting.press("R")
        offered = {command.title for command in acting.app.get_system_commands(acting.app.screen)}
        assert not [title for title in offered if title.startswith(("act", "record", "databases", "forget"))]
        text = await acting.press("question_mark")
        assert "allow-actions" not in text
    assert not list(tmp_path.rglob("*.*"))


@acted
async def test_other_targets_cannot_be_reached() -> None:
    async with served(busy()) as acting:
        assert "presman serves only this target." in await acting.press("D")
        await acting.keys("t", "s")
        assert acting.app.view_saver is None


@acted
async def test_copied_text_goes_only_to_the_browser(tmp_path: Path) -> None:
    async with served(busy()) as acting:
        assert "to the browser's clipboard" in await acting.press("c")
        assert "Group: " in acting.app.clipboard
        assert "to the browser's clipboard" in await acting.press("4", "c", "c")
        assert acting.app.clipboard == busy().queue[0].sql_id
    assert not list(tmp_path.rglob("copied.txt"))


def test_a_recording_is_served_as_the_monitor_is() -> None:
    assert ServedReplay.is_served
    assert ServedReplay.__mro__.index(ReplayApp) < ServedReplay.__mro__.index(ServedMonitor)
    assert not MonitorApp.is_served


# ---- CSV


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What the browser was sent: names and contents."""
    found: list[tuple[str, str]] = []

    def send(_app: ServedMonitor, content: TextIO, name: str) -> None:
        content.seek(0)
        with content:
            found.append((name, content.read()))

    monkeypatch.setattr(ServedMonitor, "send_csv", send)
    return found


@acted
async def test_the_csv_file_is_sent_at_its_end(sent: list[tuple[str, str]], tmp_path: Path) -> None:
    async with served(busy()) as acting:
        assert "Recording cpu" in await acting.press("e")
        assert "▸ CSV cpu" in acting.screen
        await acting.show(busy(2))
        assert sent == []
        assert "CSV export ended" in await acting.press("e")
        ((name, content),) = sent
        assert name.startswith("presman-DWPROD-cpu-")
        assert name.endswith(".csv")
        rows = list(csv.DictReader(io.StringIO(content), strict=True))
        assert len({row["time"] for row in rows}) == 2
        await acting.keys("e")
    assert len(sent) == 1, "an unfinished file is not sent"
    assert not list(tmp_path.rglob("*.csv"))


@acted
async def test_a_csv_file_that_is_full_is_sent(sent: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served_app, "LARGEST", 10)
    async with served(busy()) as acting:
        assert "CSV export ended" in await acting.press("e")
        assert len(sent) == 1
        assert "▸ CSV" not in acting.screen


# ---- packets


@given(st.lists(st.tuples(st.sampled_from([b"D", b"M", b"F"]), st.binary(max_size=300))), st.integers(1, 50))
def test_packets_are_read_as_they_were_written(packets: list[tuple[bytes, bytes]], piece: int) -> None:
    stream = b"".join(packet(*each) for each in packets)
    reader = PacketReader()
    pieces = (stream[place : place + piece] for place in range(0, len(stream), piece))
    assert [each for data in pieces for each in reader.feed(data)] == packets


@given(st.dictionaries(st.text(), st.text()), st.binary())
def test_a_file_packet_is_read_as_it_was_written(header: dict[str, str], content: bytes) -> None:
    ((kind, inside),) = PacketReader().feed(file_packet(header, content))
    assert (kind, *file_of(inside)) == (b"F", header, content)


class Browser:
    """Who is at the other ends of the pipes."""

    def __init__(self, sends: int, takes: int) -> None:
        self._sends = sends
        self._takes = takes

    def send(self, *packets: bytes) -> None:
        os.write(self._sends, b"".join(packets))

    def goes(self) -> None:
        os.close(self._sends)

    def took(self) -> list[tuple[bytes, bytes]]:
        os.set_blocking(self._takes, False)
        data = os.read(self._takes, 1 << 16)
        greeting, _, rest = data.partition(b"\n")
        assert greeting == b"__GANGLION__"
        return list(PacketReader().feed(rest))


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> Iterator[Browser]:
    """Pipes in place of standard input and output."""
    incoming, sends = os.pipe()
    takes, outgoing = os.pipe()
    with os.fdopen(incoming) as input_, os.fdopen(outgoing, "w") as output:
        monkeypatch.setattr(served_app, "GRACE", NEVER)  # or a busy machine ends the tests
        monkeypatch.setattr(sys, "__stdin__", input_)
        monkeypatch.setattr(sys, "__stdout__", output)
        yield Browser(sends, takes)
    os.close(takes)


class Listener(App[None]):
    """An app that notes its keys and sizes."""

    def __init__(self) -> None:
        super().__init__(driver_class=BrowserDriver)
        self.came: list[str] = []

    def on_key(self, event: events.Key) -> None:
        self.came.append(event.key)
        if event.key == "f":
            self.deliver_text(io.StringIO("a,b\n"), save_filename="x.csv", mime_type="text/csv")
        if event.key == "x":
            self.exit()

    def on_resize(self, event: events.Resize) -> None:
        self.came.append(str(tuple(event.size)))

    def on_delivery_complete(self) -> None:
        self.came.append("delivered")


def run(app: Listener) -> None:
    """Run an app until it ends by itself without an error."""

    async def until_its_end() -> None:
        async with asyncio.timeout(PATIENCE):
            await app.run_async()

    asyncio.run(until_its_end())
    for thread in threading.enumerate():
        if thread.name == "textual-input":
            thread.join(PATIENCE)
    assert not app.return_code


def test_keys_sizes_and_files_go_through_the_pipes(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    monkeypatch.setenv("ROWS", "30")
    app = Listener()
    resize = meta_packet({"type": "resize", "width": 70, "height": 20})
    browser.send(
        meta_packet({"type": "alive"}),
        packet(b"D", b"4\x1b[A\xc3"),
        packet(b"D", b"\xa9"),
        resize,
        packet(b"D", b"f"),
        packet(b"D", b"x"),
    )
    run(app)
    assert [each for each in app.came if each.isalnum() or each == "up"][:5] == ["4", "up", "é", "f", "x"]
    assert "(90, 30)" in app.came
    packets = browser.took()
    assert [file_of(content) for kind, content in packets if kind == b"F"] == [
        ({"name": "x.csv", "type": "text/csv"}, b"a,b\n")
    ]
    assert [json.loads(content)["type"] for kind, content in packets if kind == b"M"] == ["alive", "exit"]
    assert b"\x1b[?1049h" in b"".join(content for kind, content in packets if kind == b"D")
    browser.goes()


@pytest.mark.parametrize("how", ["quit", "gone"])
def test_the_app_ends_with_its_viewer(browser: Browser, how: str) -> None:
    if how == "quit":
        browser.send(meta_packet({"type": "quit"}))
        run(Listener())
    browser.goes()
    if how == "gone":
        run(Listener())


def test_an_unresponsive_app_is_ended(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    exits: list[App[None]] = []

    async def let_be(app: App[None]) -> None:
        exits.append(app)

    monkeypatch.setattr(served_app, "GRACE", 0.01)
    monkeypatch.setattr("os._exit", ended.append)
    monkeypatch.setattr(App, "_on_exit_app", let_be)
    browser.goes()

    async def until_the_end() -> None:
        app = Listener()
        running = asyncio.create_task(app.run_async())
        async with asyncio.timeout(PATIENCE):
            while not (ended and exits):  # the reader must have ended before the loop does
                await asyncio.sleep(0.005)
        monkeypatch.undo()
        app.exit()
        await running

    asyncio.run(until_the_end())
    assert ended == [1]


def test_without_textuals_parser_its_own_driver_reads(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(served_app, "key_parser", lambda: None)
    monkeypatch.setattr(WebDriver, "run_input_thread", lambda _driver: asked.append("Textual"))
    object.__new__(BrowserDriver).run_input_thread()
    assert asked == ["Textual"]
    browser.goes()


def test_the_driver_of_a_served_monitor_is_not_chosen_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(App, "get_driver_class", lambda _app: Driver)
    assert ServedMonitor.get_driver_class(object.__new__(ServedMonitor)) is BrowserDriver
