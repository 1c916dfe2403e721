"""A view that does not answer: what the others still tell is told, and of the rest that it is not known."""

from __future__ import annotations

from pathlib import Path

from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.fleet import key_figures_of
from presman.analysis.readings.reading import Reading
from presman.figures.drawing.lines import plain
from presman.output.plugin_check import PluginState, result
from presman.output.why_answer import AskedStatement, ReasonHistory, as_text, why_unseen
from presman.sources.simulator_source import SimulatorSource
from presman.tabs.alerts import alerts, no_queue
from presman.tabs.choices import Link
from tests.analysis.test_simulated import Clock, play
from tests.scenarios import FOLDER


def unseen(folder: Path, *views: str) -> Reading:
    """Return the second reading of the scenario storm in which some views never answer."""
    outage = f"[[outages]]\nat = 0\nlasts = 36000\nviews = {list(views)}\n" if views else ""
    file = folder / "storm.toml"
    file.write_text(f"{(FOLDER / 'storm.toml').read_text(encoding='utf-8')}\n{outage}", encoding="utf-8")
    clock = Clock()
    return list(play(SimulatorSource(str(file), clock=clock), clock, 2, 1.0))[-1]


def told(found: Reading, who: str) -> str:
    return as_text(found, AskedStatement.of(who), ReasonHistory())


def test_who_cannot_be_seen_is_not_said_to_be_nowhere(tmp_path: Path) -> None:
    whole, no_sessions, no_servers = (unseen(tmp_path, *views) for views in ((), ("V$SESSION",), ("V$PX_SESSION",)))
    queued, holder = whole.queue[0], next(each for each in whole.running if each.idle is not None)
    first, idle = f"{queued.sid}", f"{holder.sid}"
    assert told(whole, "1").startswith("session 1 is neither queued nor running")
    for reading, who in ((no_sessions, first), (no_servers, idle)):
        assert told(reading, who).startswith(f"cannot tell whether session {who} is queued or runs in parallel: GV$")
        assert why_unseen(reading, AskedStatement.of(who))
    assert told(no_servers, first).startswith(f"{queued.sql_id} of "), "V$SESSION tells it"
    assert told(no_sessions, idle).splitlines()[0].endswith(f"holds {holder.servers} servers")
    assert "cannot tell whether it runs or is idle" in told(no_sessions, idle)


def test_a_queue_that_is_only_counted_is_an_alert_with_its_number(tmp_path: Path) -> None:
    whole, blind = unseen(tmp_path), unseen(tmp_path, "V$SESSION")
    number = len(whole.queue)
    assert blind.queued_by_group() == {row.title: row.px_queued for row in whole.cluster_groups() if row.px_queued}
    assert sum(blind.queued_by_group().values()) == number > 0
    by_group = {alert.subject: alert.short for alert in wrong(blind) if alert.key == "queue_waits"}
    assert by_group == {name: f"{name}: {n} queued, why is not known" for name, n in blind.queued_by_group().items()}
    line = " ".join(each.text for each in alerts(blind, Link()))
    assert "Whether there is a queue" not in line
    assert "No starved group" not in line
    assert f"{number} statements are queued (by V$RSRC_CONSUMER_GROUP)" in plain(no_queue(blind))
    checked = result(blind, (), ())
    assert checked.state is PluginState.WARNING
    assert f"queued={number};" in checked.line
    assert "servers_idle_held=U;" in checked.line, "who of the holders is idle V$SESSION tells"
    member = key_figures_of(blind)
    assert (member.queued, member.severity) == (number, "warn")


def test_without_a_view_that_counts_it_nothing_is_said_of_the_queue(tmp_path: Path) -> None:
    blind = unseen(tmp_path, "V$SESSION", "V$RSRC_CONSUMER_GROUP")
    assert blind.queued_by_group() == {}
    assert key_figures_of(blind).queued is None
    assert "Whether a statement is queued is not known" in plain(no_queue(blind))
