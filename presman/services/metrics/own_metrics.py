"""Metrics of the watching itself: whether a database can be reached, and what polling it takes."""

from __future__ import annotations

from typing import Any

from presman.figures.figure import COUNT, FLAG, SECONDS, TOTAL, Figure, Unit
from presman.figures.metric import Subject, of_figures
from presman.figures.metric_figures import READING_SUBJECTS
from presman.services.metrics.observed_database import DatabaseState

State = Figure[DatabaseState]

_EPOCH = Unit("seconds since 1970", str, 10)

# fmt: off
TARGET: Subject[DatabaseState] = Subject(
    "A database as presman watches it", {}, lambda state: (state,),
    of_figures("", (
        State("up", "up", FLAG,
              "Whether the database can be reached and has answered recently. While it is 0 it has no figures.",
              "is_up"),
        State("last_poll_timestamp_s", "last poll", _EPOCH,
              "When a poll last ended, since 1970, by the clock of presman's machine.", "last_poll"),
        State("next_try_timestamp_s", "next try", _EPOCH,
              "When a database that cannot be reached is tried next, since 1970, by presman's machine's clock. Absent "
              "while the database is up, and where it is not tried again before a restart.", "next_try"),
        State("poll_interval_s", "interval", SECONDS, "The configured time between polls.", "interval"),
        State("polls_total", "polls*", COUNT, "Polls since presman was started.", "polls"),
        State("poll_s_total", "poll time*", SECONDS, "Seconds that these polls took.", "poll_seconds"),
        State("round_trips_total", "round trips*", TOTAL, "Round trips to the database of these polls.", "round_trips"),
        State("connection_failures_total", "failures*", TOTAL,
              "How often the connection was lost or could not be made since presman was started.", "failures"),
    )),
)
# fmt: on

SUBJECTS: tuple[Subject[Any], ...] = (TARGET, *READING_SUBJECTS)
"""All that is exported of a database, in the order of the page."""
