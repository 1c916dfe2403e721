"""Published log of twenty statements of a real 19c Autonomous Data Warehouse, with begins and ends, replayed.

tests/data/README.md has the source. MEDIUM was allowed 84 % of 96 servers, and each statement has 8 of them: a degree
of 4 with two server sets. So 80 servers, or ten statements, fit.
"""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import pytest

from presman.analysis.trends.statement_runs import Arrival, ArrivalOutcome
from presman.cli import main
from presman.forecast.scheduler import Group
from presman.reports.whatif_replay import COLUMNS, changed, error, observed, observed_rules, replay
from presman.reports.whatif_text import waits

LOG = Path(__file__).parents[2] / "data" / "adw_medium_20.csv"
MEDIUM = Group(0, "MEDIUM")
TARGET = 96
LIMIT = 80
"""84 % of 96 are 80.64: whole servers count."""
SERVERS = 8


class Logged(NamedTuple):
    """A line of the log."""

    task: int
    began: datetime
    ended: datetime

    @property
    def seconds(self) -> float:
        """The seconds that its client waited for the rows."""
        return (self.ended - self.began).total_seconds()


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def logged() -> list[Logged]:
    with LOG.open(encoding="utf-8", newline="") as file:
        lines = [Logged(int(row["task"]), instant(row["start"]), instant(row["end"])) for row in csv.DictReader(file)]
    return sorted(lines, key=lambda line: line.began)


def at_once() -> list[Logged]:
    """Return the ten statements that ran at once: they took 48 to 59 seconds, the others 105 to 111."""
    return [line for line in logged() if line.seconds < 60]


def arrivals(guess: float | None = None) -> list[Arrival]:
    """Return the twenty as `export` writes them. A waiting statement started when one of the first ten ended, in turn.

    With a guess, only the arrivals of the waiting statements are used: wait and run time are the guess.
    """
    lines = logged()
    ends = iter(sorted(line.ended for line in at_once()))
    found = []
    for line in lines:
        waited, ran = 0.0, line.seconds
        if line not in at_once():
            waited = guess or (next(ends) - line.began).total_seconds()
            ran = guess or line.seconds - waited
        found.append(
            Arrival(
                at=line.began, con_id=0, group="MEDIUM", servers=SERVERS, waited=waited, ran=ran,
                outcome=ArrivalOutcome.ENDED, target=TARGET, limit=LIMIT, weight=0.25, timeout=None, action="",
                first=lines[0].began, last=max(each.ended for each in lines),
            )
        )  # fmt: skip
    return found


def test_the_log_is_whole() -> None:
    assert len(logged()) == 20
    assert [int(100 * line.seconds) for line in sorted(at_once(), key=lambda line: line.seconds)] == [
        4796, 4900, 5772, 5788, 5791, 5793, 5803, 5820, 5831, 5911,
    ]  # fmt: skip


def test_ten_wait_as_long_as_they_did() -> None:
    seen = arrivals()
    result = replay(seen, observed_rules(seen))
    queued = sorted(each.waited for each in result.statements if each.waited > 0)
    assert (len(queued), round(queued[0], 1), round(queued[-1], 1), round(fmean(queued), 1)) == (10, 47.8, 58.8, 56.0)
    assert error(observed(seen), result.statements) < 0.01
    assert result.peak == 80
    assert waits(result.statements).queued == 10


def test_ends_are_foretold_from_the_run_times_of_the_first_ten() -> None:
    """They took 108.9 seconds on average, which is forecast within 4 seconds, and each of them within 9."""
    mean = fmean(line.seconds for line in at_once())
    assert mean == pytest.approx(56.2, abs=0.05)
    seen = arrivals(guess=mean)
    result = replay(seen, observed_rules(seen))
    together = zip(logged(), result.statements, strict=True)
    late = [(line.seconds, each.waited + mean) for line, each in together if line not in at_once()]
    assert len(late) == 10
    assert all(abs(took - foretold) < 9 for took, foretold in late)
    assert fmean(took for took, _ in late) == pytest.approx(108.9, abs=0.05)
    assert fmean(foretold for _, foretold in late) == pytest.approx(108.9, abs=4)


def test_with_the_whole_target_twelve_run() -> None:
    """The same notes mention a limit of 100 %: twelve at once, 12 x 8 = 96 servers."""
    seen = arrivals()
    result = replay(seen, changed(observed_rules(seen), limits={MEDIUM: TARGET}))
    assert (waits(result.statements).queued, result.peak) == (8, 96)


def test_the_command_has_the_same_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "arrivals.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for each in arrivals():
            row = each._asdict() | {"outcome": each.outcome.value}
            writer.writerow("" if value is None else value for value in row.values())
    assert main(["whatif", str(path)]) == 0
    output = capsys.readouterr().out
    assert "a wait is off by 0.0 s on average" in output
    lines = [line.split() for line in output.splitlines() if line.startswith("MEDIUM ") or "replayed " in line]
    assert [line[:3] for line in lines if line[0] == "MEDIUM"] == [["MEDIUM", "observed", "20"]]
    assert [line[1:3] for line in lines if line[0] == "replayed" and line[1].isdigit()] == [["20", "10"], ["20", "10"]]
