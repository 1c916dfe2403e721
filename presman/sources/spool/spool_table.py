"""Spooled tables: typed rows by sample time.

Numbers and dates are parsed in the formats that Oracle's tools print with any of the usual NLS settings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from presman.base.release import Release
from presman.base.text import clean
from presman.rows.queries import by_query, columns_of, field_types
from presman.sources.spool.spool_file import SAMPLE_TIME, SpoolFile

_NUMBER = re.compile(r"[+-]?(\d[\d.,' \u00a0\u202f]*|[.,]\d+)(E[+-]?\d+)?", re.IGNORECASE | re.ASCII)
_GROUPS = re.compile(r"[ '\u00a0\u202f]")
_LARGEST = 2**63
"""Whole numbers below this stay whole: the tables in memory are SQLite's, whose integers have 64 bits."""
_BEYOND_NUMBER = 1e126
"""Upper bound of NUMBER (SQL Language Reference, Data Types): sums and products of smaller values stay finite."""

_MONTH_NAMES = (
    "JAN ENE JANV GEN, FEB FEV FÉV FÉVR FEVR, MAR MRZ MÄR MARS, APR ABR AVR AVRIL,"
    " MAY MAI MAG MAIO, JUN JUIN GIU, JUL JUIL LUG, AUG AGO AOÛ AOÛT AOUT,"
    " SEP SEPT SET, OCT OKT OTT OUT, NOV, DEC DEZ DIC DÉC"
)
_MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES.split(", "), 1) for name in names.split()}

_TIME = r"(?:[ T:]+(\d{1,2})[:.](\d\d)(?:[:.](\d\d)(?:[.,](\d{1,9}))?)?(?: ?([AP])\.?M\.?)?)?"
_ZONE = r"(?: ?(Z|UTC|[+-]\d{1,2}:?\d\d))?"
_YEAR_FIRST = re.compile(rf"(\d{{4}})([-/.])(\d\d?)\2(\d\d?){_TIME}{_ZONE}", re.IGNORECASE)
_NAMED_MONTH = re.compile(rf"(\d\d?)[- /.]([^\W\d_]+)\.?[- /.](\d{{4}}|\d\d){_TIME}{_ZONE}", re.IGNORECASE)
_DAY_OR_MONTH_FIRST = re.compile(rf"(\d\d?)([-/.])(\d\d?)\2(\d{{4}}|\d\d){_TIME}{_ZONE}", re.IGNORECASE)


def decimal_mark(texts: Iterable[str]) -> str | None:
    """Return "." or "," if the numbers in `texts` prove which is the decimal mark, else None.

    A mark before three digits may be a group separator, so it proves nothing. Two marks in a number, or a mark before
    any other number of digits, are a proof.

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
        mark, index = (",", comma) if comma >= 0 else (".", point)
        if "e" in text.lower():
            return mark
        if text.count(mark) > 1:
            return "." if mark == "," else ","
        # Before the first group of three there are one to three digits, and no zero leads.
        digits = re.match(r"\d*", text[index + 1 :])
        if digits and (len(digits[0]) != 3 or index == 0 or text.startswith("0") or index > 3):
            return mark
    return None


def number(text: str, mark: str | None, whole: bool) -> int | float:
    """Parse a number. `mark` is the decimal mark, None if not known. Raises ValueError.

    If it is not known, a mark that could separate groups does so in `whole` columns, and is the decimal mark in others.

    >>> number("1.234,5", ",", False), number("2,5E+3", ",", True), number("1,234", None, True)
    (1234.5, 2500, 1234)
    """
    if text.isascii() and text.isdigit() and len(text) < 19:  # nearly all; so few digits fit into 64 bits
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
    """Return whether numeric dates are month/day/year, which a second number above 12 proves."""
    for text in texts:
        found = _DAY_OR_MONTH_FIRST.fullmatch(text)
        if found and int(found[1]) > 12:
            return False
        if found and int(found[3]) > 12:
            return True
    return False


def instant(text: str, zone: tzinfo, month_first: bool = False) -> datetime:
    """Parse a date or timestamp as an aware datetime; without an offset it is in `zone`. Raises ValueError.

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
    clock = hours, int(minute or 0), int(second or 0), micro
    return datetime(day.year, day.month, day.day, *clock, tzinfo=_offset(offset) if offset else zone)


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
    """Parse a year; two digits are completed as by Oracle's RR."""
    year = int(text)
    if len(text) == 4:
        return year
    return 2000 + year if year < 50 else 1900 + year


def _offset(text: str) -> tzinfo:
    if text.upper() in {"Z", "UTC"}:
        return UTC
    minutes = int(text[1:].replace(":", "")[:-2]) * 60 + int(text[-2:])
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))


