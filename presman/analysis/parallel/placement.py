"""Placement of a statement's parallel servers: on every instance, on those of its service, or on its own only.

PARALLEL_FORCE_LOCAL keeps them on the coordinator's instance; PARALLEL_INSTANCE_GROUP names the service whose instances
they run on, else it is the session's own. A session may have set either for itself, which no view shows.
"""

from __future__ import annotations

from typing import NamedTuple

from presman.analysis.facts.facts import Facts
from presman.analysis.readings.statement_readings import QueuedStatement


class Placement(NamedTuple):
    """Instances that servers may run on. `confined_by` is what keeps them there, "" where they may run on all.

    `known` is false where it cannot be told; then they are taken to run on all.
    """

    inst_ids: frozenset[int]
    confined_by: str = ""
    known: bool = True

    @property
    def where(self) -> str:
        """The instances in words, "" for all."""
        if not self.confined_by:
            return ""
        numbers = ", ".join(map(str, sorted(self.inst_ids)))
        return f" on instance{'s' if len(self.inst_ids) > 1 else ''} {numbers} ({self.confined_by})"


def placement(facts: Facts, statement: QueuedStatement) -> Placement:
    """Return where the servers of a queued statement may run."""
    everywhere = frozenset(facts.system.inst_ids)
    if len(everywhere) < 2:
        return Placement(everywhere)
    if _parameter(facts, statement, "parallel_force_local").upper() == "TRUE":
        return Placement(frozenset({statement.inst_id}), "PARALLEL_FORCE_LOCAL")
    service = _parameter(facts, statement, "parallel_instance_group") or statement.service
    runs_on = facts.system.services.get(service, frozenset()) & everywhere
    if not runs_on:
        return Placement(everywhere, known=False)
    return Placement(everywhere) if runs_on == everywhere else Placement(runs_on, f"service {service}")


def _parameter(facts: Facts, statement: QueuedStatement, name: str) -> str:
    own = facts.system.parameter_of(statement.inst_id, statement.con_id, name)
    return own or facts.system.parameters.get((statement.inst_id, name), "")
