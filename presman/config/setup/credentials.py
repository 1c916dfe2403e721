"""Sources of a password that neither connect string, config.ini nor environment has: a command, keyring, prompt."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from presman.base.secret import Secret
from presman.config.setup.password_command import password_of
from presman.config.target import Target

if TYPE_CHECKING:
    from presman.sources import Source

SERVICE = "presman"
"""Under which keyrings keep presman's passwords, by ``user@address``: `keyring set presman scott@db/pdb`."""


def of_keyring(account: str) -> Secret | None:
    """Return the password that the desktop's keyring has for `account`; None without one, or without a keyring."""
    try:
        import keyring
    except ImportError:
        return None
    with suppress(Exception):  # a locked or broken keyring is no reason to stop: there is still the prompt
        password = keyring.get_password(SERVICE, account)
        return Secret(password) if password else None
    return None


def has_keyring() -> bool:
    """Return whether a keyring is there that can keep passwords."""
    with suppress(Exception):
        import keyring

        return float(keyring.get_keyring().priority) > 0
    return False


def to_keyring(account: str, password: Secret) -> str:
    """Have the keyring keep a password; return why it does not, "" if it does."""
    try:
        import keyring

        keyring.set_password(SERVICE, account, password.reveal())
    except Exception as error:  # each backend has its own
        return type(error).__name__
    return ""


class Renewal:
    """Another password than the one that was refused, from config.ini or the command that it names.

    `reread` reads both anew; `tried` is the password that was used last, None before one was.
    """

    def __init__(self, reread: Callable[[], Target], tried: Secret | None) -> None:
        self._reread = reread
        self.tried = tried

    def __call__(self) -> Source | None:
        """Make a source with another password, None while there is none. Raises InputError, OSError."""
        target = with_password(self._reread())
        password = target.connect.password if target.connect is not None else None
        if password is None or password == self.tried:
            return None
        self.tried = password
        return target.make_source()


def with_password(target: Target, ask: Callable[[str], str] | None = None) -> Target:
    """Return `target` with a password if it lacks one.

    From the command that config.ini names, whose failure raises PasswordCommandError, else from the keyring, else
    from `ask`, which is given a prompt.
    """
    if not target.needs_password or target.connect is None:
        return target
    if target.settings.password_command is not None:
        return target.with_password(password_of(target.settings.password_command))
    found = of_keyring(target.connect.name)
    if found is None and ask is not None:
        found = Secret(ask(f"Password for {target.name}: "))
    return target.with_password(found) if found else target
