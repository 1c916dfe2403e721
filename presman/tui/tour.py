"""Tour of the demo: five steps above the keys; each ends when the user has followed it."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from textwrap import wrap
from typing import NamedTuple

from presman.base import private_files
from presman.base.private_files import state_folder
from presman.figures.drawing.lines import Line
from presman.tabs.parts import Key
from presman.tui.frame_app import FrameApp
from presman.tui.keyed_app import AppKey
from presman.tui.widgets.line_api import LineView

_FILE = "tour"


class TourStep(NamedTuple):
    """One step: what is on screen, which key to press, and the check whether that was done."""

    see: str
    press: str
    done: Callable[[FrameApp], bool]


STEPS: Sequence[TourStep] = (
    TourStep("A simulated database. At the top: what is wrong, worst first, and DO, the one thing to do now.",
             "Press 4 for the parallel statements.", lambda app: app.monitor.choices.tab == "parallel"),
    TourStep("What runs on how many servers, what is queued, WHY the first one waits and what would let it start.",
             "Press Tab to get to a table, Enter on a row to go into it.",
             lambda app: app.reader.row is not None or bool(app.monitor.choices.scopes)),
    TourStep("All about that row. q goes back, here and everywhere; at the top it ends presman.",
             "Press 2 for the CPU: what each group uses, is entitled to, and waits for.",
             lambda app: app.monitor.choices.tab == "cpu"),
    TourStep("presman keeps what it has seen: you can go back in time while it polls on.",
             "Press ← a few times; End goes back to now.", lambda app: app.monitor.is_frozen),
    TourStep("The help has the view and formula of every figure. Your own database: presman connect.",
             "Press ? for the keys and columns of this tab; q closes it.", lambda app: app.reader.is_open),
)  # fmt: skip


class Tour:
    """The tour of one run. Once completed or ended it is shown again only by `presman demo --tour`."""

    def __init__(self) -> None:
        self._step = 0
        self._line: LineView | None = None
        self._over = False

    def attach(self, app: FrameApp) -> None:
        """Make an app show the tour once it has data, and give it a key that ends the tour."""
        app.show_around = partial(self.follow, app)
        key = Key("end_tour", "x", "x", "end the tour", "End the tour of the demo.")
        app.own_keys = {**app.own_keys, key.name: AppKey(key, self.end, lambda _: not self._over)}
        app.bind(key.keys, app.own_keys[key.name].action, show=False)

    def follow(self, app: FrameApp) -> None:
        """Show the current step; called after each repaint."""
        if self._over or not app.begun or app.is_leaving or app.monitor.reading is None:
            return
        if self._line is None:
            self._line = LineView(id="tour")
            self._line.ground = "panel"
            app.frame.mount(self._line, before="#keys")
            app.call_after_refresh(app.paint_lines)
        if STEPS[self._step].done(app):
            self._step += 1
        if self._step == len(STEPS):
            self.end(app)
            return
        self._line.fit_lines(tour_lines(self._step, app.size.width))

    def end(self, app: FrameApp) -> None:
        """Remove the lines, and save that the tour is over."""
        self._over = True
        if self._line is not None:
            self._line.remove()
        with suppress(OSError):  # then it is shown again the next time
            private_files.keep_file(_FILE, "over\n")
        app.notify("The tour is over; presman demo --tour shows it again.")


def tour_lines(index: int, width: int) -> list[Line]:
    """Return the lines of a step: what is on screen, which key to press, and the key that ends the tour."""
    see, press, _ = STEPS[index]
    head, tail = f" Tour {index + 1}/{len(STEPS)}  ", "  x ends the tour "
    room = max(20, width - len(head) - 1)
    lines = [*wrap(see, room), press]
    last = press if len(press) + len(tail) <= room else ""
    found: list[Line] = [((head, "title"), (lines[0], ""))]
    found += [((" " * len(head), ""), (line, "")) for line in lines[1:-1]]
    found += [] if last else [((" " * len(head), ""), (line, "key")) for line in wrap(press, room)]
    gap = max(0, width - len(head) - len(last) - len(tail))
    return [*found, ((" " * len(head), ""), (last, "key"), (" " * gap, ""), (tail, "dim"))]


def was_ended() -> bool:
    """Return whether the tour was completed or ended before."""
    try:
        return (state_folder() / _FILE).exists()
    except OSError:
        return False
