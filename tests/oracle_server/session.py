"""One client's session: login, calls, breaks, logoff."""

from __future__ import annotations

import asyncio
from typing import NoReturn

from tests.oracle_server import requests as ask
from tests.oracle_server import services
from tests.oracle_server.answers import Answer
from tests.oracle_server.backend import OraError
from tests.oracle_server.counters import Login
from tests.oracle_server.crypto import Challenge
from tests.oracle_server.cursors import Cursors
from tests.oracle_server.faults import FATAL, Action, Delay, Hold, Mute, Ora, Stage, Warn
from tests.oracle_server.handshake import House, apply_cut, shake_hands
from tests.oracle_server.packets import SDU, Broken, Gone, Packets
from tests.oracle_server.wire import Dialect, NeedMore

LOGIN = {ask.SERVICES, ask.PROTOCOL, ask.DATA_TYPES, ask.FAST_AUTH, ask.AUTH_ONE, ask.AUTH_TWO}
"""The calls with which a session begins."""


class Session:
    """Serves one connection until the client leaves or a fault ends it."""

    def __init__(self, house: House, packets: Packets, number: int) -> None:
        self._house = house
        self._profile = house.profile
        self._packets = packets
        self.number = number
        self._buffer = b""
        self._dialect = Dialect()
        self._user = ""
        self._certified = ""
        self._challenge: Challenge | None = None
        self._logged_in = False
        self._cursors = Cursors(house.backend)
        self._hold = 0.0

    async def serve(self) -> None:
        counters = self._house.counters
        counters.connections += 1
        try:
            self._profile = await shake_hands(self._house, self._packets)
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

    async def _turn(self) -> bool:
        """Serve one request; False ends the session."""
        try:
            call = await self._next_call()
            if call.begins_a_round_trip:
                await asyncio.sleep(2 * self._house.latency)
            return await self._answer(call)
        except Broken:
            await self._packets.settle()
            self._buffer = b""
            await self._say(self._new_answer().error(1013, "user requested cancel of current operation"))
            return True

    async def _next_call(self) -> ask.Call:
        known = self._cursors.binds()
        while True:
            try:
                call, size = ask.parse(self._buffer, self._dialect, known)
            except NeedMore:
                self._buffer += await self._packets.data()
                continue
            except ask.Unknown as error:
                self._buffer = b""
                await self._say(self._new_answer().error(3115, f"unsupported network datatype or call ({error})"))
                continue
            self._buffer = self._buffer[size:]
            return call

    def _new_answer(self, call: ask.Call | None = None) -> Answer:
        token, sequence = (call.token, call.sequence) if call else (0, 0)
        zone = self._house.backend.zone
        return Answer(self._profile, self._dialect, token=token, sequence=sequence, zone=zone)

    async def _say(self, answer: Answer) -> None:
        mark = self._dialect.marked
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
            self._cursors.drop(note.closed)
        if call.code not in {ask.EXECUTE, ask.REEXECUTE, ask.REEXECUTE_FETCH}:
            counters.note(self.number, ask.NAMES.get(call.code, str(call.code)))
        if call.code in LOGIN:
            return await self._login(call)
        if not self._logged_in:
            return False
        if call.code in {ask.EXECUTE, ask.REEXECUTE, ask.REEXECUTE_FETCH}:
            return await self._statement(call)
        answer = self._new_answer(call)
        if call.code == ask.FETCH:
            self._cursors.fetch(answer, call)
        elif call.code == ask.LOB:
            self._cursors.read_lob(answer, call)
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
        apply_cut(self._packets, action)
        if isinstance(action, Mute):
            await self._silence()
        if isinstance(action, Delay):
            await self._packets.pause(action.seconds)
        if call.code == ask.SERVICES:
            self._certified = self._house.certificates.get(self._packets.certificate, "") if call.certificate else ""
            await self._packets.send(services.answer(certified=bool(self._certified)), marked=False)
        elif call.code == ask.PROTOCOL:
            await self._say(self._new_answer().protocol())
        elif call.code == ask.DATA_TYPES:
            await self._say(self._new_answer().data_types())
            self._agree_on(call.dialect)
        elif call.code == ask.FAST_AUTH:
            self._agree_on(call.dialect)
            return await self._authenticate(call, call.phase, self._new_answer(call).protocol().data_types(), action)
        else:
            return await self._authenticate(call, call.code, self._new_answer(call), action)
        return True

    def _agree_on(self, dialect: Dialect) -> None:
        version = min(self._profile.field_version, dialect.version)
        self._dialect = dialect._replace(version=version, marked=dialect.marked and self._profile.end_of_response)

    async def _authenticate(self, call: ask.Call, phase: int, answer: Answer, action: Action | None) -> bool:
        if phase == ask.AUTH_ONE:
            self._user = call.user.upper()
            self._challenge = Challenge(self._house.accounts.get(self._user, "\0"))
            await self._say(answer.parameters(self._challenge.pairs()).error())
            return True
        if isinstance(action, Ora):
            await self._say(answer.error(action.code, action.text))
            return False
        proof = self._proof(call)
        if proof is None:
            await self._say(answer.error(1017, "invalid username/password; logon denied"))
            return False
        if isinstance(action, Warn):
            answer.warning(action.code, action.text)
        counters = self._house.counters
        counters.logins += 1
        given = call.pairs
        counters.last_login = Login(
            self._user,
            given.get("PROXY_CLIENT_NAME", "").upper(),
            call.privilege,
            given.get("AUTH_ALTER_SESSION", "").rstrip("\0"),
        )
        counters.sessions += 1
        counters.most_sessions = max(counters.most_sessions, counters.sessions)
        self._logged_in = True
        await self._say(answer.parameters(self._session_facts(proof)).language("AMERICAN").error())
        return True

    def _proof(self, call: ask.Call) -> str | None:
        """Return the proof that the server knows the user, too; None if it does not.

        With a certificate TLS has authenticated the client, and only the certificate's own user may log in.
        """
        if self._challenge:
            proof = self._challenge.accept(call.pairs.get("AUTH_SESSKEY", ""), call.pairs.get("AUTH_PASSWORD", ""))
            return proof if self._user in self._house.accounts else None
        self._user = self._certified
        return "" if self._certified and call.user.upper() in {"", self._certified} else None

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
        """Answer nothing more, not even breaks, until the client disconnects."""
        while True:
            try:
                await self._packets.data()
            except Broken:
                continue

    # --- statements

    async def _statement(self, call: ask.Call) -> bool:
        try:
            cursor = self._cursors.of(call)
        except KeyError:
            await self._say(self._new_answer(call).error(1001, "invalid cursor"))
            return True
        only_defines = call.defines is not None and not call.options & ask.OPTION_EXECUTE and call.code == ask.EXECUTE
        self._house.counters.note(
            self.number, "define" if only_defines else "execute", "" if only_defines else cursor.sql
        )
        action = self._house.faults.next(Stage.STATEMENT, ("define: " if only_defines else "") + cursor.sql)
        apply_cut(self._packets, action)
        if isinstance(action, Mute):
            await self._silence()
        if isinstance(action, Delay):
            await self._packets.pause(action.seconds)
        if isinstance(action, Hold):
            self._hold = action.seconds
        answer = self._new_answer(call)
        alive = True
        try:
            if isinstance(action, Ora) and not action.after:
                raise OraError(action.code, action.text)
            parsed = not only_defines and self._cursors.run(cursor, call, self._context())
            if parsed:
                answer.describe(cursor.result.columns if cursor.result else ())
            wanted = self._cursors.wanted(call, cursor)
            self._cursors.put_rows(answer, cursor, wanted, action if isinstance(action, Ora) else None)
        except OraError as error:
            if not call.cursor:
                self._cursors.drop([cursor.number])
            answer.error(error.code, error.text)
            alive = error.code not in FATAL
        await self._say(answer)
        return alive

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
