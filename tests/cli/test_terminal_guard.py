"""The terminal is restored however presman ends, and one line says what happened."""

from __future__ import annotations

import os
import pty
import py_compile
import signal
import stat
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchmarks.terminal import Screen
from presman.base import terminal_guard
from presman.base.terminal_guard import process as watching
from tests.cli.run import command, environment
from tests.patience import until
from tests.thorough import some

OFF = [b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1000l", b"\x1b[?1003l", b"\x1b[?1006l", b"\x1b[?2004l", b"\x1b[<u"]
"""Sequences that restore the main screen, cursor, mouse, bracketed paste and kitty keyboard."""

PATIENCE = 0.6
"""Seconds after which the guard kills a presman that does not react, shortened for tests."""

DEAF = f"""
import ctypes, os, re, sys, time
from presman.base import terminal_guard
terminal_guard.BEGIN = terminal_guard.BEGIN.replace(
    "main(", "import process; process.DEAF = process.GRACE = {PATIENCE}; main("
)
from presman.tui.feed import SamplerFeed
def spin(self, event):
    here = os.environ["XDG_STATE_HOME"]
    while not os.path.exists(here + "/begun"):
        time.sleep(0.01)
    sys.setswitchinterval(3600)
    time.sleep(0.05)  # the thread that waited for the lock has it by now; no other one asks for it again
    ctypes.PyDLL(None).creat((here + "/deaf").encode(), 0o600)
    SPIN
SamplerFeed._receive = spin
sys.argv = ["presman", "demo:quiet"]
from presman.cli import main
sys.exit(main())
"""
"""presman with a thread that never releases Python's lock."""

SPINS = {
    "in a system call": "ctypes.PyDLL(None).sleep(600)",
    "in a lock": "lock, held = ctypes.PyDLL(None).pthread_mutex_lock, bytes(64); lock(held); lock(held)",
    "in a loop": 're.match("(a+)+$", "a" * 64 + "b")',
}
"""A signal ends the first of them, but not the others; the last one uses CPU."""


class Watched:
    """A monitor on a terminal, its terminal guard, and the terminal's settings before."""

    def __init__(self, folder: Path, *words: str, **given: str) -> None:
        given = environment(XDG_STATE_HOME=str(folder), **given)
        # ptyprocess makes a terminal with the usual settings.
        self.screen = Screen(list(words) or command("demo:quiet"), **given)
        self.file = self.screen._process.fd
        self.before = termios.tcgetattr(self.file)
        self.folder = folder

    def begin(self, marker: bytes = b"CPUs used") -> None:
        self.screen.wait_for(marker)
        found: list[psutil.Process] = []
        until(
            lambda: found.extend(self.family()) or found, "a terminal guard"
        )  # a starting process may have no arguments yet
        self.guard = found[0]
        self.screen.forget()

    def family(self) -> list[psutil.Process]:
        """The terminal guard when it has started; presman's other child is the process of the source."""
        found = psutil.Process(self.screen.pid).children()
        return [each for each in found if "from process import main" in " ".join(each.cmdline())]

    def ends(self, limit: float = 60.0) -> str:
        """Wait until no process holds the terminal any more, and return the last output."""
        end = time.monotonic() + limit
        try:
            while time.monotonic() < end:
                self.screen._read(0.1)
        except RuntimeError:
            pass
        gone = (psutil.NoSuchProcess, psutil.ZombieProcess)
        while time.monotonic() < end:
            try:
                if self.guard.status() == psutil.STATUS_ZOMBIE:
                    break
            except gone:
                break
            time.sleep(0.01)
        assert time.monotonic() < end, "the terminal guard is gone, too"
        self.screen._process.wait()
        return self.screen.last.decode(errors="replace").rpartition("\x1b[?25h")[2].strip()

    def is_put_back(self) -> bool:
        return termios.tcgetattr(self.file) == self.before and all(mode in self.screen.last for mode in OFF)

    @property
    def log(self) -> Path:
        return self.folder / "presman" / "faults.log"


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Callable[..., Watched]]:
    made: list[Watched] = []

    def make(*words: str, **given: str) -> Watched:
        made.append(Watched(tmp_path, *words, **given))
        return made[-1]

    yield make
    for each in made:
        each.screen.close()


def deaf(watched: Callable[..., Watched], spin: str) -> Watched:
    """A monitor that has painted its first frame and started its guard, and then never releases Python's lock."""
    monitor = watched(sys.executable, "-c", DEAF.replace("SPIN", SPINS[spin]))
    monitor.begin(b"Overview")
    until(lambda: monitor.guard.cmdline()[:1] not in ([], ["sh"]), "the guard has started")
    (monitor.folder / "begun").touch()
    until((monitor.folder / "deaf").exists, "it ignores the signal", lambda: monitor.screen._read(0.01))
    return monitor


FAULTS = {"SIGSEGV": "Segmentation fault", "SIGABRT": "Aborted"}


def dies(monitor: Watched, name: str) -> None:
    """Kill presman, and check that the terminal is restored and one line says why."""
    assert termios.tcgetattr(monitor.file) != monitor.before
    number = signal.Signals[name]
    os.kill(monitor.screen.pid, number)
    message = monitor.ends()
    assert monitor.is_put_back()
    assert monitor.screen._process.signalstatus == number, "the parent sees presman's own exit status"
    if name in FAULTS:
        assert message == f"presman: ended by a fault in compiled code ({FAULTS[name]}); where: {monitor.log}"
        assert f"Fatal Python error: {FAULTS[name]}" in monitor.log.read_text()
    else:
        assert message in {f"presman: killed by {name}", "presman: killed"}
    assert len(message.splitlines()) == 1
    assert stat.S_IMODE(monitor.log.stat().st_mode) == 0o600


@pytest.mark.parametrize("name", some(["SIGKILL"], ["SIGQUIT", "SIGABRT"]))
def test_after_any_death(watched: Callable[..., Watched], name: str) -> None:
    monitor = watched()
    monitor.begin()
    dies(monitor, name)


EARLY = """
import sys
from presman.base import terminal_guard
terminal_guard.start = lambda: None  # as before the first frame
sys.argv = ["presman", "demo:quiet"]
from presman.cli import main
sys.exit(main())
"""


def test_after_a_death_before_the_first_frame(watched: Callable[..., Watched]) -> None:
    monitor = watched(sys.executable, "-c", EARLY)
    monitor.begin()
    assert Path(monitor.guard.exe()).name != Path(sys.executable).resolve().name, "still the shell, not the interpreter"
    os.kill(monitor.screen.pid, signal.SIGKILL)
    assert monitor.ends() in {"presman: killed by SIGKILL", "presman: killed"}
    assert monitor.is_put_back()


@pytest.mark.parametrize(("how", "code"), some([(signal.SIGTERM, 143)], [(b"q", 0), (signal.SIGHUP, 129)]))
def test_a_normal_end_has_no_message(watched: Callable[..., Watched], how: Any, code: int) -> None:
    monitor = watched()
    monitor.begin()
    if isinstance(how, bytes):
        monitor.screen.press(how)
    else:
        os.kill(monitor.screen.pid, how)
    assert "presman" not in monitor.ends()
    assert monitor.is_put_back()
    assert monitor.screen.status == code
    assert not monitor.log.read_text()


def costs_little(monitor: Watched) -> None:
    """Check the terminal guard: three megabytes of its own, and no CPU while nothing happens."""
    if not Path("/proc/self/smaps_rollup").exists():
        return  # the system does not show a process's own memory
    monitor.screen.quiet(0.3)
    lines = Path(f"/proc/{monitor.guard.pid}/smaps_rollup").read_text().splitlines()
    own = sum(int(line.split()[1]) for line in lines if line.startswith("Private"))
    assert own < 3_072
    before = sum(monitor.guard.cpu_times()[:2])
    monitor.screen.idle(0.5, 0.5)
    assert sum(monitor.guard.cpu_times()[:2]) == before


def test_the_guard_costs_little_and_ignores_signals_for_presman(watched: Callable[..., Watched]) -> None:
    """Signals that a terminal sends to all its processes, and `pkill presman`."""
    py_compile.compile(watching.__file__)
    monitor = watched()
    monitor.begin()
    costs_little(monitor)
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM, signal.SIGTSTP):
        os.kill(monitor.guard.pid, number)
    monitor.screen.press(b"?")
    monitor.screen.wait_for(b"Help: Overview")
    assert monitor.guard.is_running()
    assert monitor.guard.status() != psutil.STATUS_STOPPED
    dies(monitor, "SIGSEGV")


def test_presman_continues_without_its_guard(watched: Callable[..., Watched]) -> None:
    monitor = watched()
    monitor.begin()
    os.kill(monitor.guard.pid, signal.SIGKILL)
    os.kill(monitor.screen.pid, signal.SIGWINCH)
    monitor.screen.press(b"?")
    monitor.screen.wait_for(b"Help: Overview")
    monitor.screen.press(b"qq")
    monitor.screen.wait_for_end()
    assert monitor.screen.status == 0


def test_a_stopped_presman_leaves_the_terminal_to_others(watched: Callable[..., Watched]) -> None:
    """While presman is stopped a shell has the terminal, so the guard must ignore presman's death."""
    monitor = watched()
    monitor.begin()
    os.kill(monitor.screen.pid, signal.SIGTSTP)
    family = psutil.Process(monitor.screen.pid)
    until(lambda: family.status() == psutil.STATUS_STOPPED, "stopped", lambda: monitor.screen._read(0.01))
    monitor.screen.quiet(0.1)
    monitor.screen.forget()
    os.kill(monitor.screen.pid, signal.SIGKILL)
    monitor.ends()
    assert monitor.screen.last == b""


@pytest.mark.parametrize(
    ("spin", "asked"),
    some(
        [("in a lock", "signal")],
        [("in a loop", "signal"), ("in a system call", "q"), *((spin, "\x03") for spin in SPINS)],
    ),
)
def test_a_driver_that_spins_is_given_up(watched: Callable[..., Watched], spin: str, asked: str) -> None:
    monitor = deaf(watched, spin)
    if asked == "signal":
        os.kill(monitor.screen.pid, signal.SIGTERM)
    else:
        monitor.screen.press(asked.encode())
    message = monitor.ends(limit=20)
    assert message == f"presman: it did not end when asked to, and was killed; where: {monitor.log}"
    assert termios.tcgetattr(monitor.file) == monitor.before
    assert " in spin" in monitor.log.read_text(), "the log says where it hung"


def test_unread_keys_do_not_mean_quit(watched: Callable[..., Watched]) -> None:
    monitor = deaf(watched, "in a system call")
    monitor.screen.press(b"sq")
    end = time.monotonic() + PATIENCE + 3 * watching.POLL_INTERVAL
    while time.monotonic() < end:
        monitor.screen._read(0.1)
    assert monitor.guard.is_running()
    monitor.screen.press(b"qq")
    assert "was killed" in monitor.ends(limit=20)


@pytest.mark.parametrize(
    ("typed", "quits"),
    [
        (b"q", True),
        (b"\x03\x03", True),
        (b"\x1b[113u", True),
        (b"\x1b[113;;113u", True),
        (b"\x1b[99;5u", True),
        (b"\x1b[<35;10;20M\x1b[Iq", True),
        (b"4\x1b[Aqq", True),
        (b"", False),
        (b"faq", False),
        (b"q4", False),
        (b"\x1b[99u", False),
        (b"\x1b[<35;113;20M", False),
    ],
)
def test_the_keys_that_quit(typed: bytes, quits: bool) -> None:
    assert watching.asks_to_quit(typed) is quits


def test_the_log_is_never_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("precious")
    (tmp_path / "presman").mkdir()
    terminal_guard.log_path().symlink_to(elsewhere)
    assert terminal_guard.open_log() == -1
    assert elsewhere.read_text() == "precious"
    terminal_guard.log_path().unlink()
    os.mkfifo(terminal_guard.log_path())
    assert terminal_guard.open_log() == -1


def test_the_log_does_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "presman").mkdir()
    terminal_guard.log_path().write_text("x" * (terminal_guard.LARGEST_LOG + 1))
    os.close(terminal_guard.open_log())
    assert terminal_guard.log_path().stat().st_size == 0


def test_both_sides_use_the_same_codes() -> None:
    names = ("SCREEN_ON", "SCREEN_OFF", "FAREWELL")
    assert [getattr(terminal_guard, name) for name in names] == [getattr(watching, name) for name in names]
    assert min(terminal_guard.SCREEN_ON, terminal_guard.SCREEN_OFF, terminal_guard.FAREWELL) > max(
        signal.valid_signals()
    )


def test_there_is_no_guard_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    with os.fdopen(read), os.fdopen(write):
        child, terminal = pty.fork()
        if child == 0:
            os.dup2(read, 0)
            terminal_guard.screen_on()
            terminal_guard.start()
            os._exit(terminal_guard._pipe >= 0)
        assert os.waitpid(child, 0)[1] == 0
        os.close(terminal)


@pytest.mark.parametrize(
    ("received", "number", "message"),
    [
        ((watching.SCREEN_ON, watching.FAREWELL), 0, ""),
        ((watching.SCREEN_ON, watching.FAREWELL), signal.SIGSEGV, "presman: killed by SIGSEGV\n"),
        ((watching.SCREEN_ON,), 0, "presman: killed\n"),
    ],
    ids=["it has printed the reason", "a fault after that", "it printed nothing"],
)
def test_a_screen_that_ends_with_an_error_is_restored_without_a_message_of_a_kill(
    monkeypatch: pytest.MonkeyPatch, received: tuple[int, ...], number: int, message: str
) -> None:
    """This happens without threads: presman says so in its line while the screen is still on."""
    printed, back = bytearray(), []
    monkeypatch.setattr(watching, "_signal_that_ended", lambda _: number)
    monkeypatch.setattr(watching, "_put_back", back.append)
    monkeypatch.setattr(watching, "_write", lambda _, text: printed.extend(text))
    guard = watching.TerminalGuard(1, -1, -1, 0, "", [])
    for each in received:
        guard._receive(each)
    guard._clean_up()
    assert (printed.decode(), len(back)) == (message, 1)
