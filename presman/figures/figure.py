"""A figure as a value: everything that is said about one figure, said once.

Its key is its name in CSV files; its head, unit and help stand on screen, in the text of `once`, in the help pages and
in the reference; one function says how to get it from a record, and sorting, writing and exporting follow from that.
So no two of them can disagree about what a figure is called, which unit it has or where it comes from. The views that
its help names are those it is read from: what of them did not come in time is said beside a table.
"""

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from operator import attrgetter
from typing import Any, Generic, Literal, TypeVar

from msgspec import Struct

from presman.analysis.readings.reading import LateView, Reading
from presman.base.formats import ABSENT, clock, compact, count, duration, megabytes, number, percent, size

T = TypeVar("T")

State = Literal["", "good", "note", "warn", "bad", "dim"]
"""What a cell's colour may say. Colour never says it alone: a word or a glyph stands beside it."""

Side = Literal["left", "right"]


class Unit(Struct, frozen=True):
    """What a figure is measured in: its name, how a value (or None) is written, the cells that takes at least."""

    name: str
    text: Callable[[Any], str]
    width: int
    align: Side = "right"


def _word(value: Enum | None) -> str:
    return ABSENT if value is None else str(value.value)


TEXT = Unit("text", lambda value: value or "", 4, "left")
NAME = Unit("text", lambda value: value or ABSENT, 4, "left")
"""A text that is missing where it is empty: a SQL_ID, a reason."""
WORD = Unit("word", _word, 4, "left")
"""One of a few stable words: an Enum. Files have its name in lower case, screens its value."""
FLAG = Unit("true or false", lambda value: ABSENT if value is None else "yes" if value else "no", 3, "left")
NUMBER = Unit("number", lambda value: ABSENT if value is None else str(value), 4)
"""A number that counts nothing: an instance, a container, a position."""
COUNT = Unit("count", count, 4)
TOTAL = Unit("count", compact, 4)
"""A count that grows without end."""
RATE = Unit("per second", compact, 6)
BYTES = Unit("bytes", size, 6)
MEGABYTES = Unit("MB per second", megabytes, 6)
CPUS = Unit("CPUs", number, 6)
SESSIONS = Unit("average sessions", number, 6)
PERCENT = Unit("percent", percent, 4)
SHARE = Unit("0 to 1", lambda value: ABSENT if value is None else f"{value:.4f}", 6)
SECONDS = Unit("seconds", duration, 8)
"""Seconds as a number in files, as h:mm:ss for people."""
MILLISECONDS = Unit("milliseconds", number, 6)
INSTANT = Unit("instant", clock, 8, "left")


class Bar(Struct, frozen=True):
    """A bar inside a cell. All lengths in the figure's unit; the bars of a column share one scale.

    `full` is what the whole width stands for (0: the longest bar or limit of the column), `beyond` where a scale ends
    that goes on behind it. `used` is drawn solid, `waiting` shaded behind it, `entitled` and `limit` as marks.
    """

    full: float
    used: float
    waiting: float = 0.0
    entitled: float | None = None
    limit: float | None = None
    beyond: float = 0.0


@dataclass(frozen=True)  # no slots: Figure[Row](...) fails on a frozen slotted generic in Python 3.11
class Figure(Generic[T]):
    """One figure of a record `T`.

    Said: `key` is its stable name in files, with the unit in it where it has one; `head` what stands above it; `unit`;
    `help` the view, the formula and whether it is an instant, a delta or since-when; `of` where it is found in the
    record, a path of attributes (``io.mb``, and ``amounts.NAME`` in a mapping) or a function. `text` writes it where
    its unit does not say it all, `order` sorts it where its value does not, `sortable` whether it can be sorted by.

    Shown: `width` in cells (else as wide as head and unit need), up to `most` where there is room; a `flexible` one
    takes what is left; `narrow` tells whether it is kept at 80 columns; `vital` ones have room before the others and
    are the last to go; `state` colours it; `bar` is drawn beside its text or, if flexible, instead of it; a `trend`
    shows the last minutes.

    Derived: `value` gets it from a record, None where it is not known; `show` writes it; `sort` is the key to sort by
    (None sorts last), None if it cannot be.
    """

    key: str
    head: str
    unit: Unit
    help: str
    of: str | Callable[[T], Any]
    text: Callable[[T], str] | None = None
    order: Callable[[T], Any] | None = None
    sortable: bool = True
    width: int = 0
    most: int = 0
    flexible: bool = False
    narrow: bool = True
    vital: bool = False
    side: Side | None = None
    state: Callable[[T], State] | None = None
    bar: Callable[[T], Bar | None] | None = None
    trend: bool = False
    value: Callable[[T], Any] = field(init=False, repr=False, compare=False)
    show: Callable[[T], str] = field(init=False, repr=False, compare=False)
    sort: Callable[[T], Any] | None = field(init=False, repr=False, compare=False)
    align: Side = field(init=False)

    def __post_init__(self) -> None:
        """Derive the functions once: a screen calls them thousands of times."""
        value = _getter(self.of) if isinstance(self.of, str) else self.of
        write = self.unit.text
        derived = {
            "value": value,
            "show": self.text or (lambda row: write(value(row))),
            "sort": (self.order or _order(self.unit, value)) if self.sortable else None,
            "align": self.side or self.unit.align,
            "width": self.width or max(len(self.head), self.unit.width),
        }
        for name, found in derived.items():
            object.__setattr__(self, name, found)

    @property
    def largest_first(self) -> bool:
        """Whether sorting by it begins with the largest: it counts or measures something."""
        return self.unit not in (TEXT, NAME, WORD, FLAG, NUMBER, INSTANT)

    @property
    def path(self) -> str:
        """Where it stands in a record of the JSON document, "" for what is worked out from several fields."""
        return self.of if isinstance(self.of, str) else ""


