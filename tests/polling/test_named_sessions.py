"""Sessions that other rows name: which are read, how many at once, when a missing one is read again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from presman.base.release import Release
from presman.polling.named_sessions import NamedSessions, named, requests
from presman.rows.queries import load
from presman.rows.session_rows import NamedSession, PxSession, Session
from tests.analysis.make import row

NOW = datetime(2026, 3, 12, 3, tzinfo=UTC)


def session(sid: int, inst_id: int = 1, **facts: Any) -> Session:
    found: Session = row(Session, sid=sid, inst_id=inst_id, **facts)
    return found


def test_coordinators_and_blockers_are_named() -> None:
    of = ((2, 50, 7, 1), (2, 51, 8, None), (1, 52, 0, 1))
    servers = [row(PxSession, inst_id=inst, sid=sid, qcsid=qc, qcinst_id=where) for inst, sid, qc, where in of]
    waits = {"state": "WAITING", "blocking_session": 9}
    sessions = [
        session(1, **waits, blocking_instance=2, final_blocking_session=10, final_blocking_instance=3),
        session(2, inst_id=4, **waits, blocking_instance=None, final_blocking_session=11, final_blocking_instance=None),
        session(3, state="WAITED KNOWN TIME", blocking_session=12, blocking_instance=1),
        session(4, state="WAITING", blocking_session=None),
    ]
    assert named(sessions, servers) == {(1, 7), (2, 8), (2, 9), (3, 10), (4, 9), (4, 11)}


def test_a_session_not_found_is_read_again_after_a_minute() -> None:
    known, keys = NamedSessions(), {(1, 7), (1, 8), (2, 7)}

    def wanted(seconds: float) -> list[tuple[int, int]]:
        return known.wanted(keys, [session(8)], NOW + timedelta(seconds=seconds))

    assert wanted(0) == [(1, 7), (2, 7)]
    known.learn(wanted(0), [session(7, inst_id=2)], NOW)
    assert wanted(59.9) == [(2, 7)]
    assert wanted(60) == [(1, 7), (2, 7)]
    known.learn([(1, 7)], [], NOW)
    assert wanted(-1) == [(1, 7), (2, 7)], "a clock that went back is no minute"
    known.learn([(1, 7)], [], NOW)
    assert known.wanted(set(), [], NOW) == []
    assert wanted(1) == [(1, 7), (2, 7)], "once it is not named it is forgotten"


def test_eight_are_asked_for_at_once() -> None:
    query = load(Release(19))[NamedSession]
    keys = [(inst_id, sid) for sid in range(9, 0, -1) for inst_id in (1, 2)]
    first, second = requests(query, keys)
    assert first.binds == {f"sid_{n}": n for n in range(1, 9)}
    assert second.binds == {"sid_1": 9} | {f"sid_{n}": -1 for n in range(2, 9)}
    assert len(requests(query, keys[2:])) == 1
    assert requests(query, []) == []
