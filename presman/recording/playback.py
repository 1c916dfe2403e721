"""Playback: the polls of one recorded database by index and by time, with their figures, events and statements."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import BindParameter, bindparam, select, text

from presman.analysis.advice.to_do import with_unchecked
from presman.analysis.assemble import analyse
from presman.analysis.caches import RowCache
from presman.analysis.readings.group_readings import throttled_percent
from presman.analysis.readings.reading import Reading
from presman.analysis.trends.database_events import DatabaseEvent
from presman.base.formats import counted
from presman.base.sums import grouped, sum_of_known
from presman.forecast.shown import as_shown
from presman.recording import chain_reader
from presman.recording import playback_values as stored
from presman.recording.chain_reader import Chain, ChainIndex, ChainReader, instant_of, polls_until
from presman.recording.codec.shapes import DamagedError, instant, microseconds
from presman.recording.measure_tables import STRIP
from presman.recording.playback_values import THERE, PlaybackPart, Row, checked_number, life_of, lives, whole
from presman.recording.schema import EVENTS
from presman.recording.store import Store
from presman.recording.store_errors import DamagedStoreError, RecordingError
from presman.rows.queries import FILLED, RecordType
from presman.rows.snapshot import Snapshot

T = TypeVar("T")

_NAMED: BindParameter[Any] = bindparam("sql_ids", expanding=True)

Pair = tuple[Snapshot | None, Snapshot]
"""A poll, preceded by the one that its rates are computed from, None without one."""

_BAD_VALUES = (TypeError, ValueError, KeyError, AttributeError, ArithmeticError)
"""Exceptions caused by values that no recorder wrote."""


MOST_EVENTS = 100_000
"""The most events of a store in memory, 50 MB: a month of a queue that comes and goes twice a minute."""


class LostPollError(RecordingError):
    """A poll in a damaged block; those in other blocks can be read."""


class StoredRows:
    """The rows of one database, in one store or in several consecutive ones. Damage is noted and left out.

    Not thread-safe.
    """

    def __init__(self, parts: Sequence[tuple[Store, int]]) -> None:
        self._parts = parts
        self._messages: list[str] = []
        self._lost: dict[tuple[str, int], _LostChain] = {}
        self._index = ChainIndex(())

    def refresh(self) -> None:
        """Look for added polls. Raises RecordingError if some are missing now, and then keeps the known ones."""
        messages: list[str] = []
        known = {} if self._messages else grouped(self._index.chains, lambda each: each.store)
        of_stores = (
            chain_reader.read_chains(store, number, messages, sorted(known.get(store, ()), key=lambda each: each.chain))
            for store, number in self._parts
        )
        found = ChainIndex(chain for chains in of_stores for chain in chains)
        if messages and len(found) < len(self._index):
            raise RecordingError(messages[-1])
        for each in messages:
            self._note(each)
        self._index = found

    def newest_stores(self, most: int) -> list[Store]:
        """Return the last stores that have the database, in order of time."""
        return [store for store, _ in self._parts[-most:]]

    def parts(self, start: datetime | None = None, end: datetime | None = None) -> Iterator[PlaybackPart]:
        """Yield the stores that have polls between two instants, each with the numbers of its first and last poll."""
        low, high = _bounds(start, end)
        by_store = grouped(self._index.between(low, high), lambda each: each.store)
        for store, database_id in self._parts:
            if not (chains := by_store.get(store)):
                continue
            first = min(each.chain + _first_from(each, low) for each in chains)
            last = max(each.chain + _last_until(each, high) for each in chains)
            if first <= last:
                yield PlaybackPart(store, database_id, first, last)

    def made(self, make: Callable[[Row], T], part: PlaybackPart, statement: Any, **binds: Any) -> list[T]:
        """Query polls `:first` to `:last` of `:database_id` in one store; `make` converts each row, given as a mapping.

        Damage is reported and left out. Raises StoreLostError.
        """
        return self._made(make, part.store, statement, part.binds | binds)

    def rows(self, part: PlaybackPart, statement: Any) -> Sequence[tuple[Any, ...]]:
        """Return the rows of such a query as plain tuples, for callers that need thousands."""
        try:
            return list(self._tuples(part, statement))
        except DamagedStoreError as error:
            self._note(str(error))
        return []

    def streamed(self, part: PlaybackPart, statement: Any) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of such a query as they come, up to any damage: for callers that do not need all at once."""
        try:
            yield from self._tuples(part, statement)
        except DamagedStoreError as error:
            self._note(str(error))

    def _tuples(self, part: PlaybackPart, statement: Any) -> Iterator[tuple[Any, ...]]:
        # Not as a stream: SQLAlchemy would buffer the first rows.
        with part.store.translating_errors(), part.store.engine.connect() as connection:
            # As the driver returns them: making a Row of each would take as long as reading it.
            if (cursor := connection.execute(statement, part.binds).cursor) is not None:
                yield from part.store.all_of(cursor.fetchmany)

    def left_out(self, part: PlaybackPart, what: str, *, damaged: bool = True) -> None:
        """Note the rows left out of a store: if `damaged` because no recorder wrote it, else because it is too much."""
        self._note(f"{part.store.name}{' is damaged' * damaged}: {what}")

    def each(
        self, make: Callable[[Row], T], statement: Any, start: datetime | None, end: datetime | None, /, **binds: Any
    ) -> list[T]:
        """Query the polls between two instants, `:start` and `:end`, in each store, as `made` does in one."""
        low, high = _bounds(start, end)
        binds |= {"start": low, "end": high}
        return [each for part in self.parts(start, end) for each in self.made(make, part, statement, **binds)]

    def events(self, start: datetime | None = None, end: datetime | None = None) -> list[DatabaseEvent]:
        """Return the events between two instants, in order of time: the newest `MOST_EVENTS` of each store."""
        c = EVENTS.c
        chosen = select(EVENTS).where(text("database_id = :database_id"), c.at.between(text(":start"), text(":end")))
        newest = chosen.order_by(c.event.desc()).limit(MOST_EVENTS)
        found: list[DatabaseEvent] = []
        for store, own in self._by_store(stored.event_of, newest, start, end):
            if len(own) == MOST_EVENTS:
                self._note(f"{store.name}: no more than its {MOST_EVENTS:,} newest events are read")
            found += own
        return sorted(found)

    def statements(
        self, start: datetime | None = None, end: datetime | None = None, sql_ids: Collection[str] | None = None
    ) -> list[stored.StatementLife]:
        """Return the parallel statements between two instants, by the time they were first seen.

        With `sql_ids`, only those of these SQL_IDs.
        """
        chosen, binds = lives(THERE), {}
        if sql_ids is not None:
            chosen, binds = lives(f"{THERE} AND sql_id IN :sql_ids").bindparams(_NAMED), {"sql_ids": list(sql_ids)}
        found = [each for _, own in self._by_store(life_of, chosen, start, end, **binds) for each in own]
        return sorted(whole(found), key=lambda each: each.first_seen)

    def _by_store(
        self, make: Callable[[Row], T], statement: Any, start: datetime | None, end: datetime | None, **binds: Any
    ) -> Iterator[tuple[Store, list[T]]]:
        low, high = _bounds(start, end)
        for store, number in self._parts:
            values = binds | {"start": low, "end": high, "database_id": number}
            yield store, self._made(make, store, statement, values)

    def _made(self, make: Callable[[Row], T], store: Store, statement: Any, binds: dict[str, Any]) -> list[T]:
        found: list[T] = []
        try:
            for row in store.each_row(statement, binds):
                try:
                    if any(type(value) is float and not stored.is_number(value) for value in row):
                        raise ValueError("infinite")
                    found.append(make(dict(row._mapping)))
                except _BAD_VALUES:
                    self._note(f"{store.name} is damaged: rows that no recorder wrote are skipped")
        except DamagedStoreError as error:
            self._note(str(error))
            found.clear()
        return found

    @property
    def damage(self) -> list[str]:
        """Sentences about what could not be read so far, a single one for all damaged polls of a store."""
        stores = dict.fromkeys(name for name, _ in self._lost)
        lost = {store: [each for (name, _), each in self._lost.items() if name == store] for store in stores}
        return self._messages + [f"{name}: {_lost_polls(bad)}; the others can be read" for name, bad in lost.items()]

    @property
    def reasons(self) -> list[str]:
        """Why polls cannot be read, each reason once."""
        return list(dict.fromkeys(each.reason for each in self._lost.values()))

    def _note(self, messages: str) -> None:
        known = tuple(f"{store.name} is damaged" for store, _ in self._parts if store.damage)
        if messages not in self._messages and not messages.startswith(known):  # otherwise opening it reported why
            self._messages.append(messages)


