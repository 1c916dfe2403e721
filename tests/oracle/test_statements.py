"""Statements of a request: binds, rows fetched at once, and dates that Python cannot represent."""

from __future__ import annotations

from presman.base.release import Release
from presman.rows.instance_rows import Instance
from presman.rows.queries import Scope, load
from presman.rows.session_rows import NamedSession
from presman.sources import Request
from presman.sources.oracle.oracle_source import _statement
from presman.sources.oracle.session_identity import FEW, FIRST_ROWS, AnswerFacts, SessionClock
from presman.sources.oracle.thin_connection import BoundSelect

QUERIES = load(Release(19))


def stated(
    record: type, facts: AnswerFacts | None = None, scope: Scope = Scope.CLUSTER, **binds: object
) -> BoundSelect:
    session = SessionClock(lambda: 0.0)
    session.sid, session.instance = 7, 2
    return _statement(Request(QUERIES[record], binds), scope, session, facts or AnswerFacts())


def test_only_odd_dates_are_asked_for_in_another_way() -> None:
    plain, facts = stated(Instance), AnswerFacts()
    assert plain.sql == QUERIES[Instance].sql(Scope.CLUSTER)
    facts.odd_dates.add(QUERIES[Instance].name)
    odd = stated(Instance, facts)
    assert odd.sql != plain.sql
    dated = "CASE WHEN startup_time >= DATE '0001-01-02' THEN startup_time END AS startup_time"
    assert odd.sql.startswith("SELECT inst_id, instance_name, ")
    assert dated in odd.sql
    assert odd.sql.endswith(f" FROM (\n{plain.sql}\n)")


def test_a_statement_has_the_binds_that_it_names() -> None:
    asked = {f"sid_{number}": number for number in range(1, 9)}
    found = stated(NamedSession, None, Scope.CLUSTER, **asked, unknown=1)
    assert {name: found.binds[name] for name in asked} == asked
    assert "unknown" not in found.binds
    assert stated(Instance, scope=Scope.INSTANCE).binds["inst_id"] == 2


def test_huge_rows_are_shortened_and_come_a_few_at_a_time() -> None:
    facts = AnswerFacts()
    plain = stated(Instance, facts)
    assert (plain.shorten, plain.rows) == (None, FIRST_ROWS)
    facts.is_cautious = True
    huge = stated(Instance, facts)
    assert huge.shorten is not None
    assert huge.rows == FEW
