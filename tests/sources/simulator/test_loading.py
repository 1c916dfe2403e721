"""Scenario files: presman's own can be loaded; invalid ones are refused in one line that names file and key."""

from __future__ import annotations

import os
from dataclasses import MISSING, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from presman.config.target import scenarios
from presman.sources.simulator import scenario as scenario_module
from presman.sources.simulator.fields import ScenarioError
from presman.sources.simulator.loading import FOLDER, load_scenario
from presman.sources.simulator.scenario import (
    Capacity,
    Directive,
    PdbDirective,
    PlanChange,
    ScenarioHeader,
    ScriptedStatement,
    SessionPool,
    StatementStream,
    ViewChange,
)

GOOD = """
plan = "P"
[plans.P.directives]
BATCH = { mgmt_p1 = 50, utilization_limit = 40 }
OTHER_GROUPS = { mgmt_p1 = 50 }
[[sessions]]
name = "s"
group = "BATCH"
count = 3
"""


def refused(tmp_path: Path, text: str) -> str:
    file = tmp_path / "case.toml"
    file.write_text(text)
    with pytest.raises(ScenarioError) as error:
        load_scenario(file)
    message = str(error.value)
    assert "\n" not in message
    assert message.startswith((str(file), f"cannot read {file}"))
    return message.removeprefix(str(file))


def test_shipped_scenarios() -> None:
    names = list(scenarios())
    others = ["mixed", "noplan", "pdb", "queueing", "quiesce", "quiet", "rac", "storm", "tenants", "throttled"]
    assert names == ["adb", "changes", "holders", "locked", "locked_rac", "lost", *others, "unclear", "unclear_rac"]
    for name in names:
        assert load_scenario(name).header.title


