"""`presman check` and `presman alerts`: one line, an exit code, and no certainty about unknown figures."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from presman.cli.polling import Polling
from presman.cli.settings import Resolved
from presman.config.target import scenarios
from presman.config.target_text import parse_target
from presman.output.json_document import document
from presman.output.plugin_check import result
from presman.rows.queries import Scope
from tests.cli.run import QUEUEING, Run, presman
from tests.scenarios import with_short_past
from tests.thorough import some

LINE = re.compile(r"PRESMAN (OK|WARNING|CRITICAL|UNKNOWN) - [^|\n]+( \| [^|\n]+)?\n")
DATUM = re.compile(r"('[^'=]+'|[^ '=]+)=(U|-?[\d.]+(s|%)?)(;[\d.]*){0,4}")
CODES = {"OK": 0, "WARNING": 1, "CRITICAL": 2, "UNKNOWN": 3}


@pytest.fixture(autouse=True)
def _own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def target(scenario: str) -> str:
    """Return a scenario in which little time passes between polls."""
    return f"demo:{with_short_past(scenario)}?speed=60"


@pytest.mark.parametrize("scenario", some(["quiet", "mixed", "throttled", "locked", "noplan"], scenarios()))
def test_check_is_as_severe_as_the_worst_alert_of_once(scenario: str) -> None:
    watched = Resolved(parse_target(target(scenario)), 2.0, Scope.CLUSTER, None, None, ())
    reading = Polling(watched).once(0.05).reading
    found = result(reading, (), ())
    word, data = LINE.fullmatch(found.line + "\n").groups()  # type: ignore[union-attr]
    assert CODES[word] == found.state
    assert all(DATUM.fullmatch(each) for each in re.findall(r"(?:'[^']*'|[^ '])+", data[3:]))
    worst = max([{"bad": 2, "warn": 1}.get(each["severity"], 0) for each in document(reading)["alerts"]], default=0)
    assert found.state == worst
    assert worst or "by GV$SESSION" in found.line, "an OK names its views"


def test_check_in_its_own_process(tmp_path: Path) -> None:
    done = presman(
        "check", target("throttled"), "--interval", "0.05", "-v", "--critical", "session_pool=3600", cwd=tmp_path
    )
    first, *more = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (2, "")
    assert first.startswith("PRESMAN CRITICAL - OLTP1: BATCH gets only what others leave")
    assert any(line.startswith("WARNING session_pool: BATCH: ") for line in more)
    assert not any("|" in line for line in more)


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "nowhere"],
        ["check", "demo", "--bad"],
        ["--refresh", "x", "check", "demo"],
        ["check", "demo", "--warning", "nothing=1"],
        ["check", "demo", "--interval", "60"],
        ["--config", "absent.ini", "check", "demo"],
        ["check", "a/b@127.0.0.1:9/x", "--timeout", "5"],
        ["check", "spool:absent"],
    ],
)
def test_a_failure_is_unknown_in_one_line(inside: Run, arguments: list[str]) -> None:
    done = inside(*arguments)
    assert done.returncode == 3
    assert re.fullmatch(r"PRESMAN UNKNOWN - [^\n|]+\n", done.stdout)
    assert "a/b" not in done.stdout


def test_a_time_limit_too_short_for_two_polls_is_reported(inside: Run) -> None:
    assert (
        "--timeout 2 leaves 1.7 s for two polls, and they are 5 s apart"
        in inside("check", "demo", "--timeout", "2", "--interval", "5").stdout
    )


def test_unavailable_views_are_unknown_and_named(inside: Run, tmp_path: Path) -> None:
    done = inside("check", QUEUEING)
    assert LINE.fullmatch(done.stdout)
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "v$session.csv").write_text("SID,SERIAL#,STATUS\n1,2,INACTIVE\n")
    bare = inside("check", f"spool:{tmp_path}/bare")
    assert bare.returncode == 3
    assert "not known: whether there is a queue" in bare.stdout
    assert "queued=U" in bare.stdout
    (tmp_path / "c.ini").write_text(
        f"[x]\nconnection_string = spool:{tmp_path}/bare\nalerts =\n not_known severity=off\n"
    )
    accepted = inside("--config", "c.ini", "check", "x")
    assert accepted.returncode == 0
    assert "not known: whether there is a queue" in accepted.stdout


def test_thresholds_durations_and_the_command(inside: Run, tmp_path: Path) -> None:
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\ncat >> {tmp_path}/events\n")
    hook.chmod(0o700)
    (tmp_path / "mine.ini").write_text(
        f"[x]\nconnection_string = {target('locked')}\non_alert = {hook}\n"
        "alerts =\n  queue_waits for=1h\n  idle_holder critical=1s\n  blocked_holder severity=note\n"
    )
    for _ in range(2):
        done = inside("--config", "mine.ini", "check", "x", "--interval", "0.05", "-v")
        assert done.returncode == 2
        assert "note queue_waits: REPORTS" in done.stdout
        assert "an alert after 1:00:00" in done.stdout
    events = [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()]
    assert [(each["change"], each["key"], each["severity"]) for each in events] == [
        ("began", "idle_holder", "critical")
    ]
    listed = inside("--config", "mine.ini", "alerts", "x", "--interval", "0.05").stdout
    assert re.search(r"^warning +queue_waits ", listed, re.MULTILINE)
    assert re.search(
        r"^critical +idle_holder .*\n.*\n +set: critical from 1 s, a warning before that as usual$",
        listed,
        re.MULTILINE,
    )
    assert "alerts with for= count at once here" in listed
    check = ("--config", "mine.ini", "check", "x", "--interval", "0.05", "--critical", "idle_holder=9h")
    assert inside(*check).returncode == 1
    relaxed = inside(*check, "--warning", "idle_holder=8h")
    assert relaxed.returncode == 0
    assert "1 idle holder keeps" in relaxed.stdout


def test_events_that_were_not_sent_are_sent_by_the_next_check(inside: Run, tmp_path: Path) -> None:
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\n[ -e {tmp_path}/sent ] && exit 1\ncat >> {tmp_path}/sent\n")
    hook.chmod(0o700)
    text = f"[x]\nconnection_string = {target('storm')}\non_alert = {hook}\n"
    (tmp_path / "mine.ini").write_text(text)
    first = inside("--config", "mine.ini", "check", "x", "--interval", "0.05").stderr
    assert re.search(r"ended with code 1; 1 of \d+ events sent, the next check tries the rest", first)
    hook.write_text(f"#!/bin/sh\ncat >> {tmp_path}/sent\n")
    assert inside("--config", "mine.ini", "check", "x", "--interval", "0.05").stderr == ""
    sent = [
        (each["change"], each["key"], each["subject"])
        for each in map(json.loads, (tmp_path / "sent").read_text().splitlines())
    ]
    assert len(sent) == len(set(sent)) > 1


def test_no_command_of_an_untrusted_configuration_is_run(inside: Run, tmp_path: Path) -> None:
    text = f"[x]\nconnection_string = {target('locked')}\non_alert = {tmp_path}/hook\n"
    (tmp_path / "config.ini").write_text(text)
    assert "on_alert is not run: config.ini is where presman was started" in inside("check", "x").stderr
    (tmp_path / "config.ini").chmod(0o666)
    errors = inside("--config", "config.ini", "check", "x").stderr
    assert "on_alert is not run: others may write config.ini" in errors


def test_rules_without_a_target(inside: Run) -> None:
    done = inside("alerts")
    assert done.returncode == 0
    assert re.search(
        r"^cpu_starved +critical +a group gets less CPU than it is entitled to$", done.stdout, re.MULTILINE
    )


def test_thresholds_of_an_unknown_group_are_reported(inside: Run, tmp_path: Path) -> None:
    (tmp_path / "config.ini").write_text(f"""
