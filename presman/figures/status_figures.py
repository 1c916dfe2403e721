"""Figures of running recorders and exporters: one line for each of their databases."""

from presman.base.formats import duration, number
from presman.base.run_status import RunLine, RunState
from presman.figures.figure import COUNT, INSTANT, NAME, NUMBER, PERCENT, SECONDS, TEXT, WORD, Figure, Table, Unit

Line = Figure[RunLine]

MEGABYTES = Unit("MB", lambda value: number(value, 0), 5)

_SIGNS = {RunState.RUNNING: "●", RunState.STARTING: "…", RunState.LATE: "◌"}


def _state(row: RunLine) -> str:
    return f"{_SIGNS.get(row.state, '✕')} {row.state.value}"


# fmt: off
RUNS: Table[RunLine] = Table(
    "runs", "Runs",
    (
        Line("command", "command", TEXT, "The command that runs.", "run.command", width=7),
        Line("pid", "pid", NUMBER, "The number of its process.", "run.pid", width=7),
        Line("database", "database", NAME, "The target.", "database.name", width=8, most=40),
        Line("state", "state", WORD, "● running; … starting: no first poll yet; ◌ late: no poll for more than two "
             "intervals; ✕ lost: no connection; ✕ not written: polls cannot be written; ✕ hangs: the process exists "
             "but does not report; ✕ died: it was killed, or the machine went down.", "state", text=_state, width=11),
        Line("runs_for_s", "for", SECONDS, "How long it has been running.", "runs_for", width=9),
        Line("since", "since", INSTANT, "When it began.", "run.since", narrow=False),
        Line("polls", "polls", COUNT, "Polls that were written, or read for metrics.", "database.polls", width=7),
        Line("age_s", "last", SECONDS, "How long ago the newest poll came.", "age", width=7),
        Line("said_s", "reported", SECONDS,
             "Age of this line: the process reports every five seconds, and may have polled since.", "silent", width=5),
        Line("every_s", "every", SECONDS, "Seconds between two polls.", "database.every", width=6,
             text=lambda row: f"{row.database.every:g}s" if row.database.every else "-"),
        Line("waiting", "waiting", COUNT, "Polls that are not written yet.", "database.waiting", narrow=False),
        Line("given_up", "given up", COUNT, "Polls that could not be written and are lost.", "database.given_up",
             narrow=False),
        Line("retry_s", "retry in", SECONDS, "Time until a lost database is tried again; - where it is not lost, or "
             "not tried again.", "retry_in", width=5),
        Line("cpu_percent", "CPU %", PERCENT, "CPU of the whole process in the last seconds, in percent of one CPU.",
             "run.cpu_percent", width=5, text=lambda row: number(row.run.cpu_percent)),
        Line("cpu_s", "CPU", SECONDS, "CPU of the whole process since it began.", "run.cpu_seconds", narrow=False,
             text=lambda row: duration(row.run.cpu_seconds)),
        Line("memory_mb", "MB", MEGABYTES, "Memory of the whole process.", "run.memory_mb"),
        Line("output", "to", NAME, "Where it writes to, or is scraped.", "run.output", width=12, most=60, narrow=False),
        Line("host", "host", NAME, "The machine it runs on.", "run.host", narrow=False, width=8, most=20),
        Line("trouble", "trouble", TEXT, "What is wrong, in one line.", "trouble", width=20, most=110, flexible=True),
    ),
    lambda row: (row.run.pid, row.database.name),
    "Nothing is running.",
)
# fmt: on
