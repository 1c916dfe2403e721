"""The base screen of an app, below its dialogs: its parts from top to bottom, and a message in their place."""

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.geometry import Size
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget

from presman.figures.drawing.lines import Line
from presman.tui.widgets.line_api import LineView, PlainBackground

LEAST = (60, 8)
"""The smallest terminal that shows anything useful, in columns and lines."""


def too_small(size: Size, leaving: str = "quits") -> list[Line]:
    """Return a message that a terminal is too small, [] if it is not; `leaving` is what q does."""
    if size.width >= LEAST[0] and size.height >= LEAST[1]:
        return []
    return [
        (("terminal too small", "bad"),),
        ((f"presman needs {LEAST[0]} x {LEAST[1]}", ""),),
        ((f"this one is {size.width} x {size.height}", ""),),
        ((f"enlarge it, or q {leaving}", "dim"),),
    ]


class BaseScreen(Screen[None], PlainBackground):
    """A screen of `parts`. It avoids Textual's full repaint when the focus moves: only the focused widget changes."""

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)

    def __init__(self) -> None:
        super().__init__(id="_default")
        self.message = LineView(id="message")
        self.parts: Sequence[Widget] = ()

    def compose(self) -> ComposeResult:
        """Lay out the parts."""
        yield from self.parts

    def show_message(self, lines: Sequence[Line]) -> bool:
        """Show a message in place of the body, or nothing; return whether there is one."""
        self.message.show_lines(lines)
        self.set_class(bool(lines), "-message")
        return bool(lines)
