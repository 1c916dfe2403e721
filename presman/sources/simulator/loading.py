"""Loading of scenarios: finds and reads their files, and checks their references."""

import tomllib
from collections.abc import Iterable, Mapping
from math import inf
from pathlib import Path
from typing import Any

from presman.base.private_files import has_short_lines, read_small
from presman.base.release import Release, why_not_played
from presman.rows.queries import Scope, columns_of, load
from presman.sources.simulator import scenario as spec
from presman.sources.simulator.fields import ScenarioError, decode, identifier, suggestion
from presman.sources.simulator.scenario import ENTRIES, OTHER_GROUPS, OWN_SID, PlanSpec, Scenario

FOLDER = Path(__file__).with_name("scenarios")
_TABLES = {"capacity", "plans", "pdbs", *ENTRIES}
_LARGEST, _LONGEST = 256_000, 1_000
"""Largest file, and longest line of it, in bytes."""
_FIRST_PDB = 3
"""Container 1 is the root, 2 the seed."""


def load_scenario(scenario: str | Path) -> Scenario:
    """Return a scenario by its name (``mixed``) or from a TOML file. Raises ScenarioError with one line of text."""
    is_name = isinstance(scenario, str) and not scenario.endswith(".toml")
    path = FOLDER / f"{scenario}.toml" if is_name else Path(scenario)
    try:
        return parse_scenario(_tables(path), path.stem, str(path))
    except OSError as error:
        raise ScenarioError(f"cannot read {path}: {error.strerror or error}") from error
    except RecursionError:
        raise ScenarioError(f"{path}: its tables or lists are nested too deeply") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{path}: not valid TOML: {error}") from error


def _tables(path: Path) -> Mapping[str, Any]:
    """Return the tables of a file. Raises OSError, UnicodeDecodeError, TOMLDecodeError, RecursionError, ScenarioError.

    Lines are limited because the time to parse a key with many dots, or many unclosed lists, is quadratic.
    """
    data = read_small(path, _LARGEST)
    if not has_short_lines(data, _LONGEST):
        raise ScenarioError(f"{path}: it has a line of more than {_LONGEST:,} bytes")
    return tomllib.loads(data.decode())


def parse_scenario(tables: Mapping[str, Any], stem: str, file: str) -> Scenario:
    """Return the scenario that `tables` describe; `file` is its name in errors. Raises ScenarioError."""
    for table, value in tables.items():
        if isinstance(value, dict | list) and table not in _TABLES:
            raise ScenarioError(f"{file}: unknown table [{table}]{suggestion(table, _TABLES)}")
    top = {key: value for key, value in tables.items() if key not in _TABLES}
    scenario = Scenario(
        name=stem,
        header=decode(spec.ScenarioHeader, top, file),
        capacity=decode(spec.Capacity, tables.get("capacity", {}), f"{file}: capacity"),
        plans=_plans(tables.get("plans", {}), f"{file}: plans"),
        pdbs=_pdbs(tables.get("pdbs", {}), f"{file}: pdbs"),
        **{name: tuple(_many(kind, tables, table, file)) for table, (name, kind) in ENTRIES.items()},
    )
    _check(scenario, file)
    return scenario


def _many(kind: Any, tables: Mapping[str, Any], table: str, file: str) -> Iterable[Any]:
    entries = tables.get(table, [])
    if not isinstance(entries, list):
        raise ScenarioError(f"{file}: {table}: write [[{table}]] with double brackets, one for each entry")
    for index, entry in enumerate(entries, 1):
        yield decode(kind, entry, f"{file}: {table}[{index}]")


def _plans(tables: Any, where: str) -> Mapping[str, PlanSpec]:
    plans: dict[str, PlanSpec] = {}
    for plan_name, table in _named(tables, where):
        here = f"{where}.{plan_name}"
        for word in sorted(table):
            _require(here, "unknown key", word, ("method", "comment", "directives"))
        method = table.get("method", "EMPHASIS")
        if method not in {"EMPHASIS", "RATIO"}:
            raise ScenarioError(f"{here}.method: must be EMPHASIS (levels) or RATIO (shares), got {method!r}")
        named = _named(table.get("directives", {}), f"{here}.directives")
        directives = {target: decode(spec.Directive, each, f"{here}.directives.{target}") for target, each in named}
        plans[plan_name] = PlanSpec(plan_name, method, str(table.get("comment", "")), directives)
    return plans


def _named(tables: Any, where: str) -> Iterable[tuple[str, dict[str, Any]]]:
    if not isinstance(tables, dict):
        raise ScenarioError(f"{where}: expected tables by name, got {tables!r}")
    for key, table in tables.items():
        if not isinstance(table, dict):
            raise ScenarioError(f"{where}.{key}: expected a table, got {table!r}")
        yield identifier(key), table


