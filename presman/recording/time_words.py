"""Words for an instant of a recording: 2026-11-22 03:12, 03:12, 02:30+01:00, 3m ago, -90s, first, last."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo

from presman.base.axis import instants_of
from presman.base.errors import InputError
from presman.base.formats import seconds_of
from presman.recording.store_errors import RecordingError

_AGO = re.compile(r"-?\s*(\d+(?:\.\d+)?\s*[smhd])(?:\s+ago)?", re.IGNORECASE)
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d(?:\.\d{1,6})?))?(Z|[+-]\d\d:?\d\d)?", re.IGNORECASE)
_LOST_SIGN = re.compile(r"(:\d\d(?:\.\d+)?) (\d\d:?\d\d)$")
"""An offset whose + became a blank, as happens in a URL."""

_FRACTION = re.compile(r":\d\d[.,](\d{1,6})")

_LONGEST = 3660 * 86400.0

FORMS = "2026-11-22 03:12, 03:12:30, 03:12+01:00, 3m ago, -1h, first or last"

ENDS = frozenset({"first", "last"})
"""The words for the first and the last poll, which may also be names."""

Note = Callable[[str], None]
"""Called with a sentence about the instant chosen, if clocks go back and words match two."""


class TimeError(InputError):
    """Words that do not name an instant; the text is one line."""


class EmptyWindowError(RecordingError):
    """A recording has no poll in a window; the text is one line."""


_PLAIN = re.compile(r"-\s*[\d.]+\s*[smhd]|[\d.]+\s*[smhd]\s+ago|\d\d:\d\d\S*|\d{4}-\d\d-\d\d.*", re.IGNORECASE)


def is_time(words: str) -> bool:
    """Return whether words can only mean an instant: 1:45 may be a session of instance 1, 01:45 cannot.

    >>> [is_time(each) for each in ("19:08", "-15m", "3m ago", "2026-11-22 03:12", "1:45", "first", "BATCH")]
    [True, True, True, True, False, False, False]
    """
    return _PLAIN.fullmatch(words.strip()) is not None


def instant_of(
    words: str,
    first: datetime,
    last: datetime,
    zone: tzinfo | None = None,
    note: Note | None = None,
    since: datetime | None = None,
) -> datetime:
    """Return the last instant in UTC that `words` mean, in a recording from `first` to `last`. Raises TimeError.

    "3m ago" is three minutes before the last poll. A time of day is its last occurrence not after the last poll, or
    the next one if nothing was recorded by then and that is nearer to the recording. A time without an offset is in
    `zone`, by default the user's. If clocks show a time twice, the first occurrence is taken, unless only the second is
    in the recording and not before `since`. A time given to the second means the end of that second, at most the last
    poll: shown times are truncated, and a user who enters one means what happened in it.
    """
    found = _begin_meant(words, first, last, zone, note, since)
    if ":" not in words or found > last:
        return found
    fraction = _FRACTION.search(words)
    unit = 10 ** (6 - len(fraction[1]) if fraction else 6)
    return min(last, found + timedelta(microseconds=unit - 1))


def _begin_meant(
    words: str, first: datetime, last: datetime, zone: tzinfo | None, note: Note | None, since: datetime | None = None
) -> datetime:
    words = _LOST_SIGN.sub(r"\1+\2", words.strip())
    if words.lower() in ENDS:
        return first if words.lower() == "first" else last
    if (ago := _AGO.fullmatch(words)) and (words.startswith("-") or words.lower().endswith("ago")):
        return last - timedelta(seconds=min(_LONGEST, seconds_of(ago[1])))
    clock, low = _CLOCK.fullmatch(words), first if since is None else since
    try:
        if clock:
            zone = _zone_of(clock) or zone
            at = _naive(last.astimezone(zone).date(), clock)
            if at.replace(tzinfo=zone).astimezone(UTC) <= last:
                return _chosen_instant(at, zone, low, last, note)
            found, today = (_chosen_instant(each, zone, low, last, note) for each in (at - timedelta(days=1), at))
            return today if first - found > today - last else found
        found = datetime.fromisoformat(words)
        if 1900 < found.year < 9000:  # with zones and durations, years at the end of the calendar would overflow
            return _chosen_instant(found, zone, low, last, note)
    except (ValueError, OverflowError):
        pass
    raise TimeError(f"{words!r} is not a time: write {FORMS}")


def span_of(
    start: str, end: str, first: datetime, last: datetime, zone: tzinfo | None = None, note: Note | None = None
) -> tuple[datetime | None, datetime | None]:
    """Return the first and the last instant that `start` and `end` mean; None for "", an open end. Raises TimeError.

    If the window begins on the day of the last poll, its end may be a later time of that day: in a recording up to
    21:30, the window from 20:00 to 23:00 does not end at yesterday's 23:00.
    """
    notes: list[str] = []
    begins = _begin_meant(start, first, last, zone, note) if start else None
    since = first if begins is None else begins
    ends = instant_of(end, first, last, zone, notes.append, since) if end else None
    clock = _CLOCK.fullmatch(end.strip())
    today = last.astimezone(zone).date()
    if ends is not None and clock and ends < since and since.astimezone(zone).date() == today:
        notes.clear()
        ends = _chosen_instant(_naive(today, clock), _zone_of(clock) or zone, since, last, notes.append)
    if note is not None and notes:
        note(notes[0])
    if begins is not None and ends is not None and ends < begins:
        window, whole = spelled_span(begins, ends), spelled_span(first, last)
        raise TimeError(f"the window {window} ends before it begins; the recording is {whole}")
    return begins, ends


def nothing_in(name: str, window: str, first: datetime | None, last: datetime | None) -> EmptyWindowError:
    """Return the error that a recording from `first` to `last` has no poll in a window, which is in words."""
    return EmptyWindowError(f"{name} has no polls {window}: it is {spelled_span(first, last)}")


def spelled_span(start: datetime | None, end: datetime | None) -> str:
    """Return a window in words, in the user's zone; "" if both ends are open."""
    if start is None:
        return "" if end is None else f"up to {spelled_instant(end)}"
    return f"from {spelled_instant(start)} " + ("on" if end is None else f"to {spelled_instant(end)}")


