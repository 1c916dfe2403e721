"""Numbers and dates as Oracle's tools print them in any of the usual NLS settings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo

_NUMBER = re.compile(r"[+-]?(\d[\d.,' \u00a0\u202f]*|[.,]\d+)(E[+-]?\d+)?", re.IGNORECASE | re.ASCII)
_GROUPS = re.compile(r"[ '\u00a0\u202f]")
_LARGEST = 2**63
_BEYOND_NUMBER = 1e126
"""What no NUMBER reaches (SQL Language Reference, Data Types): products and sums of such ones stay finite."""

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "JAN ENE JANV GEN",
            "FEB FEV FÉV FÉVR FEVR",
            "MAR MRZ MÄR MARS",
            "APR ABR AVR AVRIL",
            "MAY MAI MAG MAIO",
            "JUN JUIN GIU",
            "JUL JUIL LUG",
            "AUG AGO AOÛ AOÛT AOUT",
            "SEP SEPT SET",
            "OCT OKT OTT OUT",
            "NOV",
            "DEC DEZ DIC DÉC",
        ),
        1,
    )
    for name in names.split()
}

_TIME = r"(?:[ T:]+(\d{1,2})[:.](\d\d)(?:[:.](\d\d)(?:[.,](\d{1,9}))?)?(?: ?([AP])\.?M\.?)?)?"
_ZONE = r"(?: ?(Z|UTC|[+-]\d{1,2}:?\d\d))?"
_YEAR_FIRST = re.compile(rf"(\d{{4}})([-/.])(\d\d?)\2(\d\d?){_TIME}{_ZONE}", re.IGNORECASE)
_NAMED_MONTH = re.compile(rf"(\d\d?)[- /.]([^\W\d_]+)\.?[- /.](\d{{4}}|\d\d){_TIME}{_ZONE}", re.IGNORECASE)
_DAY_OR_MONTH_FIRST = re.compile(rf"(\d\d?)([-/.])(\d\d?)\2(\d{{4}}|\d\d){_TIME}{_ZONE}", re.IGNORECASE)


def decimal_mark(texts: Iterable[str]) -> str | None:
    """Return "." or "," where the numbers `texts` prove which one is the decimal mark, else None.

    A mark before three digits may divide groups, so it proves nothing; two marks in a number or a mark before any
    other number of digits do.

    >>> decimal_mark(["12", "1.234", "0,25"]), decimal_mark(["1,234.5"]), decimal_mark(["1,234"])
    (',', '.', None)
    """
    for text in texts:
        text = text.lstrip("+-")  # noqa: PLW2901
        comma, point = text.rfind(","), text.rfind(".")
        if comma < 0 and point < 0:
            continue
        if comma >= 0 and point >= 0:
            return "," if comma > point else "."
        mark, place = (",", comma) if comma >= 0 else (".", point)
        if "e" in text.lower():
            return mark
        if text.count(mark) > 1:
            return "." if mark == "," else ","
        digits = re.match(r"\d*", text[place + 1 :])
        if digits and (len(digits[0]) != 3 or place == 0 or text.startswith("0") or place > 3):
            return mark
    return None


def number(text: str, mark: str | None, whole: bool) -> int | float:
    """Read a number. `mark` is the decimal mark, None if not known: then what could divide groups does so in `whole`
    columns and is the decimal mark in others. Raises ValueError.

    >>> number("1.234,5", ",", False), number("2,5E+3", ",", True), number("1,234", None, True)
    (1234.5, 2500, 1234)
    """
    if text.isascii() and text.isdigit() and len(text) < 19:
        return int(text)
    if not _NUMBER.fullmatch(text):
        cure = ": the column was too narrow for it (SET NUMWIDTH 38)" if text.strip("#") == "" else ""
        raise ValueError(f"{text!r} is not a number{cure}")
    plain = _GROUPS.sub("", text)
    if mark is None:
        mark = decimal_mark([plain]) or (next((sign for sign in plain if sign in ",."), ".") if not whole else "")
    plain = "".join("." if sign == mark else sign for sign in plain if sign == mark or sign not in ",.")
    value = float(plain)
    if abs(value) >= _BEYOND_NUMBER:
        raise ValueError(f"{text[:40]!r} is larger than any number of Oracle's")
    if "." in plain or "e" in plain.lower():
        return int(value) if value.is_integer() and abs(value) < _LARGEST else value
    exact = int(plain)
    return exact if abs(exact) < _LARGEST else value


def is_month_first(texts: Iterable[str]) -> bool:
    """Return whether dates of figures alone are month/day/year: proven by a second figure above 12, or AM and PM."""
    for text in texts:
        found = _DAY_OR_MONTH_FIRST.fullmatch(text)
        if found and int(found[1]) > 12:
            return False
        if found and int(found[3]) > 12:
            return True
    return False


def instant(text: str, zone: tzinfo, month_first: bool = False) -> datetime:
    """Read a date or timestamp as an aware datetime; without an offset it is of `zone`. Raises ValueError.

    >>> instant("21-NOV-26", UTC).isoformat()
    '2026-11-21T00:00:00+00:00'
    >>> instant("21.11.2026 10:11:12", UTC).isoformat()
    '2026-11-21T10:11:12+00:00'
    >>> instant("2026-11-21T10:11:12.5+02:00", UTC).isoformat()
    '2026-11-21T10:11:12.500000+02:00'
    """
    day, rest = _day(text, month_first)
    hour, minute, second, fraction, half, offset = rest
    hours = int(hour or 0)
    if half:
        hours = hours % 12 + (12 if half.upper() == "P" else 0)
    micro = int((fraction or "")[:6].ljust(6, "0"))
    return datetime(
        day.year,
        day.month,
        day.day,
        hours,
        int(minute or 0),
        int(second or 0),
        micro,
        tzinfo=_offset(offset) if offset else zone,
    )


def _day(text: str, month_first: bool) -> tuple[date, tuple[str | None, ...]]:
    if found := _YEAR_FIRST.fullmatch(text):
        return date(int(found[1]), int(found[3]), int(found[4])), found.groups()[4:]
    if found := _NAMED_MONTH.fullmatch(text):
        month = _MONTHS.get(found[2].upper())
        if month is not None:
            return date(_year(found[3]), month, int(found[1])), found.groups()[3:]
    if found := _DAY_OR_MONTH_FIRST.fullmatch(text):
        first, second = int(found[1]), int(found[3])
        day, month = (second, first) if month_first else (first, second)
        return date(_year(found[4]), month, day), found.groups()[4:]
    raise ValueError(f"{text!r} is not a date that can be read: spool it as YYYY-MM-DD HH24:MI:SS")


def _year(text: str) -> int:
    """Read a year; two figures are of the century that Oracle's RR means."""
    year = int(text)
    if len(text) == 4:
        return year
    return 2000 + year if year < 50 else 1900 + year


def _offset(text: str) -> tzinfo:
    if text.upper() in {"Z", "UTC"}:
        return UTC
    minutes = int(text[1:].replace(":", "")[:-2]) * 60 + int(text[-2:])
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))