def _pdbs(tables: Any, where: str) -> tuple[spec.PdbSpec, ...]:
    pdbs = []
    for con_id, (pdb, table) in enumerate(_named(tables, where), _FIRST_PDB):
        values = {key: value for key, value in table.items() if key != "plan"}
        directive = decode(spec.PdbDirective, values, f"{where}.{pdb}")
        pdbs.append(spec.PdbSpec(pdb, con_id, str(table.get("plan", "")).upper(), directive))
    return tuple(pdbs)


def _require(where: str, what: str, word: str, words: Iterable[str]) -> None:
    """Raise ScenarioError if `word` is not in `words`; the text suggests the nearest of them."""
    if word not in words:
        raise ScenarioError(f"{where}: {what} {word!r}{suggestion(word, words)}")


def _check(scenario: Scenario, file: str) -> None:
    _check_release(scenario, file)
    _check_work(scenario, file)
    for plan in scenario.plans.values():
        _check_plan(plan, scenario.plans, f"{file}: plans.{plan.name}")
    _check_actives(scenario, file)
    _check_workloads(scenario, file)
    for number, alteration in enumerate(scenario.alterations, 1):
        _check_alteration(alteration, scenario, f"{file}: alterations[{number}]")
    _check_restarts(scenario, file)
    for number, statement in enumerate(scenario.script, 1):
        if statement.sid == OWN_SID:
            raise ScenarioError(f"{file}: script[{number}].sid: {OWN_SID} is presman's own session, which never shows")


def _check_release(scenario: Scenario, file: str) -> None:
    """Raise ScenarioError for a release that cannot be played, or for a view or a column that is not read on it."""
    try:
        release = Release.parse(scenario.header.release)
    except ValueError as error:
        raise ScenarioError(f"{file}: release: {error}") from None
    if why := why_not_played(release):
        raise ScenarioError(f"{file}: release: {why}")
    if not any(outage.views for outage in scenario.outages) and not scenario.views:
        return
    views = sorted({query.view_in(Scope.INSTANCE) for query in load(release).values()})
    for number, change in enumerate(scenario.views, 1):
        where = f"{file}: views[{number}]"
        _require(f"{where}.view", "no query reads", change.name, views)
        columns = ["INST_ID", *(column.name for column in columns_of(change.name, release))]
        for column, _ in (*change.where, *change.set):
            _require(where, f"{change.name} has no", column, columns)
    for number, outage in enumerate(scenario.outages, 1):
        for view in outage.views:
            where = f"{file}: outages[{number}].views"
            _require(where, "no query reads", view.upper().replace("GV$", "V$"), views)


def _check_work(scenario: Scenario, file: str) -> None:
    """Raise ScenarioError for a scenario that would take minutes before it shows anything."""
    size, warmup = scenario.header.size, scenario.header.warmup
    rate = sum(1 / (each.every or inf) + each.burst / (each.burst_every or inf) for each in scenario.streams)
    work = (
        ("plans", len(scenario.plans), 100),
        ("PDBs", len(scenario.pdbs), 300),
        ("entries in double brackets", sum(len(getattr(scenario, name)) for name, _ in ENTRIES.values()), 300),
        ("sessions", round(size * sum(pool.count for pool in scenario.pools)), 50_000),
        ("statements a minute", round(60 * size * rate), 500),
        ("statements in the warm-up", round(warmup * size * rate), 3_000),
        ("changes of plan a minute", round(60 * sum(1 / (each.every or inf) for each in scenario.changes)), 60),
        ("seconds of warm-up", round(warmup), 4 * 3600),
        ("minutes of warm-up, of all entries of sessions together,", round(warmup / 60 * len(scenario.pools)), 3_000),
    )
    for what, count, most in work:
        if count > most:
            raise ScenarioError(f"{file}: {count:,} {what} are too many to play: at most {most:,}")


def _check_alteration(change: spec.Alteration, scenario: Scenario, where: str) -> None:
    if change.directive is not None:
        _require(f"{where}.plan", "unknown plan", change.plan, scenario.plans)
        _require(f"{where}.group", f"{change.plan} has no", change.group, scenario.plans[change.plan].directives)
        _check_plan(scenario.altered(change).plans[change.plan], scenario.plans, f"{where}.directive")
    elif change.restart is not None and not 1 <= change.restart <= scenario.capacity.instances:
        raise ScenarioError(f"{where}.restart: there are {scenario.capacity.instances} instances")


def _check_restarts(scenario: Scenario, file: str) -> None:
    """Raise ScenarioError if all instances are down at the same time: then no view would have rows."""
    away = [(each.at, each.at + each.takes, each.restart) for each in scenario.alterations if each.restart is not None]
    for at, _, _ in away:
        if len({which for begin, end, which in away if begin <= at <= end}) == scenario.capacity.instances:
            raise ScenarioError(f"{file}: alterations: {at:g} seconds after the start no instance is open any more")


