"""Lines of groups: pieces are joined, and each line has a value for every poll; checked by hand."""

from __future__ import annotations

from array import array
from math import isnan, nan

from presman.recording.window_lines import GroupLines, Who, _add

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
