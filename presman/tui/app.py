"""The monitor: its keys, and the functions that run it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.app import SystemCommand
from textual.binding import BindingType
from textual.events import DescendantFocus

from presman.analysis.trends.database_events import DatabaseEvent
from presman.base.text import clean
from presman.tabs import tab
from presman.tui.feed import ActionGateway, MakeFeed, MakeSampler, Post, SamplerFeed
from presman.tui.frame_app import FrameApp
from presman.tui.keyed_app import AppKey, no_tables
from presman.tui.keys import all_keys
from presman.tui.keys.drill_keys import enter, no_row
from presman.tui.keys.page_keys import go, return_to_fleet
from presman.tui.keys.table_keys import set_filter
from presman.tui.keys.time_keys import to_moment
from presman.tui.panels.panel import PageWanted, QueryWanted
from presman.tui.saved_view import SavedView, ViewSaver, set_in_tables
from presman.tui.terminal_app import run_until_ended
from presman.tui.widgets.chart import Chart
from presman.tui.widgets.frame_lines import Labelled
from presman.tui.widgets.grid import Grid

if TYPE_CHECKING:
    from presman.polling.poll_events import CarryOut, Event
    from presman.polling.sampler import Sampler
    from presman.services.live import LiveTarget, Notifier
    from presman.tui.widgets.choosers import InputLine
    from presman.tui.widgets.heatmap import HeatMap


class MonitorApp(FrameApp):
    """The monitor."""

    BINDINGS: ClassVar[list[BindingType]] = [each.binding for each in all_keys.APP_KEYS if each.key.keys]

    where_key_works = staticmethod(all_keys.where)
    """Keys of tabs are known at once, although they are bound only after a while."""

    @property
    def has_data(self) -> bool:
        """Whether there is data to show."""
        return self.monitor.reading is not None

    @property
    def is_page_open(self) -> bool:
        """Whether a page is shown in place of the tab."""
        return self.reader.is_open

    @property
    def grid(self) -> Grid | None:
        """The table that keys apply to, None if there is none."""
        return self.panels.grid

    @property
    def needle(self) -> str:
        """The filter of the page, else of the tab."""
        return self.reader.needle if self.reader.is_open else self.monitor.choices.filter

    # ---- the saved view

    def restore_view(self) -> None:
        """Restore the saved view before anything is painted."""
        if (saver := self.view_saver) is None:
            return
        saver.restore_colours(self)
        self.monitor.choose(**saver.choices)
        self.feed.set_refresh(self.monitor.choices.refresh)
        self.panels.saved = saver.saved
        saver.note(self, _view_of(self))

    def note_view(self) -> None:
        """Save the current view if it has changed."""
        if self.view_saver is not None and self.begun:
            self.view_saver.note(self, _view_of(self))

    # ---- keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable all keys but quit until there is data."""
        return self.begun or action == "quit" or (action == "key" and parameters[:1] == ("leave",))

    async def action_tab_key(self, keys: str) -> None:
        """Run the action of a key of the current tab, or notify the user which tab has it."""
        key = next((key for key in all_keys.tab_keys(self) if key.keys == keys), None)
        if key is None:
            is_here = any(key.keys == keys for key in self.panels.present.tab.keys)
            self.notify(no_tables(self) if is_here else all_keys.where(keys))
            return
        await self.run_action(key.name, self.panels.present)
        self.panels.focus_first()
        self.call_after_refresh(self.repaint)

    def bind_tab_keys(self, names: Iterable[str] = ()) -> None:
        """Bind the keys of some tabs (default: all), on the other tabs too, so that they are answered there."""
        for keys in sorted({key.keys for name in names or all_keys.TAB_NAMES for key in tab(name).keys}):
            self.bind(keys, all_keys.tab_key_action(keys), show=False)

    def all_keys(self) -> tuple[AppKey, ...]:
        """Return the keys of the monitor."""
        return all_keys.keys_of(self)

    def keys_here(self) -> list[Labelled]:
        """Return the available keys, the most useful first."""
        return all_keys.offered(self)

    # ---- messages of widgets

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Remember where the focus is, and offer the keys that are available there."""
        if self.begun:
            self.panels.note_use(event.widget)
        if self.monitor.reading is not None:
            self.paint_lines()

    async def on_grid_opened(self, event: Grid.Opened) -> None:
        """Drill down into a row, or show its page."""
        if event.row is None:
            no_row(self)
            return
        is_event = isinstance(event.row, DatabaseEvent)
        await self.attempt(to_moment(self, event.row) if is_event else enter(self, event.row, event.grid))

    async def on_input_line_typed(self, event: InputLine.Typed) -> None:
        """Filter by the typed text, or go to the typed time or name."""
        if event.line == "filter":
            set_filter(self, event.text, done=event.done)
            if event.done:
                self.note_view()
        elif event.done and event.line == "jump":
            self.panels.focus_first()
            self.moments.jump(event.text)
        elif event.done:
            await self.attempt(go(self, event.text))

    def on_heat_map_read(self, event: HeatMap.Read) -> None:
        """Go to the poll of the clicked cell."""
        if event.steps:
            self.moments.step(event.steps)

    def on_chart_instant_clicked(self, event: Chart.InstantClicked) -> None:
        """Go to the clicked time."""
        self.moments.click(event.at)

    def on_query_wanted(self, event: QueryWanted) -> None:
        """Request an on-demand query."""
        self.feed.request(event.query, event.binds, lasting=event.lasting)

    def on_page_wanted(self, event: PageWanted) -> None:
        """Open a page in place of the panel."""
        self.reader.open(event.content)

    # ---- palette

    def more_commands(self) -> Iterable[SystemCommand]:
        """Return the keys of the current tab, and the commands without a key."""
        for key in all_keys.tab_keys(self):
            run = partial(self._run, all_keys.tab_key_action(key.keys))
            yield SystemCommand(f"{key.label} ({key.shown})", key.help, run)
        if self.view_saver is not None:
            words = "Forget the settings saved for the next start: sorting, columns, colours."
            yield SystemCommand("forget the saved settings", words, self._forget_view)

    def _forget_view(self) -> None:
        if self.view_saver is not None:
            self.notify(self.view_saver.forget())
            self.panels.saved = self.view_saver.saved


def _view_of(app: MonitorApp) -> SavedView:
    """Return the view that the user has set."""
    choices = app.monitor.choices
    refresh = choices.refresh if app.replayed is None else None  # a replay has that of its recording
    return SavedView(
        theme=app.theme,
        refresh=refresh,
        fleet_refresh=None,
        window=choices.window,
        by_instance=choices.by_instance,
        unfolded=choices.unfolded,
        ascii_only=app.is_ascii,
        **set_in_tables(app.panels.all_grids),
    )


def feed_of(make_sampler: MakeSampler, notifier: Notifier | None = None) -> Callable[[Post, float], SamplerFeed]:
    """Return a function that creates the feed of a sampler."""
    return lambda post, refresh: SamplerFeed(make_sampler, post, refresh, notifier)


def sampler_feed(target: LiveTarget, carry_out: CarryOut | None = None) -> Callable[[Post, float], SamplerFeed]:
    """Return a function that creates the feed of a target, polled at the refresh interval; `carry_out` runs actions."""

    def make_sampler(on_event: Callable[[Event], None]) -> tuple[Sampler, Callable[[], object]]:
        from presman.services.live import sampler_of

        sampler = sampler_of(target, on_event, carry_out=carry_out)
        return sampler, sampler.start

    return feed_of(make_sampler, target.notifier)


class MonitorEnd(NamedTuple):
    """The result of the monitor: exit code, the target to watch next ("" for none), whether to go back to the fleet."""

    code: int
    target: str
    home: bool = False


def run_monitor(  # noqa: PLR0913 - each is a choice of the user
    make_feed: MakeFeed,
    *,
    name: str,
    refresh: float,
    theme: str | None = None,
    packs: tuple[str, ...] = (),
    gateway: ActionGateway | None = None,
    ascii_only: bool = False,
    fixed: Collection[str] = (),
    targets: Sequence[str] = (),
    bell: bool = False,
    notice: str = "",
    home: bool = False,
    tour: bool = False,
) -> MonitorEnd:
    """Show the monitor until the user quits or chooses another of the `targets`.

    `make_feed` is called before the first frame, and the feed started after it; `name` is the target without secrets.
    `packs` are the licensed packs of the user; `gateway` gives access to actions and is None unless they are allowed.
    `ascii_only` is for terminals without other signs; without a `theme`, terminals of 16 colours get their own.
    `fixed` names the settings that override the saved view; `bell` rings at new alerts; `notice` is shown at the start;
    `home` means that there is a fleet to go back to; `tour` shows the tour of the demo.
    """
    name = clean(name)
    app = MonitorApp(make_feed, name=name, refresh=refresh, theme=theme, packs=packs, gateway=gateway)
    app.targets, app.notice = targets, notice
    if bell:
        from presman.analysis.alerts.judge import AlertChanges  # its imports would delay the first frame

        app.news = AlertChanges(None)
    if tour:
        from presman.tui.tour import Tour

        Tour().attach(app)
    return shown(app, fixed, home=home, ascii_only=ascii_only)


def shown(app: MonitorApp, fixed: Collection[str], *, home: bool, ascii_only: bool) -> MonitorEnd:
    """Show an app until the user quits: see :func:`run_monitor`."""
    app.view_saver = ViewSaver(fixed)
    if home:
        return_to_fleet(app)
    if ascii_only:
        app.keep_to_ascii()
    return MonitorEnd(run_until_ended(app), app.switch_to, app.goes_home)
