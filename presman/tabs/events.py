"""Tab E Events: what changed and when: plans, directives, parameters, instances, queues, alerts."""

from presman.analysis.trends import database_events as kinds
from presman.analysis.trends.database_events import DatabaseEvent
from presman.figures.history_figures import EVENTS
from presman.tabs.parts import Moment, Rows, Tab


def events(moment: Moment) -> tuple[DatabaseEvent, ...]:
    """Return the events since presman started, and those of the day before that the first poll found."""
    return tuple(moment.events)


_ON_PARALLEL = {kinds.QUEUE_BEGAN, kinds.QUEUE_ENDED, kinds.DOWNGRADE, kinds.TIMEOUT, kinds.PARAMETER_CHANGED}


def tab_of(event: DatabaseEvent) -> str:
    """Return the name of the tab that shows most about an event."""
    if event.kind in _ON_PARALLEL:
        return "parallel"
    return "plan" if event.kind in {kinds.PLAN_CHANGED, kinds.DIRECTIVE_CHANGED} else "overview"


TAB = Tab(
    parts=(Rows(EVENTS, events),),  # of a single moment, none is no news
    notes=(
        "Enter goes to the time of the row, on the tab that shows it best. n and p go to the next event and to the "
        "one before, from any tab, and skip those that only end something; J and : go to a time (:19:08, "
        ":-15m). End goes to the newest poll.",
        "Parameters and directives are read once a minute: a change was made in the minute before its row. They are "
        "read more often while a statement is queued; V$RSRC_PLAN shows PARALLEL_SERVERS_TARGET at each poll.",
        "An alert that ended or got better has its row at once; one that keeps coming and going has it only after a "
        "minute. The time is that of the first poll that showed it.",
        "In a replay these are the events that were recorded: older recordings have no changes of parameters, "
        "directives and instances, and no alerts.",
    ),
)
