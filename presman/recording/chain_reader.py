"""Chain reader: the polls of one database by index, decoded from the blocks of their chains."""

import sqlite3
from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from heapq import heappop, heappush
from itertools import accumulate, pairwise, takewhile, tee
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, Table, case, func, literal_column, select

from presman.base.formats import counted
from presman.base.private_files import expanded
from presman.base.sums import grouped
from presman.recording.codec import poll_codec
from presman.recording.codec.old_formats import OldChain
from presman.recording.codec.poll_codec import MOST_POLLS, FrameDecoder, is_whole
from presman.recording.codec.shapes import ChangedError, DamagedError
from presman.recording.schema import BLOCKS, POLLS, TEXTS, command
from presman.recording.sqlite_files import cut_short, leading_bytes
from presman.recording.statement_limits import LONGEST_BLOCK
from presman.recording.store import Store
from presman.recording.store_errors import DamagedStoreError
from presman.rows.snapshot import Snapshot

# ---- Chain index: which polls of a database are in which chain of which store, without reading any poll


_MOST = 1 << 53
"""Above every number that a recorder writes: as microseconds it is the year 2255."""


class Chain(NamedTuple):
    """A chain of polls: store, database, first poll, number of polls, instants of the first and the last (µs)."""

    store: Store
    database_id: int
    chain: int
    polls: int
    first_at: int
    last_at: int


def _in_order(chains: Iterable[Chain]) -> list[Chain]:
    """Return chains in order of time; those of one store as they were recorded, even if its clock went back."""
    newest: dict[int, int] = {}
    found: list[tuple[int, int, int, Chain]] = []
    for each in sorted(chains, key=lambda each: each.chain):
        begin = newest[id(each.store)] = max(each.first_at, newest.get(id(each.store), 0))
        found.append((begin, each.chain, len(found), each))
    return [each for *_, each in sorted(found)]


def _nearest(chains: Sequence[Chain]) -> tuple[list[int], list[int]]:
    """Return instants in order, and for the time from each on the number of the chain that reaches nearest to it.

    That is the last one that contains the time, else the one that ended last.
    """
    begin = sorted(range(len(chains)), key=lambda each: chains[each].first_at, reverse=True)
    instants = sorted({each.first_at for each in chains} | {each.last_at + 1 for each in chains})
    under_way: list[int] = []
    numbers, newest = list[int](), (0, 0)
    for instant in instants:
        while begin and chains[begin[-1]].first_at <= instant:
            number = begin.pop()
            heappush(under_way, -number)
            newest = max(newest, (chains[number].last_at, number))
        while under_way and chains[-under_way[0]].last_at < instant:
            heappop(under_way)
        numbers.append(-under_way[0] if under_way else newest[1])
    return instants, numbers


