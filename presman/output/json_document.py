"""A Reading as a JSON document: each figure has its name in :mod:`presman.analysis.readings.reading`."""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any

from msgspec import Struct
from msgspec.json import format as indented

from presman import __version__
from presman.analysis.advice.contenders import Candidate, Unblock
from presman.analysis.advice.step import Proof, ToDo
from presman.analysis.advice.to_do import to_do
from presman.analysis.advice.unblock import unblock
from presman.analysis.alerts.alert_rules import worst_first, wrong
from presman.analysis.groups.containers import pdbs
from presman.analysis.groups.verdicts import Conformance, conformance, in_words
from presman.analysis.latency.histograms import events, summaries
from presman.analysis.parallel.usual import compare
from presman.analysis.plans.lint import LintCoverage, lint, lint_coverage
from presman.analysis.plans.lint_rules import Finding
from presman.analysis.plans.plan_changes import PlanSwitch, plan_switches
from presman.analysis.plans.plan_view import PlanView, plan_view
from presman.analysis.readings.container_readings import PdbReading
from presman.analysis.readings.group_readings import GroupReading
from presman.analysis.readings.reading import Alert, Header, Reading
from presman.analysis.readings.statement_readings import QueueHead
from presman.analysis.session_list import CpuWaiter, cpu_waiters
from presman.output.cells import json_value, word
from presman.rows.commands import Command
from presman.rows.snapshot import Snapshot


class Sentence(Struct, frozen=True):
    """The verdict on one group in words; `inst_id` 0 is the cluster."""

    inst_id: int
    con_id: int
    group: str
    text: str


class Assessment(Struct, frozen=True):
    """The values that the pages on CPU, the plan and the containers show in addition to the reading.

    `plan` is that of the first instance, `other_plans` are those of other instances.
    """

    verdicts: tuple[Sentence, ...]
    conformance: tuple[Conformance, ...]
    plan: PlanView
    other_plans: tuple[PlanView, ...]
    findings: tuple[Finding, ...]
    lint_sight: LintCoverage
    pdbs: tuple[PdbReading, ...]
    cpu_waiters: tuple[CpuWaiter, ...]
    plan_changes: tuple[PlanSwitch, ...]


def assess(reading: Reading, previous: Snapshot | None, current: Snapshot) -> Assessment:
    """Return the assessment of a reading and of the two snapshots that it was made from."""
    plan = plan_view(reading, current)
    return Assessment(
        verdicts=tuple(Sentence(row.inst_id, row.con_id, row.name, in_words(reading, row)) for row in reading.groups),
        conformance=conformance(reading),
        plan=plan,
        other_plans=tuple(plan_view(reading, current, run.plan) for run in plan.elsewhere if run.plan),
        findings=lint(reading, current),
        lint_sight=lint_coverage(reading, current),
        pdbs=pdbs(reading, previous, current),
        cpu_waiters=cpu_waiters(reading),
        plan_changes=plan_switches(current),
    )


FORMAT = 1
"""The version of the document; it grows when a name changes its meaning or is removed. New names do not change it."""


def document(reading: Reading, assessment: Assessment | None = None) -> dict[str, Any]:
    """Return the reading as JSON-ready values: objects by field name, instants as ISO 8601, verdicts as words.

    `assessment` adds its own fields, which are computed only on request.
    """
    found = {
        "format": FORMAT,
        "presman": __version__,
        **plain(reading),
        "latency": plain(summaries(reading)),
        "latency_events": plain(events(reading, by_instance=True)),
        "alerts": [_alert(each) for each in worst_first(wrong(reading))],
        "to_do": _to_do(to_do(reading)),
        "unblock": [unblock_document(each) for each in unblock(reading)],
        "usual": [plain(each._asdict()) for each in compare(reading)],
    }
    return found if assessment is None else {**found, "assessment": plain(assessment)}


def _alert(found: Alert) -> dict[str, str]:
    return {"key": found.key, "severity": found.state, "subject": found.subject, "text": found.text}


