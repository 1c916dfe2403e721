"""Chain index: which polls of a database stand in which chain of which store, without reading any of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import Select, select

from presman.codec.frame_blocks import MOST_FRAMES
from presman.recording.schema import BLOCKS
from presman.recording.store import RecordingError, Store

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
        return all(type(each) is int and 0 <= each < _MOST for each in self) and 0 < self.polls <= MOST_FRAMES


def read_chains(store: Store, database_id: int, told: list[str]) -> list[Chain]:
    """Return the chains of a database in one store; what cannot be read is told, and the rest found from the end."""
    found: dict[int, _BlockRow] = {}
    for descending in (False, True):
        try:
            with store.saying(), store.engine.connect() as connection:
                for values in connection.execute(_blocks(database_id, descending=descending)):
                    row = _BlockRow._make(values)
                    if row.is_sane():
                        found[row.poll] = row
                    else:
                        told.append(f"{store.name}: a block that no recorder wrote is passed over")
            break
        except RecordingError as error:
            told.append(str(error))
    chains: dict[int, Chain] = {}
    for _, row in sorted(found.items()):
        known = chains.get(row.chain)
        if known is None:
            chains[row.chain] = Chain(store, database_id, row.chain, row.polls, row.first_at, row.last_at)
        else:
            chains[row.chain] = known._replace(polls=known.polls + row.polls, last_at=max(known.last_at, row.last_at))
    return list(chains.values())


def _blocks(database_id: int, *, descending: bool) -> Select[tuple[int, int, int, int, int]]:
    c = BLOCKS.c
    order = c.poll.desc() if descending else c.poll
    return select(c.poll, c.chain, c.polls, c.first_at, c.last_at).where(c.database_id == database_id).order_by(order)
