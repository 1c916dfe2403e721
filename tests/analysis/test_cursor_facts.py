"""OTHER_XML from outside: odd, malformed and hostile documents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presman.analysis.facts.cursor_facts import dop_facts, hints
from presman.analysis.readings.statement_readings import DopFacts
from presman.rows.queries import LONGEST_DOCUMENT, TOO_LONG
from presman.tui.pages.row_details import dop_sentences

BOMB = """<?xml version="1.0"?><!DOCTYPE other_xml [<!ENTITY a "xxxxxxxxxx">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>
<other_xml><info type="dop">8</info><info type="dop_reason">&c;</info></other_xml>"""
OUTSIDE = """<!DOCTYPE o [<!ENTITY x SYSTEM "file:///etc/passwd">]>
<other_xml><info type="dop_reason">&x;</info></other_xml>"""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no xml at all",
        "<other_xml><info type='dop'>8</info>",
        "<other_xml>&undefined;</other_xml>",
        BOMB,
        OUTSIDE,
        "<a>" * 100_000,
        f"<other_xml><info type='dop'>8</info>{' ' * LONGEST_DOCUMENT}</other_xml>",
        "<other_xml>\x00</other_xml>",
    ],
    ids=["empty", "text", "cut", "entity", "bomb", "outside", "deep", "long", "nul"],
)
def test_unreadable_text_gives_no_facts(text: str) -> None:
    assert dop_facts(text) == DopFacts()


def test_every_fact_is_kept_and_made_safe() -> None:
    found = dop_facts(
        '<other_xml><info type="dop" note="y">4</info><info type="dop_op_reason">scan of object "A"."T"</info>'
        '<info type="queuing_reason">hint\u202e</info><info>nameless</info><info type="dop">9</info></other_xml>'
    )
    assert (found.degree, found.operation_reason, found.queuing_reason) == (4, 'scan of object "A"."T"', "hint\ufffd")
    facts = {"dop": "4", "dop_op_reason": 'scan of object "A"."T"', "queuing_reason": "hint\ufffd"}
    assert list(found.facts.items()) == list(facts.items())  # in the order of the document


@pytest.mark.parametrize("degree", ["", "x", "-4", "4.5", "²", "1" + "0" * 9, "9" * 30])
def test_a_degree_that_is_no_number_is_not_known(degree: str) -> None:
    assert dop_facts(f'<other_xml><info type="dop">{degree}</info></other_xml>').degree is None


def test_a_degree_has_up_to_nine_digits() -> None:
    assert dop_facts(f'<other_xml><info type="dop">{"9" * 9}</info></other_xml>').degree == 999_999_999


def test_a_manual_degree_was_not_derived() -> None:
    """Oracle writes 0 where automatic DOP was not at work."""
    zero = '<info type="derived_cpu_dop">0</info><info type="derived_io_dop">0</info>'
    found = dop_facts(f'<other_xml><info type="dop">8</info><info type="dop_reason">hint</info>{zero}</other_xml>')
    assert (found.cpu_degree, found.io_degree) == (None, None)
    assert dop_sentences(found, None) == ["The optimizer chose DOP 8.", "Reason in the plan: hint."]
    half = dop_facts(f"<other_xml>{zero.replace('>0<', '>26<', 1)}</other_xml>")
    assert dop_sentences(half, None) == ["Automatic DOP derived 26 from CPU."]


def test_without_a_reason_the_automatic_dop_is_the_reason() -> None:
    assert DopFacts(24, cpu_degree=24, io_degree=19).why == "auto: CPU 24, I/O 19"
    assert DopFacts(8, io_degree=9).why == "auto: I/O 9"
    assert DopFacts(12, "degree limit", cpu_degree=24).why == "degree limit"
    assert DopFacts(1, operation_reason="parallel threshold").why == "parallel threshold"
    assert DopFacts(8).why == ""


@given(st.text())
def test_no_text_raises(text: str) -> None:
    dop_facts(text)
    dop_facts(f"<other_xml><info type='dop_reason'>{text}</info></other_xml>")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("select /*+ parallel(16) */ 1 from t", ("parallel(16)",)),
        ("insert /*+ append parallel(t 8) NO_STATEMENT_QUEUING */ into t", ("parallel(t 8)", "NO_STATEMENT_QUEUING")),
        ("select --+ parallel\n * from parallel", ("parallel",)),
        ("select /*+ parallel_index(t, i,  4) parallel(4) */ 1", ("parallel_index(t, i, 4)", "parallel(4)")),
        ("select /*+ no_parallel(t) */ /* parallel(9) */ parallel(3) from t", ("no_parallel(t)",)),
        ("select /*+ parallel(8", ("parallel",)),
        ("select 1 from dual", ()),
        ("", ()),
    ],
)
def test_hints_that_ask_for_a_degree(text: str, found: tuple[str, ...]) -> None:
    assert hints(text) == found


def test_a_document_that_was_too_long_says_so() -> None:
    found = dop_facts(TOO_LONG)
    assert found == DopFacts(unread="too long to be read: more than 250,000 characters")
    assert dop_sentences(found, 8) == [
        "The execution asked for DOP 8.",
        "V$SQL_PLAN.OTHER_XML is too long to be read: more than 250,000 characters.",
    ]
