"""The tables of presman: which columns they have, in which order, and what each column means.

The screens, their help pages and `presman once --format text` all read these lists.
"""

from __future__ import annotations

from presman.tables.groups import CPU, OVERVIEW, PARALLEL_GROUPS
from presman.tables.history import LEDGER, USUAL
from presman.tables.io import IO
from presman.tables.sessions import SESSIONS
from presman.tables.statements import QUEUE, RUNNING
from presman.tables.system import DOWNGRADES, SERVERS, WAITS

__all__ = [
    "CPU",
    "DOWNGRADES",
    "IO",
    "LEDGER",
    "OVERVIEW",
    "PARALLEL_GROUPS",
    "QUEUE",
    "RUNNING",
    "SERVERS",
    "SESSIONS",
    "USUAL",
    "WAITS",
]