TOGETHER = timedelta(seconds=2)
"""Files whose sample times differ by no more than this belong to one pass, however short the passes are."""

APART = timedelta(seconds=30)
"""Files whose sample times differ by more than this belong to two passes, however long the passes are."""

STAND_IN_COLUMNS = {
    "MAX_UTILIZATION_LIMIT": "UTILIZATION_LIMIT",
    "PARALLEL_TARGET_PERCENTAGE": "PARALLEL_SERVER_LIMIT",
    "SECONDS_IN_WAIT": "WAIT_TIME_MICRO",
    "SQL_TEXT": "SQL_FULLTEXT",
    "VERSION": "VERSION_FULL",
    "WAIT_TIME_MILLI": "WAIT_TIME_MICRO",
}
"""Columns that can replace another one, in the same view or in its newer variant."""

_FACTORS = {"SECONDS_IN_WAIT": 1_000_000, "WAIT_TIME_MILLI": 1_000}
"""Factors for replacements with a different unit."""

_STAND_IN_VIEWS = {"V$EVENT_HISTOGRAM_MICRO": "V$EVENT_HISTOGRAM", "V$SYSTEM_PARAMETER": "V$PARAMETER"}
"""Views that an older or more popular view can replace."""


_COUNTING_VIEWS = frozenset(
    {
        "V$EVENT_HISTOGRAM", "V$EVENT_HISTOGRAM_MICRO", "V$OSSTAT", "V$PX_SESSTAT", "V$RSRC_CONSUMER_GROUP",
        "V$RSRC_PDB", "V$RSRC_SESSION_INFO", "V$SESSTAT", "V$SYSSTAT", "V$SYSTEM_EVENT",
    }
)  # fmt: skip
"""Views with counters, from which rates are computed: rounded counters are useless for that."""


class SpoolTable(NamedTuple):
    """The rows of a view by sample time: `times` in order, each with its rows; a single None if they are always valid.

    A row with only a sample time means that the view was empty then. `rounded` names columns of counters in which a
    value lacks its last digits: those values are None.
    """

    columns: tuple[str, ...]
    times: tuple[datetime | None, ...]
    rows: tuple[tuple[tuple[Any, ...], ...], ...]
    rounded: frozenset[str] = frozenset()

    def at(self, now: Instant, *, lasting: bool) -> int:
        """Return the index in `rows` that is valid at `now`, -1 if none is: then the view's content is not known.

        Rows that are read at each poll are valid in their own pass. Rows that are `lasting`, such as plans and
        parameters, are valid until the next sample time.
        """
        index = sum(time is None or time <= now.until for time in self.times) - 1
        time = self.times[index] if index >= 0 else None
        return index if lasting or time is None or time >= now.at else -1


def rounded(file: SpoolFile) -> tuple[str, ...]:
    """Return the columns of whole numbers that SQL*Plus wrote with an exponent: their last digits are lost."""
    numbers = sorted(index for index, kind in _kinds(file).items() if kind == "NUMBER")
    # VALUE of a statistic is whole in most views.
    whole = [index for index in numbers if file.columns[index] not in _fractions() - {"VALUE"}]
    return tuple(file.columns[index] for index in whole if any("E+" in row[index].upper() for row in file.rows))


def forms(files: Sequence[SpoolFile], zone: tzinfo | None) -> tuple[tzinfo, str | None]:
    """Return the time zone of dates in a folder of `files`, and the decimal mark of its numbers (None: not known).

    Without `zone` it is that of the first sample time with an offset, else UTC.
    """
    numbers = ((file, index) for file in files for index, kind in _kinds(file).items() if kind == "NUMBER")
    texts = (row[index] for file, index in numbers for row in file.rows if not row[index].isdigit())
    mark = decimal_mark(filter(None, map(str.strip, texts)))
    return zone or next((found for file in files if (found := _zone(file))), UTC), mark


def _kinds(file: SpoolFile) -> Mapping[int, str]:
    kinds = {column.name: column.datatype.partition("(")[0] for column in columns_of(file.view, Release(99))}
    return {index: kinds[name] for index, name in enumerate(file.columns) if name in kinds}


def _zone(file: SpoolFile) -> tzinfo | None:
    if SAMPLE_TIME not in file.columns or not file.rows:
        return None
    text = file.rows[0][file.columns.index(SAMPLE_TIME)].strip()
    try:
        found = instant(text, _UNKNOWN).tzinfo
    except ValueError:
        return None
    return None if found is _UNKNOWN else found


_UNKNOWN = timezone(timedelta(0), "unknown")
"""The time zone of a date without one; compared by identity."""


