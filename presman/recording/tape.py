"""Tape: the polls of one recorded database by place and by time, as they were, with figures, events, statements."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import select, text

from presman.analysis import analyse
from presman.analysis.facts.row_cache import RowCache
from presman.analysis.readings.reading import Reading
from presman.base.formats import counted
from presman.base.text import clean, clean_lines
from presman.codec.decoder import FrameDecoder
from presman.codec.encoder import PackedFrame
from presman.codec.frame_blocks import is_whole, unpack_block
from presman.codec.packing import DamagedError
from presman.codec.values import instant, microseconds
from presman.figures.figure import FLAG, INSTANT
from presman.figures.measures import COMMON, MEASURES
from presman.recording.chain_index import Chain, ChainIndex, read_chains
from presman.recording.events import RecordedEvent
from presman.recording.measure_tables import MICRO, SCALE
from presman.recording.measure_views import CHART_ROWS, STRIP, window_selects
from presman.recording.schema import BLOCKS, EVENTS, POLLS, STATEMENTS, TEXTS
from presman.recording.store import RecordingError, Store
from presman.records.snapshot import Snapshot

_CHAINS_KEPT = 3
"""Chains that are kept open: the one looked at and its neighbours."""

_LOST_TEXT = "(this text is damaged)"

Row = dict[str, Any]
"""The figures of one row of a measure by the names that CSV has; instants are aware datetimes in UTC."""


class LostPollError(RecordingError):
    """A poll whose block is damaged; those in other blocks can be read."""


class PollMark(NamedTuple):
    """What is known of a poll without reading it: CPUs used and waited for over all groups, queue, parallel servers."""

    at: datetime
    queued: int
    servers_in_use: int | None
    servers_target: int | None
    used_cpus: float | None
    waited_cpus: float | None


class ChartRow(NamedTuple):
    """What charts show of a consumer group at an instant (seconds since 1970); None where it is not known."""

    at: float
    inst_id: int
    con_id: int
    group: str
    used: float | None
    waiting: float | None
    io: float | None
    servers: int | None
    queued: int | None


class Stretch(NamedTuple):
    """A stretch of a tape: its polls, the longest queue, and the percent of CPU demand that had to wait."""

    polls: int
    queued: int
    throttled: float


class TapePart(NamedTuple):
    """The polls of a tape that are in one store: number of the database there, of the first poll and of the last."""

    store: Store
    database_id: int
    first: int
    last: int


class DamagedPolls(NamedTuple):
    """Polls in a row of which some cannot be read again; their figures can."""

    start: datetime
    end: datetime
    polls: int


class StatementLife(NamedTuple):
    """A parallel statement as far as it was seen; None for what had not happened yet or was not seen."""

    inst_id: int
    sid: int
    serial: int
    sql_id: str
    con_id: int
    group: str
    user: str
    servers: int
    queued_at: datetime | None
    started_at: datetime | None
    idle_at: datetime | None
    ended_at: datetime | None
    first_seen: datetime
    last_seen: datetime


class Tape:
    """One database of a recording, in one store or in several one after the other (a file a day).

    Polls have places from 0 on. `damage` are sentences about what could not be read until now. Not thread safe.
    """

    def __init__(self, target: str, name: str, kind: str, parts: Sequence[tuple[Store, int]]) -> None:
        self.target = target
        self.name = name
        self.kind = kind
        self.damage: list[str] = []
        self._parts = parts
        self._decoders: OrderedDict[tuple[str, int], FrameDecoder] = OrderedDict()
        self._cache = RowCache()
        self._index = ChainIndex(())
        self.refresh()

    def __len__(self) -> int:
        return len(self._index)

    def refresh(self) -> None:
        """Look for polls that were added. Raises RecordingError where there are fewer than before, and keeps those."""
        told: list[str] = []
        found = ChainIndex(chain for store, number in self._parts for chain in read_chains(store, number, told))
        if told and len(found) < len(self._index):
            raise RecordingError(told[-1])
        self.damage += [text for text in told if text not in self.damage]
        self._index = found
        self._decoders.clear()

    @property
    def first(self) -> datetime | None:
        """The instant of the first poll; None without any."""
        return instant(self._index.chains[0].first_at) if len(self) else None

    @property
    def last(self) -> datetime | None:
        """The instant of the last poll; None without any."""
        return instant(max(each.last_at for each in self._index.chains)) if len(self) else None

    # ---- polls

    def place(self, at: datetime) -> int:
        """Return the place of the last poll not after an instant; 0 if there is none, -1 without polls."""
        wanted = microseconds(at)
        found = self._index.at(wanted)
        if found is None:
            return 0 if len(self) else -1
        chain, begin = found
        if wanted >= chain.last_at:
            return begin + chain.polls - 1
        rows = self._instants(chain)
        return begin + max(0, min(chain.polls, sum(each <= wanted for each in rows)) - 1)

    def at(self, place: int) -> datetime:
        """Return the instant of a poll. Raises IndexError, RecordingError."""
        chain, own = self._index.find(place)
        if own == 0:
            return instant(chain.first_at)
        rows = self._instants(chain)
        return instant(rows[own]) if own < len(rows) else instant(chain.last_at)

    def snapshot(self, place: int) -> Snapshot:
        """Return a poll as it was. Raises IndexError, and LostPollError where it is damaged."""
        chain, own = self._index.find(place)
        try:
            decoder = self._decoder(chain)
            if own >= len(decoder):
                raise DamagedError("it is not there")
            return decoder.snapshot(own)
        except DamagedError as error:
            since = f"{instant(chain.first_at):%Y-%m-%d %H:%M:%S} UTC"
            text = f"{chain.store.name}: {counted(chain.polls, 'poll')} from {since} on"
            self._tell(f"{text} are damaged ({error}); the others can be read")
            raise LostPollError(f"{text} are damaged: {error}") from error

    def pair(self, place: int) -> tuple[Snapshot | None, Snapshot]:
        """Return the poll at a place and the one that its rates are taken from, None where there is none."""
        current = self.snapshot(place)
        if place == 0:
            return None, current
        try:
            previous = self.snapshot(place - 1)
        except LostPollError:
            return None, current
        # Polls are counted from 1 by each recorder: a smaller number is one that began anew.
        return (previous if previous.number < current.number else None), current

    def reading(self, place: int) -> Reading:
        """Return what a poll means: what the recorder read then. Raises IndexError, LostPollError."""
        return analyse(*self.pair(place), self._cache)

    def places(self, start: datetime | None = None, end: datetime | None = None) -> range:
        """Return the places of the polls between two instants, both included."""
        if not len(self):
            return range(0)
        first = 0 if start is None else self.place(start)
        if start is not None and self.at(first) < start:
            first += 1
        return range(first, (len(self) if end is None else self.place(end) + (self.at(0) <= end)))

    def readings(self, start: datetime | None = None, end: datetime | None = None) -> Iterator[Reading]:
        """Yield the readings between two instants; polls that are damaged are passed over."""
        for place in self.places(start, end):
            try:
                yield self.reading(place)
            except LostPollError:
                continue

    # ---- figures

    def figures(self, measure: str, start: datetime | None = None, end: datetime | None = None) -> list[Row]:
        """Return the rows of a measure between two instants: what CSV has, by the same names. Raises KeyError."""
        statement = text(window_selects()[measure] + " ORDER BY p.poll" * (measure != "latency"))
        return [row for values in self._each(statement, start, end) if (row := _row(measure, values))]

    def marks(self, start: datetime | None = None, end: datetime | None = None) -> list[PollMark]:
        """Return the polls between two instants as marks: queue, servers, CPUs."""
        c = POLLS.c
        statement = (
            select(c.at, c.queued, c.servers_in_use, c.servers_target, c.used_cpus, c.waited_cpus)
            .where(c.database_id == text(":database_id"), c.poll.between(text(":first"), text(":last")))
            .order_by(c.poll)
        )
        return [
            PollMark(instant(row["at"]), row["queued"], row["servers_in_use"], row["servers_target"],
                     _whole(row["used_cpus"]), _whole(row["waited_cpus"]))
            for row in self._each(statement, start, end)
        ]  # fmt: skip

    def chart_rows(self, start: datetime, end: datetime) -> list[ChartRow]:
        """Return what charts show of each group between two instants; cheaper than the readings."""
        rows = self._each(text(CHART_ROWS), start, end)
        return [
            ChartRow(row["at"] / MICRO, row["inst_id"], row["con_id"], clean(row["consumer_group"]),
                     _whole(row["used_cpus"]), _whole(row["waited_cpus"]), _whole(row["io_mb_per_s"]),
                     row["px_servers_active"], row["px_statements_queued"])
            for row in rows
        ]  # fmt: skip

    def strip(self, count: int) -> list[Stretch]:
        """Return the whole tape in `count` stretches of equal length, oldest first."""
        if not len(self) or self.first is None or self.last is None:
            return []
        start = microseconds(self.first)
        width = max(1, -(-(microseconds(self.last) - start + 1) // count))
        sums = [[0, 0, 0, 0] for _ in range(count)]
        for store, database_id in self._parts:
            binds = {"start": start, "width": width, "database_id": database_id}
            for row in self._rows(store, text(STRIP), binds):
                if 0 <= row["place"] < count:
                    own = sums[row["place"]]
                    own[0] = max(own[0], row["queued"] or 0)
                    own[1:] = [own[1] + (row["waited"] or 0), own[2] + (row["used"] or 0), own[3] + row["polls"]]
        return [
            Stretch(polls, queued, float(100 * waited / (waited + used)) if waited else 0.0)
            for queued, waited, used, polls in sums
        ]

    def events(self, start: datetime | None = None, end: datetime | None = None) -> list[RecordedEvent]:
        """Return what happened between two instants, in order of time."""
        c = EVENTS.c
        rows = self._timed(select(EVENTS).where(c.at.between(text(":start"), text(":end"))), start, end)
        found = [
            RecordedEvent(
                instant(row["at"]),
                clean(row["kind"]),
                clean(row["consumer_group"]),
                clean(row["sql_id"]),
                clean(row["text"]),
            )
            for row in rows
        ]
        return sorted(found)

    def statements(self, start: datetime | None = None, end: datetime | None = None) -> list[StatementLife]:
        """Return the parallel statements that were there between two instants, by when they were seen first."""
        c = STATEMENTS.c
        chosen = select(STATEMENTS).where(c.last_seen >= text(":start"), c.first_seen <= text(":end"))
        return sorted((life_of(row) for row in self._timed(chosen, start, end)), key=lambda each: each.first_seen)

    # ---- reading

    def _tell(self, text: str) -> None:
        if text not in self.damage:
            self.damage.append(text)

    def _decoder(self, chain: Chain) -> FrameDecoder:
        key = (chain.store.name, chain.chain)
        found = self._decoders.get(key)
        if found is None:
            found = self._decoders[key] = FrameDecoder(self._frames(chain))
            if len(self._decoders) > _CHAINS_KEPT:
                self._decoders.popitem(last=False)
        self._decoders.move_to_end(key)
        return found

    def _frames(self, chain: Chain) -> list[PackedFrame]:
        """Return the frames of a chain; of one that is still growing those before the first damaged block."""
        c = BLOCKS.c
        statement = _blocks_of(chain).order_by(c.poll)
        frames: list[PackedFrame] = []
        with chain.store.saying(), chain.store.engine.connect() as connection:

            def text_of(key: bytes) -> str:
                found = connection.execute(select(TEXTS.c.text).where(TEXTS.c.hash == key)).scalar()
                return found if isinstance(found, str) else _LOST_TEXT

            try:
                for (content,) in connection.execute(statement).all():
                    if not isinstance(content, bytes):
                        raise DamagedError("no bytes")
                    frames += unpack_block(content, text_of)
            except DamagedError:
                if not frames:
                    raise
        return frames

    def _instants(self, chain: Chain) -> list[int]:
        """Return the instants of a chain's polls in microseconds."""
        c = POLLS.c
        last = chain.chain + chain.polls - 1
        statement = (
            select(c.at).where(c.database_id == chain.database_id, c.poll.between(chain.chain, last)).order_by(c.poll)
        )
        with chain.store.saying(), chain.store.engine.connect() as connection:
            return [at for (at,) in connection.execute(statement) if isinstance(at, int)]

    def _each(self, statement: Any, start: datetime | None, end: datetime | None) -> Iterator[Row]:
        """Run a statement for the polls between two instants, in each store; yield rows by column."""
        for part in self.parts(start, end):
            yield from self.rows(part, statement)

    def parts(self, start: datetime | None = None, end: datetime | None = None) -> Iterator[TapePart]:
        """Yield the stores that have polls between two instants, each with the numbers of its first and its last."""
        low = 0 if start is None else microseconds(start)
        high = 1 << 60 if end is None else microseconds(end)
        for store, database_id in self._parts:
            chains = [each for each in self._index.between(low, high) if each.store is store]
            if not chains:
                continue
            first, last = self._poll(chains[0], low, after=False), self._poll(chains[-1], high, after=True)
            if first <= last:
                yield TapePart(store, database_id, first, last)

    def rows(self, part: TapePart, statement: Any, **binds: Any) -> Iterator[Row]:
        """Run a statement about polls `:first` to `:last` of `:database_id` in one store; yield rows by column."""
        own = {"database_id": part.database_id, "first": part.first, "last": part.last}
        yield from self._rows(part.store, statement, own | binds)

    def damaged(self, start: datetime | None = None, end: datetime | None = None) -> list[DamagedPolls]:
        """Return the chains between two instants with a block whose checksum is wrong; nothing is unpacked."""
        low = 0 if start is None else microseconds(start)
        found = []
        for chain in self._index.between(low, 1 << 60 if end is None else microseconds(end)):
            statement = _blocks_of(chain)
            blocks = [row["content"] for row in self._rows(chain.store, statement, {})]
            if not blocks or not all(isinstance(each, bytes) and is_whole(each) for each in blocks):
                found.append(DamagedPolls(instant(chain.first_at), instant(chain.last_at), chain.polls))
        return found

    def _poll(self, chain: Chain, wanted: int, *, after: bool) -> int:
        """Return the number of the first poll of a chain from an instant on, or of the last up to it (`after`)."""
        if after:
            if wanted >= chain.last_at:
                return chain.chain + chain.polls - 1
            return chain.chain + sum(at <= wanted for at in self._instants(chain)) - 1
        return (
            chain.chain if wanted <= chain.first_at else chain.chain + sum(at < wanted for at in self._instants(chain))
        )

    def _timed(self, statement: Any, start: datetime | None, end: datetime | None) -> Iterator[Row]:
        binds = {
            "start": 0 if start is None else microseconds(start),
            "end": 1 << 60 if end is None else microseconds(end),
        }
        for store, database_id in self._parts:
            own = statement.where(text("database_id = :database_id"))
            yield from self._rows(store, own, binds | {"database_id": database_id})

    def _rows(self, store: Store, statement: Any, binds: dict[str, Any]) -> Iterator[Row]:
        try:
            with store.saying(), store.engine.connect() as connection:
                for row in connection.execute(statement, binds):
                    yield dict(row._mapping)
        except RecordingError as error:
            self._tell(str(error))