class ChainIndex:
    """The chains of a database in order of time. Polls are indexed from 0 across all of them.

    `went_back` are the chains that begin before the end of the one before in their store: its clock was set back.
    """

    def __init__(self, chains: Iterable[Chain]) -> None:
        self.chains = _in_order(chains)
        neighbours = (pair for own in grouped(self.chains, lambda each: each.store).values() for pair in pairwise(own))
        self.went_back = [(one, other) for one, other in neighbours if other.first_at < one.last_at]
        # Chains overlap in time where the clock went back: then the one that reaches nearest to an instant is taken.
        self._instants, self._numbers = [each.first_at for each in self.chains], [*range(len(self.chains))]
        if self.went_back:
            self._instants, self._numbers = _nearest(self.chains)
        self._starts = list(accumulate((each.polls for each in self.chains), initial=0))

    def __len__(self) -> int:
        return self._starts[-1]

    def find(self, index: int) -> tuple[Chain, int]:
        """Return the chain of a poll and its index within it. Raises IndexError."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        number = self._number(index)
        return self.chains[number], index - self._starts[number]

    def run(self, indexes: range) -> Iterator[Chain]:
        """Yield the chains that consecutive indexes pass through, up to the first in another store."""
        first, last = (self._number(each) for each in (indexes[0], indexes[-1]))
        for number in range(first, last + indexes.step, indexes.step):
            if self.chains[number].store is not self.chains[first].store:
                return
            yield self.chains[number]

    def _number(self, index: int) -> int:
        """Return the number of the chain that contains a poll."""
        return bisect_right(self._starts, index) - 1

    def at(self, microseconds: int) -> tuple[Chain, int] | None:
        """Return the chain that reaches nearest to an instant, and the index of its first poll; None before all."""
        place = bisect_right(self._instants, microseconds) - 1
        if place < 0:
            return None
        number = self._numbers[place]
        return self.chains[number], self._starts[number]

    def among(self, indexes: range) -> Iterator[tuple[Chain, range]]:
        """Yield the chains that consecutive indexes pass through, each with its own indexes."""
        for number in range(self._number(indexes[0]), self._number(indexes[-1]) + 1):
            yield self.chains[number], range(self._starts[number], self._starts[number + 1])

    def between(self, start: int, end: int) -> Sequence[Chain]:
        """Return the chains that overlap the time between two instants, both included."""
        return [each for each in self.chains if each.first_at <= end and each.last_at >= start]


def read_chains(store: Store, database_id: int, messages: list[str], known: Sequence[Chain] = ()) -> list[Chain]:
    """Return the chains of a database in one store; append what cannot be read to `messages`.

    `known` are those that were there before, as they were recorded: only the last of them can have grown, and the
    oldest may have been removed.
    """
    is_whole, c = True, BLOCKS.c
    try:
        grown = _blocks(database_id).where(c.poll >= known[-1].chain) if known else _blocks(database_id)
        found = _chains(store, database_id, store.each_row(grown), messages)
        if known:
            ((oldest,),) = store.rows(select(func.min(c.poll)).where(c.database_id == database_id))
            found = [each for each in known[:-1] if oldest is not None and each.chain >= oldest] + found
    except DamagedStoreError as error:
        messages.append(str(error))
        is_whole, found = False, _chains(store, database_id, _one_by_one(store, database_id), messages)
    # As many chains as a store of that size can contain: each of their polls has its own row.
    most, most_chains = store.limits.most_rows, store.most_bytes // _SMALLEST_CHAIN
    many = bisect_right(list(accumulate(each.polls for each in found)), most)
    if many < len(found):
        messages.append(f"{store.name} is damaged: its blocks claim more than {counted(most, 'poll')}")
    elif most_chains < len(found):
        messages.append(f"{store.name} is damaged: it has more than {counted(most_chains, 'block')}")
    found = found[: min(many, most_chains)]
    return found if is_whole else found + _without_blocks(store, database_id, found)


def _chains(store: Store, database_id: int, rows: Iterable[Sequence[Any]], messages: list[str]) -> list[Chain]:
    """Return the chains of the given blocks, sorted by first poll."""
    chains: dict[int, Chain] = {}
    for row in rows:
        _, number, polls, first_at, last_at = row
        if not all(type(each) is int and 0 <= each < _MOST for each in row) or not 0 < polls <= MOST_POLLS:
            message = f"{store.name}: a block that no recorder wrote is skipped"
            messages += [message] * (message not in messages)
        elif (known := chains.get(number)) is not None:
            ends = min(known.first_at, first_at), max(known.last_at, last_at)
            chains[number] = Chain(store, database_id, number, known.polls + polls, *ends)
        elif len(chains) < _MOST_CHAINS:
            chains[number] = Chain(store, database_id, *row[1:])
        else:
            most = counted(_MOST_CHAINS, "chain")
            messages.append(f"{store.name} has more than {most} of polls: the rest is not read")
            break
    return sorted(chains.values(), key=lambda each: each.chain)


_MOST_CHAINS = 200_000
"""The most chains of a database that are read, in 140 MB if all are damaged: 19 months of a poll a second."""

_SMALLEST_CHAIN = 500
"""The fewest bytes that a chain takes in a store: a single poll without sessions takes 3,800."""


def _one_by_one(store: Store, database_id: int) -> Iterator[Sequence[Any]]:
    """Yield the readable blocks of a damaged store, found by the numbers in their own index or in that of the polls."""
    numbers: Sequence[Sequence[Any]] = ()
    for table in (BLOCKS, POLLS):
        with suppress(DamagedStoreError):
            numbers = store.rows(select(table.c.poll).where(table.c.database_id == database_id))
            break
    for (number,) in numbers:
        with suppress(DamagedStoreError):
            yield from store.rows(_blocks(database_id).where(BLOCKS.c.poll == number))


def _without_blocks(store: Store, database_id: int, chains: Sequence[Chain]) -> list[Chain]:
    """Return each run of polls without blocks as a chain: their figures can still be read."""
    c = POLLS.c
    covered = {poll for each in chains for poll in range(each.chain, each.chain + each.polls)}
    found: list[Chain] = []
    with suppress(DamagedStoreError):
        for poll, at in store.rows(select(c.poll, c.at).where(c.database_id == database_id).order_by(c.poll)):
            if type(poll) is not int or type(at) is not int or not 0 <= at < _MOST or poll in covered:
                continue
            if found and poll == found[-1].chain + found[-1].polls and found[-1].polls < MOST_POLLS:
                found[-1] = found[-1]._replace(polls=found[-1].polls + 1, last_at=max(at, found[-1].last_at))
            else:
                found.append(Chain(store, database_id, poll, 1, at, at))
    return found


def _blocks(database_id: int) -> Select[tuple[int, int, int, int, int]]:
    c = BLOCKS.c
    return select(c.poll, c.chain, c.polls, c.first_at, c.last_at).where(c.database_id == database_id)


# ---- Chain reader: the polls of one database by index, decoded from the blocks of their chains


_CHAINS_KEPT = 3
"""Chains that are kept open: the current one and its neighbours."""

_TEXTS_AT_ONCE = 500
"""Texts that are queried at once: SQLite before 3.32 takes at most 999 bind values."""

_LOST_TEXT = "(this text is damaged)"

_LONGEST_TEXT = 1 << 20
"""The most characters of a text that is read; presman writes at most 250,000."""

_LARGEST_CHAIN = 33 << 20
"""The most bytes read of a chain's blocks; real ones have 6 MB, unless a single poll is larger."""


