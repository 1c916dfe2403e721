"""CPU_MIN_COUNT of containers that is missed: what decides where the CDB plan has no rule about CPU may be promised to
more containers than there are CPUs (Database Reference 19: CPU_MIN_COUNT, over-provisioning).
"""

from collections.abc import Iterable

from presman.analysis.facts.cdb_plan import BY_MINIMUM
from presman.analysis.facts.facts import Facts
from presman.analysis.facts.system_facts import ROOT
from presman.analysis.groups.containers import loads
from presman.analysis.groups.entitlement import slack
from presman.analysis.readings.group_readings import MissedMinimum


def missed_minimums(facts: Facts) -> tuple[MissedMinimum, ...]:
    """Return the open containers that wait for CPU while they get less than the minimum they set themselves.

    None where the minima add up to no more than there is: then each is given its own, and who lacks it is starved.
    """
    return tuple(each for inst_id in facts.system.inst_ids for each in _on_instance(facts, inst_id))


def _on_instance(facts: Facts, inst_id: int) -> Iterable[MissedMinimum]:
    names, cpus = facts.system.open_pdbs(inst_id), facts.plans.num_cpus(inst_id)
    given = {con_id: each for con_id, each in facts.division.allotments(inst_id).items() if con_id in names}
    in_force = facts.plans.cpu_managed(inst_id, ROOT) and not facts.plans.server_wide(inst_id)
    minima = sum(each.weight for each in given.values() if each.weighed_by == BY_MINIMUM)
    if not in_force or minima <= cpus:
        return
    seen = loads(facts, inst_id, names)
    for con_id, name in names.items():
        least = facts.system.parameters.amount(inst_id, con_id, "cpu_min_count")
        load = seen.get((con_id, name))
        if least is None or load is None:
            continue
        most = given[con_id].limit
        due = load.due(least if most is None else min(least, most * cpus))
        if due - load.used > slack(due):
            yield MissedMinimum(inst_id, con_id, name, load.used, least, minima, cpus)
