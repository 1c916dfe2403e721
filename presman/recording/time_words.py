"""Words for an instant of a recording: 2026-11-22 03:12, 03:12, 3m ago, -90s, first, last."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo

from presman.base.errors import InputError

_AGO = re.compile(r"-?\s*(\d+(?:\.\d+)?)\s*([smhd])(?:\s+ago)?", re.IGNORECASE)
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d(?:\.\d{1,6})?))?")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST = 3660 * 86400.0

FORMS = "2026-11-22 03:12, 03:12:30, 3m ago, first or last"


class TimeError(InputError):
    """Words that are no instant; the text is one line."""


def instant_of(words: str, first: datetime, last: datetime, zone: tzinfo | None = None) -> datetime:
    """Return the instant in UTC that `words` mean, of a recording from `first` to `last`. Raises TimeError.

    "3m ago" is three minutes before the last poll. A time of day is the last one not after the last poll. What has no
    offset is in `zone`, that of the user where none is given.
    """
    words = words.strip()
    if words.lower() in {"first", "last"}:
        return first if words.lower() == "first" else last
    ago = _AGO.fullmatch(words)
    if ago and (words.startswith("-") or words.lower().endswith("ago")):
        return last - timedelta(seconds=min(_LONGEST, float(ago[1]) * _SECONDS[ago[2].lower()]))
    clock = _CLOCK.fullmatch(words)
    try:
        if clock:
            return _of_day(clock, last, zone)
        found = datetime.fromisoformat(words)
    except (ValueError, OverflowError):
        raise TimeError(f"{words!r} is no time: write {FORMS}") from None
    return _aware(found, zone).astimezone(UTC)


def _of_day(clock: re.Match[str], last: datetime, zone: tzinfo | None) -> datetime:
    seconds = float(clock[3] or 0)
    of_last = last.astimezone(zone)
    for days in (0, 1):
        day = of_last.date() - timedelta(days=days)
        whole = datetime(day.year, day.month, day.day, int(clock[1]), int(clock[2]), int(seconds))
        found = _aware(whole + timedelta(seconds=seconds % 1), zone).astimezone(UTC)
        if found <= last:
            return found
    return found


def _aware(at: datetime, zone: tzinfo | None) -> datetime:
    if at.tzinfo is not None:
        return at
    return at.replace(tzinfo=zone) if zone is not None else at.astimezone()
