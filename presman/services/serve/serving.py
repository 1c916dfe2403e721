"""Serving: the target, how a monitor of it is started, to whom it is shown, and to how many at once."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from presman.services.serve.door import Door
from presman.services.serve.viewer import Launch


class Serving(Struct, frozen=True):
    """What is served: the target's name, how a monitor of it is started, to whom, and to how many at once."""

    target: str
    launch: Launch
    door: Door
    viewers: int
    say: Callable[[str], None]
