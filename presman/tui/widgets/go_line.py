"""The line a name is typed in, to go there. Imported when its key is first pressed."""

from __future__ import annotations

from collections.abc import Iterable

from textual.message import Message
from textual.suggester import SuggestFromList
from textual.widgets import Input

from presman.base.text import clean


class GoLine(Input):
    """One line above the keys; → takes the name that is suggested."""

    class Named(Message):
        """This was typed and Enter pressed."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self) -> None:
        super().__init__(
            id="go", placeholder="tab, group, instance, SID, 1:SID, SQL_ID, target; 19:08 or -15m; Esc", compact=True
        )

    def begin(self, names: Iterable[str]) -> None:
        """Appear empty, suggesting these names."""
        self.suggester = SuggestFromList(list(names), case_sensitive=False)
        self.display = True
        self.value = ""
        self.screen.set_focus(self)  # at once: the next key is typed here

    async def action_submit(self) -> None:
        """Tell what was typed: the app itself, so that a key that follows at once is not typed here."""
        self.display = False
        self.app.post_message(self.Named(clean(self.value)))
