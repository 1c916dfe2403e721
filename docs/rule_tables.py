"""Tables of the rules of alerts, for the triage handbook: all of them, and each on its page."""

from __future__ import annotations

from docs.markdown import rows
from presman.analysis.alerts.rule_book import RULE_BOOK, AlertRule


def table_of_rules() -> str:
    """Return every rule with its page."""
    cells = ((f"[`{rule.key}`]({rule.key}.md)", usual(rule), rule.text) for rule in RULE_BOOK.values())
    return rows(("rule", "usually", "what it says"), cells) + "\n"


def usual(rule: AlertRule) -> str:
    """Return how severe a rule usually is."""
    return f"silent; {rule.usual} if asked for" if rule.asked else rule.usual


def rule_table(rule: AlertRule) -> str:
    """Return what the rule book says of one rule."""
    thresholds = "none" if rule.unit is None else rule.amount
    cells = (rule.text, usual(rule), rule.subject or "the database", thresholds)
    return rows(("says", "usually", "about", "thresholds"), [cells]) + "\n"