class Playback(StoredRows):
    """One database of a recording, in one store or in several consecutive ones (a file a day).

    Polls are indexed from 0. Not thread-safe.
    """

    def __init__(self, target: str, name: str, kind: str, parts: Sequence[tuple[Store, int]]) -> None:
        super().__init__(parts)
        self.target = target
        self.name = name
        self.kind = kind
        self._reader = ChainReader()
        self._cache = RowCache()
        self._last: Reading | None = None
        self.refresh()

    def __len__(self) -> int:
        return len(self._index)

    def refresh(self) -> None:
        """Look for added polls. Raises RecordingError if some are missing now, and then keeps the known ones."""
        super().refresh()
        self._reader.forget()

    @property
    def first(self) -> datetime | None:
        """The instant of the first poll; None without polls."""
        return instant(min(each.first_at for each in self._index.chains)) if len(self) else None

    @property
    def last(self) -> datetime | None:
        """The instant of the last poll; None without polls."""
        return instant(max(each.last_at for each in self._index.chains)) if len(self) else None

    # ---- polls

    def index(self, at: datetime) -> int:
        """Return the index of the last poll not after an instant; 0 if there is none, -1 without polls."""
        wanted = microseconds(at)
        if (found := self._index.at(wanted)) is None:
            return 0 if len(self) else -1
        chain, begin = found
        return begin + _last_until(chain, wanted)

    def at(self, index: int) -> datetime:
        """Return the instant of a poll. Raises IndexError, RecordingError."""
        chain, poll = self._index.find(index)
        return instant(instant_of(chain, poll) if poll else chain.first_at)

    def snapshot(self, index: int) -> Snapshot:
        """Return a poll as it was. Raises IndexError, and LostPollError if it is damaged."""
        chain, poll = self._index.find(index)
        try:
            return self._reader.snapshot(chain, poll)
        except DamagedError as error:
            readable = self._reader.readable_polls(chain)
            since = instant_of(chain, readable) if readable else chain.first_at
            lost = self._lost[chain.store.name, chain.chain] = _LostChain(since, chain.polls - readable, str(error))
            raise LostPollError(f"{chain.store.name}: {_lost_polls([lost])}") from error

    def readable(self, indexes: range) -> Iterator[int]:
        """Yield those of consecutive `indexes` whose poll can be read; damaged chains are skipped."""
        while indexes:
            try:
                self.snapshot(indexes[0])
            except LostPollError:
                indexes = self._after_damage(indexes)
                continue
            yield indexes[0]
            indexes = indexes[1:]

    def _after_damage(self, indexes: range) -> range:
        """Return the rest of `indexes` that may be readable, given that the first is not."""
        chain, poll = self._index.find(indexes[0])
        back, readable = indexes.step < 0, self._reader.readable_polls(chain)
        rest = indexes[max(1, poll + 1 - readable) if back else chain.polls - poll :]
        if not rest or (back and readable):
            return rest
        store = self._index.find(rest[0])[0].store
        for each, reason in self._reader.skip_damaged(store, self._index.run(rest), back=back):
            self._lost[store.name, each.chain] = _LostChain(each.first_at, each.polls, reason)
            rest = rest[each.polls :]
        return rest

    def pair(self, index: int) -> Pair:
        """Return the poll at an index, preceded by the previous one. Raises IndexError, LostPollError."""
        previous: Snapshot | None = None
        if index:
            try:
                previous = self.snapshot(index - 1)  # first: decoding it is a step towards the other
            except LostPollError:
                previous = None
        current = self.snapshot(index)
        # Each recorder counts polls from 1: a smaller number means that a new one started.
        return (previous if previous is not None and previous.number < current.number else None), current

    def reading(self, index: int) -> Reading:
        """Return the reading of the poll at an index. Raises IndexError, LostPollError."""
        return self.meaning(self.pair(index))

    def meaning(self, pair: Pair) -> Reading:
        """Return the reading of a poll that is already decoded, with the forecasts stored with it.

        It has the alerts of earlier polls that it cannot check, like that of a monitor that ran until then.
        """
        self._last = with_unchecked(self.before(pair), self._alone(pair))
        return self._last

    def _alone(self, pair: Pair) -> Reading:
        return as_shown(analyse(*pair, self._cache), pair[1])

    def before(self, pair: Pair) -> Reading | None:
        """Return an earlier reading, with the alerts that a poll cannot check because views are silent.

        None if all views answered in time, or if no earlier poll can be used.
        """
        previous, current = pair
        views = silent(current) | (silent(previous) if previous is not None else set())
        if previous is None or not views:
            return None
        last, index = self._last, self.index(current.at)
        if last is not None and 0 < (polls := current.number - last.number) <= LOOKED_BACK:
            # The reading made last serves if it is of the poll just before, or if views were silent then, too: it has
            # the earlier alerts itself. The index is compared as well, because each recorder counts polls from 1.
            is_in_between = self.index(last.at) == index - polls
            if is_in_between and (polls == 1 or last.late):
                return last
        readable = self.readable(range(max(0, index - LOOKED_BACK), index))
        polls_before = since_answered(((each, self.snapshot(each)) for each in readable), views)
        return remembered(polls_before, lambda each: self._alone(self.pair(each)))

    def indexes(self, start: datetime | None = None, end: datetime | None = None) -> range:
        """Return the indexes of the polls between two instants, both included."""
        if not len(self):
            return range(0)
        if self._index.went_back:  # from the first to the last poll of the window, whichever chain these are in
            low, high = _bounds(start, end)
            ends: list[int] = []
            for chain, own in self._index.among(range(len(self))):
                if chain.first_at <= high and chain.last_at >= low:
                    begin, last = _first_from(chain, low), _last_until(chain, high)
                    ends += [own[each] for each in (begin, last) if begin <= last]
            return range(min(ends), max(ends) + 1) if ends else range(0)
        first = 0 if start is None else self.index(start)
        if start is not None and self.at(first) < start:
            first += 1
        return range(first, (len(self) if end is None else self.index(end) + (self.at(0) <= end)))

    def span(self, indexes: range) -> tuple[datetime, datetime]:
        """Return the earliest and the latest instant of consecutive polls: the clock may have gone back among them."""
        found = [self.at(indexes[0]), self.at(indexes[-1])]
        for chain, own in self._index.among(indexes) if self._index.went_back else ():
            found += [instant(chain.first_at)] * (own[0] in indexes) + [instant(chain.last_at)] * (own[-1] in indexes)
        return min(found), max(found)

    def went_back(self, indexes: range) -> list[tuple[datetime, datetime]]:
        """Return the instants between which the clock went back among consecutive polls."""
        own = {chain for chain, _ in self._index.among(indexes)}
        pairs = [(one, other) for one, other in self._index.went_back if one in own and other in own]
        return [(instant(one.last_at), instant(other.first_at)) for one, other in pairs]

    def strip(self, count: int) -> list[stored.Stretch]:
        """Return the whole playback as `count` intervals of equal length, oldest first."""
        if not len(self) or self.first is None or self.last is None:
            return []
        start = microseconds(self.first)
        width = max(1, -(-(microseconds(self.last) - start + 1) // count))
        sums: list[list[Any]] = [[None, None, None, 0] for _ in range(count)]

        def add(row: Row) -> None:
            # A row of a damaged file may be outside: it is added to a cell that nothing shows.
            cell = sums[row["place"]] if 0 <= row["place"] < count else [None, None, None, 0]
            cell[0] = max((each for each in (cell[0], checked_number(row["queued"])) if each is not None), default=None)
            waited, used = (None if row[name] is None else float(row[name]) for name in ("waited", "used"))
            cell[1:] = [sum_of_known((cell[1], waited)), sum_of_known((cell[2], used)), cell[3] + row["polls"]]

        for store, database_id in self._parts:
            binds = {"start": start, "width": width, "database_id": database_id}
            self._made(add, store, text(STRIP), binds)
        throttled = (throttled_percent(used, waited) for _, waited, used, _ in sums)
        return [stored.Stretch(each[3], each[0], percent) for each, percent in zip(sums, throttled, strict=True)]

    def damaged(self, start: datetime | None = None, end: datetime | None = None) -> list[stored.DamagedPolls]:
        """Return the unreadable polls between two instants, chain by chain: those from a wrong checksum on."""
        chains = self._index.between(*_bounds(start, end))
        found = []
        for store, _ in self._parts:
            own = [each for each in chains if each.store is store]
            reasons = list(chain_reader.why_damaged(store, own)) if own else []
            for each, reason in zip(own, reasons, strict=True):
                if not reason:
                    continue
                with suppress(DamagedError):  # opening the chain finds how many of its polls can be read
                    self._reader.snapshot(each, 0)
                good = self._reader.readable_polls(each)  # before the damage
                if lost := each.polls - good:
                    since = instant_of(each, good) if good else each.first_at
                    found.append(stored.DamagedPolls(instant(since), instant(each.last_at), lost))
        return found


class _LostChain(NamedTuple):
    """A chain that cannot be read: its first instant in microseconds, its number of polls, and the reason."""

    first_at: int
    polls: int
    reason: str


def _lost_polls(lost: Sequence[_LostChain]) -> str:
    """Return a sentence about the damaged polls: which ones, in how many blocks, and why."""
    number, since = sum(each.polls for each in lost), instant(min(lost).first_at)
    blocks = f" in {counted(len(lost), 'block')}" if len(lost) > 1 else ""
    why = ", ".join(dict.fromkeys(each.reason for each in lost))
    are = "is" if number == 1 else "are"
    return f"{counted(number, 'poll')}{blocks} from {since:%Y-%m-%d %H:%M:%S} UTC on {are} damaged ({why})"


def _bounds(start: datetime | None, end: datetime | None) -> tuple[int, int]:
    """Return two instants in microseconds; an open end is beyond any poll."""
    return 0 if start is None else microseconds(start), 1 << 60 if end is None else microseconds(end)


def _first_from(chain: Chain, wanted: int) -> int:
    """Return the index within a chain of its first poll from an instant on."""
    return polls_until(chain, wanted, included=False) if wanted > chain.first_at else 0


def _last_until(chain: Chain, wanted: int) -> int:
    """Return the index within a chain, which begins not after an instant, of its last poll up to that."""
    if wanted >= chain.last_at:
        return chain.polls - 1
    return min(chain.polls, max(1, polls_until(chain, wanted, included=True))) - 1


# ---- Alerts that a poll cannot check: found in polls before it, as a monitor that ran until then has them.


LOOKED_BACK = 120
"""The most earlier polls among which the last is searched in which the views that are silent now had answered."""

_READ = 12
"""The most of them that are analysed, evenly spaced: a silence may last long, and a report has many polls of it."""


def silent(snapshot: Snapshot) -> set[RecordType]:
    """Return the records whose views did not answer in time, or without a column that Oracle always fills."""
    late = {record for record, problem in snapshot.problems().items() if problem.late}
    return late | {record for record, names in FILLED.items() if not snapshot.section(record).absent.isdisjoint(names)}


def since_answered(polls: Iterable[tuple[int, Snapshot]], views: set[RecordType]) -> list[int]:
    """Return the indexes of consecutive polls, from the last one on in which all `views` answered; [] without one.

    If possible the views had answered in the poll before that, too, so that it has rates. What was before a restart of
    the recorder is not remembered.
    """
    found: list[int] = []
    number, had_answered = 0, False
    for index, snapshot in polls:
        if snapshot.number <= number:
            found, had_answered = [], False
        number, has_answered = snapshot.number, not silent(snapshot) & views
        if has_answered and (had_answered or not found):
            found = [index]
        elif found:
            found.append(index)
        had_answered = has_answered
    return found


def remembered(polls: Sequence[int], read: Callable[[int], Reading]) -> Reading | None:
    """Return a reading of about the last of consecutive polls, with the alerts of those before; None without polls."""
    before: Reading | None = None
    for index in polls[:: max(1, -(-len(polls) // _READ))]:
        before = with_unchecked(before, read(index))
    return before
