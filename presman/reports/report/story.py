"""Story of an incident in sentences, from the figures, the events and the alerts of the polls read again."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from presman.analysis.plans.plan_view import plan_name
from presman.analysis.readings.reading import Alert
from presman.analysis.trends import database_events as happened
from presman.analysis.trends.database_events import ALERT_THERE, PLAN_CHANGED, QUEUE_BEGAN, QUEUE_ENDED
from presman.base.formats import count, counted, listed, number, server_time, spelled
from presman.recording.time_bins import counted_kinds
from presman.recording.time_words import spelled_instant
from presman.reports.report.incident import CHECKED, Incident, Sample
from presman.reports.report.report_charts import between

_PLURAL = {QUEUE_BEGAN: "queues began", QUEUE_ENDED: "queues ended", "plan changed": "changes of plan",
           "directive changed": "changes of directives", "parameter changed": "changes of parameters",
           "instance changed": "changes of instances", "PDB changed": "changes of PDBs",
           "verdict changed": "changes of state", ALERT_THERE: "alerts at the start", "alert began": "alerts began",
           "alert worse": "alerts got worse", "alert better": "alerts got better", "alert ended": "alerts ended",
           "connection lost": "losses of the connection", "clock changed": "changes of the clock"}  # fmt: skip


class AlertSpan(NamedTuple):
    """An alert in the polls read again: its wording in `sample`, the number of polls, the first and the last."""

    alert: Alert
    sample: Sample
    polls: int
    first: Sample
    last: Sample


def story(incident: Incident) -> list[str]:
    """Return the events as two paragraphs: the stretch as a whole, and its worst moment."""
    whole = [*_frame(incident), *_goals(incident), *_queue(incident), *_cpu(incident), *_events(incident)]
    return [" ".join(whole), " ".join(_moment(incident))]


def alert_spans(samples: Sequence[Sample]) -> list[AlertSpan]:
    """Return the alerts of the polls read again, each once: the worst and the most lasting first.

    Statements that wait too long and statements that can never start are separate alerts: only the former have an
    amount.
    """
    found: dict[tuple[str, str, bool], list[tuple[Alert, Sample]]] = defaultdict(list)
    for sample in samples:
        of_poll: dict[tuple[str, str, bool], Alert] = {}
        for alert in sample.alerts:
            of_poll.setdefault((alert.key, alert.subject, alert.amount is None), alert)
        for key, alert in of_poll.items():
            found[key].append((alert, sample))
    spans = []
    for sightings in found.values():
        # The worst; of equally bad ones that of a poll which the page shows for a reason of its own.
        alert, sample = min(sightings, key=lambda each: (_rank(each[0]), not each[1].why))
        spans.append(AlertSpan(alert, sample, len(sightings), sightings[0][1], sightings[-1][1]))
    return sorted(spans, key=lambda each: (_rank(each.alert), -each.polls))


def _rank(alert: Alert) -> int:
    return ("bad", "warn", "good", "note").index(alert.state)


def _frame(incident: Incident) -> list[str]:
    long = spelled((incident.end - incident.start).total_seconds())
    samples = incident.samples
    database = samples[0].reading.header.database if samples else ""
    found = [f"{counted(incident.polls, 'poll')} of {database or incident.target} in {long}."]
    if samples:
        found.append(f"Resource plan: {_plans(incident)}; {_cpus_managed(samples)}.")
    return found


_MOST_PLANS = 6
"""The most successive plans to name."""


def _plans(incident: Incident) -> str:
    """Return the plans in their order, by the polls read again and the changes recorded between them."""
    known = [(each.at, _in_force(plan_name(each.reading))) for each in incident.samples]
    changes = (each for each in incident.events if each.kind == PLAN_CHANGED)
    within = (each for each in changes if incident.start < each.at <= incident.end)
    known += [(each.at, _in_force(happened.plan_after(each))) for each in within]
    plans = [plan for plan, _ in groupby(plan for _, plan in sorted(known))]
    if len(plans) <= _MOST_PLANS:
        return ", then ".join(plans)
    return f"{listed(tuple(dict.fromkeys(plans)))} in turn, changed {len(plans) - 1} times"


def _in_force(plan: str) -> str:
    """Return a plan's name, "none" for INTERNAL_PLAN, which V$RSRC_PLAN shows while no plan is set."""
    return "none" if plan == "INTERNAL_PLAN" else plan


