"""The text of a spooled file: which encoding it is in, and what was assumed where nothing says so."""

from __future__ import annotations

from typing import NamedTuple

_LOOK = 4096
"""Bytes that are looked at for the zeros of UTF-16."""

_ASSUMED = "cp1252"
_TWO_BYTES = {"euc_kr": "EUC-KR", "euc_jp": "EUC-JP", "gb2312": "GB2312"}
"""Encodings of two bytes, both above 160, that a file may be in if it can be read in them: Western text seldom can."""


class SpoolText(NamedTuple):
    """What stands in a file, and a sentence on what was assumed to read it, "" for nothing."""

    text: str
    note: str = ""


def decoded(data: bytes, encoding: str = "") -> SpoolText:
    """Read `data` in `encoding`; without one, as UTF-16 or UTF-8 if it is that, else as Windows-1252.

    >>> decoded("JÜRGEN".encode()), decoded("JÜRGEN".encode("utf-16-le")).text
    (SpoolText(text='JÜRGEN', note=''), 'JÜRGEN')
    >>> decoded("JÜRGEN".encode("cp1252")).note
    'not UTF-8: read as Windows-1252; if it is another encoding, name it (?encoding=...)'
    """
    known = encoding or _marked(data)
    if known:
        text = data.decode(known, errors="replace")
        return SpoolText(text, _replaced(text, known) if encoding else "")
    try:
        return SpoolText(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        text = data.decode(_ASSUMED, errors="replace")
        return SpoolText(text, f"not UTF-8: read as Windows-1252; {_perhaps(data)}")


def _marked(data: bytes) -> str:
    """Return the encoding that a byte order mark, or zeros between the letters, give away."""
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        return "utf-16"
    head = data[:_LOOK]
    zeros = [head[place::2].count(0) for place in (0, 1)]
    if max(zeros) * 4 < len(head) or min(zeros) * 8 > max(zeros):
        return ""
    return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"


def _perhaps(data: bytes) -> str:
    found = [(name, shown) for name, shown in _TWO_BYTES.items() if _fits(data, name)]
    if not found:
        return "if it is another encoding, name it (?encoding=...)"
    names = ", ".join(shown for _, shown in found)
    return f"it could be {names}: name the right one (?encoding={found[0][0]})"


def _fits(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _replaced(text: str, encoding: str) -> str:
    count = text.count("\ufffd")
    return f"{count} characters are not {encoding}" if count else ""
