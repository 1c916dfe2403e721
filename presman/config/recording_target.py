"""Target of a recording: `FILE.presman`, `recording:FILE[?database=…&at=…&from=…&to=…]`, `recording:URL`, a URL."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from presman.base.paths import expanded
from presman.base.suggest import nearest
from presman.config.config_file import Config, Settings
from presman.config.target import TapeWindow, Target, TargetError, taped
from presman.config.target_options import options_of

_POSTGRES = re.compile(r"postgres(ql)?(\+\w+)?://", re.IGNORECASE)


def is_recording(text: str) -> bool:
    """Whether a target is a recording: `recording:…`, a file whose name ends in .presman, a URL of PostgreSQL."""
    return (
        text.lower().startswith("recording:")
        or _POSTGRES.match(text) is not None
        or text.partition("?")[0].endswith(".presman")
    )


def named_recording(text: str, config: Config) -> str:
    """Return the target of somebody who names a recording: a file or a folder there by any name is one, too."""
    is_place = text not in config.sections and not is_recording(text) and expanded(text).exists()
    return f"recording:{text}" if is_place else text


def recording_target(text: str, settings: Settings) -> Target:
    """Return the target of a recording: a file, a folder or a URL, with options. Raises TargetError."""
    known = ("database", "at", "from", "to")
    if "://" in text:  # a URL has options of its own
        place, _, tail = text.partition("?")
        own = parse_qsl(tail, keep_blank_values=True)
        options = {key: value for key, value in own if key in known}
        rest = urlencode([(key, value) for key, value in own if key not in known])
        place += f"?{rest}" if rest else ""
    else:
        place, options = options_of(text, known, "recording")
        path = expanded(place)
        try:
            is_there = bool(place) and path.exists()
        except OSError as error:
            raise TargetError(f"recording: {place}: {error.strerror or error}") from None
        if not is_there:
            raise TargetError(f"recording: no such file or folder: {place or '(none named)'}{_nearby(path)}")
    words = (options.get(name, "") for name in ("database", "at", "from", "to"))
    return taped(TapeWindow(place, *words), settings)


def _nearby(path: Path) -> str:
    try:
        names = [each.name for each in path.parent.glob("*.presman") if each.name != path.name]
    except OSError:
        names = []
    found = nearest(path.name, names)
    return f", did you mean {str(path.with_name(found))!r}?" if found else ""
