"""A tab as a value: its parts from top to bottom, its keys and notes, and what `e` exports from it."""

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
from presman.rows.queries import DetailLevel
from presman.rows.snapshot import Snapshot
from presman.tabs.choices import Choices


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


class Rows(Struct, frozen=True, dict=True):
    """A table with its rows at an instant.

    `hidden` gives the keys of columns that say nothing there, `note` what stands behind the title, `column_notes` what
    stands there only where the column of that key shows, `least` what the scale of a column's bars reaches up to at
    least. `trends` names the series that trend columns draw. An `optional` one is away while it has no rows, unless
    none could be seen; one that is not `filterable` keeps its rows whatever the filter. `measure` is what `e` exports
    from it ("": what the tab exports). `unavailable` gives the sentence that stands in place of the table's own where
    no row could be seen. Texts show at most `in_text` rows (None: all) and leave an empty table out, unless its
    emptiness is `news` or no row could be seen. The `main` one of a tab has the cursor first, and is what stays in a
    flat terminal; without any it is the first that is always there.
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
    `measure` is what `e` exports. `for_text` are tables that only texts have.
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
        return (part for part in flat(self.parts) if isinstance(part, Rows))

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


# ---- The moment that a tab shows: one instant with all that it is drawn from.

Pair: TypeAlias = tuple[Snapshot | None, Snapshot]
"""The snapshot before, and that of the instant."""


class Moment(Struct, frozen=True, dict=True):
    """An instant. `newest` is that of the newest poll, later than the reading's while one looks back.

    `events` are those of all that is kept, or replayed, oldest first.
    `find` gives the two snapshots that the reading was made of, None where they are not kept: they may be on disk.
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
        """The snapshot before and that of the instant."""
        return self.find()

    @property
    def snapshot(self) -> Snapshot | None:
        """What was read at the instant."""
        pair = self.find()
        return pair[1] if pair else None

    @property
    def latest(self) -> datetime:
        """The instant of the newest poll."""
        return self.newest or self.reading.at

    @property
    def colours(self) -> GroupColours:
        """The colours of the groups, those that are in the charts only, too."""
        return _colours(self)

    def groups(self) -> tuple[GroupReading, ...]:
        """Return the groups to show, those in trouble first: the cluster's, or those of each instance side by side.

        Among those in trouble alike, the order is that of the alerts: one reads both from above.
        """
        subjects = [alert.subject for alert in self.alerts]
        indexes = {subject: index for index, subject in reversed(list(enumerate(subjects))) if subject}

        def worst(group: GroupReading) -> tuple[int, int]:
            rank, names = group.rank, (group.title, group.container)
            shown = [indexes[name] for name in names if name in indexes] if rank != QUIET else []
            return rank, min(shown, default=len(subjects))

        cluster = tuple(sorted(self.reading.cluster_groups(), key=worst))
        if not self.choices.by_instance:
            return cluster
        order = {(group.con_id, group.name): index for index, group in enumerate(cluster)}
        by_instance = [group for group in self.reading.groups if group.inst_id != CLUSTER]
        by_instance.sort(key=lambda group: (order.get((group.con_id, group.name), len(order)), group.inst_id))
        return tuple(by_instance) or cluster


@once
def _colours(moment: Moment) -> GroupColours:
    found = moment.watch.colours
    found.add((group.con_id, group.name) for group in moment.reading.groups)
    found.add(moment.series.names("used", CLUSTER))
    return found


def alike_in_groups(moment: Moment) -> set[str]:
    """Return the columns that would say the same in every row: instance on one, container in one."""
    hidden = set()
    if len(moment.reading.header.instances) < 2 or not moment.choices.by_instance:
        hidden.add("inst_id")
    if len({group.con_id for group in moment.reading.groups}) < 2:
        hidden.add("con_id")
    if all(group.pool is None for group in moment.reading.groups):
        hidden.add("session_pool")
    return hidden


def alike_on_one_instance(moment: Moment) -> set[str]:
    """Return the columns to hide in tables of statements and waits where there is one instance."""
    return {"inst_id", "servers_by_instance"} if len(moment.reading.header.instances) < 2 else set()


def servers_scale(moment: Moment) -> dict[str, float]:
    """Return what the bars of groups' servers reach up to: the target, so that they show who holds how much of it.

    One row per instance is measured against the target of one instance, the largest there is.
    """
    header = moment.reading.header
    pools = [each.servers for each in header.instances] if moment.choices.by_instance else [header.servers]
    return {"px_servers_active": float(max((pool.target or 0 for pool in pools), default=0))}
