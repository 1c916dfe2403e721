"""The server: a listener on the loopback interface in a thread of its own."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from types import TracebackType
from typing import TypeVar

from tests.oracle_server.backend import Backend
from tests.oracle_server.counters import Counters
from tests.oracle_server.faults import Faults
from tests.oracle_server.packets import Packets
from tests.oracle_server.profiles import Profile
from tests.oracle_server.session import Session

LOOPBACK = "127.0.0.1"
T = TypeVar("T")


class OracleServer:
    """Speaks enough of Oracle's protocol for thin clients to log in and SELECT.

    It listens on 127.0.0.1 only; port 0 means a free port. `accounts` are user names (upper case) and passwords;
    `certificates` are common names in clients' certificates with their users, as with IDENTIFIED EXTERNALLY;
    `services` are the service names that it accepts (None: all). `latency` is added each way, in seconds.
    """

    def __init__(
        self,
        backend: Backend,
        profile: Profile,
        *,
        port: int = 0,
        accounts: Mapping[str, str] | None = None,
        certificates: Mapping[str, str] | None = None,
        services: Iterable[str] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.backend = backend
        self.profile = profile
        self.faults = Faults()
        self.counters = Counters()
        self.accounts: Mapping[str, str] = {"PRESMAN": "presman"} if accounts is None else accounts
        self.certificates = certificates or {}
        self.services = None if services is None else frozenset(name.lower() for name in services)
        self.latency = 0.0
        self.port = port
        self._tls = tls
        self._loop = asyncio.new_event_loop()
        self._sessions: set[asyncio.Task[None]] = set()
        self._number = 100
        self._listener: asyncio.Server | None = None
        self._thread = threading.Thread(target=self._run, name="oracle-server", daemon=True)

    @property
    def dsn(self) -> str:
        """The server's easy connect string."""
        return f"{LOOPBACK}:{self.port}/presman"

    def start(self) -> OracleServer:
        """Listen. Raises OSError if the port is taken."""
        self._thread.start()
        self._submit(self._listen()).result()
        return self

    def stop(self) -> None:
        """End all sessions and the listener."""
        if self._thread.is_alive():
            self._submit(self._shut()).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    def drop_sessions(self) -> None:
        """Cut every connection at once, as a crash of the host would."""
        self._submit(self._end_sessions()).result()

    def call(self, function: Callable[[], T]) -> T:
        """Run `function` in the server's thread, the only one that may use the backend, and return its result."""

        async def run() -> T:
            return function()

        return self._submit(run()).result()

    def _submit(self, work: object) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)  # type: ignore[arg-type]

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    async def _listen(self) -> None:
        self._listener = await asyncio.start_server(self._welcome, LOOPBACK, self.port, ssl=self._tls)
        self.port = self._listener.sockets[0].getsockname()[1]

    async def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None:
            return
        self._number += 1
        self._sessions.add(task)
        try:
            await Session(self, Packets(reader, writer, self.counters), self._number).serve()
        except asyncio.CancelledError:
            return
        finally:
            self._sessions.discard(task)

    async def _end_sessions(self) -> None:
        for task in list(self._sessions):
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*self._sessions, return_exceptions=True)

    async def _shut(self) -> None:
        if self._listener is not None:
            self._listener.close()
        await self._end_sessions()

    def __enter__(self) -> OracleServer:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
