"""The panel of a tab: widgets mounted once and filled by one method only, and its requests to the app."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, assert_never

from textual.app import ComposeResult
from textual.dom import DOMNode
from textual.message import Message
from textual.widget import Widget

from presman.figures.figure import Table, late_note
from presman.tabs import tab
from presman.tabs.charts import ChartFeed, Trends
from presman.tabs.parts import Box, Lines, Moment, OverTime, Part, Rows
from presman.tui.saved_view import SavedView, restore_table
from presman.tui.widgets.chart import Chart
from presman.tui.widgets.grid import Grid
from presman.tui.widgets.line_api import Horizontal, LineApiWidget, PlainBackground, Sentences, Vertical

if TYPE_CHECKING:
    from presman.tui.pages.content import Content


@dataclass(eq=False)
class QueryWanted(Message):
    """Requests an on-demand query: once, or (`lasting`) at each poll from now on."""

    query: str
    binds: Mapping[str, str] = field(default_factory=dict)
    lasting: bool = False


@dataclass(eq=False)
class PageWanted(Message):
    """Requests a page in place of the panel."""

    content: Content


class _Filled(NamedTuple):
    """A widget and the function that fills it. One that is filled `always` hides and shows itself."""

    widget: Widget
    fill: Callable[[Moment], None]
    always: bool


class Panel(PlainBackground):
    """Lays out the parts of a tab. A panel with a layout of its own overrides `compose` and `show`."""

    def __init__(self, name: str) -> None:
        super().__init__(id=f"panel-{name}", name=name)
        self.tab = tab(name)
        self._grids: dict[str, Grid] = {}
        self._filled: dict[str, _Filled] = {}
        self._optional: set[Widget] = set()
        self.saved = SavedView()

    @property
    def all_grids(self) -> Mapping[str, Grid]:
        """The tables created so far, by the name under which their settings are saved."""
        return {f"{self.name}/{key}": grid for key, grid in self._grids.items()}

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        yield from self._widgets(self.tab.parts)

    def _widgets(self, parts: Sequence[Part]) -> Iterator[Widget]:
        for part in parts:
            if isinstance(part, Rows):
                yield self.grid(part)
            elif isinstance(part, Lines):
                yield self._sentences(part)
            elif isinstance(part, OverTime):
                yield self._chart(part)
            elif isinstance(part, Box):
                kind = Horizontal if part.across else Vertical
                yield kind(*self._widgets(part.parts), id=part.key or None, classes="" if part.key else "charts")
            else:
                assert_never(part)

    def on_mount(self) -> None:
        """Mark the widgets that a low terminal hides: all except the main table, by default the first not optional."""
        grids = [grid for grid in self.query(Grid) if grid not in self._optional]
        main = sorted(grids, key=lambda grid: not self.is_main(grid))[:1]
        is_flat = self.screen.has_class("-flat")  # only there the marks have a style: elsewhere none is computed anew
        for node in main[0].ancestors_with_self if main else ():
            if node is self or not isinstance(node.parent, Widget):
                break
            node.add_class("-main", update=is_flat)
            for other in node.parent.children:
                other.set_class(other is not node, "-aside", update=is_flat)

    def _hide_if_empty(self, widget: Widget, empty: bool) -> None:
        """Hide an optional widget while it is `empty` or has no room."""
        if widget in self._optional:
            widget.display = not (empty or (widget.has_class("-aside") and self.screen.has_class("-flat")))

    def grid(self, part: Rows) -> Grid:
        """Return the grid of a table, created on first use; `show` fills it."""
        trends = Trends(part.trends) if part.trends else None
        made = self._grids[part.table.key] = Grid(part.table, trend=trends, filterable=part.filterable)
        made.drawing.is_brief = part.optional
        restore_table(self.saved, f"{self.name}/{part.table.key}", made)

        def fill(moment: Moment) -> None:
            if trends is not None:
                trends.at(moment)
            rows, unavailable = part.rows(moment), part.unavailable(moment)
            self._hide_if_empty(made, part.optional and not rows and not unavailable)
            made.show_rows(
                rows,
                part.hidden(moment),
                part.note(moment),
                part.least(moment),
                unavailable=unavailable,
                column_notes=part.column_notes(moment),
                late=late_note(part.table, moment.reading),
                colours=moment.colours,
            )

        self._filled[part.table.key] = _Filled(made, fill, part.optional)
        self._optional |= {made} if part.optional else set()
        return made

    def _sentences(self, part: Lines) -> Sentences:
        made = Sentences(id=part.key, step=part.step)

        def fill(moment: Moment) -> None:
            lines = part.lines(moment)
            self._hide_if_empty(made, part.optional and not lines)
            made.show(lines, part.shorter(moment))

        self._filled[part.key] = _Filled(made, fill, part.optional)
        self._optional |= {made} if part.optional else set()
        return made

    def _chart(self, part: OverTime) -> Chart:
        made, feed = Chart(id=part.key), ChartFeed(part)

        def fill(moment: Moment) -> None:
            data = feed.data(moment)
            if part.optional:
                made.set_class(data.is_nothing, "-nothing")  # the style sheet may also hide it for lack of room
            made.show(data, part.levels(moment))

        self._filled[part.key] = _Filled(made, fill, part.optional)
        return made

    def grid_of(self, table: Table[Any]) -> Grid:
        """Return the grid of a table."""
        return self._grids[table.key]

    def fill(self, table: Table[Any], moment: Moment) -> None:
        """Fill the grid of a table, visible or not."""
        self._filled[table.key].fill(moment)

    def show(self, moment: Moment) -> None:
        """Fill the visible widgets."""
        for filled in self._filled.values():
            if filled.always or filled.widget.display:
                filled.fill(moment)

    def forget(self) -> None:
        """Clear the cache of painted lines, about 300 kB."""
        for widget in self.walk_children(LineApiWidget):
            widget.forget()

    def grids(self) -> list[Grid]:
        """Return the visible tables in the order of the Tab key."""
        return [grid for grid in self.query(Grid) if self.shows(grid)]

    @property
    def why_no_rows(self) -> str:
        """Why something other than the rows of the tab is shown, "" if they are."""
        return ""

    def is_main(self, grid: Grid) -> bool:
        """Return whether a table is declared as the main one of the tab."""
        return any(part.main and part.table is grid.table for part in self.tab.rows())

    def shows(self, widget: Widget) -> bool:
        """Return whether a widget is in the panel and neither it nor its parents are hidden."""
        node: DOMNode | None = widget
        while node is not None and node is not self and node.display:
            node = node.parent
        return node is self

    def subject(self, grid: Grid | None) -> Any:
        """Return the row that the key `c` applies to, None if there is none."""
        return None if grid is None else grid.row

    def measure(self, grid: Grid | None) -> str:
        """Return the measure that the key `e` exports from here."""
        measures = (part.measure for part in self.tab.rows() if grid is not None and part.table is grid.table)
        return next(measures, "") or self.tab.measure
