"""A small process that sets the terminal right whatever becomes of presman, and ends a presman that does not end.

No process can clean up after its own SIGKILL, nor after a fault in compiled code such as a database driver's. So before
anything is done to the terminal, and before a driver is loaded, presman starts a child that sleeps on a pipe
(process.py). When presman is gone the pipe ends, and the child puts the terminal back if the screen was on it. presman
stays the parent: its process number, exit code and job control are what they would be without.

The child is an interpreter, and to start one takes the processor from the first frame. Until that is painted a shell
waits in its place, which becomes it when it is told to, or when presman is gone.

A driver that spins in compiled code and never lets go of Python's lock would make presman deaf, too. Signals are heard
all the same, because Python writes their numbers into the pipe from within the handler in C; and keys that nobody reads
stay in the terminal, where the child sees them. Asked to end in either way, presman has a few seconds before it is
killed.
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
"""What the shell does: `go` comes, or ends, through the file that its first word is the number of."""

BEGIN = "import sys; sys.path.append(sys.argv[1]); from process import main; main(*sys.argv[2:])"

LARGEST_LOG = 1_000_000
NEEDED = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PATH", "LANG", "LC_ALL")
"""What an interpreter may need of the environment; passwords may be in the rest."""


_pipe = _go = -1
_before: list[Any] | None = None
"""The settings that the terminal had before the first screen, None before it."""


def screen_on() -> None:
    """Tell that the terminal is taken for the screen; to be called before anything is done to it.

    The first time a guard is begun. Where there is no terminal, or no process can be had, presman goes on unwatched.
    """
    if _pipe < 0:
        _begin()
    _write_byte(SCREEN_ON)


def start() -> None:
    """Let the guard of this process become what it is, if there is one; to be called before compiled code is loaded.

    The first frame does not wait for it: earlier messages wait in the pipe.
    """
    global _go  # noqa: PLW0603 - there is one process, and one guard of it
    if _go >= 0:
        os.close(_go)
        _go = -1


def screen_off() -> None:
    """Tell that the terminal is as it was."""
    _write_byte(SCREEN_OFF)


def farewell() -> None:
    """Tell that presman ends now. One screen may have left the terminal to another that never came: it is put back."""
    if _before is not None:
        with suppress(termios.error):
            termios.tcsetattr(0, termios.TCSANOW, _before)
    _write_byte(FAREWELL)


def settings_before() -> list[Any] | None:
    """Return the settings that the terminal had before the first screen, None where there was none."""
    return _before


def log_path() -> Path:
    """Return where is written what goes wrong in compiled code: $XDG_STATE_HOME/presman/faults.log. Raises OSError."""
    return state_folder() / "faults.log"


def _begin() -> None:
    """Make the pipe, remember how the terminal is, and begin a guard; without a terminal there is none to watch."""
    global _pipe, _go, _before  # noqa: PLW0603 - there is one process, and one guard of it
    try:
        _before = termios.tcgetattr(0)
        *flags, characters = _before
        reading, _pipe = (
            os.pipe()
        )  # the reading end stays open here, too: writing must not fail without a terminal guard
        waiting, _go = os.pipe()
    except (OSError, termios.error):
        return
    settings = [*flags, *(each if isinstance(each, int) else each[0] for each in characters)]
    os.set_blocking(_pipe, False)
    signal.set_wakeup_fd(_pipe, warn_on_full_buffer=False)
    log = open_log()
    if log >= 0:
        _record_faults(log)
    logged = os.fstat(log).st_size if log >= 0 else 0
    given = [Path(__file__).parent, os.getpid(), reading, log, logged, log_path() if log >= 0 else "", *settings]
    with suppress(OSError, TypeError):
        _spawn([str(each) for each in given], waiting, [file for file in (reading, log) if file >= 0])
    os.close(waiting)


def _spawn(words: list[str], waiting: int, files: list[int]) -> None:
    environment = {name: os.environ[name] for name in NEEDED if name in os.environ}
    for file in files:
        os.set_inheritable(file, True)
    go = next(each for each in range(3, 9) if each not in files)  # of one digit: all that some shells know
    words = ["sh", "-c", WAIT, str(go), sys.executable, "-I", "-S", "-c", BEGIN, *words]
    # What ends presman, and with it the terminal, must not end a terminal guard that is not ready yet: it waits there.
    os.posix_spawn(
        "/bin/sh", words, environment, setsigmask=signal.valid_signals(),
        file_actions=[(os.POSIX_SPAWN_DUP2, waiting, go)],
    )  # fmt: skip
    for file in files:
        os.set_inheritable(file, False)


def _record_faults(log: int) -> None:
    """From here on, write down where each thread is if compiled code fails, or if the terminal guard asks for it."""
    import faulthandler

    faulthandler.enable(log)
    faulthandler.register(signal.SIGUSR1, log)


def open_log() -> int:
    """Open the log of faults for appending, a file of our own and no link; -1 if that cannot be had."""
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
        try:
            os.write(_pipe, bytes([what]))
        except OSError:  # nobody reads, and the pipe is full
            return
