"""Rows that are missing from a view although it answered: those of an instance, or of queued statements."""

from typing import NamedTuple

from presman.analysis.facts.deltas import Deltas
from presman.analysis.facts.system_facts import SystemFacts, answers
from presman.analysis.instances import ROOT, container_of
from presman.base.formats import listed
from presman.rows.group_rows import ConsumerGroup
from presman.rows.instance_rows import Instance, Pdb
from presman.rows.queries import RecordType, Scope, view_read
from presman.rows.session_rows import Session, SessionCount
from presman.rows.session_state import is_queued
from presman.rows.snapshot import Snapshot

_ON_EACH_INSTANCE: dict[RecordType, tuple[RecordType, ...]] = {
    Instance: (Instance,),
    Session: (Session, SessionCount),
    ConsumerGroup: (ConsumerGroup,),
}
"""Records of which an open instance of a cluster always has rows, and where they may be: idle sessions are counted.

On each other instance, the server of the GV$ query itself is a session.
"""


def without_rows(system: SystemFacts, record: RecordType) -> str:
    """Return of which open instances a view of the cluster has no rows although there must be some, "" if of none.

    A pluggable database may have no sessions on an instance, and no groups where it is not open.
    """
    snapshot, kinds = system.snapshot, _ON_EACH_INSTANCE.get(record, ())
    if snapshot.scope is not Scope.CLUSTER or not kinds or container_of(snapshot.rows(Pdb)) != ROOT:
        return ""
    if not all(_answered(snapshot, kind) for kind in kinds):
        return ""
    there = {row.inst_id for kind in kinds for row in snapshot.section(kind).rows}
    missing = [inst_id for inst_id in system.inst_ids if inst_id not in there]
    away = [str(inst_id) for inst_id in missing if record is not Instance or answers(snapshot, inst_id)]
    view = view_read(record, snapshot.release, snapshot.scope)
    return f"{view} has no rows of instance{'s' * (len(away) > 1)} {listed(away)}" if away and there else ""


class _Queued(NamedTuple):
    """How many statements V$SESSION lists as queued, and how many V$RSRC_CONSUMER_GROUP counts."""

    listed: int
    counted: int

    @classmethod
    def of(cls, snapshot: Snapshot) -> "_Queued | None":
        """Count both, None if one of the views did not answer."""
        groups = snapshot.section(ConsumerGroup)
        if not _answered(snapshot, Session) or not _answered(snapshot, ConsumerGroup):
            return None
        if "current_pqs_queued" in groups.absent or "event" in snapshot.section(Session).absent:
            return None
        waiting = sum(is_queued(row.event, row.state) for row in snapshot.rows(Session))
        return cls(waiting, sum(row.current_pqs_queued for row in snapshot.rows(ConsumerGroup)))


def unlisted_queue(deltas: Deltas) -> str:
    """Return that V$SESSION has not all queued statements, "" unless two polls show it.

    The views are read one after the other while statements come and go: only more than at either poll is missing.
    """
    now, before = (_Queued.of(each) if each is not None else None for each in (deltas.current, deltas.previous))
    if now is None or before is None or min(now.counted, before.counted) <= max(now.listed, before.listed):
        return ""
    view = view_read(Session, deltas.current.release, deltas.current.scope)
    return f"{view} lists {now.listed} of {now.counted} queued statements"


def _answered(snapshot: Snapshot, record: RecordType) -> bool:
    return record in snapshot.sections and snapshot.section(record).problem is None
