"""Page of an incident: its head and its sections."""

from __future__ import annotations

from datetime import datetime

from presman.page.frame import page
from presman.report.incident import Incident
from presman.report.sections import all_sections, heading
from presman.report.time_axis import between


def incident_page(incident: Incident, made: datetime) -> str:
    """Return the page; `made` is now."""
    title = f"{incident.target} {between(incident.start, incident.end)}"
    return page(title, heading(incident, made), all_sections(incident))
