"""Parser for a piece of a trace: its waits, in their order or only counted.

Lines are not split: one regular expression searches a whole piece. If it does not match every start of a wait,
because lines are wrapped or damaged, an expression that allows for wrapped lines is used instead.
"""

import fnmatch
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, field

from presman.base.text import clean, one_line
from presman.trace.tally import EventTallies, Summary

# ---- Wait lines of a trace as regular expressions, which events are idle, and which parameter counts blocks.
#
# Repetitions are bounded or possessive, so none backtracks far. A wait is one line (later releases added the last
# parameters):
#
#     WAIT #0: nam='log file parallel write' ela= 501 files=1 blocks=58 requests=1 obj#=-1 tim=1234567
#     WAIT #1: nam='db file scattered read' ela=  12345 p1=4 p2=1201 p3=8
#
# In a published trace the cursor number may be replaced by three dots.
# A wait starts its line. Stray bytes before it are allowed, printable text is not: that makes it a quotation. The
# literal start comes first because searching for it is as fast as memory.

REDO_WRITE = "log file parallel write"
"""The redo writer's write to all members of a log group: the event summarised by default."""

_EVENTS = tomllib.loads(Path(__file__).with_name("events.toml").read_text(encoding="utf-8"))

IDLE: dict[str, str] = {event: reason for reason, events in _EVENTS["idle"].items() for event in events}
"""Idle events and why they say nothing about the system's speed: the process had nothing to do."""

BLOCKS: dict[str, int] = {event: int(parameter) for parameter, events in _EVENTS["blocks"].items() for event in events}
"""The position of the parameter with the number of blocks, among the three of an event."""


EVERYTHING = ("*",)
"""The names of an EventSelection of all events."""


class EventSelection(Struct, frozen=True):
    """Which events to summarise.

    `names` are event names or patterns with ``*`` and ``?``, case-insensitive. Idle events are left out unless they
    are named in full or `idle` is set.
    """

    names: tuple[str, ...] = (REDO_WRITE,)
    idle: bool = False

    def names_event(self, event: str) -> bool:
        """Return whether `event` matches one of the names."""
        return any(_matches(event, name) for name in self.names)


def is_pattern(name: str) -> bool:
    """Return whether `name` contains a wildcard. The asterisk of ``SQL*Net`` is not one: it is part of event names."""
    return "?" in name or "*" in _masked(name)


def _matches(event: str, name: str) -> bool:
    if not is_pattern(name):
        return event.casefold() == name.casefold()
    # For fnmatch a bracket begins a set of characters; here only * and ? are wildcards.
    return fnmatch.fnmatchcase(_masked(event.casefold()), _masked(name.casefold()).replace("[", "[[]"))


def _masked(name: str) -> str:
    # A zero byte, which is no wildcard and in no event's name, stands for the asterisk.
    return re.sub(r"(?i)(sql)\*(net)", "\\1\0\\2", name)


START = b"WAIT #"
"""What every wait begins with."""

LINE = re.compile(rb"(?:(?<![ -~])|(?m:^)[ \t]{1,40}+)WAIT #")
"""The start of a line that is a wait, indented or not."""

LONGEST_WAIT = 2_048
"""Bytes of one wait that are searched, line wraps included."""

LONGEST_NAME = 120
"""Characters of an event's name, twice the length of Oracle's longest."""

_REGULAR = r"[A-Z*\r\n]|==|\d{4}-"
"""The beginning of a line that does not continue the previous one."""


class _Form(NamedTuple):
    """Parts of a regular expression."""

    gap: str
    """What may stand between any two characters."""
    blanks: str
    cursor: str
    number: str
    key: str
    name: str


_NEW_LINE = r"\r?\n(?!WAIT #)"
_CONTINUED = rf"\r?\n(?!{_REGULAR})"

_PLAIN = _Form(
    gap="",
    blanks=" *+",
    cursor=r"(?:\d{1,20}+|\.{3})",
    number=r"\d{1,20}+",
    key=r"[^=\n]{1,30}+=",
    # \n is not excluded here, which saves a third of the time: callers must check for it.
    name=rf"[^']{{0,{LONGEST_NAME}}}+",
)
_WRAPPED = _Form(
    gap=f"(?:{_NEW_LINE})?",
    blanks=rf"(?:[ \t]|{_CONTINUED}){{0,24}}",
    cursor=r"(?:\d{1,20}(?:\r?\n\d{1,20})?|\.{3})",
    number=r"\d{1,20}(?:\r?\n\d{1,20}(?=[ \t]|\r?\n|\Z))?",
    key=rf"(?:[^=\n]|{_CONTINUED}){{1,30}}=(?:{_CONTINUED})?",
    name=rf"(?:[^'\n]|{_NEW_LINE}){{0,{LONGEST_NAME}}}",
)


def _until_name(form: _Form) -> str:
    nam = form.blanks + form.gap.join("nam='")
    return rf"WAIT #(?<![ -~]WAIT #){form.gap}-?{form.cursor}{form.gap}:{nam}"


