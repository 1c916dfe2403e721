"""Advice as SQL: a script that makes the changes through DBMS_RESOURCE_MANAGER, and one to undo them. Never run here.

Parameters are those of UPDATE_PLAN_DIRECTIVE in PL/SQL Packages and Types Reference 19c; -1 resets one to its default.
On an Autonomous Database they are those of CS_RESOURCE_MANAGER, which has no pending area for the plans it comes with.
"""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from presman.base.errors import InputError
from presman.forecast.scheduler import LEVELS, Group
from presman.reports.advise_load import Choice, ObservedLoad

_PLAIN = re.compile(r"[A-Z][A-Z0-9_$#]*")
_UNSAFE = re.compile('["\ufffd\u2400-\u2421…]')
"""A quote, or a replacement for a character that cannot be shown: the name differs from that in the database."""

_UNNAMED_PLAN = "YOUR_PLAN"
_CLEARED = -1


class Scripts(Struct, frozen=True):
    """The script of the changes and the script that undoes them, for SQL*Plus and SQLcl."""

    change: str
    undo: str


Values = dict[tuple[str, Group], dict[str, int]]
"""New values of parameters, by plan and group."""


def scripts(load: ObservedLoad, choice: Choice) -> Scripts:
    """Return both scripts of a choice. Raises InputError if a name cannot be written safely."""
    new, old = _values(load, choice)
    target = next((each.value for each in choice if each.kind == "target"), None)
    former = None if target is None else load.rules.target
    return Scripts(_script("Makes the changes", new, target, load), _script("Undoes the changes", old, former, load))


def written(load: ObservedLoad, choice: Choice) -> tuple[Scripts | None, list[str]]:
    """Return the scripts of a choice, or the reason why there are none."""
    if not choice:
        return None, []
    if load.plan.autonomous and any(each.group not in load.plan.services for each in choice):
        return None, ["CS_RESOURCE_MANAGER changes only the services of an Autonomous Database: there is no script"]
    try:
        return (_service_scripts if load.plan.autonomous else scripts)(load, choice), []
    except InputError as problem:
        return None, [str(problem)]


def quoted(name: str) -> str:
    """Return a name as a literal of PL/SQL. Raises InputError if presman does not have the exact name.

    >>> quoted("BATCH"), quoted("O'Brien")
    ("'BATCH'", '\\'"O\\'\\'Brien"\\'')
    """
    if not name or _UNSAFE.search(name):
        raise InputError(f"no script: the name {name!r} has characters that cannot be written in one")
    text = name if _PLAIN.fullmatch(name) else f'"{name}"'
    return "'" + text.replace("'", "''") + "'"


def _values(load: ObservedLoad, choice: Choice) -> tuple[Values, Values]:
    changed: list[tuple[Group, str, int, int]] = []
    for kind, group, value in sorted(choice, key=str):
        if group is not None and kind not in {"levels", "shares"}:
            parameter, former = _parameter(load, kind, group)
            changed.append((group, parameter, former, value))
    for group, *levels in _levels(load, choice):
        pairs = enumerate(zip(*levels, strict=True), 1)
        changed += [(group, f"new_mgmt_p{level}", was, then) for level, (was, then) in pairs if was != then]
    new: Values = {}
    old: Values = {}
    for group, parameter, was, then in changed:
        row = load.plan.directives.get(group)
        key = row.plan if row is not None else _UNNAMED_PLAN, group
        new.setdefault(key, {})[parameter] = then
        old.setdefault(key, {})[parameter] = was
    return new, old


_NAMES = {
    "limits": ("parallel_server_limit", "parallel_target_percentage"),
    "cpu": ("utilization_limit", "max_utilization_limit"),
    "degree": ("parallel_degree_limit_p1", "parallel_degree_limit_p1"),
    "timeouts": ("parallel_queue_timeout", "parallel_queue_timeout"),
}
"""Names of a directive's parameter by kind of change: now, and before 12.1."""


def _parameter(load: ObservedLoad, kind: str, group: Group) -> tuple[str, int]:
    """Return the parameter of a change, and its present value."""
    row, (name, before) = load.plan.directives.get(group), _NAMES[kind]
    if row is not None:
        known = getattr(row, name)
    elif kind == "limits" and group in load.rules.limits:
        known = load.percent(group)
    else:
        known = load.rules.timeouts.get(group) if kind == "timeouts" else None
    return f"new_{before if load.plan.is_old else name}", _CLEARED if known is None else int(known)


