"""The sections of a comparison, in the order in which they are shown."""

from __future__ import annotations

CPU, IO, PARALLEL, QUEUE, LATENCY, STATEMENTS = (
    "CPU", "I/O", "parallel servers", "queue", "latency", "statements by servers x time"
)  # fmt: skip
SECTIONS = (CPU, IO, PARALLEL, QUEUE, LATENCY, STATEMENTS)
ALL = "all"
"""The subject of what is not of one group."""
