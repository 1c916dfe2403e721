"""The monitor: what its keys do, and how it is run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual.app import SystemCommand
from textual.binding import BindingType
from textual.screen import Screen

from presman.base.text import clean
from presman.records.queries import Breadth
from presman.tabs import tab
from presman.tui.feed import MakeFeed, MakeSampler, Post, SamplerFeed
from presman.tui.frame_app import FrameApp
from presman.tui.keeper import Keeper
from presman.tui.keys import all_keys
from presman.tui.keys.go_keys import go
from presman.tui.keys.home_keys import lead_home
from presman.tui.keys.moment_keys import to_moment
from presman.tui.keys.place_keys import enter
from presman.tui.keys.table_keys import set_filter
from presman.tui.messages import PageWanted, QueryWanted
from presman.tui.terminal_app import run_until_ended
from presman.tui.widgets.tab_line import Clicked, Labelled

if TYPE_CHECKING:
    from presman.polling.sampler import CarryOut, Event, Sampler
    from presman.services.live import Attending, LiveTarget
    from presman.tui.action_gateway import ActionGateway
    from presman.tui.widgets.chart import Chart
    from presman.tui.widgets.filter_line import FilterLine
    from presman.tui.widgets.go_line import GoLine
    from presman.tui.widgets.grid import Grid
    from presman.tui.widgets.jump_line import JumpLine


class MonitorApp(FrameApp):
    """The monitor."""

    BINDINGS: ClassVar[list[BindingType]] = [each.binding for each in all_keys.APP_KEYS if each.key.keys]

    keeper: Keeper | None = None
    """Who keeps what is set; None keeps nothing."""

    async def run_action(self, *arguments: Any, **named: Any) -> bool:
        """Do what a key or a click asks for; a fault in that is told, and the screen lives on."""
        try:
            done = await super().run_action(*arguments, **named)
            self.note_view()
        except Exception as error:
            self.complain(error)
            return True
        return done

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Let keys do nothing but quit until there is something to act on."""
        return self.begun or action == "quit" or (action == "key" and parameters[:1] == ("leave",))

    async def action_key(self, name: str) -> None:
        """Do what a key of the monitor does, or say why it does nothing."""
        key = self.own_keys.get(name) or all_keys.BY_NAME[name]
        if not key.when(self):
            why_not = key.why_not if isinstance(key.why_not, str) else key.why_not(self)
            if why_not:
                self.tell(why_not)
            return
        done = key.run(self)
        if isawaitable(done):
            await done

    async def action_tab_key(self, keys: str) -> None:
        """Do what a key of the present tab does, or say which tab has it."""
        key = next((key for key in all_keys.tab_keys(self) if key.keys == keys), None)
        if key is None:
            self.tell(all_keys.where(keys))
            return
        await self.run_action(key.name, self.panels.present)
        self.panels.focus_first()
        self.call_after_refresh(self.repaint)

    def bind_tab_keys(self, names: Iterable[str] = ()) -> None:
        """Have the keys of some tabs answered, on the others too; without names those of all tabs."""
        for keys in sorted({key.keys for name in names or all_keys.TAB_NAMES for key in tab(name).keys}):
            self.bind(keys, all_keys.tab_key_action(keys), show=False)

    def keys_here(self) -> list[Labelled]:
        """Return the keys that do something here, the most needed first."""
        return all_keys.offered(self)

    # ---- what widgets ask for

    def on_clicked(self, event: Clicked) -> None:
        """Do what was clicked on the line of tabs or of keys."""
        self.call_later(self.run_action, event.action)

    def on_descendant_focus(self) -> None:
        """Offer the keys that do something there."""
        if self.monitor.reading is not None:
            self.paint_lines()

    async def on_grid_opened(self, event: Grid.Opened) -> None:
        """Go into what a row stands for, or show the page about it."""
        if event.row is None:
            self.tell("There is no row here.")
            return
        from presman.analysis.trends.database_events import DatabaseEvent

        try:
            if isinstance(event.row, DatabaseEvent):
                await to_moment(self, event.row)
            else:
                await enter(self, event.row, event.grid)
        except Exception as error:
            self.complain(error)

    def on_filter_line_typed(self, event: FilterLine.Typed) -> None:
        """Filter by what is typed."""
        set_filter(self, event.needle, done=event.done)
        if event.done:
            self.note_view()

    async def on_jump_line_wanted(self, event: JumpLine.Wanted) -> None:
        """Go to the time that was typed."""
        for line in self.query("JumpLine"):
            line.display = False
        self.panels.focus_first()
        self.moments.jump(event.words)

    def on_chart_instant_clicked(self, event: Chart.InstantClicked) -> None:
        """Go to the time that was clicked."""
        self.moments.click(event.at)

    async def on_go_line_named(self, event: GoLine.Named) -> None:
        """Go to what was named."""
        try:
            await go(self, event.text)
        except Exception as error:
            self.complain(error)

    def on_query_wanted(self, event: QueryWanted) -> None:
        """Have a query asked that runs on demand only."""
        self.feed.request(event.query, event.binds, lasting=event.lasting)

    def on_page_wanted(self, event: PageWanted) -> None:
        """Open a page in place of the panel."""
        self.reader.open(event.content)

    # ---- palette

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:  # noqa: ARG002 - Textual passes it
        """Offer every action by name, and every theme."""
        for each in all_keys.keys_of(self):
            if each.key.name != "palette" and each.when(self):
                key, run = each.key, partial(self._run, each.action)
                yield SystemCommand(f"{each.labelled(self).label} ({key.shown})", key.help, run)
        for key in all_keys.tab_keys(self):
            yield SystemCommand(
                f"{key.label} ({key.shown})", key.help, partial(self._run, all_keys.tab_key_action(key.keys))
            )
        if self.keeper is not None:
            yield SystemCommand(
                "forget the kept settings", "Forget the settings kept for the next start: sorting, columns, colours.",
                partial(self.keeper.forget, self),
            )  # fmt: skip
        yield SystemCommand("themes", "Choose one of all themes.", self.action_change_theme)

    def _run(self, action: str) -> None:
        self.call_later(self.run_action, action)


