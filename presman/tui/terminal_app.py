"""The app as the terminal knows it: which driver reads keys, how they go one by one, how it ends if all goes wrong."""

from __future__ import annotations

import asyncio
import signal
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.text import Text
from textual import events
from textual.app import App
from textual.await_complete import AwaitComplete
from textual.driver import Driver
from textual.filter import LineFilter
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget

from presman.base import private_files
from presman.base.running_out import CODE, ran_out
from presman.base.text import clean
from presman.tui.textual_internals import key_parser, note_fault, ring_once
from presman.tui.widgets.line_api import AsciiFilter

if TYPE_CHECKING:
    from textual.notifications import SeverityLevel

# ---- Keys that were typed: each is sent on its way when the one before has had its effect.


PATIENCE = 0.5
"""Seconds between two looks whether a key got lost on its way: one that did no longer holds up those behind it."""

LOOKS = 10
"""Looks after which even a key whose widget is still there, which may just be late, no longer holds up any."""

ROUNDS = 2
"""How often a widget may hand on what a key asks for: a line notes that it was changed, then tells the text."""

SEARCHED = 0.005
"""Seconds between two looks whether the palette of commands has found what it can."""


class KeyDone(Message):
    """Follows a key on its way up from the widget that had the focus: when it is here, so was the key.

    Sent again, it follows what the key had the widget send. `number` is that of the key, `rounds` are still to be gone.
    """

    def __init__(self, number: int, target: Widget, rounds: int) -> None:
        super().__init__()
        self.number, self.target, self.rounds = number, target, rounds


class TypedKeys:
    """The keys of an app that have not had their effect yet: one is on its way, the others wait.

    Textual sends all that came at once, to whatever has the focus at that moment: of `4c` the `c` would be meant for
    the tab before, and what is typed behind the key that opens a dialog would not reach the dialog. Here a key goes
    when what the one before has changed is laid out on the screen, too.
    """

    def __init__(
        self, app: App[None], send: Callable[[events.Key], Awaitable[None]], is_leaving: Callable[[], bool]
    ) -> None:
        self._app = app
        self._send = send
        self._is_leaving = is_leaving
        self._keys: deque[events.Key] = deque()
        self._number = 0
        self._late: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._keys)

    async def add(self, key: events.Key) -> None:
        """Send a key when its turn comes."""
        self._keys.append(key)
        if len(self._keys) == 1:
            await self._send_first()

    async def _send_first(self) -> None:
        if not self._keys or self._is_leaving():
            self._keys.clear()
            return
        target = self._app.focused or self._app.screen
        await self._send(self._keys[0])
        self._look_later(target, LOOKS)
        self._send_after(target, ROUNDS)

    def _send_after(self, target: Widget, rounds: int) -> None:
        """Send what follows the key, to where the key went, else to where the next one will go."""
        if not self._is_there(target):
            target = self._app.focused or self._app.screen
        if not target.post_message(KeyDone(self._number, target, rounds)):
            self._app.post_message(KeyDone(self._number, target, 0))

    def _is_there(self, target: Widget) -> bool:
        return target.is_attached and target.screen is self._app.screen

    def _look_later(self, target: Widget, looks: int) -> None:
        self._late = asyncio.get_running_loop().call_later(PATIENCE, self._look, target, looks - 1)

    def _look(self, target: Widget, looks: int) -> None:
        """Go on without what got lost with its widget; on a busy machine it is only late."""
        if looks and not self._is_leaving() and self._is_there(target):
            self._look_later(target, looks)
        else:
            self._app.call_later(self._send_next, self._number)

    def follow(self, done: KeyDone) -> None:
        """Wait for the effects of a key, such as a change of focus, then send the next one."""
        if done.number != self._number or self._is_leaving():
            return
        if done.rounds:
            self._send_after(done.target, done.rounds - 1)
        elif self._is_searched():  # Enter would take what was found for the letters before
            self._app.set_timer(SEARCHED, partial(self.follow, done))
        else:  # the app sends it later: there and then the screen would
            self._app.call_after_refresh(self._app.call_later, self._send_next, done.number)

    def _is_searched(self) -> bool:
        """Whether the screen on top looks for what was typed into it: the palette of commands does."""
        return any(each.node is self._app.screen and not each.is_finished for each in self._app.workers)

    async def _send_next(self, number: int) -> None:
        if number != self._number:
            return
        self._number += 1
        if self._late is not None:
            self._late.cancel()
        if self._keys:
            self._keys.popleft()
        await self._send_first()


# ---- The app itself.


_LONGEST = 500
"""Characters of a notice."""