def _cpus_managed(samples: Sequence[Sample]) -> str:
    """Return the CPUs at the last poll, and whether Resource Manager managed them at the polls read again."""
    cpus = number(samples[-1].reading.header.num_cpus, 0)
    states = {each.reading.header.cpu_managed for each in samples}
    if states == {"ON"}:
        return f"{cpus} CPUs managed"
    if "OFF" not in states:
        return f"{cpus} CPUs, not known whether {'always ' * ('ON' in states)}managed"
    return f"{cpus} CPUs, {'not always' if 'ON' in states else 'not'} managed"


_MOST_TARGETS = 4
"""The most successive targets to name."""


def _target(incident: Incident) -> str:
    """Return the target; if it changed, its successive values or its range."""
    found = [target for target, _ in groupby(each.target for each in incident.bins if each.target is not None)]
    if len(found) < 2:
        return f"the target is {count(found[0] if found else None)}"
    if len(found) > _MOST_TARGETS:
        return f"the target was between {count(min(found))} and {count(max(found))}"
    return f"the target was {', then '.join(map(count, found))}"


def _goals(incident: Incident) -> list[str]:
    """Return the results of the goals of service in config.ini over the stretch."""
    return [f"Goal: {each.sentence}{_but_gaps(incident) * (not each.good + each.bad)}." for each in incident.goals]


def _queue(incident: Incident) -> list[str]:
    queued = max((each.queued or 0 for each in incident.bins), default=0)
    servers = max((each.servers for each in incident.bins if each.servers is not None), default=None)
    busy = sum(each.busy for each in incident.bins)
    found = []
    if queued:
        worst = next((each for each in incident.samples if each.why == "the longest queue"), None)
        # None if that poll is damaged, or was read for another reason.
        when = f", at {spelled_instant(worst.at)}" if worst is not None else ""
        among = f" (in {count(busy)} of {counted(incident.polls, 'poll')} a statement waited)"
        found.append(f"Up to {counted(queued, 'parallel statement')} waited in the queue{when}{among}.")
    else:
        found.append(none_seen(incident, "No parallel statement was seen waiting in the queue"))
        if incident.queued_unseen:  # in the gaps
            found.append(
                f"In that time {counted(incident.queued_unseen, 'statement')} queued (by V$RSRC_CONSUMER_GROUP)."
            )
        bases = (each for sample in incident.samples for each in sample.reading.basis)
        if lacking := sorted({each.lacking for each in bases if each.what == "queue" and each.lacking}):
            found.append(f"Whether one did is not known: {'; '.join(lacking)}.")
    if servers is not None:
        found.append(f"Up to {_were(servers, 'parallel server')} in use; {_target(incident)}.")
    if incident.sums:
        top = incident.sums[0]
        found.append(
            f"{_were(sum(each.statements for each in incident.sums), 'parallel statement')} seen; most server "
            f"time went to {top.sql_id or 'a statement without SQL_ID'} of {top.user or '?'} "
            f"({counted(top.executions, 'execution')}, {server_time(top.server_seconds)})."
        )
    return found


def _were(many: int, noun: str) -> str:
    return f"{counted(many, noun)} {'was' if many == 1 else 'were'}"


def _cpu(incident: Incident) -> list[str]:
    known = sum(each.known for each in incident.bins)
    if not known:
        return ["CPU used by the groups is not known: no poll has rates."]
    used = sum((each.used or 0.0) * each.known for each in incident.bins) / known
    weights = {each.key: each.counted for each in incident.bins}
    counted_for = sum(weights.values())
    waited = sum((each.waited or 0.0) * each.counted for each in incident.bins)
    used_then = sum((each.used_then or 0.0) * each.counted for each in incident.bins)
    when = "" if counted_for >= known else f" in the {spelled(counted_for)} in which such waits were counted"
    share = f"; {100 * waited / (used_then + waited):.0f} % of their demand had to wait{when}" if waited else ""
    by_group: dict[str, float] = defaultdict(float)
    for each in incident.groups:
        by_group[each.group] += (each.waiting or 0.0) * weights[each.key] / (counted_for or 1.0)
    worst = max(by_group, key=lambda name: by_group[name], default="")
    most = f", most of it for {worst} ({number(by_group[worst])} CPUs)" if worst and by_group[worst] >= 0.05 else ""
    return [f"The groups used {number(used)} CPUs on average{share}{most}."]


