"""Outages: views that hang in a scenario have the same effects as in a real database."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from presman.analysis.assemble import analyse
from presman.base.errors import InputError
from presman.config.target_text import parse_target
from presman.polling.poller import Poller
from presman.rows.session_rows import Session, SessionCount
from presman.rows.snapshot import Problem, Section, Snapshot
from presman.sources.simulator.fields import ScenarioError
from presman.sources.simulator.loading import load_scenario
from presman.sources.simulator_source import SimulatorSource
from tests.analysis.test_simulated import Clock

OUTAGE = Path(__file__).with_name("outage.toml")
BEGIN = datetime(2026, 3, 14, 9, tzinfo=UTC)


def test_an_outage_hits_what_it_names_while_it_lasts() -> None:
    one, everything = load_scenario(OUTAGE).outages
    assert [one.hits(view, 40.0) for view in ("V$SESSION", "GV$SESSION", "GV$SESSION_LONGOPS")] == [True, True, False]
    assert [one.hits("GV$SESSION", now) for now in (39.9, 99.9, 100.0)] == [False, True, False]
    assert everything.hits("DBA_RSRC_PLANS", 160.0)


def test_an_outage_of_all_views_names_none(tmp_path: Path) -> None:
    """The error named the empty list, but not what to write."""
    path = tmp_path / "empty.toml"
    path.write_text('title = "t"\n[[outages]]\nat = 1\nlasts = 1\nviews = []\n')
    with pytest.raises(ScenarioError) as found:
        load_scenario(str(path))
    why = "outages[1].views: must not be empty: write one value or more, or leave the line out"
    assert str(found.value).endswith(why)


@pytest.mark.parametrize(
    ("view", "words"),
    [("V$SESION", "did you mean 'V$SESSION'?"), ("gv$sesion", "'V$SESION'; did you mean 'V$SESSION'?"),
     ("V$PARAMETER", "did you mean 'V$SYSTEM_PARAMETER'?"), ("V$DATAFILE", "no query reads 'V$DATAFILE'")],
)  # fmt: skip
def test_a_view_that_no_query_reads_cannot_be_away(view: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(f'title = "t"\n[[outages]]\nat = 1\nlasts = 1\nviews = ["V$SESSION", "{view}"]\n')
    with pytest.raises(ScenarioError) as found:
        load_scenario(str(path))
    assert "outages[1].views: no query reads " in str(found.value)
    assert words in str(found.value)


def test_a_view_may_be_named_as_the_cluster_has_it(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text('title = "t"\n[[outages]]\nat = 1\nlasts = 1\nviews = ["gv$session", "DBA_RSRC_PLANS"]\n')
    (one,) = load_scenario(str(path)).outages
    assert [one.hits(view, 1.5) for view in ("V$SESSION", "GV$SESSION", "DBA_RSRC_PLANS", "V$PDBS")] == [True] * 3 + [
        False
    ]


@pytest.mark.parametrize(("release", "words"), [("99", "newer than 23.26"), ("10.2", "older than 11.2")])
def test_a_release_of_which_no_views_are_known_cannot_be_played(release: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(f'title = "t"\nrelease = "{release}"\n')
    with pytest.raises(ScenarioError, match=f"release: release {release} is {words}"):
        load_scenario(str(path))
    with pytest.raises(InputError, match=words):
        parse_target(f"demo:storm?release={release}")


def test_a_view_that_answers_again_is_whole_at_once() -> None:
    """The count of idle sessions was read later, so V$SESSION was called unavailable although it was listed."""
    clock = Clock()
    poller = Poller(SimulatorSource(OUTAGE, clock=clock, start=BEGIN), clock=clock)
    poller.open()
    for second in range(0, 130, 2):
        clock.now = float(second)
        snapshot = poller.poll()
        if snapshot.section(Session).problem is None:
            assert snapshot.problems() == {}
            failed = Section(problem=Problem("", "no answer in time", "GV$SESSION", late=True))
            uncounted = replace(snapshot, sections={**snapshot.sections, SessionCount: failed})
            assert analyse(None, uncounted).why_unavailable("V$SESSION") == ""
        else:
            assert analyse(None, snapshot).why_unavailable("V$SESSION")


def test_an_outage_of_one_view_then_of_all() -> None:
    clock = Clock()
    poller = Poller(SimulatorSource(OUTAGE, clock=clock, start=BEGIN), clock=clock)
    poller.open()
    previous: Snapshot | None = None
    late: dict[float, tuple[int, float | None]] = {}
    for second in range(0, 240, 2):
        clock.now = float(second)
        snapshot = poller.poll()
        reading = analyse(previous, snapshot)
        late[second], previous = (len(reading.late), reading.stale), snapshot
    assert late[38] == (0, 0.0)
    assert late[40] == (1, 0.0)
    assert late[98] == (1, 0.0)
    assert late[148] == (0, 0.0)
    assert late[150][0] > 10
    assert late[178][1] == 30.0, "what is newest was read at second 148"
    assert late[238] == (0, 0.0)
