"""Decoder: frames to snapshots.

The frames may come from a stranger: sizes are bounded, types checked, texts cleaned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec.structs import replace

from presman.base.release import Release
from presman.base.text import clean, clean_lines
from presman.codec.chain import (
    ABSENT,
    AT,
    FEW_VALUES,
    LONGEST_WAY,
    MOST_GONE,
    MOST_ROWS,
    MOST_VALUES,
    MOVED,
    NARROW,
    NEVER,
    PROBLEM,
    REMOVED,
    ROWS,
    SECONDS,
    START,
    STEP,
    VALUES_PER_BYTE,
    WORDS,
    step_of_format_1,
)
from presman.codec.column_codec import Column, is_dear, is_sane, unpack_column
from presman.codec.encoder import PackedFrame, Part
from presman.codec.number_arrays import unpack_numbers
from presman.codec.packing import DamagedError, Unpacker
from presman.codec.shapes import Shape, shape_of
from presman.codec.values import instant, microseconds, unpack_problem
from presman.records.queries import Scope
from presman.records.rows import RecordType
from presman.records.snapshot import Problem, Section, Snapshot

_STATES = 6
"""Frames read last that are remembered, beside those that lead to others."""


class _Rows:
    """The columns of a section, and its rows once somebody wants them; shared by sections with the same rows.

    `values` are how many it has, `own` how many of them no other one shares.
    """

    __slots__ = ("_made", "columns", "length", "own", "values")

    def __init__(self, columns: tuple[Column, ...], length: int, own: int = 0) -> None:
        self.columns = columns
        self.length = length
        self.values = length * len(columns)
        self.own = own
        self._made: tuple[Any, ...] | None = None

    def records(self, shape: Shape) -> tuple[Any, ...]:
        """Return the rows as the records of today."""
        if self._made is None:
            columns: Sequence[Column] = self.columns
            if not shape.is_of_today and self.length:
                nulls = [(null,) * self.length for null in shape.nulls()]
                columns = [self.columns[place] if place >= 0 else nulls[own] for own, place in enumerate(shape.places)]
            make = shape.record._make  # type: ignore[union-attr]
            self._made = tuple(map(make, zip(*columns, strict=True)))
        return self._made


Gone = tuple[tuple[Any, ...], ...]
"""Rows of a section that are gone, those that went last first."""


class _Read(NamedTuple):
    """A section without its rows, and those."""

    shape: Shape
    at: datetime | None
    seconds: float
    problem: Problem | None
    absent: frozenset[str]
    rows: _Rows
    gone: Gone

    def section(self) -> Section:
        absent = self.absent | self.shape.lacking
        return Section(self.rows.records(self.shape), self.at, self.seconds, self.problem, absent)


class _State(NamedTuple):
    """A snapshot without its sections, and those by record name; how many values no other state shares."""

    bare: Snapshot
    sections: Mapping[str, _Read]
    own: int


_NOTHING = _State(START, MappingProxyType({}), 0)


class FrameDecoder:
    """The snapshots of one chain, by place. Raises DamagedError where frames make no sense.

    `frames` are all of the chain, from its key frame on, which takes `packed` bytes. `trusted` leaves out what only
    recordings of strangers need.
    """

    def __init__(self, frames: Sequence[PackedFrame], packed: int = 0, *, trusted: bool = False) -> None:
        self._frames = frames
        self._most = MOST_VALUES if trusted else min(MOST_VALUES, FEW_VALUES + VALUES_PER_BYTE * packed)
        self._values = 0
        self._texts = [text for frame in frames for text in frame.texts]
        self._trusted = trusted
        self._shapes: dict[int, Shape] = {}
        self._cleaned: dict[tuple[int, int], str] = {}
        self._states: dict[int, _State] = {}
        self._steps: dict[int, int] = {}
        self._sections: dict[int, tuple[_Read, Section]] = {}

    def __len__(self) -> int:
        return len(self._frames)

    def snapshot(self, place: int) -> Snapshot:
        """Return the snapshot at a place."""
        state = self._state(place)
        sections: dict[RecordType, Section] = {}
        made: dict[int, tuple[_Read, Section]] = {}
        for read in state.sections.values():
            if read.shape.record is not None:
                found = self._sections.get(id(read))
                section = found[1] if found is not None else read.section()
                made[id(read)] = (read, section)
                sections[read.shape.record] = section
        self._sections = made
        return replace(state.bare, sections=MappingProxyType(sections))

    @property
    def is_large(self) -> bool:
        """Whether what is kept of it takes so much room that it is not kept beside that of other chains."""
        return sum(each.own for each in self._states.values()) > FEW_VALUES // 4

    def at(self, place: int) -> datetime:
        """Return the instant of a snapshot."""
        return self._state(place).bare.at

    def _state(self, place: int) -> _State:
        """Return a state, by way of the frames it is the difference to."""
        if not 0 <= place < len(self._frames):
            raise IndexError(place)
        way = [place]
        while way[-1] not in self._states and (step := self._step(way[-1])):
            way.append(way[-1] - step)
            if len(way) > LONGEST_WAY:
                raise DamagedError("a frame too far from the first")
        for each in reversed(way):
            if each not in self._states:
                step = self._step(each)
                self._states[each] = self._apply(self._frames[each], self._states[each - step] if step else _NOTHING)
                self._forget()
        return self._states[place]

    def _forget(self) -> None:
        """Let go of the states that lead to no others, but some, and of more where they are large; never the newest."""
        passing = [each for each in self._states if self._step(each) == 1]
        for each in passing[:-_STATES]:
            del self._states[each]
        own = sum(each.own for each in self._states.values())
        while own > self._most and len(self._states) > 1:
            own -= self._states.pop(next(iter(self._states))).own

    def _step(self, place: int) -> int:
        """Return how far before a frame the one is that it is the difference to; 0 for one that is none."""
        if place not in self._steps:
            try:
                self._steps[place] = _step(self._frames[place].bare, place)
            except IndexError as error:
                raise DamagedError(type(error).__name__) from None
        return self._steps[place]

    def _apply(self, frame: PackedFrame, before: _State) -> _State:
        try:
            bare = _unpack_bare(Unpacker(frame.bare), before.bare, self._word)
            sections = dict(before.sections)
            self._values, own = sum(each.rows.values for each in sections.values()), 0
            for number, head, columns in _by_section(frame.parts):
                shape, unpacker = self._shape(number), Unpacker(head)
                flags = unpacker.count(255)
                old = sections.get(shape.name)
                self._values -= old.rows.values if old is not None else 0
                if flags & REMOVED:
                    sections.pop(shape.name, None)
                    continue
                read = sections[shape.name] = self._section(shape, flags, old, bare.at, unpacker, columns)
                self._values += read.rows.values
                own += read.rows.own if old is None or read.rows is not old.rows else 0
        except (ValueError, OverflowError, IndexError, TypeError) as error:
            raise error if isinstance(error, DamagedError) else DamagedError(type(error).__name__) from None
        return _State(bare, sections, own)

    def _shape(self, number: int) -> Shape:
        if number not in self._shapes:
            if number >= len(self._texts):
                raise DamagedError("a section of no record")
            self._shapes[number] = shape_of(self._texts[number])
        return self._shapes[number]

    def _section(
        self,
        shape: Shape,
        flags: int,
        old: _Read | None,
        at: datetime,
        unpacker: Unpacker,
        parts: Sequence[tuple[int, bytes]],
    ) -> _Read:
        when: datetime | None = None if flags & NEVER else at
        if flags & AT:
            when = instant(microseconds(at) + unpacker.signed())
        seconds = unpacker.count(1 << 40) / 1000 if flags & SECONDS else 0.0
        problem = unpack_problem(unpacker) if flags & PROBLEM else None
        if problem is not None and not self._trusted:
            code, text, view, cure = map(clean, (problem.code, problem.text, problem.view, problem.cure))
            problem = Problem(code, text, view, cure, problem.late)
        names = frozenset(unpacker.text() for _ in range(unpacker.count(400))) if flags & ABSENT else frozenset()
        if not flags & ROWS:
            if old is None or old.shape is not shape:
                raise DamagedError("a section that was not there")
            return _Read(shape, when, seconds, problem, names, old.rows, old.gone)
        return _Read(shape, when, seconds, problem, names, *self._rows(shape, flags, old, unpacker, parts))

    def _rows(
        self, shape: Shape, flags: int, old: _Read | None, unpacker: Unpacker, parts: Sequence[tuple[int, bytes]]
    ) -> tuple[_Rows, Gone]:
        length, width = unpacker.count(MOST_ROWS), len(shape.fields)
        weight = self._values + length * (width + sum(is_dear(content) for _, content in parts))
        if weight > self._most and not self._trusted:
            raise DamagedError(f"it unfolds to {weight:,} values")
        bases, gone = _old_columns(old, width), old.gone if old is not None else ()
        if flags & MOVED:
            bases, gone = _moved(unpack_numbers(length, unpacker), bases, gone, width)
        elif old is None or not old.rows.columns:
            bases = [(None,) * length] * width
        columns = list(bases)
        if columns and len(columns[0]) != length:
            raise DamagedError("rows that do not fit")
        own = length * (width if flags & MOVED else len(parts))
        for index, content in parts:
            if index >= width:
                raise DamagedError("more columns than fields")
            columns[index] = self._column(shape, index, bases[index], content)
        return _Rows(tuple(columns) if length else (), length, own), gone

    def _column(self, shape: Shape, index: int, base: Column, content: bytes) -> Column:
        found = unpack_column(
            base, self._text if not shape.longest[index] else partial(self._lines, shape.longest[index]), content
        )
        kinds = shape.kinds[index]
        if kinds is None or self._trusted:
            return found
        if not is_sane(found, content):
            raise DamagedError(f"{shape.name}.{shape.fields[index]} without end")
        if content[0] in shape.tags[index]:
            return found
        if not set(map(type, found)) <= kinds:
            raise DamagedError(f"{shape.name}.{shape.fields[index]} of another kind")
        return found

    def _text(self, number: int) -> str:
        return self._lines(0, number)

    def _lines(self, longest: int, number: int) -> str:
        found = self._cleaned.get((number, longest))
        if found is None:
            if not 0 <= number < len(self._texts):
                raise DamagedError("a text that is not there")
            found = self._texts[number]
            if not self._trusted:
                found = clean_lines(found, longest) if longest else clean(found)
            self._cleaned[number, longest] = found
        return found

    def _word(self, text: str) -> str:
        return text if self._trusted else clean(text)


def _by_section(parts: Mapping[Part, bytes]) -> list[tuple[int, bytes, list[tuple[int, bytes]]]]:
    """Return for each section its shape's number, what is told of it, and its changed columns by number from 0."""
    columns: dict[int, list[tuple[int, bytes]]] = {number: [] for number, column in parts if not column}
    for (number, column), content in parts.items():
        if column:
            if number not in columns:
                raise DamagedError("a column of no section")
            columns[number].append((column - 1, content))
    return [(number, parts[number, 0], own) for number, own in columns.items()]


