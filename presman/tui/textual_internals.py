"""Private names of Textual that presman uses: all of them, each with a way to do without.

They save CPU and memory, or keep the values of variables out of a crash report. Textual may change them in any
release; then presman costs a little more, or ends in Textual's own way, and goes on working.
"""

import gc
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Protocol

import rich.cells
import rich.segment
import textual.geometry
from textual.app import App
from textual.events import Resize
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from presman.base.running_out import collect_rarely

_PASSING = (
    (rich.cells, "cached_cell_len"),
    (rich.segment.Segment, "_split_cells"),
    (textual.geometry.Region, "translate"),
    (textual.geometry.Region, "intersection"),
    (textual.geometry.Region, "overlaps"),
)
"""What remembers thousands of texts and offsets, each on screen for one poll: of cut texts (`_split_cells`) 16,384."""

HURRY = 0.001
"""Seconds for which what is to be laid out waits for more of it, while nothing is painted yet."""


class KeyParser(Protocol):
    """Textual's parser of what a terminal sends."""

    def feed(self, data: str) -> Iterable[Message]:
        """Return the messages that are complete with `data`; "" is the end."""
        ...

    def tick(self) -> Iterable[Message]:
        """Return the messages that were complete, as nothing came after them in time."""
        ...


class PatientScreen(Screen[None]):
    """A screen whose first frame waits until it is to `begin`, so that it shows what was drawn by then, laid out.

    A Textual that paints another way paints at once.
    """

    _has_begun = False
    _hurried: Timer | None = None

    def begin(self) -> None:
        """Paint what is laid out, and all that comes."""
        self._has_begun = True
        if self._hurried is not None:
            self._hurried.stop()
            self.check_idle()  # what it was asked for is still to be done
        if hasattr(Screen, "_compositor_refresh"):
            self._compositor_refresh()

    @property
    def _update_timer(self) -> Timer:
        """What rings when it is time to lay out and to paint: until there is a frame, as soon as something is to do."""
        if self._has_begun:
            return super()._update_timer
        if self._hurried is None:
            self._hurried = self.set_interval(HURRY, self._on_timer_update, pause=True)
        return self._hurried

    def _compositor_refresh(self) -> None:
        if self._has_begun:
            super()._compositor_refresh()

    def _refresh_layout(self, *arguments: Any, **named: Any) -> None:
        """Lay out, and tell each widget its new size: not all are told if one was asked for its place just before."""
        before = [(widget, widget.outer_size) for widget in self.walk_children(Widget)]
        super()._refresh_layout(*arguments, **named)
        for widget, size in before:
            if widget.outer_size != size:  # who is told twice at once hears it once
                widget.post_message(Resize(widget.outer_size, widget.virtual_size, widget.container_size))


def key_parser(debug: bool = False) -> KeyParser | None:
    """Return a parser of what a terminal sends, None where Textual's is not as it was."""
    try:
        from textual._xterm_parser import XTermParser

        parser: Any = XTermParser(debug)
    except (ImportError, TypeError):
        return None
    return parser if callable(getattr(parser, "tick", None)) and callable(getattr(parser, "feed", None)) else None


def end_input(parser: KeyParser) -> None:
    """Tell the parser that nothing more comes. What it makes of half a key does not matter any more."""
    with suppress(Exception):
        list(parser.feed(""))


def note_fault(app: App[Any], error: Exception, code: int = 1) -> None:
    """Have a test driver find the error, and the process end with `code`, as Textual does itself with 1."""
    if getattr(app, "_exception", error) is None:
        app._exception = error
    happened = getattr(app, "_exception_event", None)
    if happened is not None:
        happened.set()
    app._return_code = code


def ring_once(timer: Timer) -> Timer:
    """Have a timer that rings once ring even if it is late: Textual skips what it is too late for, and that was all."""
    if hasattr(timer, "_skip"):
        timer._skip = False
    return timer


def forget_regions(widget: Widget) -> None:
    """Let go of the regions noted for a widget that is never rendered as a whole: they would add up."""
    regions = getattr(widget, "_dirty_regions", None)
    if regions is not None:
        regions.clear()


def forget_passing() -> None:
    """Empty the caches of what has passed."""
    for owner, name in _PASSING:
        clear: Callable[[], None] | None = getattr(getattr(owner, name, None), "cache_clear", None)
        if clear is not None:
            clear()


def settle_garbage() -> None:
    """Take what was made so far out of the garbage collector's rounds: they cost a tenth of all CPU time.

    What is left is little. It is looked at when there is time, not while a poll is drawn: see :func:`tidy_garbage`.
    """
    gc.collect()
    gc.freeze()
    collect_rarely()


def tidy_garbage() -> None:
    """Forget what has passed, and collect: a strip of the screen refers to itself, and polls throw some twenty away."""
    forget_passing()
    gc.collect()
