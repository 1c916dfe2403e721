"""Rules that speak only when asked: amounts that are neither good nor bad before somebody sets a threshold."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from presman.analysis.alerts.alert_settings import AlertSetting, AlertSettings
from presman.analysis.latency.histograms import histogram_of, latency_percentile
from presman.analysis.readings.alert import Alert
from presman.analysis.readings.reading import Reading
from presman.base.formats import counted, microseconds


class Asked(NamedTuple):
    """The answer to one setting: amounts found, as alerts not yet graded, or why nothing is known."""

    alerts: tuple[Alert, ...] = ()
    unknown: str = ""


_Answer = Callable[[Reading, AlertSetting], Asked]


def asked(reading: Reading, settings: AlertSettings) -> tuple[Asked, ...]:
    """Return what the rules that are asked for say; each subject once."""
    answers = [_ANSWERS[each.key](reading, each) for each in settings if each.key in _ANSWERS]
    seen: set[tuple[str, str]] = set()
    found = []
    for answer in answers:
        new = tuple(each for each in answer.alerts if (each.key, each.subject) not in seen)
        seen |= {(each.key, each.subject) for each in new}
        found.append(answer._replace(alerts=new))
    return tuple(found)


def _alert(setting: AlertSetting, subject: str, short: str, amount: float | None) -> Alert:
    return Alert("warn", "▲", short, short, setting.key, subject, amount)


def _lacking(reading: Reading, what: str) -> str:
    """Return why it is not known whether there is a `what`."""
    return next((each.lacking for each in reading.basis if each.what == what), "")


def _groups(
    reading: Reading, setting: AlertSetting, amounts: dict[str, float | None], say: Callable[[str, float], str]
) -> Asked:
    """Return the amounts of the groups that a setting is about."""
    if setting.subject:
        names = [name for name in amounts if name.casefold() == setting.subject.casefold()]
        if not names:
            return Asked(unknown=f"{setting.key}: there is no group {setting.subject}")
    else:
        names = list(amounts)
    unknown = [name for name in names if amounts[name] is None]
    known = [(name, amount) for name in names if (amount := amounts[name]) is not None]
    lacking = _lacking(reading, "starved group") or "it takes two polls"
    why = f"{setting.key} of {', '.join(unknown)}: {lacking}" if unknown else ""
    return Asked(tuple(_alert(setting, name, say(name, amount), amount) for name, amount in known), why)


def _queue_length(reading: Reading, setting: AlertSetting) -> Asked:
    lacking = _lacking(reading, "queue")
    if lacking:
        return Asked(unknown=f"{setting.key}: {lacking}")
    amounts: dict[str, float | None] = {row.title: row.px_queued for row in reading.cluster_groups()}
    return _groups(
        reading, setting, amounts, lambda name, amount: f"{name}: {counted(round(amount), 'statement')} queued"
    )


def _throttled(reading: Reading, setting: AlertSetting) -> Asked:
    amounts = {row.title: row.throttled_percent for row in reading.cluster_groups()}
    return _groups(reading, setting, amounts, lambda name, amount: f"{name}: {amount:.0f} % of its CPU demand waits")


def _servers_used(reading: Reading, setting: AlertSetting) -> Asked:
    pool = reading.header.servers
    if not pool.maximum:
        return Asked(unknown=f"{setting.key}: PARALLEL_MAX_SERVERS is not known")
    if pool.in_use is None:
        return Asked(unknown=f"{setting.key}: no view shows how many servers are in use")
    amount = 100 * pool.in_use / pool.maximum
    return Asked((_alert(setting, "", f"{pool.in_use} of {pool.maximum} parallel servers in use", amount),))


def _latency(reading: Reading, setting: AlertSetting) -> Asked:
    permille = round(10 * (setting.percentile or 99.0))
    found = histogram_of(reading, 0, setting.subject)
    if found is None:
        why = "no histogram of this event could be read" if reading.histograms else "no histograms could be read"
        return Asked(unknown=f"latency of {setting.subject}: {why}")
    if any(bucket.delta is None for bucket in found.buckets):
        return Asked(unknown=f"latency of {setting.subject}: it takes two polls")
    percentile = latency_percentile(found, permille)
    if percentile is None:
        return Asked()  # no such wait since the last poll: nothing takes long
    # Above the last bound nothing is counted: what lies there took at least as long.
    us = percentile.estimate_us if percentile.estimate_us is not None else float(percentile.lower_us)
    least = "" if percentile.estimate_us is not None else "at least "
    short = f"p{permille / 10:g} of {setting.subject}: {least}{microseconds(us)}"
    return Asked((_alert(setting, setting.subject, short, us / 1e6),))


def _own_cost(reading: Reading, setting: AlertSetting) -> Asked:
    seconds = reading.poll_seconds
    return Asked((_alert(setting, "", f"presman's poll took {microseconds(1e6 * seconds)}", seconds),))


def _no_plan(reading: Reading, setting: AlertSetting) -> Asked:
    lacking = next((each.why for each in reading.unseen if each.view.endswith("V$RSRC_PLAN")), "")
    if lacking:
        return Asked(unknown=f"{setting.key}: {lacking}")
    without = [each for each in reading.header.instances if not each.plan]
    if not without:
        return Asked()
    where = f" on instance {', '.join(str(each.inst_id) for each in without)}"
    several = len(reading.header.instances) > 1
    return Asked((_alert(setting, "", f"no resource plan is in force{where if several else ''}", None),))


_ANSWERS: dict[str, _Answer] = {
    "no_plan": _no_plan,
    "queue_length": _queue_length,
    "throttled": _throttled,
    "servers_used": _servers_used,
    "latency": _latency,
    "own_cost": _own_cost,
}
