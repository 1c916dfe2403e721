"""Exporter: databases that are polled, the page they make, and who is told of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from presman.base.log_event import Tell
from presman.polling.sampler import stop_all
from presman.services.live import LiveTarget
from presman.services.metrics.observed_database import ObservedDatabase

MOST_SPREAD = 10.0
"""Seconds over which the first polls are spread at most."""

PATIENCE = 1.0
"""Seconds that the end waits for polls that were told to end."""


class Exporter:
    """Polls databases side by side. `tell` is told what somebody should know."""

    def __init__(self, targets: Sequence[LiveTarget], tell: Tell) -> None:
        self.databases = [ObservedDatabase(target, tell) for target in targets]
        self._begun = threading.Event()

    def start(self, wait: Callable[[float], object] = time.sleep) -> None:
        """Begin with one after the other, spread over an interval: polls that come together get in each other's way."""
        for place, database in enumerate(self.databases):
            if place:
                wait(min(database.target.interval, MOST_SPREAD) / len(self.databases))
            database.start()
        self._begun.set()

    @property
    def is_healthy(self) -> bool:
        """Whether every database is polled, or would be if it could be reached."""
        return not self._begun.is_set() or all(database.is_alive for database in self.databases)

    def stop(self) -> None:
        """End all polls at once; those that do not let go die with the process."""
        stop_all([database.sampler for database in self.databases], PATIENCE)
