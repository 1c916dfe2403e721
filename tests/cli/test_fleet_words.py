"""Arguments of `presman fleet`, without a database: patterns, names, exit codes, waiting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from presman.analysis.fleet import ConnectionState, Member
from presman.base.secret import Secret
from presman.cli import exit_codes, fleet_command
from presman.cli.exit_codes import Failure
from presman.cli.fleet_command import _code, _settled, _without_retry, described, is_pattern
from presman.config.config_file import Config, Settings
from tests.cli.run import Run
from tests.scenarios import without
from tests.services.fleet.members import live

LIVE, LOST = (Member(name, ConnectionState[name]) for name in ("LIVE", "LOST"))
BLIND = live("blind", severity="note", worst="not known: a queue")
HALF_BLIND = live("half", alerts=1, severity="warn", unknown="not known: a queue")


@pytest.mark.parametrize(
    ("word", "pattern"),
    [("prod*", True), ("p?", True), ("[ab]", True), ("prod", False), ("demo:x?seed=1", False), ("a@b*", False),
     ("/a/*", False)],
)  # fmt: skip
def test_patterns_are_distinguished_from_targets(word: str, pattern: bool) -> None:
    assert is_pattern(word) is pattern


def test_the_name_of_a_fleet_is_the_origin_of_its_databases() -> None:
    config = Config(Path("c.ini"), {"a": Settings(connection=Secret("demo")), "b": Settings()})
    assert described(["a", "b"], [], config) == "c.ini"
    assert described(["a", "demo"], ["a", "demo"], config) == "c.ini a demo"
    assert described(["demo", "demo:storm"], ["demo", "demo:storm"], config) == "2 targets"
    assert described(["demo"], ["demo"], config) == "1 target"


def test_one_wrong_name_is_reported_and_no_database_is_read(inside: Run) -> None:
    done = inside("fleet", "demo:lost", "demo:storm", "nosuch")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("presman: no target 'nosuch': ")
    assert done.stderr.endswith("; none of the 3 was asked\n")
    assert "asked" not in inside("fleet", "nosuch").stderr


def test_a_fleet_shows_one_recording(inside: Run) -> None:
    done = inside("fleet", "a.presman", "b.presman")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "presman: recording: no such file or folder: a.presman\n"
    Path("a.presman").touch()
    done = inside("fleet", "a.presman", "b.presman")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("presman: a.presman is a recording and b.presman another: a fleet shows")


def test_the_code_shows_whether_all_databases_answered() -> None:
    assert [_code(members) for members in ([LIVE, LIVE], [LIVE, LOST], [LIVE, BLIND], [BLIND], [LOST])] == [
        exit_codes.OK, exit_codes.PARTIAL, exit_codes.PARTIAL, exit_codes.PARTIAL, exit_codes.SOURCE,
    ]  # fmt: skip
    assert _code([LIVE, HALF_BLIND]) == exit_codes.PARTIAL, "alerts of seen views say nothing about the others"


def test_a_database_without_any_answer_is_not_live(inside: Run, tmp_path: Path) -> None:
    silent, some = (Path(file).name for file in (without(tmp_path, "quiet"), without(tmp_path, "storm", "V$SESSION")))
    done = inside("fleet", f"demo:{silent}", "--interval", "0.5")
    assert (done.returncode, "1 database: 1 late" in done.stdout, "no view answers" in done.stdout) == (3, True, True)
    done = inside("fleet", "demo:queueing", f"demo:{silent}", f"demo:{some}", "--interval", "0.5", "--format", "csv")
    order = [line.split(",")[1] for line in done.stdout.splitlines()[1:]]
    assert (done.returncode, order) == (7, ["demo:storm.toml", "demo:quiet.toml", "demo:queueing"])
    done = inside("fleet", f"demo:{some}", "--interval", "0.5")
    assert (done.returncode, done.stdout.replace("\n  ", " ").count("(GV$SESSION: no answer in time)")) == (7, 1)


def test_a_printed_fleet_does_not_retry() -> None:
    found = _without_retry(Member("a", ConnectionState.REFUSED, retry_in=9.0, outlook="not tried again"))
    assert (found.retry_in, found.outlook) == (None, "tried again by the next presman fleet")
    assert _without_retry(LOST).outlook == ""


class Fleet:
    """A fleet that is settled after `looks` looks."""

    name, trouble, started, stopped = "all", "", 0, 0

    def __init__(self, looks: int, *members: Member) -> None:
        self.looks, self.found = looks, list(members)

    @property
    def is_settled(self) -> bool:
        self.looks -= 1
        return self.looks < 0

    def start(self) -> None:
        self.started += 1

    def stop(self) -> None:
        self.stopped += 1

    def members(self) -> list[Member]:
        return self.found


def test_a_fleet_waits_only_for_possible_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    now, slept = [0.0], list[float]()

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += 1.0

    monkeypatch.setattr(fleet_command.time, "sleep", sleep)
    monkeypatch.setattr(fleet_command.time, "monotonic", lambda: now[0])

    def settled(fleet: Any, timeout: float = 30.0) -> list[Member]:
        slept.clear()
        return _settled(fleet, timeout)

    fleet = Fleet(3, LIVE)
    assert (settled(fleet), len(slept), fleet.started, fleet.stopped) == ([LIVE], 3, 1, 1)
    assert (settled(Fleet(99, LIVE), 5.0), len(slept)) == ([LIVE], 5)
    for looks, why in ((0, "all: it has no database"), (99, "all: no answer within 5 s")):
        empty = Fleet(looks)
        with pytest.raises(Failure, match=why):
            settled(empty, 5.0)
        assert empty.stopped == 1
    broken = Fleet(0, LIVE)
    broken.trouble = "the store is gone"
    with pytest.raises(Failure, match="the store is gone"):
        settled(broken)
    assert broken.stopped == 1