_USUAL, _OF_A_KEY = 4.0, 8.0
"""Seconds that a notice is shown, and those of the longest that tells of nothing but what the last key did."""

ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end an app in good order, with 128 and their number as exit code."""

SIXTEEN = "ansi-dark"
"""The theme of terminals with sixteen colours: it has no others, and takes both grounds from the terminal."""


class TerminalApp(App[None]):
    """An app that costs nothing while nobody touches it, and does not spill variables when it dies."""

    def __init__(self) -> None:
        self._ascii: AsciiFilter | None = None
        super().__init__()
        self.typed = TypedKeys(self, self._send_key, lambda: self.is_leaving)

    _is_passing = False
    """Whether the notice on show is about the last key alone: the next takes it away, for the keys are below it."""

    hands_on = False
    """Whether it ends for another screen, which follows at once: from the fleet to a database, and back."""

    @property
    def is_leaving(self) -> bool:
        """Whether the end was asked for. What timers and keys ask for until it is there has no screen to be done on."""
        stack = self.screen_stack
        return not stack or not stack[0].is_attached

    def pop_screen(self) -> AwaitComplete:
        """Leave a screen; the one below all stays, also if a list is left by two clicks that come together."""
        return super().pop_screen() if len(self.screen_stack) > 1 else AwaitComplete()

    def action_help_quit(self) -> None:
        """End at Ctrl-C, where nothing is chosen that it would copy."""
        self.call_later(self.action_quit)

    def action_suspend_process(self) -> None:
        """Go back to the shell until it says go on."""
        go = getattr(self._driver, "go_to_shell", None)
        if go is None or not go():
            self.notify("There is no shell to go back to here.")

    def set_timer(self, *arguments: Any, **named: Any) -> Timer:
        """Make a timer that rings once, however late: without the one that takes a new size, none is taken again."""
        return ring_once(super().set_timer(*arguments, **named))

    async def on_event(self, event: events.Event) -> None:
        """Take keys one by one."""
        if not isinstance(event, events.Key):
            await super().on_event(event)
        elif not event.is_forwarded:
            await self.typed.add(event)
        elif self.screen_stack:  # else all has ended while the key was on its way
            await super().on_event(event)

    async def _send_key(self, event: events.Key) -> None:
        """Send a key on its way; what was said of the one before goes."""
        if self._is_passing:
            self._is_passing = False
            self.clear_notifications()
        await super().on_event(event)

    def on_key_done(self, event: KeyDone) -> None:
        """Go on with the next key."""
        self.typed.follow(event)

    def action_focus_next(self) -> None:
        """Go to the next table."""
        self._focus_by(super().action_focus_next)

    def action_focus_previous(self) -> None:
        """Go to the table before."""
        self._focus_by(super().action_focus_previous)

    def _focus_by(self, move: Callable[[], None]) -> None:
        before = self.focused
        move()
        if self.focused is before:
            self.notify("There is no other table here.")

    def take_theme(self, name: str | None) -> None:
        """Take a theme; without one, or one that is not there, that which the terminal can show."""
        if name in self.available_themes:
            self.theme = name
        elif self.console.color_system == "standard" and not self.no_color:
            self.theme = SIXTEEN

    def keep_to_ascii(self, *, only: bool = True) -> None:
        """Paint ASCII only from now on, or all signs again."""
        self._ascii = AsciiFilter() if only else None

    @property
    def is_ascii(self) -> bool:
        """Whether only ASCII is painted."""
        return self._ascii is not None

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return what all that is painted goes through."""
        found = super().get_line_filters()
        return found if self._ascii is None else [*found, self._ascii]

    def get_driver_class(self) -> type[Driver]:
        """Return what reads keys: on Unix our own, which sleeps until one comes."""
        chosen = super().get_driver_class()
        if chosen.__module__ != "textual.drivers.linux_driver" or key_parser() is None:
            return chosen
        from presman.tui.driver import TerminalDriver

        return TerminalDriver

    def _handle_exception(self, error: Exception) -> None:
        """End with one line and a log without the values of variables, which may hold what nobody should read."""
        if limit := ran_out(error, foreseen=False):
            note_fault(self, error, CODE)
            self.panic(Text(f"presman: {limit}"))
            return
        note_fault(self, error)
        path = private_files.keep_crash(error)
        where = f" Traceback: {path}" if path else ""
        self.panic(Text(f"presman: a fault in presman: {clean(f'{type(error).__name__}: {error}')[:300]}.{where}"))

    # ---- notices

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Show a notice for a while, in place of the one before: more of them would hide what they are about."""
        self.clear_notifications()
        if self.screen_stack:  # Textual would keep what each stood in, and a task with it, for as long as the app runs
            self.screen.query("ToastHolder").remove()
        text, seconds = clean(message)[:_LONGEST], _USUAL if timeout is None else timeout
        self._is_passing = severity == "information" and seconds <= _OF_A_KEY
        super().notify(text, title=title, severity=severity, timeout=seconds, markup=markup)

    def complain(self, error: Exception) -> None:
        """Tell of a fault that the screen survives."""
        if limit := ran_out(error):
            self.notify(f"Not shown: {limit}.", severity="error", timeout=8)
            return
        path = private_files.keep_crash(error)
        where = f" Traceback: {path}" if path else ""
        text = f"Not shown because of a fault in presman: {type(error).__name__}: {error}.{where}"
        self.notify(text, severity="error", timeout=8)


def run_until_ended(app: TerminalApp) -> int:
    """Run an app until it ends or a signal asks for that; return its exit code."""
    asyncio.run(until_ended(app))
    return app.return_code or 0


async def until_ended(app: TerminalApp) -> None:
    """Run an app until it ends or a signal asks for that.

    A handler that raised would do so in whatever task runs just then, which would keep it to itself.
    """
    loop = asyncio.get_running_loop()

    def end(number: int, _frame: object) -> None:
        loop.call_soon_threadsafe(partial(app.exit, return_code=128 + number))

    handled = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]  # nohup ignores SIGHUP
    before = {number: signal.signal(number, end) for number in handled}
    try:
        await app.run_async()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
