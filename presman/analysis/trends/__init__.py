"""Watch over many readings: who was downgraded, how the queue usually is, who ran when, which SQL was busy, its text.

State of whoever consumes readings one after the other (a screen); fed by `add`, bounded in size.
"""

from collections.abc import Iterable
from datetime import datetime

from presman.analysis.parallel.usual import QueueMarks
from presman.analysis.readings.reading import Reading
from presman.analysis.trends.sql_minutes import SqlMinutes, SqlTexts
from presman.analysis.trends.statement_runs import StatementRun, StatementRuns
from presman.base.colours import GroupColours


class Watch:
    """The marks of an hour, the spans, minutes and texts of statements, fed together.

    `colours` are those that groups were given while one looks.
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
        """Begin behind a reading at an instant, with what is known of the time before it."""
        self.lacks_past = True
        self.runs.begin(at, runs)
        self.sql_minutes.begin(at)

    def add(self, reading: Reading) -> None:
        """Take the next reading. One that is not newer than the last resets everything."""
        self.queue_marks.add(reading)
        self.runs.add(reading)
        self.sql_minutes.add(reading)
        self.sql_texts.add(reading)
