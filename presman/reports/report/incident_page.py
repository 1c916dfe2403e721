"""Page of an incident: its head and its sections."""

from __future__ import annotations

from datetime import datetime

from presman.reports.page.frame import page
from presman.reports.report.incident import Incident
from presman.reports.report.sections import all_sections, heading
from presman.reports.report.time_axis import between


def incident_page(incident: Incident, made: datetime) -> str:
    """Return the page; `made` is now."""
    title = f"{incident.target} {between(incident.start, incident.end)}"
    return page(title, heading(incident, made), all_sections(incident))
