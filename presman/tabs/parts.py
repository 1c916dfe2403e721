"""A tab as a value: its parts from top to bottom, its keys and notes, and the measure that `e` exports."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct, field

from presman.analysis.caches import once
from presman.analysis.latency.latency_history import LatencyHistory
from presman.analysis.readings.group_readings import QUIET, GroupReading
from presman.analysis.readings.reading import CLUSTER, Alert, Reading
from presman.analysis.trends import Watch
from presman.analysis.trends.database_events import DatabaseEvent
from presman.analysis.trends.series import Series
from presman.base.colours import GroupColours
from presman.figures.drawing.lines import Line
from presman.figures.figure import Table
from presman.rows.queries import DetailLevel, by_query
from presman.rows.snapshot import Snapshot
from presman.tabs.choices import Choices


class GroupLevel(NamedTuple):
    """A group's value of a measure at an instant, None if not known, and its limit if it has one."""

    con_id: int
    name: str
    value: float | None
    limit: float | None = None


class Key(NamedTuple):
    """A key: its name, `keys` in Textual's notation ("" if bound elsewhere), `shown` as displayed.

    `label` is one or two words, `help` a sentence.
    """

    name: str
    keys: str
    shown: str
    label: str
    help: str


class Rows(Struct, frozen=True, dict=True):
    """A table with its rows at an instant.

    `hidden` returns the keys of columns without information, `note` the note after the title, `column_notes` notes
    that appear there only with the column of that key, `least` values that the scale of a column's bars must include.
    `trends` names the series of trend columns. An `optional` table is hidden while it has no rows, unless rows could
    not be seen; one that is not `filterable` ignores the filter. `measure` is what `e` exports from it ("": what the
    tab exports). `unavailable` returns the sentence that replaces that of an empty table if rows could not be seen.
    Text output shows at most `in_text` rows (None: all) and omits an empty table, unless emptiness is `news` or rows
    could not be seen. The `main` table of a tab has the cursor first, and is the one that remains in a terminal with
    few lines; by default it is the first one that is not optional.
    """

    table: Table[Any]
    rows: Callable[[Moment], Sequence[Any]]
    hidden: Callable[[Moment], Collection[str]] = lambda _moment: ()
    note: Callable[[Moment], str] = lambda _moment: ""
    least: Callable[[Moment], Mapping[str, float]] = lambda _moment: {}
    trends: Mapping[str, str] = {}
    optional: bool = False
    filterable: bool = True
    measure: str = ""
    in_text: int | None = None
    news: bool = False
    main: bool = False
    unavailable: Callable[[Moment], str] = lambda _moment: ""
    column_notes: Callable[[Moment], Mapping[str, str]] = lambda _moment: {}


class Lines(Struct, frozen=True, dict=True):
    """Sentences, wrapped to the width; `key` is their name in the style sheet.

    Their height is a multiple of `step`, so that the parts below seldom move; `optional` ones are hidden while there
    are none. `shorter` says the same in one line each, for small screens.
    """

    key: str
    lines: Callable[[Moment], Sequence[Line]]
    step: int = 1
    optional: bool = False
    shorter: Callable[[Moment], Sequence[Line]] = lambda _moment: ()


class OverTime(Struct, frozen=True, dict=True):
    """A chart of a series by group, as stacked areas.

    `levels` are the groups' values at the instant on screen, `capacity` a horizontal line: the total available.
    An `optional` one is hidden while all of it is 0.
    """

    key: str
    series: str
    title: str
    levels: Callable[[Moment], Sequence[GroupLevel]]
    capacity: Callable[[Moment], float | None] = lambda _moment: None
    optional: bool = False


class Box:
    """Parts side by side (`across`) or one below the other; `key` is its name in the style sheet."""

    def __init__(self, *parts: Part, across: bool = True, key: str = "") -> None:
        self.parts, self.across, self.key = parts, across, key


Part: TypeAlias = Rows | Lines | OverTime | Box