_LARGE_POLL, _MOST_REFUSED = 1 << 20, 16 << 20
"""A poll of so many bytes takes a tenth of a second to read; after so many rejected bytes no such poll is read."""

_SMALLEST_REFUSED, _MOST_TRIED = 64 << 10, 32 << 20
"""A rejected chain counts for at least so many bytes; after so many in all, 500 small chains, no other is tried."""

_NOT_TRIED = "not tried behind so many that no recorder wrote"
_NOT_THERE, _NO_BYTES, _DAMAGED_STORE = "it is not there", "no bytes", "its store is damaged"


class ChainReader:
    """Reads chains. Not thread-safe.

    If the checksum of a block is correct but its bytes are no poll, they are forged: the rest of that chain is not
    read. After that only a few large polls of other chains are tried, and after 500 forged chains no chain at all.
    """

    def __init__(self) -> None:
        self._decoders: OrderedDict[tuple[str, int], FrameDecoder | OldChain] = OrderedDict()
        self._damaged: dict[tuple[str, int], str] = {}
        self._refused = 0
        self._newest: deque[tuple[tuple[str, int, int], Snapshot]] = deque(maxlen=2)
        """The two polls read last: going through a recording needs each poll and the one before it."""

    def forget(self) -> None:
        """Forget what was read: chains may have grown."""
        self._decoders.clear()
        self._damaged.clear()
        self._newest.clear()
        self._refused = 0

    def snapshot(self, chain: Chain, index: int) -> Snapshot:
        """Return a chain's poll at an index. Raises DamagedError, and StoreLostError if the store is unreachable."""
        key = (chain.store.name, chain.chain)
        for known, snapshot in self._newest:
            if known == (*key, index):
                return snapshot
        found = self._read(chain, key, index)
        self._newest.append(((*key, index), found))
        return found

    def _read(self, chain: Chain, key: tuple[str, int], index: int) -> Snapshot:
        if key in self._damaged:  # a search for the next readable poll tries each
            raise DamagedError(self._damaged[key])
        try:
            decoder = self._decoder(chain)
        except DamagedError as error:
            self._damaged[key] = str(error)
            if not isinstance(error, ChangedError):
                self._refused += _SMALLEST_REFUSED
            raise
        if index >= len(decoder):
            raise DamagedError(_NOT_THERE)
        size = decoder.size(index)
        try:
            if self._refused and size > _LARGE_POLL and self._refused + size > _MOST_REFUSED:
                raise DamagedError("it is large, as another that no recorder wrote")
            return decoder.snapshot(index)
        except DamagedError as error:
            self._damaged[key] = str(error)
            self._refused += max(size, _SMALLEST_REFUSED)
            del self._decoders[key]
            raise

    def readable_polls(self, chain: Chain) -> int:
        """Return how many polls of an opened chain can be read, 0 if it cannot be read at all."""
        found = self._decoders.get((chain.store.name, chain.chain))
        return 0 if found is None else len(found)

    def skip_damaged(self, store: Store, chains: Iterable[Chain], *, back: bool) -> list[tuple[Chain, str]]:
        """Return the leading chains that are damaged from their beginning on, and why, so that they need not be tried.

        Going `back`, the last of them is left out, as it must be tried: the end of a truncated file may be in it.
        """
        if self._refused >= _MOST_TRIED:
            own = takewhile(lambda each: (store.name, each.chain) not in self._decoders, chains)
            return [(each, _NOT_TRIED) for each in own]
        chains, asked = tee(chains)
        with closing(why_damaged(store, asked, 1)) as reasons:
            found = list(zip(chains, takewhile(bool, reasons), strict=False))
        found = found[:-1] if back else found
        self._damaged |= {(store.name, each.chain): reason for each, reason in found}
        return found

    def _decoder(self, chain: Chain) -> FrameDecoder | OldChain:
        key = (chain.store.name, chain.chain)
        found = self._decoders.get(key)
        if found is None:
            if self._refused >= _MOST_TRIED:
                raise ChangedError(_NOT_TRIED)
            # A large chain may take as much memory as presman allows for all: it goes before another is opened.
            for other in [other for other, each in self._decoders.items() if each.is_large]:
                del self._decoders[other]
            found = self._decoders[key] = _opened(chain)
            if len(self._decoders) > _CHAINS_KEPT:
                self._decoders.popitem(last=False)
        self._decoders.move_to_end(key)
        return found


