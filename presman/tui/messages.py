"""What panels ask of the app."""

from __future__ import annotations

from textual.message import Message


class Wanted(Message):
    """The histogram of an event should be read at each poll from now on."""

    def __init__(self, event: str) -> None:
        super().__init__()
        self.event = event
