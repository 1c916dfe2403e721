"""Lines of groups: pieces are joined, and each line has a value for every poll; checked by hand."""

from __future__ import annotations

import sqlite3
from array import array
from contextlib import closing
from math import isnan, nan
from pathlib import Path

from presman.recording.reader import Recording
from presman.recording.window_lines import GroupLines, Who, _add, latency_bins
from tests.recording.recorded import polled, record

ETL, WEB = (1, 0, "ETL"), (1, 0, "WEB")


def lines(*times: float, **values: list[float]) -> GroupLines:
    subjects: dict[str, Who] = {"etl": ETL, "web": WEB}
    own = {("used_cpus", subjects[name]): array("d", line) for name, line in values.items()}
    return GroupLines(array("q", map(int, times)), array("d", times), array("d", [2.0] * len(times)), own)


def test_a_line_has_no_values_in_periods_without_its_group() -> None:
    found = lines(0.0, 2.0, etl=[1.0, nan])
    _add(found, lines(4.0, 6.0, 8.0, web=[5.0, 6.0, 7.0]))
    _add(found, lines(10.0, etl=[8.0], web=[9.0]))
    assert list(found.times) == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    assert list(found.polls) == [0, 2, 4, 6, 8, 10]
    assert list(found.seconds) == [2.0] * 6
    shown = {subject: [None if isnan(each) else each for each in line] for (_, subject), line in found.values.items()}
    assert shown == {ETL: [1.0, None, None, None, None, 8.0], WEB: [None, None, 5.0, 6.0, 7.0, 9.0]}


def test_fewer_waits_than_none_are_passed_over(tmp_path: Path) -> None:
    """A flipped bit makes a count negative: a percentile of such a sum had no bucket."""
    path = tmp_path / "a.presman"
    record(path, list(polled("queueing", 12)))
    with closing(sqlite3.connect(path)) as file, file:
        (damaged,) = file.execute("SELECT MIN(bucket_id) FROM bucket_waits WHERE waits_3 > 0").fetchone()
        file.execute("UPDATE bucket_waits SET waits_3 = -1 << 40 WHERE bucket_id = ?", (damaged,))
    with Recording(str(path)) as recording:
        playback = recording.playback()
        found = latency_bins(playback, playback.at(0), playback.at(11), 12)
    counts = [waits for bins in found.values() for each in bins for waits in each.waits.values()]
    assert counts
    assert min(counts) > 0
