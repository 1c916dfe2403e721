"""The monitor's base screen: the lines of facts, state, alerts, tabs and keys around the panel or the page."""

from collections.abc import Sequence
from textwrap import wrap

from textual.geometry import Size
from textual.widget import Widget

from presman.figures.drawing.lines import Line
from presman.tabs.choices import LinkState
from presman.tui.base_screen import BaseScreen, too_small
from presman.tui.monitor import Monitor
from presman.tui.textual_internals import PatientScreen
from presman.tui.widgets.frame_lines import (
    KeysLine,
    Labelled,
    StateView,
    TabLine,
    TopLine,
    TopLines,
    is_ticking,
    tick_after,
)
from presman.tui.widgets.line_api import Container


class MonitorScreen(PatientScreen, BaseScreen):
    """The monitor's screen: lines above and below, and a body with the panel or the page.

    `body` is the page and the first panel; other panels are mounted later.
    """

    def __init__(self, *body: Widget) -> None:
        super().__init__()
        self._top, self._tabs, self._keys = TopLines(id="top"), TabLine(id="tabs"), KeysLine(id="keys")
        self._state = StateView(id="state")
        self.body = Container(*body, id="body")
        self.parts = self._top, self._state, self._tabs, self.body, self.message, self._keys

    def fit(self, size: Size, widths: Sequence[tuple[int, str]], heights: Sequence[tuple[int, str]]) -> None:
        """Set the classes of a size before Textual reports it, so that widgets are styled only once."""
        for length, names in ((size.width, widths), (size.height, heights)):
            self.add_class(max((least, name) for least, name in names if least <= length)[1])

    def _paint_top(self, monitor: Monitor, top: TopLine) -> None:
        """Draw the line of facts, the state, the line of alerts and the to-do line."""
        self._top.show(top, monitor.alerts, monitor.to_do)
        self._state.show(top)

    def paint_lines(self, monitor: Monitor, exporting: str, hidden: Sequence[str], keys: Sequence[Labelled]) -> float:
        """Draw the lines above and below the body. Return after how many seconds to call `tick`."""
        self._paint_top(monitor, top := _top_line(monitor, exporting))
        needle = monitor.choices.filter
        self._tabs.show(monitor.choices.tab, f"filter: {needle}" if needle else "", hidden)
        self._keys.show(keys)
        self.body.set_class(monitor.link.state is LinkState.LOST, "-old")
        return tick_after(top)

    def tick(self, monitor: Monitor, exporting: str) -> float:
        """Update the figures that change every second. Return after how many seconds to call this again."""
        if is_ticking(top := _top_line(monitor, exporting)):
            self._paint_top(monitor, top)
        return tick_after(top)

    def paint_message(self, monitor: Monitor, leaving: str = "quits", *, is_page_open: bool = False) -> bool:
        """Draw a message in place of the body; return whether there is one. `leaving` is what q does."""
        lines = too_small(self.app.size, leaving) or ([] if is_page_open else self._message_of(monitor, leaving))
        self.set_class(is_page_open and self.has_class("-flat"), "-reading")
        return self.show_message(lines)

    def _message_of(self, monitor: Monitor, leaving: str) -> list[Line]:
        width, link = self.app.size.width, monitor.link
        if monitor.reading is not None or link.state is not LinkState.LOST:
            return []
        again = "Press F5 to try again now." if link.retry_at else "presman does not retry by itself: press F5."
        if link.wants_password and link.retry_at:
            again = "Correct the password in config.ini: presman reads it again. F5 tries at once; each try counts."
        elif link.wants_password:  # it was typed, or is in the environment or the keyring
            again = "For another password start presman again. F5 tries this one again; each try counts."
        texts = ((link.text, ""), (f"{again} q {leaving}.", "dim"))
        lines = [((f"  {line}", style),) for text, style in texts for line in wrap(text, width - 3)]
        return [(), (("  ✕ No data", "bad"),), *lines]


def _top_line(monitor: Monitor, exporting: str) -> TopLine:
    return TopLine(
        monitor.name, monitor.reading, monitor.choices, monitor.link, monitor.cost, exporting, monitor.clock()
    )
