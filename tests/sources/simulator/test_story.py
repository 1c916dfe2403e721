"""Published case at exact instants: 12 servers of a target of 24 work, a statement of 36 queues until they are free."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from presman.base.release import Release
from presman.rows.cursor_rows import PlanXml
from presman.rows.group_rows import ConsumerGroup
from presman.rows.instance_rows import EventHistogram, Sysstat
from presman.rows.session_rows import PxSession, Session
from presman.sources.simulator.loading import FOLDER
from tests.forecast.hold import HoldReason, why_of
from tests.sources.simulator.conftest import Played


def queued(played: Played) -> list[Session]:
    return [row for row in played.rows(Session) if row.event == "resmgr:pq queued"]


def servers(played: Played) -> dict[int, list[PxSession]]:
    found: dict[int, list[PxSession]] = {}
    for row in played.rows(PxSession):
        if row.degree is not None:
            found.setdefault(row.qcsid, []).append(row)
    return found


def test_published_case(play: Callable[..., Played]) -> None:
    played = play("queueing")
    assert servers(played) == {}

    played.to(4)
    assert {sid: len(mine) for sid, mine in servers(played).items()} == {526: 12}
    assert {(row.degree, row.req_degree, row.server_set) for row in servers(played)[526]} == {(12, 12, 1)}
    assert queued(played) == []

    played.to(9.999)
    assert queued(played) == []
    played.to(10)
    (waiting,) = queued(played)
    assert (waiting.sid, waiting.serial, waiting.sql_id) == (525, 17778, "4dz3dapm4uy8q")
    assert waiting.wait_time_micro == 0

    played.to(43.999)
    (waiting,) = queued(played)
    assert 33_998_000 <= waiting.wait_time_micro <= 34_000_000
    (group,) = [row for row in played.rows(ConsumerGroup) if row.name == "QUERIES"]
    assert (group.current_pqs_active, group.current_pq_servers_active, group.current_pqs_queued) == (1, 12, 1)
    (entry,) = played.source.simulation.workload.queue.queued()
    why = why_of(played.source.simulation.workload.queue, entry)
    assert (why.cause, why.in_use, why.wants, why.target) == (HoldReason.SYSTEM, 12, 36, 24)
    (plan,) = played.rows(PlanXml, sql_id="4dz3dapm4uy8q", child_number=0)
    assert '<info type="dop_reason">hint</info><info type="dop">36</info>' in plan.other_xml

    played.to(44)
    assert queued(played) == []
    assert {sid: len(mine) for sid, mine in servers(played).items()} == {525: 36}
    assert {(row.degree, row.req_degree) for row in servers(played)[525]} == {(36, 36)}
    (group,) = [row for row in played.rows(ConsumerGroup) if row.name == "QUERIES"]
    assert (group.pqs_queued, group.pqs_completed, group.pq_servers_used) == (1, 1, 12)
    assert group.pq_queued_time == 34_000

    (wait,) = [row for row in played.rows(EventHistogram) if row.event == "resmgr:pq queued" and row.wait_count]
    assert (wait.wait_time_micro, wait.wait_count) == (1 << 26, 1), "34 s lie below 2^26 us and not below 2^25"

    played.to(103.999)
    assert len(servers(played)[525]) == 36
    played.to(104)
    assert servers(played) == {}
    downgraded = [row.value for row in played.rows(Sysstat) if "downgraded" in row.name and "not" not in row.name]
    assert not any(downgraded)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("action", ["CANCEL", "RUN"])
def test_a_queue_timeout_ends_or_starts_it(play: Callable[..., Played], tmp_path: Path, action: str) -> None:
    """The same case with a timeout of twenty seconds: the second statement fails, or starts with the free servers."""
    text = (FOLDER / "queueing.toml").read_text(encoding="utf-8")
    timeout = f'parallel_queue_timeout = "20s", pq_timeout_action = "{action}"'
    path = tmp_path / "queueing.toml"
    path.write_text(re.sub(r"^(QUERIES *= \{)", rf"\1 {timeout},", text, flags=re.MULTILINE), encoding="utf-8")
    played = play(path, release=Release(19))
    played.to(29.999)
    assert [row.sid for row in queued(played)] == [525]
    played.to(30)
    assert queued(played) == []
    assert (525 in servers(played)) == (action == "RUN")
    (group,) = [row for row in played.rows(ConsumerGroup) if row.name == "QUERIES"]
    assert (group.pq_queue_time_outs, group.current_pqs_queued) == (1, 0)
