"""A head start: a sampler that begins while the screen is still being made."""

from __future__ import annotations

import threading
from collections.abc import Callable

from presman.polling.sampler import Event, Sampler
from presman.records.queries import Breadth


class HeadStart:
    """Starts a sampler; its thread waits with the first thing it has to say until somebody listens.

    `let_go` is called at the end, whether the thread has ended or not.
    """

    def __init__(
        self, make_sampler: Callable[[Callable[[Event], None]], Sampler], let_go: Callable[[], object]
    ) -> None:
        self._let_go = let_go
        self._listener: Callable[[Event], None] | None = None
        self._is_heard = threading.Event()
        self._sampler = make_sampler(self._post)
        self._sampler.start()

    def heard_by(self, listener: Callable[[Event], None], refresh: float, breadth: Breadth | None) -> Sampler:
        """Give all to `listener` from now on, in the thread of the sampler, which is returned."""
        self._sampler.set_refresh(refresh)
        if breadth is not None:
            self._sampler.widen(breadth)
        self._listener = listener
        self._is_heard.set()
        return self._sampler

    def end(self) -> None:
        """End the sampler, also if nobody ever listened."""
        self._is_heard.set()
        self._sampler.stop()
        self._let_go()

    def _post(self, event: Event) -> None:
        self._is_heard.wait()
        if self._listener is not None:
            self._listener(event)
