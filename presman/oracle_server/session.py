"""One client's session: connect, login, calls, breaks, logoff."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn, Protocol

from presman.oracle_server import requests as ask
from presman.oracle_server.answers import NO_MORE_ROWS, Answer, form_of
from presman.oracle_server.backend import Backend, OraError, Result
from presman.oracle_server.counters import Counters
from presman.oracle_server.crypto import Challenge
from presman.oracle_server.faults import (
    FATAL,
    Action,
    Cut,
    Delay,
    Faults,
    Garbage,
    Hold,
    Mute,
    Ora,
    Refuse,
    Stage,
    Warn,
)
from presman.oracle_server.packets import HEADER, SDU, Broken, Gone, Packet, Packets
from presman.oracle_server.profiles import Profile
from presman.oracle_server.wire import NeedMore, Writer

LOB_LENGTH, LOB_READ, LOB_CHUNK_SIZE = 1, 2, 0x4000
NO_ENCRYPTION = 4
FLAGS_SINCE = 319


class House(Protocol):
    """What a session needs of the server it belongs to."""

    profile: Profile
    backend: Backend
    faults: Faults
    counters: Counters
    accounts: Mapping[str, str]
    services: frozenset[str] | None
    latency: float


@dataclass(slots=True)
class Cursor:
    """A parsed statement and what is left of its result."""

    number: int
    sql: str
    binds: tuple[ask.Bind, ...] = ()
    defines: tuple[ask.Bind, ...] | None = None
    result: Result | None = None
    at: int = 0

    @property
    def waits_for_defines(self) -> bool:
        """Whether the client must first say how it wants LOB columns."""
        columns = self.result.columns if self.result else ()
        return self.defines is None and any(form_of(column.kind).type == ask.TYPE_CLOB for column in columns)


class Session:
    """Serves one connection until the client leaves or a fault ends it."""

    def __init__(self, house: House, packets: Packets, number: int) -> None:
        self._house = house
        self._profile = house.profile
        self._packets = packets
        self.number = number
        self._buffer = b""
        self._version = 0
        self._marked = False
        self._user = ""
        self._challenge: Challenge | None = None
        self._logged_in = False
        self._cursors: dict[int, Cursor] = {}
        self._lobs: dict[int, str | bytes] = {}
        self._hold = 0.0

    async def serve(self) -> None:
        """Run the session to its end."""
        counters = self._house.counters
        counters.connections += 1
        try:
            await self._connect()
            self._packets.start()
            while await self._turn():
                pass
        except (Gone, ConnectionError):
            pass
        finally:
            counters.connections -= 1
            if self._logged_in:
                counters.sessions -= 1
            await self._packets.close()

    async def _connect(self) -> None:
        """Take the CONNECT packet, and accept or refuse it."""
        action = self._house.faults.next(Stage.CONNECT)
        if isinstance(action, Garbage):
            await self._packets.write_bytes(action.data)
        if isinstance(action, Mute | Garbage):
            await self._stay_silent()
        kind, body = await self._packets.read()
        if kind != Packet.CONNECT:
            raise Gone
        size, start = int.from_bytes(body[16:18], "big"), int.from_bytes(body[18:20], "big") - HEADER
        text = body[start : start + size] if len(body) >= start + size else (await self._packets.read())[1][2:]
        self._house.counters.round_trips += 1
        service = re.search(rb"\b(?:SERVICE_NAME|SID)\s*=\s*([^)]*)", text, re.IGNORECASE)
        services = self._house.services
        known = services is None or (service is not None and service[1].decode(errors="replace").lower() in services)
        if isinstance(action, Refuse) or not known:
            await self._refuse(action.code if isinstance(action, Refuse) else 12514)
        self._apply(action)
        version = min(int.from_bytes(body[:2], "big"), self._profile.tns_version)
        flags = self._profile.flags if version >= FLAGS_SINCE else 0
        profile = self._profile = replace(self._profile, tns_version=version, flags=flags)
        accept = (
            Writer().u16(profile.tns_version, 0, SDU, 0xFFFF, 1, 0, 45).u8(NO_ENCRYPTION, NO_ENCRYPTION).raw(bytes(8))
        )
        accept.raw(SDU.to_bytes(4, "big") + (0xFFFF).to_bytes(4, "big")).u8(0).raw(profile.flags.to_bytes(4, "big"))
        await asyncio.sleep(2 * self._house.latency)
        await self._packets.write(Packet.ACCEPT, bytes(accept.data))
        self._packets.wide = True

    async def _refuse(self, code: int) -> NoReturn:
        text = f"(DESCRIPTION=(TMP=)(VSNNUM=0)(ERR={code})(ERROR_STACK=(ERROR=(CODE={code})(EMFI=4))))".encode()
        await self._packets.write(Packet.REFUSE, b"\x22\0" + len(text).to_bytes(2, "big") + text)
        raise Gone

    async def _stay_silent(self) -> NoReturn:
        """Say nothing until the client leaves."""
        while True:
            await self._packets.read()

    def _apply(self, action: Action | None) -> None:
        if isinstance(action, Cut):
            self._packets.closing_after = action.after

    async def _turn(self) -> bool:
        """Serve one request; False ends the session."""
        try:
            call = await self._next_call()
            if call.code != ask.PIPELINE_END and not call.token:
                await asyncio.sleep(2 * self._house.latency)
            return await self._answer(call)
        except Broken:
            await self._packets.settle()
            self._buffer = b""
            await self._say(self._new_answer().error(1013, "user requested cancel of current operation"))
            return True

    async def _next_call(self) -> ask.Call:
        known = {number: cursor.binds for number, cursor in self._cursors.items()}
        while True:
            try:
                call, size = ask.parse(self._buffer, self._version, known)
            except NeedMore:
                self._buffer += await self._packets.data()
                continue
            except ask.Unknown as error:
                self._buffer = b""
                await self._say(self._new_answer().error(3115, f"unsupported network datatype or call ({error})"))
                continue
            self._buffer = self._buffer[size:]
            return call

    def _new_answer(self, token: int = 0) -> Answer:
        return Answer(self._profile, self._version, token, zone=self._house.backend.zone)

    async def _say(self, answer: Answer, *, marked: bool | None = None) -> None:
        mark = self._marked if marked is None else marked
        data = answer.done(marked=mark)
        if self._hold:
            head, seconds, self._hold = SDU - 10, self._hold, 0.0
            await self._packets.send(data[:head], marked=False)
            await self._packets.pause(seconds)
            data = data[head:] or b""
        await self._packets.send(data, marked=mark)

    async def _answer(self, call: ask.Call) -> bool:
        counters = self._house.counters
        if not call.token:
            counters.round_trips += 1
        for note in call.before:
            counters.attributes.update(note.pairs)
            for number in note.closed:
                self._cursors.pop(number, None)
        if call.code not in {ask.EXECUTE, ask.REEXECUTE, ask.REEXECUTE_FETCH}:
            counters.note(self.number, ask.NAMES.get(call.code, str(call.code)))
        if call.code in {ask.PROTOCOL, ask.DATA_TYPES, ask.FAST_AUTH, ask.AUTH_ONE, ask.AUTH_TWO}:
            return await self._login(call)
        if not self._logged_in:
            return False
        if call.code in {ask.EXECUTE, ask.REEXECUTE, ask.REEXECUTE_FETCH}:
            return await self._statement(call)
        answer = self._new_answer(call.token)
        if call.code == ask.FETCH:
            self._fetch(answer, call)
        elif call.code == ask.LOB:
            self._read_lob(answer, call)
        elif call.code == ask.VERSION:
            answer.version().status()
        elif call.code != ask.RELEASE:
            await self._say(answer.status())
            return call.code != ask.LOGOFF
        await self._say(answer)
        return True

    # --- login

    async def _login(self, call: ask.Call) -> bool:
        action = self._house.faults.next(Stage.LOGIN)
        self._apply(action)
        if isinstance(action, Mute):
            await self._silence()
        if isinstance(action, Delay):
            await self._packets.pause(action.seconds)
        if call.code == ask.PROTOCOL:
            await self._say(self._new_answer().protocol(), marked=False)
        elif call.code == ask.DATA_TYPES:
            self._version = min(self._profile.field_version, call.field_version)
            await self._say(self._new_answer().data_types(), marked=False)
            self._marked = self._profile.end_of_response
        elif call.code == ask.AUTH_TWO:
            return await self._prove(call, action)
        else:
            if call.code == ask.FAST_AUTH:
                self._version = min(self._profile.field_version, call.field_version)
            self._marked = self._profile.end_of_response
            answer = self._new_answer()
            if call.code == ask.FAST_AUTH:
                answer.protocol().data_types()
            self._user = call.user.upper()
            self._challenge = Challenge(self._house.accounts.get(self._user, "\0"))
            await self._say(answer.parameters(self._challenge.pairs()).error())
        return True

    async def _prove(self, call: ask.Call, action: Action | None) -> bool:
        proof = None
        if self._challenge:
            proof = self._challenge.accept(call.pairs.get("AUTH_SESSKEY", ""), call.pairs.get("AUTH_PASSWORD", ""))
        answer = self._new_answer()
        if isinstance(action, Ora):
            await self._say(answer.error(action.code, action.text))
            return False
        if proof is None or self._user not in self._house.accounts:
            await self._say(answer.error(1017, "invalid username/password; logon denied"))
            return False
        if isinstance(action, Warn):
            answer.warning(action.code, action.text)
        counters = self._house.counters
        counters.logins += 1
        counters.sessions += 1
        counters.most_sessions = max(counters.most_sessions, counters.sessions)
        self._logged_in = True
        await self._say(answer.parameters(self._session_facts(proof)).error())
        return True

    def _session_facts(self, proof: str) -> list[tuple[str, str, int]]:
        facts = {
            "AUTH_SESSION_ID": str(self.number),
            "AUTH_SERIAL_NUM": "1",
            "AUTH_VERSION_NO": str(self._profile.version_number),
            "AUTH_VERSION_STRING": f"{self._profile.version_text} simulated by presman",
            "AUTH_SVR_RESPONSE": proof,
            "AUTH_MAX_OPEN_CURSORS": "300",
            "AUTH_MAX_IDEN_LENGTH": "128",
            "AUTH_INSTANCENAME": "presman",
            "AUTH_SC_SERVICE_NAME": "presman",
        }
        return [(key, value, 0) for key, value in facts.items()]

    async def _silence(self) -> NoReturn:
        """Answer nothing more, not even breaks, until the client leaves."""
        while True:
            try:
                await self._packets.data()
            except Broken:
                continue

    # --- statements

    async def _statement(self, call: ask.Call) -> bool:
        try:
            cursor = self._cursor_for(call)
        except KeyError:
            await self._say(self._new_answer(call.token).error(1001, "invalid cursor"))
            return True
        only_defines = call.defines is not None and not call.options & ask.OPTION_EXECUTE and call.code == ask.EXECUTE
        self._house.counters.note(
            self.number, "define" if only_defines else "execute", "" if only_defines else cursor.sql
        )
        action = self._house.faults.next(Stage.STATEMENT, ("define: " if only_defines else "") + cursor.sql)
        self._apply(action)
        if isinstance(action, Mute):
            await self._silence()
        if isinstance(action, Delay):
            await self._packets.pause(action.seconds)
        if isinstance(action, Hold):
            self._hold = action.seconds
        answer = self._new_answer(call.token)
        alive = True
        try:
            if isinstance(action, Ora) and not action.after:
                raise OraError(action.code, action.text)
            parsed = self._run(cursor, call) if not only_defines else False
            if parsed:
                answer.describe(cursor.result.columns if cursor.result else ())
            self._put_rows(answer, cursor, self._wanted(call, cursor), action)
        except OraError as error:
            if not call.cursor:
                del self._cursors[cursor.number]
            answer.error(error.code, error.text)
            alive = error.code not in FATAL
        await self._say(answer)
        return alive

    def _cursor_for(self, call: ask.Call) -> Cursor:
        """Return the cursor of a call, a new one for a new statement. Raises KeyError if there is none."""
        if call.code == ask.EXECUTE and not call.cursor:
            number = max(self._cursors, default=0) + 1
            self._cursors[number] = Cursor(number, call.sql)
        cursor = self._cursors[call.cursor or number]
        if call.code == ask.EXECUTE and call.sql:
            cursor.sql = call.sql
        if call.defines is not None:
            cursor.defines = call.defines
        elif call.code == ask.EXECUTE and call.options & ask.OPTION_EXECUTE:
            cursor.binds = call.binds
        return cursor

    def _run(self, cursor: Cursor, call: ask.Call) -> bool:
        """Execute the cursor's statement; True if its columns are to be described."""
        known = cursor.result.columns if cursor.result else None
        cursor.result = self._house.backend.execute(cursor.sql, call.values, self._context())
        cursor.at = 0
        return bool(cursor.result.columns) and (bool(call.options & ask.OPTION_PARSE) or known != cursor.result.columns)

    def _context(self) -> dict[str, str]:
        return {
            "SID": str(self.number),
            "INSTANCE": "1",
            "INSTANCE_NAME": "presman",
            "SESSION_USER": self._user,
            "CURRENT_USER": self._user,
            "CURRENT_SCHEMA": self._user,
            "DB_NAME": "PRESMAN",
            "CON_NAME": "CDB$ROOT",
            "CON_ID": "1",
        }

    @staticmethod
    def _wanted(call: ask.Call, cursor: Cursor) -> int:
        """Return how many rows the client wants with this answer."""
        if call.options & ask.OPTION_DESCRIBE or cursor.waits_for_defines:
            return 0
        if call.code != ask.EXECUTE or call.cursor:
            return call.count
        return call.prefetch if call.options & ask.OPTION_FETCH else 0

    def _put_rows(self, answer: Answer, cursor: Cursor, wanted: int, action: Action | None = None) -> None:
        result = cursor.result or Result()
        rows = result.rows[cursor.at : cursor.at + wanted]
        if isinstance(action, Ora):
            answer.rows(result.columns, rows[: action.after], cursor.defines, self._keep_lobs(cursor, rows))
            raise OraError(action.code, action.text)
        answer.rows(result.columns, rows, cursor.defines, self._keep_lobs(cursor, rows))
        cursor.at += len(rows)
        if result.columns and len(rows) < wanted:
            answer.error(NO_MORE_ROWS, "no data found", cursor=cursor.number, rows=cursor.at)
        else:
            answer.error(cursor=cursor.number, rows=cursor.at)

    def _keep_lobs(self, cursor: Cursor, rows: list[tuple[Any, ...]]) -> int:
        """Keep the LOBs that are handed out as locators; returns the number of the first."""
        first = max(self._lobs, default=0) + 1
        if cursor.result is None or (cursor.defines and all(d.type != ask.TYPE_CLOB for d in cursor.defines)):
            return first
        columns = [i for i, c in enumerate(cursor.result.columns) if form_of(c.kind).type == ask.TYPE_CLOB]
        values = [row[i] for row in rows for i in columns if row[i] is not None]
        self._lobs.update(enumerate(values, first))
        for number in sorted(self._lobs)[: -max(1000, len(values))]:
            del self._lobs[number]
        return first

    def _fetch(self, answer: Answer, call: ask.Call) -> None:
        cursor = self._cursors.get(call.cursor)
        if cursor is None:
            answer.error(1001, "invalid cursor")
        else:
            self._put_rows(answer, cursor, call.count)

    def _read_lob(self, answer: Answer, call: ask.Call) -> None:
        value = self._lobs.get(int.from_bytes(call.locator[-8:], "big"), "")
        if call.operation == LOB_LENGTH:
            answer.lob(call.locator, None, len(value))
        elif call.operation == LOB_CHUNK_SIZE:
            answer.lob(call.locator, None, 8060)
        elif call.operation == LOB_READ:
            part = value[call.offset - 1 : call.offset - 1 + call.count]
            answer.lob(call.locator, part if isinstance(part, bytes) else part.encode(), len(part))
        else:
            answer.error(22275, "invalid LOB locator specified")
            return
        answer.error()
