"""Narration: changes on a database as lines of text, one for each change, to be read aloud or logged."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from operator import attrgetter

from presman.analysis.advice.steady_step import MARGIN, About, SteadyStep
from presman.analysis.advice.step import Step
from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.alerts.alert_transitions import BEGAN, ENDED, ReportedState
from presman.analysis.alerts.judge import alert_id
from presman.analysis.plans.plan_view import plan_name
from presman.analysis.readings.reading import NO_ANSWER, Reading
from presman.analysis.totals import Totals, totals
from presman.analysis.trends import database_events as kinds
from presman.analysis.trends.database_events import EventWatch
from presman.analysis.view_availability import LONG, TWO_POLLS
from presman.base.formats import clock, counted, number, spelled
from presman.base.release import named
from presman.figures.drawing.lines import ascii_only
from presman.rows.snapshot import Snapshot
from presman.tabs.alerts import availability_notes

SUMMARY = 300.0
"""Seconds after which a summary is repeated even if nothing has changed."""

_ALERT_KINDS = frozenset({kinds.ALERT_BEGAN, kinds.ALERT_WORSE, kinds.ALERT_BETTER, kinds.ALERT_ENDED})

_EVERY = ""
"""In place of the name of a view: all views."""

_NARRATED_KINDS = _ALERT_KINDS | {
    *(kinds.PLAN_CHANGED, kinds.PARAMETER_CHANGED, kinds.DIRECTIVE_CHANGED, kinds.INSTANCE_CHANGED, kinds.PDB_CHANGED),
    *(kinds.DOWNGRADE, kinds.TIMEOUT, kinds.RECONNECT, kinds.GAP, kinds.CLOCK_BACK),
}
"""Events that get a sentence: those of alerts, and those that no alert covers."""


class Narration:
    """Takes successive readings, already judged, and reports the changes.

    A summary follows `summary` seconds after the last one. `plain` writes only ASCII, and words for signs.
    """

    def __init__(self, summary: float = SUMMARY, *, plain: bool = False) -> None:
        self._summary = summary
        self._plain = plain
        self._events = EventWatch(first_is_news=True)
        self._steady = SteadyStep()
        self._said: About | None = None
        self._offered = False
        self._decides: frozenset[str] = frozenset()
        """The sessions that the last step reported names for a decision."""
        self._outdated: datetime | None = None
        """Since when the last step reported no longer applies, None if it does."""
        self._summed: datetime | None = None
        self._silent_views: dict[tuple[str, str], ReportedState] = {}
        self._about_views: set[str] = set()
        """The silent views that the last step is about."""
        self._fell_silent: set[str] = set()
        """The views whose silence this reading reports: not those that come and go."""

    def take(self, reading: Reading, snapshot: Snapshot) -> list[str]:
        """Return the lines for a reading, each with its time of day; the reading was made from `snapshot`."""
        return [f"{clock(reading.at)}  {self._written(line)}" for line in self._sentences(reading, snapshot)]

    def _written(self, line: str) -> str:
        return ascii_only(line.replace(" → ", " to ").replace("…", "...")) if self._plain else line

    def _sentences(self, reading: Reading, snapshot: Snapshot) -> Iterator[str]:
        header, summed = reading.header, self._summed
        if summed is None:
            yield f"watching {header.database or reading.target} {named(header.version)}, plan {plan_name(reading)}"
        events = self._events.add(reading, snapshot)
        narrated = sorted((each for each in events if each.kind in _NARRATED_KINDS), key=attrgetter("at"))
        yield from (_dated(each.at, each.text, reading.at) for each in narrated)
        yield from self._changed_troubles(reading)
        yield from self._step_now(reading)
        ended = not self._events.has_alerts and any(each.kind in _ALERT_KINDS for each in events)
        if summed is None or ended or (reading.at - summed).total_seconds() >= self._summary:
            self._summed = reading.at
            long = reading.interval or 0.0  # a short mean is current
            over = f" on average over {spelled(long)}" if long > LONG else ""
            yield f"now: {summary(totals(reading), _alerts_now(reading), header.target_used, over)}"
            yield from (() if reading.is_silent() else availability_notes(reading))

    def _changed_troubles(self, reading: Reading) -> Iterator[str]:
        """Report the views that stopped answering and those that answer again, with the same reason in one line."""
        now = _troubles(reading)
        away, views = self._silent_views, {view for view, _ in now}
        began: defaultdict[str, list[str]] = defaultdict(list)
        ended: defaultdict[tuple[datetime, datetime], list[str]] = defaultdict(list)
        back = () if reading.is_silent() else (each for each in away if each not in now)
        for view, why in (*now, *back):
            course = away.setdefault((view, why), ReportedState(reading.at, reading.at))
            change = course.update(int((view, why) in now), reading.at)
            if change == BEGAN:
                began[why].append(view)
            elif change == ENDED and view not in views:  # not if the view is unavailable for another reason
                ended[course.since, course.began].append(view)
        self._fell_silent = {view.removeprefix("G") for those in began.values() for view in those}
        for why, those in began.items():
            yield f"{NO_ANSWER}: {why}" if those == [_EVERY] else f"not seen: {', '.join(those)}: {why}"
        for (since, first), those in ended.items():
            which = ("all other views" if now else "all views") if _EVERY in those else ", ".join(those)
            text = f"seen again: {which} (no data for {spelled((since - first).total_seconds())})"
            yield _dated(since, text, reading.at)

    def _step_now(self, reading: Reading) -> Iterator[str]:
        """Report the step of DO if its kind, or a session that it names, has changed. New times do not count.

        Neither do other queues that want a session's servers. Advice to wait is reported once the last step has not
        applied for a while, or named a session for a decision that is gone. A withdrawn command is reported at once. So
        is a step that names a view which has just stopped answering, and a step whose view answers again. What a step
        adds for the queue counts as advice to wait.
        """
        step, now, held, decides = self._steady.take(reading)
        unseen = {each.view.removeprefix("G") for each in reading.unseen}
        about_views = {view for view in unseen if step is not None and view in step.text}
        answered = self._about_views - unseen
        waits = step is None or step.step is Step.WAIT or self._adds_another(now)
        is_gone = bool(self._decides - {each.who for each in reading.running}) and not unseen
        urgent = self._offered or answered or is_gone or about_views & self._fell_silent
        self._outdated = None if now == self._said else self._outdated or reading.at
        held = held or (self._outdated is not None and (reading.at - self._outdated).total_seconds() >= MARGIN)
        if now == self._said or (waits and not held and not urgent):
            return
        if step is not None:
            yield f"do: {step.text}"
            yield from (f"command: {each.text} (affects {step.affects})" for each in step.commands)
        elif self._offered:
            yield "do: nothing now; the command above no longer applies"
        elif self._decides:
            yield "do: nothing now; the step above no longer applies"
        elif answered:
            yield f"do: nothing now; {', '.join(sorted(answered))} answers again"
        self._said, self._decides, self._outdated = now, decides, None
        self._offered = step is not None and bool(step.commands)
        self._about_views = about_views

    def _adds_another(self, now: About | None) -> bool:
        """Return whether a step differs from the last one reported only in the wait that it adds for the queue."""
        return now is not None and self._said is not None and now[:-1] == self._said[:-1]


def _troubles(reading: Reading) -> dict[tuple[str, str], None]:
    """Return the views that do not answer, each with the reason; if none answers, one entry for all of them."""
    found = {(each.view or each.query, f"{each.text} {each.cure}".rstrip()): None for each in reading.troubles}
    return {(_EVERY, next((why for _, why in found), "")): None} if reading.is_silent() else found


def _alerts_now(reading: Reading) -> str:
    """Return the number of alerts in words, and how many of them cannot be checked now and are as last seen."""
    found = {alert_id(each) for each in wrong(reading) if each.state in {"bad", "warn"}}
    old = {alert_id(each.alert) for each in reading.unchecked} & found
    if reading.is_silent():
        return f"{NO_ANSWER}; " + (f"{counted(len(found), 'alert')} before that" if found else "alerts are not known")
    if not found and (reading.late or any(each.lacking not in {"", TWO_POLLS} for each in reading.basis)):
        return "no alert in what is seen"
    return counted(len(found), "alert") + (f", {len(old)} of them not checked now" if old else "")


def _dated(since: datetime, text: str, at: datetime) -> str:
    """Return an event in words, with its time if that has passed: some ends are noticed later."""
    return text if since == at else f"at {clock(since)}: {text}"


def summary(now: Totals, alerts: str, target: str, over: str = "") -> str:
    """Return the state of a database in one sentence, without what is unknown.

    `alerts`, `target` and the time `over` which CPU was used are in words.
    """
    parts = []
    if now.used is not None:
        of_all = f" of {number(now.cpus, 0)}" if now.cpus is not None else ""
        parts.append(f"{number(now.used)}{of_all} CPUs used{over}")
    if now.waiting is not None and not now.held:  # sessions held by a quiesce also want CPU
        parts.append("hardly any waited for" if now.waiting < 0.05 else f"{number(now.waiting)} waited for")
    of_target = f" of target {target}" if now.target is not None else ""
    if now.servers is not None:
        parts.append(f"{counted(now.servers, 'parallel server')} in use{of_target}")
    if now.queued is not None:
        longest = f", the first for {spelled(now.longest)}" if now.queued and now.longest is not None else ""
        parts.append(f"{counted(now.queued, 'statement')} queued{longest}")
    if now.pool_queued:
        parts.append(f"{counted(now.pool_queued, 'session')} waiting for an active session pool")
    if now.held:
        parts.append(f"{counted(now.held, 'session')} held by the quiesce")
    return "; ".join([*parts, alerts])
