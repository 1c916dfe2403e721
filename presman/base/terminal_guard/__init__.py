"""A small process that restores the terminal however presman ends, and kills a presman that does not end.

No process can clean up after its own SIGKILL, nor after a fault in compiled code such as a database driver. So before
presman changes the terminal or loads a driver, it starts a child that sleeps on a pipe (process.py). When presman is
gone the pipe is closed, and the child restores the terminal if a screen was on it. presman stays the parent: its
process ID, exit code and job control are the same as without a guard.

The child is a Python interpreter, and starting one takes CPU time from the first frame. Until that is painted, a shell
waits in its place; it becomes the interpreter when presman closes its pipe, or is gone.

A driver that loops in compiled code and never releases the GIL also makes presman ignore input. The guard learns of
signals all the same, because Python writes their numbers into the pipe from its C handler; and unread keys stay in the
terminal, where the guard sees them. If a signal or a key asks presman to end, it has a few seconds before it is killed.
"""

import os
import signal
import stat
import sys
import termios
from contextlib import suppress
from pathlib import Path
from typing import Any

from presman.base.private_files import state_folder

SCREEN_ON, SCREEN_OFF, FAREWELL = 0xF0, 0xF1, 0xFF
"""The messages through the pipe; smaller numbers are signals."""

WAIT = 'read -r go <&"$0"; exec "$@"'
"""The shell's script: it waits for `go`, or the end of the file whose descriptor is its first argument."""

BEGIN = "import sys; sys.path.append(sys.argv[1]); from process import main; main(*sys.argv[2:])"

LARGEST_LOG = 1_000_000
"""Bytes from which the log of faults begins anew."""
NEEDED = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PATH", "LANG", "LC_ALL")
"""Variables that an interpreter may need; the others may contain passwords."""


_pipe = _go = -1
_before: list[Any] | None = None
"""The settings of the terminal before the first screen, None until there is one."""


def screen_on() -> None:
    """Report that the screen takes the terminal; call this before changing the terminal.

    The first call starts a guard. Without a terminal, or if no process can be started, presman goes on without one.
    """
    if _pipe < 0:
        _begin()
    _write_byte(SCREEN_ON)


def start() -> None:
    """Let the waiting shell become the guard, if there is one; call this before loading compiled code.

    The first frame does not wait for that: earlier messages stay in the pipe.
    """
    global _go  # noqa: PLW0603 - there is one process, and one guard of it
    if _go >= 0:
        os.close(_go)
        _go = -1


def screen_off() -> None:
    """Report that the terminal is restored."""
    _write_byte(SCREEN_OFF)


def report_end() -> None:
    """Report that presman ends now, and restore the terminal: a screen may have left that to a later one."""
    if _before is not None:
        with suppress(termios.error):
            termios.tcsetattr(0, termios.TCSANOW, _before)
    _write_byte(FAREWELL)


def settings_before() -> list[Any] | None:
    """Return the settings of the terminal before the first screen, None if there was none."""
    return _before


def log_path() -> Path:
    """Return the log of faults in compiled code: $XDG_STATE_HOME/presman/faults.log. Raises OSError."""
    return state_folder() / "faults.log"


def _begin() -> None:
    """Create the pipe, remember the terminal's settings, and start a guard; do nothing without a terminal."""
    global _pipe, _go, _before  # noqa: PLW0603 - there is one process, and one guard of it
    try:
        _before = termios.tcgetattr(0)
        *flags, characters = _before
        reading, _pipe = os.pipe()  # the reading end stays open here, too: writing must not fail without a guard
        waiting, _go = os.pipe()
    except (OSError, termios.error):
        return
    settings = [*flags, *(each if isinstance(each, int) else each[0] for each in characters)]
    os.set_blocking(_pipe, False)
    signal.set_wakeup_fd(_pipe, warn_on_full_buffer=False)
    log = open_log()
    if log >= 0:  # to log the stack of each thread if compiled code crashes, or if the guard asks for it
        import faulthandler

        faulthandler.enable(log)
        faulthandler.register(signal.SIGUSR1, log)
    logged = os.fstat(log).st_size if log >= 0 else 0
    given = [Path(__file__).parent, os.getpid(), reading, log, logged, log_path() if log >= 0 else "", *settings]
    with suppress(OSError, TypeError):
        _spawn([str(each) for each in given], waiting, [file for file in (reading, log) if file >= 0])
    os.close(waiting)


def _spawn(words: list[str], waiting: int, files: list[int]) -> None:
    environment = {name: os.environ[name] for name in NEEDED if name in os.environ}
    for file in files:
        os.set_inheritable(file, True)
    go = next(each for each in range(3, 9) if each not in files)  # one digit: some shells accept no more
    words = ["sh", "-c", WAIT, str(go), sys.executable, "-I", "-S", "-c", BEGIN, *words]
    # A signal that ends presman must not end a guard that is not ready yet: signals stay blocked until it is.
    os.posix_spawn(
        "/bin/sh",
        words,
        environment,
        setsigmask=signal.valid_signals(),
        file_actions=[(os.POSIX_SPAWN_DUP2, waiting, go)],
    )
    for file in files:
        os.set_inheritable(file, False)


def open_log() -> int:
    """Open the log of faults for appending; return -1 if it cannot be opened, is a link or belongs to another user."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        path = log_path()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(path, flags, 0o600)
    except OSError:
        return -1
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid():
        os.close(file)
        return -1
    if found.st_size > LARGEST_LOG:
        os.ftruncate(file, 0)
    return file


def _write_byte(what: int) -> None:
    if _pipe >= 0:
        with suppress(OSError):  # the pipe is full, and no process reads it
            os.write(_pipe, bytes([what]))
