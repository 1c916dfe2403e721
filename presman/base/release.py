"""Oracle Database releases: what a version string means and which of two is newer."""

from __future__ import annotations

import re
from typing import NamedTuple

_NAME_OF_23_26 = re.compile(r"\s*26(ai)?\s*", re.IGNORECASE)
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

        Oracle's 26ai reports itself as 23.26: it is 23ai with the updates from October 2025 on.

        >>> Release.parse("26ai"), Release.parse("23.26.1.0.0")
        (Release(major=23, minor=26), Release(major=23, minor=26))

        Raises ValueError if `text` does not begin with a number.
        """
        if _NAME_OF_23_26.fullmatch(text):
            return cls(23, 26)
        if match := _FIRST_NUMBERS.match(text):
            return cls(int(match[1]), int(match[2] or 0))
        raise ValueError(f"not an Oracle release: {text!r}")

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}" if self.minor or self.major < 18 else str(self.major)


SUPPORTED = tuple(Release(*pair) for pair in ((11, 2), (12, 1), (12, 2), (18, 0), (19, 0), (21, 0), (23, 0), (23, 26)))
"""The releases that every query is tested with."""


def why_not_played(release: Release) -> str:
    """Return why there can be no simulated database of a release, "" if there can."""
    if release.major > SUPPORTED[-1].major:
        return f"release {release} is newer than {SUPPORTED[-1]}, the newest whose views are known"
    return f"release {release} is older than {SUPPORTED[0]}, the oldest presman reads" if release < SUPPORTED[0] else ""


def named(version: str) -> str:
    """Return a version with the name that users know it by, if that differs.

    >>> named("23.26.1.0.0"), named("23.6.0.24.10"), named("19.22.0.0.0"), named("")
    ('26ai 23.26.1.0.0', '23ai 23.6.0.24.10', '19.22.0.0.0', '')
    """
    match = _FIRST_NUMBERS.match(version)
    if match is None or match[1] != "23":
        return version
    return f"{'26ai' if int(match[2] or 0) >= 26 else '23ai'} {version}"
