"""A call that has used its SWITCH_TIME, without the rest of the simulator."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from presman.sources.simulator.workload import Workload


def switched(
    target: str, *, cpu: float = 65.0, before: float = 5.0, for_call: bool = False, time: float | None = 60.0
) -> Any:
    """A call of a group with this directive, which records what happens to it."""
    directive = SimpleNamespace(switch_time=time, switch_group=target, switch_for_call=for_call)
    call = SimpleNamespace(
        group=SimpleNamespace(con_id=3), cpu=cpu, cpu_at_switch=before, switched="", done=[],
        session=SimpleNamespace(action=None, switched=""),
    )  # fmt: skip
    leaves = SimpleNamespace(get=lambda group: SimpleNamespace(directive=directive) if group is call.group else None)
    plans = SimpleNamespace(leaves=leaves, resolve=lambda con_id, name: (con_id, name))
    workload: Any = SimpleNamespace(
        _cluster=SimpleNamespace(plans=plans, now=9.0), running=[call],
        _cancel=lambda each, killed: each.done.append("killed" if killed else "cancelled"),
        _move=lambda each, group: each.done.append(group),
    )  # fmt: skip
    Workload.switch(workload)
    return call


@pytest.mark.parametrize(
    ("target", "done", "action"),
    [
        ("CANCEL_SQL", ["cancelled"], "CANCEL_SQL"),
        ("KILL_SESSION", ["killed"], "KILL_SESSION"),
        ("LOG_ONLY", [], "LOG_ONLY"),
        ("LOW", [(3, "LOW")], "SWITCH TO LOW"),
    ],
)
def test_it_is_cancelled_killed_noted_or_moved(target: str, done: list[Any], action: str) -> None:
    call = switched(target)
    assert (call.done, call.session.action, call.cpu_at_switch) == (done, (action, "SWITCH_CPU_TIME", 9.0), 65.0)
    assert (call.switched, call.session.switched) == (("LOW", "LOW") if target == "LOW" else ("", ""))


def test_for_a_call_the_session_stays_in_its_group() -> None:
    call = switched("LOW", for_call=True)
    assert (call.switched, call.session.switched) == ("LOW", "")


@pytest.mark.parametrize(("cpu", "time"), [(64.9, 60.0), (900.0, None)])
def test_before_its_time_and_without_one_nothing_is_done(cpu: float, time: float | None) -> None:
    call = switched("KILL_SESSION", cpu=cpu, time=time)
    assert (call.done, call.session.action, call.cpu_at_switch) == ([], None, 5.0)