def _old_columns(old: _Read | None, width: int) -> Sequence[Column]:
    if old is None or not old.rows.columns:
        return ((),) * width
    if len(old.rows.columns) != width:
        raise DamagedError("other fields than before")
    return old.rows.columns


def _moved(shifts: Sequence[int], columns: Sequence[Column], gone: Gone, width: int) -> tuple[Sequence[Column], Gone]:
    """Return the columns before in the new order of rows, None for new ones, and the rows that are gone now."""
    rows = [*zip(*columns, strict=True), *gone]
    places = [shift + index for index, shift in enumerate(shifts)]
    if places and not -1 <= min(places) <= max(places) < max(len(rows), 1):
        raise DamagedError("rows that were not there")
    used = set(places)
    left = [row for place, row in enumerate(rows) if place not in used][:MOST_GONE]
    rows.append((None,) * width)
    return list(zip(*[rows[place] for place in places], strict=True)) or [()] * width, tuple(left)


def _step(bare: bytes, place: int) -> int:
    """Return how far before a frame at `place` the one is that it is the difference to. Raises DamagedError."""
    unpacker = Unpacker(bare)
    for _ in range(5):
        unpacker.signed()
    unpacker.double()
    if not unpacker.count(WORDS | NARROW | STEP) & STEP:
        return step_of_format_1(place)
    step = unpacker.count(place)
    if bool(step) is not bool(place):
        raise DamagedError("a frame that is the difference to none")
    return step


def _unpack_bare(unpacker: Unpacker, old: Snapshot, word: Callable[[str], str]) -> Snapshot:
    at = instant(microseconds(old.at) + unpacker.signed())
    number, epoch = old.number + unpacker.signed(), old.epoch + unpacker.signed()
    round_trips, to_come = old.round_trips + unpacker.signed(), old.statements_to_come + unpacker.signed()
    seconds = unpacker.double()
    words = (old.target, old.kind, old.release, old.scope, old.cloud_service, old.notes)
    flags = unpacker.count(WORDS | NARROW | STEP)
    if flags & STEP:
        unpacker.count()
    if flags & WORDS:
        target, kind, release, scope, service = (word(unpacker.text()) for _ in range(5))
        notes = tuple(word(unpacker.text()) for _ in range(unpacker.count(10_000)))
        words = (target, kind, Release.parse(release), Scope(scope), service, notes)
    target, kind, version, where, service, notes = words
    return Snapshot(
        target,
        kind,
        version,
        where,
        at,
        number,
        epoch,
        seconds,
        round_trips,
        MappingProxyType({}),
        service,
        notes,
        to_come,
        not flags & NARROW,
    )
