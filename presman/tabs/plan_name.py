"""Name of the active plan, as all outputs say it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the top line is there before the first reading
    from presman.analysis.readings.reading import Reading


def plan_name(reading: Reading) -> str:
    """Return the plan's name; none if no plan is active, and not known if no view tells."""
    if reading.header.plan:
        return reading.header.plan
    return "not known" if any(each.view.endswith("RSRC_PLAN") for each in reading.unseen) else "none"