def _compiled(*parts: str) -> re.Pattern[bytes]:
    return re.compile("".join(parts).encode())


_ELA = f"{_PLAIN.blanks}ela={_PLAIN.blanks}-?{_PLAIN.number}"
_SOUND_ELA = rf"{_PLAIN.blanks}ela={_PLAIN.blanks}\d{{1,15}}+(?!\d)"
_END = rf"(?:\n(?={_REGULAR})|\Z)"


def _parameters(form: _Form) -> str:
    """Return the pattern of the second and the third parameter, if present: one of them may count blocks."""
    value = f"(-?{form.number})"
    return f"(?:{form.key}-?{form.number}{form.key}{value}(?:{form.key}{value})?)?"


PLAIN = _compiled(
    _until_name(_PLAIN),
    f"({_PLAIN.name})'{_PLAIN.blanks}ela={_PLAIN.blanks}(-?{_PLAIN.number})",
    _parameters(_PLAIN),
    ".*+",
    _END,
)
"""Waits on a single line (only the name may contain a line break), as name, ``ela=``, second and third parameter."""

COUNTED = _compiled(_until_name(_PLAIN), f"({_PLAIN.name}'{_ELA}).*+", _END)
"""Like PLAIN, with a single group, such as ``log file sync' ela= 501``, for waits that are only counted."""

WRAPPED = _compiled(
    _until_name(_WRAPPED),
    f"({_WRAPPED.name})'",
    f"{_WRAPPED.blanks}{_WRAPPED.gap.join('ela=')}{_WRAPPED.blanks}(-?{_WRAPPED.number})",
    _parameters(_WRAPPED),
)
"""Like PLAIN, for lines that a mail program or a terminal wrapped, between words or within them."""


def moved(events: Iterable[str]) -> re.Pattern[bytes] | None:
    """Return a pattern for name and blocks of plain waits of the `events` that move blocks, None if none does.

    It matches only plausible elapsed times. Its groups are pairs of name and blocks, a pair for each position that the
    number of blocks can have.
    """
    positions: dict[int, list[str]] = {}
    for event in events:
        if event in BLOCKS:
            positions.setdefault(BLOCKS[event], []).append(re.escape(event))
    if not positions:
        return None
    parameter = f"{_PLAIN.key}-?{_PLAIN.number}"
    pairs = [
        f"((?i:{'|'.join(names)}))'{_SOUND_ELA}{parameter * (position - 1)}{_PLAIN.key}({_PLAIN.number})"
        for position, names in positions.items()
    ]
    return _compiled(_until_name(_PLAIN), f"(?:{'|'.join(pairs)})")


# ---- Parser


IMPLAUSIBLE = 10**15
"""Microseconds (32 years) from which an elapsed time is damaged or an underflow."""

_EXAMPLE = 70
"""Characters shown of a line that was not understood."""

_MOST_NAMES = 10_000
_MOST_DIGITS = 50_000
"""Names of events that are remembered, and different texts that are counted before they are parsed."""


class WaitColumns(NamedTuple):
    """Waits in the order of the trace, as columns of equal length."""

    events: Sequence[str]
    elapsed: Sequence[int]
    """Microseconds."""
    blocks: Sequence[int | None]
    """None if the line has no number of blocks, or the event moves none."""


class Name(NamedTuple):
    """An event as a trace names it."""

    event: str
    wanted: bool
    left_out: bool
    """True for an idle event."""
    blocks_at: int
    """Position of the parameter that counts blocks, 2 or 3; 0 if none does."""


class _Names(dict[bytes, Name]):
    """Events by their names in a trace. A name broken by a line wrap is repaired if the event is known.

    Known are the names already met, idle events, those that move blocks and the selected ones.
    """

    def __init__(self, selection: EventSelection) -> None:
        super().__init__()
        self._selection = selection
        self._full_names = {name.casefold() for name in selection.names}
        wished = (name for name in selection.names if not is_pattern(name))
        self._known = {squeezed(name): name for name in (*wished, *IDLE, *BLOCKS)}

    def __missing__(self, raw: bytes) -> Name:
        text, whole = raw.decode("utf-8", "replace"), b"\n" not in raw
        event = clean(" ".join(text.split()))
        if whole and len(self._known) < _MOST_NAMES:
            self._known.setdefault(squeezed(event), event)
        event = self._known.get(squeezed(event), event)
        wanted = self._selection.names_event(event)
        is_idle = event in IDLE and event.casefold() not in self._full_names and not self._selection.idle
        left_out = wanted and is_idle
        # In a line with a damaged name, the number of blocks is not trusted either.
        blocks_at = BLOCKS.get(event, 0) if not whole or text.casefold() == event.casefold() else 0
        name = Name(event, wanted and not left_out, left_out, blocks_at)
        if whole and len(self) < _MOST_NAMES:
            self[raw] = name
        return name