def spelled_instant(at: datetime) -> str:
    """Return an instant to the second, in the user's zone; with its offset if clocks show that time twice."""
    return f"{at.astimezone():%Y-%m-%d} {spelled_time(at)}"


def spelled_time(at: datetime) -> str:
    """Return the time of day of an instant, formatted as in :func:`spelled_instant`."""
    local = at.astimezone()
    twice = len(instants_of(local.replace(tzinfo=None, fold=0))) > 1
    return f"{local:%H:%M:%S}" + (_offset(local) if twice else "")


def _zone_of(clock: re.Match[str]) -> tzinfo | None:
    """Return the offset of a time of day, None if it has none."""
    return datetime.fromisoformat(f"2000-01-01T00:00{clock[4].upper()}").tzinfo if clock[4] else None


def _naive(day: date, clock: re.Match[str]) -> datetime:
    """Return a time of a day as clocks show it, without a zone."""
    seconds = float(clock[3] or 0)
    whole = datetime(day.year, day.month, day.day, int(clock[1]), int(clock[2]), int(seconds))
    return whole + timedelta(seconds=seconds % 1)


def _chosen_instant(at: datetime, zone: tzinfo | None, low: datetime, high: datetime, note: Note | None) -> datetime:
    """Return the instant of a time: the first of two, unless only the second is from `low` to `high`."""
    found = instants_of(at, zone) if at.tzinfo is None else [at.astimezone(UTC)]
    if not found:
        raise TimeError(f"there is no {at:%H:%M} on {at:%Y-%m-%d}: clocks go forward then")
    taken = next((each for each in found if low <= each <= high), found[0])
    if len(found) > 1 and note is not None:
        one, other = (_offset(each.astimezone(zone)) for each in (taken, next(e for e in found if e != taken)))
        note(f"{at:%Y-%m-%d %H:%M} comes twice, as clocks go back: {at:%H:%M}{one} is taken, not {at:%H:%M}{other}")
    return taken


def _offset(at: datetime) -> str:
    text = f"{at:%z}"
    return f"{text[:3]}:{text[3:5]}"
