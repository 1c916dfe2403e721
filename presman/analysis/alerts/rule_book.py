"""Book of rules: each key of an alert, how severe it usually is, what it says, and what thresholds of it are in.

Keys stay the same from release to release: config.ini, `presman check` and commands run at alerts go by them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class AlertRule(NamedTuple):
    """One key. `usual` is its severity in words; `asked` rules are silent until config.ini says something of them.

    `unit` is what thresholds are in: s, % or "" for a count; None where it takes none. `amount` says what is compared
    with them, `subject` what such an alert is about ("" for the database).
    """

    key: str
    usual: str
    text: str
    subject: str = ""
    unit: str | None = None
    amount: str = ""
    asked: bool = False

    @property
    def is_amount(self) -> bool:
        """Whether there is an amount at any time, so that below its threshold there is nothing to tell."""
        return self.asked and self.unit is not None


_RULES = (
    AlertRule("queue_waits", "warning", "parallel statements are queued; critical if the first can never start, or "
        "the waits of a queue add up to an hour",
              "group", "s", "seconds the head of the queue has waited"),
    AlertRule("queue_timeout", "critical", "a queued statement times out within 5:00 (PARALLEL_QUEUE_TIMEOUT); "
              "a note if it then starts (PQ_TIMEOUT_ACTION RUN)", "group"),
    AlertRule("cpu_starved", "critical", "a group gets less CPU than it is due",
              "group", "%", "percent of its CPU demand that waits"),
    AlertRule("cpu_zero_share", "critical", "a group gets no share of the CPU while others run",
              "group", "%", "percent of its CPU demand that waits"),
    AlertRule("cpu_capped", "note", "a group is at its limit of CPU",
              "group", "%", "percent of its CPU demand that waits"),
    AlertRule("session_pool", "warning", "sessions wait for the active session pool; critical 5:00 before its timeout",
              "group", "s", "seconds the first session has waited"),
    AlertRule("quiesced", "critical", "the database is quiesced, or being quiesced: only SYS and SYSTEM get in"),
    AlertRule("cpu_without_plan", "warning", "all CPUs are in use and no plan divides them", "instance"),
    AlertRule("host_shared", "warning", "the host is full, and other processes use part of it", "instance"),
    AlertRule("io_limit", "warning", "MAX_IOPS or MAX_MBPS throttles a container's I/O", "container"),
    AlertRule("servers_at_maximum", "warning", "PARALLEL_MAX_SERVERS are all in use", "instance"),
    AlertRule("idle_holder", "warning", "an idle session keeps parallel servers",
              "", "s", "seconds the longest idle holder has been idle"),
    AlertRule("blocked_holder", "warning", "a session that holds parallel servers waits for another one",
              "", "", "servers these sessions hold"),
    AlertRule("downgraded", "warning", "statements run with fewer servers than they asked for",
              "", "", "statements downgraded"),
    AlertRule("downgrades", "warning", "operations began with fewer servers than they asked for, or none (V$SYSSTAT)",
              "", "", "operations downgraded per minute"),
    AlertRule("plan_switched", "note", "the plan changed less than 10:00 ago", "plan"),
    AlertRule("no_plan", "warning", "no resource plan is in force", "", asked=True),
    AlertRule("queue_length", "warning", "many parallel statements are queued",
              "group", "", "statements queued", asked=True),
    AlertRule("throttled", "warning", "a group waits for CPU, even if it gets its due",
              "group", "%", "percent of its CPU demand that waits", asked=True),
    AlertRule("servers_used", "warning", "most parallel servers are in use",
              "", "%", "percent of PARALLEL_MAX_SERVERS in use", asked=True),
    AlertRule("latency", "warning", "waits for an event are slow, by its histogram",
              "event", "s", "seconds, the 99th percentile of the waits (percentile=99)", asked=True),
    AlertRule("own_cost", "warning", "presman's own poll is slow", "", "s", "seconds a poll took", asked=True),
    AlertRule("not_known", "unknown", "presman could not see everything; with severity=off `check` says OK anyway"),
)  # fmt: skip

RULE_BOOK: Mapping[str, AlertRule] = MappingProxyType({rule.key: rule for rule in _RULES})
"""Every key in the order shown."""
