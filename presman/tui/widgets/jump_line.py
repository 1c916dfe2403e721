"""The line a time is typed in. Imported when the key to jump is first pressed."""

from __future__ import annotations

from textual.message import Message
from textual.widgets import Input

from presman.base.text import clean


class JumpLine(Input):
    """One line above the keys."""

    class Wanted(Message):
        """A time was typed; "" if none is wanted."""

        def __init__(self, words: str) -> None:
            super().__init__()
            self.words = words

    def __init__(self) -> None:
        super().__init__(
            id="jump", placeholder="go to: 03:12, 2026-11-22 03:12:30, -15m, first, last; Esc leaves", compact=True
        )

    def begin(self) -> None:
        """Appear empty, ready to be typed in."""
        self.display = True
        self.value = ""
        self.screen.set_focus(self)  # at once: the next key is typed here

    async def action_submit(self) -> None:
        """Tell what is wanted: the app itself, so that a key that follows at once is not typed here."""
        self.app.post_message(self.Wanted(clean(self.value)))
