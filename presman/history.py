"""The snapshots of the last while, for scrolling back: a ring bounded by count and by bytes.

All but the newest are kept as compressed columns, and a column that did not change since the snapshot before is
kept once: names, programs and settings hardly ever change, counters do.
"""

from __future__ import annotations

import pickle
import zlib
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from presman.snapshot import Section, Snapshot

MEBIBYTE = 1 << 20
LIVE = 2
"""Newest snapshots kept as they are: the pair on show."""

_NO_SECTIONS: Mapping[type[Any], Section] = MappingProxyType({})


class _Columns(NamedTuple):
    """A section without its rows; of each column the block it is in and its place there."""

    bare: Section
    places: tuple[tuple[bytes, int], ...]


class _Kept(NamedTuple):
    """A snapshot without its sections, its sections packed, and the bytes that came with it."""

    bare: Snapshot
    sections: Mapping[type[Any], _Columns]
    added: int


class _Newest(NamedTuple):
    """The section of one kind that was packed last: what the next one is compared with."""

    section: Section
    columns: list[tuple[Any, ...]]
    packed: _Columns


class History:
    """Snapshots in order of time; index 0 is the oldest that is left.

    Bounded by `count` snapshots and by `size`, the bytes of the compressed ones. Not thread safe.
    """

    def __init__(self, count: int = 3600, size: int = 6 * MEBIBYTE) -> None:
        self._count = max(LIVE, count)
        self._size = size
        self._used = 0
        self._kept: deque[_Kept] = deque()
        self._live: deque[Snapshot] = deque()
        self._newest: dict[type[Any], _Newest] = {}

    def __len__(self) -> int:
        return len(self._kept) + len(self._live)

    @property
    def used(self) -> int:
        """Bytes that the compressed snapshots take (a block still shared with a newer one is not counted twice)."""
        return self._used

    @property
    def times(self) -> tuple[datetime, ...]:
        """The instant of every snapshot, oldest first."""
        return (*(kept.bare.at for kept in self._kept), *(snapshot.at for snapshot in self._live))

    def append(self, snapshot: Snapshot) -> None:
        """Add the newest snapshot."""
        self._live.append(snapshot)
        if len(self._live) > LIVE:
            self._keep(self._live.popleft())
        while self._kept and (len(self) > self._count or self._used > self._size):
            self._used -= self._kept.popleft().added

    def pair(self, index: int) -> tuple[Snapshot | None, Snapshot]:
        """Return the snapshot at `index` and the one before it (None at the oldest); negative counts from the end.

        Raises IndexError.
        """
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(index)
        return (self._at(place - 1) if place else None), self._at(place)

    def _at(self, place: int) -> Snapshot:
        if place >= len(self._kept):
            return self._live[place - len(self._kept)]
        kept = self._kept[place]
        blocks: dict[int, list[tuple[int, tuple[Any, ...]]]] = {}
        sections = {record: _unpack(record, columns, blocks) for record, columns in kept.sections.items()}
        return replace(kept.bare, sections=MappingProxyType(sections))

    def _keep(self, snapshot: Snapshot) -> None:
        added = 0
        sections = {}
        for record, section in snapshot.sections.items():
            newest = self._newest.get(record)
            if newest is None or newest.section is not section:
                newest, size = _pack(section, newest)
                self._newest[record] = newest
                added += size
            sections[record] = newest.packed
        self._kept.append(_Kept(replace(snapshot, sections=_NO_SECTIONS), MappingProxyType(sections), added))
        self._used += added


def _pack(section: Section, before: _Newest | None) -> tuple[_Newest, int]:
    """Pack a section, sharing the columns that equal those of `before`; return also the bytes this took."""
    columns = list(zip(*section.rows, strict=True))
    shared: list[tuple[bytes, int] | None] = [None] * len(columns)
    if before is not None and len(before.columns) == len(columns):
        pairs = zip(columns, before.columns, before.packed.places, strict=True)
        shared = [place if column == old else None for column, old, place in pairs]
    changed = [_brief(column) for column, place in zip(columns, shared, strict=True) if place is None]
    block = zlib.compress(pickle.dumps(changed, pickle.HIGHEST_PROTOCOL), 1) if changed else b""
    numbers = iter(range(len(changed)))
    places = tuple(place or (block, next(numbers)) for place in shared)
    if before is not None and places == before.packed.places:
        places = before.packed.places
    size = len(block) + (16 * len(places) if changed else 0) + 200
    return _Newest(section, columns, _Columns(replace(section, rows=()), places)), size


def _unpack(record: Any, columns: _Columns, blocks: dict[int, list[tuple[int, tuple[Any, ...]]]]) -> Section:
    """Make a section again; `blocks` remembers what was decompressed already."""
    values = []
    for block, number in columns.places:
        if id(block) not in blocks:
            # Our own bytes, from this process's memory.
            blocks[id(block)] = pickle.loads(zlib.decompress(block))
        values.append(_whole(*blocks[id(block)][number]))
    return replace(columns.bare, rows=tuple(map(record._make, zip(*values, strict=True))))


def _brief(column: tuple[Any, ...]) -> tuple[int, tuple[Any, ...]]:
    """Return a column's length and its values; just one of them if all are the same."""
    first, length = column[0], len(column)
    return length, (first,) if first is column[-1] and column.count(first) == length else column


def _whole(length: int, values: tuple[Any, ...]) -> tuple[Any, ...]:
    return values * length if len(values) < length else values
