"""One thing that happened in a running presman, for its log."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

Level: TypeAlias = Literal["debug", "info", "warning", "error"]

_NOTHING: Mapping[str, str | int | float] = MappingProxyType({})


class LogEvent(NamedTuple):
    """What happened. `event` is a word that stays the same from release to release; `message` says it to people.

    `database` is the target it is about, "" for none; `figures` are what a program would otherwise read out of the
    message.
    """

    event: str
    message: str
    level: Level = "info"
    database: str = ""
    figures: Mapping[str, str | int | float] = _NOTHING

    @property
    def line(self) -> str:
        """The message with the database it is about before it."""
        return f"{self.database}: {self.message}" if self.database else self.message


Report = Callable[[LogEvent], object]
"""What is done with an event: it is printed, or written to a log."""
