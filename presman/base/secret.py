"""Secrets: the type of every password, which never shows its text; passwords from the environment."""

import os
from contextlib import suppress
from typing import NoReturn


class Secret:
    """A text that is masked wherever it is printed, logged or put into a traceback.

    >>> str(Secret("tiger")), repr(Secret("tiger")), f"{Secret('tiger')}"
    ('***', "Secret('***')", '***')
    >>> Secret("tiger").reveal()
    'tiger'
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text itself: only to pass it to a driver."""
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __str__(self) -> str:
        return "***"

    def __repr__(self) -> str:
        return "Secret('***')"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written anywhere")


# ---- Passwords from the environment: removed from it first of all, so that no child process inherits them.
# /proc/PID/environ shows the environment that a process was started with, and a fork of it has that, too: so the
# values are erased there as well.

PASSWORD, METRICS_PASSWORD = "PRESMAN_PASSWORD", "PRESMAN_METRICS_PASSWORD"

_taken: dict[str, Secret] = {}


def take_from_environment() -> None:
    """Move the passwords from the environment into this module; those kept before are forgotten."""
    _taken.clear()
    for name in (PASSWORD, METRICS_PASSWORD):
        if name in os.environ:
            _taken[name] = Secret(os.environ[name])
            _erase(name)
            del os.environ[name]


def keep(name: str, secret: Secret) -> None:
    """Keep a password from the environment of the parent process."""
    _taken[name] = secret


def forget() -> None:
    """Forget all passwords."""
    _taken.clear()


def of_environment(name: str) -> Secret | None:
    """Return a password from the environment, None if it is missing or empty."""
    return _taken.get(name) or Secret(os.environ.get(name, "")) or None


def _erase(name: str) -> None:
    """Overwrite the value of an environment variable with zeros in the memory that the process was started with."""
    import ctypes

    with suppress(OSError, AttributeError):
        find = ctypes.CDLL(None).getenv
        find.restype = ctypes.c_void_p
        if address := find(name.encode()):
            ctypes.memset(address, 0, len(ctypes.string_at(address)))
