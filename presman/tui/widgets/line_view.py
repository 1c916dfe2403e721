"""A fixed block of lines: header, alerts, tabs, keys and charts are all this."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice, zip_longest

from textual.geometry import Region
from textual.strip import Strip

from presman.figures.drawing.lines import Line, changes, fit, pad, plain, wrap
from presman.tui.widgets.line_api import LineApiWidget


class LineView(LineApiWidget):
    """Shows lines; sends only the parts that changed."""

    ground = ""
    """The background: "" or "panel"."""
    redraw: Callable[[], None] = staticmethod(lambda: None)
    """Makes the lines of what was shown last, for those whose lines depend on the size."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id, classes=classes)
        self._lines: tuple[Line, ...] = ()
        self._shown: list[Line] = []
        self._shown_width = 0

    def on_resize(self) -> None:
        """Draw in the new size."""
        self.redraw()

    def show_lines(self, lines: Sequence[Line]) -> None:
        """Show these lines; more than the height are cut."""
        before, self._lines = self._lines, tuple(lines)
        if before == self._lines:
            return
        width, height = self.size
        if not self._shown or self._shown_width != width or len(self._shown) != height:
            self._shown = []
            self.refresh()
            return
        regions = []
        for y, (old, new) in enumerate(islice(zip_longest(before, self._lines), height)):
            if old != new:
                line = self._padded(y, width)
                regions += [Region(x, y, span, 1) for x, span in changes(self._shown[y], line, width)]
                self._shown[y] = line
        if regions:
            self.refresh(*regions)

    def fit_lines(self, lines: Sequence[Line], step: int = 1) -> None:
        """Show these lines at the height they need, rounded up to `step` so that what is below seldom moves."""
        height = max(1, -(-len(lines) // step) * step)
        if self.styles.height is None or self.styles.height.value != height:
            self.styles.height = height
        self.show_lines(lines)

    def _padded(self, y: int, width: int) -> Line:
        return pad(self._lines[y] if y < len(self._lines) else (), width)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return some lines of the widget; its size, which is dear to ask for, is asked once for all of them."""
        width, height = self.size
        if self._shown_width != width or len(self._shown) != height:
            self._shown_width = width
            self._shown = [self._padded(line, width) for line in range(height)]
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """Return one line of the widget."""
        width = self._shown_width
        line = self._shown[y] if y < len(self._shown) else pad((), width)
        return self.strip(y, line, width, self.ground)

    def notify_style_update(self) -> None:
        """Forget what was drawn in other colours."""
        self._shown = []
        super().notify_style_update()


_INDENT = 3
_FRAME = 3
"""Lines above and below every tab, at least."""


class Sentences(LineView):
    """Lines that are wrapped anew when the width changes. Their height goes in steps, so that what is below stays."""

    def __init__(self, *, id: str, step: int = 1) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._step = step

    def show(self, sentences: Sequence[Line], shorter: Sequence[Line] = ()) -> None:
        """Show these sentences, or `shorter` ones where there is no room for all of them."""
        self.redraw = partial(self.show, sentences, shorter)
        width = self.size.width or self.app.size.width
        highest = self.styles.max_height
        most = None if highest is None else int(highest.resolve(self.app.size, self.app.size))
        if most is not None:  # on the smallest screens even less is left, and what is behind the edge is not counted
            most = min(most, max(1, (self.app.size.height - _FRAME) // 3))
        self.fit_lines(whole_sentences(sentences, shorter, width, most), self._step)


def whole_sentences(sentences: Sequence[Line], shorter: Sequence[Line], width: int, most: int | None) -> list[Line]:
    """Wrap sentences to at most `most` lines: what does not fit as a whole is counted, and nothing ends in its middle.

    Where there are `shorter` ones, each on one line, they stand for those that have no room: the first are whole first.
    """
    blocks = [wrap(line, width, _INDENT) for line in sentences]
    if most is None or sum(map(len, blocks)) <= most:
        return [part for block in blocks for part in block]
    if shorter:
        blocks = _as_many_whole(blocks, [_in_one_line(line, width) for line in shorter], most)
    found: list[Line] = []
    for index, block in enumerate(blocks):
        left = len(blocks) - index
        if len(found) + len(block) + (left > 1) > most:
            cut, left = (block[: most - 1], left - 1) if not found else ([], left)
            return [*found, *cut, ((f"   … +{left} more" if left else "   …", "dim"),)]
        found += block
    return found


def _as_many_whole(blocks: Sequence[list[Line]], shorter: Sequence[list[Line]], most: int) -> list[list[Line]]:
    """Return those whole that need but a line, and the first of the others as far as all have room in `most` lines."""
    spare, found = most - len(blocks), []
    for block, short in zip(blocks, shorter, strict=True):
        spare -= len(block) - 1
        found.append(block if len(block) == 1 or spare >= 0 else short)
    return found


def _in_one_line(line: Line, width: int) -> list[Line]:
    text = plain(line)
    return [line if len(text) <= width else ((fit(text, width), line[-1][1]),)]
