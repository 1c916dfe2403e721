"""Book of rules: each key of an alert, its usual severity, its meaning, and the unit of its thresholds.

Keys stay the same across releases: config.ini, `presman check` and commands run at alerts use them. Amounts that are
neither good nor bad without a threshold are computed only when config.ini asks: the answers of such rules are here.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from presman.analysis.alerts.alert_settings import AlertSetting, AlertSettings
from presman.analysis.latency.histograms import histogram_of, latency_percentile
from presman.analysis.readings.reading import Alert, Reading, UnavailableView
from presman.analysis.view_availability import listed
from presman.base.formats import counted, microseconds


class RuleAnswer(NamedTuple):
    """The answer to one setting: amounts found, as alerts not yet graded, or why nothing is known."""

    alerts: tuple[Alert, ...] = ()
    unknown: str = ""


_Answer = Callable[[Reading, AlertSetting], RuleAnswer]


def asked(reading: Reading, settings: AlertSettings) -> tuple[RuleAnswer, ...]:
    """Return the results of the rules that config.ini asks for, each subject once."""
    answers = [rule.answer(reading, each) for each in settings if (rule := RULE_BOOK[each.key]).answer is not None]
    seen: set[tuple[str, str]] = set()
    found = []
    for answer in answers:
        new = tuple(each for each in answer.alerts if (each.key, each.subject) not in seen)
        seen |= {(each.key, each.subject) for each in new}
        found.append(answer._replace(alerts=new))
    return tuple(found)


def _alert(setting: AlertSetting, subject: str, short: str, amount: float | None) -> Alert:
    return Alert("warn", "▲", short, short, setting.key, subject, amount)


def _groups(
    reading: Reading, setting: AlertSetting, amounts: dict[str, float | None], say: Callable[[float], str]
) -> RuleAnswer:
    """Return the amounts of the groups that a setting applies to; `say` returns one in words."""
    if setting.subject:
        names = [name for name in amounts if name.casefold() == setting.subject.casefold()]
        if not names:
            return RuleAnswer(unknown=f"{setting.key}: there is no group {setting.subject}")
    else:
        names = list(amounts)
    unknown = [name for name in names if amounts[name] is None]
    known = [(name, amount) for name in names if (amount := amounts[name]) is not None]
    lacking = reading.why_unknown("starved group") or "it takes two polls"
    why = f"{setting.key} of {', '.join(unknown)}: {lacking}" if unknown else ""
    return RuleAnswer(tuple(_alert(setting, name, f"{name}: {say(amount)}", amount) for name, amount in known), why)


def _queue_length(reading: Reading, setting: AlertSetting) -> RuleAnswer:
    amounts: dict[str, float | None] = {row.title: row.px_queued for row in reading.cluster_groups()}
    lacking = reading.why_unknown("queue")
    # Though V$SESSION does not list the statements, V$RSRC_CONSUMER_GROUP may count those of every group.
    if lacking and (not amounts or None in amounts.values()):
        return RuleAnswer(unknown=f"{setting.key}: {lacking}")
    return _groups(reading, setting, amounts, lambda amount: f"{counted(round(amount), 'statement')} queued")


def _throttled(reading: Reading, setting: AlertSetting) -> RuleAnswer:
    amounts = {row.title: row.throttled_percent for row in reading.cluster_groups()}
    return _groups(reading, setting, amounts, lambda amount: f"{amount:.0f} % of its CPU demand is throttled")


def _servers_used(reading: Reading, setting: AlertSetting) -> RuleAnswer:
    pool = reading.header.servers
    if not pool.maximum:
        return RuleAnswer(unknown=f"{setting.key}: PARALLEL_MAX_SERVERS is not known")
    if pool.in_use is None:
        return RuleAnswer(unknown=f"{setting.key}: no view shows how many servers are in use")
    amount = 100 * pool.in_use / pool.maximum
    return RuleAnswer((_alert(setting, "", f"{pool.in_use} of {pool.maximum} parallel servers in use", amount),))


def _latency(reading: Reading, setting: AlertSetting) -> RuleAnswer:
    permille = round(10 * (setting.percentile or 99.0))
    found = histogram_of(reading, 0, setting.subject)
    if found is None:
        why = "no histogram of this event could be read" if reading.histograms else "no histograms could be read"
        return RuleAnswer(unknown=f"latency of {setting.subject}: {why}")
    if any(bucket.delta is None for bucket in found.buckets):
        return RuleAnswer(unknown=f"latency of {setting.subject}: it takes two polls")
    percentile = latency_percentile(found, permille)
    if percentile is None:
        return RuleAnswer()  # no such wait since the last poll, so none is long
    # No bucket is above the last bound: waits in it took at least that long.
    us = percentile.estimate_us if percentile.estimate_us is not None else float(percentile.lower_us)
    least = "" if percentile.estimate_us is not None else "at least "
    short = f"p{permille / 10:g} of {setting.subject}: {least}{microseconds(us)}"
    return RuleAnswer((_alert(setting, setting.subject, short, us / 1e6),))


def _own_cost(reading: Reading, setting: AlertSetting) -> RuleAnswer:
    seconds = reading.poll_seconds
    return RuleAnswer((_alert(setting, "", f"presman's poll took {microseconds(1e6 * seconds)}", seconds),))


def _no_plan(reading: Reading, setting: AlertSetting) -> RuleAnswer:
    if lacking := reading.why_unavailable("V$RSRC_PLAN"):
        return RuleAnswer(unknown=f"{setting.key}: {lacking}")
    without = [each for each in reading.header.instances if not each.plan]
    if not without:
        return RuleAnswer()
    where = f" on instance {', '.join(str(each.inst_id) for each in without)}"
    several = len(reading.header.instances) > 1
    return RuleAnswer((_alert(setting, "", f"no resource plan is in force{where if several else ''}", None),))


_GROUPS_CPU = ("V$RSRC_PLAN", "V$RSRC_CONSUMER_GROUP")
_SHARES = ("DBA_RSRC_PLAN_DIRECTIVES", "CDB_RSRC_PLAN_DIRECTIVES", "DBA_CDB_RSRC_PLAN_DIRECTIVES")

_VIEWS: Mapping[str, tuple[str, ...]] = {
    "queue": ("V$SESSION",),
    "timeouts": ("V$SESSION", *_SHARES),
    "starved group": (*_GROUPS_CPU, *_SHARES, "V$PDBS"),
    "minimums": ("V$RSRC_PLAN", "V$RSRC_PDB", "V$PDBS", "V$SYSTEM_PARAMETER", *_SHARES),
    "downgrade": ("V$SYSSTAT",),
    "instances": ("V$INSTANCE",),
    "quiesce": ("V$INSTANCE",),
    "holders": ("V$SESSION", "V$PX_SESSION"),
    "degrees": ("V$PX_SESSION",),
    "pools": ("V$SESSION", *_SHARES),
    "plan": ("V$RSRC_PLAN",),
    "queue counts": ("V$RSRC_CONSUMER_GROUP",),
    "CPU": (*_GROUPS_CPU, "V$OSSTAT"),
    "host": ("V$OSSTAT", "V$RSRC_CONSUMER_GROUP"),
    "servers": ("V$PX_PROCESS_SYSSTAT", "V$SYSTEM_PARAMETER"),
    "I/O": ("V$RSRCPDBMETRIC", "V$RSRC_PDB", "V$SYSTEM_PARAMETER"),
    "histograms": ("V$EVENT_HISTOGRAM",),
}
"""The views without which the alerts that rest on something are not found, whether or not there is reason for them."""


def views_of(foundation: str) -> tuple[str, ...]:
    """Return the views that show the foundation of rules (`rests_on`)."""
    return _VIEWS.get(foundation, ())


def silent_views(key: str, reading: Reading) -> tuple[str, ...]:
    """Return the views that do not answer now and without which a rule finds nothing."""
    return tuple(each.view for each in unavailable_for(key, reading))


def why_silent(key: str, reading: Reading) -> str:
    """Return why a rule finds nothing now, by the views that it needs, "" if they all answered."""
    return listed(each.why for each in unavailable_for(key, reading))


def unavailable_for(key: str, reading: Reading) -> list[UnavailableView]:
    """Return the views without which a rule finds nothing, and that do not answer now or lack the values."""
    rests_on = RULE_BOOK[key].rests_on
    needed = views_of(rests_on)
    found = [each for each in reading.unseen if each.view.removeprefix("G") in needed]
    # A view may have answered without the values that show the queue, the pools or the waits of a group.
    if rests_on in {"queue", "timeouts"} and not found and not reading.lists_queue():
        found = [UnavailableView(each.views[0], each.lacking) for each in reading.basis if each.what == "queue"]
    why = reading.why_unknown(_SHOWN_AS.get(rests_on, ""))
    if " lacks " in why and not found:
        found = [UnavailableView(why.partition(" ")[0], why)]
    return found


_SHOWN_AS = {"starved group": "starved group", "pools": "queue"}
"""Foundations of rules that are known by the same columns as something in `Reading.basis`."""


_NEVER_OLDER = frozenset({"starved group", "minimums", "downgrade", "host", "histograms", "queue", "quiesce"})
"""Foundations of alerts that give them no age: counters between two polls, or figures whose rules add the age.

