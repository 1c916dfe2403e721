"""The lines that texts are typed in: where to go, a time, a filter. Imported when one of their keys is pressed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from textual.app import App
from textual.message import Message
from textual.suggester import SuggestFromList
from textual.widgets import Input

from presman.base.text import clean

PLACEHOLDERS = {
    "go": "tab, group, instance, SID, 1:SID, SQL_ID, target; 19:08 or -15m; Esc",
    "jump": "go to: 03:12, 2026-11-22 03:12:30, -15m, first, last; Esc leaves",
    "filter": "text to show, !text to hide; Enter keeps it, Esc clears it",
}
"""What each line says while it is empty."""


class InputLine(Input):
    """One line above the keys; → takes what is suggested. Its id says what it is for."""

    @dataclass(eq=False)
    class Typed(Message):
        """This is typed so far in the line of that id; `done` once Enter was pressed."""

        line: str
        text: str
        done: bool

    def begin(self, text: str, names: Iterable[str]) -> None:
        """Appear with a text, ready to be typed in, suggesting these names."""
        self.suggester = SuggestFromList(list(names), case_sensitive=False)
        self.display = True
        self.value = text
        self.screen.set_focus(self)  # at once: the next key is typed here

    def on_input_changed(self, event: Input.Changed) -> None:
        """Tell the app what is typed so far."""
        event.stop()
        self.post_message(self._typed(done=False))

    async def action_submit(self) -> None:
        """Tell the app itself what was typed, so that a key that follows at once is not typed here."""
        self.display = False
        self.app.post_message(self._typed(done=True))

    def _typed(self, *, done: bool) -> InputLine.Typed:
        return self.Typed(self.id or "", clean(self.value), done)


async def ask(app: App[None], line: str, text: str = "", *, names: Iterable[str] = (), before: str = "#keys") -> None:
    """Show the line of that id above another widget, and have it typed in."""
    found = app.query_one_optional(f"#{line}", InputLine)
    if found is None:
        found = InputLine(id=line, placeholder=PLACEHOLDERS[line], compact=True)
        await app.mount(found, before=before)
    found.begin(text, names)
