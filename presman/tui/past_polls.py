"""Past polls: those of the minutes that charts show, handed to what writes them, as fast as it goes."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from presman.analysis.readings.reading import Reading
    from presman.tui.frame_app import FrameApp
    from presman.tui.tape_recording import TapeRecording

SOON = 0.05
"""Seconds until it is looked again whether there is room for more polls to write."""


class PastPolls(NamedTuple):
    """What was written: so many polls, the first of them at an instant."""

    polls: int
    first: datetime


async def write_past(app: FrameApp, taping: TapeRecording, latest: Reading) -> PastPolls | None:
    """Write the minutes up to the poll that is the newest when there is no other one any more.

    None where the file was ended meanwhile.
    """
    monitor, mine = app.monitor, taping.number
    earliest = latest.at - timedelta(minutes=monitor.choices.window)
    number, kept, first = max(1, latest.number - len(monitor.timeline) + 1), 0, latest.at
    while (newest := monitor.latest) is not None and number <= newest.number:
        pair = monitor.timeline.moment(newest.number - number, number)
        number += 1
        if pair is not None and pair[1].at >= earliest:
            taping.past(pair)
            first = min(first, pair[1].at)
            kept += 1
            await asyncio.sleep(0)
        while taping.is_behind and taping.number == mine and taping.is_on:
            await asyncio.sleep(SOON)
        if taping.number != mine or not taping.is_on:
            return None
    return PastPolls(kept, first)
