"""Oracle Database releases: what a version string means and which of two is newer."""

from __future__ import annotations

import re
from typing import NamedTuple

_FIRST_NUMBERS = re.compile(r"\s*(\d+)(?:\.(\d+))?")


class Release(NamedTuple):
    """A release such as 12.2 or 19.22, ordered as versions are."""

    major: int
    minor: int = 0

    @classmethod
    def parse(cls, text: str) -> Release:
        """Read the first two numbers of a version (V$INSTANCE.VERSION_FULL, a folder of queries/).

        >>> Release.parse("19.22.0.0.0")
        Release(major=19, minor=22)

        Raises ValueError if `text` does not begin with a number.
        """
        match = _FIRST_NUMBERS.match(text)
        if match is None:
            raise ValueError(f"not an Oracle release: {text!r}")
        return cls(int(match[1]), int(match[2] or 0))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}" if self.minor or self.major < 18 else str(self.major)


SUPPORTED = tuple(Release(*pair) for pair in ((11, 2), (12, 1), (12, 2), (18, 0), (19, 0), (21, 0), (23, 0)))
"""The releases every query is proven for."""
