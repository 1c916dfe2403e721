"""Published outputs of a 12.1.0.2 database, and what must be read from them."""

from __future__ import annotations

import pytest

from presman.analysis.assemble import analyse
from presman.analysis.facts.cursor_facts import dop_facts
from presman.analysis.latency.histograms import now, since_startup
from presman.rows.instance_rows import EventHistogram
from presman.rows.session_rows import PxSession, Session
from tests.analysis.make import row, snapshot

FIRST_SERVERS = {265: 14828, 330: 21719, 395: 59827, 461: 17363, 525: 4955, 592: 2687, 720: 27626, 786: 47540}
FIRST_SERVERS |= {850: 41110, 918: 46836, 983: 12699, 657: 22654}
QUEUED = "resmgr:pq queued"


def px(sid: int, serial: int, coordinator: tuple[int, int], degree: int) -> list[PxSession | Session]:
    server = row(
        PxSession,
        sid=sid,
        serial=serial,
        qcsid=coordinator[0],
        qcserial=coordinator[1],
        qcinst_id=1,
        degree=degree,
        req_degree=degree,
    )
    return [server, session(sid, serial, "9md3ukhghgj58" if degree == 12 else "4dz3dapm4uy8q", "cell smart table scan")]


def session(sid: int, serial: int, sql_id: str, event: str, state: str = "WAITING") -> Session:
    return row(
        Session, sid=sid, serial=serial, username="MARTIN", sql_id=sql_id, sql_child_number=0, event=event, state=state
    )


def coordinator(sid: int, serial: int, sql_id: str) -> list[PxSession | Session]:
    own = row(PxSession, sid=sid, serial=serial, qcsid=sid)
    return [own, session(sid, serial, sql_id, "PX Deq: Execute Reply")]


def test_first_moment_one_runs_with_twelve_servers_and_one_is_queued() -> None:
    rows = coordinator(526, 60805, "9md3ukhghgj58")
    for sid, serial in FIRST_SERVERS.items():
        rows += px(sid, serial, (526, 60805), 12)
    waiting = row(Session, username="MARTIN", event=QUEUED)  # the published count has neither SID nor state
    reading = analyse(None, snapshot(*rows, waiting))
    (running,) = reading.running
    assert (running.sql_id, running.sid, running.serial) == ("9md3ukhghgj58", 526, 60805)
    assert (running.servers, running.degree, running.requested, running.downgraded) == (12, 12, 12, 0.0)
    (queued,) = reading.queue
    assert (queued.event, queued.position, queued.wants) == (QUEUED, 1, None)
    roles = {each.sid: each.px_role for each in reading.sessions}
    assert (roles[526], roles[525], roles[0]) == ("QC", "server", "queued")


def test_second_moment_a_former_coordinator_is_a_server() -> None:
    rows = coordinator(525, 17778, "4dz3dapm4uy8q") + px(526, 12648, (525, 17778), 36)
    for sid in range(1000, 1035):
        rows += px(sid, sid * 3, (525, 17778), 36)
    reading = analyse(None, snapshot(*rows))
    (running,) = reading.running
    assert (running.sql_id, running.sid, running.servers, running.requested) == ("4dz3dapm4uy8q", 525, 36, 36)
    assert running.downgraded == 0.0
    roles = {each.sid: each.px_role for each in reading.sessions}
    assert (roles[525], roles[526]) == ("QC", "server")
    assert reading.queue == ()


def test_the_serial_keeps_two_users_of_one_sid_apart() -> None:
    rows = coordinator(526, 60805, "9md3ukhghgj58") + px(10, 1, (526, 60805), 12)
    rows += coordinator(525, 17778, "4dz3dapm4uy8q") + px(526, 12648, (525, 17778), 36)
    reading = analyse(None, snapshot(*[each for each in rows if isinstance(each, PxSession)]))
    assert {(each.sid, each.serial): each.servers for each in reading.running} == {(526, 60805): 1, (525, 17778): 1}


BACH = [
    ("derived_cpu_dop", "51"),
    ("derived_io_dop", "40"),
    ("dop_reason", "degree limit"),
    ("dop", "48"),
    ("px_in_memory_imc", "no"),
    ("px_in_memory", "no"),
    ("io_rate", "200"),
    ("derived_io_dop", "40"),
    ("cpu_rate", "1000"),
    ("derived_cpu_dop", "26"),
    ("cpu_rate", "1000"),
    ("derived_cpu_dop", "26"),
    ("db_version", "12.1.0.2"),
    ("parse_schema", '"MARTIN"'),
]


def test_the_first_occurrence_of_a_fact_counts() -> None:
    infos = "".join(f'<info type="{kind}">{value}</info>' for kind, value in BACH)
    found = dop_facts(f"<other_xml>{infos}</other_xml>")
    assert (found.degree, found.reason, found.cpu_degree, found.io_degree) == (48, "degree limit", 51, 40)
    assert found.facts["parse_schema"] == '"MARTIN"'


@pytest.mark.parametrize(
    ("counts", "percent"),
    [
        ((2460371, 6605, 1702, 1774, 726), 99.5627),
        ((51521618, 165210, 36313, 36242, 18478), 99.5051),
    ],
)
@pytest.mark.parametrize("millisecond", [1000, 1024])
def test_log_writes_under_a_millisecond(counts: tuple[int, ...], percent: float, millisecond: int) -> None:
    rows = [
        row(EventHistogram, event="log file parallel write", wait_time_micro=millisecond * 2**power, wait_count=count)
        for power, count in enumerate(counts)
    ]
    (histogram,) = analyse(None, snapshot(*reversed(rows))).histograms
    assert since_startup(histogram, None).thresholds[0].under == pytest.approx(percent, abs=5e-5)
    assert now(histogram) is None
