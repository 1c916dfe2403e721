"""The line a filter is typed in. Imported when the filter key is first pressed."""

from __future__ import annotations

from textual.message import Message
from textual.widgets import Input

from presman.base.text import clean


class FilterLine(Input):
    """One line above the keys."""

    class Typed(Message):
        """The filter is this so far; `done` once it is meant so."""

        def __init__(self, needle: str, *, done: bool) -> None:
            super().__init__()
            self.needle = needle
            self.done = done

    def __init__(self) -> None:
        super().__init__(
            id="filter", placeholder="text to show, !text to hide; Enter keeps it, Esc clears it", compact=True
        )

    def begin(self, text: str) -> None:
        """Appear with the present filter, ready to be typed in."""
        self.display = True
        self.value = text
        self.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Tell what is typed so far."""
        event.stop()
        self.post_message(self.Typed(clean(event.value), done=False))

    async def action_submit(self) -> None:
        """Tell that the filter is meant so: the app itself, so that a key that follows at once is for the table."""
        self.app.post_message(self.Typed(clean(self.value), done=True))
