"""A command that prints a password, as config.ini says it."""

from __future__ import annotations

import shlex
from pathlib import PurePath

from msgspec import Struct


class PasswordCommand(Struct, frozen=True):
    """The words of a command. It is shown by its name alone: its arguments may be nobody's business."""

    argv: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> PasswordCommand:
        """Read a command as a shell splits it into words; nothing else of a shell works. Raises ValueError."""
        try:
            words = tuple(shlex.split(text))
        except ValueError:
            raise ValueError("a quote that does not end") from None
        if not words or not words[0]:
            raise ValueError("no command")
        return cls(words)

    @property
    def name(self) -> str:
        """The program's name."""
        return PurePath(self.argv[0]).name

    def __str__(self) -> str:
        return f"{self.name} ***" if len(self.argv) > 1 else self.name

    def __repr__(self) -> str:
        return f"PasswordCommand({self})"
