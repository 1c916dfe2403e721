"""Wait lines of a trace as compiled expressions, which events are idle, and which parameter counts blocks.

Repetitions are bounded or possessive: none of them backtracks far. A wait is one line (the last parameters came with
later releases)::

    WAIT #0: nam='log file parallel write' ela= 501 files=1 blocks=58 requests=1 obj#=-1 tim=1234567
    WAIT #1: nam='db file scattered read' ela=  12345 p1=4 p2=1201 p3=8

Who publishes or hands on a trace may have put three dots for the number of the cursor.
It starts its line: stray bytes before it are no obstacle, printable text is, for that makes it a quotation. The
literal start stands first because the search for it runs at the speed of memory.
"""

from __future__ import annotations

import fnmatch
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

REDO_WRITE = "log file parallel write"
"""The redo writer's write to all members of a log group: the event summarised by default."""

_BY_REASON = tomllib.loads(Path(__file__).with_name("idle_events.toml").read_text(encoding="utf-8"))

IDLE: dict[str, str] = {event: reason for reason, events in _BY_REASON.items() for event in events}
"""Idle events and why they tell nothing about the system's speed: the process had nothing to do."""

BLOCKS: dict[str, int] = {
    "control file sequential read": 3,
    "db file parallel read": 2,
    "db file scattered read": 3,
    "db file sequential read": 3,
    "db file single write": 3,
    "direct path read": 3,
    "direct path read temp": 3,
    "direct path write": 3,
    "direct path write temp": 3,
    "log file parallel write": 2,
    "log file sequential read": 3,
    "log file single write": 3,
}
"""Which of an event's three parameters is its number of blocks. Log files count in blocks of the log (512 bytes or
4 kB), data files in blocks of the database: blocks say nothing in bytes without that size."""


EVERYTHING = ("*",)
"""The names of a Selection of all events."""


class EventSelection(Struct, frozen=True):
    """Which events to summarise.

    `names` are event names or patterns with ``*`` and ``?``; upper and lower case are alike. Idle events are left
    out unless they are asked for by their full name or with `idle`.
    """

    names: tuple[str, ...] = (REDO_WRITE,)
    idle: bool = False

    def names_event(self, event: str) -> bool:
        """Tell whether `event` matches one of the names."""
        return any(_matches(event, name) for name in self.names)

    def leaves_out(self, event: str) -> bool:
        """Tell whether `event` is idle and not asked for by its full name."""
        full_names = {name.casefold() for name in self.names}
        return not self.idle and event in IDLE and event.casefold() not in full_names


def is_pattern(name: str) -> bool:
    """Tell whether `name` holds a wildcard. The asterisk of ``SQL*Net`` is part of event names, so it is none."""
    return "?" in name or "*" in _masked(name)


def _matches(event: str, name: str) -> bool:
    if not is_pattern(name):
        return event.casefold() == name.casefold()
    pattern = _masked(name.casefold()).replace("[", "[[]")
    return fnmatch.fnmatchcase(_masked(event.casefold()), pattern)


def _masked(name: str) -> str:
    return re.sub(r"(?i)(sql)\*(net)", "\\1\0\\2", name)


START = b"WAIT #"
"""What every wait begins with."""

LINE = re.compile(rb"(?:(?<![ -~])|(?m:^)[ \t]{1,40}+)WAIT #")
"""The start of a line that is a wait, or was one before somebody moved it to the right."""

LONGEST_WAIT = 2_048
"""Bytes of one wait, wraps included, that are looked at."""

LONGEST_NAME = 120
"""Characters of an event's name, twice what Oracle's longest need."""

_REGULAR = r"[A-Z*\r\n]|==|\d{4}-"
"""How a line begins that does not go on with the one before it."""


class _Form(NamedTuple):
    """Parts of an expression."""

    gap: str
    """Between any two characters."""
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
    # Without \n among the excluded, which takes a third less time. What uses this has to look for one.
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
    """Return what takes the second and the third parameter, as far as there are any: one of them may count blocks."""
    value = f"(-?{form.number})"
    return f"(?:{form.key}-?{form.number}{form.key}{value}(?:{form.key}{value})?)?"


PLAIN = _compiled(
    _until_name(_PLAIN),
    f"({_PLAIN.name})'{_PLAIN.blanks}ela={_PLAIN.blanks}(-?{_PLAIN.number})",
    _parameters(_PLAIN),
    ".*+",
    _END,
)
"""Waits that fill one line, but for their name, and are not continued on the next: name, ``ela=``, the second and the
third parameter."""

COUNTED = _compiled(_until_name(_PLAIN), f"({_PLAIN.name}'{_ELA}).*+", _END)
"""The same in one group, such as ``log file sync' ela= 501``, for what is only to be counted."""

WRAPPED = _compiled(
    _until_name(_WRAPPED),
    f"({_WRAPPED.name})'",
    f"{_WRAPPED.blanks}{_WRAPPED.gap.join('ela=')}{_WRAPPED.blanks}(-?{_WRAPPED.number})",
    _parameters(_WRAPPED),
)
"""Like PLAIN for lines that a mail program or a terminal wrapped, between words or within them."""


def moved(events: Iterable[str]) -> re.Pattern[bytes] | None:
    """Return what finds name and blocks of plain waits of those `events` that move some, if their elapsed time can be
    one: groups are pairs of both, a pair for each place where blocks can stand. None if no event does.
    """
    positions: dict[int, list[str]] = {}
    for event in events:
        if event in BLOCKS:
            positions.setdefault(BLOCKS[event], []).append(re.escape(event))
    if not positions:
        return None
    return _compiled(
        _until_name(_PLAIN),
        "(?:",
        "|".join(
            f"((?i:{'|'.join(names)}))'{_SOUND_ELA}{_before(position)}({_PLAIN.number})"
            for position, names in positions.items()
        ),
        ")",
    )


def _before(position: int) -> str:
    """Return what takes the parameters before the one at `position`, and its key."""
    return f"{_PLAIN.key}-?{_PLAIN.number}" * (position - 1) + _PLAIN.key