def _opened(chain: Chain) -> FrameDecoder | OldChain:
    """Return the decoder of a chain; up to a damaged block, or to the end of a truncated file."""
    try:
        return _decoder_of(chain)
    except (DamagedStoreError, DamagedError) as error:
        if frames := _before_the_end(chain):
            return FrameDecoder(frames)
        if isinstance(error, DamagedStoreError):
            raise ChangedError(_DAMAGED_STORE) from error
        raise


_NOTHING = bytes(64)
"""What SQLite reads beyond the end of a truncated page: compressed polls never have so many zeros in a row."""


def _before_the_end(chain: Chain) -> list[bytes]:
    """Return the complete polls of a chain in a truncated file; none for any other kind of damage."""
    frames: list[bytes] = []
    if chain.store.kind != "sqlite" or not cut_short(expanded(chain.store.location)):
        return frames
    # By rowid, because a value whose end is missing can be read only piece by piece (SQLite's incremental I/O).
    rows = blocks_of(chain).with_only_columns(literal_column("rowid"), func.length(BLOCKS.c.content))
    with suppress(DamagedStoreError), chain.store.reading() as connection:
        file = connection.connection.driver_connection
        for row, size in connection.execute(rows.order_by(BLOCKS.c.poll)).fetchall():
            if not isinstance(file, sqlite3.Connection) or size > LONGEST_BLOCK:
                break
            content = leading_bytes(file, BLOCKS.name, "content", row)
            if not is_whole(content):
                return frames + poll_codec.leading_frames(content.partition(_NOTHING)[0].rstrip(b"\0"))
            frames += poll_codec.unpack_block(content)
    return frames


def _decoder_of(chain: Chain) -> FrameDecoder | OldChain:
    """Return the decoder of a chain, up to the first damaged block."""
    frames: list[bytes] = []
    packed = 0
    with chain.store.reading(blocks=True) as connection:
        old = OldChain(lambda keys: _texts_of(keys, connection, old))
        try:
            with connection.execute(blocks_of(chain).order_by(BLOCKS.c.poll)) as blocks:
                for (content,) in blocks:
                    if not isinstance(content, bytes):
                        raise ChangedError(_NO_BYTES)
                    packed += len(content)
                    if packed > _LARGEST_CHAIN:
                        raise DamagedError("it has more bytes than a recorder writes")
                    if poll_codec.is_old(content):
                        old.add_block(content)
                    else:
                        frames += poll_codec.unpack_block(content)
        except DamagedError:
            if not frames and not len(old):
                raise
    return old if len(old) else FrameDecoder(frames)


