"""The whole program on a terminal: keys, suspending and resuming, quitting."""

from __future__ import annotations

import os
import shlex
import signal
import termios
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from benchmarks.terminal import ESCAPES, Screen
from tests.cli.run import QUEUEING, Run, command, environment
from tests.patience import PATIENCE, until
from tests.thorough import some


@pytest.fixture
def screen() -> Iterator[Screen]:
    made = Screen(command("demo:quiet"), **environment())
    made.wait_for(b"LIVE", b"CPUs used")
    yield made
    made.close()


def stopped(screen: Screen) -> None:
    """Wait until it is stopped, and read its output in the meantime, because it finishes writing first."""
    process = psutil.Process(screen.pid)
    until(lambda: process.status() == psutil.STATUS_STOPPED, "stopped", lambda: screen._read(0.01))


def test_keys_being_stopped_and_quitting(screen: Screen) -> None:
    """SIGSTOP cannot be handled, and a closed terminal also sends SIGCONT: no thread may be left behind."""
    process = psutil.Process(screen.pid)
    threads = process.num_threads()
    screen.press(b"\x1a")
    screen.wait_for(b"There is no shell to go back to")
    assert process.status() != psutil.STATUS_STOPPED
    for number in (signal.SIGSTOP, signal.SIGTSTP):
        process.send_signal(number)
        stopped(screen)
        screen.forget()
        process.send_signal(signal.SIGCONT)
        until(lambda: b"\x1b[?1049h" in screen.last, "the other screen again", lambda: screen._read(0.01))
        screen.wait_for(b"CPUs used")
        assert process.num_threads() <= threads
    screen.press(b"?")
    screen.wait_for(b"Help: Overview")
    screen.forget()
    screen.press(b"\x1b")
    # Not a word of the tab, which the help has, too. A key too soon after Esc would count as Alt and that key.
    screen.wait_for(b"q quit")
    screen.press(b"q")
    screen.wait_for_end(30)
    assert screen.status == 0
    left, shown = screen.last.rfind(b"\x1b[?1049l"), screen.last.rfind(b"\x1b[?25h")
    assert 0 < left < shown, "back from the other screen, with a visible cursor"


def test_keys_between_two_screens_are_not_echoed() -> None:
    """Between two programs a terminal echoes keys, so it must stay in its mode from one screen to the next."""
    screen = Screen(command("fleet", "demo:quiet", "demo:noplan"), **environment(PRESMAN_CONFIG=os.devnull))
    terminal = screen._process.fd
    echoes: list[bool] = []

    def look() -> None:
        echoes.append(bool(termios.tcgetattr(terminal)[3] & (termios.ECHO | termios.ICANON)))
        screen._read(0.002)

    def shows(mark: bytes) -> bool:
        return mark in ESCAPES.sub(b"", screen.last)

    try:
        screen.wait_for(b"LIVE")
        for key, mark in ((b"\r", b"1 Overview"), (b"q", b"2 databases")):
            screen.forget()
            screen.press(key)
            until(partial(shows, mark), f"{mark!r} after {key!r}", look)
        assert len(echoes) > 4
        assert not any(echoes)
        screen.press(b"q")
        screen.wait_for_end(30)
        assert screen.status == 0
        assert termios.tcgetattr(terminal)[3] & termios.ECHO, "it is as it was"
    finally:
        screen.close()


@pytest.mark.parametrize("through", some(["sh -c '%s; true'"], ["%s"]))
def test_ctrl_z_goes_to_the_shell_and_fg_comes_back(through: str) -> None:
    """The program that runs presman, such as make, must stop, too; otherwise the shell would not come back."""
    screen = Screen(["bash", "--norc", "--noprofile", "-i"], **environment(PS1="here> "))
    line = shlex.join(command("demo:quiet"))
    flags = termios.ECHO | termios.ICANON | termios.ISIG
    try:
        screen.wait_for(b"here>")
        screen.press((through % line).encode() + b"\n")
        screen.wait_for(b"LIVE", b"CPUs used")
        for _ in range(2):
            screen.forget()
            screen.press(b"\x1a")
            screen.wait_for(b"Stopped", b"here>")
            screen.forget()
            screen.press(b"stty -a; echo 'I am'' back'\n")
            screen.wait_for(b"I am back", b"\nisig icanon ", b" echo ")
            screen.forget()
            screen.press(b"fg\n")
            screen.wait_for(b"CPUs used", b"1 Overview")
            assert not termios.tcgetattr(screen._process.fd)[3] & flags
            screen.forget()
            screen.press(b"2")
            screen.wait_for(b"[2 CPU]")
            screen.press(b"1")
            screen.wait_for(b"[1 Overview]")
        screen.forget()
        screen.press(b"q")
        screen.wait_for(b"here>")
        screen.press(b"echo code $?; exit\n")
        screen.wait_for(b"code 0")
        screen.wait_for_end()
    finally:
        screen.close()


@pytest.mark.parametrize("ignored", ["", "trap '' HUP; "], ids=["SIGHUP", "nohup"])
def test_without_its_terminal_presman_ends_silently(tmp_path: Path, ignored: str) -> None:
    """Textual writes screens to standard error, so `2>file` would send them to the file."""
    errors = tmp_path / "err"
    script = f"{ignored}{shlex.join(command('demo:quiet'))} 2>{errors}; echo $? >{tmp_path / 'code'}"
    screen = Screen(["sh", "-c", f"trap 'trap : HUP' HUP; {script}"], **environment())
    screen.wait_for(b"LIVE", b"CPUs used")
    family = psutil.Process(screen.pid).children(recursive=True)
    screen._process.fileobj.close()  # through its own object, because its number may be reused later
    until(lambda: (tmp_path / "code").exists() and (tmp_path / "code").read_text(), "it has ended")
    assert ((tmp_path / "code").read_text(), errors.read_text()) == ("129\n", "")
    assert not psutil.wait_procs(family, PATIENCE)[1]


def test_a_redirected_screen_is_refused(inside: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    done = inside(QUEUEING, "--polls", "1")
    assert done.stderr == "presman: standard output is not a terminal: 1 reading as text\n"
