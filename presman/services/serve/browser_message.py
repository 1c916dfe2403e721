"""Messages that textual-serve's terminal sends from a browser: JSON arrays that begin with their kind."""

from __future__ import annotations

import json

import msgspec
from msgspec import Struct

from presman.base.pipe_packets import meta_packet, packet

MOST_COLUMNS, MOST_ROWS = 1000, 400
"""Cells of the largest screen that is made for anybody."""


class TerminalInput(Struct, frozen=True, array_like=True, tag="stdin"):
    """Keys, the mouse, or what was pasted, as a terminal sends them."""

    text: str


class Cells(Struct, frozen=True):
    """How large the terminal is."""

    width: int
    height: int


class Resized(Struct, frozen=True, array_like=True, tag="resize"):
    """The window is of another size."""

    size: Cells


class Pinged(Struct, frozen=True, array_like=True, tag="ping"):
    """The browser wants to know how long an answer takes."""

    stamp: str


class Focused(Struct, frozen=True, array_like=True, tag="focus"):
    """The terminal has the keys."""


class Blurred(Struct, frozen=True, array_like=True, tag="blur"):
    """Something else has the keys."""


BrowserMessage = TerminalInput | Resized | Pinged | Focused | Blurred


def read_message(text: str) -> BrowserMessage:
    """Return what a browser sent. Raises ValueError for anything else."""
    try:
        return msgspec.convert(json.loads(text), BrowserMessage)  # type: ignore[no-any-return]
    except (msgspec.ValidationError, ValueError, RecursionError):
        raise ValueError("no message of a terminal in a browser") from None


def packet_of(message: BrowserMessage) -> bytes:
    """Return what the monitor is sent of a message, b"" for nothing."""
    match message:
        case TerminalInput():
            return packet(b"D", message.text.encode("utf-8", "replace"))
        case Resized():
            columns, rows = within(message.size.width, message.size.height)
            return meta_packet({"type": "resize", "width": columns, "height": rows})
        case Focused():
            return meta_packet({"type": "focus"})
        case Blurred():
            return meta_packet({"type": "blur"})
        case Pinged():
            return b""


def within(columns: int, rows: int) -> tuple[int, int]:
    """Return the size of a screen within bounds."""
    return min(max(columns, 1), MOST_COLUMNS), min(max(rows, 1), MOST_ROWS)