Without an answer nothing is counted between two polls.
"""

_SELDOM_CHANGED = frozenset({*_SHARES, "V$PDBS", "V$SYSTEM_PARAMETER", "V$OSSTAT"})
"""Views of which an answer some minutes old is as good as a new one."""


def dated(alert: Alert, reading: Reading) -> Alert:
    """Return an alert with the age of the oldest answer that it is found from, if that is older than the poll."""
    what = RULE_BOOK[alert.key].rests_on
    views = () if what in _NEVER_OLDER else views_of(what)
    ages = (reading.age_of(view) or 0.0 for view in views if view not in _SELDOM_CHANGED)
    return alert._replace(age=max(ages, default=alert.age))


class AlertRule(NamedTuple):
    """One key. `usual` is its severity in words; a rule with an `answer` is silent until config.ini asks for it.

    `unit` is the unit of thresholds: s, % or "" for a count; None if it takes none. `amount` describes the figure
    compared with them, `subject` the subject of such an alert ("" for the database). `rests_on` is what must be visible
    before the absence of an alert proves anything: one of `Reading.basis`, instances, timeouts, holders, degrees,
    pools, CPU, host or servers; "" for nothing. `quiet_period` is how many seconds it must be absent to have ended: an
    alert that rests on means of a full minute may begin and end with each of them.
    """

    key: str
    usual: str
    text: str
    subject: str = ""
    unit: str | None = None
    amount: str = ""
    answer: _Answer | None = None
    rests_on: str = ""
    quiet_period: float = 0.0

    @property
    def asked(self) -> bool:
        """Whether it is silent until config.ini asks for it."""
        return self.answer is not None

    @property
    def is_amount(self) -> bool:
        """Whether it always has an amount, so that there is nothing to report below its threshold."""
        return self.asked and self.unit is not None


_RULES = (
    AlertRule("instance_gone", "warning", "an instance of the cluster was seen within the last hour, and is not "
              "open now", "instance", rests_on="instances"),
    AlertRule("queue_waits", "warning", "parallel statements are queued; critical if the first may never "
        "start, or if the waits of a queue add up to an hour, until they are below half an hour",
              "group", "s", "seconds the head of the queue has waited", rests_on="queue"),
    AlertRule("queue_timeout", "critical", "a queued statement times out within 5:00 (PARALLEL_QUEUE_TIMEOUT); "
              "a note if it then starts (PQ_TIMEOUT_ACTION RUN)", "group", rests_on="timeouts"),
    AlertRule("goal_missed", "warning", "too few statements started in time in the last half hour (goal in config.ini)",
              "group", "%", "percent of the statements that did not start in time"),
    AlertRule("cpu_starved", "critical", "a group gets less CPU than it is entitled to",
              "group", "%", "percent of its CPU demand that waits", rests_on="starved group"),
    AlertRule("cpu_zero_share", "critical", "a group gets no share of the CPU while others run",
              "group", "%", "percent of its CPU demand that waits", rests_on="starved group"),
    AlertRule("cpu_capped", "note", "a group is at its limit of CPU",
              "group", "%", "percent of its CPU demand that waits", rests_on="starved group"),
    AlertRule("cpu_minimum", "warning", "a container gets less CPU than its CPU_MIN_COUNT; those of all containers add "
              "up to more CPUs than there are", "container", "%", "percent of its CPU_MIN_COUNT that it does not get",
              rests_on="minimums"),
    AlertRule("session_pool", "warning", "sessions wait for the active session pool; critical 5:00 before its timeout",
              "group", "s", "seconds the first session has waited", rests_on="pools"),
    AlertRule("quiesced", "critical", "the database is quiesced, or being quiesced: only SYS and SYSTEM get in",
              rests_on="quiesce"),
    AlertRule("cpu_without_plan", "warning", "all CPUs are in use and no plan divides them; a note for "
              "containers without a plan that use all they are entitled to", "instance",
              rests_on="CPU"),
    AlertRule("host_shared", "warning", "the host is full, and other processes use part of it", "instance",
              rests_on="host"),
    AlertRule("io_limit", "warning", "MAX_IOPS or MAX_MBPS throttles a container's I/O", "container",
              rests_on="I/O", quiet_period=300.0),
    AlertRule("servers_at_maximum", "warning", "PARALLEL_MAX_SERVERS are all in use", "instance", rests_on="servers"),
    AlertRule("idle_holder", "warning", "an idle session keeps parallel servers",
              "", "s", "seconds the longest idle holder has been idle", rests_on="holders"),
    AlertRule("blocked_holder", "warning", "a session that holds parallel servers waits for another one",
              "", "", "servers these sessions hold", rests_on="holders"),
    AlertRule("downgraded", "warning", "statements run with fewer servers than they asked for",
              "", "", "statements downgraded", rests_on="degrees"),
    AlertRule("downgrades", "warning", "operations began with fewer servers than they asked for, or none (V$SYSSTAT)",
              "", "", "operations downgraded since the last poll, per minute if that was longer ago",
              rests_on="downgrade"),
    AlertRule("instance_started", "note", "an instance was started within the last hour", "instance",
              rests_on="instances"),
    AlertRule("plan_switched", "note", "the plan changed less than 10:00 ago", "plan"),
    AlertRule("no_plan", "warning", "no resource plan is in force", "", answer=_no_plan, rests_on="plan"),
    AlertRule("queue_length", "warning", "many parallel statements are queued",
              "group", "", "statements queued", answer=_queue_length, rests_on="queue counts"),
    AlertRule("throttled", "warning", "a group waits for CPU, even if it gets what it is entitled to",
              "group", "%", "percent of its CPU demand that waits", answer=_throttled, rests_on="starved group"),
    AlertRule("servers_used", "warning", "most parallel servers are in use",
              "", "%", "percent of PARALLEL_MAX_SERVERS in use", answer=_servers_used, rests_on="servers"),
    AlertRule("latency", "warning", "waits for an event are slow, by its histogram",
              "event", "s", "seconds, the 99th percentile of the waits (percentile=99)", answer=_latency,
              rests_on="histograms"),
    AlertRule("own_cost", "warning", "presman's own poll is slow", "", "s", "seconds a poll took", answer=_own_cost),
    AlertRule("not_known", "unknown", "presman could not see everything; with severity=off `check` says OK anyway"),
)  # fmt: skip

RULE_BOOK: Mapping[str, AlertRule] = {rule.key: rule for rule in _RULES}
"""Every key in the order shown."""


def quiet_period_of(key: str) -> float:
    """Return for how many seconds an alert of a key must be absent to have ended, 0 if it ends at once."""
    rule = RULE_BOOK.get(key)
    return rule.quiet_period if rule is not None else 0.0
