"""Commands on sessions that the simulated instance supports: dequeue, switch, cancel and kill."""

import re
from collections.abc import Mapping
from typing import Any

from presman.base.release import Release
from presman.sources.simulator.executions import Execution, Phase, SimulatedSession
from presman.sources.simulator.simulation import Simulation

_SINCE = Release(18)
_MOMENT = 0.001
"""Seconds that a command takes: time must advance, so that the views are refreshed."""

_CANCEL = re.compile(r"ALTER SYSTEM CANCEL SQL '(\d+), *(\d+)(?:, *@(\d+))?(?:, *(\w+))?'", re.IGNORECASE)
_KILL = re.compile(r"ALTER SYSTEM KILL SESSION '(\d+), *(\d+)(?:, *@(\d+))?'(?: IMMEDIATE)?", re.IGNORECASE)
_CALL = re.compile(r"BEGIN DBMS_RESOURCE_MANAGER\.(\w+)\((.*)\); END;", re.IGNORECASE | re.DOTALL)
_ARGUMENT = re.compile(r"(\w+) *=> *:(\w+)")


class Refusal(Exception):  # noqa: N818 - the database's answer, not a mistake of ours
    """The instance refuses a command; `code` is the number of the ORA- error."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"ORA-{code:05}: {text}")
        self.code = code
        self.text = text


def execute(simulation: Simulation, statement: str, binds: Mapping[str, Any]) -> None:
    """Execute a statement at the current simulated time. Raises Refusal where Oracle would raise an error."""
    statement = statement.strip()
    if match := _CANCEL.fullmatch(statement):
        _need(simulation, _SINCE)
        _cancel(simulation, _session(simulation, match[1], match[2], match[3], 26), match[4] or "")
    elif match := _KILL.fullmatch(statement):
        _kill(simulation, _session(simulation, match[1], match[2], match[3], 30))
    elif match := _CALL.fullmatch(statement):
        arguments = {name.lower(): binds.get(bind) for name, bind in _ARGUMENT.findall(match[2])}
        _call(simulation, match[1].upper(), arguments)
    else:
        raise Refusal(900, "invalid SQL statement")
    simulation.dirty = True
    simulation.settle()
    simulation.advance(simulation.now + _MOMENT)


def _call(simulation: Simulation, procedure: str, arguments: Mapping[str, Any]) -> None:
    named = (arguments.get("session_id"), arguments.get("session_serial"))
    if procedure == "DEQUEUE_PARALLEL_STATEMENT":
        _need(simulation, _SINCE)
        session = _session(simulation, *named, arguments.get("inst_id"), 29370)
        execution = _execution(simulation, session, str(arguments.get("sql_id") or ""))
        if execution is not None and execution.phase is Phase.QUEUED:
            simulation.workload.dequeue(execution)
    elif procedure == "SWITCH_CONSUMER_GROUP_FOR_SESS":
        session = _session(simulation, *named, 1, 29370)
        if session.con_id != (1 if simulation.plans.cdb else 0):
            # It acts only on the current container, and presman is in the root; Oracle's exact error is not known.
            raise Refusal(29370, f"resource manager: session {session.sid}, {session.serial} does not exist")
        group = str(arguments.get("consumer_group") or "")
        if group not in {each.name for each in simulation.plans.groups}:
            raise Refusal(29368, f"consumer group {group} does not exist")
        session.switched = group
        if (execution := _execution(simulation, session)) is not None:
            simulation.workload.reassign(execution, group)
    else:
        raise Refusal(6550, f"PLS-00302: component '{procedure}' must be declared")


def _need(simulation: Simulation, release: Release) -> None:
    if simulation.release < release:
        raise Refusal(900, "invalid SQL statement")


def _session(simulation: Simulation, sid: Any, serial: Any, inst_id: Any, code: int) -> SimulatedSession:
    wanted = (int(inst_id or 1), int(sid or 0), int(serial or 0))
    for session in simulation.workload.sessions:
        if (session.inst_id, session.sid, session.serial) == wanted:
            return session
    texts = {26: "missing or invalid session ID", 30: "User session ID does not exist."}
    raise Refusal(code, texts.get(code, f"resource manager: session {wanted[1]}, {wanted[2]} does not exist"))


def _execution(simulation: Simulation, session: SimulatedSession, sql_id: str = "") -> Execution | None:
    """Return the execution of a session, None if there is none, or if its SQL_ID differs from `sql_id`."""
    found = simulation.workload.executions.get(session)
    return None if found and sql_id and found.cursor.sql_id != sql_id else found


def _cancel(simulation: Simulation, session: SimulatedSession, sql_id: str) -> None:
    """Cancel a session's statement; do nothing if the session is idle or executes another one."""
    execution = _execution(simulation, session, sql_id)
    if execution is not None and execution.phase is not Phase.HOLDING:
        simulation.workload.abort(execution)


def _kill(simulation: Simulation, session: SimulatedSession) -> None:
    workload = simulation.workload
    if (execution := _execution(simulation, session)) is not None:
        session.transient = True
        workload.abort(execution)
        return
    pools = (pool for machine in simulation.machines for pool in machine.pools)
    if any(session in pool.sessions for pool in pools):
        return  # the pools' clients log on again at once
    simulation.incoming.forget(session)
    workload.disconnect(session)