def _blocks_of(chain: Chain) -> Any:
    """Return the SELECT of a chain's blocks: by their polls, which the key of the table has."""
    c = BLOCKS.c
    polls = c.poll.between(chain.chain, chain.chain + chain.polls - 1)
    return select(c.content).where(c.database_id == chain.database_id, polls, c.chain == chain.chain)


def _row(measure: str, values: Row) -> Row:
    found: Row = {}
    for figure in (*COMMON, *MEASURES[measure].figures):
        value = values[figure.key]
        if isinstance(value, str):
            value = clean_lines(value) if figure.key == "sql_text" else clean(value)
        elif figure.unit is INSTANT and value is not None:
            value = instant(value)
        elif figure.unit is FLAG and value is not None:
            value = bool(value)
        found[figure.key] = float(value) if type(value).__name__ == "Decimal" else value
    return found


def _whole(parts: int | None) -> float | None:
    return None if parts is None else parts / SCALE


def life_of(row: Row) -> StatementLife:
    """Return a row of `statements` as a life."""
    times = {
        name: None if row[name] is None else instant(row[name])
        for name in ("queued_at", "started_at", "idle_at", "ended_at", "first_seen", "last_seen")
    }
    group, user, sql_id = clean(row["consumer_group"]), clean(row["user"]), clean(row["sql_id"])
    first, last = times.pop("first_seen"), times.pop("last_seen")
    assert first is not None
    assert last is not None
    return StatementLife(
        row["inst_id"], row["sid"], row["serial"], sql_id, row["con_id"], group, user, row["servers"],
        first_seen=first, last_seen=last, **times,
    )  # fmt: skip