def _events(incident: Incident) -> list[str]:
    by_kind = sorted(counted_kinds(incident.marks).items())
    counts = [counted(many, happened.kind_in_words(kind), _PLURAL.get(kind, "")) for kind, many in by_kind]
    return [f"Events: {', '.join(counts)}."] if counts else [none_seen(incident, "No event was recorded")]


def _moment(incident: Incident) -> list[str]:
    sample = incident.moment
    if sample is None:
        return ["None of its polls can be read: only the figures are known, not the alerts."]
    bad = [each for each in sample.alerts if each.state in {"bad", "warn"}]
    why = f" ({sample.why})" if sample.why else ""
    if not bad:
        return [f"At {spelled_instant(sample.at)}{why} nothing was wrong{_not_known(sample)}."]
    found = [f"At {spelled_instant(sample.at)}{why}: {'; '.join(each.text.rstrip('.') for each in bad[:3])}."]
    if len(bad) > 3:
        found.append(f"{counted(len(bad) - 3, 'more alert')} of that moment in the table below.")
    if sample.to_do is not None:
        found.append(f"What presman advised at that moment: DO {sample.to_do.text}.")
    return found


def _not_known(sample: Sample) -> str:
    lacking = [basis.what for basis in sample.reading.basis if basis.lacking]
    return f", but it is not known whether there was a {', or a '.join(lacking)}" if lacking else ""


def damage(incident: Incident) -> list[str]:
    """Return which parts of the recording are damaged, one sentence each."""
    found = []
    if damaged := incident.damaged:
        many = f"{count(sum(each.polls for each in damaged))} of {counted(incident.polls, 'poll')}"
        blocks = f" in {len(damaged)} blocks" if len(damaged) > 1 else ""
        when = between(min(each.start for each in damaged), max(each.end for each in damaged))
        found.append(
            f"{many}{blocks} {when} are damaged and cannot be read: of them there are only figures kept beside them"
        )
    return [*found, *incident.damage]


def none_seen(incident: Incident, what: str) -> str:
    """Return the sentence that nothing was seen or recorded, or that a damaged recording does not show it."""
    if incident.damaged or incident.damage:
        return f"{what}, as far as it can be read: the recording is damaged, so whether there was one is not known."
    return f"{what}{_but_gaps(incident)}."


def _but_gaps(incident: Incident) -> str:
    long = spelled(sum(each.seconds for each in incident.gaps))
    return f", but there are no polls of {long}" if incident.gaps else ""


def unknown(incident: Incident) -> list[str]:
    """Return the facts that the page lacks, one sentence each: gaps, damaged polls, views without data."""
    found = []
    if incident.gaps:
        seconds = sum(each.seconds for each in incident.gaps)
        many = counted(len(incident.gaps), "gap")
        found.append(f"{many} without polls, {spelled(seconds)} in all; nothing is known of that time:")
        found += [f"no poll {between(each.start, each.end)}" for each in incident.gaps[:20]]
        if len(incident.gaps) > 20:
            found.append(f"and {counted(len(incident.gaps) - 20, 'gap')} more")
    if incident.step > 1:
        found.append(f"For a period this long, consumer groups and latency use 32 polls in every {32 * incident.step}")
    if incident.polls > CHECKED:
        found.append(f"Only the {len(incident.samples)} read for the table were checked for damage")
    found += damage(incident)
    polls: Counter[str] = Counter()
    for sample in incident.samples:
        reasons = {each.why for each in sample.reading.unseen}
        reasons |= {f"{each.view or each.query}: {each.text}" for each in sample.reading.troubles}
        reasons |= {f"{each.view} did not answer in time" for each in sample.reading.late}
        polls.update(reasons)
    checked = f"of {count(len(incident.samples))} polls checked"
    return found + [f"{why} (in {many} {checked})" for why, many in sorted(polls.items())]
