"""Changed settings: `whatif` and `advise` say the same everywhere if settings changed during the observation."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from presman.cli.whatif_command import WatchedPlan
from tests.recording.recorded import polled


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ((("DAY", 64), ("DAY", 64)), []),
        ((("DAY", 64), ("DAY", None)), []),
        ((("DAY", 64), ("NIGHT", 64)), ["the plan"]),
        ((("DAY", 64), ("DAY", 96)), ["PARALLEL_SERVERS_TARGET"]),
        ((("DAY", 64), ("NIGHT", 96)), ["the plan", "PARALLEL_SERVERS_TARGET"]),
    ],
)
def test_a_change_of_the_plan_or_the_target_is_noted(
    changes: tuple[tuple[str, int | None], ...], expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    watched = WatchedPlan(lambda _: None)
    for (snapshot, reading), (plan, target) in zip(polled("mixed", len(changes)), changes, strict=True):
        servers = replace(reading.header.servers, target=target)
        changed = replace(reading, header=replace(reading.header, plan=plan, servers=servers))
        came: Any = SimpleNamespace(previous=None, snapshot=snapshot, reading=changed)
        watched.take(came)
    watched.plan()
    words = [f"presman: {what} was changed meanwhile: statements are replayed under the last one" for what in expected]
    assert capsys.readouterr().err.splitlines() == words
