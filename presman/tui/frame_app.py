"""The frame of the monitor: messages of the feed, and painting. Keys: :mod:`presman.tui.app`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.readings.reading import Reading
from presman.base import terminal_guard
from presman.tabs.choices import LinkState
from presman.tui import feed as feeds
from presman.tui.exports import CsvRecording, PollRecording, taking
from presman.tui.feed import ActionGateway
from presman.tui.keyed_app import TIDY, KeyedApp
from presman.tui.monitor import Moments, Monitor
from presman.tui.monitor_screen import MonitorScreen
from presman.tui.tab_panels import PACE, PageReader, TabPanels
from presman.tui.terminal_app import AlarmClock
from presman.tui.widgets.page import Page

if TYPE_CHECKING:
    from presman.analysis.alerts.judge import AlertChanges
    from presman.recording.recording_source import RecordingSource
    from presman.tui.following import FollowedStatement

SETTLED = 4.0
"""Seconds after the first reading when all lasting objects exist."""


class FrameApp(KeyedApp):
    """Header, alerts, tabs, one panel or page, keys."""

    CSS_PATH = "presman.tcss"
    TITLE = "presman"
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (15, "-short"), (28, "-middle"), (42, "-tall")]  # noqa: RUF012 - as Textual has it

    def __init__(
        self,
        make_feed: feeds.MakeFeed,
        *,
        name: str,
        refresh: float = 2.0,
        theme: str | None = None,
        folder: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
        packs: tuple[str, ...] = (),
        gateway: ActionGateway | None = None,
    ) -> None:
        super().__init__()
        self.gateway = gateway
        self.targets: Sequence[str] = ()
        self.switch_to = ""
        self.home = self.goes_home = False
        self.news: AlertChanges | None = None
        """Finds the alerts that ring the bell; None if none does."""
        self.following: FollowedStatement | None = None
        self.show_around: Callable[[], None] = lambda: None
        self.monitor = Monitor(name, refresh, packs, clock)
        self.moments = Moments(self.monitor, self.notify, self.repaint)
        self.panels = TabPanels(self, self.monitor, self.bind_tab_keys)
        self.feed = make_feed(self.post_message, refresh)
        self.reader = PageReader(self, self.panels, self.feed, self.repaint)
        self.folder = folder
        self.is_reporting = False
        self.replayed: Callable[[], RecordingSource] | None = None
        """Creates the source of a replay; None for a live database."""
        self.recording = self.csv_recording()
        self.poll_recording = PollRecording(folder, partial(self.call_from_thread, self.notify, severity="error"))
        self.begun = False
        self._clock = AlarmClock(partial(self.call_later, self._tick))
        self.take_theme(theme)

    def restore_view(self) -> None:
        """Restore the saved view before anything is painted."""

    def csv_recording(self) -> CsvRecording:
        """Return the writer of the CSV file that a key starts."""
        return CsvRecording(self.folder)

    # ---- the screen

    def get_default_screen(self) -> MonitorScreen:
        """Return the base screen, with the panel of the first tab, so that the first frame is complete.

        The feed starts here: it analyses what has already been read while the screen is being laid out.
        """
        self.restore_view()
        panel = self.panels.make(self.monitor.choices.tab)
        self.read_enough()
        self.feed.start()
        screen = MonitorScreen(panel, Page())
        screen.fit(self.size, self.HORIZONTAL_BREAKPOINTS, self.VERTICAL_BREAKPOINTS)
        return screen

    @property
    def frame(self) -> MonitorScreen:
        """The base screen, also while a dialog is above it."""
        frame = self.screen_stack[0]
        assert isinstance(frame, MonitorScreen)
        return frame

    def on_mount(self) -> None:
        """Begin once all widgets are mounted."""
        self.animation_level = "none"
        self.frame.call_later(self._begin)

    def _begin(self) -> None:
        """Draw the data that has arrived meanwhile."""
        if self.is_leaving:  # quit before the first frame
            return
        self.begun = True
        self.panels.focus_first()
        self.repaint()
        self.call_after_refresh(self._paint)
        self._tick()
        self.show_notice()

    def _paint(self) -> None:
        """Paint the first frame, which is now laid out; then start the terminal guard."""
        if not self.is_leaving:
            self.frame.begin()
            self.call_after_refresh(terminal_guard.start)

    def on_unmount(self) -> None:
        """Close the feed and the exports."""
        self.feed.stop()
        self.recording.close()
        self.poll_recording.close()
        self.note_view()

    # ---- events of the feed

    def on_arrived(self, event: feeds.Arrived) -> None:
        """Take a new reading; while the view is frozen, only store it."""
        monitor = self.monitor
        if not event.whole:
            monitor.preview(event.reading, event.age)
            self.repaint()
            return
        # Only a whole poll has a cost: the preview of the first one does not count.
        first = monitor.cost is None
        was_lost = monitor.link.state is LinkState.LOST
        is_kept = monitor.arrive(event.reading, event.snapshot, is_extra=event.is_extra)
        monitor.forecast_basis = event.forecast_basis
        if is_kept:
            self.moments.arrive(event.reading, event.snapshot)
        if monitor.is_frozen and not was_lost:
            self.paint_lines()
        else:  # after a loss the alerts change also in the past: the connection is none of them any more
            self.repaint()
        if self.following is not None:
            self._follow(self.following, event.reading)
        if self.gateway is not None:
            self.gateway.arrive(event.reading)
        changes = () if self.news is None else self.news.of(wrong(event.reading), event.reading)
        if any(each.change != "ended" for each in changes):
            self.bell()
        if is_kept:
            self.poll_recording.write(event.snapshot, event.reading)
        if is_kept and (problem := self.recording.write(event.reading)):
            self.read_enough()
            self.paint_lines()
            self.notify(problem, severity="error", timeout=15)
            self.bell()
        if first:
            self.set_timer(PACE, self.panels.mount_ahead)
            self.set_timer(2 * PACE, self.bind_tab_keys)
            self.set_timer(SETTLED, self.settle)
            self.set_interval(TIDY, self.panels.forget_hidden)

    def _follow(self, following: FollowedStatement, reading: Reading) -> None:
        """Keep the cursor on the followed statement; notify the user when it starts and when it ends."""
        if news := following.take(reading):
            self.notify(news, timeout=12)
            self.bell()
        if following.row is None:
            self.following = None
        elif not self.monitor.is_frozen and not self.reader.is_open:
            grid = following.select(self.panels.present.grids())
            if news and grid is not None:
                grid.focus()

    def on_lost(self, event: feeds.Lost) -> None:
        """Keep the last data on screen, and show that it is out of date."""
        if self.monitor.link.state is not LinkState.LOST:
            self.moments.lose(event.text)
        self.monitor.lose(event.text, event.retry_in, event.lasting, wants_password=event.wants_password)
        self.repaint()

    def on_ended(self) -> None:
        """Show that the source has ended."""
        self.monitor.end()
        self.repaint()

    def on_failed(self, event: feeds.Failed) -> None:
        """Report that a poll could not be analysed; the screen keeps running."""
        self.report_error(event.error)

    def on_acted(self, event: feeds.Acted) -> None:
        """Notify the user of the result of a command."""
        if not event.tried and self.gateway is not None:
            self.gateway.note(self.monitor.name, event.command, event.text)
        text = f"{event.command.kind.value}: {event.text}\n{event.command.text}"
        self.notify(text, severity="information" if event.done else "error", timeout=12)

    def read_enough(self) -> None:
        """Make each poll read the data of the current tab and of the files that are being written."""
        self.feed.set_detail_level(self.panels.present.tab.detail_level | self.recording.detail_level)

    # ---- painting

    def _tick(self) -> None:
        if not self.is_leaving:
            self._clock.ring_after(self.frame.tick(self.monitor, taking(self.recording.measure, self.poll_recording)))

    def repaint(self) -> None:
        """Draw everything from the state. A panel that fails reports that and does not affect the rest."""
        if not self.begun or self.is_leaving:
            return
        try:
            self.monitor.assess()
            self.paint_lines()
            leaving, is_page_open = "goes back to the fleet" if self.home else "quits", self.reader.is_open
            if self.frame.paint_message(self.monitor, leaving, is_page_open=is_page_open):
                return
            if self.reader.is_open:
                self.reader.refresh(self.monitor.reading)
            else:
                self.panels.fill()
        except Exception as error:
            self.report_error(error)

    def paint_lines(self) -> None:
        """Draw the lines above and below the body."""
        exporting = taking(self.recording.measure, self.poll_recording)
        tick_after = self.frame.paint_lines(self.monitor, exporting, self.panels.hidden(), self.keys_here())
        self._clock.ring_after(tick_after)
        self.show_around()

    def bind_tab_keys(self, names: Iterable[str] = ()) -> None:
        """Bind the keys of some tabs, by default of all."""
