"""The regime of the queue, why each head waits, and what ends it."""

from __future__ import annotations

from collections.abc import Sequence

from presman.analysis.reading import Reading
from presman.analysis.unblock import unblock
from presman.analysis.usual import Comparison
from presman.formats import count, number
from presman.tui.alerts import head_sentence
from presman.tui.unblocking import ends_it
from presman.tui.widgets.bars import spark
from presman.tui.widgets.line_view import LineView
from presman.tui.widgets.lines import Line, Run, wrap
from presman.watch import Watch
from presman.watch.marks import is_downgrade

_REGIMES = {
    "FULL": "one queue per consumer group",
    "FIFO": "one queue for all",
    "STARTUP": "instances are starting",
    "OFF": "no plan manages parallel execution",
    "DISABLED": "no memory is left for the queue",
}
"""What V$RSRC_PLAN.PARALLEL_EXECUTION_MANAGED means."""

_TALL = 28
"""Lines of a terminal from which the first line is shown in full."""

_MINUTES = 12
"""Minutes of downgrades that the first line shows as a sparkline."""


class Why(LineView):
    """The lines above the tables of the Parallel tab, wrapped to the width."""

    _lines_to_wrap: Sequence[Line] = ()

    def show(self, reading: Reading, watch: Watch) -> None:
        """Explain this reading's queue."""
        self._lines_to_wrap = why_lines(reading, watch)
        self._lay_out()

    def on_resize(self) -> None:
        """Wrap to the new width."""
        self._lay_out()

    def _lay_out(self) -> None:
        if not self._lines_to_wrap:
            return
        width = self.size.width or self.app.size.width
        first, *others = self._lines_to_wrap
        top = wrap(first, width, 6)
        if self.app.size.height < _TALL:  # what is wrong comes before what is in use
            top = top[:1]
        lines = [*top, *(part for line in others for part in wrap(line, width, 6))]
        if self.styles.height is None or self.styles.height.value != len(lines):
            self.styles.height = len(lines)
        self.show_lines(lines)


def why_lines(reading: Reading, watch: Watch) -> list[Line]:
    """Return the regime, the reasons with what ends them, and what is worse than usual, unwrapped."""
    return [(*_regime(reading), *_downgrades(reading, watch)), *_heads(reading), *_worse(watch.marks.compare(reading))]


def _regime(reading: Reading) -> Line:
    header, pool = reading.header, reading.header.servers
    regime = header.px_managed.upper()
    facts: list[Run] = [(" Queue ", "dim"), (regime or "?", ""), (f" {_REGIMES.get(regime, '')}", "dim")]
    facts += [("   in use ", "dim"), (count(pool.in_use), ""), ("  counted ", "dim"), (count(pool.counted), "")]
    facts += [(" of target ", "dim"), (count(pool.target), "")]
    if len(header.instances) > 1:
        facts.append((f" = {' + '.join(count(each.servers.target) for each in header.instances)}", "dim"))
    facts += [("  max ", "dim"), (count(pool.maximum), "")]
    if reading.unmanaged_servers:
        held = sum(group.px_servers for group in reading.cluster_groups())
        outside = f"   groups {held} + {reading.unmanaged_servers} outside the queue (bypass, GV$, recovery …)"
        facts.append((outside, "note"))
    return tuple(facts)


def _downgrades(reading: Reading, watch: Watch) -> Line:
    counted = sum(value for name, value in watch.marks.downgrades(reading).items() if is_downgrade(name))
    if not counted:
        return ()
    minutes = watch.marks.downgraded_by_minute(reading, _MINUTES)
    trend = f" {spark(minutes, len(minutes))}" if any(minutes) else ""
    return (("   downgraded in the last hour ", "dim"), (f"▼ {counted}{trend}", "warn"))


def _heads(reading: Reading) -> Sequence[Line]:
    if not reading.heads:
        if reading.queue:
            return [((" WHY  ", "title"), ("Statements are queued; what holds their head is not known.", "warn"))]
        return [((" ● Nothing is queued.", "good"),)]
    lines: list[Line] = []
    for found in unblock(reading):
        lines.append(((" WHY  ", "title"), (head_sentence(found.head), "warn")))
        lines.append(ends_it(found))
    return lines


def _worse(compared: Sequence[Comparison]) -> Sequence[Line]:
    worse = [each for each in compared if each.worse]
    if not worse:
        return ()
    parts = [f"{each.name} {number(each.now.mean_queue)} queued, {_usually(each)}" for each in worse]
    return [((" WORSE THAN USUAL  ", "title"), ("; ".join(parts), "bad"))]


def _usually(each: Comparison) -> str:
    if each.hour is not None and each.hour.mean_queue is not None:
        return f"{number(each.hour.mean_queue)} on average in the last hour"
    return f"{number(each.plan.mean_queue if each.plan else None)} on average since the plan was activated"
