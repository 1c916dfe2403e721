"""The rules of what is wrong: one list, for screens, texts, checks and whoever counts events."""

from __future__ import annotations

from collections.abc import Callable

from presman.analysis.alerts import cpu_alerts, limit_alerts, queue_alerts
from presman.analysis.readings.alert import Alert
from presman.analysis.readings.reading import Reading

RULES: tuple[Callable[[Reading], list[Alert]], ...] = (
    limit_alerts.quiesced,
    queue_alerts.heads,
    queue_alerts.timeouts,
    cpu_alerts.groups_held_off,
    limit_alerts.session_pools,
    cpu_alerts.cpu_without_plan,
    cpu_alerts.host_shared,
    limit_alerts.io_limits,
    queue_alerts.servers_at_maximum,
    queue_alerts.idle_holders,
    queue_alerts.blocked_holders,
    queue_alerts.downgraded,
    queue_alerts.downgrades,
    limit_alerts.plan_switched,
)
"""Each gives what it finds in a reading; its alerts have the rule's key."""

_RANK = {"bad": 0, "warn": 1, "good": 2, "note": 3}


def wrong(reading: Reading) -> list[Alert]:
    """Return what is wrong with the database or worth knowing, in the order of the rules.

    Where config.ini has thresholds, this is what they made of the rules when the reading was judged.
    """
    return by_rules(reading) if reading.alerts is None else list(reading.alerts)


def by_rules(reading: Reading) -> list[Alert]:
    """Return what the rules find, whatever thresholds there are."""
    return [alert for rule in RULES for alert in rule(reading)]


def is_wrong(found: list[Alert]) -> bool:
    """Tell whether somebody should look: notes alone are no trouble."""
    return any(alert.state in {"bad", "warn"} for alert in found)


def worst_first(found: list[Alert]) -> tuple[Alert, ...]:
    """Return the alerts worst first; idle holders, with whom something can be done at once, behind the worst."""
    ranked = sorted(found, key=lambda alert: _RANK.get(alert.state, 4))
    idle = [alert for alert in ranked if alert.glyph == queue_alerts.IDLE]
    others = [alert for alert in ranked if alert.glyph != queue_alerts.IDLE]
    return (*others[:1], *idle, *others[1:])