def _getter(path: str) -> Callable[[Any], Any]:
    """Return a function that follows a path of attributes, or of names in a mapping; None anywhere on it is None."""
    if "." not in path:
        return attrgetter(path)
    first, _, rest = path.partition(".")
    head, tail = attrgetter(first), _getter(rest)

    def value(row: Any) -> Any:
        part = head(row)
        if isinstance(part, Mapping):
            return part.get(rest)
        return None if part is None else tail(part)

    return value


def _order(unit: Unit, value: Callable[[Any], Any]) -> Callable[[Any], Any]:
    if unit is not WORD:
        return value
    return lambda row: _word(value(row))


class Figures(dict[str, Figure[T]]):
    """The figures of a record by key, among which tables, files and metrics choose."""

    def __init__(self, *figures: Figure[T]) -> None:
        super().__init__((figure.key, figure) for figure in figures)

    def pick(self, keys: str) -> tuple[Figure[T], ...]:
        """Return the figures of some keys, which blanks divide, in their order. Raises KeyError."""
        return tuple(self[key] for key in keys.split())


class Table(Struct, Generic[T], frozen=True, dict=True):
    """A table as a value: its figures, what makes a row the same row at the next poll, and its usual order.

    `order` is the key of the figure it is sorted by at first ("" keeps the order of the data), `empty` the
    sentence that stands where there are no rows, `json` where the rows stand in the JSON document ("" if nowhere).
    `worst_first` tells that the data come in order of trouble: the cursor stays on the first row until it is moved.
    `stands_for` how many a folded row is, `parent` the identity of the row that one stands below, None for none.
    """

    key: str
    title: str
    columns: tuple[Figure[T], ...]
    identity: Callable[[T], Hashable]
    empty: str
    order: str = ""
    descending: bool = False
    json: str = ""
    worst_first: bool = False
    stands_for: Callable[[T], int] | None = None
    parent: Callable[[T], Hashable] | None = None

    def counted(self, rows: Sequence[T]) -> int:
        """Return how many some rows stand for."""
        return len(rows) if self.stands_for is None else sum(map(self.stands_for, rows))

    def column(self, key: str) -> Figure[T]:
        """Return the figure of that key. Raises KeyError."""
        for column in self.columns:
            if column.key == key:
                return column
        raise KeyError(key)


_VIEW = re.compile(r"V\$\w+")


@cache
def views_of(figures: Sequence[Figure[Any]]) -> frozenset[str]:
    """Return the views that the figures' helps name, in the form V$NAME."""
    return frozenset(view for figure in figures for view in _VIEW.findall(figure.help))


def late_among(figures: Sequence[Figure[Any]], reading: Reading) -> tuple[LateView, ...]:
    """Return the late views that any of the figures is read from."""
    if not reading.late:
        return ()
    views = views_of(figures)
    return tuple(each for each in reading.late if each.view.removeprefix("G") in views)


def late_note(table: Table[Any], reading: Reading) -> str:
    """Say how old the oldest rows behind a table were when the poll came, "" if they are as new as they should be."""
    found = late_among(table.columns, reading)
    ages = [each.age for each in found if each.age is not None]
    if ages:
        return f"◌ {duration(max(ages) + reading.poll_seconds)} old"
    return "◌ no answer" if found else ""
