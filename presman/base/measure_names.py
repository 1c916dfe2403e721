"""The measures that can be exported, by name. Their columns are in :mod:`presman.figures.measures`."""

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
"""Each measure with its subject. `cpu`, `session_io`, `parallel` and `emphasis` come from presman 1.x."""