def _to_do(found: ToDo | None) -> dict[str, Any] | None:
    if found is None:
        return None
    commands = _commands(found.commands, found.proven)
    fields = {"step": found.step.value, "subject": found.subject, "text": found.text, "affects": found.affects}
    return {**fields, "command": next(iter(commands), None), "commands": commands}


def unblock_document(found: Unblock) -> dict[str, Any]:
    """Return how a head could start. Sessions identify the statements to end, whose figures are under `running`."""
    statement = found.head.statement
    return {
        "con_id": found.head.con_id,
        "group": found.head.group,
        "sql_id": statement.sql_id,
        **{name: plain(getattr(found, name)) for name in ("needed", "sentence", "wait", "soon", "rivals", "turns")},
        "order": found.order if found.rivals or found.turns else "",
        "unknown": found.unknown or ("" if found.doubt is None else str(found.doubt)),
        "effect": plain(found.effect),
        "commands": _commands(found.commands, [Proof.DBA_DECIDES]),
        "candidates": [_candidate(each) for each in found.candidates],
    }


def _candidate(found: Candidate) -> dict[str, Any]:
    statement = found.statement
    figures = {
        name: getattr(statement, name) for name in ("inst_id", "sid", "serial", "sql_id", "user", "group", "servers")
    }
    figures |= {name: getattr(found, name) for name in ("frees", "perhaps", "enough")} | {"idle": statement.idle}
    rest = ("ends_in", "refused", "objection", "why_not", "lost", "effect")
    figures |= {name: getattr(found, name) for name in rest}
    return {**plain(figures), "commands": _commands(found.commands, found.proven)}


def _commands(commands: Sequence[Command], proven: Sequence[Proof]) -> list[dict[str, Any]]:
    """Return commands, each with the proof of its effect: no command comes without one."""
    words = list(map(word, proven))
    return [{"kind": word(each.kind), "text": each.text, "note": each.note, "proven": words} for each in commands]


def dump(reading: Reading, assessment: Assessment | None = None, *, ascii_only: bool = False) -> str:
    """Return the document as indented text that ends in a newline."""
    # Indented afterwards: json, when it indents, makes an object of each word, 200 MB for 30,000 sessions.
    text = json.dumps(document(reading, assessment), ensure_ascii=ascii_only, allow_nan=False)
    return indented(text, indent=2) + "\n"


def written(document: Mapping[str, Any], *, ascii_only: bool = False) -> str:
    """Return a short document of another kind as indented text that ends in a newline."""
    return json.dumps(document, indent=2, ensure_ascii=ascii_only, allow_nan=False) + "\n"


_AS_IT_IS = frozenset({type(None), str, int, bool})


def plain(value: Any) -> Any:
    """Return `value` in JSON's own types. Numbers keep six decimals; infinity and NaN become null."""
    if value.__class__ in _AS_IT_IS:  # nearly all values: a million for 30,000 sessions
        return value
    if isinstance(value, str | int | float | bool | datetime | Enum):
        return json_value(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Struct) or hasattr(value, "_fields"):
        return {name: plain(getattr(value, name)) for name in names(value.__class__)}
    if isinstance(value, Sequence):
        return [plain(item) for item in value]
    raise TypeError(f"no JSON form for {type(value).__name__}")


@cache
def names(kind: type[Any]) -> tuple[str, ...]:
    """Return the names of a record's values: its fields, then its properties."""
    fields = tuple(kind.__struct_fields__ if issubclass(kind, Struct) else kind._fields)
    derived = tuple(sorted(name for name, member in vars(kind).items() if isinstance(member, property)))
    return tuple(name for name in fields + derived if name not in _SHOWN_OTHERWISE.get(kind, ()))


_SHOWN_OTHERWISE: Mapping[type[Any], Collection[str]] = {
    Alert: ("words", "brief", "others", "age", "unchecked"),
    GroupReading: ("counters",),
    QueueHead: ("one_queue",),
    Header: ("plan_starts",),
}
"""Fields of a record that only repeat others, in words or from the header, or from which its totals are computed."""
