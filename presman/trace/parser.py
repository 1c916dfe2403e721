"""From the bytes of a trace to its waits, a block at a time.

A wait is one line (the last parameters came with later releases)::

    WAIT #0: nam='log file parallel write' ela= 501 files=1 blocks=58 requests=1 obj#=-1 tim=1234567
    WAIT #1: nam='db file scattered read' ela=  12345 p1=4 p2=1201 p3=8

Lines are not split: one compiled expression runs over a whole block and, if a single event is wanted, only its lines
reach Python. Blocks that hold anything but plain wait lines are searched with a second expression that also follows
lines wrapped by a mail program or a terminal, between words or within them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from presman.text import clean
from presman.trace.events import BLOCKS, IDLE, Selection, is_pattern

LONGEST_WAIT = 2_048
"""Bytes of one wait, wraps included, that are looked at. The expressions are bounded so that none needs more."""

LONGEST_STATEMENT = 65_536
"""Bytes of a statement with its heading; the end of a longer one is not looked for."""

LONGEST_NAME = 120
"""Characters of an event's name, twice what Oracle's longest need."""

IMPLAUSIBLE = 10**15
"""Microseconds (32 years) from which an elapsed time is damage or an underflow, not a wait."""

_START = b"WAIT #"
_OPEN = b"PARSING IN CURSOR #"
_CLOSE = b"\nEND OF STMT"
_MOST_NAMES = 10_000
_MOST_NUMBERS = 50_000


class Waits(NamedTuple):
    """Waits in the order of the trace, as columns of one length."""

    events: Sequence[str]
    elapsed: Sequence[int]
    """Microseconds."""
    blocks: Sequence[int | None]
    """None where the line does not tell, and for events that move no blocks."""


class Parser:
    """Finds the waits of a selection in one trace.

    `unit` is what one tick of ``ela=`` is worth in microseconds: 1 from 9i on, 10,000 before.
    `damaged` counts waits skipped for an implausible elapsed time, `idle` those left out as idle.
    """

    def __init__(self, selection: Selection, *, unit: int = 1) -> None:
        self.damaged = 0
        self.idle = 0
        self._selection = selection
        self._unit = unit
        wished = (name for name in selection.names if not is_pattern(name))
        self._known = {squeezed(name): name for name in (*wished, *IDLE, *BLOCKS)}
        self._event = self._known[squeezed(selection.single)] if selection.single else None
        self._plain = expression(self._event, wrapped=False)
        self._tolerant = expression(self._event, wrapped=True)
        self._names: dict[bytes, _Name] = {}
        self._numbers = _Numbers()
        self._blocks = _Blocks()

    def waits(self, blocks: Iterable[bytes]) -> Iterator[Waits]:
        """Yield the waits of a trace cut into `blocks` anywhere, a batch for each piece; batches may be empty."""
        columns: Callable[[list[Any]], Waits] = self._one_event if self._event else self._several_events
        for piece in map(without_statements, pieces(blocks)):
            search = self._plain if _all_plain(piece) else self._tolerant
            yield self._checked(columns(search.findall(piece)))

    def _one_event(self, rows: list[tuple[bytes, bytes]]) -> Waits:
        numbers, blocks = self._numbers.bounded(), self._blocks.bounded()
        return Waits(
            [self._event or ""] * len(rows), [numbers[ticks] for ticks, _ in rows], [blocks[count] for _, count in rows]
        )

    def _several_events(self, rows: list[tuple[bytes, bytes, bytes]]) -> Waits:
        names, numbers, moved = self._names, self._numbers.bounded(), self._blocks.bounded()
        named = [(names.get(raw) or self._name(raw), ticks, parameters) for raw, ticks, parameters in rows]
        wanted = [row for row in named if row[0].wanted]
        if len(wanted) < len(named):
            self.idle += sum(name.left_out for name, _, _ in named)
        return Waits(
            [name.event for name, _, _ in wanted],
            [numbers[ticks] for _, ticks, _ in wanted],
            [
                moved[_block_digits(parameters, name.position)] if name.position else None
                for name, _, parameters in wanted
            ],
        )

    def _checked(self, waits: Waits) -> Waits:
        """Return `waits` in microseconds and without those whose elapsed time cannot be one."""
        if not waits.elapsed:
            return waits
        if self._unit != 1:
            waits = waits._replace(elapsed=[ticks * self._unit for ticks in waits.elapsed])
        if min(waits.elapsed) >= 0 and max(waits.elapsed) < IMPLAUSIBLE:
            return waits
        good = [row for row in zip(*waits, strict=True) if 0 <= row[1] < IMPLAUSIBLE]
        self.damaged += len(waits.elapsed) - len(good)
        return Waits(*zip(*good, strict=True)) if good else Waits((), (), ())

    def _name(self, raw: bytes) -> _Name:
        """Return what is to be known of an event's name, mended if a wrap broke it and it is known.

        Names already met are known, and so are idle events, those that move blocks and those asked for.
        """
        event = clean(" ".join(raw.decode("utf-8", "replace").split()))
        if b"\n" not in raw and len(self._known) < _MOST_NAMES:
            self._known.setdefault(squeezed(event), event)
        event = self._known.get(squeezed(event), event)
        wanted = self._selection.names_event(event)
        left_out = wanted and self._selection.leaves_out(event)
        name = _Name(event, wanted and not left_out, left_out, BLOCKS.get(event, 0))
        if b"\n" not in raw and len(self._names) < _MOST_NAMES:
            self._names[raw] = name
        return name


class _Numbers(dict[bytes, int]):
    """Digits to numbers, remembered: elapsed times repeat, and looking one up is faster than reading it."""

    def __missing__(self, digits: bytes) -> int:
        number = self[digits] = int(_joined(digits))
        return number

    def bounded(self) -> _Numbers:
        """Return itself, emptied if it has grown large."""
        if len(self) > _MOST_NUMBERS:
            self.clear()
        return self


class _Blocks(dict[bytes, int | None]):
    """Like _Numbers for what may be missing."""

    def __missing__(self, digits: bytes) -> int | None:
        number = self[digits] = int(_joined(digits)) if digits else None
        return number

    def bounded(self) -> _Blocks:
        """Return itself, emptied if it has grown large."""
        if len(self) > _MOST_NUMBERS:
            self.clear()
        return self


class _Name(NamedTuple):
    event: str
    wanted: bool
    left_out: bool
    position: int


def pieces(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Regroup blocks so that no piece ends within a wait or the text of a statement.

    Holds back at most LONGEST_WAIT bytes, or LONGEST_STATEMENT.
    """
    held = b""
    for block in blocks:
        text = held + block
        cut = _cut(text)
        if cut:
            yield text[:cut]
        held = text[cut:]
    yield held


