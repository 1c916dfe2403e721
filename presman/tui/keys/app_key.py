"""A key of an app: what it is called, what it does, and when that makes sense."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from textual.binding import Binding

from presman.tabs.parts import Key
from presman.tui.widgets.tab_line import Labelled

if TYPE_CHECKING:
    from presman.tui.frame_app import FrameApp

Run = Callable[[Any], "Awaitable[None] | None"]
When = Callable[[Any], bool]
"""What a key does, and when it does: of the app that has it."""


NO_DATA = "Nothing has been read yet."


def always(_app: object) -> bool:
    """Whenever."""
    return True


def has_data(app: FrameApp) -> bool:
    """Once there is something to look at."""
    return app.monitor.reading is not None


def has_tables(app: FrameApp) -> bool:
    """While a tab is on show, and no page."""
    return has_data(app) and not app.reader.is_open


class AppKey(Struct, frozen=True, dict=True):
    """A key of an app. `when` tells whether it does something here and now; `why_not` is told if not.

    `relabel` gives the label of the moment, where that changes.
    """

    key: Key
    run: Run
    when: When = always
    why_not: str | Callable[[Any], str] = ""
    relabel: Callable[[Any], str] | None = None

    @property
    def action(self) -> str:
        """The action as Textual calls it."""
        return f"key('{self.key.name}')"

    @property
    def binding(self) -> Binding:
        """The key as a binding of the app."""
        return Binding(self.key.keys, self.action, self.key.label, show=False)

    def labelled(self, app: Any) -> Labelled:
        """Return the key as the bottom line offers it."""
        label = self.relabel(app) if self.relabel else self.key.label
        return Labelled(self.key.shown, label, self.action)
