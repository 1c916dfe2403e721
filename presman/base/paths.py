"""Paths that somebody wrote."""

from __future__ import annotations

from pathlib import Path

from presman.base.errors import InputError


def expanded(path: str | Path) -> Path:
    """Return a path with the folder that a "~" before it stands for. Raises InputError where nobody knows that."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise InputError(f"{path}: the folder of ~ is not known: set HOME, or write the whole path") from None
