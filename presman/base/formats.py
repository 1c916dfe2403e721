"""Formats of numbers and times: the same on screen, in `once` and in reports."""

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from math import ceil

ABSENT = "-"
"""Shown in place of a missing number."""


_MOMENT = 2.0
"""Seconds below which nothing is counted down: a poll may take as long."""


def in_about(seconds: float | None) -> str:
    """Return in words when something should happen: the last seconds cannot be predicted.

    >>> in_about(41), in_about(1)
    ('in about 0:41', 'at any moment')
    """
    return "at any moment" if seconds is not None and seconds < _MOMENT else f"in about {duration(seconds)}"


def duration(seconds: float | None) -> str:
    """Return a duration in clock form: ``0:41``, ``3:41``, ``1:02:03``, ``2d 03:04``.

    >>> duration(221)
    '3:41'
    >>> duration(3723)
    '1:02:03'
    """
    if seconds is None:
        return ABSENT
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 24:
        return f"{hours // 24}d {hours % 24:02}:{minutes:02}"
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def ago(age: float) -> str:
    """Return how old something is, in words.

    >>> ago(146.0)
    'as of 2:26 ago'
    """
    return f"as of {duration(age)} ago"


def as_of(words: str, age: float | None) -> str:
    """Return words with their age, if they are older than the poll; nothing known has none.

    >>> as_of("8:52", 146.0), as_of("8:52", None), as_of(ABSENT, 146.0)
    ('8:52 as of 2:26 ago', '8:52', '-')
    """
    return f"{words} {ago(age)}" if age and words != ABSENT else words


def retry(seconds: float, *, wants_password: bool = False) -> str:
    """Return when a database is tried again: ``retry in 41s``, ``retry in 9:58``, ``trying now``.

    A refused password is never tried again: what comes is a look whether there is another.

    >>> retry(598.2), retry(30, wants_password=True)
    ('retry in 9:58', 'config.ini is read in 30s')
    """
    what, now = ("config.ini is read", "reading config.ini") if wants_password else ("retry", "trying now")
    left = round(seconds)
    return f"{what} in {f'{left}s' if left < 100 else duration(left)}" if left > 0 else now


