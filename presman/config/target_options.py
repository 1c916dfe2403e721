"""Options of a target: what stands behind its "?"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from presman.base.release import SUPPORTED, Release
from presman.base.suggest import did_you_mean
from presman.config.target import TargetError


def options_of(text: str, known: tuple[str, ...], scheme: str) -> tuple[str, dict[str, str]]:
    """Return what stands before the "?", and the options behind it. Raises TargetError for one that is not `known`."""
    name, _, tail = text.partition("?")
    options = dict(parse_qsl(tail, keep_blank_values=True))
    for option in options:
        if option not in known:
            raise TargetError(f"{scheme}: unknown option {option!r}, {did_you_mean(option, known)}")
    return name, options


def number_of(options: Mapping[str, str], name: str, kind: Callable[[str], Any]) -> Any:
    """Return an option as a number, None where it is not given. Raises TargetError."""
    try:
        return kind(options[name]) if name in options else None
    except ValueError:
        raise TargetError(f"{name}={options[name]} is not a number") from None


def release_of(options: Mapping[str, str]) -> Release | None:
    """Return the release that the option `release` names, None where it is not given. Raises TargetError."""
    if "release" not in options:
        return None
    try:
        release = Release.parse(options["release"])
    except ValueError:
        raise TargetError(f"release={options['release']} is not a release such as 19 or 12.2") from None
    if release < SUPPORTED[0]:
        raise TargetError(f"release={options['release']} is older than {SUPPORTED[0]}, the oldest presman reads")
    return release
