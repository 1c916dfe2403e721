"""Words for an instant of a recording: 2026-11-22 03:12, 03:12, 3m ago, -90s, first, last."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, tzinfo

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


def span_of(
    start: str, end: str, first: datetime, last: datetime, zone: tzinfo | None = None
) -> tuple[datetime | None, datetime | None]:
    """Return from when to when two words mean, both included; None for "", an end that is open. Raises TimeError.

    What ends at a time of day that the day of the last poll has yet to reach ends then, if it begins on that day: of a
    recording up to 21:30, 20:00 to 23:00 is not 20:00 to yesterday's 23:00.
    """
    begins = instant_of(start, first, last, zone) if start else None
    ends = instant_of(end, first, last, zone) if end else None
    clock = _CLOCK.fullmatch(end.strip())
    since = first if begins is None else begins
    today = last.astimezone(zone).date()
    if ends is not None and clock and ends < since and since.astimezone(zone).date() == today:
        ends = _at(today, clock, zone)
    if begins is not None and ends is not None and ends < begins:
        window, whole = spelled_span(begins, ends), spelled_span(first, last)
        raise TimeError(f"the window {window} ends before it begins; the recording is {whole}")
    return begins, ends


def spelled_span(start: datetime | None, end: datetime | None) -> str:
    """Return from when to when, in the user's zone; "" where both ends are open."""
    if start is None:
        return "" if end is None else f"up to {spelled_instant(end)}"
    return f"from {spelled_instant(start)} " + ("on" if end is None else f"to {spelled_instant(end)}")


def spelled_instant(at: datetime) -> str:
    """Return an instant to the second, in the user's zone."""
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S}"


def _of_day(clock: re.Match[str], last: datetime, zone: tzinfo | None) -> datetime:
    today = last.astimezone(zone).date()
    found = _at(today, clock, zone)
    return found if found <= last else _at(today - timedelta(days=1), clock, zone)


def _at(day: date, clock: re.Match[str], zone: tzinfo | None) -> datetime:
    seconds = float(clock[3] or 0)
    whole = datetime(day.year, day.month, day.day, int(clock[1]), int(clock[2]), int(seconds))
    return _aware(whole + timedelta(seconds=seconds % 1), zone).astimezone(UTC)


def _aware(at: datetime, zone: tzinfo | None) -> datetime:
    if at.tzinfo is not None:
        return at
    return at.replace(tzinfo=zone) if zone is not None else at.astimezone()
