"""A page of text: details and help. One scrollable column of lines, wrapped to the width."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from presman.figures.drawing.columns import matches
from presman.figures.drawing.lines import Line, pad, plain, wrap
from presman.tui.widgets.line_api import LineApiWidget


class Page(ScrollView, LineApiWidget, can_focus=True, inherit_bindings=False):
    """Shows lines; long ones are wrapped, with the second line indented below the text of the first."""

    bare = False

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_lines(-1)", "scroll up", show=False, key_display="↑ k"),
        Binding("down,j", "scroll_lines(1)", "scroll down", show=False, key_display="↓ j"),
        Binding("pageup", "scroll_pages(-1)", "page up", show=False, key_display="PgUp"),
        Binding("pagedown", "scroll_pages(1)", "page down", show=False, key_display="PgDn"),
        Binding("home", "scroll_lines(-100000)", "top", show=False, key_display="Home"),
    ]

    def __init__(self) -> None:
        super().__init__(id="page")
        self.needle = ""
        self._source: tuple[Line, ...] = ()
        self.found_by_search: Callable[[], Sequence[Line]] = tuple
        """Makes lines that appear on the page only if a search finds them."""
        self._wrapped: list[Line] = []

    def set_filter(self, needle: str) -> None:
        """Show only the lines that contain a text (`!` before it: only the others), with their headings."""
        if needle != self.needle:
            self.needle = needle
            self.scroll_to(y=0, animate=False)
            self._rewrap()

    def show_lines(self, lines: Sequence[Line]) -> None:
        """Show these lines; the scroll position is kept."""
        if tuple(lines) != self._source:
            self._source = tuple(lines)
            self._rewrap()

    @property
    def text(self) -> str:
        """The page as plain text."""
        return "\n".join(plain(line).rstrip() for line in self._narrowed())

    def lines_in(self, width: int) -> int:
        """Return how many lines the page takes at a `width` in cells, including its edges."""
        return len(self._wrapped_to(width - self.gutter.width))

    def _narrowed(self) -> Sequence[Line]:
        more = self.found_by_search() if self.needle else ()
        return narrowed([*self._source, *more], self.needle)

    def _wrapped_to(self, width: int) -> list[Line]:
        room = max(20, width)
        return [part for line in self._narrowed() for part in wrap(line, room, _indent(line, room))]

    def _rewrap(self) -> None:
        # A hidden page has no width yet, and its first frame comes before it is told one.
        around = self.screen.size.width - self.gutter.width if self.is_attached else 0
        self._wrapped = self._wrapped_to(self.scrollable_content_region.width or around)
        self.virtual_size = Size(self.size.width, len(self._wrapped))
        self.refresh()

    def on_resize(self) -> None:
        """Wrap to the new width."""
        self._rewrap()

    def render_line(self, y: int) -> Strip:
        """Return one line of the widget."""
        width = self.scrollable_content_region.width
        index = y + self.scroll_offset.y
        line = pad(self._wrapped[index] if index < len(self._wrapped) else (), width)
        return self.strip(y, line, width)

    def action_scroll_lines(self, lines: int) -> None:
        """Scroll by some lines."""
        self.scroll_to(y=self.scroll_offset.y + lines, animate=False)

    def action_scroll_pages(self, pages: int) -> None:
        """Scroll by some screenfuls."""
        self.action_scroll_lines(pages * max(1, self.scrollable_content_region.height - 1))


def narrowed(lines: Sequence[Line], needle: str) -> Sequence[Line]:
    """Return the first line and the other lines that pass a filter, below their headings."""
    if not (needle and lines):
        return lines
    found: list[Line] = [(*lines[0], (f"   filter: {needle}", "warn"))]
    heading: Line | None = None
    for line in lines[1:]:
        if line and line[0][1] == "title":
            heading = line
        elif line and matches(needle, plain(line).lower()):
            found += [(), heading] if heading else []
            found, heading = [*found, line], None
    return found if len(found) > 1 else [*found, (), (("Nothing matches.", "dim"),)]


def _indent(line: Line, width: int) -> int:
    """Return the indent of continuation lines: that of the text after the label."""
    label = line[0][0] if len(line) > 1 and line[0][1] in {"dim", "key"} else ""
    blanks = len(plain(line)) - len(plain(line).lstrip())
    return len(label) if 0 < len(label) <= width // 2 else min(blanks, width // 2)