def _levels(load: ObservedLoad, choice: Choice) -> list[tuple[Group, list[int], list[int]]]:
    """Return the percentages by level before and after, of groups where they change: a level adds up to at most 100."""
    levels = {each.group: each.value for each in choice if each.kind == "levels"}
    shares = {each.group: each.value for each in choice if each.kind == "shares"}
    if not levels and not shares:
        return []
    before = {group: list(row[4:12]) for group, row in load.plan.directives.items()}
    after: dict[Group, list[int]] = {}
    for group, parts in before.items():
        after[group] = list(parts)
        if group in shares:
            after[group] = [shares[group] if part == max(parts) else part for part in parts]
        if group in levels:
            top = max(after[group])
            after[group] = [top if index == levels[group] - 1 else 0 for index in range(LEVELS)]
    # Oracle refuses a level that adds up to more than 100 percent (ORA-29375): then its percentages are scaled down.
    for index in range(LEVELS):
        total = sum(parts[index] for parts in after.values())
        if total > max(100, sum(parts[index] for parts in before.values())):
            for parts in after.values():
                parts[index] = max(1, 100 * parts[index] // total) if parts[index] else 0
    return [(group, before[group], after[group]) for group in before if before[group] != after[group]]


def _script(what: str, values: Values, target: int | None, load: ObservedLoad) -> str:
    needed = ["ADMINISTER_RESOURCE_MANAGER"] * bool(values) + ["ALTER SYSTEM"] * (target is not None)
    lines = [
        f"-- {what}. Written by presman, which does not run it. Read it, and try it on a test database first.",
        f"-- It needs the privilege {' and '.join(needed)}",
        "SET DEFINE OFF",
    ]
    if con_ids := sorted({group.con_id for _, group in values if group.con_id}):
        named = " and ".join(map(str, con_ids))
        lines.append(f"-- Its directives are those of the container with CON_ID {named}: run it there")
    if any(plan == _UNNAMED_PLAN for plan, _ in values):
        lines.append(f"-- The plan is not known here: write its name in place of {_UNNAMED_PLAN}")
    if values:
        # There is one pending area: a script that fails must not leave it open, or no other user can change the plan.
        lines += ["BEGIN", "  DBMS_RESOURCE_MANAGER.CREATE_PENDING_AREA;", "  BEGIN", *_directives(values)]
        lines += ["    DBMS_RESOURCE_MANAGER.VALIDATE_PENDING_AREA;", "    DBMS_RESOURCE_MANAGER.SUBMIT_PENDING_AREA;"]
        lines += ["  EXCEPTION", "    WHEN OTHERS THEN", "      DBMS_RESOURCE_MANAGER.CLEAR_PENDING_AREA;"]
        lines += ["      RAISE;", "  END;", "END;", "/"]
    if target is not None:
        each = -(-target // load.plan.instances)
        everywhere = " SID = '*'" if load.plan.instances > 1 else ""
        lines.append(f"ALTER SYSTEM SET PARALLEL_SERVERS_TARGET = {each}{everywhere};")
    return "\n".join(lines) + "\n"


def _directives(values: Mapping[tuple[str, Group], Mapping[str, int]]) -> Sequence[str]:
    lines: list[str] = []
    for (plan, group), parameters in values.items():
        given = {"plan": quoted(plan), "group_or_subplan": quoted(group.name), **parameters}
        lines += _call("DBMS_RESOURCE_MANAGER.UPDATE_PLAN_DIRECTIVE", given, "    ")
    return lines


def _call(procedure: str, given: Mapping[str, object], indent: str = "  ") -> list[str]:
    lines = [f"{indent}{procedure}(", *(f"{indent}  {name} => {value}," for name, value in given.items())]
    return [*lines[:-1], lines[-1].removesuffix(",") + ");"]


# ---- Services of an Autonomous Database.

_RULES = "SELECT * FROM CS_RESOURCE_MANAGER.LIST_CURRENT_RULES();"
_UPDATE, _REVERT = ("CS_RESOURCE_MANAGER." + name for name in ("UPDATE_PLAN_DIRECTIVE", "REVERT_TO_DEFAULT_VALUES"))


def _service_scripts(load: ObservedLoad, choice: Choice) -> Scripts:
    """Return both scripts. A limit of MEDIUM that was never set can only be reverted: setting it frees all servers."""
    new: dict[str, dict[str, int]] = {}
    old: dict[str, dict[str, int]] = {}
    reverted = list[str]()
    for kind, group, value in sorted(choice, key=str):
        if group is None:
            continue
        name, parameter = quoted(group.name), "shares" if kind == "shares" else "concurrency_limit"
        new.setdefault(name, {})[parameter] = value
        former = load.percentage(group) if kind == "shares" else load.concurrency(group)
        if former is None or (kind == "concurrency" and load.percent(group) < 100):
            reverted += _call(_REVERT, {"consumer_group": name, parameter: "TRUE"})
        else:
            old.setdefault(name, {})[parameter] = former
    undo = _service_script("Undoes the changes", [*reverted, *_updates(old)])
    return Scripts(_service_script("Makes the changes", _updates(new)), undo)


def _updates(values: Mapping[str, Mapping[str, int]]) -> list[str]:
    return [line for name, given in values.items() for line in _call(_UPDATE, {"consumer_group": name, **given})]


def _service_script(what: str, calls: Sequence[str]) -> str:
    lines = [
        f"-- {what}. Written by presman, which does not run it. Read it, and try it on a test database first.",
        "-- Run it as ADMIN, and keep what the first query shows: it is not known whether a call keeps the limits of",
        "-- run time and I/O of a service (ELAPSED_TIME_LIMIT, IO_MEGABYTES_LIMIT), which it does not name.",
        "SET DEFINE OFF",
    ]
    return "\n".join([*lines, _RULES, "BEGIN", *calls, "END;", "/", _RULES]) + "\n"
