"""The snapshots of the last while, for scrolling back, bounded by count and by bytes.

All but the newest two are kept in temporary files without a name, so that hours of them take no memory and nothing
stays behind whatever becomes of the process. They are compressed column by column, and a column that did not change
since the snapshot before is kept once: names, programs and settings hardly ever change, counters do.
"""

from __future__ import annotations

import io
import pickle
import tempfile
import zlib
from array import array
from collections import deque
from collections.abc import Mapping
from errno import ENOSPC
from types import MappingProxyType
from typing import IO, Any, NamedTuple
from weakref import finalize

from msgspec.structs import replace

from presman.records.snapshot import Section, Snapshot

MEBIBYTE = 1 << 20
LIVE = 2
"""Newest snapshots kept as they are: the pair on show."""

PARTS = 4
"""Files that a full history fills; when one more is begun the oldest goes, and all that was in it."""

_TINY, _SMALL = 1024, 8192
"""Bytes up to which a block is left as it is, and up to which it is compressed with little memory."""

_NO_SECTIONS: Mapping[type[Any], Section] = {}

_Brief = tuple[int, tuple[Any, ...]]
"""A column's length and its values; one value only if all are the same."""

_Span = tuple[int, int]
"""Where some bytes are in a file: offset and length."""


class _Columns(NamedTuple):
    """A section without its rows; of each column the block it is in and its number there."""

    bare: Section
    places: tuple[tuple[_Span, int], ...]


class _Newest(NamedTuple):
    """The section of one kind that was packed last, what the next one is compared with, and in which snapshot."""

    section: Section
    columns: list[tuple[Any, ...]]
    packed: _Columns
    place: int


_Sections = Mapping[type[Any], "_Columns | int"]
"""The sections of a snapshot by record, or the place of the snapshot in whose record the very same section is."""


