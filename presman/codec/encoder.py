"""Encoder: snapshots of one database, one after the other, to frames."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from presman.codec.chain import ABSENT, AT, MOVED, NEVER, PROBLEM, REMOVED, ROWS, SECONDS, START, STRIDES, stride
from presman.codec.column_codec import Column, pack_column
from presman.codec.number_arrays import pack_numbers
from presman.codec.packing import Packer
from presman.codec.shapes import shape_text
from presman.codec.values import microseconds, pack_problem
from presman.records.rows import RecordType
from presman.records.snapshot import Section, Snapshot

_WIDEST_KEY = 6


Part = tuple[int, int]
"""The number of a shape in the dictionary; 0 for what is told of the section, else the number of a column from 1."""


class PackedFrame(NamedTuple):
    """One snapshot: texts that come into the chain's dictionary with it, what is said of the poll, and what changed."""

    texts: tuple[str, ...]
    bare: bytes
    parts: dict[Part, bytes]


class _Known(NamedTuple):
    """A section and its columns."""

    section: Section
    columns: tuple[Column, ...]


class _Seen(NamedTuple):
    """A snapshot and its sections as columns."""

    snapshot: Snapshot
    sections: dict[RecordType, _Known]


class FrameEncoder:
    """Turns the snapshots of one chain into frames, the first into a key frame."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._last = _Seen(START, {})
        self._before = dict.fromkeys((0, 1, *STRIDES), self._last)
        self._widths: dict[RecordType, int] = {}
        self.place = 0

    def add(self, snapshot: Snapshot) -> PackedFrame:
        """Return the next frame. Raises TypeError for a value that no record has."""
        known = len(self._numbers)
        before = self._before[stride(self.place)]
        seen = _Seen(snapshot, {record: self._known(record, each) for record, each in snapshot.sections.items()})
        parts: dict[Part, bytes] = {}
        for record, new in seen.sections.items():
            old = before.sections.get(record)
            if old is None or old.section is not new.section:
                self._pack_section(record, new, old, snapshot, parts)
        for record in before.sections.keys() - seen.sections.keys():
            parts[self._number(shape_text(record)), 0] = bytes((REMOVED,))
        self._last = seen
        self._before |= {each: seen for each in (1, *STRIDES) if self.place % each == 0}
        self.place += 1
        return PackedFrame(tuple(islice(self._numbers, known, None)), _bare(snapshot, before.snapshot), parts)

    def _number(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def _known(self, record: RecordType, section: Section) -> _Known:
        last = self._last.sections.get(record)
        if last is not None and last.section is section:
            return last
        columns = tuple(zip(*section.rows, strict=True))
        return _Known(section, last.columns if last is not None and last.columns == columns else columns)

    def _pack_section(
        self, record: RecordType, new: _Known, old: _Known | None, snapshot: Snapshot, parts: dict[Part, bytes]
    ) -> None:
        packer = Packer()
        section = new.section
        same = old is not None and (new.columns is old.columns or new.columns == old.columns)
        places = None if same or old is None else self._places(record, new, old)
        milliseconds = max(0, round(section.seconds * 1000))
        flags = NEVER if section.at is None else AT if section.at != snapshot.at else 0
        flags |= (SECONDS if milliseconds else 0) | (PROBLEM if section.problem else 0)
        flags |= (ABSENT if section.absent else 0) | (0 if same else ROWS) | (MOVED if places is not None else 0)
        packer.count(flags)
        if flags & AT and section.at is not None:
            packer.signed(microseconds(section.at) - microseconds(snapshot.at))
        if flags & SECONDS:
            packer.count(milliseconds)
        if section.problem is not None:
            pack_problem(section.problem, packer)
        if flags & ABSENT:
            packer.count(len(section.absent))
            for name in sorted(section.absent):
                packer.text(name)
        number = self._number(shape_text(record))
        if not same:
            length = len(section.rows)
            packer.count(length)
            if places is not None:
                pack_numbers([place - index for index, place in enumerate(places)], packer)
            bases = _bases(old, places, length, len(new.columns))
            for index, (column, base) in enumerate(zip(new.columns, bases, strict=True)):
                if column is not base and column != base:
                    parts[number, index + 1] = pack_column(column, base, self._number)
        parts[number, 0] = bytes(packer.bytes)

    def _places(self, record: RecordType, new: _Known, old: _Known) -> list[int] | None:
        """Return for each row its place before, -1 for a new one; None where all stayed where they were."""
        if not old.columns:
            return None
        if not new.columns:
            return []
        if record not in self._widths:
            self._widths[record] = _key_width(new.columns)
        width = self._widths[record]
        if new.columns[:width] == old.columns[:width]:
            return None
        before = {key: place for place, key in enumerate(zip(*old.columns[:width], strict=True))}
        return [before.get(key, -1) for key in zip(*new.columns[:width], strict=True)]


def _key_width(columns: Sequence[Column]) -> int:
    """Return how many of the first columns tell rows apart. Any number is right; a good one makes frames small."""
    length = len(columns[0])
    widest = min(_WIDEST_KEY, len(columns))
    fitting = (n for n in range(1, widest) if len(set(zip(*columns[:n], strict=True))) == length)
    return next(fitting, widest)


def _bases(old: _Known | None, places: list[int] | None, length: int, width: int) -> Sequence[Column]:
    """Return what each column is compared with: the column before, in the new order of rows, None for new ones."""
    if old is None or not old.columns or not width:
        return ((None,) * length,) * width
    if places is None:
        return old.columns
    return [tuple([column[place] for place in places]) for column in ((*each, None) for each in old.columns)]


def _bare(new: Snapshot, old: Snapshot) -> bytes:
    """Return what is said of a poll as a whole: instants and numbers as differences, texts where they changed."""
    packer = Packer()
    packer.signed(microseconds(new.at) - microseconds(old.at))
    for name in ("number", "epoch", "round_trips", "statements_to_come"):
        packer.signed(getattr(new, name) - getattr(old, name))
    packer.double(new.seconds)
    words = (new.target, new.kind, new.release, new.scope, new.cloud_service, new.notes)
    same = words == (old.target, old.kind, old.release, old.scope, old.cloud_service, old.notes)
    packer.count(0 if same else 1)
    if not same:
        for text in (new.target, new.kind, f"{new.release.major}.{new.release.minor}", new.scope.value):
            packer.text(text)
        packer.text(new.cloud_service)
        packer.count(len(new.notes))
        for note in new.notes:
            packer.text(note)
    return bytes(packer.bytes)