def _check_plan(plan: PlanSpec, plans: Mapping[str, PlanSpec], where: str) -> None:
    if not plan.directives:
        raise ScenarioError(f"{where}: has no directives")
    for target, directive in plan.directives.items():
        here = f"{where}.directives.{target}"
        if plan.method == "EMPHASIS" and directive.shares is not None:
            raise ScenarioError(f"{here}.shares: needs method = 'RATIO'; a plan of levels has mgmt_p1 to 8")
        if directive.switch_time is not None and not directive.switch_group:
            raise ScenarioError(f"{here}.switch_time: needs switch_group")
        known = ("", *_groups_of(plans.values()), *spec.ACTIONS)
        _require(f"{here}.switch_group", "unknown consumer group", directive.switch_group, known)
    for level in range(8):
        total = sum(directive.levels[level] for directive in plan.directives.values())
        if plan.method == "EMPHASIS" and total > 100:
            raise ScenarioError(f"{where}: mgmt_p{level + 1} adds up to {total}, more than 100 percent")
    _check_loops(plan, plans, (plan.name,), where, set())


def _check_loops(
    plan: PlanSpec, plans: Mapping[str, PlanSpec], path: tuple[str, ...], where: str, seen: set[str]
) -> None:
    for target in plan.directives:
        if target in path:
            raise ScenarioError(f"{where}: plan {target} contains itself")
        if target in seen:  # so each of its groups is named twice; its subplans would be traversed repeatedly
            raise ScenarioError(f"{where}: {target} is named more than once")
        if target in plans:
            seen.add(target)
            _check_loops(plans[target], plans, (*path, target), where, seen)


def _groups_of(plans: Iterable[PlanSpec]) -> set[str]:
    plans = list(plans)
    names = {plan.name for plan in plans}
    return {target for plan in plans for target in plan.directives if target not in names} | {OTHER_GROUPS}


def leaves_of(plan: PlanSpec, plans: Mapping[str, PlanSpec]) -> list[str]:
    """Return the consumer groups of `plan` and its subplans, in order."""
    found: list[str] = []
    for target in plan.directives:
        found += leaves_of(plans[target], plans) if target in plans else [target]
    return found


def _check_actives(scenario: Scenario, file: str) -> None:
    active = [("plan", scenario.header.plan)]
    active += [(f"pdbs.{pdb.name}.plan", pdb.plan) for pdb in scenario.pdbs]
    active += [(f"changes[{n}].plan", change.plan.upper()) for n, change in enumerate(scenario.changes, 1)]
    for where, plan_name in active:
        if not plan_name:
            continue
        _require(f"{file}: {where}", "unknown plan", plan_name, scenario.plans)
        leaves = leaves_of(scenario.plans[plan_name], scenario.plans)
        if OTHER_GROUPS not in leaves:
            raise ScenarioError(f"{file}: plans.{plan_name}: a top plan needs a directive for {OTHER_GROUPS}")
        if twice := sorted({leaf for leaf in leaves if leaves.count(leaf) > 1}):
            raise ScenarioError(f"{file}: plans.{plan_name}: {twice[0]} is named more than once")
    if scenario.header.plan and scenario.pdbs:
        raise ScenarioError(f"{file}: plan: in a CDB each PDB has its own plan; name the root's cdb_plan")
    names = [pdb.name for pdb in scenario.pdbs]
    _require(f"{file}: inside", "unknown PDB", scenario.header.inside, ("", *names))
    if bool(scenario.header.cdb_plan) != bool(scenario.pdbs):
        raise ScenarioError(f"{file}: cdb_plan and [pdbs] need each other")


def _check_workloads(scenario: Scenario, file: str) -> None:
    groups = _groups_of(scenario.plans.values()) | {"SYS_GROUP"}
    pdbs = {pdb.name for pdb in scenario.pdbs}
    tables = ("sessions", "statements", "script", "changes")
    entries = ((table, getattr(scenario, ENTRIES[table][0])) for table in tables)
    for where, entry in ((f"{table}[{n}]", entry) for table, own in entries for n, entry in enumerate(own, 1)):
        if scenario.plans:
            _require(f"{file}: {where}.group", "unknown consumer group", getattr(entry, "group", OTHER_GROUPS), groups)
        if pdbs:
            _require(f"{file}: {where}.pdb", "unknown PDB", entry.pdb, pdbs)
        instances = scenario.capacity.instances
        if getattr(entry, "instance", 1) > instances:
            raise ScenarioError(f"{file}: {where}.instance: there are {instances} instances")
        if entry.pdb and not pdbs:
            raise ScenarioError(f"{file}: {where}.pdb: the scenario has no [pdbs]")
