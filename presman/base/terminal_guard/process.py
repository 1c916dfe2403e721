"""The guard: a process that sleeps on a pipe until presman is gone, and then restores the terminal if necessary.

It is an interpreter without site-packages that imports only this file. It keeps the memory of its imports, so there are
few: not even `signal`, but the C module behind it.
"""

import _signal as signal  # type: ignore[import-not-found]
import os
import select
import termios
import time
from fcntl import ioctl

SCREEN_ON, SCREEN_OFF, FAREWELL = 0xF0, 0xF1, 0xFF
"""The messages of presman through the pipe; smaller numbers are signals."""

GRACE = 5.0
"""Seconds that presman may take to end after a signal asked it to or it sent FAREWELL."""

DEAF = 3.0
"""Seconds that keys may stay unread before presman counts as hanging."""

POLL_INTERVAL = 0.5
"""Seconds between two checks while something is wrong."""

EXIT_CODE = 49
"""The position of the exit code in /proc/PID/stat, counted from the field after the name."""

LARGEST_FAULT = 65_536
"""Bytes of the log of faults that are searched for the reason."""

LAST_WORDS = 0.3
"""Seconds for presman to log where it hangs."""

RESTORE = (
    b"\x18\x1b\\"  # end any unfinished sequence
    b"\x1b[?2026l"  # synchronized output
    b"\x1b[<u"  # kitty keyboard protocol
    b"\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"  # mouse
    b"\x1b[?1004l\x1b[?2004l\x1b[?2048l"  # focus, bracketed paste, in-band resize
    b"\x1b[?7h\x1b[?1049l\x1b[0m\x1b[?25h"  # line wrap, main screen, default colours, cursor
)

UNASKED = rb"\x1b\[<[\d;]*[Mm]|\x1b\[[IO]|\x1b\[\?[\d;]*\$y"
"""What a terminal sends without a key: mouse, focus, reports."""

QUIT = rb"q|\x03|\x11|\x1b\[113(?:;[\d;:]*)?u|\x1b\[99;5(?:[;:][\d;:]*)?u"
"""q, Ctrl-C and Ctrl-Q, also in the kitty protocol."""

IGNORED = (
    signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU,
    signal.SIGPIPE, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2,
)  # fmt: skip
"""Signals that a terminal sends to all its processes, or that are meant for presman: the guard must outlive presman."""


def main(presman: str, pipe: str, log: str, logged: str, path: str, *settings: str) -> None:
    """Watch the process `presman` until it is gone, then exit. `logged` is the size of the log of faults before."""
    try:
        for number in IGNORED:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        numbers = [int(each) for each in settings]
        TerminalGuard(int(presman), int(pipe), int(log), int(logged), path, [*numbers[:6], numbers[6:]]).run()
    finally:
        os._exit(0)


