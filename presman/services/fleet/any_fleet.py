"""Fleet as screens and commands need it, wherever its data comes from."""

from __future__ import annotations

from typing import Protocol

from presman.analysis.readings.fleet_readings import Member


class Fleet(Protocol):
    """Many databases. `name` says where they come from, without secrets; `interval` is seconds between two polls.

    All calls return at once, whatever the databases do.
    """

    name: str
    interval: float

    @property
    def trouble(self) -> str:
        """Why nothing is known of any of them now, "" where something is."""

    def start(self) -> None:
        """Begin."""

    def stop(self) -> None:
        """End within half a second."""

    def members(self) -> list[Member]:
        """Return all databases as they are now, in the order they were named."""

    def to_do(self, name: str) -> str:
        """Return the one thing to do about a database, in words; "" where nothing is, or is known."""

    @property
    def is_settled(self) -> bool:
        """Whether all that can be known at first is known: rates of each database, or why there are none."""

    def poll_now(self) -> None:
        """Poll all now, and try those again that are lost."""

    def set_interval(self, seconds: float) -> None:
        """Poll every `seconds` from now on."""
