"""Watch over many readings: downgrades, the usual queue, runs of statements, busy SQL and its texts.

It is the state of a consumer that reads one reading after the other (a screen); `add` feeds it, and its size is
bounded.
"""

from collections.abc import Iterable
from datetime import datetime

from presman.analysis.parallel.usual import QueueMarks
from presman.analysis.readings.reading import Reading
from presman.analysis.trends.sql_minutes import SqlMinutes, SqlTexts
from presman.analysis.trends.statement_runs import StatementRun, StatementRuns
from presman.base.colours import GroupColours


class Watch:
    """The marks of an hour and the runs, minutes and texts of statements, fed together.

    `colours` are those assigned to groups while the screen is open.
    """

    def __init__(self) -> None:
        self.queue_marks = QueueMarks()
        self.runs = StatementRuns(kept=1000)
        self.sql_minutes = SqlMinutes()
        self.sql_texts = SqlTexts()
        self.colours = GroupColours()
        self.lacks_past = False
        """Whether it began in the middle, and what was seen before is not known (yet)."""

    def begin(self, at: datetime, runs: Iterable[StatementRun]) -> None:
        """Begin after a reading at an instant, with the runs of statements that are known from the time before it."""
        self.lacks_past = True
        self.runs.begin(at, runs)
        self.sql_minutes.begin(at)

    def add(self, reading: Reading) -> None:
        """Add the next reading. A reading that is not newer than the last one resets everything."""
        self.queue_marks.add(reading)
        self.runs.add(reading)
        self.sql_minutes.add(reading)
        self.sql_texts.add(reading)
