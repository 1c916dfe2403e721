"""Secrets: the one type that holds a password, which never shows itself; passwords that the environment brings."""

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
        """Return the text itself: only for whoever hands it to a driver."""
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


# ---- Passwords that the environment brings: taken out of it first of all, so that no child process inherits them.
# Who may look at a process sees the environment that it was started with (/proc/PID/environ), and a copy of it has
# that, too: so it is erased there as well.

PASSWORD, METRICS_PASSWORD = "PRESMAN_PASSWORD", "PRESMAN_METRICS_PASSWORD"

_taken: dict[str, Secret] = {}


def take() -> None:
    """Keep the passwords of the environment here and nowhere else; those that were kept before are forgotten."""
    _taken.clear()
    for name in (PASSWORD, METRICS_PASSWORD):
        if name in os.environ:
            _taken[name] = Secret(os.environ[name])
            _erase(name)
            del os.environ[name]


def give(name: str, secret: Secret) -> None:
    """Keep a password that the process which started this one had in its environment."""
    _taken[name] = secret


def forget() -> None:
    """Keep none."""
    _taken.clear()


def of_environment(name: str) -> Secret | None:
    """Return a password of the environment, None where there is none or an empty one."""
    return _taken.get(name) or Secret(os.environ.get(name, "")) or None


def _erase(name: str) -> None:
    """Write zeros over a value where it stands since the process was started."""
    import ctypes

    with suppress(OSError, AttributeError):
        find = ctypes.CDLL(None).getenv
        find.restype = ctypes.c_void_p
        address = find(name.encode())
        if address:
            ctypes.memset(address, 0, len(ctypes.string_at(address)))