[presman]
connection_string = {target("quiet")}
alerts =
    queue_waits SYS_GROUPE warning=5m
    cpu_capped SYS_GROUP severity=off
""")
    done = inside("check", "presman", "--interval", "0.05")
    warning = "presman: warning: alerts of queue_waits: there is no group SYS_GROUPE, did you mean SYS_GROUP?"
    assert (done.returncode, done.stderr.splitlines()) == (0, [warning])


def test_a_spool_of_long_ago_is_unknown_unless_its_last_sample_is_asked_for(inside: Run, tmp_path: Path) -> None:
    folder = tmp_path / "then"
    folder.mkdir()
    (folder / "v$session.csv").write_text(
        "SAMPLE_TIME,SID,SERIAL#,STATUS\n2026-03-14 10:00:00,1,2,INACTIVE\n2026-03-14 10:00:10,1,2,INACTIVE\n"
    )
    now = inside("check", f"spool:{folder}")
    assert now.returncode == 3
    assert re.fullmatch(
        rf"PRESMAN UNKNOWN - spool:{folder}: its newest sample is \d+d \d\d:\d\d old"
        r" \(--at last checks it, as of 2026-03-14 10:00:10.*\)\n",
        now.stdout,
    ), now.stdout
    last = inside("check", f"spool:{folder}", "--at", "last")
    assert " as of 2026-03-14 10:00:10" in last.stdout
    assert "whether there is a queue" in last.stdout
    assert "go with a recording" in inside("check", f"spool:{folder}", "--at", "10:00").stdout
