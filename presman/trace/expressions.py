"""The forms of a wait line as compiled expressions. Repetitions are bounded or possessive: none of them backtracks far.

A wait is one line (the last parameters came with later releases)::

    WAIT #0: nam='log file parallel write' ela= 501 files=1 blocks=58 requests=1 obj#=-1 tim=1234567
    WAIT #1: nam='db file scattered read' ela=  12345 p1=4 p2=1201 p3=8

Who publishes or hands on a trace may have put three dots for the number of the cursor.
It starts its line: stray bytes before it are no obstacle, printable text is, for that makes it a quotation. The
literal start stands first because the search for it runs at the speed of memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from presman.trace.wait_counts import BLOCKS

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
    places: dict[int, list[str]] = {}
    for event in events:
        if event in BLOCKS:
            places.setdefault(BLOCKS[event], []).append(re.escape(event))
    if not places:
        return None
    return _compiled(
        _until_name(_PLAIN),
        "(?:",
        "|".join(
            f"((?i:{'|'.join(names)}))'{_SOUND_ELA}{_before(place)}({_PLAIN.number})" for place, names in places.items()
        ),
        ")",
    )


def _before(place: int) -> str:
    """Return what takes the parameters before the one at `place`, and its key."""
    return f"{_PLAIN.key}-?{_PLAIN.number}" * (place - 1) + _PLAIN.key
