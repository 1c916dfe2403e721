"""A password that a command prints: `password_command` of config.ini, run without a shell, once for each target."""

from __future__ import annotations

import os
import selectors
import subprocess
import time

from presman.base.errors import InputError, LimitError
from presman.base.running_out import ran_out
from presman.base.secret import Secret
from presman.config.password_words import PasswordCommand

TIMEOUT = 30.0
"""Seconds a command gets; some ask their user to unlock something first."""

LONGEST = 65_536
"""Bytes of what it prints that are taken."""


class PasswordCommandError(InputError):
    """The command gave no password; the text is one line, and has nothing of what it printed."""


def password_of(command: PasswordCommand, timeout: float = TIMEOUT) -> Secret:
    """Return the first line that `command` prints. Raises PasswordCommandError, LimitError.

    It may ask on the terminal, but standard input is empty, and what it says on standard error is not shown.
    """
    name = command.name
    try:
        process = subprocess.Popen(
            command.argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except (OSError, ValueError) as error:
        if limit := ran_out(error):
            raise LimitError(f"password_command: {name}: {limit}") from None
        reason = getattr(error, "strerror", None) or "it cannot be run"
        raise PasswordCommandError(f"password_command: {name}: {reason}") from None
    try:
        deadline = time.monotonic() + timeout
        data = _read(process, deadline)
        code = process.wait(max(0.01, deadline - time.monotonic()))
    except (subprocess.TimeoutExpired, TimeoutError):
        raise PasswordCommandError(f"password_command: {name} did not end within {timeout:g} s") from None
    finally:
        _end(process)
    if code:
        how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        raise PasswordCommandError(f"password_command: {name} {how} (run it by hand to see why)")
    return _first_line(data, name)


def _first_line(data: bytes, name: str) -> Secret:
    try:
        line = data.decode("utf-8").partition("\n")[0].removesuffix("\r")
    except UnicodeDecodeError:
        raise PasswordCommandError(f"password_command: what {name} printed is not UTF-8") from None
    if not line:
        raise PasswordCommandError(f"password_command: {name} printed no password on its first line")
    return Secret(line)


def _read(process: subprocess.Popen[bytes], deadline: float) -> bytes:
    """Return what the command prints. Raises TimeoutError at the deadline, also if only a child of it is left."""
    assert process.stdout is not None
    data, file = b"", process.stdout.fileno()
    with selectors.DefaultSelector() as selector:
        selector.register(file, selectors.EVENT_READ)
        while len(data) < LONGEST:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise TimeoutError
            more = os.read(file, LONGEST - len(data))
            if not more:
                break
            data += more
    return data


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
