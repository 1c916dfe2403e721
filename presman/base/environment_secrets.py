"""Passwords that the environment brings: taken out of it first of all, so that no child process inherits them.

Who may look at a process sees the environment that it was started with (/proc/PID/environ), and a copy of it has that,
too: so it is erased there as well.
"""

from __future__ import annotations

import os
from contextlib import suppress

from presman.base.secret import Secret

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
        place = find(name.encode())
        if place:
            ctypes.memset(place, 0, len(ctypes.string_at(place)))
