"""Keys that were typed: each is sent on its way when the one before has had its effect."""

from asyncio import TimerHandle, get_running_loop
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial

from textual import events
from textual.app import App
from textual.message import Message
from textual.widget import Widget

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
        self._late: TimerHandle | None = None

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
        self._late = get_running_loop().call_later(PATIENCE, self._look, target, looks - 1)

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
