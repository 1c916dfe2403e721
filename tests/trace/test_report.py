"""The report of traces as text, and waits as CSV: tables, notes and numbers, from figures that are made here."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

from msgspec.structs import replace

from presman.trace.tally import Summary
from presman.trace.trace_parser import IDLE, EventSelection, FileFigures, WaitColumns
from presman.trace.trace_report import WaitsCsv, events_found, report, unread

READ = Summary("db file", "a.trc", 1200, 2_500_000, 2083.4, (10, 20, None, 40), 9000, (50.0, 0.125, None), 1200, 0.0)
ALL = replace(READ, file=None, waits=2400)
IDLING = next(iter(IDLE))


def survey(*totals: Summary, files: tuple[FileFigures, ...] = ()) -> Any:
    return SimpleNamespace(
        files=list(files), totals=lambda: list(totals), total=SimpleNamespace(tallies={"db file": 1})
    )


def lines(*totals: Summary, names: tuple[str, ...] = (), files: tuple[FileFigures, ...] = ()) -> list[str]:
    return report(survey(*totals, files=files), EventSelection(names)).splitlines()


def test_an_event_of_several_files_has_a_line_for_each_and_one_for_all() -> None:
    one, other = FileFigures("a.trc", [READ]), FileFigures("b.trc", [replace(READ, file="b.trc", mean=None)])
    assert lines(ALL, files=(one, other)) == [
        "db file    waits     mean  median  p95  p99  p99.9    max  >1 ms %  >10 ms %  >20 ms %  total s  blocks",
        "a.trc      1,200  2,083.4      10   20    -     40  9,000   50.000     0.125         -    2.500   1,200",
        "b.trc      1,200        -      10   20    -     40  9,000   50.000     0.125         -    2.500   1,200",
        "all files  2,400  2,083.4      10   20    -     40  9,000   50.000     0.125         -    2.500   1,200",
        "",
        "Times in µs. Percentiles are exact: the shortest time that this share of the waits did not exceed.",
        "Blocks of log files are log blocks (512 bytes or 4 kB), those of data files database blocks.",
    ]
    assert [line.split()[0] for line in lines(ALL, files=(one,))[:2]] == ["db", "a.trc"], "of one file that is all"
    other_event = FileFigures("b.trc", [replace(READ, event="log", file="b.trc")])
    assert len([line for line in lines(ALL, files=(one, other_event)) if line.startswith("all files")]) == 0


def test_percentiles_that_are_not_exact_say_how_far_off_they_may_be() -> None:
    rough = replace(ALL, error=0.005, blocks=None)
    assert lines(rough)[-1].startswith("Times in µs. Percentiles are within 0.50 %, as there are too many different")
    assert "Blocks" not in "\n".join(lines(rough))
    assert "within 0.50 %" in "\n".join(lines(ALL, rough))


def test_problems_of_files_are_noted() -> None:
    bad = FileFigures("a.trc", [], 3, 1200, 0, 1, "WAIT #", 10_000, "cut off")
    found = lines(ALL, names=("db file", "none *"), files=(bad, FileFigures("b.trc", [], 4)))
    assert found[-6:] == [
        "a.trc: incomplete, counted as far as it could be read (cut off)",
        "a.trc: 1,200 waits skipped, their elapsed time is impossible",
        "a.trc: 1 WAIT line was not understood and not counted, the first: WAIT #",
        "a.trc: from before 9i: elapsed times are in hundredths of a second",
        "7 waits of idle events left out (--idle counts them, --list names them)",
        "no waits of 'none *' found: --list shows the events of a trace; waits are traced at level 8 or 12",
    ]
    assert unread(replace(bad, unread=2000)).startswith("a.trc: 2,000 WAIT lines were not understood")
    assert lines(names=("db file", "none")) == [""]
    assert lines(files=(FileFigures("b.trc"),), names=("db file",)) == [""]


def test_events_are_listed_with_why_idle_ones_are_left_out() -> None:
    idle = replace(ALL, event=IDLING, waits=1, total=1_000, mean=1000.0)
    assert events_found(survey(ALL, idle, files=(FileFigures("a.trc", idle=1),))).splitlines() == [
        f"event{'':{len(IDLING) - 5}}  waits  total s  mean µs",
        f"db file{'':{len(IDLING) - 7}}  2,400    2.500  2,083.4",
        f"{IDLING}      1    0.001  1,000.0  idle: {IDLE[IDLING]}",
        "",
        "1 waits of idle events left out (--idle counts them, --list names them)",
    ]
    assert events_found(survey()) == "event  waits  total s  mean µs\n"


def test_waits_are_numbered_within_file_and_event() -> None:
    out = io.StringIO()
    waits = WaitsCsv(out)
    waits.start("a.trc")
    waits.add(WaitColumns(["x", 'y, "z"', "x"], [10, 20, 30], [1, None, 0]))
    waits.add(WaitColumns(["x"], [40], [None]))
    waits.start("b.trc")
    waits.add(WaitColumns(["x"], [50], [2]))
    assert out.getvalue().splitlines() == [
        "count,elapsed_us,blocks,event,file", "1,10,1,x,a.trc", '1,20,,"y, ""z""",a.trc', "2,30,0,x,a.trc",
        "3,40,,x,a.trc", "1,50,2,x,b.trc",
    ]  # fmt: skip


def test_the_summaries_of_a_file_are_looked_through_once_however_many_events_there_are() -> None:
    """For 3,000 events there were nine million comparisons, which took over a minute."""
    looked: list[int] = []

    class Looked(list[Summary]):
        def __iter__(self) -> Any:
            looked.append(len(self))
            return super().__iter__()

    each = [replace(READ, event=f"event {number}") for number in range(9)]
    assert len(lines(*each, files=(FileFigures("a.trc", Looked(each)),))) > 18
    assert looked == [9]
