"""Past timeline: what whoever had watched a recording up to an instant would have of the time before it.

A jump shows at once what the figures tell: charts of groups, statements and their lives. What only the polls tell (what
sessions did, histograms, how the queue usually is) is taken up behind it, a poll at a time.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from math import isnan

from presman.analysis.readings.reading import CLUSTER
from presman.analysis.trends.series import Key, Series
from presman.recording.playback import LostPollError, Playback
from presman.recording.statement_lives import WATCHED, first_recalled, past_runs
from presman.recording.window_lines import GroupLines, group_lines
from presman.rows.snapshot import Snapshot
from presman.tui.timeline import Timeline

CHARTED_FIGURES = ("used", "waiting", "io", "servers", "queued")


class Recall:
    """The hour before a jump to the poll at `index`, watched once more: one poll with each step."""

    def __init__(self, playback: Playback, index: int) -> None:
        self._playback = playback
        self._next = first_recalled(playback, index)
        self._timeline: Timeline | None = None

    def move(self, indexes: int) -> None:
        """Take note that polls have other indexes than before: the oldest ones were removed."""
        self._next = max(0, self._next + indexes)

    def step(self, until: int) -> Timeline | None:
        """Take up the next poll; return the timeline when it has all up to the index `until` that can be read."""
        try:
            pair = self._playback.pair(self._next)
            if self._timeline is None:
                self._timeline = timeline_before(self._playback, pair[0], pair[1].at)
            self._timeline.add(self._playback.meaning(pair), pair[1])
        except LostPollError:
            pass
        self._next += 1
        if self._timeline is None or self._next <= until:
            return None
        self._timeline.watch.lacks_past = False
        return self._timeline


def timeline_before(playback: Playback, previous: Snapshot | None, at: datetime) -> Timeline:
    """Return a timeline whose charts show the hour before an instant, from the figures: nothing is analysed again."""
    found = Timeline()
    if previous is not None:
        found.begin(previous)
        found.watch.begin(previous.at, past_runs(playback, at - WATCHED, previous.at))
    fill(found.series, group_lines(playback, at - WATCHED, at - timedelta(microseconds=1), CHARTED_FIGURES))
    return found


def fill(series: Series, lines: GroupLines) -> None:
    """Fill empty charts with the lines of groups; the cluster's are the sums over its instances."""
    instances = {inst_id for _, (inst_id, _, _) in lines.values}
    several = len(instances) > 1
    found: dict[Key, Sequence[float]] = {}
    for (measure, (inst_id, con_id, name)), values in lines.values.items():
        if several:
            found[measure, inst_id, con_id, name] = values
        whole = (measure, CLUSTER, con_id, name)
        found[whole] = summed(found[whole], values) if whole in found else values
        total = {"servers": "in_use", "queued": "queued"}.get(measure)
        if total is not None:
            every = (total, CLUSTER, 0, "")
            found[every] = summed(found[every], values) if every in found else values
    series.fill_groups(instances if several else set(), lines.times, found)


def summed(one: Sequence[float], other: Sequence[float]) -> list[float]:
    """Return two lines as one; where only one has a value (the other is NaN) that one."""
    return [b if isnan(a) else a if isnan(b) else a + b for a, b in zip(one, other, strict=True)]
