"""Shown forecasts: what was foreseen of the queue at a poll, kept with its rows, so that whoever reads it shows that.

No database tells them: a recorder or a monitor adds them to what a poll read. Seconds are in tenths.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple


class ShownStart(NamedTuple):
    """In how many tenths of a second a queued statement should start; `timeout` is 1 where its timeout comes before."""

    inst_id: int
    sid: int
    serial: int
    sql_id: str
    median: int | None
    low: int | None
    high: int | None
    timeout: int
    why_none: str


class ShownRecord(NamedTuple):
    """How good the forecasts had been by then, one row: of `judged` starts `held` came within their range.

    They were judged `since` the first reading of whoever showed them.
    """

    judged: int
    held: int
    median_error: int | None
    since: datetime | None


SHOWN = (ShownStart, ShownRecord)
