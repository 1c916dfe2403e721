"""The on_alert command: no shell, hostile text as JSON, limits, and its failures."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from presman.analysis.alerts.judge import AlertChange, AlertChanges, AlertTimes, ReportedAlert, put_back
from presman.analysis.readings.reading import Alert
from presman.base import secret
from presman.config.alert_lines import read_alerts
from presman.output.alert_notifier import AlertCommand, AlertNotifier, event, notifier_of, run
from presman.output.plugin_check import CheckState, state_of
from presman.rows.queries import DetailLevel
from tests.output.readings import reading
from tests.patience import until

AT = datetime(2026, 3, 1, tzinfo=UTC)
HOSTILE = 'x"; rm -rf / #$(id)`id`\n|é'


def script(tmp_path: Path, text: str) -> str:
    path = tmp_path / "hook"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return str(path)


def test_the_event_is_json_on_standard_input_and_never_an_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRESMAN_PASSWORD", "tiger")
    secret.take_from_environment()  # as presman does first of all
    hook = script(tmp_path, f'echo "$# $1 [$PRESMAN_PASSWORD]" > {tmp_path}/args; cat > {tmp_path}/event')
    data = event(AlertChange("began", "cpu_starved", HOSTILE, "bad", HOSTILE, 0.0, AT.timestamp()), "prod", "DW", 2)
    assert data.isascii()
    assert data.count(b"\n") == 1
    assert run((hook, "a; b"), data) == ""
    secret.forget()
    assert (tmp_path / "args").read_text() == "1 a; b []\n"
    sent = json.loads((tmp_path / "event").read_text())
    assert (sent["subject"], sent["severity"], sent["since"], sent["at"], sent["left_out"]) == (
        HOSTILE, "critical", "1970-01-01T00:00:00+00:00", AT.isoformat(), 2,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [("exit 3", "ended with code 3"), ("sleep 60 & wait", "did not end within 0.1 s and was killed"), ("exec <&-", "")],
)
def test_a_failure_is_described(tmp_path: Path, text: str, expected: str) -> None:
    found = run((script(tmp_path, text),), b"{}" * 100_000, timeout=0.1 if "sleep" in text else 60)
    assert found.endswith(expected)
    assert bool(found) == bool(expected)


def test_a_missing_program_is_reported() -> None:
    assert run(("/nonexistent/hook",), b"{}") == "/nonexistent/hook: No such file or directory"


def test_ten_events_a_minute_are_sent_and_others_counted() -> None:
    sent: list[bytes] = []
    now = [0.0]

    def keep(_words: tuple[str, ...], data: bytes) -> str:
        sent.append(data)
        return ""

    command = AlertCommand(("/hook",), "prod", AlertChanges(), keep, lambda: now[0])
    alerts = [Alert("bad", "✕", "t", "s", "cpu_starved", f"G{number}") for number in range(13)]
    command.take(alerts, reading())
    now[0] = 61.0
    command.take([*alerts, Alert("warn", "▲", "t", "s", "late")], reading())
    command.lost("gone", AT)
    command.close()
    assert [json.loads(each)["left_out"] for each in sent] == [*[0] * 10, 3, 0]
    assert json.loads(sent[-1])["key"] == "no_connection"


def test_the_worst_change_comes_first() -> None:
    alerts = [Alert("warn", "▲", "t", "s", "late"), Alert("bad", "✕", "t", "s", "cpu_starved")]
    assert [each.key for each in AlertChanges().take(alerts, 0.0)] == ["cpu_starved", "late"]


def test_changes_not_reported_are_taken_again() -> None:
    warning, critical = Alert("warn", "▲", "t", "s", "late"), Alert("bad", "✕", "t", "s", "late")
    looks: list[tuple[list[Alert], float]] = [([warning], 0.0), ([critical], 10.0), ([], 100.0)]
    reported: dict[str, ReportedAlert] = {}
    for alerts, at in looks:
        for again in (False, True):
            changes = AlertChanges(reported)
            (change,) = changes.take(alerts, at + again)
            assert (change.change, change.since) == ({0.0: "began", 10.0: "worse", 100.0: "ended"}[at], 0.0)
            assert change.at == (at if change.change == "ended" else at + again), "the first look without it"
            reported = changes.reported if again else put_back(changes.reported, [change])
    assert reported == {}
    unreported = AlertChanges(put_back(*_began(warning)))
    assert unreported.take([], 200.0) == []
    assert unreported.reported == {}


def _began(alert: Alert) -> tuple[dict[str, ReportedAlert], list[AlertChange]]:
    changes = AlertChanges()
    found = changes.take([alert], 0.0)
    return changes.reported, found


def test_a_running_command_is_ended_with_its_children(tmp_path: Path) -> None:
    hook = script(tmp_path, f"echo $$ > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; sleep 300 & wait")
    command = AlertCommand((hook,), "prod", AlertChanges())
    command.take([Alert("bad", "✕", "t", "s", "cpu_starved")], reading())
    until((tmp_path / "pid").exists, "the command")
    group = int((tmp_path / "pid").read_text())
    command.close(0.1)
    until(lambda: not _members(group), "the end of all that it started")


def _members(group: int) -> list[int]:
    return [each.pid for each in psutil.process_iter() if _group_of(each.pid) == group and each.status() != "zombie"]


def _group_of(process: int) -> int:
    try:
        return os.getpgid(process)
    except ProcessLookupError:
        return 0


def test_the_state_of_a_check_survives_damage_and_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    kept = CheckState(marks={"a\tb": AlertTimes(1.0, None, 2.0)}, reported={"a\tb": ReportedAlert("warn", 1.0, 2.0)})
    with state_of("prod") as file:
        assert file.load().marks == {}
        file.save(kept)
    with state_of("prod") as file:
        assert file.load().marks == kept.marks
    (path,) = (tmp_path / "presman" / "check").glob("*.json")
    assert path.stat().st_mode & 0o777 == 0o600
    for damage in (b"", b"\xff", b'{"marks": 3}', b'{"format": 99}'):
        path.write_bytes(damage)
        with state_of("prod") as file:
            assert file.load().marks == {}
            assert bool(file.problem) == (damage != b'{"format": 99}')
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    with state_of("prod") as file:
        assert file.load().reported == {}
        file.save(kept)
    assert not os.path.lexists(tmp_path / "elsewhere")


def test_a_latency_threshold_has_the_histograms_read_at_each_poll() -> None:
    def detail_level(lines: str) -> DetailLevel | None:
        found = notifier_of("prod", read_alerts(lines), (), first_is_news=False)
        return found and found.detail_level

    assert detail_level('latency "log file sync" warning=1ms') == DetailLevel.HISTOGRAMS
    assert detail_level("queue_waits warning=1m") == DetailLevel.NARROW
    assert detail_level("") is None


def test_a_notifier_notes_a_failed_command_and_reports_it_once() -> None:
    command = AlertCommand(("/nonexistent/hook",), "prod", AlertChanges())
    notifier = AlertNotifier((), command)
    notifier.read(reading())
    command.close()
    failure = "on_alert /nonexistent/hook: No such file or directory"
    assert failure in notifier.read(reading()).notes
    assert [notifier.follow(reading()), notifier.follow(reading())] == [failure, ""]
