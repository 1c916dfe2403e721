"""Encoder: snapshots of one database, one after the other, to frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

from presman.codec.chain import (
    ABSENT,
    AT,
    MOST_GONE,
    MOVED,
    NARROW,
    NEVER,
    PROBLEM,
    REMOVED,
    ROWS,
    SECONDS,
    START,
    STEP,
    STRIDES,
    WORDS,
    step_of,
)
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
    parts: Mapping[Part, bytes]


class _Known(NamedTuple):
    """A section and its columns."""

    section: Section
    columns: tuple[Column, ...]


Rows = tuple[tuple[Any, ...], ...]


class _Seen(NamedTuple):
    """A snapshot, its sections as columns, and of each the rows that are gone since the chain began."""

    snapshot: Snapshot
    sections: dict[RecordType, _Known]
    gone: dict[RecordType, Rows]


class FrameEncoder:
    """Turns the snapshots of one chain into frames, the first into a key frame."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._last = _Seen(START, {}, {})
        self._before = dict.fromkeys((0, 1, *STRIDES), self._last)
        self._widths: dict[RecordType, int] = {}
        self.place = 0

    def add(self, snapshot: Snapshot) -> PackedFrame:
        """Return the next frame. Raises TypeError for a value that no record has."""
        known = len(self._numbers)
        step = step_of(self.place)
        before = self._before[step]
        known_ones = {record: self._known(record, each) for record, each in snapshot.sections.items()}
        seen = _Seen(snapshot, known_ones, {record: before.gone.get(record, ()) for record in known_ones})
        parts: dict[Part, bytes] = {}
        for record, new in seen.sections.items():
            old = before.sections.get(record)
            if old is None or old.section is not new.section:
                seen.gone[record] = self._pack_section(record, new, old, seen, parts)
        for record in before.sections.keys() - seen.sections.keys():
            parts[self._number(shape_text(record)), 0] = bytes((REMOVED,))
        self._last = seen
        self._before |= {each: seen for each in (1, *STRIDES) if self.place % each == 0}
        self.place += 1
        return PackedFrame(tuple(islice(self._numbers, known, None)), _bare(snapshot, before.snapshot, step), parts)

    def _number(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def _known(self, record: RecordType, section: Section) -> _Known:
        last = self._last.sections.get(record)
        if last is not None and last.section is section:
            return last
        columns = tuple(zip(*section.rows, strict=True))
        return _Known(section, last.columns if last is not None and last.columns == columns else columns)

    def _pack_section(
        self, record: RecordType, new: _Known, old: _Known | None, seen: _Seen, parts: dict[Part, bytes]
    ) -> Rows:
        """Put into `parts` what changed of a section; return its rows that are gone."""
        section, at, gone = new.section, seen.snapshot.at, seen.gone[record]
        same = old is not None and (new.columns is old.columns or new.columns == old.columns)
        places = None if same or old is None else self._places(record, new, old, gone)
        packer = Packer()
        _pack_head(section, at, (0 if same else ROWS) | (0 if places is None else MOVED), packer)
        number = self._number(shape_text(record))
        if not same:
            length, width = len(section.rows), len(new.columns)
            packer.count(length)
            bases: Sequence[Column] = old.columns if old is not None and old.columns else ((None,) * length,) * width
            if places is not None and old is not None:
                pack_numbers([place - index for index, place in enumerate(places)], packer)
                bases, gone = _moved(places, old.section.rows, gone, width)
            for index, (column, base) in enumerate(zip(new.columns, bases, strict=True)):
                if column is not base and column != base:
                    parts[number, index + 1] = pack_column(column, base, self._number)
        parts[number, 0] = bytes(packer.bytes)
        return gone

    def _places(self, record: RecordType, new: _Known, old: _Known, gone: Rows) -> list[int] | None:
        """Return for each row its place before, behind those the place of one that is gone, -1 for a new one.

        None where all stayed where they were.
        """
        if not old.columns and not gone:
            return None
        if not new.columns:
            return []
        if record not in self._widths:
            self._widths[record] = _key_width(new.columns)
        width = self._widths[record]
        if new.columns[:width] == old.columns[:width]:
            return None
        before = {key: place for place, key in enumerate(zip(*old.columns[:width], strict=True))}
        keys = list(zip(*new.columns[:width], strict=True))
        places = [before.get(key, -1) for key in keys]
        if gone and -1 in places:
            first = len(old.section.rows)
            returned = {row[:width]: first + place for place, row in reversed(list(enumerate(gone)))}
            places = [returned.get(key, -1) if place < 0 else place for key, place in zip(keys, places, strict=True)]
        return places


def _pack_head(section: Section, at: datetime, flags: int, packer: Packer) -> None:
    """Write what is told of a section besides its rows; the `flags` are those of its rows."""
    milliseconds = max(0, round(section.seconds * 1000))
    flags |= NEVER if section.at is None else AT if section.at != at else 0
    flags |= (SECONDS if milliseconds else 0) | (PROBLEM if section.problem else 0)
    packer.count(flags | (ABSENT if section.absent else 0))
    if flags & AT and section.at is not None:
        packer.signed(microseconds(section.at) - microseconds(at))
    if flags & SECONDS:
        packer.count(milliseconds)
    if section.problem is not None:
        pack_problem(section.problem, packer)
    if section.absent:
        packer.count(len(section.absent))
        for name in sorted(section.absent):
            packer.text(name)


def _key_width(columns: Sequence[Column]) -> int:
    """Return how many of the first columns tell rows apart. Any number is right; a good one makes frames small."""
    length = len(columns[0])
    widest = min(_WIDEST_KEY, len(columns))
    fitting = (n for n in range(1, widest) if len(set(zip(*columns[:n], strict=True))) == length)
    return next(fitting, widest)


def _moved(places: Sequence[int], rows: Rows, gone: Rows, width: int) -> tuple[Sequence[Column], Rows]:
    """Return what each column is compared with, and the rows that are gone now, those that went last first."""
    table = (*rows, *gone, (None,) * width)  # a new row, of place -1, is compared with the last
    used = set(places)
    left = [row for place, row in enumerate(table[:-1]) if place not in used][:MOST_GONE]
    return list(zip(*[table[place] for place in places], strict=True)), tuple(left)


def _bare(new: Snapshot, old: Snapshot, step: int) -> bytes:
    """Return what is said of a poll as a whole: instants and numbers as differences, texts where they changed."""
    packer = Packer()
    packer.signed(microseconds(new.at) - microseconds(old.at))
    for name in ("number", "epoch", "round_trips", "statements_to_come"):
        packer.signed(getattr(new, name) - getattr(old, name))
    packer.double(new.seconds)
    words = (new.target, new.kind, new.release, new.scope, new.cloud_service, new.notes)
    same = words == (old.target, old.kind, old.release, old.scope, old.cloud_service, old.notes)
    packer.count(STEP | (0 if same else WORDS) | (0 if new.lists_idle else NARROW))
    packer.count(step)
    if not same:
        for text in (new.target, new.kind, f"{new.release.major}.{new.release.minor}", new.scope.value):
            packer.text(text)
        packer.text(new.cloud_service)
        packer.count(len(new.notes))
        for note in new.notes:
            packer.text(note)
    return bytes(packer.bytes)
