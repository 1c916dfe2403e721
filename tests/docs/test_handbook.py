"""The triage handbook: a page for each rule with the same headings, and exercises that show what they claim."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from docs.contents import DOCS
from docs.markdown import blocks, headings
from presman.analysis.alerts.alert_rules import by_rules
from presman.analysis.alerts.rule_book import RULE_BOOK
from presman.analysis.assemble import analyse
from presman.config.target import scenarios
from presman.polling.poller import Poller
from presman.sources.simulator_source import SimulatorSource
from tests.docs.pages import text_of
from tests.docs.test_examples import FULL_HOUSE, full_house

QUESTIONS = ["What you see", "What it means", "Confirm it by hand", "What to do, and what it costs", "Try it"]
OTHERS = {"index.md", "exercises.md", "changing-a-plan.md"}


def test_every_rule_has_its_page_and_every_page_its_rule() -> None:
    found = {path.name for path in (DOCS / "triage").glob("*.md")} - OTHERS
    assert found == {f"{key}.md" for key in RULE_BOOK}


def test_every_page_answers_the_same_questions() -> None:
    for key, rule in RULE_BOOK.items():
        text = text_of(f"docs/triage/{key}.md")
        assert [each for each in headings(text) if each in QUESTIONS] == QUESTIONS, key
        assert next(headings(text)) == key
        shown = {block.language for block in blocks(text)}
        assert "sql" in shown or key == "not_known", key
        assert "presman " in text.partition("## Try it")[2], key
        asks = any(block.language == "ini" and key in block.text for block in blocks(text))
        assert asks or not rule.asked, f"{key}: how it is asked for"


def test_every_scenario_of_the_demo_is_an_exercise() -> None:
    text = text_of("docs/triage/exercises.md")
    assert [name for name in scenarios() if f"presman demo {name}" not in text] == []


def test_the_full_house_agrees_with_the_handbook(tmp_path: Path) -> None:
    file = tmp_path / FULL_HOUSE
    file.write_text(full_house())
    now = [0.0]
    start = datetime(2026, 3, 14, 9, tzinfo=UTC)
    poller = Poller(SimulatorSource(file, clock=lambda: now[0], start=start))
    poller.open()
    before, keys = None, set()
    for now[0] in (0.0, 2.0, 60.0):
        snapshot = poller.poll()
        keys |= {alert.key for alert in by_rules(analyse(before, snapshot))}
        before = snapshot
    poller.close()
    downgrades = {"downgraded", "downgrades"}
    assert keys == {"queue_waits", "queue_timeout", "servers_at_maximum", "host_shared"} | downgrades
