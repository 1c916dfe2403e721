"""What a session waits for: V$SESSION.EVENT is its last wait unless STATE is WAITING (Reference, V$SESSION)."""

from __future__ import annotations

import pytest

from presman.analysis.assemble import analyse
from presman.analysis.session_list import cpu_waiters
from presman.rows.session_rows import PxSession, Session, SessionInfo
from presman.rows.session_state import doing, is_held, is_queued
from tests.analysis.make import instance, row, snapshot

QUANTUM = "resmgr:cpu quantum"


@pytest.mark.parametrize(
    ("event", "state", "status", "expected"),
    [
        (QUANTUM, "WAITING", "ACTIVE", QUANTUM),
        (QUANTUM, "WAITED SHORT TIME", "ACTIVE", "on CPU"),
        (QUANTUM, "WAITED KNOWN TIME", "ACTIVE", "on CPU"),
        ("SQL*Net message from client", "WAITING", "INACTIVE", "SQL*Net message from client"),
        ("SQL*Net message from client", "WAITED SHORT TIME", "INACTIVE", ""),
        (QUANTUM, "", "ACTIVE", f"{QUANTUM} (or on CPU)"),
        ("", "", "ACTIVE", "on CPU"),
    ],
)
def test_doing(event: str, state: str, status: str, expected: str) -> None:
    assert doing(event, state, status) == expected


def test_held_off_cpu() -> None:
    assert is_held(QUANTUM, "WAITING", "RUNNING")
    assert not is_held(QUANTUM, "WAITED SHORT TIME", "WAITING FOR CPU")
    assert is_held("", "", "WAITING FOR CPU")
    assert not is_held(QUANTUM, "", "RUNNING")


def test_queued() -> None:
    assert is_queued("resmgr:pq queued", "WAITING")
    assert is_queued("resmgr:pq queued", "")
    assert not is_queued("resmgr:pq queued", "WAITED KNOWN TIME")


def held(*rows: object) -> int:
    return sum(each.held for each in cpu_waiters(analyse(None, snapshot(instance(), *rows))))


def test_a_published_listing_of_11_2() -> None:
    """One session waits, two show the event as their last wait and are on CPU."""
    states = [(44, "WAITING"), (73, "WAITED SHORT TIME"), (66, "WAITED KNOWN TIME")]
    rows = [row(Session, sid=sid, event=QUANTUM, state=state, status="ACTIVE") for sid, state in states]
    assert held(*rows) == 1
    assert {each.sid: each.event for each in analyse(None, snapshot(instance(), *rows)).sessions} == {
        44: QUANTUM, 73: "on CPU", 66: "on CPU",
    }  # fmt: skip


def test_a_published_listing_of_11_1_without_state() -> None:
    """Test 05 of "A fair bite of the CPU pie?": six sessions name the event, one of them is WAITING FOR CPU."""
    sids = (521, 1084, 1082, 1098, 1070, 1075)
    rows = [row(Session, sid=sid, event=QUANTUM, status="ACTIVE") for sid in sids]
    rows += [row(Session, sid=sid, event="latch free", status="ACTIVE") for sid in (498, 508)]
    infos = [
        row(SessionInfo, sid=sid, state="WAITING FOR CPU" if sid == 1098 else "RUNNING") for sid in (*sids, 498, 508)
    ]
    assert held(*rows, *infos) == 1


def test_a_coordinator_on_cpu_is_not_said_to_wait() -> None:
    coordinator = row(
        Session, sid=5, serial=5, event="PX Deq: Execute Reply", state="WAITED SHORT TIME", status="ACTIVE"
    )
    server = row(PxSession, sid=6, serial=1, qcsid=5, qcserial=5, qcinst_id=1, degree=4, req_degree=4)
    (only,) = analyse(None, snapshot(instance(parallel="NO"), coordinator, server)).running
    assert only.event == "on CPU"
