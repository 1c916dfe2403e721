"""Pieces of a trace, cut where no wait and no statement is torn; the texts of statements are left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from presman.trace.expressions import LONGEST_WAIT, START
from presman.trace.trace_files import TraceError

LONGEST_STATEMENT = 65_536
"""Bytes of a statement with its heading; the end of a longer one is not looked for."""

_OPEN = b"PARSING IN CURSOR #"
_CLOSE = b"\nEND OF STMT"


def pieces(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Regroup blocks, cut anywhere, so that no piece ends within a wait or the text of a statement.

    Holds back at most LONGEST_WAIT bytes, or LONGEST_STATEMENT. If reading fails, lines that are whole still count.
    """
    held = b""
    try:
        for block in blocks:
            text = held + block
            cut = _cut(text)
            if cut:
                yield text[:cut]
            held = text[cut:]
    except TraceError:
        yield held[: held.rfind(b"\n") + 1]
        raise
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
    start = text.rfind(START, window)
    while start > window and 0x20 <= text[start - 1] <= 0x7E:
        start = text.rfind(START, window, start)
    if start >= 0:
        return max(done, start - 1)
    cut = max(done, len(text) - len(_OPEN))
    return cut + text.startswith(START, cut)


def without_statements(piece: bytes) -> bytes:
    """Return `piece` without the texts of SQL statements: what looks like a wait in one of them is a quotation.

    A statement without its end hides nothing.
    """
    parts, start, closed = [], 0, -1
    opened = piece.find(_OPEN)
    while opened >= 0:
        if closed < opened and (closed := piece.find(_CLOSE, opened)) < 0:
            break
        another = piece.find(_OPEN, opened + 1)
        if closed - opened < LONGEST_STATEMENT and not 0 <= another < closed:
            parts.append(piece[start:opened])
            start = closed
        opened = another
    return b"".join((*parts, piece[start:])) if parts else piece