def table(file: SpoolFile, columns: frozenset[str], zone: tzinfo, mark: str | None) -> SpoolTable:
    """Return the `columns` of `file` with typed values, by its `forms`. Raises SourceError naming file and line."""
    kinds = _kinds(file)
    counters = rounded(file) if file.view.removeprefix("G") in _COUNTING_VIEWS else ()
    lost = frozenset(name for name in counters if not name.endswith("_BYTES"))  # sizes in bytes are no counters
    indexes = [index for index, name in enumerate(file.columns) if name in columns and index in kinds]
    values = [_column(file, index, kinds[index], zone, mark, lost) for index in indexes]
    names = [file.columns[index] for index in indexes]
    rows: list[tuple[Any, ...]] = list(zip(*values, strict=True)) if values else [()] * len(file.rows)
    times = sample_times(file, zone) if SAMPLE_TIME in file.columns else None
    if "VALUE" in lost and "VALUE" in names:  # only some statistics are rounded: the others are exact
        index = names.index("VALUE")
        rows = [row if row[index] is not None else (None,) * len(row) for row in rows]
        rows = rows if times is not None else [row for row in rows if any(value is not None for value in row)]
    if times is None:
        return SpoolTable(tuple(names), (None,), (tuple(rows),), lost - {"VALUE"})
    slices: dict[datetime, list[tuple[Any, ...]]] = {time: [] for time in sorted(set(times))}
    for time, row in zip(times, rows, strict=True):
        if any(value is not None for value in row):
            slices[time].append(row)
    return SpoolTable(tuple(names), tuple(slices), tuple(map(tuple, slices.values())), lost - {"VALUE"})


def _column(file: SpoolFile, index: int, kind: str, zone: tzinfo, mark: str | None, lost: frozenset[str]) -> list[Any]:
    texts = [row[index] for row in file.rows]
    name = file.columns[index]
    read: Callable[[str], Any] = str
    if kind == "NUMBER":
        whole, is_lost = name not in _fractions(), name in lost

        def read(text: str) -> Any:
            return None if is_lost and "E+" in text.upper() else number(text, mark, whole)

    elif kind.startswith(("DATE", "TIMESTAMP")):
        month_first = is_month_first({text.strip() for text in texts})

        def read(text: str) -> Any:
            return instant(text, zone, month_first).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")

    return _each(file, name, texts, read)


def _each(file: SpoolFile, name: str, texts: Sequence[str], read: Callable[[str], Any]) -> list[Any]:
    """Return the value of each text, parsed without surrounding spaces; each distinct text is parsed once."""
    known: dict[str, Any] = {}
    for text in dict.fromkeys(texts):
        bare = text.strip()
        try:
            known[text] = read(bare) if bare else None
        except (ValueError, OverflowError) as error:
            raise file.error(texts.index(text), clean(f"{name}: {error}")) from None
    return [known[text] for text in texts]


@cache
def _fractions() -> frozenset[str]:
    """Return the columns that contain fractions, according to the types of the records."""
    types = (field_types(record) for record in by_query().values())
    return frozenset(name.upper() for fields in types for name, (kind, _) in fields.items() if kind is float)


def sample_times(file: SpoolFile, zone: tzinfo) -> Sequence[datetime]:
    """Return the sample time of each row, in UTC. Raises SourceError naming file and line."""
    index = file.columns.index(SAMPLE_TIME)
    texts = [row[index].strip() for row in file.rows]
    if "" in texts:
        raise file.error(texts.index(""), "sample_time is empty")
    month_first = is_month_first(texts)
    found = _each(file, SAMPLE_TIME, texts, lambda text: instant(text, zone, month_first).astimezone(UTC))
    if not repeated(file, zone):
        return found
    later = {text: instant(text, zone, month_first).replace(fold=1).astimezone(UTC) for text in set(texts)}
    return _as_rows_go_on(found, [later[text] for text in texts])


def _as_rows_go_on(first: Sequence[datetime], second: Sequence[datetime]) -> Sequence[datetime]:
    """Return for each row its `first` time, or the `second` if the first is before the row above.

    Where the rows are in no order of time even so, that proves nothing: then each has its first.
    """
    times: list[datetime] = []
    for one, other in zip(first, second, strict=True):
        times.append(other if times and one < times[-1] else one)
        if len(times) > 1 and times[-1] < times[-2]:
            return first
    return times


def repeated(file: SpoolFile, zone: tzinfo) -> str:
    """Return a sample time that occurs twice in the `zone` because its clocks went back, "" without one."""
    if isinstance(zone, timezone) or SAMPLE_TIME not in file.columns:
        return ""
    index = file.columns.index(SAMPLE_TIME)
    texts = sorted({row[index].strip() for row in file.rows} - {""})
    month_first = is_month_first(texts)
    for text in texts:
        with suppress(ValueError, OverflowError):  # reported where the column is read
            time = instant(text, zone, month_first)
            if time.utcoffset() != time.replace(fold=1).utcoffset():
                return text
    return ""


