"""News among the alerts: which of them were not there before, whatever their figures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from presman.analysis.readings.alert import Alert
    from presman.analysis.readings.reading import Reading
    from presman.tabs.link import Link

QUIET = 60.0
"""Seconds for which an alert must have been away to be news again: one that comes and goes rings once."""

_FIGURE = re.compile(r"(?<![\w$#:.])\d[\d.,:]*")
_PLURAL = re.compile(r"\b(\w+?)s?\b")


def kind_of(alert: Alert) -> tuple[str, str]:
    """Return what an alert is about, its figures left out: names with digits in them stay."""
    return alert.glyph, _PLURAL.sub(r"\1", _FIGURE.sub("", alert.short))


class AlertNews:
    """Tells whether a reading has an alert that the ones before had not. What is there at first is no news."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], float] | None = None

    def is_any(self, reading: Reading, link: Link) -> bool:
        """Take the next reading."""
        from presman.tabs.alerts import alerts

        at = reading.at.timestamp()
        now = {kind_of(each) for each in alerts(reading, link) if each.state in {"bad", "warn"}}
        before = self._seen
        self._seen = {kind: seen for kind, seen in (before or {}).items() if at - seen < QUIET} | dict.fromkeys(now, at)
        return before is not None and any(at - before.get(kind, at - QUIET) >= QUIET for kind in now)
