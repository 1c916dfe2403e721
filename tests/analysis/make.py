"""Records and snapshots for tests: every field has a default, so a test names only what it is about."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from presman.analysis.readings.group_readings import GroupTotals
from presman.base.release import Release
from presman.rows.group_rows import ConsumerGroup, PlanDirective, RsrcPlan
from presman.rows.instance_rows import Instance
from presman.rows.queries import Scope, field_types
from presman.rows.session_rows import Session
from presman.rows.snapshot import Section, Snapshot

R = TypeVar("R", bound=tuple[Any, ...])

NOON = datetime(2026, 3, 14, 12, 0, tzinfo=UTC)

_NULLS: Mapping[type[Any], Any] = {int: 0, float: 0.0, str: ""}


def row(record: type[R], **values: Any) -> R:
    """A record with the given fields; the others are what NULL becomes. It is of instance 1 by default."""
    fields = {name: None if optional else _NULLS.get(kind) for name, (kind, optional) in field_types(record).items()}
    if "inst_id" in fields:
        fields["inst_id"] = 1
    unknown = set(values) - set(fields)
    assert not unknown, f"{record.__name__} has no {unknown}"
    return record(**(fields | values))


def snapshot(*rows: Any, after: float = 0.0, epoch: int = 1, **changes: Any) -> Snapshot:
    """A snapshot of the given records, `after` seconds after noon."""
    at = NOON + timedelta(seconds=after)
    kinds: dict[type[Any], list[Any]] = {}
    for each in rows:
        kinds.setdefault(type(each), []).append(each)
    sections = {record: Section(tuple(found), at) for record, found in kinds.items()}
    values: dict[str, Any] = {
        "target": "test",
        "kind": "simulator",
        "release": Release(19),
        "scope": Scope.CLUSTER,
        "at": at,
        "number": 1,
        "epoch": epoch,
        "seconds": 0.01,
        "round_trips": 0,
        "sections": sections,
    }
    return Snapshot(**(values | changes))


def instance(inst_id: int = 1, **values: Any) -> Instance:
    started = NOON - timedelta(days=10)
    return row(Instance, **({"inst_id": inst_id, "instance_name": f"DB{inst_id}", "startup_time": started} | values))


def active_plan(name: str = "DAY", inst_id: int = 1, target: int = 128, active: int = 0, **values: Any) -> RsrcPlan:
    given: dict[str, Any] = {
        "inst_id": inst_id,
        "name": name,
        "is_top_plan": "TRUE",
        "cpu_managed": "ON",
        "instance_caging": "OFF",
        "parallel_execution_managed": "FULL",
        "parallel_servers_active": active,
        "parallel_servers_total": target,
    }
    return row(RsrcPlan, **(given | values))


def directive(plan: str, group: str, *levels: int, **values: Any) -> PlanDirective:
    parts = {f"mgmt_p{level}": part for level, part in enumerate(levels, start=1)}
    given = {"plan": plan, "group_or_subplan": group, "type": "CONSUMER_GROUP"}
    return row(PlanDirective, **(given | parts | values))


def group(name: str, inst_id: int = 1, **values: Any) -> ConsumerGroup:
    return row(ConsumerGroup, name=name, inst_id=inst_id, **values)


def counters(**values: Any) -> GroupTotals:
    """The counters of a group on one instance."""
    return GroupTotals((group("", **values),))


def queued_session(sid: int, group: str, waited: float = 10.0, **values: Any) -> Session:
    given: dict[str, Any] = {
        "sid": sid,
        "serial": sid + 1000,
        "resource_consumer_group": group,
        "status": "ACTIVE",
        "event": "resmgr:pq queued",
        "state": "WAITING",
        "wait_time_micro": int(waited * 1e6),
        "sql_id": f"sql{sid}",
        "sql_child_number": 0,
    }
    return row(Session, **(given | values))
