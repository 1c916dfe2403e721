"""Chain index: which polls of a database stand in which chain of which store, without reading any of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import Any, NamedTuple

from sqlalchemy import Select, select

from presman.base.formats import counted
from presman.recording.codec.chain import MOST_POLLS
from presman.recording.schema import BLOCKS, POLLS
from presman.recording.store import DamagedStoreError, Store

_MOST = 1 << 53


class Chain(NamedTuple):
    """A chain of polls: where it is, its first poll, how many, and the instants of first and last (microseconds)."""

    store: Store
    database_id: int
    chain: int
    polls: int
    first_at: int
    last_at: int


class ChainIndex:
    """The chains of a database in order of time; polls have places from 0 on over all of them."""

    def __init__(self, chains: Iterable[Chain]) -> None:
        self.chains = sorted(chains, key=lambda each: (each.first_at, each.chain))
        self._begins = [each.first_at for each in self.chains]
        self._places = [0]
        for each in self.chains:
            self._places.append(self._places[-1] + each.polls)

    def __len__(self) -> int:
        return self._places[-1]

    def find(self, place: int) -> tuple[Chain, int]:
        """Return the chain of a poll and its place there. Raises IndexError."""
        if not 0 <= place < len(self):
            raise IndexError(place)
        number = bisect_right(self._places, place) - 1
        return self.chains[number], place - self._places[number]

    def at(self, microseconds: int) -> tuple[Chain, int] | None:
        """Return the chain that an instant is in, or else the last before it, and the place of its first poll."""
        number = bisect_right(self._begins, microseconds) - 1
        return (self.chains[number], self._places[number]) if number >= 0 else None

    def between(self, start: int, end: int) -> Sequence[Chain]:
        """Return the chains with polls between two instants, both included."""
        return [each for each in self.chains if each.first_at <= end and each.last_at >= start]


class _BlockRow(NamedTuple):
    """What is told of a block beside its content."""

    poll: int
    chain: int
    polls: int
    first_at: int
    last_at: int

    def is_sane(self) -> bool:
        """Whether a recorder may have written it."""
        return all(type(each) is int and 0 <= each < _MOST for each in self) and 0 < self.polls <= MOST_POLLS


def read_chains(store: Store, database_id: int, told: list[str]) -> list[Chain]:
    """Return the chains of a database in one store; what cannot be read is told."""
    rows: Iterable[Sequence[Any]]
    is_whole = True
    try:
        rows = store.rows(_blocks(database_id))
    except DamagedStoreError as error:
        told.append(str(error))
        is_whole, rows = False, _one_by_one(store, database_id)
    found = [_BlockRow._make(row) for row in rows]
    if any(not row.is_sane() for row in found):
        told.append(f"{store.name}: a block that no recorder wrote is skipped")
    chains: dict[int, Chain] = {}
    for row in sorted(row for row in found if row.is_sane()):
        known = chains.get(row.chain)
        if known is None:
            chains[row.chain] = Chain(store, database_id, row.chain, row.polls, row.first_at, row.last_at)
        else:
            chains[row.chain] = known._replace(polls=known.polls + row.polls, last_at=max(known.last_at, row.last_at))
    there = _as_many_as_there_can_be(list(chains.values()), store, told)
    return there if is_whole else there + _without_blocks(store, database_id, there)


def _as_many_as_there_can_be(chains: list[Chain], store: Store, told: list[str]) -> list[Chain]:
    """Return the chains up to the last whose polls a store of that size can have: each has a row of its own."""
    most = store.most_rows
    many = bisect_right(list(accumulate(each.polls for each in chains)), most)
    if many < len(chains):
        told.append(f"{store.name} is damaged: its blocks tell of more than {counted(most, 'poll')}")
    return chains[:many]


def _one_by_one(store: Store, database_id: int) -> Iterator[Sequence[Any]]:
    """Yield the blocks of a damaged store that can be read: their numbers are in an index, or those of the polls."""
    numbers: Sequence[Sequence[Any]] = ()
    for table in (BLOCKS, POLLS):
        with suppress(DamagedStoreError):
            numbers = store.rows(select(table.c.poll).where(table.c.database_id == database_id))
            break
    for (number,) in numbers:
        with suppress(DamagedStoreError):
            yield from store.rows(_blocks(database_id).where(BLOCKS.c.poll == number))


def _without_blocks(store: Store, database_id: int, chains: Sequence[Chain]) -> list[Chain]:
    """Return polls in a row whose blocks are not found any more as chains: they have figures still."""
    c = POLLS.c
    covered = {poll for each in chains for poll in range(each.chain, each.chain + each.polls)}
    found: list[Chain] = []
    last = -1
    with suppress(DamagedStoreError):
        for poll, at in store.rows(select(c.poll, c.at).where(c.database_id == database_id).order_by(c.poll)):
            if type(poll) is not int or type(at) is not int or not 0 <= at < _MOST or poll in covered:
                continue
            if found and poll == last + 1 and found[-1].polls < MOST_POLLS:
                found[-1] = found[-1]._replace(polls=found[-1].polls + 1, last_at=max(at, found[-1].last_at))
            else:
                found.append(Chain(store, database_id, poll, 1, at, at))
            last = poll
    return found


def _blocks(database_id: int) -> Select[tuple[int, int, int, int, int]]:
    c = BLOCKS.c
    return select(c.poll, c.chain, c.polls, c.first_at, c.last_at).where(c.database_id == database_id)