class _File:
    """Some snapshots in a row, each readable with what is in this file alone. Written at the end, read anywhere."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.close = finalize(self, file.close)
        self.size = 0
        self.in_memory = isinstance(file, io.BytesIO)
        self._snapshots = array("Q")
        self._newest: dict[type[Any], _Newest] = {}

    def __len__(self) -> int:
        return len(self._snapshots) // 2

    def append(self, snapshot: Snapshot) -> None:
        """Write a snapshot. Raises OSError if there is no room."""
        sections = {record: self._section(record, section) for record, section in snapshot.sections.items()}
        self._snapshots.extend(self._write((replace(snapshot, sections=_NO_SECTIONS), sections)))

    def read(self, place: int) -> Snapshot:
        """Return the snapshot at a place, as it was."""
        bare, found = self._record(place)
        others: dict[int, _Sections] = {}
        blocks: dict[_Span, list[_Brief]] = {}
        sections = {}
        for record, packed in found.items():
            if isinstance(packed, int):
                if packed not in others:
                    others[packed] = self._record(packed)[1]
                packed = others[packed][record]  # noqa: PLW2901
            assert isinstance(packed, _Columns)
            sections[record] = self._rows(record, packed, blocks)
        return replace(bare, sections=MappingProxyType(sections))

    def _record(self, place: int) -> tuple[Snapshot, _Sections]:
        bare, sections = self._read((self._snapshots[2 * place], self._snapshots[2 * place + 1]))
        return bare, sections

    def finish(self) -> None:
        """Let go of what only the next snapshot would have needed."""
        self._newest.clear()

    def _section(self, record: type[Any], section: Section) -> _Columns | int:
        """Write a section unless it is the very one written last; columns that did not change are written once."""
        newest = self._newest.get(record)
        if newest is not None and newest.section is section:
            return newest.place
        columns = list(zip(*section.rows, strict=True))
        shared: list[tuple[_Span, int] | None] = [None] * len(columns)
        if newest is not None and len(newest.columns) == len(columns):
            pairs = zip(columns, newest.columns, newest.packed.places, strict=True)
            shared = [place if column == old else None for column, old, place in pairs]
        changed = [_brief(column) for column, place in zip(columns, shared, strict=True) if place is None]
        block = self._write(changed) if changed else (0, 0)
        numbers = iter(range(len(changed)))
        packed = _Columns(replace(section, rows=()), tuple(place or (block, next(numbers)) for place in shared))
        if newest is not None and newest.packed == packed:
            self._newest[record] = newest._replace(section=section, columns=columns)
            return newest.place
        self._newest[record] = _Newest(section, columns, packed, len(self))
        return packed

    def _rows(self, record: Any, packed: _Columns, blocks: dict[_Span, list[_Brief]]) -> Section:
        """Make a section again; `blocks` remembers what was read already."""
        values = []
        for block, number in packed.places:
            if block not in blocks:
                blocks[block] = self._read(block)
            values.append(_whole(*blocks[block][number]))
        return replace(packed.bare, rows=tuple(map(record._make, zip(*values, strict=True))))

    def _write(self, content: Any) -> _Span:
        packed = _compressed(pickle.dumps(content, pickle.HIGHEST_PROTOCOL))
        self._file.seek(self.size)
        if self._file.write(packed) != len(packed):
            raise OSError(ENOSPC, "no room for the history")
        span = (self.size, len(packed))
        self.size += len(packed)
        return span

    def _read(self, span: _Span) -> Any:
        self._file.seek(span[0])
        # Our own bytes, from a file that nobody else can open.
        content = self._file.read(span[1])
        return pickle.loads(content if content[:1] == pickle.PROTO else zlib.decompress(content))


class History:
    """Snapshots in order of time; index 0 is the oldest that is left.

    Bounded by `count` snapshots and by `size` bytes of temporary files. Where those cannot be had or written (a full
    disk), by `memory` bytes there. Not thread safe.
    """

    def __init__(self, count: int = 3600, size: int = 128 * MEBIBYTE, memory: int = 4 * MEBIBYTE) -> None:
        self._count = max(LIVE, count)
        self._room = {False: size, True: memory}
        self._files: deque[_File] = deque()
        self._live: deque[Snapshot] = deque()

    def __len__(self) -> int:
        return sum(map(len, self._files)) + len(self._live)

    @property
    def used(self) -> int:
        """Bytes that the snapshots which are not live take, in files or in memory."""
        return sum(file.size for file in self._files)

    def append(self, snapshot: Snapshot) -> None:
        """Add the newest snapshot."""
        self._live.append(snapshot)
        if len(self._live) > LIVE:
            self._keep(self._live.popleft())

    def pair(self, index: int) -> tuple[Snapshot | None, Snapshot]:
        """Return the snapshot at `index` and the one before it (None at the oldest); negative counts from the end.

        Raises IndexError.
        """
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(index)
        return (self._at(place - 1) if place else None), self._at(place)

    def _at(self, place: int) -> Snapshot:
        for file in self._files:
            if place < len(file):
                return file.read(place)
            place -= len(file)
        return self._live[place]

    def _keep(self, snapshot: Snapshot) -> None:
        if not self._files or self._is_full(self._files[-1]):
            self._begin(_open())
        try:
            self._files[-1].append(snapshot)
        except OSError:
            self._begin(io.BytesIO())
            self._files[-1].append(snapshot)
        while len(self) > self._count or self._over(in_memory=False) or self._over(in_memory=True):
            if len(self._files) == 1:
                break
            self._files.popleft().close()

    def _begin(self, file: IO[bytes]) -> None:
        if self._files:
            self._files[-1].finish()
        self._files.append(_File(file))

    def _is_full(self, file: _File) -> bool:
        return len(file) >= max(1, self._count // PARTS) or file.size >= self._room[file.in_memory] // PARTS

    def _over(self, *, in_memory: bool) -> bool:
        return sum(file.size for file in self._files if file.in_memory is in_memory) > self._room[in_memory]


def _brief(column: tuple[Any, ...]) -> _Brief:
    first, length = column[0], len(column)
    return length, (first,) if first is column[-1] and column.count(first) == length else column


def _whole(length: int, values: tuple[Any, ...]) -> tuple[Any, ...]:
    return values * length if len(values) < length else values


def _compressed(content: bytes) -> bytes:
    """Compress what gains by it: for small blocks zlib's usual tables of 256 KiB would cost more than the work."""
    if len(content) <= _TINY:
        return content
    if len(content) > _SMALL:
        return zlib.compress(content, 1)
    squeeze = zlib.compressobj(1, zlib.DEFLATED, wbits=13, memLevel=5)
    return squeeze.compress(content) + squeeze.flush()


def _open() -> IO[bytes]:
    try:
        return tempfile.TemporaryFile(prefix="presman-", buffering=0)
    except OSError:
        return io.BytesIO()
