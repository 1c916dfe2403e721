"""The page that stands in place of a panel: details of a row, or help."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from presman.tui.widgets.lines import Line

if TYPE_CHECKING:
    from presman.analysis.reading import Reading
    from presman.columns import Table
    from presman.tui.actions import Action
    from presman.tui.panels.panel import Panel
    from presman.tui.widgets.page import Page
    from presman.watch import Watch

Content = Callable[["Reading | None"], list[Line]]
"""Makes the page's lines of the reading on screen."""


class Reader:
    """Opens, refreshes and closes the one page there is."""

    def __init__(self) -> None:
        self._page: Page | None = None
        self._panel: Panel | None = None
        self._content: Content | None = None

    @property
    def is_open(self) -> bool:
        """Whether a page is being read."""
        return self._content is not None

    @property
    def text(self) -> str:
        """The page as plain text."""
        return self._page.text if self._page is not None else ""

    def open(self, page_widget: Page, panel: Panel, content: Content) -> None:
        """Put the page in place of the panel."""
        self._page, self._panel, self._content = page_widget, panel, content
        panel.display = False
        page_widget.display = True
        page_widget.scroll_to(y=0, animate=False)
        page_widget.focus()

    def refresh(self, reading: Reading | None) -> None:
        """Draw the page from this reading."""
        if self._page is not None and self._content is not None:
            self._page.show_lines(self._content(reading))

    def close(self) -> None:
        """Put the panel back."""
        if self._page is not None and self._panel is not None:
            self._page.display = False
            self._panel.display = True
        self._content = None


def details_of(row: Any, table: Table[Any], watch: Watch, width: int) -> Content:
    """Return the page of a row, which follows it from reading to reading; a queued statement when it runs, too.

    `width` is how many cells there are for what cannot be wrapped.
    """
    from presman.analysis.reading import GroupReading
    from presman.tui.closeup import closeup, focus_of, usual_lines
    from presman.tui.details import BLANK, again, page, stamp, title

    last = row

    def content(reading: Reading | None) -> list[Line]:
        nonlocal last
        if reading is None:
            return []
        found = again(last, table, reading)
        last = last if found is None else found
        gone: list[Line] = [((" ○ no longer there; this is what was seen last", "warn"),), ()]
        lines = [stamp(reading), *(gone if found is None else []), *page(last, table, reading)]
        if focus_of(last) is not None:
            lines += closeup(last, reading, width)
        elif isinstance(last, GroupReading):
            place = (last.con_id, last.name)
            for each in watch.marks.compare(reading):
                if (each.con_id, each.name) == place:
                    lines += [BLANK, title("Is its queue worse than usual?"), *usual_lines(each)]
        return lines

    return content


def help_of(panel: Panel, title: str, actions: Iterable[Action], grid_keys: Iterable[tuple[str, str]]) -> Content:
    """Return the help of a panel; it does not depend on the data."""
    from presman.tui.help import help_page

    lines = help_page(title, list(actions), list(grid_keys), panel.tables, panel.notes)
    return lambda _reading: lines
