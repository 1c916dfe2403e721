"""Feed of the monitor on a database that a fleet watches already: it goes on with the connection that there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from presman.tui.feed import Post, SamplerFeed, message_of

if TYPE_CHECKING:
    from presman.records.queries import Breadth
    from presman.services.fleet.live_fleet import WatchedDatabase
    from presman.services.live import Heard


class WatchedFeed(SamplerFeed):
    """A feed of what a database of a fleet reads. `stop` leaves the database to the fleet."""

    def __init__(self, database: WatchedDatabase, post: Post, refresh: float) -> None:
        super().__init__(lambda *_: database.sampler, post, refresh)
        self._sampler = database.sampler
        self._database = database
        self._stopped = False

    def start(self) -> None:
        """Post what there is, and from now on all that comes."""
        self._database.listen(self._hear, self._refresh)

    def stop(self) -> None:
        """Post no more; the database is polled as before."""
        self._stopped = True
        self._database.leave()

    def set_refresh(self, seconds: float) -> None:
        """Poll every `seconds`."""
        self._refresh = seconds
        if self._database.is_heard:
            self._database.sampler.set_refresh(seconds)

    def widen(self, breadth: Breadth) -> None:
        """Read so much at each poll from now on."""
        self._database.widen(breadth)

    def _hear(self, heard: Heard) -> None:
        """Called in the database's thread."""
        if not self._stopped:
            self._post(message_of(heard, self._database.member().since or 0.0))
