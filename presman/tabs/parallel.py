"""Tab 4 Parallel: the parallel statement queue: who waits, why, what ends it, who holds the servers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from presman.analysis.folds import fold_queue
from presman.analysis.parallel.usual import Comparison
from presman.analysis.readings.statement_readings import QueuedStatement
from presman.analysis.trends.downgrade_ledger import Downgrade
from presman.figures.group_figures import PARALLEL_GROUPS
from presman.figures.history_figures import LEDGER, USUAL
from presman.figures.instance_figures import DOWNGRADES, SERVERS
from presman.figures.statement_figures import QUEUE, RUNNING
from presman.tabs.alerts import unseen_queue
from presman.tabs.folded import statements_folded
from presman.tabs.moment import Moment, alike_in_groups, alike_on_one_instance, servers_scale
from presman.tabs.parts import Key, Rows, Tab
from presman.tabs.queue_summary import by_class
from presman.tabs.unseen import blind


def queue_rows(moment: Moment) -> tuple[QueuedStatement, ...]:
    """Return the queue, identical statements in one row unless they are unfolded."""
    choices = moment.choices
    return moment.reading.queue if choices.plain or choices.unfolded else fold_queue(moment.reading.queue)


def compared(moment: Moment) -> tuple[Comparison, ...]:
    """Return each group's queue now against the last hour and since its plan, the worse ones first."""
    found = moment.watch.queue_marks.compare(moment.reading)
    return tuple(sorted(found, key=lambda each: not each.worse))


def downgraded(moment: Moment) -> Sequence[Downgrade]:
    """Return the downgrades of the last hour."""
    return moment.watch.ledger.since(moment.reading.at - timedelta(hours=1))


TAB = Tab(
    parts=(
        Rows(
            QUEUE,
            lambda moment: moment.once(queue_rows),
            alike_on_one_instance,
            lambda moment: statements_folded(moment.once(queue_rows)),
            measure="queue",
            news=True,
            unseen=lambda moment: unseen_queue(moment.reading),
        ),
        Rows(
            RUNNING,
            lambda moment: moment.reading.running,
            alike_on_one_instance,
            news=True,
            unseen=blind("V$PX_SESSION"),
        ),
        Rows(
            PARALLEL_GROUPS,
            Moment.groups,
            alike_in_groups,
            lambda _: "█ held, of the target ┊ limit",
            servers_scale,
            filterable=False,
        ),
        Rows(
            SERVERS,
            lambda moment: moment.reading.header.instances,
            note=lambda _: "█ in use ┊ target",
            filterable=False,
        ),
        Rows(USUAL, lambda moment: moment.once(compared), filterable=False),
        Rows(
            LEDGER,
            downgraded,
            note=lambda moment: by_class(moment.watch.queue_marks.downgrades(moment.reading)),
            filterable=False,
            unseen=lambda moment: "Not known yet: the last hour is being read." if moment.watch.lacks_past else "",
        ),
    ),
    for_text=(Rows(DOWNGRADES, lambda moment: moment.reading.downgrades),),
    notes=(
        "WHY says why the head of a queue waits; TO START IT what would let it start: first statements that should "
        "end by themselves within 30 seconds, then idle holders, then those that lose least work if ended (servers x "
        "elapsed). Statements joined by + must end together. The queue of the row under the cursor comes first.",
        "c lists what can be copied: SQL_ID, text, sid,serial, commands, each with its key. 1 is the command for ① of "
        "the row's queue, or for the running statement under the cursor; then come ② and so on, and the commands for "
        "the waiting statement itself. Nothing is run. Where you can only wait, it says so.",
        "Identical queued statements are one row: `7xq3hjskd0abc x9` with the servers that all nine want, and the "
        "place and wait of the first. Enter lists them, u gives each a row; then a acts on one of them. The "
        "commands are about the head of the row's queue, folded or not.",
        "g shows the statements over time instead of the tables: ░ queued █ running ▒ idle holder; more servers make "
        "a taller block.",
    ),
    keys=(Key("gantt", "g", "g", "Gantt", "Statements over time instead of the tables, and back."),),
    panel="presman.tui.panels.parallel_panel:ParallelPanel",
    over_time=True,
    progress=True,
    measure="parallel",
)
