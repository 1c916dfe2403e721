"""Feed of the monitor on a database that a fleet watches already: it goes on with the connection that there is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from presman.tui.feed import Acted, Arrived, Ended, Failed, Lost, Post

if TYPE_CHECKING:
    from presman.records.commands import Command
    from presman.records.focus import Focus
    from presman.records.queries import Breadth
    from presman.services.fleet.watched_database import Heard, WatchedDatabase


class WatchedFeed:
    """A feed of what a database of a fleet reads. `stop` leaves the database to the fleet."""

    def __init__(self, database: WatchedDatabase, post: Post, refresh: float) -> None:
        self._database = database
        self._post = post
        self._refresh = refresh
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

    def poll_now(self) -> None:
        """Poll, or try to reconnect, at once."""
        self._database.sampler.poll_now()

    def act(self, command: Command) -> None:
        """Have a command carried out."""
        self._database.sampler.act(command)

    def focus(self, focus: Focus | None) -> None:
        """Read one session closely."""
        self._database.sampler.focus(focus)

    def widen(self, breadth: Breadth) -> None:
        """Read so much at each poll from now on."""
        self._database.widen(breadth)

    def request(self, name: str, binds: Mapping[str, str], *, lasting: bool) -> None:
        """Ask a query that runs on demand only."""
        from presman.records.rows import by_query

        self._database.sampler.request(by_query()[name], binds, lasting=lasting)

    def _hear(self, heard: Heard) -> None:
        """Called in the database's thread."""
        from presman.polling.sampler import ActionResult, SourceLost
        from presman.services.fleet.watched_database import NotUnderstood, ReadingCame

        if self._stopped:
            return
        if isinstance(heard, ReadingCame):
            self._post(Arrived(heard.reading, heard.snapshot))
        elif isinstance(heard, NotUnderstood):
            self._post(Failed(heard.error))
        elif isinstance(heard, SourceLost):
            self._post(Lost(heard.line, heard.retry_in, self._database.member().since or 0.0))
        elif isinstance(heard, ActionResult):
            self._post(Acted(heard.command, heard.done, heard.text, tried=heard.tried))
        else:
            self._post(Ended())