class Tab(Struct, frozen=True, dict=True):
    """The contents of a tab.

    `parts` from top to bottom; `panel` is the class that lays them out (``module:Class``), "" for the default;
    `keys` are actions of that class. `over_time` means that it shows a window of time, which `w` changes, `progress`
    that the progress of statements is read while it is on screen; `detail_level` is what else each poll reads.
    `measure` is what `e` exports. `for_text` are tables that only text output has.
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
        """Yield its tables with their rows, in order."""
        return (part for part in flat(self.parts) if isinstance(part, Rows))

    @property
    def tables(self) -> tuple[Table[Any], ...]:
        """The tables on it, in order."""
        return tuple(each.table for each in self.rows())


def flat(parts: Sequence[Part]) -> Iterator[Part]:
    """Yield all parts, with boxes replaced by their contents."""
    for part in parts:
        yield from flat(part.parts) if isinstance(part, Box) else [part]


# ---- The moment that a tab shows: one instant with all its data.

Pair: TypeAlias = tuple[Snapshot | None, Snapshot]
"""The previous snapshot, and that of the instant."""


class Moment(Struct, frozen=True, dict=True):
    """An instant. `newest` is that of the newest poll, later than the reading's while scrolled back.

    `events` are all those kept or replayed, oldest first.
    `find` returns the two snapshots that the reading was made from, None if they are not kept: they may be on disk.
    """

    reading: Reading
    choices: Choices = field(default_factory=Choices)
    alerts: Sequence[Alert] = ()
    newest: datetime | None = None
    series: Series = field(default_factory=Series)
    latencies: LatencyHistory = field(default_factory=LatencyHistory)
    watch: Watch = field(default_factory=Watch)
    events: Sequence[DatabaseEvent] = ()
    find: Callable[[], Pair | None] = lambda: None

    @property
    def snapshots(self) -> Pair | None:
        """The previous snapshot and that of the instant."""
        return self.find()

    @property
    def snapshot(self) -> Snapshot | None:
        """The snapshot of the instant."""
        pair = self.find()
        return pair[1] if pair else None

    @property
    def latest(self) -> datetime:
        """The instant of the newest poll."""
        return self.newest or self.reading.at

    @property
    def by_instance(self) -> bool:
        """Whether instances are shown side by side: the user chose it, maybe elsewhere, and there are several."""
        return self.choices.by_instance and len(self.reading.header.instances) > 1

    @property
    def colours(self) -> GroupColours:
        """The colours of the groups, including those that are only in the charts."""
        return _colours(self)

    def groups(self) -> tuple[GroupReading, ...]:
        """Return the groups to show, those in trouble first: the cluster's, or those of each instance side by side.

        Groups in equal trouble have the order of the alerts, because both are read from the top.
        """
        subjects = [alert.subject for alert in self.alerts]
        # In reverse, so that the first alert of a subject counts, which is its worst.
        indexes = {subject: index for index, subject in reversed(list(enumerate(subjects))) if subject}

        def worst(group: GroupReading) -> tuple[int, int]:
            rank, names = group.rank, (group.title, group.container)
            shown = [indexes[name] for name in names if name in indexes] if rank != QUIET else []
            return rank, min(shown, default=len(subjects))

        cluster = tuple(sorted(self.reading.cluster_groups(), key=worst))
        if not self.by_instance:
            return cluster
        order = {(group.con_id, group.name): index for index, group in enumerate(cluster)}
        by_instance = [group for group in self.reading.groups if group.inst_id != CLUSTER]
        by_instance.sort(key=lambda group: (order.get((group.con_id, group.name), len(order)), group.inst_id))
        return tuple(by_instance) or cluster


def rows_of(query: str) -> Callable[[Moment], Sequence[Any]]:
    """Return the function by which a table has the rows of a query as they were read."""
    return lambda moment: moment.snapshot.rows(by_query()[query]) if moment.snapshot else ()


@once
def _colours(moment: Moment) -> GroupColours:
    found = moment.watch.colours
    found.add((group.con_id, group.name) for group in moment.reading.groups)
    found.add(moment.series.names("used", CLUSTER))
    return found


def alike_in_groups(moment: Moment) -> set[str]:
    """Return the columns with the same text in every row: the instance or the container if there is only one."""
    groups = moment.reading.groups
    is_alike = {
        "inst_id": not moment.by_instance,
        "con_id": len({group.con_id for group in groups}) < 2,
        "session_pool": all(group.pool is None for group in groups),
    }
    return {column for column, alike in is_alike.items() if alike}


def on_one_instance(moment: Moment) -> set[str]:
    """Return the columns to hide in tables of statements and waits if there is only one instance."""
    return {"inst_id", "servers_by_instance"} if len(moment.reading.header.instances) < 2 else set()


def servers_scale(moment: Moment) -> dict[str, float]:
    """Return the value that the bars of groups' servers must include: the target, so that they show parts of it.

    With one row per instance it is the largest target of an instance.
    """
    header = moment.reading.header
    pools = [each.servers for each in header.instances] if moment.by_instance else [header.servers]
    return {"px_servers_active": float(max((pool.target or 0 for pool in pools), default=0))}
