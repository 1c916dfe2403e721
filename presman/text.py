"""The one door for text that comes from outside.

SQL texts, user names, program names and error messages are written by strangers. A stray ESC in one of
them would move the cursor, change the window title or write to the clipboard of whoever watches. Every such
string passes :func:`clean` once, when a row record is built; behind the door text is safe to show.
"""

from __future__ import annotations

import unicodedata

LONGEST = 32_767
"""Characters kept of one text; a longer one ends in an ellipsis."""

_REPLACEMENT = "\ufffd"
_SPACE_CATEGORIES = {"Zs", "Zl", "Zp"}


def clean(text: str) -> str:
    """Return `text` with everything invisible or dangerous made visible.

    C0 controls and DEL become their Unicode pictures (ESC is ``␛``), tabs and line ends one space, other
    space characters a plain space, and C1 controls, bidirectional overrides, zero-width characters, lone
    surrogates and unassigned code points the replacement character.

    >>> clean("select 1")
    'select 1'
    >>> clean("a\\x1b]0;owned\\x07b")
    'a␛]0;owned␇b'
    """
    if text.isprintable() and len(text) <= LONGEST:
        return text
    if len(text) > LONGEST:
        text = text[: LONGEST - 1] + "…"
    return "".join(character if character.isprintable() else _visible(character) for character in text)


def _visible(character: str) -> str:
    code = ord(character)
    if character in "\t\n\r\v\f" or unicodedata.category(character) in _SPACE_CATEGORIES:
        return " "
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return _REPLACEMENT


def clean_lines(text: str) -> str:
    """Like :func:`clean`, but line ends survive as ``\\n``: for SQL texts shown on a page of their own."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(clean(line) for line in lines)


def one_line(text: str, width: int) -> str:
    """Return `text` in at most `width` characters with runs of blanks folded, cut with an ellipsis."""
    folded = " ".join(text.split())
    return folded if len(folded) <= width else folded[: max(0, width - 1)] + "…"
