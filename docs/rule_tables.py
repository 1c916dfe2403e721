"""Tables of the alert rules, for the triage handbook: all of them, and each on its page."""

from __future__ import annotations

from docs.contents import DOCS
from docs.markdown import blocks, rows
from presman.analysis.alerts.rule_book import RULE_BOOK, AlertRule

LONGEST = 64
"""Characters of an alert that are shown beside its rule."""


def table_of_rules() -> str:
    """Return every rule with its page."""
    cells = ((f"[`{rule.key}`]({rule.key}.md)", usual(rule), rule.text, seen(rule)) for rule in RULE_BOOK.values())
    return rows(("rule", "usually", "what it says", "for example"), cells) + "\n"


def seen(rule: AlertRule) -> str:
    """Return an example of a rule's alert: the beginning of the one on its page, "" without a page."""
    page = DOCS / "triage" / f"{rule.key}.md"
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    line = next((block.text.splitlines()[0] for block in blocks(text) if block.language == "text"), "")
    return f"`{line if len(line) <= LONGEST else line[:LONGEST].rpartition(' ')[0] + ' …'}`" if line else ""


def usual(rule: AlertRule) -> str:
    """Return the usual severity of a rule."""
    return f"silent; {rule.usual} if asked for" if rule.asked else rule.usual


def rule_table(rule: AlertRule) -> str:
    """Return the entry of one rule in the rule book."""
    thresholds = "none" if rule.unit is None else rule.amount
    cells = (rule.text, usual(rule), rule.subject or "the database", thresholds)
    return rows(("says", "usually", "about", "thresholds"), [cells]) + "\n"
