"""Past timeline: the history that a monitor would have had at an instant of a recording.

After a jump, the part that comes from the recorded figures is shown at once: charts of groups, statements and their
lives. The part that only the polls contain (activity of sessions, histograms, the usual queue) is read afterwards, one
poll at a time.
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
    """Replays the hour before a jump to the poll at `index`, one poll per step."""

    def __init__(self, playback: Playback, index: int) -> None:
        self._playback = playback
        self._next = first_recalled(playback, index)
        self._timeline: Timeline | None = None

    def move(self, indexes: int) -> None:
        """Shift the position by `indexes`, after the oldest polls were removed."""
        self._next = max(0, self._next + indexes)

    def step(self, until: int) -> Timeline | None:
        """Add the next poll; return the timeline once it has all readable polls up to the index `until`."""
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
    """Return a timeline with charts of the hour before an instant, from recorded figures without new analysis."""
    found = Timeline()
    if previous is not None:
        found.begin(previous)
        found.watch.begin(previous.at, past_runs(playback, at - WATCHED, previous.at))
    fill(found.series, group_lines(playback, at - WATCHED, at - timedelta(microseconds=1), CHARTED_FIGURES))
    return found


def fill(series: Series, lines: GroupLines) -> None:
    """Fill empty charts with the lines of groups; those of the cluster are the sums over its instances."""
    instances = {inst_id for _, (inst_id, _, _) in lines.values}
    several = len(instances) > 1
    found: dict[Key, Sequence[float]] = {}
    for (measure, (inst_id, con_id, name)), values in lines.values.items():
        if several:
            found[measure, inst_id, con_id, name] = values
        whole = (measure, CLUSTER, con_id, name)
        found[whole] = summed(found[whole], values) if whole in found else values
        if (total := {"servers": "in_use", "queued": "queued"}.get(measure)) is not None:
            every = (total, CLUSTER, 0, "")
            found[every] = summed(found[every], values) if every in found else values
    series.fill_groups(instances if several else set(), lines.times, found)


def summed(one: Sequence[float], other: Sequence[float]) -> list[float]:
    """Return the sum of two lines; where one of them is NaN, the value of the other."""
    return [b if isnan(a) else a if isnan(b) else a + b for a, b in zip(one, other, strict=True)]
