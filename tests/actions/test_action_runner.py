"""Running one command: the session is checked again, the command is sent, and the outcome is logged."""

from __future__ import annotations

import json
import os
import pwd
import socket
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from presman.actions.gateway import ActionRunner, available_actions
from presman.base.release import Release
from presman.polling.poll_events import ActionResult, Event
from presman.polling.sampler import Sampler
from presman.rows.commands import CommandKind, Victim, cancel, dequeue, kill, switch
from presman.rows.queries import Scope
from presman.rows.session_rows import NamedSession, Session
from presman.rows.snapshot import Problem, Section
from presman.sources import Answer, OutcomeUnknown, Request, SourceError
from tests.actions.test_obedience import Play, victim
from tests.analysis.make import NOON, row

NAME = pwd.getpwuid(os.getuid()).pw_name
WHO = Victim(1, 144, 1201, "9md3ukhghgj58")


class Database:
    """A source with one session that notes the commands sent to it."""

    name = "DWPROD"
    instance = 1
    own_container: int | None = 1

    def __init__(self, **session: Any) -> None:
        given = {"sid": 144, "serial": 1201, "sql_id": "9md3ukhghgj58", "status": "ACTIVE"}
        self.sections = [Section((row(Session, **(given | session)),))]
        self.sent: list[tuple[str, Mapping[str, Any]]] = []
        self.error: Exception | None = None

    def read(self, requests: list[Request]) -> Answer:
        assert [(request.query.record, request.binds["sid_1"]) for request in requests] == [(NamedSession, 144)]
        return Answer(NOON, tuple(self.sections))

    def container(self) -> int | None:
        return self.own_container

    def perform(self, statement: str, binds: Mapping[str, Any]) -> None:
        if self.error:
            raise self.error
        self.sent.append((statement, dict(binds)))


@pytest.fixture
def runner(tmp_path: Path) -> ActionRunner:
    return ActionRunner(tmp_path / "state" / "actions.log", now=lambda: NOON)


def logged(runner: ActionRunner) -> list[dict[str, Any]]:
    return [json.loads(line) for line in runner.log.read_text().splitlines()]


def test_a_command_is_sent_as_shown_with_binds_and_logged(runner: ActionRunner) -> None:
    database = Database()
    outcome = runner.carry_out(dequeue(WHO), database, Release(19))
    assert outcome.done
    ((statement, binds),) = database.sent
    assert statement == dequeue(WHO).statement
    assert binds == {"sid": 144, "serial": 1201, "inst_id": 1, "sql_id": "9md3ukhghgj58"}
    asked, sent, done = logged(runner)
    assert (asked["outcome"], sent["outcome"], done["outcome"]) == ("asked for", "being sent", "done")
    assert (done["database"], done["kind"], done["sid"], done["statement"]) == ("DWPROD", "DEQUEUE", 144, statement)
    assert stat.S_IMODE(runner.log.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("session", "text"),
    [
        ({"serial": 1202}, "no longer there"),
        ({"sid": 145}, "no longer there"),
        ({"inst_id": 2}, "no longer there"),
        ({"sql_id": "7xq3hdwx1kkd0"}, "executes 7xq3hdwx1kkd0 now, not 9md3ukhghgj58"),
        ({"sql_id": ""}, "executes nothing now"),
    ],
)
def test_nothing_is_sent_to_another_session(runner: ActionRunner, session: dict[str, Any], text: str) -> None:
    database = Database(**session)
    outcome = runner.carry_out(cancel(WHO), database, Release(19))
    assert not outcome.done
    assert text in outcome.text
    assert database.sent == []
    assert text in logged(runner)[-1]["outcome"]


SEEN = WHO._replace(status="ACTIVE", exec_id=16777217)


@pytest.mark.parametrize(
    ("victim", "session", "text"),
    [
        (SEEN, {"status": "INACTIVE"}, "it is INACTIVE now, was ACTIVE"),
        (SEEN, {"status": "KILLED"}, "it is KILLED now, was ACTIVE"),
        (SEEN, {"status": "INACTIVE", "sql_id": "", "prev_sql_id": SEEN.sql_id}, "it is INACTIVE now"),
        (SEEN, {"sql_exec_id": 16777218}, "executes 9md3ukhghgj58 again: SQL_EXEC_ID 16777218 now, 16777217 before"),
        (SEEN._replace(sql_id=""), {}, "executes 9md3ukhghgj58 now, not nothing"),
        (SEEN._replace(sql_id="", status="INACTIVE"), {}, "it is ACTIVE now, was INACTIVE"),
        (SEEN._replace(status="INACTIVE"), {"sql_exec_id": 16777217}, "it is ACTIVE now, was INACTIVE"),
        (SEEN._replace(queued=True), {"event": "PX Deq: Execute Reply", "state": "WAITING"}, "is not queued any more"),
    ],
)
@pytest.mark.parametrize("make", [kill, lambda victim: switch(victim, "LOW")])
def test_nothing_is_sent_for_another_statement(
    runner: ActionRunner, make: Any, victim: Victim, session: dict[str, Any], text: str
) -> None:
    database = Database(**session)
    outcome = runner.carry_out(make(victim), database, Release(19))
    assert (outcome.done, database.sent) == (False, [])
    assert outcome.text.startswith("not sent: ")
    assert text in outcome.text
    assert [line["outcome"] for line in logged(runner)] == ["asked for", outcome.text]