def spelled(seconds: float | None) -> str:
    """Return a duration in words, for sentences: ``41 s``, ``15 min 37 s``, ``1 h 2 min``, ``2 d 3 h``.

    >>> spelled(937)
    '15 min 37 s'
    """
    if seconds is None:
        return "an unknown time"
    whole = max(0, int(seconds))
    for (unit, size), (smaller, part) in pairwise((("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))):
        if whole >= size:
            more = whole % size // part
            return f"{whole // size} {unit}{f' {more} {smaller}' if more else ''}"
    return f"{whole} s"


def number(value: float | None, digits: int = 1) -> str:
    """Return a number with `digits` decimals and thousands separated; ``-`` for None."""
    return ABSENT if value is None else f"{value:,.{digits}f}"


def count(value: float | None) -> str:
    """Return a whole number, thousands separated; ``-`` for None."""
    return ABSENT if value is None else f"{round(value):,}"


def many(number: int | None, noun: str) -> str:
    """Return a number with its noun as :func:`counted` does; ``- servers`` if it is unknown."""
    return f"{ABSENT} {noun}s" if number is None else counted(number, noun)


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun in the singular or the plural.

    >>> counted(1, "statement"), counted(2, "statement"), counted(0, "query", "queries")
    ('1 statement', '2 statements', '0 queries')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def server_time(server_seconds: float) -> str:
    """Return work in server minutes, below two of them in server seconds, so that a little is not shown as 0.

    >>> server_time(0.3), server_time(28.0), server_time(4800.0), server_time(0.0)
    ('1 server second', '28 server seconds', '80 server minutes', '0 server seconds')
    """
    if server_seconds < 120:
        return counted(ceil(server_seconds), "server second")
    return counted(round(server_seconds / 60), "server minute")


def listed(names: Sequence[str], last: str = "and") -> str:
    """Return names as a list in a sentence; `last` is "or" if one of them is meant.

    >>> listed(["ETL", "BATCH", "REPORTS"]), listed(["ETL", "BATCH"], "or"), listed(["ETL"])
    ('ETL, BATCH and REPORTS', 'ETL or BATCH', 'ETL')
    """
    return f" {last} ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def instances_are(inst_ids: Sequence[int]) -> str:
    """Return instances by number, followed by "is" or "are".

    >>> instances_are([2]), instances_are([2, 3])
    ('instance 2 is', 'instances 2 and 3 are')
    """
    return f"instance{'s' * (len(inst_ids) > 1)} {listed([*map(str, inst_ids)])} {'are' if len(inst_ids) > 1 else 'is'}"


def compact(value: float | None) -> str:
    """Return a number in at most five characters: ``9``, ``9.5``, ``999``, ``12.3k``, ``1.2M``.

    >>> compact(12345)
    '12.3k'
    """
    if value is None:
        return ABSENT
    for unit, size in (("", 1), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)):
        scaled = value / size
        if abs(scaled) < 999.5 or unit == "T":
            return f"{scaled:.0f}{unit}" if scaled == int(scaled) or abs(scaled) >= 99.95 else f"{scaled:.1f}{unit}"
    raise AssertionError("unreachable")


def megabytes(value: float | None) -> str:
    """Return megabytes per second for a column: ``9.5``, ``212``, ``1,024``, ``1.2M`` (million MB/s).

    >>> megabytes(1024)
    '1,024'
    """
    return compact(value) if value is None or abs(value) < 999.5 or abs(value) >= 99_999.5 else f"{value:,.0f}"


def amount_of_data(value: float | None) -> str:
    """Return megabytes with their unit, for sentences: ``9.5 MB``, ``212 MB``, ``1.0 GB``.

    >>> amount_of_data(1024)
    '1.0 GB'
    """
    if value is None:
        return ABSENT
    return f"{compact(value)} MB" if abs(value) < 999.5 else f"{value / 1024:,.1f} GB"


def throughput(value: float | None) -> str:
    """Return megabytes per second with their unit, for sentences: ``9.5 MB/s``, ``212 MB/s``, ``1.0 GB/s``.

    >>> throughput(1024)
    '1.0 GB/s'
    """
    return ABSENT if value is None else f"{amount_of_data(value)}/s"


def percent(value: float | None) -> str:
    """Return a percentage without decimals, ``-`` for None, ``<1`` if it is above 0 but would round to 0."""
    if value is None:
        return ABSENT
    return "<1" if 0 < value <= 0.5 else f"{value:.0f}"


def clock(at: datetime | None) -> str:
    """Return the time of day in the user's zone."""
    return ABSENT if at is None else at.astimezone().strftime("%H:%M:%S")


def milliseconds(value: float | None, digits: int, width: int) -> str:
    """Return milliseconds with `digits` decimals, or as many as fit in `width` characters.

    The column's head has the unit; from 100 seconds on they are in seconds or hours, with that unit.

    >>> milliseconds(1.2874, 3, 8), milliseconds(25_725.123, 2, 8), milliseconds(141_723.345, 3, 8)
    ('1.287', '25,725.1', '142 s')
    """
    if value is None:
        return ABSENT
    if value >= 100_000:
        return f"{value / 1000:,.0f} s" if value < 100_000_000 else f"{value / 3_600_000:,.1f} h"
    texts = (number(value, each) for each in range(digits, -1, -1))
    return next((text for text in texts if len(text) <= width), number(value, 0))


def microseconds(value: float | None) -> str:
    """Return a latency with its unit: ``512µs``, ``1.0ms``, ``4.2s``; from a minute on as a duration.

    >>> microseconds(1024)
    '1.0ms'
    """
    if value is None:
        return ABSENT
    if value < 1_000:
        return f"{value:.0f}µs"
    if value < 1e6:
        return f"{value / 1e3:.1f}ms"
    return f"{value / 1e6:.1f}s" if value < 60e6 else duration(value / 1e6)


# ---- Durations as users write them, on the command line, in config.ini, in alerts and in scenarios alike.

UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}

_WRITTEN = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(us|ms|s|min|m|h|d)?", re.IGNORECASE | re.ASCII)


def seconds_of(text: str, *, bare: bool = True) -> float:
    """Return the seconds of a duration: ``90``, ``90s``, ``20ms``, ``15m``, ``2h``, ``14d``.

    Raises ValueError for other texts, and for a number without a unit unless it may be `bare`.

    >>> seconds_of("1.5h"), seconds_of("90"), seconds_of("20 ms")
    (5400.0, 90.0, 0.02)
    """
    found = _WRITTEN.fullmatch(text.strip())
    if found is None or not (found[2] or bare):
        raise ValueError(f"{text!r} is not a duration such as {'20ms, 90, ' if bare else ''}90s, 15m, 2h or 14d")
    return float(found[1]) * UNITS[(found[2] or "s").lower()]


def size(value: int | None) -> str:
    """Return bytes with a binary unit in at most six characters: ``12.0G``, ``512M``; ``-`` for None."""
    if value is None:
        return ABSENT
    return f"{value / 2**30:.1f}G" if value >= 2**30 else f"{value / 2**20:.0f}M"
