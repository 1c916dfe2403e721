"""Rules by which statements leave the parallel queue: target, limits, the order of the plan. All in servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from presman.analysis.facts.facts import Facts
from presman.analysis.facts.plan_book import Branch, Key
from presman.analysis.facts.system_facts import ROOT
from presman.analysis.parallel import server_pools
from presman.analysis.parallel.queue_heads import Queues, has_one_queue, placement
from presman.analysis.parallel.server_pools import ServerLimit
from presman.analysis.readings.reading import Reading


class QueueRules(NamedTuple):
    """What decides who starts: servers `in_use` of the `target`, None where that is not known.

    `one_queue` tells that all groups queue in the order in which they came; else the tree of `plan` decides between
    them, None where it is not known. `one_queue` is None where neither is known, as between queues of containers.
    `limits` are those of each group and of its container.
    `unknown_limit` are containers whose servers are not known, `confined` the sessions (instance, SID) whose servers
    may run on some instances only, or where that is not known. `bypassing` are groups that never queue.
    """

    target: int | None
    in_use: int | None
    one_queue: bool | None
    plan: Branch | None
    limits: Mapping[Key, tuple[ServerLimit, ...]]
    unknown_limit: frozenset[int]
    confined: frozenset[tuple[int, int]]
    bypassing: frozenset[Key]


def queue_rules(facts: Facts, reading: Reading) -> QueueRules:
    """Return the rules of the queue of a reading; those of the plan are of the first instance."""
    found = server_pools.pools(facts)
    cluster = server_pools.together(found[inst_id] for inst_id in facts.system.inst_ids)
    budgets = server_pools.budgets(facts, cluster)
    groups = {(row.con_id, row.name): row for row in reading.cluster_groups()}
    queues = Queues(facts, reading.queue, groups, budgets, found)
    shares = facts.division.shares[facts.system.inst_ids[0]]
    con_ids = {each.con_id for each in reading.queue}
    elsewhere = [placement(facts, each) for each in reading.queue]
    return QueueRules(
        target=budgets[ROOT].target,
        in_use=budgets[ROOT].in_use,
        one_queue=_one_queue(facts, reading),
        plan=shares.root if shares.shares else None,
        limits={key: tuple(queues.limits(key, facts.system.inst_ids[0])) for key in groups},
        unknown_limit=frozenset(each for each in con_ids if not server_pools.is_target_known(facts, each, budgets)),
        confined=frozenset(
            (each.inst_id, each.sid)
            for each, placed in zip(reading.queue, elsewhere, strict=True)
            if placed.confined_by or not placed.known
        ),
        bypassing=frozenset(
            key
            for key, row in shares.directives.items()
            if row.parallel_stmt_critical.upper().replace("_", " ") == "BYPASS QUEUE"
        ),
    )


def _one_queue(facts: Facts, reading: Reading) -> bool | None:
    found = {has_one_queue(facts, each.inst_id, each.con_id) for each in reading.queue}
    several = len({each.con_id for each in reading.queue}) > 1
    return None if len(found) != 1 or (several and True in found) else found.pop()