class Instant(NamedTuple):
    """One pass over the views: `at` is its begin, `until` the last sample time that belongs to it."""

    at: datetime
    until: datetime


def instants(tables: Mapping[str, SpoolTable], momentary: Collection[str]) -> list[Instant]:
    """Return the passes that the sample times of all tables form, in order.

    Files spooled one after another, each with its own time, belong to one pass. The next pass begins when a file has
    another time, or after a pause: where passes are short, more than half the interval between two times of one file.
    A pass with only lasting views is ignored if there are others: it has no data of that moment.
    """
    times = sorted((time, view) for view, table in tables.items() for time in table.times if time)
    pause = _pause(tables.values())
    found: list[Instant] = []
    views: list[set[str]] = []
    for time, view in times:
        if not found or view in views[-1] or time - found[-1].until > pause:
            found.append(Instant(time, time))
            views.append(set())
        found[-1] = found[-1]._replace(until=time)
        views[-1].add(view)
    return [each for each, seen in zip(found, views, strict=True) if not seen.isdisjoint(momentary)] or found


def _pause(tables: Iterable[SpoolTable]) -> timedelta:
    """Return the pause after which another pass begins."""
    each = [[time for time in table.times if time] for table in tables]
    shortest = min((after - before for times in each for before, after in pairwise(times)), default=2 * APART)
    return max(TOGETHER, min(shortest / 2, APART))


def complete(tables: Mapping[str, SpoolTable], release: Release) -> dict[str, SpoolTable]:
    """Return `tables` with V$ and GV$ views derived from each other, and replacements for missing views and columns."""
    full = {view: _with_stand_ins(view, found, release) for view, found in tables.items()}
    for view, stand_in in _STAND_IN_VIEWS.items():
        for prefix in ("", "G"):
            if prefix + view not in full and prefix + stand_in in full:
                full[prefix + view] = _with_stand_ins(prefix + view, full[prefix + stand_in], release)
    # V$ and GV$ are made of each other only where a view was not spooled itself.
    for view in list(full):
        if view.startswith("GV$"):
            full[view] = _with_instance(full[view])
        elif view.startswith("V$"):
            full.setdefault("G" + view, _with_instance(full[view]))
    inst_id = own_instance(full)
    for view in [name for name in full if name.startswith("GV$")]:
        full.setdefault(view[1:], _of_instance(full[view], inst_id))
    known = {view: {column.name for column in columns_of(view, release)} for view in full}
    return {view: found for view, found in full.items() if not known[view].isdisjoint(found.columns)}


def own_instance(tables: Mapping[str, SpoolTable]) -> int:
    """Return the instance of the V$ views: the lowest INST_ID in GV$INSTANCE or GV$SESSION, else 1."""
    found = tables.get("GV$INSTANCE") or tables.get("GV$SESSION")
    if found is None or "INST_ID" not in found.columns:
        return 1
    index = found.columns.index("INST_ID")
    return min({row[index] for rows in found.rows for row in rows if row[index] is not None}, default=1)


def _with_stand_ins(view: str, found: SpoolTable, release: Release) -> SpoolTable:
    wanted = {column.name for column in columns_of(view, release)}
    for column, stands_for in STAND_IN_COLUMNS.items():
        if column in found.columns and stands_for in wanted and stands_for not in found.columns:
            index = found.columns.index(column)
            factor = _FACTORS.get(column, 1)  # a text times 1 is the text
            columns = ([row[index] for row in rows] for rows in found.rows)
            values = [[None if value is None else value * factor for value in column] for column in columns]
            found = _extended(found, stands_for, values)
    return found


def _with_instance(found: SpoolTable) -> SpoolTable:
    there = "INST_ID" in found.columns
    return found if there else _extended(found, "INST_ID", [[1] * len(rows) for rows in found.rows])


def _extended(found: SpoolTable, column: str, values: Sequence[Sequence[Any]]) -> SpoolTable:
    pairs = (zip(old, new, strict=True) for old, new in zip(found.rows, values, strict=True))
    rows = tuple(tuple((*row, value) for row, value in each) for each in pairs)
    return found._replace(columns=(*found.columns, column), rows=rows)


def _of_instance(found: SpoolTable, inst_id: int) -> SpoolTable:
    index = found.columns.index("INST_ID")
    return found._replace(rows=tuple(tuple(row for row in rows if row[index] == inst_id) for rows in found.rows))
