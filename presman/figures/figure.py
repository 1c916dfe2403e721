"""A figure as a value: the single definition of one figure.

Its key is its name in CSV files; its head, unit and help appear on screen, in the output of `once`, in the help pages
and in the reference. One function gets it from a record; sorting, writing and exporting follow from that. So no two
places can disagree about the name, unit or source of a figure. The views that its help names are those it is read
from: if one of them is late, a note beside the table says so.
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
"""What the colour of a cell can mean. A word or a glyph always says the same."""

Side = Literal["left", "right"]


class Unit(Struct, frozen=True):
    """The unit of a figure: its name, the function that writes a value (or None), and the minimum width in cells."""

    name: str
    text: Callable[[Any], str]
    width: int
    align: Side = "right"


def _word(value: Enum | None) -> str:
    return ABSENT if value is None else str(value.value)


TEXT = Unit("text", lambda value: value or "", 4, "left")
NAME = Unit("text", lambda value: value or ABSENT, 4, "left")
"""A text for which empty means missing: a SQL_ID, a reason."""
WORD = Unit("word", _word, 4, "left")
"""One of a few stable words: an Enum. Files have its name in lower case, screens its value."""
FLAG = Unit("true or false", lambda value: ABSENT if value is None else "yes" if value else "no", 3, "left")
NUMBER = Unit("number", lambda value: ABSENT if value is None else str(value), 4)
"""A number that is not a count: an instance, a container, a position."""
COUNT = Unit("count", count, 4)
TOTAL = Unit("count", compact, 4)
"""A count that only ever grows."""
RATE = Unit("per second", compact, 6)
BYTES = Unit("bytes", size, 6)
MEGABYTES = Unit("MB per second", megabytes, 6)
CPUS = Unit("CPUs", number, 6)
SESSIONS = Unit("average sessions", number, 6)
PERCENT = Unit("percent", percent, 4)
SHARE = Unit("0 to 1", lambda value: ABSENT if value is None else f"{value:.4f}", 6)
SECONDS = Unit("seconds", duration, 8)
"""Seconds: a number in files, h:mm:ss on screens."""
MILLISECONDS = Unit("milliseconds", number, 6)
INSTANT = Unit("instant", clock, 8, "left")


class Bar(Struct, frozen=True):
    """A bar inside a cell. All lengths are in the figure's unit; the bars of a column share one scale.

    `full` is the value of the whole width (0: the longest bar or limit of the column), `beyond` the end of a scale that
    continues after `full`. `used` is drawn solid, `waiting` shaded after it, `entitled` and `limit` as marks.
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

    Definition: `key` is its stable name in files, including the unit if it has one; `head` the column head; `unit`;
    `help` the view, the formula and whether it is an instant, a delta or a total since when; `of` where it is in the
    record: a path of attributes (``io.mb``, and ``amounts.NAME`` in a mapping) or a function. `text` writes it if its
    unit is not enough, `order` is the sort key if its value is not, `sortable` whether rows can be sorted by it.

    Display: `width` in cells (default: what head and unit need), up to `most` if there is room; a `flexible` figure
    takes what is left; `narrow` ones are kept at 80 columns; `vital` ones get room before the others and are dropped
    last; `state` colours it; `bar` is drawn beside its text or, if flexible, instead of it; a `trend` shows the last
    minutes.

    Derived: `value` gets it from a record, None if it is not known; `show` writes it; `sort` returns the sort key
    (None sorts last), and is None if rows cannot be sorted by it.
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
        """Whether sorting by it puts the largest first: true for counts and measurements."""
        return self.unit not in (TEXT, NAME, WORD, FLAG, NUMBER, INSTANT)

    @property
    def path(self) -> str:
        """Its path in a record of the JSON document, "" if it is computed from several fields."""
        return self.of if isinstance(self.of, str) else ""


def _getter(path: str) -> Callable[[Any], Any]:
    """Return a function that follows a path of attributes or mapping keys, and returns None as soon as one is None."""
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
    """The figures of a record by key; tables, files and metrics pick from them."""

    def __init__(self, *figures: Figure[T]) -> None:
        super().__init__((figure.key, figure) for figure in figures)

    def pick(self, keys: str) -> tuple[Figure[T], ...]:
        """Return the figures of `keys`, which are separated by blanks, in that order. Raises KeyError."""
        return tuple(self[key] for key in keys.split())


class Table(Struct, Generic[T], frozen=True, dict=True):
    """A table as a value: its figures, the identity of a row across polls, and its default order.

    `order` is the key of the figure it is sorted by at first ("" keeps the order of the data), `empty` the
    sentence shown if there are no rows, `json` the path of the rows in the JSON document ("" if they are not in it).
    `worst_first` means that the data are ordered by severity: the cursor stays on the first row until it is moved.
    `stands_for` returns how many rows a folded row represents, `parent` the identity of a row's parent row or None.
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
        """Return how many rows `rows` represent, counting folded ones."""
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
    """Return the late views among those that the figures are read from."""
    if not reading.late:
        return ()
    views = views_of(figures)
    return tuple(each for each in reading.late if each.view.removeprefix("G") in views)


_DIRECTIVES = "PLAN_DIRECTIVES"


def late_note(table: Table[Any], reading: Reading) -> str:
    """Return a note of how old the oldest rows behind a table were at the poll, "" if none is late.

    Shares and limits come from the directives: if nothing else is older than the poll, the note says so.
    """
    found, what = late_among(table.columns, reading), ""
    if not found and reading.late and any(_DIRECTIVES in figure.help for figure in table.columns):
        found, what = tuple(each for each in reading.late if each.view.endswith(_DIRECTIVES)), "plan "
    ages = [each.age for each in found if each.age is not None]
    if ages:
        return f"◌ {what}{duration(max(ages) + reading.poll_seconds)} old"
    return f"◌ {what}no answer" if found else ""
