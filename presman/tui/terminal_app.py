"""Terminal side of an app: its driver, the sequence of keys, notices, signals, and the end after a crash."""

from __future__ import annotations

import asyncio
import signal
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from rich.text import Text
from textual import events
from textual.app import App
from textual.await_complete import AwaitComplete
from textual.driver import Driver
from textual.filter import LineFilter
from textual.message import Message
from textual.notifications import SeverityLevel
from textual.timer import Timer
from textual.widget import Widget

from presman.base import private_files
from presman.base.running_out import CODE, ran_out
from presman.base.text import clean
from presman.tui.textual_internals import key_parser, note_fault, ring_once
from presman.tui.widgets.line_api import AsciiFilter

# ---- Typed keys: each is sent once the previous one has taken effect.


PATIENCE = 0.5
"""Seconds between two checks whether a key got lost. A lost key no longer holds up the next ones."""

CHECKS = 10
"""Checks after which a key no longer holds up others even if its widget still exists and may just be late."""

ROUNDS = 2
"""Messages in sequence that a key may cause: an input line notes its change, then posts the text."""

SEARCHED = 0.005
"""Seconds between two checks whether the command palette has finished its search."""


class KeyDone(Message):
    """Follows a key up from the focused widget: once it arrives here, the key has been handled.

    It is sent again to follow the messages that the key caused. `number` is that of the key, `rounds` those remaining.
    """

    def __init__(self, number: int, target: Widget, rounds: int) -> None:
        super().__init__()
        self.number, self.target, self.rounds = number, target, rounds


class TypedKeys:
    """The keys of an app without an effect yet: one has been sent, the others wait.

    Textual sends all pending keys at once to the widget that has the focus at that moment: the `c` of `4c` would apply
    to the previous tab, and keys typed after one that opens a dialog would not reach the dialog. Here a key is sent
    once the changes of the one before have been laid out on the screen.
    """

    def __init__(
        self, app: App[None], send: Callable[[events.Key], Awaitable[None]], is_leaving: Callable[[], bool]
    ) -> None:
        self._app, self._send, self._is_leaving = app, send, is_leaving
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
        self._check_later(target, CHECKS)
        self._send_after(target, ROUNDS)

    def _send_after(self, target: Widget, rounds: int) -> None:
        """Send the message that follows a key to the key's widget, else to the widget of the next one."""
        if not self._is_attached(target):
            target = self._app.focused or self._app.screen
        if not target.post_message(KeyDone(self._number, target, rounds)):
            self._app.post_message(KeyDone(self._number, target, 0))

    def _is_attached(self, target: Widget) -> bool:
        return target.is_attached and target.screen is self._app.screen

    def _check_later(self, target: Widget, checks: int) -> None:
        self._late = asyncio.get_running_loop().call_later(PATIENCE, self._check, target, checks - 1)

    def _check(self, target: Widget, checks: int) -> None:
        """Give up on a key that got lost with its widget; on a busy machine it may only be late."""
        if checks and not self._is_leaving() and self._is_attached(target):
            self._check_later(target, checks)
        else:
            self._app.call_later(self._send_next, self._number)

    def follow(self, done: KeyDone) -> None:
        """Wait for the effects of a key, such as a change of focus, then send the next one."""
        if done.number != self._number or self._is_leaving():
            return
        if done.rounds:
            self._send_after(done.target, done.rounds - 1)
        elif any(each.node is self._app.screen and not each.is_finished for each in self._app.workers):
            self._app.set_timer(SEARCHED, partial(self.follow, done))  # Enter would take a result of an earlier text
        else:  # the app sends it later; otherwise the screen would send it now
            self._app.call_after_refresh(self._app.call_later, self._send_next, done.number)

    async def _send_next(self, number: int) -> None:
        if number != self._number:
            return
        self._number += 1
        if self._late is not None:
            self._late.cancel()
        if self._keys:
            self._keys.popleft()
        await self._send_first()


class AlarmClock:
    """Calls `act` once, some seconds after it was last set. A Textual timer is a task, and costs ten times as much."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act
        self._set: asyncio.TimerHandle | None = None

    def ring_after(self, seconds: float) -> None:
        """Set the clock anew."""
        if self._set is not None:
            self._set.cancel()
        self._set = asyncio.get_running_loop().call_later(seconds, self._act)


# ---- The app itself.


_LONGEST = 500
"""Most characters of a notice."""

_USUAL, _OF_A_KEY = 4.0, 8.0
"""Seconds that a notice is shown by default, and at most if it is only about the last key."""

ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end an app in an orderly way, with 128 plus their number as exit code."""

SIXTEEN = "ansi-dark"
"""The theme for terminals with sixteen colours: it uses no others, and the terminal's own background."""


