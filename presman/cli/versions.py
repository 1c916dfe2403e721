"""Versions of presman, of Python and of every library it stands on, as a bug report needs them."""

from __future__ import annotations

import platform
import re
import sqlite3
from importlib.metadata import PackageNotFoundError, requires, version

from presman import __version__

_NAME = re.compile(r"[A-Za-z0-9._-]+")


def short() -> str:
    """Return the line of `presman --version`."""
    return f"presman {__version__}\n"


def long() -> str:
    """Return that line and those of the libraries: what is always needed, then what extras bring."""
    found = {"Python": platform.python_version(), "SQLite": sqlite3.sqlite_version, **_libraries()}
    width = max(map(len, found))
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    lines = [f"  {name:<{width}}  {each}" for name, each in {**found, "system": system}.items()]
    return short() + "\n".join(lines) + "\n"


def _libraries() -> dict[str, str]:
    """Return the version of each library that presman's own metadata names."""
    needed = requires("presman") or []
    return {name: _version(name) for line in needed if (name := _NAME.match(line).group())}  # type: ignore[union-attr]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "-"
