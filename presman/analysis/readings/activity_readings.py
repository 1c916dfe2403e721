"""Readings of what sessions do at an instant: how many are active, by wait class and by statement."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from presman.rows.session_state import ON_CPU

OTHER = "Other"

CLASSES = (
    ON_CPU, "Scheduler", "User I/O", "System I/O", "Concurrency", "Application", "Commit", "Configuration",
    "Administrative", "Network", "Cluster", "Queueing", OTHER,
)  # fmt: skip
"""What an active session is counted under: on CPU, else Oracle's classes of waits that are not idle."""


class SqlSample(NamedTuple):
    """The active sessions of one statement: on CPU or in the host's run queue, and waiting."""

    con_id: int
    sql_id: str
    group: str
    user: str
    on_cpu: int
    waiting: int


class Activity(NamedTuple):
    """Active user sessions at an instant: how many, by class (of CLASSES, those without any left out), by statement."""

    active: int = 0
    by_class: Mapping[str, int] = MappingProxyType({})
    statements: tuple[SqlSample, ...] = ()
