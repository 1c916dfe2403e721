"""An event in a running presman, for its log."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

Level: TypeAlias = Literal["debug", "info", "warning", "error"]

_NOTHING: Mapping[str, str | int | float] = MappingProxyType({})


class LogEvent(NamedTuple):
    """An event. `event` is a key that stays the same from release to release; `message` is its text for people.

    `database` is the target it concerns, "" if none; `figures` are the numbers of the message for programs.
    """

    event: str
    message: str
    level: Level = "info"
    database: str = ""
    figures: Mapping[str, str | int | float] = _NOTHING

    @property
    def line(self) -> str:
        """The message with the name of its database before it."""
        return f"{self.database}: {self.message}" if self.database else self.message


Report = Callable[[LogEvent], object]
"""What handles an event: it prints it, or writes it to a log."""
