"""The measures: what can be exported, by name. What each has in it is in :mod:`presman.figures.measures`."""

from collections.abc import Mapping
from types import MappingProxyType

MEASURES: Mapping[str, str] = MappingProxyType(
    {
        "cpu": "CPU used, waited for and allowed, per group",
        "session_io": "I/O per group",
        "parallel": "parallel statements and servers per group",
        "queue": "every queued statement",
        "sessions": "every session",
        "latency": "wait histograms",
        "emphasis": "what the plan gives each group",
        "arrivals": "every parallel statement, once it is over",
    }
)
"""Each with what it is about. `cpu`, `session_io`, `parallel` and `emphasis` are those of presman 1.x."""