def _cut(text: bytes) -> int:
    """Return where the last wait or open statement of `text` begins, or what may become one.

    The byte before it stays with it: it tells a wait from a quotation.
    """
    opened, done = text.rfind(_OPEN, max(0, len(text) - LONGEST_STATEMENT)), 0
    if opened >= 0:
        closed = text.find(_CLOSE, opened)
        if closed < 0:
            return max(0, opened - 1)
        done = closed + len(_CLOSE)
    window = max(done, len(text) - LONGEST_WAIT)
    start = text.rfind(_START, window)
    while start > window and 0x20 <= text[start - 1] <= 0x7E:
        start = text.rfind(_START, window, start)
    if start >= 0:
        return max(done, start - 1)
    cut = max(done, len(text) - len(_OPEN))
    return cut + text.startswith(_START, cut)


def without_statements(piece: bytes) -> bytes:
    """Return `piece` without the texts of SQL statements: what looks like a wait in one of them is a quotation.

    A statement without its end hides nothing.
    """
    parts, start = [], 0
    opened = piece.find(_OPEN)
    while opened >= 0:
        another = piece.find(_OPEN, opened + 1)
        closed = piece.find(_CLOSE, opened, opened + LONGEST_STATEMENT)
        if closed >= 0 and not 0 <= another < closed:
            parts.append(piece[start:opened])
            start = closed
        opened = another
    return b"".join((*parts, piece[start:])) if parts else piece