def feed_of(make_sampler: MakeSampler, attention: Attending | None = None) -> Callable[[Post, float], SamplerFeed]:
    """Return what makes the feed of a sampler."""
    return lambda post, refresh: SamplerFeed(make_sampler, post, refresh, attention)


def sampler_feed(target: LiveTarget, carry_out: CarryOut | None = None) -> Callable[[Post, float], SamplerFeed]:
    """Return what makes the feed of a target, polled as often as the screen wants; `carry_out` only for actions."""

    def make_sampler(hear: Callable[[Event], None], refresh: float, breadth: Breadth | None) -> Sampler:
        from presman.services.live import sampler_of

        given = Breadth.WHOLE if breadth is None else breadth
        sampler = sampler_of(target._replace(interval=refresh), hear, breadth=given, carry_out=carry_out)
        sampler.start()
        return sampler

    return feed_of(make_sampler, target.attention)


class MonitorEnd(NamedTuple):
    """How the monitor ended: its exit code, the target to watch next ("" for none), whether to go back to the fleet."""

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
    """Show the monitor until the user quits or wants another of the `targets`.

    `make_feed` is called before the first frame, its start comes after that; `name` is the target without secrets.
    `packs` are the licensed packs the user has; `gateway` leads to actions and is given only where they were allowed.
    `ascii_only` is for terminals that have no other signs; without a `theme`, those of 16 colours get one of their own.
    `fixed` names what comes before what is kept of the last time; `bell` rings at new alerts; `notice` is told at
    first; `home` tells that there is a fleet to go back to; `tour` shows around.
    """
    name = clean(name)
    app = MonitorApp(make_feed, name=name, refresh=refresh, theme=theme, packs=packs, gateway=gateway)
    app.targets, app.notice = targets, notice
    app.keeper = Keeper(fixed)
    app.keeper.attend(app)
    if bell:
        from presman.tabs.alert_news import AlertNews

        app.news = AlertNews()
    if tour:
        from presman.tui.tour import Tour

        Tour().attend(app)
    if home:
        lead_home(app)
    if ascii_only:
        app.keep_to_ascii()
    asyncio.run(run_until_ended(app))
    return MonitorEnd(app.return_code or 0, app.switch_to, app.goes_home)
