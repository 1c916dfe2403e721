"""A tab as a value: its parts from top to bottom, its keys and notes, and what `e` exports from it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct, field

from presman.figures.drawing.lines import Line
from presman.figures.figure import Table
from presman.rows.queries import DetailLevel
from presman.tabs.moment import Moment


class GroupLevel(NamedTuple):
    """What a group has of a measure at an instant, None where it is not known, and its limit if it has one."""

    con_id: int
    name: str
    value: float | None
    limit: float | None = None


class Key(NamedTuple):
    """A key: its name, `keys` as the terminal calls them ("" where bound elsewhere), `shown` as people do.

    `label` is one or two words, `help` a sentence.
    """

    name: str
    keys: str
    shown: str
    label: str
    help: str


def _nothing(_moment: Moment) -> Collection[str]:
    return ()


def _no_least(_moment: Moment) -> Mapping[str, float]:
    return {}


def _no_notes(_moment: Moment) -> Mapping[str, str]:
    return {}


class Rows(Struct, frozen=True, dict=True):
    """A table with its rows at an instant.

    `hidden` gives the keys of columns that say nothing there, `note` what stands behind the title, `column_notes` what
    stands there only where the column of that key shows, `least` what the scale of a column's bars reaches up to at
    least. `trends` names the series that trend columns draw. An `optional`
    one is away while it has no rows; one that is not `filterable` keeps its rows whatever the filter. `measure` is what
    `e` exports from it ("": what the tab exports). `unavailable` gives the sentence that stands in place of the table's
    own where no row could be seen. Texts show at most `in_text` rows (None: all) and leave an empty table
    out, unless its emptiness is `news`. The `main` one of a tab has the cursor first, and is what stays in a flat
    terminal; without any it is the first that is always there.
    """

    table: Table[Any]
    rows: Callable[[Moment], Sequence[Any]]
    hidden: Callable[[Moment], Collection[str]] = _nothing
    note: Callable[[Moment], str] = lambda _moment: ""
    least: Callable[[Moment], Mapping[str, float]] = _no_least
    trends: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    optional: bool = False
    filterable: bool = True
    measure: str = ""
    in_text: int | None = None
    news: bool = False
    main: bool = False
    unavailable: Callable[[Moment], str] = lambda _moment: ""
    column_notes: Callable[[Moment], Mapping[str, str]] = _no_notes


class Lines(Struct, frozen=True, dict=True):
    """Sentences, wrapped to the width; `key` names their place in the style sheet.

    Their height goes in steps of `step`, so that what is below seldom moves; `optional` ones are away while there are
    none. `shorter` says the same in one line each, for screens without room.
    """

    key: str
    lines: Callable[[Moment], Sequence[Line]]
    step: int = 1
    optional: bool = False
    shorter: Callable[[Moment], Sequence[Line]] = lambda _moment: ()


class OverTime(Struct, frozen=True, dict=True):
    """A chart of a series by group, as areas one on the other.

    `levels` are the groups' values at the instant on screen, `capacity` a line across: what there is for all of them.
    An `optional` one is away while all of it is 0.
    """

    key: str
    series: str
    title: str
    levels: Callable[[Moment], Sequence[GroupLevel]]
    capacity: Callable[[Moment], float | None] = lambda _moment: None
    optional: bool = False


class Box(Struct, frozen=True, dict=True):
    """Parts side by side (`across`) or one below the other; `key` names it in the style sheet."""

    parts: tuple[Part, ...]
    across: bool = True
    key: str = ""


Part: TypeAlias = Rows | Lines | OverTime | Box


class Tab(Struct, frozen=True, dict=True):
    """What a tab says.

    `parts` from top to bottom; `panel` is the class that lays them out (``module:Class``), "" for the usual one;
    `keys` are actions of that class. `over_time` tells that it shows a window of time, which `w` changes, `progress`
    that statements' progress is to be read while it is on show, `detail_level` what else is to be read at each poll.
    `measure` is what `e` exports. `for_text` are tables
    that only texts have.
    """

    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()
    keys: tuple[Key, ...] = ()
    panel: str = ""
    over_time: bool = False
    progress: bool = False
    detail_level: DetailLevel = DetailLevel.NARROW
    measure: str = "cpu"
    for_text: tuple[Rows, ...] = ()

    def rows(self) -> Iterator[Rows]:
        """Return its tables, in order."""
        for part in flat(self.parts):
            if isinstance(part, Rows):
                yield part

    @property
    def tables(self) -> tuple[Table[Any], ...]:
        """The tables on it, in order."""
        return tuple(each.table for each in self.rows())


def flat(parts: Sequence[Part]) -> Iterator[Part]:
    """Return the parts, those in boxes too, without the boxes."""
    for part in parts:
        if isinstance(part, Box):
            yield from flat(part.parts)
        else:
            yield part