def expression(event: str | None, *, wrapped: bool) -> re.Pattern[bytes]:
    """Return what finds the waits of `event`: groups are ``ela=`` and its blocks; with None of all events: name,
    ``ela=`` and what follows, of which up to three parameters are needed.

    A wait starts its line: stray bytes before it are no obstacle, printable text is, for that makes it a quotation.
    The literal start stands first because the search for it runs at the speed of memory.
    """
    form = _WRAPPED if wrapped else _PLAIN
    if event:
        letters = (form.space if char == " " else re.escape(char) for char in event)
        name = f"(?i:{form.gap.join(('', *letters, ''))})"
        parameters = _own_blocks(form, BLOCKS.get(event))
    else:
        name, parameters = f"({form.name})", form.parameters
    nam, ela = (form.blanks + form.gap.join(text) for text in ("nam='", "ela="))
    start = rf"WAIT #(?<![ -~]WAIT #){form.gap}-?{form.cursor}{form.gap}:{nam}{name}'"
    return re.compile(f"{start}{ela}{form.blanks}(-?{form.number}){parameters}".encode())


class _Form(NamedTuple):
    """Parts of the expression. Repetitions are bounded, so that a wait needs no more than LONGEST_WAIT bytes."""

    gap: str
    """Between any two characters."""
    space: str
    """For a blank in a name."""
    blanks: str
    cursor: str
    number: str
    key: str
    name: str
    parameters: str


_NEW_LINE = r"\r?\n(?!WAIT #)"
_CONTINUED = r"\r?\n(?![A-Z*\r\n]|==|\d{4}-)"

_PLAIN = _Form(
    gap="",
    space=" ",
    blanks=r"[ \t]{0,24}",
    cursor=r"\d{1,20}",
    number=r"\d{1,20}",
    key=r"[^=\n]{1,30}=",
    name=rf"[^'\n]{{0,{LONGEST_NAME}}}",
    parameters=r"([^\n]{0,160})",
)


def _wrapped() -> _Form:
    number = r"\d{1,20}(?:\r?\n\d{1,20}(?=[ \t]|\r?\n|\Z))?"
    key = rf"(?:[^=\n]|{_CONTINUED}){{1,30}}=(?:{_CONTINUED})?"
    return _Form(
        gap=f"(?:{_NEW_LINE})?",
        space=rf"(?: (?:{_NEW_LINE}[ \t]{{0,4}})?|{_NEW_LINE}[ \t]{{0,4}})",
        blanks=rf"(?:[ \t]|{_CONTINUED}){{0,24}}",
        cursor=r"\d{1,20}(?:\r?\n\d{1,20})?",
        number=number,
        key=key,
        name=rf"(?:[^'\n]|{_NEW_LINE}){{0,{LONGEST_NAME}}}",
        parameters=rf"((?:{key}-?{number}){{0,3}})",
    )


_WRAPPED = _wrapped()


def _own_blocks(form: _Form, position: int | None) -> str:
    """Return what takes the parameter at `position`; the group stays empty if there is none."""
    if position is None:
        return "()"
    return f"(?:{f'{form.key}-?{form.number}' * (position - 1)}{form.key}({form.number})|)"


def _all_plain(piece: bytes) -> bool:
    """Tell whether all lines start as in an unwrapped trace of a background process."""
    others = piece.count(b"\n") - piece.count(b"\nWAIT #")
    return not others or others == piece.count(b"\n*** ")


def _joined(digits: bytes) -> bytes:
    return b"".join(digits.split())


def squeezed(name: str) -> str:
    """Return `name` without blanks and case: what a wrap within it leaves unchanged."""
    return "".join(name.split()).casefold()


_POSITIONS = set(BLOCKS.values())
_PLAIN_BLOCKS = {position: re.compile(_own_blocks(_PLAIN, position).encode()) for position in _POSITIONS}
_WRAPPED_BLOCKS = {position: re.compile(_own_blocks(_WRAPPED, position).encode()) for position in _POSITIONS}


def _block_digits(parameters: bytes, position: int) -> bytes:
    """Return the digits at `position` of ``files=1 blocks=58 requests=1`` or ``p1=1 p2=58 p3=1``; empty if missing."""
    forms = _WRAPPED_BLOCKS if b"\n" in parameters else _PLAIN_BLOCKS
    found = forms[position].match(parameters)
    return found[1] or b"" if found else b""
