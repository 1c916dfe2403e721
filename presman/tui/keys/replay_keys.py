"""Keys of a recording: playing, stepping, jumping. They stand for the keys about time of a live database."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, cast

from presman.tabs.parts import Key
from presman.tui.keyed_app import NO_DATA, AppKey, has_data
from presman.tui.keys.time_keys import JUMP, NEXT_EVENT, PREVIOUS_EVENT, ask_time

if TYPE_CHECKING:
    from presman.tui.frame_app import FrameApp
    from presman.tui.player import Player


class Replaying(Protocol):
    """What the keys need of the app."""

    span: tuple[datetime, datetime] | None

    @property
    def player(self) -> Player:
        """What plays the recording."""

    def in_turn(self, ask: Callable[[], None], *, by_time: bool = False) -> None:
        """Ask for another poll, once those before have said where from."""

    def say_state(self) -> None:
        """Say whether it plays."""


def _replay(app: FrameApp) -> Replaying:
    return cast(Replaying, app)


def toggle(app: FrameApp) -> None:
    """Play, or stop where it is."""
    replay = _replay(app)
    replay.player.play(on=not replay.player.playing)
    replay.say_state()


def speed(app: FrameApp, direction: int) -> None:
    """Play faster (1) or slower (-1)."""
    _replay(app).player.faster(direction)
    _replay(app).say_state()


def step(app: FrameApp, polls: int) -> None:
    """Go so many polls on or back."""
    replay = _replay(app)
    replay.in_turn(lambda: replay.player.step(polls))


def to_end(app: FrameApp) -> None:
    """Go to the last poll."""
    replay = _replay(app)
    last = replay.span[1] if replay.span is not None else None
    replay.in_turn(lambda: replay.player.to_end(last))


def _label(app: FrameApp) -> str:
    return "stop" if _replay(app).player.playing else "play"


REPLAY_KEYS = (
    AppKey(Key("pause", "space", "Space", "play", "Play, or stop here."), toggle, has_data, NO_DATA, _label),
    AppKey(Key("back", "left", "←", "poll back", "One poll back."), lambda app: step(app, -1), has_data, NO_DATA),
    AppKey(Key("forward", "right", "→", "poll on", "One poll forward."), lambda app: step(app, 1), has_data, NO_DATA),
    AppKey(Key("far_back", "shift+left", "⇧←", "15 back", "15 polls back."), lambda app: step(app, -15), has_data),
    AppKey(Key("far_forward", "shift+right", "⇧→", "15 on", "15 polls forward."), lambda app: step(app, 15), has_data),
    AppKey(Key("live", "end", "End", "last", "The last poll."), to_end, has_data, NO_DATA),
    AppKey(Key("slower", "plus,equals_sign", "+", "faster", "Play faster."), lambda app: speed(app, 1)),
    AppKey(Key("faster", "minus", "-", "slower", "Play slower."), lambda app: speed(app, -1)),
    AppKey(Key("poll_now", "f5", "F5", "jump", "Go to a time: 03:12, 3m ago, first, last."), ask_time, has_data),
    JUMP, NEXT_EVENT, PREVIOUS_EVENT,
)  # fmt: skip
"""Those named like keys of a live database take their place."""