class TerminalApp(App[None]):
    """An app that costs nothing while idle, and does not expose the values of variables when it crashes."""

    def __init__(self) -> None:
        self._ascii: AsciiFilter | None = None
        super().__init__()
        self.typed = TypedKeys(self, self._send_key, lambda: self.is_leaving)

    _is_passing = False
    """Whether the visible notice is only about the last key. The next key removes it: it covers the line of keys."""

    hands_on = False
    """Whether another screen follows at once: from the fleet to a database, and back."""

    @property
    def is_leaving(self) -> bool:
        """Whether the end was requested. Until the app has ended, timers and keys have no screen to work on."""
        stack = self.screen_stack
        return not stack or not stack[0].is_attached

    def pop_screen(self) -> AwaitComplete:
        """Leave a screen, but never the base screen, even if two clicks close a dialog at once."""
        return super().pop_screen() if len(self.screen_stack) > 1 else AwaitComplete()

    def action_help_quit(self) -> None:
        """Quit at Ctrl-C, if no text is selected that it would copy."""
        self.call_later(self.action_quit)

    def action_suspend_process(self) -> None:
        """Suspend to the shell until it resumes presman."""
        go = getattr(self._driver, "go_to_shell", None)
        if go is None or not go():
            self.notify("There is no shell to go back to here.")

    def set_timer(self, *arguments: Any, **named: Any) -> Timer:
        """Create a timer that always fires, however late: if the resize timer is skipped, no later size is applied."""
        return ring_once(super().set_timer(*arguments, **named))

    async def on_event(self, event: events.Event) -> None:
        """Take keys one by one."""
        if not isinstance(event, events.Key):
            await super().on_event(event)
        elif not event.is_forwarded:
            await self.typed.add(event)
        elif self.screen_stack:  # else the app has ended meanwhile
            await super().on_event(event)

    async def _send_key(self, event: events.Key) -> None:
        """Send a key, and remove the notice on the previous one."""
        if self._is_passing:
            self._is_passing = False
            self.clear_notifications()
        await super().on_event(event)

    def on_key_done(self, event: KeyDone) -> None:
        """Continue with the next key."""
        self.typed.follow(event)

    def action_focus_next(self) -> None:
        """Go to the next table."""
        self._focus_by(super().action_focus_next)

    def action_focus_previous(self) -> None:
        """Go to the previous table."""
        self._focus_by(super().action_focus_previous)

    def _focus_by(self, move: Callable[[], None]) -> None:
        before = self.focused
        move()
        if self.focused is before:
            self.notify("There is no other table here.")

    def take_theme(self, name: str | None) -> None:
        """Set a theme; if it is None or unknown, the one that the terminal can show."""
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
        """Return the filters of all painted lines."""
        found = super().get_line_filters()
        return found if self._ascii is None else [*found, self._ascii]

    def get_driver_class(self) -> type[Driver]:
        """Return the driver: on Unix our own, which sleeps until a key comes."""
        chosen = super().get_driver_class()
        if chosen.__module__ != "textual.drivers.linux_driver" or key_parser() is None:
            return chosen
        from presman.tui.driver import TerminalDriver

        return TerminalDriver

    def _handle_exception(self, error: Exception) -> None:
        """End with one line and a log, without the values of variables, which may be confidential."""
        if limit := ran_out(error, expected=False):
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
        """Show a notice for a while, in place of the previous one: several would hide what they are about."""
        self.clear_notifications()
        if self.screen_stack:  # Textual would keep the holder of each, with a task, for as long as the app runs
            self.screen.query("ToastHolder").remove()
        text, seconds = clean(message)[:_LONGEST], _USUAL if timeout is None else timeout
        self._is_passing = severity == "information" and seconds <= _OF_A_KEY
        super().notify(text, title=title, severity=severity, timeout=seconds, markup=markup)

    def report_error(self, error: Exception) -> None:
        """Report an error that the screen survives."""
        if limit := ran_out(error):
            self.notify(f"Not shown: {limit}.", severity="error", timeout=8)
            return
        path = private_files.keep_crash(error)
        where = f" Traceback: {path}" if path else ""
        text = f"Not shown because of a fault in presman: {type(error).__name__}: {error}.{where}"
        self.notify(text, severity="error", timeout=8)


def run_until_ended(app: TerminalApp) -> int:
    """Run an app until it ends or a signal ends it; return its exit code."""
    asyncio.run(until_ended(app))
    return app.return_code or 0


async def until_ended(app: TerminalApp) -> None:
    """Run an app until it ends or a signal ends it.

    A handler must not raise: the exception would be lost in whatever task runs at that moment.
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