def test_values(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(GOOD)
    scenario = load_scenario(file)
    assert scenario.name == "mine"
    assert scenario.plans["P"].directives["BATCH"].utilization_limit == 40
    assert (scenario.capacity.target, scenario.capacity.maximum) == (128, 320), "the defaults of 16 CPUs"
    assert scenario.pools[0].count == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("count = 3", "cuont = 3"), ": sessions[1]: unknown key 'cuont'; did you mean 'count'?"),
        (("count = 3", ""), ": sessions[1]: key 'count' is missing"),
        (("count = 3", 'count = "3"'), ": sessions[1].count: expected a whole number, got '3'"),
        (("count = 3", "count = 0"), ": sessions[1].count: must be from 1 to 5000, got 0"),
        (("count = 3", 'count = 3\ncpu = "5 parsecs"'), ": sessions[1].cpu: '5 parsecs' is not a duration"),
        (("count = 3", "count = 3\ncpu = -1"), ": sessions[1].cpu: must be longer than 0"),
        (("count = 3", "count = 3\ncpu = nan"), ": sessions[1].cpu: must be at most 3650d, got nan"),
        (("count = 3", 'count = 3\ncpu = "3651d"'), ": sessions[1].cpu: must be at most 3650d, got '3651d'"),
        (("count = 3", f"count = 3\ncpu = {'9' * 400}"), ": sessions[1].cpu: must be at most 3650d, got 999"),
        (
            ("count = 3", "count = 3\nwave = { dept = 1 }"),
            ": sessions[1].wave: unknown key 'dept'; did you mean 'depth'",
        ),
        (('group = "BATCH"', 'group = "BACTH"'), ": sessions[1].group: unknown consumer group 'BACTH'; did you mean"),
        (('plan = "P"', 'plan = "Q"'), ": plan: unknown plan 'Q'"),
        (('plan = "P"', 'plann = "P"'), ": unknown key 'plann'; did you mean 'plan'?"),
        (("mgmt_p1 = 50, u", "mgmt_p1 = 60, u"), ": plans.P: mgmt_p1 adds up to 110, more than 100 percent"),
        (("mgmt_p1 = 50, u", "mgmt_p9 = 60, u"), ": plans.P.directives.BATCH: unknown key 'mgmt_p9'; did you mean"),
        (("mgmt_p1 = 50, u", "shares = 60, u"), ": plans.P.directives.BATCH.shares: needs method = 'RATIO'"),
        (("limit = 40", "limit = 400"), ": plans.P.directives.BATCH.utilization_limit: must be from 1 to 100, got 400"),
        (("OTHER_GROUPS", "SOME_GROUPS"), ": plans.P: a top plan needs a directive for OTHER_GROUPS"),
        (("[[sessions]]", "[sessions]"), ": sessions: write [[sessions]] with double brackets"),
        (("[[sessions]]", "[[sesions]]"), ": unknown table [sesions]; did you mean 'sessions'?"),
        (("[[sessions]]", "[[sessions]"), ": not valid TOML"),
        (("OTHER_GROUPS = ", "P = { mgmt_p2 = 1 }\nOTHER_GROUPS = "), ": plans.P: plan P contains itself"),
        (('plan = "P"', 'plan = "P"\nrelease = "new"'), ": release: not an Oracle release: 'new'"),
        (('plan = "P"', 'plan = "P"\ncapacity = { cpu_count = 8, host_cpus = 4 }'), ": capacity: cpu_count 8 is more"),
        (
            ('plan = "P"', 'plan = "P"\ncapacity = { parallel_servers_target = 8, parallel_max_servers = 4 }'),
            ": capacity: parallel_servers_target 8 is more than parallel_max_servers 4",
        ),
        (("count = 3", 'count = 3\npdb = "X"'), ": sessions[1].pdb: the scenario has no [pdbs]"),
        (
            ("utilization_limit = 40", 'switch_time = "5s"'),
            ": plans.P.directives.BATCH.switch_time: needs switch_group",
        ),
        (
            ("utilization_limit = 40", 'switch_time = 5, switch_group = "BATHC"'),
            ": plans.P.directives.BATCH.switch_group: unknown consumer group 'BATHC'; did you mean 'BATCH'?",
        ),
        (
            ("utilization_limit = 40", 'parallel_stmt_critical = "BYPAS_QUEUE"'),
            ": plans.P.directives.BATCH.parallel_stmt_critical: must be one of FALSE, QUEUE, BYPASS_QUEUE",
        ),
        (
            ("[[sessions]]", '[[statements]]\nname = "x"\ngroup = "BATCH"\n[[sessions]]'),
            ": statements[1]: needs 'every'",
        ),
        (
            ("[[sessions]]", '[[script]]\nat = 0\ngroup = "BATCH"\ndop = 2\nseconds = 1\ninstance = 2\n[[sessions]]'),
            ": script[1].instance: there are 1 instances",
        ),
        *(
            (
                (
                    "[[sessions]]",
                    f'[[script]]\nat = 0\ngroup = "BATCH"\ndop = 2\nseconds = 1\nblocked_by = {wrong}\n[[sessions]]',
                ),
                ": script[1].blocked_by: expected a SID, or INSTANCE:SID in quotes, got ",
            )
            for wrong in ('"2:"', '"0:88"', "0", "70000", "true", '"@2"')
        ),
        (("[[sessions]]", '[[changes]]\nat = "1s"\nplan = "PP"\n[[sessions]]'), ": changes[1].plan: unknown plan 'PP'"),
        *(
            (("[[sessions]]", f"[[views]]\nat = 0\nlasts = 1\n{wrong}\n[[sessions]]"), message)
            for wrong, message in (
                ('view = "V$SESION"', ": views[1].view: no query reads 'V$SESION'; did you mean 'V$SESSION'?"),
                (
                    'view = "GV$SESSION"\nset = { STATES = "" }',
                    ": views[1]: V$SESSION has no 'STATES'; did you mean 'STATE'?",
                ),
                ('view = "V$SESSION"\nwhere = { SID = true }', ": views[1].where: SID: expected a text or a number"),
                ('view = "V$SESSION"\nwhere = 5', ": views[1].where: expected a table of columns, got 5"),
            )
        ),
    ],
)
def test_refused(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    assert change[0] in GOOD
    assert refused(tmp_path, GOOD.replace(*change)).startswith(message)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"cannot read .*missing\.toml: No such file"):
        load_scenario(tmp_path / "missing.toml")
    with pytest.raises(ScenarioError, match="cannot read"):
        load_scenario(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'title = "\xe4"')
    with pytest.raises(ScenarioError, match="not valid TOML"):
        load_scenario(tmp_path / "latin.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".".join(["a"] * 10_000) + " = 1", ": it has a line of more than 1,000 bytes"),
        ("x = [" + "[\n" * 5_000, ": its tables or lists are nested too deeply"),
        ("# more\n" * 40_000, ": it has more than 256,000 bytes"),
    ],
)
def test_a_file_that_would_take_gigabytes_to_read_is_refused(text: str, message: str, tmp_path: Path) -> None:
    assert refused(tmp_path, text).endswith(message)


