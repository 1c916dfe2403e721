"""Changes by an administrator: a parameter, a directive, an instance restart; and the scenario with them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path

import pytest

from presman.rows.group_rows import PlanDirective, RsrcPlan
from presman.rows.instance_rows import Database, Instance, Parameter
from presman.rows.session_rows import Session
from presman.sources.simulator.fields import ScenarioError
from presman.sources.simulator.loading import FOLDER, load_scenario
from tests.scenarios import with_short_past
from tests.sources.simulator.conftest import START, Played

Play = Callable[..., Played]


@pytest.fixture
def changes(play: Play) -> Played:
    return play(with_short_past("changes"), seed=1)


def target(played: Played) -> tuple[set[str], set[int]]:
    """Return PARALLEL_SERVERS_TARGET from the parameter's view and from the plan's view."""
    parameters = {row.value for row in played.rows(Parameter) if row.name == "parallel_servers_target"}
    return parameters, {row.parallel_servers_total for row in played.rows(RsrcPlan)}


def limit(played: Played) -> int | None:
    rows = played.rows(PlanDirective)
    return next(
        row.parallel_server_limit for row in rows if (row.plan, row.group_or_subplan) == ("NIGHT_PLAN", "REPORTS")
    )


def test_a_target_and_a_directive_are_altered_at_their_instant_and_hold(changes: Played) -> None:
    """The target of the cluster is twice that of an instance, and the group may hold its percentage of it."""
    queue = changes.source.simulation.workload.queue
    assert (target(changes.to(129)), queue.limits.target) == (({"96"}, {96}), 192)
    assert (target(changes.to(131)), queue.limits.target) == (({"48"}, {48}), 96)
    assert limit(changes.to(199)) == 75
    assert limit(changes.to(201)) == 50
    (group,) = (group for group in queue.limits.rules if group.name == "REPORTS")
    assert [pool.limit for pool in queue.limits.rule(group).pools] == [48], "50 % of 96"


def test_no_view_has_a_row_of_an_instance_that_is_down_and_it_comes_back_with_another_start(changes: Played) -> None:
    def seen(record: type[Instance | Session | Parameter]) -> set[int]:
        return {row.inst_id for row in changes.rows(record)}

    started = {row.inst_id: row.startup_time for row in changes.to(299).rows(Instance)}
    changes.to(301)
    assert seen(Instance) == seen(Session) == seen(Parameter) == {1}
    assert changes.rows(Database)
    changes.to(391)
    assert seen(Instance) == seen(Session) == seen(Parameter) == {1, 2}
    now = {row.inst_id: row.startup_time for row in changes.rows(Instance)}
    assert now == {1: started[1], 2: START + timedelta(seconds=390)}


@pytest.mark.parametrize(
    ("altered", "message"),
    [
        ("at = 1", "needs one of 'parallel_servers_target', 'directive' and 'restart'"),
        ("at = 1\nrestart = 1\nparallel_servers_target = 4", "needs one of"),
        ("at = 1\nrestart = 3", ".restart: there are 2 instances"),
        ("at = 1\ndirective = { mgmt_p1 = 5 }", "'directive' needs 'plan' and 'group'"),
        ('at = 1\nplan = "NIHGT_PLAN"\ngroup = "SHOP"\ndirective = {}', "unknown plan 'NIHGT_PLAN'; did you mean"),
        ('at = 1\nplan = "NIGHT_PLAN"\ngroup = "SHOPS"\ndirective = {}', "NIGHT_PLAN has no 'SHOPS'; did you mean"),
        (
            'at = 1\nplan = "NIGHT_PLAN"\ngroup = "SHOP"\ndirective = { mgmt_p2 = 90 }',
            "mgmt_p2 adds up to 160, more than 100 percent",
        ),
    ],
)
def test_mistakes_are_reported(tmp_path: Path, altered: str, message: str) -> None:
    text = (FOLDER / "changes.toml").read_text(encoding="utf-8")
    path = tmp_path / "case.toml"
    path.write_text(f"{text}\n[[alterations]]\n{altered}\n", encoding="utf-8")
    with pytest.raises(ScenarioError) as error:
        load_scenario(path)
    assert "alterations[4]" in str(error.value)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("scenario", "altered", "is_refused"),
    [
        ("mixed", 'at = "5s"\nrestart = 1', True),
        ("lost", 'at = "60s"\nrestart = 1', True),
        ("lost", 'at = "100s"\nrestart = 1', False),
        ("lost", 'at = "60s"\nrestart = 2', False),
    ],
)
def test_one_instance_at_least_stays_open(tmp_path: Path, scenario: str, altered: str, is_refused: bool) -> None:
    """Without an open instance the next statement could not connect: ZeroDivisionError in the middle of a demo."""
    path = tmp_path / "case.toml"
    text = (FOLDER / f"{scenario}.toml").read_text(encoding="utf-8")
    path.write_text(f"{text}\n[[alterations]]\n{altered}\n", encoding="utf-8")
    with pytest.raises(ScenarioError, match="no instance is open any more") if is_refused else nullcontext():
        load_scenario(path)
