"""Programs that config.ini names: each ends with its child processes, and with presman."""

import atexit
import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

_RUNNING: set[subprocess.Popen[bytes]] = set()
"""Programs that were started, and not yet ended by :func:`end`."""


def start(words: Sequence[str], *, may_prompt: bool = False, **files: Any) -> subprocess.Popen[bytes]:
    """Start a program. Raises OSError, ValueError.

    It leads a session of its own, which keeps Ctrl-C in the monitor's terminal from ending it. One that `may_prompt`
    keeps presman's terminal if there is one, and then Ctrl-C ends it, too.
    """
    own = not (may_prompt and _has_terminal())
    process = subprocess.Popen(words, start_new_session=own, **files)
    _RUNNING.add(process)
    return process


def end(process: subprocess.Popen[bytes]) -> None:
    """End a program with its child processes, unless it has been waited for."""
    kill(process)
    process.wait()
    _RUNNING.discard(process)
    for file in (process.stdin, process.stdout):
        if file is not None:
            with suppress(OSError):
                file.close()


@atexit.register
def end_all() -> None:
    """End every program that still runs when presman ends: the threads that wait for them do not run any more."""
    for process in tuple(_RUNNING):
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Send a program and its child processes SIGKILL, unless it has been waited for."""
    # Another process may have its number then.
    if process.returncode is not None:
        return
    with suppress(OSError):
        if os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, signal.SIGKILL)
    for number in _descendants(process.pid):
        with suppress(OSError):
            os.kill(number, signal.SIGKILL)
    process.kill()


def _descendants(number: int) -> list[int]:
    """Return the child processes of a process and theirs, as far as the system lists them: Linux does."""
    try:
        children = [int(each) for each in Path(f"/proc/{number}/task/{number}/children").read_text("ascii").split()]
    except OSError:
        return []
    return [one for child in children for one in (child, *_descendants(child))]


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