_STREAM = '[[statements]]\nname = "s"\ngroup = "BATCH"\n'


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("".join(f"[plans.Q{n}.directives.G]\n" for n in range(100)), "101 plans are too many to play: at most 100"),
        ('[[sessions]]\nname = "s"\ngroup = "BATCH"\ncount = 1\n' * 300, "301 entries in double brackets"),
        ('[[sessions]]\nname = "s"\ngroup = "BATCH"\ncount = 5000\n' * 10, "50,003 sessions"),
        (
            '[[sessions]]\nname = "s"\ngroup = "BATCH"\ncount = 1\n' * 60,
            "3,660 minutes of warm-up, of all entries of sessions together, are too many to play: at most 3,000",
        ),
        (_STREAM + 'every = "1ms"\n', "60,000 statements a minute"),
        (_STREAM + 'burst = 1000\nburst_every = "1s"\n', "60,000 statements a minute"),
        (_STREAM + 'every = "500ms"\n', "7,200 statements in the warm-up"),
        ('[[changes]]\nat = 0\nplan = "P"\nevery = "1ms"\n', "60,000 changes of plan a minute"),
    ],
)
def test_scenarios_that_take_minutes_to_start_are_refused(more: str, message: str, tmp_path: Path) -> None:
    assert refused(tmp_path, GOOD + more).startswith(f": {message}")


def test_a_warm_up_of_a_day_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path, 'warmup = "24h"\n' + GOOD).startswith(": 86,400 seconds of warm-up are too many")


def test_a_subplan_named_twice_is_refused_at_once(tmp_path: Path) -> None:
    pairs = (f"[plans.{side}{n}.directives]\nA{n + 1} = {{}}\nB{n + 1} = {{}}\n" for n in range(40) for side in "AB")
    message = refused(tmp_path, GOOD + "".join(pairs) + "[plans.A40.directives.X]\n[plans.B40.directives.X]\n")
    assert message.endswith("A40 is named more than once")


def test_readme_names_every_key() -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    kinds = (
        ScenarioHeader,
        Capacity,
        Directive,
        PdbDirective,
        SessionPool,
        StatementStream,
        ScriptedStatement,
        PlanChange,
        ViewChange,
    )
    for kind in kinds:
        for field in fields(kind):
            assert f"`{field.name}`" in readme, f"{kind.__name__}.{field.name}"
    for name in scenarios():
        assert f"| `{name}` |" in readme


def test_a_scenario_of_another_size_has_all_of_it_in_proportion() -> None:
    """A quarter of `mixed`: 16 of 64 servers, a statement every 160 s in place of 40; nothing becomes 0."""
    whole = load_scenario("mixed")
    small = whole.sized(0.25)
    assert (small.capacity.cpu_count, small.capacity.host_cpus, small.capacity.parallel_servers_target) == (4, 6, 16)
    assert small.capacity.io_mb_per_second == 625.0
    assert [(each.every, each.burst, each.sessions) for each in small.streams] == [
        (160.0, 1, 2), (None, 1, 1), (520.0, 1, 1), (2640.0, 1, 1)
    ]  # fmt: skip
    assert [pool.count for pool in small.pools] == [4, 2, 1]
    assert whole.sized(1.0) is whole
    nobody = replace(whole, streams=tuple(replace(each, sessions=0) for each in whole.streams))
    assert {each.sessions for each in nobody.sized(8.0).streams} == {0}


def error_of(read: Any, value: object) -> str:
    """Return the error of a key for a value, "" if it accepts the value."""
    try:
        read(value)
    except (ValueError, ScenarioError) as error:
        return str(error).partition(", got")[0].removeprefix("'?' ")
    return ""


def test_keys_keep_their_bounds_and_defaults() -> None:
    """Each key with its default, and its errors for values that are too small, too large, or of another type."""
    kinds = [kind for kind in vars(scenario_module).values() if isinstance(kind, type) and is_dataclass(kind)]
    lines = []
    for kind in kinds:
        for field in fields(kind):
            if "read" in field.metadata:
                default = "" if field.default is MISSING else f" = {field.default!r}"
                errors = dict.fromkeys(error_of(field.metadata["read"], value) for value in (-(10**14), 10**14, "?"))
                lines.append(f"{kind.__name__}.{field.name}{default}: {', '.join(filter(None, errors))}\n")
    golden = Path(__file__).parent / "golden/keys.txt"
    if os.environ.get("PRESMAN_UPDATE_GOLDEN"):
        golden.write_text("".join(lines))
    assert "".join(lines) == golden.read_text()
    capacity = Capacity(cpu_count=8)
    assert (capacity.target, capacity.maximum, capacity.degree_limit) == (64, 160, 8)
    assert (capacity.host, capacity.caged, Capacity(cpu_count=8, host_cpus=16).caged) == (8, False, True)
