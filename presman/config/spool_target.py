"""Target of a folder of CSV files: `spool:FOLDER[?zone=…&release=…&encoding=…]`."""

from __future__ import annotations

import codecs
import re
from datetime import UTC, timedelta, timezone, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

from presman.base.paths import expanded
from presman.base.suggest import nearest
from presman.config.config_file import Settings
from presman.config.target import Target, TargetError
from presman.config.target_options import options_of, release_of

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
