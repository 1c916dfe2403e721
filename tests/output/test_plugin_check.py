"""The line of a plug-in: alerts in full, alerts in short, and what is not known; by hand."""

from __future__ import annotations

import fcntl
import os
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from presman.analysis.alerts.alert_settings import AlertSetting
from presman.analysis.readings.reading import Alert, Evidence, Reading, Severity, UnavailableView
from presman.config.alert_lines import read_alerts
from presman.output import plugin_check
from presman.output.plugin_check import CheckedTarget, PluginState, _locked, _once, result
from tests.output.readings import reading


def alert(number: int, state: Severity = "warn", key: str = "queue_length") -> Alert:
    return Alert(state, "▲", f"text {number}", f"short {number}", key, f"G{number}")


def judged(*alerts: Alert, lacking: str = "") -> Reading:
    basis = (Evidence("queue", ("V$SESSION",), lacking),)
    return replace(reading(), alerts=alerts, basis=basis, late=())


def line(found: Reading, *lacking: str) -> tuple[PluginState, str]:
    check = result(found, (), lacking)
    return check.state, check.line.partition(" | ")[0]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1, "text 0"),
        (2, "text 0; short 1"),
        (4, "text 0; short 1; short 2; short 3"),
        (5, "text 0; short 1; short 2; short 3; and 1 more"),
        (7, "text 0; short 1; short 2; short 3; and 3 more"),
    ],
)
def test_the_worst_alert_is_in_full_three_are_short_and_others_counted(number: int, text: str) -> None:
    found = judged(*(alert(each) for each in range(number)))
    assert line(found) == (PluginState.WARNING, f"PRESMAN WARNING - ORCL: {text}")


def test_the_worst_decides_and_comes_first() -> None:
    found = judged(alert(1), alert(2, "note"), alert(3, "bad"))
    assert line(found) == (PluginState.CRITICAL, "PRESMAN CRITICAL - ORCL: text 3; short 1")
    more = result(found, (), ()).more
    assert more[:3] == ("CRITICAL queue_length: text 3", "WARNING queue_length: text 1", "note queue_length: text 2")


def test_the_length_of_a_queue_comes_first() -> None:
    waits = Alert("warn", "▲", "G1: head 7xq is short by 16.", "G1: 3 queued, head 5:00", "queue_waits", "G1")
    assert line(judged(waits))[1].endswith(" - ORCL: G1: 3 queued, head 5:00: head 7xq is short by 16.")
    critical = waits._replace(words="G1: 3 wait, the first 5:00, together 1 h; head 7xq is short by 16.")
    assert line(judged(critical))[1].endswith(f" - ORCL: {critical.text}"), "it says how many wait, and how long"


def test_clauses_of_the_worst_go_before_another_queue_does() -> None:
    queues = [Alert("warn", "▲", f"G{n}: text", f"G{n}: 3 queued", "queue_waits", f"G{n}") for n in range(1, 6)]
    clauses = "; ".join(f"clause {n} of the worst, which is long" for n in range(10))
    worst = Alert("bad", "✕", f"G0: head {clauses}", "G0: 9 queued", "queue_waits", "G0")
    text = line(judged(worst, alert(9), *queues))[1].partition("ORCL: ")[2]
    assert text.startswith("G0: 9 queued: head clause 0 of the worst, which is long; ")
    assert text.endswith("which is long; " + "; ".join(["short 9", *(each.short for each in queues)]))
    assert 400 - len("; clause 0 of the worst, which is long") < len(text) <= 400, "no clause is dropped without need"


def test_text_is_cut_between_words() -> None:
    found = judged(alert(1)._replace(brief=" ".join(["words"] * 100), words=" ".join(["wordier"] * 100)))
    text = line(found)[1].partition("ORCL: ")[2]
    assert text == " ".join([*["words"] * 66, "…"])


def test_no_sentence_is_printed_twice() -> None:
    found = result(judged(alert(1), alert(2, "bad")), (), (), verbose=True)
    assert found.line.startswith("PRESMAN CRITICAL - ORCL: short 2; short 1 |")
    assert [line for line in found.more if "text 2" in line] == ["CRITICAL queue_length: text 2"]


def test_a_plan_that_no_view_shows_is_not_called_none() -> None:
    none = replace(reading(), header=replace(reading().header, plan=""))
    blind = replace(none, unseen=(UnavailableView("GV$RSRC_PLAN", "GV$RSRC_PLAN is not there"),))
    shown = [result(each, [], (), verbose=True).more[-1].partition(";")[0] for each in (none, blind)]
    assert shown == ["plan none", "plan not known"]


def test_unknown_facts_are_no_ok_unless_accepted() -> None:
    found = judged(lacking="V$SESSION: no grant")
    found = replace(found, groups=tuple(each._replace(px_queued=0) for each in found.groups))
    state, text = line(found)
    assert state is PluginState.UNKNOWN
    assert text == "PRESMAN UNKNOWN - ORCL: not known: whether there is a queue (V$SESSION: no grant)"
    queued = line(replace(found, groups=reading().groups))
    assert queued[1].endswith("not known: which statements are queued (V$SESSION: no grant)")
    assert result(found, (AlertSetting("not_known", severity="off"),), ()).state is PluginState.OK
    assert line(judged(), "a", "b")[1].endswith("not known: a; b")
    assert line(judged(), "a", "b", "c")[1].endswith("not known: a; b …")
    assert line(judged(alert(1)), "a") == (PluginState.WARNING, "PRESMAN WARNING - ORCL: text 1; not known: a")


def test_a_text_is_never_taken_for_performance_data() -> None:
    assert line(judged(alert(1)._replace(words="a | b")))[1].endswith("a / b")


def test_a_run_waits_for_another_and_not_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.lock"
    other = os.open(path, os.O_CREAT | os.O_RDWR)
    fcntl.flock(other, fcntl.LOCK_EX)
    mine, slept = os.open(path, os.O_RDWR), []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            fcntl.flock(other, fcntl.LOCK_UN)

    monkeypatch.setattr(plugin_check.time, "sleep", sleep)
    _locked(mine)
    assert len(slept) == 3
    clock = iter([100.0, 101.9, 102.0, 0.0])
    monkeypatch.setattr(plugin_check.time, "monotonic", lambda: next(clock))
    with pytest.raises(TimeoutError):
        _locked(other)
    assert (len(slept), next(clock)) == (4, 0.0), "two seconds"
    os.close(mine)
    os.close(other)


def test_a_reason_that_the_line_names_once_is_not_repeated() -> None:
    alert = Alert("warn", "", "2 are queued (longest 1:00): BATCH is short by 16.", "")
    assert _once(alert, ["5 more", "BATCH (BATCH is short by 16.)"]).text == "2 are queued (longest 1:00)"
    assert _once(alert, ["5 more", "BATCH"]) is alert


def test_runs_of_a_check_remember_since_when_an_alert_lasts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    settings = read_alerts("queue_waits for=2m")
    problems: list[str] = []
    states = []
    for seconds in (0, 60, 120):
        found = replace(reading(), at=reading().at + timedelta(seconds=seconds))
        checked, _, _ = CheckedTarget("prod", (), problems.append).judged(found, settings, 1.0, endless=True)
        states += [each.state for each in checked.alerts if each.key == "queue_waits"]
    assert (states, problems) == (["note", "note", "warn"], [])