def _texts_of(keys: Sequence[bytes], connection: Connection, chain: OldChain) -> dict[bytes, str]:
    """Return texts by their hashes, without those longer than presman writes."""
    found, c = dict.fromkeys(keys, _LOST_TEXT), TEXTS.c
    for begin in range(0, len(keys), _TEXTS_AT_ONCE):
        is_wanted = c.hash.in_(keys[begin : begin + _TEXTS_AT_ONCE]), func.length(c.text) <= _LONGEST_TEXT
        for key, text in connection.execute(select(c.hash, c.text).where(*is_wanted)):
            if isinstance(key, bytes) and isinstance(text, str):
                chain.take(len(text), "bytes")
                found[key] = text
    return found


def instant_of(chain: Chain, index: int) -> int:
    """Return the instant of a chain's poll in microseconds; that of its last poll if it cannot be read."""
    c = POLLS.c
    found = _one(chain, select(c.at).where(*_polls_of(chain)).order_by(c.poll).offset(index).limit(1))
    return found if isinstance(found, int) and chain.first_at <= found <= chain.last_at else chain.last_at


def polls_until(chain: Chain, wanted: int, *, included: bool) -> int:
    """Return how many polls of a chain were before an instant in microseconds, or also at it (`included`)."""
    at = POLLS.c.at
    is_before = at <= wanted if included else at < wanted
    return int(_one(chain, select(func.count()).where(*_polls_of(chain), is_before)) or 0)


def _polls_of(chain: Chain, table: Table = POLLS) -> tuple[Any, Any]:
    c = table.c
    return c.database_id == chain.database_id, c.poll.between(chain.chain, chain.chain + chain.polls - 1)


def _one(chain: Chain, statement: Any) -> Any:
    """Return the single value of a query about a chain, None if its store is damaged."""
    try:
        with chain.store.reading() as connection:
            return connection.execute(statement).scalar()
    except DamagedStoreError:
        return None


def blocks_of(chain: Chain) -> Any:
    """Return the SELECT of a chain's blocks, found by poll, which is in the primary key."""
    c = BLOCKS.c
    content = case((func.length(c.content) <= LONGEST_BLOCK, c.content))
    return select(content.label("content")).where(*_polls_of(chain, BLOCKS), c.chain == chain.chain)


_CONTENTS = command(
    f"SELECT CASE WHEN length(content) <= {LONGEST_BLOCK} THEN content END FROM blocks"
    " WHERE database_id = ? AND poll BETWEEN ? AND ? AND chain = ? ORDER BY poll LIMIT ?",
)
"""Passed to the driver directly: a forged file may have 100,000 chains, and SQLAlchemy takes 0.6 ms for each."""


def why_damaged(store: Store, chains: Iterable[Chain], blocks: int = MOST_POLLS) -> Generator[str, None, None]:
    """Yield for each chain of one store why one of its first `blocks` blocks is damaged, "" if none is.

    Nothing is decompressed, and no more is read than the store has. Raises StoreLostError.
    """
    with store.reading(blocks=True) as connection:
        cursor = connection.connection.cursor()
        left = store.most_bytes
        for each in chains:
            store.check_wanted()
            binds = each.database_id, each.chain, each.chain + each.polls - 1, each.chain, blocks
            reason, size = _first_damage(store, cursor, binds, left)
            left -= size
            yield reason


def _first_damage(store: Store, cursor: Any, binds: tuple[int, ...], most: int) -> tuple[str, int]:
    """Return why one of the blocks is damaged, "" if none is, and how many bytes were read."""
    size, reason = 0, _NOT_THERE
    try:
        with store.translating_errors():
            cursor.execute(_CONTENTS.texts[store.kind], binds)
            for (content,) in cursor:
                if not isinstance(content, bytes):
                    return _NO_BYTES, size
                size += len(content)
                if size > most or not is_whole(content):
                    return poll_codec.WRONG_CHECKSUM, size
                reason = ""
    except DamagedStoreError:
        return _DAMAGED_STORE, size
    return reason, size
