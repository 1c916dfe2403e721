"""Targets that are no live database: the simulator, a folder of CSV files, a recording.

`demo:SCENARIO[?seed=…&speed=…&size=…&release=…]`, `spool:FOLDER[?zone=…&release=…&encoding=…]`, and for recordings
`FILE.presman`, `recording:FILE[?database=…&at=…&from=…&to=…]`, `recording:URL`, a URL.
"""

from __future__ import annotations

import codecs
import re
from datetime import UTC, timedelta, timezone, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from presman.base.errors import did_you_mean, nearest
from presman.base.private_files import expanded
from presman.config.config_file import Config, Settings
from presman.config.target import (
    RecordedWindow,
    Target,
    TargetError,
    number_of,
    options_of,
    recorded_target,
    release_of,
)
from presman.sources import SourceRecipe

if TYPE_CHECKING:
    from presman.sources import Source


LARGEST_OFFSET = 14 * 60
"""Minutes that a time zone differs from UTC at most."""


def spool_target(text: str, settings: Settings) -> Target:
    """Return the target of what stands behind `spool:`. Raises TargetError."""
    name, options = options_of(text, ("zone", "release", "encoding"), "spool")
    folder = expanded(name)
    try:
        is_there = bool(name) and folder.is_dir()
    except OSError as error:
        raise TargetError(f"spool: {name}: {error.strerror or error}") from None
    if not is_there:
        raise TargetError(f"spool: no such folder: {name or '(none named)'}{_sibling(folder)}")
    zone = parse_zone(options["zone"]) if "zone" in options else None
    release, encoding = release_of(options), _encoding(options.get("encoding", ""))

    def make() -> Source:
        from presman.sources.spool.spool_source import SpoolSource

        return SpoolSource(folder, zone=zone, release=release, encoding=encoding)

    return Target(f"spool:{name}", "spool", settings, make)


def _encoding(text: str) -> str:
    """Return the name of a text encoding, "" for none. Raises TargetError for one that is not known."""
    try:
        return codecs.lookup(text).name if text else ""
    except LookupError:
        raise TargetError(f"encoding={text} is not a known encoding such as euc-kr or cp1252") from None


def _sibling(folder: Path) -> str:
    try:
        names = [path.name for path in folder.parent.iterdir() if path.is_dir()] if folder.name else []
    except OSError:
        names = []
    found = nearest(folder.name, names)
    return f", did you mean {str(folder.with_name(found))!r}?" if found else ""


def parse_zone(text: str) -> tzinfo:
    """Read a time zone: an offset such as +02:00, or a region such as Europe/Vienna. Raises TargetError."""
    # A "+" in a query string may have been typed for what it is or have become a blank.
    offset = re.fullmatch(r"([ +-])(\d{1,2}):?(\d\d)?", text)
    if offset:
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        if int(offset[3] or 0) > 59 or minutes > LARGEST_OFFSET:
            raise TargetError(f"zone={text} is not an offset: the largest is 14:00")
        return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes))
    if text.upper() in {"UTC", "Z"}:
        return UTC
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(text)
    except (KeyError, ValueError, OSError):
        raise TargetError(f"zone={text} is neither an offset (+02:00) nor a region (Europe/Vienna)") from None


# ---- Target of a recording: `FILE.presman`, `recording:FILE[?database=…&at=…&from=…&to=…]`, `recording:URL`, a URL.

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
    is_location = text not in config.sections and not is_recording(text) and expanded(text).exists()
    return f"recording:{text}" if is_location else text


def recording_target(text: str, settings: Settings) -> Target:
    """Return the target of a recording: a file, a folder or a URL, with options. Raises TargetError."""
    known = ("database", "at", "from", "to")
    if "://" in text:  # a URL has options of its own
        location, _, tail = text.partition("?")
        own = parse_qsl(tail, keep_blank_values=True)
        options = {key: value for key, value in own if key in known}
        rest = urlencode([(key, value) for key, value in own if key not in known])
        location += f"?{rest}" if rest else ""
    else:
        location, options = options_of(text, known, "recording")
        path = expanded(location)
        try:
            is_there = bool(location) and path.exists()
        except OSError as error:
            raise TargetError(f"recording: {location}: {error.strerror or error}") from None
        if not is_there:
            raise TargetError(f"recording: no such file or folder: {location or '(none named)'}{_nearby(path)}")
    words = (options.get(name, "") for name in ("database", "at", "from", "to"))
    return recorded_target(RecordedWindow(location, *words), settings)


def _nearby(path: Path) -> str:
    try:
        names = [each.name for each in path.parent.glob("*.presman") if each.name != path.name]
    except OSError:
        names = []
    found = nearest(path.name, names)
    return f", did you mean {str(path.with_name(found))!r}?" if found else ""


# ---- Target of a simulated database: `demo:SCENARIO[?seed=…&speed=…&size=…&release=…]`.

DEMO = "mixed"
"""The scenario of `presman demo`."""

SCENARIOS = Path(__file__).parents[1] / "sources" / "simulator" / "scenarios"


def scenarios() -> tuple[str, ...]:
    """Return the names of the scenarios that come with presman."""
    return tuple(sorted(path.stem for path in SCENARIOS.glob("*.toml")))


def demo_target(text: str, settings: Settings) -> Target:
    """Return the target of what stands behind `demo:`. Raises TargetError."""
    name, options = options_of(text, ("seed", "speed", "size", "release"), "demo")
    name = name or DEMO
    is_file = name.endswith(".toml") or "/" in name
    if not is_file and name not in scenarios():
        raise TargetError(f"no scenario {name!r}, {did_you_mean(name, scenarios())}")
    if is_file and not Path(name).is_file():
        raise TargetError(f"no such scenario file: {name}")
    seed = number_of(options, "seed", int)
    speed = number_of(options, "speed", float)
    if speed is not None and not 0 < speed <= 3600:
        raise TargetError(f"demo: speed={options['speed']} is not above 0 and at most 3600")
    size = number_of(options, "size", float)
    if size is not None and not 0 < size <= 100:
        raise TargetError(f"demo: size={options['size']} is not above 0 and at most 100")
    given = {
        "scenario": Path(name) if is_file else name,
        "seed": seed,
        "speed": 1.0 if speed is None else speed,
        "size": size,
        "release": release_of(options),
    }
    make = SourceRecipe("presman.sources.simulator_source", "SimulatorSource", given)
    return Target(f"demo:{text if name in text else name + text}", "simulator", settings, make)
