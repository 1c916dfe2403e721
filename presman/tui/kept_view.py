"""View as a user set it, kept between runs: one private file for each database, read with suspicion."""

from __future__ import annotations

import re
from binascii import crc32
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict, fields

from presman.base.private_files import read_private, state_folder
from presman.base.text import one_line
from presman.tabs.choices import WINDOWS
from presman.tui import state_files

LARGEST = 65_536
"""Bytes of such a file that are read."""

_MOST = 100
"""Tables, columns and filters that are believed to be there at most."""

_LONGEST = 200
"""Characters of a name or of a filter."""


class KeptView(Struct, frozen=True, dict=True):
    """What a user set by keys, None or empty where he did not.

    `refresh` in seconds, `window` in minutes. Tables go by panel and key (``parallel/queue``): what each is sorted by
    and whether that is descending, and its columns in order. `filters` go by panel.
    """

    theme: str | None = None
    refresh: float | None = None
    window: int | None = None
    by_instance: bool | None = None
    unfolded: bool | None = None
    ascii_only: bool | None = None
    filters: Mapping[str, str] = field(default_factory=dict)
    sorts: Mapping[str, tuple[str, bool]] = field(default_factory=dict)
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def path_of(target: str) -> Path:
    """Return the file of a target, by its name without secrets. Raises OSError."""
    plain = re.sub(r"[^A-Za-z0-9]+", "-", target).strip("-")[:60]
    return state_folder() / "views" / f"{plain}-{crc32(target.encode()):08x}.json"


def load(target: str) -> tuple[KeptView, str]:
    """Return what is kept for a target, and why a file that is there was not used ("" if it was, or there is none)."""
    try:
        path = path_of(target)
        content = read_private(path, LARGEST)
    except FileNotFoundError:
        return KeptView(), ""
    except OSError as error:
        return KeptView(), f"The kept settings are not used: {error.filename or 'its file'}: {error.strerror}."
    import json  # the first frame does not wait for it where nothing is kept

    try:
        return _read(json.loads(content)), ""
    except (ValueError, RecursionError) as error:
        told = (
            "it is not JSON" if isinstance(error, json.JSONDecodeError | UnicodeError | RecursionError) else str(error)
        )
        return KeptView(), f"The kept settings are not used: {path}: {one_line(told, 100)}."


def save(target: str, view: KeptView) -> None:
    """Keep what was set. Raises OSError."""
    import json

    given = {name: value for name, value in asdict(view).items() if value is not None and value != {}}
    path = path_of(target)
    state_files.keep(f"views/{path.name}", json.dumps(given, indent=1, sort_keys=True) + "\n")


def forget(target: str) -> bool:
    """Do away with what is kept for a target; return whether there was anything."""
    with suppress(OSError):
        path_of(target).unlink()
        return True
    return False


def _read(content: Any) -> KeptView:
    """Return what a file says. Raises ValueError naming what makes no sense; what a later version wrote is left out."""
    if not isinstance(content, dict):
        raise ValueError("it has no object")
    known = {each.name for each in fields(KeptView)}
    found = {}
    for name, value in content.items():
        if name in known:
            try:
                found[name] = _CHECKS[name](value)
            except (TypeError, ValueError, AttributeError):
                raise ValueError(f"{name} is not valid") from None
    return KeptView(**found)


def _word(value: Any) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST or not value.isprintable():
        raise ValueError(value)
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(value)
    return value


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.5 <= value <= 3600:
        raise ValueError(value)
    return float(value)


def _window(value: Any) -> int:
    if value not in WINDOWS or not isinstance(value, int):
        raise ValueError(value)
    return value


def _each(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a check of an object by names, each of whose values passes `check`."""

    def read(value: Any) -> dict[str, Any]:
        if len(value) > _MOST:
            raise ValueError(value)
        return {_word(name): check(item) for name, item in value.items()}

    return read


def _sort(value: Any) -> tuple[str, bool]:
    key, descending = value
    return _word(key), _flag(descending)


def _names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not 0 < len(value) <= _MOST:
        raise ValueError(value)
    return tuple(map(_word, value))


_CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "theme": _word, "refresh": _seconds, "window": _window, "by_instance": _flag, "unfolded": _flag,
    "ascii_only": _flag, "filters": _each(_word), "sorts": _each(_sort), "columns": _each(_names),
}  # fmt: skip
