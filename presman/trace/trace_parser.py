"""Parser of a piece of a trace: its waits, in their order or only counted.

Lines are not split: one compiled expression runs over a whole piece (:mod:`presman.trace.wait_lines`). Where it does
not explain every start of a wait, because lines are wrapped or damaged, one that follows wrapped lines runs instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from presman.base.text import clean, one_line
from presman.trace.tally import EventTallies
from presman.trace.wait_lines import (
    BLOCKS,
    COUNTED,
    IDLE,
    LINE,
    LONGEST_WAIT,
    PLAIN,
    START,
    WRAPPED,
    EventSelection,
    is_pattern,
    moved,
)

IMPLAUSIBLE = 10**15
"""Microseconds (32 years) from which an elapsed time is damage or an underflow, not a wait."""

_EXAMPLE = 70
"""Characters of a line that is shown."""

_MOST_NAMES = 10_000
_MOST_DIGITS = 50_000


class WaitColumns(NamedTuple):
    """Waits in the order of the trace, as columns of one length."""

    events: Sequence[str]
    elapsed: Sequence[int]
    """Microseconds."""
    blocks: Sequence[int | None]
    """None where the line does not tell, and for events that move no blocks."""


class Name(NamedTuple):
    """What is to be known of an event as a trace names it."""

    event: str
    wanted: bool
    left_out: bool
    """Because it is idle."""
    blocks_at: int
    """Of its parameter that counts blocks, 2 or 3; 0 if none does."""


class _Names(dict[bytes, Name]):
    """Names as they stand in a trace. One that a wrap broke is mended if the event is known.

    Names already met are known, and so are idle events, those that move blocks and those asked for.
    """

    def __init__(self, selection: EventSelection) -> None:
        super().__init__()
        self._selection = selection
        wished = (name for name in selection.names if not is_pattern(name))
        self._known = {squeezed(name): name for name in (*wished, *IDLE, *BLOCKS)}

    def __missing__(self, raw: bytes) -> Name:
        text, whole = raw.decode("utf-8", "replace"), b"\n" not in raw
        event = clean(" ".join(text.split()))
        if whole and len(self._known) < _MOST_NAMES:
            self._known.setdefault(squeezed(event), event)
        event = self._known.get(squeezed(event), event)
        wanted = self._selection.names_event(event)
        left_out = wanted and self._selection.leaves_out(event)
        # A line whose name is damaged is not trusted to tell blocks at their place.
        blocks_at = BLOCKS.get(event, 0) if not whole or text.casefold() == event.casefold() else 0
        name = Name(event, wanted and not left_out, left_out, blocks_at)
        if whole and len(self) < _MOST_NAMES:
            self[raw] = name
        return name


class _Numbers(dict[bytes, int]):
    """Digits to numbers, remembered: looking one up is faster than reading it."""

    def __missing__(self, digits: bytes) -> int:
        number = self[digits] = int(b"".join(digits.split()))
        return number


class _Blocks(dict[bytes, int | None]):
    """The same of numbers of blocks; None where there is none, or it cannot be one."""

    def __missing__(self, digits: bytes) -> int | None:
        joined = b"".join(digits.split())
        number = self[digits] = int(joined) if joined.isdigit() else None
        return number


class TraceParser:
    """Finds the waits of a selection in the pieces of one trace.

    `unit` is what one tick of ``ela=`` is worth in microseconds: 1 from 9i on, 10,000 before.
    `damaged` counts waits skipped for an implausible elapsed time, `idle` those left out as idle. `understood` counts
    the lines of waits that were read, of any event; `unread` those that were not understood, `example` is the first.
    """

    def __init__(self, selection: EventSelection, *, unit: int = 1) -> None:
        self.damaged = 0
        self.idle = 0
        self.understood = 0
        self.unread = 0
        self.example = ""
        self._unit = unit
        self._names = _Names(selection)
        self._numbers = _Numbers()
        self._moved_by_wait = _Blocks()
        self._moved = moved(event for event in BLOCKS if selection.names_event(event))
        self._times: Counter[bytes] = Counter()
        self._blocks: Counter[tuple[bytes, ...]] = Counter()

    def waits(self, piece: bytes) -> WaitColumns:
        """Return the waits of a piece in their order."""
        rows = PLAIN.findall(piece)
        if len(rows) != piece.count(START):
            rows = WRAPPED.findall(piece)
            self._note_unread(piece, len(rows))
        self.understood += len(rows)
        for remembered in (self._numbers, self._moved_by_wait):
            if len(remembered) > _MOST_DIGITS:
                remembered.clear()
        names, numbers, blocks = self._names, self._numbers, self._moved_by_wait
        named = [(names[row[0]], row) for row in rows]
        wanted = [pair for pair in named if pair[0].wanted]
        if len(wanted) < len(named):
            self.idle += len([None for name, _ in named if name.left_out])
        return self._checked(
            WaitColumns(
                [name.event for name, _ in wanted],
                [numbers[row[1]] * self._unit for _, row in wanted],
                [blocks[row[name.blocks_at]] if name.blocks_at else None for name, row in wanted],
            )
        )

    def _note_unread(self, piece: bytes, understood: int) -> None:
        """Count the lines of waits that no expression explains, and keep the first."""
        missed = len(LINE.findall(piece)) - understood
        if missed > 0 and not self.unread:
            known = {found.start() for found in WRAPPED.finditer(piece)}
            starts = (found.end() - len(START) for found in LINE.finditer(piece))
            start = next(each for each in starts if each not in known)
            line = piece[start : start + LONGEST_WAIT].splitlines()[0]
            self.example = one_line(clean(line.decode("utf-8", "replace")), _EXAMPLE)
        self.unread += max(0, missed)

    def _checked(self, waits: WaitColumns) -> WaitColumns:
        """Return `waits` without those whose elapsed time cannot be one."""
        if not waits.elapsed or (min(waits.elapsed) >= 0 and max(waits.elapsed) < IMPLAUSIBLE):
            return waits
        good = [row for row in zip(*waits, strict=True) if 0 <= row[1] < IMPLAUSIBLE]
        self.damaged += len(waits.elapsed) - len(good)
        return WaitColumns(*zip(*good, strict=True)) if good else WaitColumns((), (), ())

    def count(self, piece: bytes, ledger: EventTallies) -> None:
        """Count the waits of a piece, whose order is of no matter; what was counted reaches `ledger` with `settle`.

        Texts are counted as they stand and read once for all waits that look alike, which is several times faster.
        """
        texts = COUNTED.findall(piece)
        if len(texts) != piece.count(START) or b"\n" in b"".join(texts):
            ledger.add(*self.waits(piece))
            return
        self.understood += len(texts)
        self._times.update(texts)
        if self._moved:
            self._blocks.update(self._moved.findall(piece))
        if len(self._times) + len(self._blocks) > _MOST_DIGITS:
            self.settle(ledger)

    def settle(self, ledger: EventTallies) -> None:
        """Hand over to `ledger` what was counted."""
        counts: dict[str, dict[int, int]] = {}
        for text, waits in self._times.items():
            raw, _, ticks = text.partition(b"'")
            name = self._names[raw]
            elapsed = int(ticks.partition(b"=")[2]) * self._unit
            if not name.wanted:
                self.idle += waits * name.left_out
            elif 0 <= elapsed < IMPLAUSIBLE:
                times = counts.setdefault(name.event, {})
                times[elapsed] = times.get(elapsed, 0) + waits
            else:
                self.damaged += waits
        blocks: Counter[str] = Counter()
        for groups, waits in self._blocks.items():
            raw, digits = filter(None, groups)
            blocks[self._names[raw].event] += int(digits) * waits
        ledger.count(counts, blocks)
        self._times.clear()
        self._blocks.clear()


def squeezed(name: str) -> str:
    """Return `name` without blanks and case: what a wrap within it leaves unchanged."""
    return "".join(name.split()).casefold()
