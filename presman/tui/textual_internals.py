"""Private names of Textual that presman uses: all of them, each with a fallback.

They save CPU and memory, or keep the values of variables out of a crash report. Textual may change them in any
release; presman then costs a little more, or ends in Textual's own way, but still works.
"""

import gc
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, TypeAlias

import rich.cells
import rich.segment
import textual.geometry
from textual.app import App
from textual.events import Resize
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from presman.base.running_out import collect_rarely

KeyParser: TypeAlias = Any
"""Textual's parser of terminal input: `feed` returns the messages that a text completes, "" being its end; `tick` those
that are complete because nothing followed in time."""

_PASSING = (
    (rich.cells, "cached_cell_len"),
    (rich.segment.Segment, "_split_cells"),
    (textual.geometry.Region, "translate"),
    (textual.geometry.Region, "intersection"),
    (textual.geometry.Region, "overlaps"),
)
"""Caches of thousands of texts and offsets, each used for one poll only (`_split_cells` keeps 16,384 cut texts)."""

HURRY = 0.001
"""Seconds that layout waits for further changes before the first frame."""


class PatientScreen(Screen[None]):
    """A screen whose first frame waits for `begin`, so that it is complete and laid out.

    Another version of Textual may paint at once.
    """

    _has_begun = False
    _hurried: Timer | None = None

    def begin(self) -> None:
        """Paint the first frame, and from now on all changes."""
        self._has_begun = True
        if self._hurried is not None:
            self._hurried.stop()
            self.check_idle()  # its pending work still has to be done
        if hasattr(Screen, "_compositor_refresh"):
            self._compositor_refresh()

    def repaint(self, widget: Widget, regions: Iterable[Region]) -> bool:
        """Have parts of a widget painted with the next frame; return whether that is possible.

        Textual sends two messages to the widget and one to the screen for that, a tenth of the CPU time of a poll.
        """
        if not self._has_begun or not hasattr(widget, "_set_dirty") or not hasattr(self, "_dirty_widgets"):
            return False
        widget._set_dirty(*regions)
        if widget.display:
            self._dirty_widgets.add(widget)
            self.check_idle()
        return True

    @property
    def _update_timer(self) -> Timer:
        """The timer for layout and painting; before the first frame it fires as soon as there is work."""
        if self._has_begun:
            return super()._update_timer
        if self._hurried is None:
            self._hurried = self.set_interval(HURRY, self._on_timer_update, pause=True)
        return self._hurried

    def _compositor_refresh(self) -> None:
        if self._has_begun:
            super()._compositor_refresh()

    def _screen_resized(self, size: Size) -> None:
        """Lay out for a new size: until the first frame Textual reports the same one three times."""
        if self._has_begun or size != self._size:
            super()._screen_resized(size)

    def _refresh_layout(self, *arguments: Any, **named: Any) -> None:
        """Lay out, and notify each widget of its new size: Textual misses some if a position was just queried.

        Lines around the panel that have changed are in the same frame: what they posted may not have arrived yet.
        """
        before = [(widget, widget.outer_size) for widget in self.walk_children(Widget)]
        self._dirty_widgets |= {each for each in self.children if getattr(each, "_repaint_regions", ())}
        super()._refresh_layout(*arguments, **named)
        for widget, size in before:
            if widget.outer_size != size:  # a duplicate is merged with the first
                widget.post_message(Resize(widget.outer_size, widget.virtual_size, widget.container_size))


def key_parser(debug: bool = False) -> KeyParser | None:
    """Return a parser of terminal input, None if Textual's has changed."""
    try:
        from textual._xterm_parser import XTermParser

        parser: Any = XTermParser(debug)
    except (ImportError, TypeError):
        return None
    return parser if callable(getattr(parser, "tick", None)) and callable(getattr(parser, "feed", None)) else None


def end_input(parser: KeyParser) -> None:
    """Close the parser at the end of the input. The result for an incomplete key no longer matters."""
    with suppress(Exception):
        list(parser.feed(""))


def note_fault(app: App[Any], error: Exception, code: int = 1) -> None:
    """Record an error for test drivers, and set the exit code `code`, as Textual does with 1."""
    if getattr(app, "_exception", error) is None:
        app._exception = error
    if (happened := getattr(app, "_exception_event", None)) is not None:
        happened.set()
    app._return_code = code


def ring_once(timer: Timer) -> Timer:
    """Make a one-shot timer fire even if it is late: Textual would skip it, and it would never fire."""
    if hasattr(timer, "_skip"):
        timer._skip = False
    return timer


def forget_regions(widget: Widget) -> None:
    """Clear the dirty regions of a widget that is never rendered as a whole: they would accumulate."""
    if (regions := getattr(widget, "_dirty_regions", None)) is not None:
        regions.clear()


def settle_garbage() -> None:
    """Exempt all objects created so far from garbage collection, which cost a tenth of the CPU time.

    The few others are collected when there is time, not while a poll is drawn: see :func:`tidy_garbage`.
    """
    gc.collect()
    gc.freeze()
    collect_rarely()


def tidy_garbage() -> None:
    """Clear caches and collect garbage: strips contain reference cycles, and each poll discards some twenty."""
    for owner, name in _PASSING:
        clear: Callable[[], None] | None = getattr(getattr(owner, name, None), "cache_clear", None)
        if clear is not None:
            clear()
    gc.collect()