@pytest.mark.parametrize(
    ("victim", "session"),
    [
        (SEEN, {"sql_exec_id": 16777217}),
        (SEEN, {"sql_exec_id": None}),
        (SEEN._replace(sql_id="", status="INACTIVE"), {"sql_id": "", "prev_sql_id": "x", "status": "INACTIVE"}),
        (SEEN._replace(status="INACTIVE"), {"sql_id": "", "prev_sql_id": WHO.sql_id, "status": "INACTIVE"}),
        (SEEN._replace(queued=True, exec_id=None), {"event": "resmgr:pq queued", "state": "WAITING"}),
    ],
)
def test_an_unchanged_session_gets_the_command(runner: ActionRunner, victim: Victim, session: dict[str, Any]) -> None:
    assert runner.carry_out(kill(victim), Database(**session), Release(19)).text == "done"


def test_marked_for_kill_is_done(runner: ActionRunner) -> None:
    database = Database()
    database.error = SourceError("session marked for kill", code="ORA-00031", retry=False)
    outcome = runner.carry_out(kill(WHO), database, Release(19))
    assert outcome.done
    assert logged(runner)[-1]["outcome"].startswith("done: ORA-00031, marked for kill")
    outcome = runner.carry_out(cancel(WHO), database, Release(19))
    assert not outcome.done, "it answers no other command"


def test_the_outcome_of_an_unanswered_command_is_unknown(runner: ActionRunner) -> None:
    database = Database()
    database.error = OutcomeUnknown("no answer within 65 s")
    outcome = runner.carry_out(kill(WHO), database, Release(19))
    assert not outcome.done
    assert outcome.text == "sent; its result is not known: no answer within 65 s"
    assert [line["outcome"] for line in logged(runner)] == ["asked for", "being sent", outcome.text]