def _blocks(digits: bytes) -> int | None:
    """Return a number of blocks, None if it is missing or impossible."""
    return int(joined) if (joined := b"".join(digits.split())).isdigit() else None


class FileFigures(Struct):
    """The figures of one file."""

    name: str
    summaries: list[Summary] = field(default_factory=list)
    idle: int = 0
    """Waits left out because their event is idle."""
    damaged: int = 0
    """Waits skipped because of an impossible elapsed time."""
    understood: int = 0
    """Wait lines that were understood, of any event."""
    unread: int = 0
    """Lines that begin like a wait but were not understood."""
    example: str = ""
    """The first of them."""
    ticks: int = 1
    """Microseconds of one tick in the file; 10,000 before 9i."""
    error: str | None = None
    """Why reading ended early."""


class TraceParser:
    """Finds the waits of a selection in the pieces of one trace.

    `figures` receives the counts of its lines, and has the length of a tick of ``ela=``.
    """

    def __init__(self, selection: EventSelection, figures: FileFigures | None = None) -> None:
        self.figures = figures or FileFigures("")
        self._names = _Names(selection)
        self._moved = moved(event for event in BLOCKS if selection.names_event(event))
        self._times: Counter[bytes] = Counter()
        self._blocks: Counter[tuple[bytes, ...]] = Counter()

    def waits(self, piece: bytes) -> WaitColumns:
        """Return the waits of a piece in their order."""
        rows = PLAIN.findall(piece)
        if len(rows) != piece.count(START):
            rows = WRAPPED.findall(piece)
            self._note_unread(piece, len(rows))
        self.figures.understood += len(rows)
        names = self._names
        named = [(names[row[0]], row) for row in rows]
        wanted = [pair for pair in named if pair[0].wanted]
        if len(wanted) < len(named):
            self.figures.idle += len([None for name, _ in named if name.left_out])
        # Digits may be wrapped, too.
        elapsed = [int(b"".join(row[1].split())) * self.figures.ticks for _, row in wanted]
        blocks = [_blocks(row[name.blocks_at]) if name.blocks_at else None for name, row in wanted]
        return self._checked(WaitColumns([name.event for name, _ in wanted], elapsed, blocks))

    def _note_unread(self, piece: bytes, understood: int) -> None:
        """Count the wait lines that no expression matches, and keep the first."""
        missed = len(LINE.findall(piece)) - understood
        if missed > 0 and not self.figures.unread:
            known = {found.start() for found in WRAPPED.finditer(piece)}
            starts = (found.end() - len(START) for found in LINE.finditer(piece))
            start = next(each for each in starts if each not in known)
            line = piece[start : start + LONGEST_WAIT].splitlines()[0]
            self.figures.example = one_line(clean(line.decode("utf-8", "replace")), _EXAMPLE)
        self.figures.unread += max(0, missed)

    def _checked(self, waits: WaitColumns) -> WaitColumns:
        """Return `waits` without those with an impossible elapsed time."""
        if not waits.elapsed or (min(waits.elapsed) >= 0 and max(waits.elapsed) < IMPLAUSIBLE):
            return waits
        good = [row for row in zip(*waits, strict=True) if 0 <= row[1] < IMPLAUSIBLE]
        self.figures.damaged += len(waits.elapsed) - len(good)
        return WaitColumns(*zip(*good, strict=True)) if good else WaitColumns((), (), ())

    def count(self, piece: bytes, ledger: EventTallies) -> None:
        """Count the waits of a piece, if their order does not matter; `settle` passes the counts to `ledger`.

        Equal texts are counted first and parsed only once, which is several times faster.
        """
        texts = COUNTED.findall(piece)
        if len(texts) != piece.count(START) or b"\n" in b"".join(texts):
            ledger.add(*self.waits(piece))
            return
        self.figures.understood += len(texts)
        self._times.update(texts)
        if self._moved:
            self._blocks.update(self._moved.findall(piece))
        if len(self._times) + len(self._blocks) > _MOST_DIGITS:
            self.settle(ledger)

    def settle(self, ledger: EventTallies) -> None:
        """Pass the counts to `ledger`."""
        counts: dict[str, dict[int, int]] = {}
        for text, waits in self._times.items():
            raw, _, ticks = text.partition(b"'")
            name = self._names[raw]
            elapsed = int(ticks.partition(b"=")[2]) * self.figures.ticks
            if not name.wanted:
                self.figures.idle += waits * name.left_out
            elif 0 <= elapsed < IMPLAUSIBLE:
                times = counts.setdefault(name.event, {})
                times[elapsed] = times.get(elapsed, 0) + waits
            else:
                self.figures.damaged += waits
        blocks: Counter[str] = Counter()
        for groups, waits in self._blocks.items():
            raw, digits = filter(None, groups)
            blocks[self._names[raw].event] += int(digits) * waits
        ledger.count(counts, blocks)
        self._times.clear()
        self._blocks.clear()


def squeezed(name: str) -> str:
    """Return `name` without blanks and case, which a line wrap within it does not change."""
    return "".join(name.split()).casefold()
