"""Sources of a password that is in no connect string, config.ini or environment: a command, keyring, prompt."""

import os
import selectors
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress

from presman.base import user_command
from presman.base.errors import InputError, LimitError
from presman.base.running_out import ran_out
from presman.base.secret import Secret
from presman.config.config_file import PasswordCommand
from presman.config.target import Target
from presman.sources import Source

SERVICE = "presman"
"""The service name of presman's passwords in keyrings, by ``user@address``: `keyring set presman scott@db/pdb`."""


def of_keyring(account: str) -> Secret | None:
    """Return the password that the desktop's keyring has for `account`; None if it has none, or there is no keyring."""
    try:
        import keyring
    except ImportError:
        return None
    with suppress(Exception):  # a locked or broken keyring is no reason to stop: the prompt remains
        password = keyring.get_password(SERVICE, account)
        return Secret(password) if password else None
    return None


def has_keyring() -> bool:
    """Return whether there is a keyring that can store passwords."""
    with suppress(Exception):
        import keyring

        return float(keyring.get_keyring().priority) > 0
    return False


def to_keyring(account: str, password: Secret) -> str:
    """Store a password in the keyring; return why that failed, "" if it did not."""
    try:
        import keyring

        keyring.set_password(SERVICE, account, password.reveal())
    except Exception as error:  # each backend raises its own
        return type(error).__name__
    return ""


class Renewal:
    """Another attempt after a password was refused, with a new one from config.ini or from the command named there.

    `reread` reads both again; `tried` is the password that was used last, None if none was.
    """

    def __init__(self, reread: Callable[[], Target], tried: Secret | None) -> None:
        self._reread, self.tried = reread, tried

    def target(self) -> Target | None:
        """Return the target with the new password; None while there is no new one. Raises InputError, OSError."""
        target = with_password(self._reread())
        password = target.connect.password if target.connect is not None else None
        if password is None or password == self.tried:
            return None
        self.tried = password
        return target

    def __call__(self) -> Source | None:
        """Make a source with the new password; None while there is no new one. Raises InputError, OSError."""
        target = self.target()
        return None if target is None else target.make_source()


def with_password(target: Target, ask: Callable[[str], str] | None = None) -> Target:
    """Return `target` with a password if it lacks one.

    The password comes from the command that config.ini names, whose failure raises PasswordCommandError, else from the
    keyring, else from `ask`, which is called with a prompt.
    """
    if not target.needs_password or target.connect is None:
        return target
    if target.settings.password_command is not None:
        return target.with_password(password_of(target.settings.password_command))
    found = of_keyring(target.connect.name)
    if found is None and ask is not None:
        found = Secret(ask(f"Password for {target.name}: "))
    return target.with_password(found) if found else target


# ---- A password that a command prints: `password_command` of config.ini, run without a shell, once for each target.

TIMEOUT = 30.0
"""Seconds that a command may take; some ask their user to unlock something first."""

LONGEST = 65_536
"""The most bytes of its output that are read."""


class PasswordCommandError(InputError):
    """The command gave no password; the text is one line, and contains none of the command's output."""


def password_of(command: PasswordCommand, timeout: float = TIMEOUT) -> Secret:
    """Return the first line that `command` prints. Raises PasswordCommandError, LimitError.

    The command may prompt on the terminal, but its standard input is empty, and its standard error is not shown.
    """
    name = command.name
    nothing = subprocess.DEVNULL
    try:
        files = {"stdin": nothing, "stdout": subprocess.PIPE, "stderr": nothing}
        process = user_command.start(command.argv, may_prompt=True, **files)
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
        user_command.end(process)
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
    """Return the output of the command. Raises TimeoutError at the deadline, even if only a child process is left."""
    assert process.stdout is not None
    data, file = b"", process.stdout.fileno()
    with selectors.DefaultSelector() as selector:
        selector.register(file, selectors.EVENT_READ)
        while len(data) < LONGEST:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise TimeoutError
            if not (more := os.read(file, LONGEST - len(data))):
                break
            data += more
    return data
