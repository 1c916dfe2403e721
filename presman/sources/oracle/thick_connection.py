"""Synchronous connection: the driver in thick mode, or in thin mode without asyncio."""

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import oracledb

from presman.sources.oracle import thin_connection as thin
from presman.sources.oracle.oracle_errors import has_timed_out, is_lost
from presman.sources.oracle.settings import ConnectSettings
from presman.sources.oracle.thin_connection import BoundSelect, Cancelled, ConnectionLost, Rows


class Login:
    """A login in a separate thread: a listener that does not answer would block the caller forever."""

    def __init__(self, settings: ConnectSettings, timeout: float) -> None:
        self._arguments = thin.connect_arguments(settings, timeout)
        self._timeout = timeout
        self._over = threading.Condition()
        self._outcome: Any = None

    def wait(self) -> Any:
        """Return the connection. Raises the driver's error, TimeoutError, or the exception passed to `end`."""
        threading.Thread(target=self._connect, name="presman-login", daemon=True).start()
        with self._over:
            self._over.wait_for(lambda: self._outcome is not None, self._timeout)
        self.end(TimeoutError(f"no answer within {round(self._timeout, 1):g} s"))
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome

    def _connect(self) -> None:
        try:
            made: Any = oracledb.connect(**self._arguments, stmtcachesize=thin.CACHED_STATEMENTS)
        except Exception as error:
            made = error
        if not self.end(made) and not isinstance(made, Exception):
            with suppress(oracledb.Error):
                made.close()

    def end(self, outcome: Any) -> bool:
        """Set the outcome unless there is one already, and return whether it was set.

        A connection that is made after the end is closed at once.
        """
        with self._over:
            settled = self._outcome is None
            self._outcome = outcome if settled else self._outcome
            self._over.notify_all()
        return settled


class ThickConnection:
    """The synchronous driver, thick or (where the network requires it) thin."""

    pipelines = False

    def __init__(self, settings: ConnectSettings) -> None:
        self._settings = settings
        self._connection: Any = None
        self._login: Login | None = None
        self._cancelled = False
        self.round_trips = self.received = 0
        self.version = ""

    def connect(self, timeout: float) -> None:
        """Log in. Raises oracledb.Error, TimeoutError or Cancelled."""
        if self._settings.thick and oracledb.is_thin_mode():
            oracledb.init_oracle_client(lib_dir=self._settings.lib_dir)
        self._login = Login(self._settings, timeout)
        if self._cancelled:
            raise Cancelled
        self._connection = self._login.wait()
        self._connection.outputtypehandler = thin.output_type
        thin.label(self._connection)
        self.version = self._connection.version

    def fetch(self, statement: BoundSelect, timeout: float) -> Rows:
        """Run one SELECT."""
        try:
            with self._cursor(timeout) as cursor:
                cursor.arraysize = cursor.prefetchrows = statement.rows
                cursor.execute(statement.sql, dict(statement.binds))
                rows: Rows = cursor.fetchall()
                return rows
        except oracledb.Error as error:
            if self._cancelled:
                raise Cancelled from error
            if has_timed_out(error):
                raise ConnectionLost(TimeoutError(f"no answer within {round(timeout, 1):g} s"), stuck=True) from error
            if is_lost(error) or not self._connection.is_healthy():
                raise ConnectionLost(error) from error
            raise

    def run(self, sql: str, binds: Mapping[str, Any], timeout: float) -> None:
        """Run one statement that returns no rows."""
        try:
            with self._cursor(timeout) as cursor:
                cursor.execute(sql, dict(binds))
        except oracledb.Error as error:
            if has_timed_out(error) or is_lost(error) or not self._connection.is_healthy():
                raise ConnectionLost(error, stuck=has_timed_out(error)) from error
            raise

    def _cursor(self, timeout: float) -> Any:
        if self._cancelled:
            raise Cancelled
        self.round_trips += 1
        self._connection.call_timeout = max(1, round(timeout * 1000))
        return self._connection.cursor()

    def fetch_all(self, statements: Sequence[BoundSelect], timeout: float) -> list[Rows | Any]:
        """Not offered: `pipelines` is False."""
        raise NotImplementedError

    def cancel(self) -> None:
        """End the call in progress; may be called from any thread."""
        self._cancelled = True
        if self._login is not None:
            self._login.end(Cancelled())
        if self._connection is not None:
            with suppress(oracledb.Error):
                self._connection.cancel()

    def close(self) -> None:
        """Log off. Never raises."""
        if self._connection is not None:
            with suppress(oracledb.Error, StopIteration):  # StopIteration: a bug of the driver before 26.1
                if self._connection.is_healthy():  # setting a timeout on a dead connection crashes the driver
                    self._connection.call_timeout = round(thin.PARTING * 1000)
                    self._connection.close()
            self._connection = None