def test_the_log_always_names_the_user(runner: ActionRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("USER", "LOGNAME", "USERNAME"):
        monkeypatch.setenv(name, "somebody else")
    runner.carry_out(kill(WHO), Database(), Release(19))
    monkeypatch.setattr("pwd.getpwuid", lambda number: {}[number])  # a container whose user has no name
    runner.carry_out(kill(WHO), Database(), Release(19))
    first, last = logged(runner)[0]["by"], logged(runner)[-1]["by"]
    assert first == f"{NAME}@{socket.gethostname()}"
    assert last == f"uid {os.getuid()}@{socket.gethostname()}"


def test_a_link_in_place_of_the_log_is_not_followed(runner: ActionRunner, tmp_path: Path) -> None:
    runner.log.parent.mkdir()
    (tmp_path / "elsewhere").write_text("")
    runner.log.symlink_to(tmp_path / "elsewhere")
    database = Database()
    outcome = runner.carry_out(kill(WHO), database, Release(19))
    assert outcome.text.startswith("not sent: ")
    assert outcome.text.endswith("cannot be written: it is a link")
    assert database.sent == []
    assert (tmp_path / "elsewhere").read_text() == ""


def test_an_idle_holder_is_known_by_its_last_statement(runner: ActionRunner) -> None:
    idle = {"sql_id": "", "prev_sql_id": "9md3ukhghgj58", "status": "INACTIVE"}
    assert runner.carry_out(kill(WHO), Database(**idle), Release(19)).done
    assert not runner.carry_out(cancel(WHO), Database(**idle), Release(19)).done


def test_a_switch_is_sent_on_the_sessions_own_instance_only(runner: ActionRunner) -> None:
    database = Database()
    database.instance = 2
    outcome = runner.carry_out(switch(WHO, "LOW"), database, Release(19))
    assert outcome.text.startswith("not sent: it acts on instance 2 only, the session is on 1: connect to 1")


@pytest.mark.parametrize(
    ("own", "theirs", "done"), [(1, 3, False), (3, 3, True), (3, 4, False), (0, 0, True), (None, 3, True)]
)
def test_a_switch_is_sent_in_the_sessions_own_container_only(
    runner: ActionRunner, own: int | None, theirs: int, done: bool
) -> None:
    database = Database(con_id=theirs)
    database.own_container = own
    outcome = runner.carry_out(switch(WHO, "LOW"), database, Release(19))
    assert (outcome.done, len(database.sent)) == (done, done)
    if not done:
        assert outcome.text == (
            f"not sent: it acts on container {own} only, the session is in {theirs}: "
            "connect to that one and run it there"
        )
    assert runner.carry_out(kill(WHO), database, Release(19)).done


def test_a_refusal_by_the_database_is_reported_and_logged(runner: ActionRunner) -> None:
    database = Database()
    database.error = SourceError("User session ID does not exist.", code="ORA-00030", retry=False)
    outcome = runner.carry_out(kill(WHO), database, Release(19))
    assert (outcome.done, outcome.text) == (False, "refused: ORA-00030 User session ID does not exist.")
    assert logged(runner)[-1]["outcome"] == outcome.text


def test_without_a_log_nothing_is_sent(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    database = Database()
    outcome = ActionRunner(tmp_path / "file" / "actions.log").carry_out(kill(WHO), database, Release(19))
    assert not outcome.done
    assert "cannot be written" in outcome.text
    assert database.sent == []


def test_a_session_that_cannot_be_read_is_not_acted_on(runner: ActionRunner) -> None:
    database = Database()
    database.sections = [Section(problem=Problem("ORA-00942", "table or view does not exist", "GV$SESSION"))]
    outcome = runner.carry_out(kill(WHO), database, Release(19))
    assert "cannot be read" in outcome.text
    assert database.sent == []


def test_a_source_that_cannot_act_is_reported(runner: ActionRunner) -> None:
    class Spool:
        name = "spool:x"
        instance = 1

        def read(self, _requests: list[Request]) -> Answer:
            return Database().read([Request(load_session())])

    outcome = runner.carry_out(kill(WHO), Spool(), Release(19))
    assert outcome.text == "not sent: spool:x cannot be acted on"


def load_session() -> Any:
    from presman.rows.queries import load

    return load(Release(19))[Session]


def test_the_actions_offered_for_a_row() -> None:
    play = Play("storm")
    reading = play.until(lambda reading: bool(reading.queue) and any(each.idle for each in reading.running))
    waiting = available_actions(reading.queue[0], reading)
    assert [each.kind for each in waiting[:3]] == [CommandKind.DEQUEUE, CommandKind.CANCEL, CommandKind.KILL]
    assert {each.kind for each in waiting[3:]} == {CommandKind.SWITCH}
    idle = next(each for each in reading.running if each.idle)
    assert next(each.kind for each in available_actions(idle, reading)) is CommandKind.KILL
    server = next(each for each in reading.sessions if each.px_role == "server")
    assert available_actions(server, reading) == ()
    assert available_actions(reading.groups[0], reading) == ()


def test_the_sampler_carries_out_and_reports() -> None:
    play = Play("storm")
    row_ = play.until(lambda reading: bool(reading.queue)).queue[0]
    found: list[Event] = []
    sampler = Sampler(
        lambda: play.source, refresh=60, scope=Scope.CLUSTER, post=found.append,
        carry_out=lambda command, source, release: ActionResult(command, True, f"{source.kind} {release}"),
    )  # fmt: skip
    sampler.act(dequeue(victim(row_)))
    sampler._step()
    (acted,) = (event for event in found if isinstance(event, ActionResult))
    assert (acted.done, acted.text) == (True, "simulator 19")


def test_commands_before_a_lost_connection_are_dropped() -> None:
    def broken() -> Any:
        raise SourceError("no listener")

    found: list[Event] = []
    sampler = Sampler(
        broken,
        refresh=60,
        scope=Scope.CLUSTER,
        post=found.append,
        carry_out=lambda command, *_: ActionResult(command, True, ""),
    )
    sampler.act(kill(WHO))
    sampler._step()
    (acted,) = found
    assert isinstance(acted, ActionResult)
    assert not acted.done
    assert not sampler._commands


def test_without_permission_no_command_is_accepted() -> None:
    sampler = Sampler(lambda: Play("storm").source, refresh=60, scope=Scope.CLUSTER, post=lambda _event: None)
    with pytest.raises(PermissionError):
        sampler.act(kill(WHO))


def test_only_the_option_imports_the_actions() -> None:
    """A whole run of the monitor, every tab and page, never loads the package that acts."""
    code = """
import asyncio, sys
from tests.tui.drive import stage
from tests.tui.readings import busy
async def main():
    async with stage(busy(), size=(120, 30)) as acting:
        await acting.press("4", "a", "enter", "a", "escape", "5", "a", "enter", "q", "1", "a")
        assert acting.feed.requests == [], acting.feed.requests
asyncio.run(main())
import presman.cli.start, presman.polling.sampler, presman.polling.poller, presman.tui.app
import presman.sources.oracle.oracle_source
print([name for name in sys.modules if name.startswith("presman.actions")])
"""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == ["[]"], done.stderr
    uses = [path for path in (root / "presman").rglob("*.py") if "presman.actions" in path.read_text("utf-8")]
    assert {path.relative_to(root / "presman").as_posix() for path in uses} - {"cli/start.py"} <= {
        path.relative_to(root / "presman").as_posix() for path in (root / "presman" / "actions").glob("*.py")
    }


def test_a_command_is_not_sent_after_a_slow_check(runner: ActionRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver was stopped, or the database hung, meanwhile: the confirmation is too old."""
    monkeypatch.setattr("presman.actions.gateway.READ_LIMIT", -1.0)
    database = Database()
    outcome = runner.carry_out(kill(WHO), database, Release(19))
    assert not outcome.done
    assert outcome.text.startswith("not sent: reading its session took ")
    assert [line["outcome"] for line in logged(runner)] == ["asked for", outcome.text]