class TerminalGuard:
    """The state of the guard: what presman has reported, and since when something is wrong."""

    def __init__(self, presman: int, pipe: int, log: int, logged: int, path: str, before: list[object]) -> None:
        self._presman, self._pipe, self._log, self._path = presman, pipe, log, path
        self._before, self._logged = before, logged
        self._screen_is_on = False
        self._deadline: float | None = None
        self._unread_since: float | None = None
        self._has_terminal = True
        self._gave_up = self._has_said_farewell = False

    def run(self) -> None:
        """Watch until presman is gone."""
        os.chdir("/")
        while self._wait():
            self._check()
        self._clean_up()

    def _wait(self) -> bool:
        """Sleep until a message, a key or the next check; return False if presman is gone."""
        calm = self._deadline is None and self._unread_since is None
        poll = select.poll()
        poll.register(self._pipe, select.POLLIN)
        # Only until the first key: an unread one would keep the guard awake.
        if self._screen_is_on and self._has_terminal and calm:
            poll.register(0, select.POLLIN)
        ready = dict(poll.poll(None if calm else POLL_INTERVAL * 1000))
        if 0 in ready:
            self._has_terminal = ready[0] == select.POLLIN
            self._unread_since = time.monotonic()
        if self._pipe not in ready:
            return True
        commands = os.read(self._pipe, 512)
        for each in commands:
            self._receive(each)
        return bool(commands)

    def _receive(self, command: int) -> None:
        self._has_said_farewell = self._has_said_farewell or command == FAREWELL
        if command in {SCREEN_ON, SCREEN_OFF}:
            self._screen_is_on = command == SCREEN_ON
            self._unread_since = None
        elif command in {FAREWELL, signal.SIGTERM, signal.SIGHUP} and self._deadline is None:
            self._deadline = time.monotonic() + GRACE

    def _check(self) -> None:
        now = time.monotonic()
        if self._deadline is not None and now > self._deadline:
            self._give_up()
        elif self._unread_since is not None and now - self._unread_since > POLL_INTERVAL / 2:
            if not self._unread():
                self._unread_since = None
            elif now - self._unread_since > DEAF and self._wants_to_quit():
                self._give_up()

    def _unread(self) -> int:
        """Return how many bytes in the terminal presman has not read yet."""
        try:
            if not self._screen_is_on or os.tcgetpgrp(0) != os.getpgrp():
                return 0
            return int.from_bytes(ioctl(0, termios.FIONREAD, bytes(4)), "little")  # at most 4,096: either order will do
        except OSError:
            return 0

    def _wants_to_quit(self) -> bool:
        """Read the unread keys, and return whether they ask to quit."""
        self._unread_since = None
        try:
            return asks_to_quit(os.read(0, 4096))
        except OSError:
            return False

    def _give_up(self) -> None:
        """Have presman log where it hangs, and kill it."""
        self._deadline = self._unread_since = None
        if os.getppid() == self._presman:
            self._gave_up = True
            if self._log >= 0:
                os.kill(self._presman, signal.SIGUSR1)
                time.sleep(LAST_WORDS)
            os.kill(self._presman, signal.SIGKILL)

    def _clean_up(self) -> None:
        """Restore the terminal, and print what happened, unless presman has done so itself."""
        if not self._screen_is_on and not self._gave_up:
            return
        number = _signal_that_ended(self._presman)
        if self._screen_is_on:
            _put_back(self._before)  # before the waiting shell shows its prompt
        if self._has_said_farewell and not self._gave_up and not number:
            return  # presman itself has printed why its screen could not go on
        _write(2, f"presman: {self._what_happened(number)}\n".encode())

    def _what_happened(self, number: int) -> str:
        """Return what ended presman, in words, and write it to the log."""
        import re
        from signal import Signals

        log = os.pread(self._log, LARGEST_FAULT, self._logged).decode("utf-8", "replace") if self._log >= 0 else ""
        where = f"; where: {self._path}" if log else ""
        fault = re.search("Fatal Python error: (.+)", log)
        if self._gave_up:
            what = "it did not end when asked to, and was killed"
        elif fault:
            what = f"ended by a fault in compiled code ({fault[1]})"
        else:
            what = f"killed by {Signals(number).name}" if number else "killed"
        if self._log >= 0:
            _write(self._log, f"{time.strftime('%Y-%m-%d %H:%M:%S')} presman {self._presman}: {what}\n".encode())
        return what + where


def asks_to_quit(typed: bytes) -> bool:
    """Return whether keys ask to quit: all of them do, or the last two (a single one may be part of a word)."""
    import re

    keys = re.sub(UNASKED, b"", typed)
    return bool(re.fullmatch(b"(?:" + QUIT + b")+|.*(?:" + QUIT + b"){2}", keys, re.DOTALL))


def _signal_that_ended(process: int) -> int:
    """Return the signal that ended a process, 0 if there was none or Linux no longer has it."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return int(file.read().rsplit(b")", 1)[1].split()[EXIT_CODE]) & 0x7F
    except (OSError, ValueError, IndexError):
        return 0


def _put_back(before: list[object]) -> None:
    """Leave the screen and restore the terminal's settings, unless a shell has changed them meanwhile."""
    _write(2 if os.isatty(2) else 1, RESTORE)
    try:
        if not termios.tcgetattr(0)[3] & termios.ISIG:  # off in a full screen, on at a shell's prompt
            termios.tcflush(0, termios.TCIFLUSH)
            termios.tcsetattr(0, termios.TCSANOW, before)  # type: ignore[arg-type]
    except termios.error:
        return


def _write(file: int, data: bytes) -> None:
    try:
        os.write(file, data)
    except OSError:
        return
