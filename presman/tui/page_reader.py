"""The page that stands in place of a panel: who opens, fills and closes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.widget import Widget

from presman.analysis.readings.reading import Reading
from presman.figures.drawing.lines import Line
from presman.rows.queries import Focus
from presman.tui.tab_panels import TabPanels

if TYPE_CHECKING:
    from presman.tui.feed import Feed
    from presman.tui.pages.content import Content
    from presman.tui.widgets.page import Page


class PageReader:
    """Opens, refreshes and closes the one page there is, and has read what only the page shows."""

    def __init__(self, app: App[None], panels: TabPanels, feed: Feed, repaint: Callable[[], None]) -> None:
        self._app = app
        self._panels = panels
        self._feed = feed
        self._repaint = repaint
        self._content: Content | None = None
        self._breadcrumb = ""
        self.row: Any = None
        """The row of a table that the page is about, None where it is about none."""
        self._left: Widget | None = None

    @property
    def is_open(self) -> bool:
        """Whether a page is being read."""
        return self._content is not None

    @property
    def needle(self) -> str:
        """What the page is filtered by."""
        return self._page.needle if self.is_open else ""

    def filter(self, needle: str, *, done: bool) -> None:
        """Show the lines of the page that contain a text; once that is `done`, go back to it."""
        self._page.set_filter(needle)
        if done:
            self._page.focus()

    @property
    def text(self) -> str:
        """The page as plain text."""
        return self._page.text

    @property
    def _page(self) -> Page:
        from presman.tui.widgets.page import Page

        return self._app.screen_stack[0].query_one(Page)

    def open(
        self,
        content: Content,
        focus: Focus | None = None,
        breadcrumb: str = "",
        row: Any = None,
        found_by_search: Callable[[], Sequence[Line]] = tuple,
    ) -> None:
        """Put the page in place of the panel, below the `breadcrumb`, and have the session it is about read closely.

        `found_by_search` makes lines that only a search brings up.
        """
        if self._content is None:
            self._left = self._app.focused
        self._content, self._breadcrumb, self.row = content, breadcrumb, row
        page = self._page
        page.set_filter("")
        page.found_by_search = found_by_search
        self._panels.present.display = False
        page.display = True
        page.scroll_to(y=0, animate=False)
        page.focus()
        self._repaint()
        self.look_at(focus)

    def refresh(self, reading: Reading | None) -> None:
        """Draw the page from this reading."""
        if self._content is not None:
            breadcrumb: list[Line] = [((self._breadcrumb, "title"),)] if self._breadcrumb else []
            self._page.show_lines([*breadcrumb, *self._content(reading)])

    def close(self, *, back: bool = True) -> None:
        """Put the panel back, and (`back`) the focus to where it was."""
        if self._content is not None:
            self._page.display = False
            self._panels.present.display = True
            if back and self._left is not None and self._panels.present.shows(self._left):
                self._left.focus()
            self._panels.focus_first()
        self._content = self._left = self.row = None

    def look_at(self, focus: Focus | None) -> None:
        """Have one session read closely; without one only progress, and that only where the tab shows it.

        That makes a poll at once, which would hold up the screen: so what there is already is painted first.
        """

        wanted = focus or (Focus() if self._panels.present.tab.progress else None)
        self._app.call_after_refresh(lambda: self._feed.focus(wanted))
