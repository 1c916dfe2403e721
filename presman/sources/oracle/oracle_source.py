"""The live source: a database read with python-oracledb, in one session, with SELECT only."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache, partial
from socket import gaierror
from typing import Any, NamedTuple

import oracledb

from presman.base.release import Release
from presman.base.text import clean
from presman.rows.queries import Query, Scope, bind_names, field_types, null_columns, shortened, to_records
from presman.rows.query_files import OLDEST
from presman.rows.snapshot import Problem, Section
from presman.sources import USUAL_BINDS, Answer, OutcomeUnknown, Request, SourceError
from presman.sources.oracle.guard import AnswerTooLarge
from presman.sources.oracle.oracle_errors import code_of, login_error, problem, source_error
from presman.sources.oracle.session_identity import HERE_AND_NOW, AnswerFacts, SessionClock
from presman.sources.oracle.settings import ConnectSettings
from presman.sources.oracle.thick_connection import ThickConnection
from presman.sources.oracle.thin_connection import BoundSelect, Cancelled, ConnectionLost, Rows, ThinConnection

ABOUT_SESSION = "SELECT SYS_CONTEXT('USERENV', 'SESSION_USER') FROM dual"
ABOUT_CONTAINER = "SELECT SYS_CONTEXT('USERENV', 'CON_NAME') FROM dual"
ABOUT_CONTAINER_ID = "SELECT SYS_CONTEXT('USERENV', 'CON_ID') FROM dual"
ABOUT_CLOUD = "SELECT SYS_CONTEXT('USERENV', 'CLOUD_SERVICE') FROM dual"
"""Parameters of SYS_CONTEXT, each in a separate query because older releases raise an error for some."""

# Two rows are fetched where there is one: so the driver sees the end without another round trip (its guide, tuning).
ASK_TIME = BoundSelect(HERE_AND_NOW, {}, 2)

AUTONOMOUS_SINCE = Release(18)
"""The first release of Autonomous Database: earlier ones need no query for it."""

CONNECT_TIMEOUT = 15.0
ACTING = 65.0
"""Time limit of a statement that acts: ALTER SYSTEM KILL SESSION waits for up to 60 seconds (then ORA-00031)."""
SHORTEST_CALL = 0.5
"""Smallest time limit of a query, in seconds, however little time a poll has left."""
SHORTEST_LOGIN = 1.0
"""Smallest time limit of a login during a poll, in seconds."""
ONE_BY_ONE = 60.0
"""Seconds without pipelines after one timed out; fewer if a single query then turns out to be the slow one."""


class SessionDetails(NamedTuple):
    """The session details that `doctor` shows; "" if not known. `driver` is the driver's name, version and mode."""

    driver: str
    sid: int
    instance: int
    user: str
    container: str
    cloud_service: str


class OracleSource:
    """Answers queries from a live database. See :class:`presman.sources.Source`.

    `clock` measures seconds; `connect_timeout` limits a login, `settings.call_timeout` each query, which also gets at
    most half of the time left for the read. A query that fails or times out yields a problem and does not affect the
    others; after a timeout it runs alone from then on, after all others.
    """

    kind = "oracle"

    def __init__(
        self,
        settings: ConnectSettings,
        *,
        name: str | None = None,
        clock: Callable[[], float] = time.monotonic,
        connect_timeout: float = CONNECT_TIMEOUT,
    ) -> None:
        self.name = name or settings.name
        self.scope = Scope.CLUSTER
        self._settings = settings
        self._clock = clock
        self._connect_timeout = connect_timeout
        self._release = OLDEST
        self._connection: ThinConnection | ThickConnection | None = None
        self._session = SessionClock(clock)
        self._facts = AnswerFacts()
        self._cloud = ""
        self._cancelled = False
        self._spent = 0
        self._deadline = math.inf
        self._one_by_one_until = -math.inf

    # -- open, close ----------------------------------------------------------------------------------------------

    def open(self) -> Release:
        """Connect and return the release. Raises SourceError."""
        self.close()
        self._cancelled = False
        self._connect(self._connect_timeout)
        self._release = Release.parse(self._connected.version)
        self._cloud = self._fact(ABOUT_CLOUD) if self._release >= AUTONOMOUS_SINCE else ""
        return self._release

    def _connect(self, timeout: float) -> None:
        try:
            made = ThickConnection(self._settings) if self._settings.thick else ThinConnection(self._settings)
            connection = self._connection = made
            if self._cancelled:
                raise Cancelled
            connection.connect(timeout)
            self._session.locate(connection.fetch(ASK_TIME, min(timeout, self._settings.call_timeout)))
        except Cancelled:
            self.close()
            raise SourceError("cancelled") from None
        except (ConnectionLost, oracledb.Error, OSError, ValueError, TypeError) as error:
            received = self._connection.received if self._connection is not None else 0
            self.close()
            cause = getattr(error, "cause", error)
            address = clean(self._settings.address) if isinstance(cause, (TimeoutError, gaierror)) else ""
            # The server had answered if the login succeeded and only the first query timed out.
            begun = isinstance(cause, TimeoutError) and (isinstance(error, ConnectionLost) or received > 0)
            raise login_error(cause, self._settings.user, address, begun=begun) from None

    @property
    def instance(self) -> int:
        """The number of the session's instance, 0 if not connected."""
        return self._session.instance

    def container(self) -> int | None:
        """Return the session's container (CON_ID), None if the release has none or it is not known."""
        found = self._fact(ABOUT_CONTAINER_ID)
        return int(found) if found.isascii() and found.isdigit() else None

    @property
    def _connected(self) -> ThinConnection | ThickConnection:
        if self._connection is None:
            raise SourceError("not connected")
        return self._connection

    def close(self) -> None:
        """Log off. Never raises, and takes less than a second."""
        connection, self._connection = self._connection, None
        self._session.forget()
        if connection is not None:
            self._spent += connection.round_trips
            connection.close()

    def cancel(self) -> None:
        """End a `read` or `open` in progress soon; called from another thread."""
        self._cancelled = True
        if (connection := self._connection) is not None:
            connection.cancel()

    def advance(self) -> None:
        """Do nothing: time passes by itself."""

    # -- read -----------------------------------------------------------------------------------------------------

    def read(self, requests: Sequence[Request], within: float | None = None) -> Answer:
        """Run `requests`. Raises SourceError if the connection is lost."""
        before = self._spent + _round_trips(self._connection)
        self._deadline = math.inf if within is None else self._clock() + within
        try:
            sections = self._sections(requests)
        except Cancelled:
            self.close()
            raise SourceError("cancelled") from None
        except ConnectionLost as lost:
            self.close()
            raise source_error(lost.cause) from None
        at = self._session.at or datetime.now(UTC)
        return Answer(at, sections, self._spent + _round_trips(self._connection) - before, self._cloud)

    def _sections(self, requests: Sequence[Request]) -> tuple[Section, ...]:
        """Answer all requests, in a pipeline if the database supports it, else one by one; slow queries come last."""
        found: dict[int, Section] = {}
        self._facts.is_cautious = False
        self._session.extrapolate()
        if self._connected.pipelines and self._clock() >= self._one_by_one_until:
            found = self._read_together(requests)
        else:
            self._ask_time()
        left = [index for index in range(len(requests)) if index not in found]
        reconnected = False
        silent: set[str] = set()
        for index in sorted(left, key=lambda index: requests[index].query.name in self._facts.asked_alone):
            request, begun = requests[index], self._clock()
            is_silent = request.query.view in silent  # another query of this view would take as long again
            if is_silent or begun >= self._deadline:
                why = "its view did not answer" if is_silent else "the time for the poll was up"
                found[index] = self._section(request.query, TimeoutError(f"not asked, {why}"))
                continue
            try:
                found[index] = self._read_any(request)
            except ConnectionLost as lost:
                if not lost.stuck or reconnected:
                    raise
                reconnected = True
                found[index] = self._section(request.query, lost.cause, self._clock() - begun)
                self._reconnect()
            if (problem := found[index].problem) is not None and problem.late:
                silent.add(request.query.view)
        return tuple(found[index] for index in range(len(requests)))

    def _read_together(self, requests: Sequence[Request]) -> dict[int, Section]:
        """Run all queries in one pipeline, except slow ones and those with CLOBs; return {} if it got stuck.

        The driver fetches CLOBs one by one after a pipeline, so a pipeline would not make them faster, and if the
        connection is cut at that time, the process crashes.
        """
        chosen = [index for index, request in enumerate(requests) if not self._facts.is_read_alone(request.query)]
        if requests and not chosen:
            return {}
        statements = [_statement(requests[index], self.scope, self._session, self._facts) for index in chosen]
        begun = self._clock()
        try:
            patience = _patience(self._settings.call_timeout, self._deadline - begun)
            first, *others = self._connected.fetch_all([ASK_TIME, *statements], patience)
        except ConnectionLost as lost:
            if not lost.stuck:
                raise
            # One query is slow, its answer too large or not convertible: running them one by one shows which.
            self._facts.is_cautious = isinstance(lost.cause, AnswerTooLarge)
            self._one_by_one_until = self._clock() + ONE_BY_ONE
            self._reconnect()
            return {}
        if isinstance(first, Sequence):
            with suppress(ValueError):  # the database's clock is extrapolated from the last answer instead
                self._session.locate(first)
        seconds = (self._clock() - begun) / len(statements) if statements else 0.0
        found = {}
        for index, rows in zip(chosen, others, strict=True):
            query = requests[index].query
            if isinstance(rows, Sequence):
                self._facts.learn(query, len(rows))
                found[index] = self._section(query, rows, seconds)
            elif code_of(rows).startswith("ORA-"):
                found[index] = self._section(query, rows, seconds)
        return found  # without rows that the driver could not convert: those queries run again, alone

    def _read_any(self, request: Request) -> Section:
        """Read one request, a few rows at a time if the answer is too large for one fetch. Raises ConnectionLost."""
        query = request.query
        if query.name in self._facts.refused:
            return self._section(query, AnswerTooLarge())
        try:
            return self._read_one(request)
        except ConnectionLost as lost:
            if not isinstance(lost.cause, AnswerTooLarge):
                raise
            if self._facts.is_huge(query):
                self._facts.refused.add(query.name)
                raise
        self._facts.is_cautious = True
        self._reconnect()
        return self._read_any(request)

    def _read_one(self, request: Request) -> Section:
        query, begun = request.query, self._clock()
        timeout = _patience(self._settings.call_timeout, self._deadline - begun)
        received = self._connected.received

        def statement() -> BoundSelect:
            return _statement(request, self.scope, self._session, self._facts)

        try:
            try:
                rows = self._connected.fetch(statement(), timeout)
            except (ValueError, OverflowError):
                # A date that Python cannot represent (before the year 1): such dates are read as NULL from now on.
                self._facts.odd_dates.add(query.name)
                rows = self._connected.fetch(statement(), timeout)
        except (oracledb.Error, ValueError, OverflowError) as error:
            return self._section(query, error, self._clock() - begun)
        except (TimeoutError, ConnectionLost) as error:
            lost = error if isinstance(error, ConnectionLost) else None
            if lost is None or lost.stuck:  # this query was the slow one: the others may use a pipeline again
                self._facts.asked_alone.add(query.name)
                self._one_by_one_until = -math.inf
            if lost is not None:
                raise
            return self._section(query, error, self._clock() - begun)
        self._facts.asked_alone.discard(query.name)
        self._facts.learn(query, len(rows), self._connected.received - received)
        return self._section(query, rows, self._clock() - begun)

    def _reconnect(self) -> None:
        """Replace an unusable connection. Raises SourceError if that fails, or if the new one is to another instance.

        Rows from two instances must not be mixed in one read, so the source must then be opened again.
        """
        before = self.instance
        self.close()
        self._connect(min(self._connect_timeout, max(SHORTEST_LOGIN, self._deadline - self._clock())))
        now = self.instance
        if before and now != before:
            self.close()
            raise SourceError(f"the session moved from instance {before} to instance {now}")

    def about(self) -> SessionDetails:
        """Return the details of the session. Raises SourceError if the connection is lost."""
        mode = "thick" if self._settings.thick else "thin"
        driver = f"python-oracledb {oracledb.__version__}, {mode}"
        facts = self._fact(ABOUT_SESSION), self._fact(ABOUT_CONTAINER), self._cloud
        return SessionDetails(driver, self._session.sid, self.instance, *facts)

    def _fact(self, sql: str) -> str:
        try:
            rows = self._connected.fetch(BoundSelect(sql, {}, 2), self._settings.call_timeout)
        except (oracledb.Error, TimeoutError, ValueError):
            return ""
        except (ConnectionLost, Cancelled) as error:
            self.close()
            raise source_error(getattr(error, "cause", error)) from None
        return clean(str(rows[0][0] or ""))

    def perform(self, statement: str, binds: Mapping[str, Any]) -> None:
        """Run a statement that acts, with its binds. Raises SourceError with the database's error.

        Raises OutcomeUnknown if the database does not answer. presman calls this only if actions are allowed.
        """
        try:
            self._connected.run(statement, binds, max(ACTING, self._settings.call_timeout))
        except oracledb.Error as error:
            failed = source_error(error)
            raise SourceError(str(failed), code=failed.code, retry=False) from None
        except (TimeoutError, ConnectionLost, Cancelled) as error:
            if not isinstance(error, TimeoutError):
                self.close()
            failed = source_error(getattr(error, "cause", error))
            raise OutcomeUnknown(str(failed), code=failed.code) from None

    # -- pieces ---------------------------------------------------------------------------------------------------

    def _ask_time(self) -> None:
        try:
            patience = _patience(self._settings.call_timeout, self._deadline - self._clock())
            self._session.locate(self._connected.fetch(ASK_TIME, patience))
        except ConnectionLost as lost:
            if not lost.stuck:
                raise
            self._reconnect()
        except (oracledb.Error, TimeoutError, ValueError):
            return  # the database's clock is extrapolated from the last answer instead

    def _section(self, query: Query, found: Rows | Any, seconds: float = 0.0) -> Section:
        """Return the section of a query's result: its rows or its error."""
        error, now = found, self._session.now()
        if isinstance(found, Sequence):
            try:
                records = to_records(query.record, found, self._session.zone)
                return Section(records, at=now, seconds=seconds, absent=null_columns(query.record, found))
            except (ValueError, TypeError, OverflowError, AttributeError) as unfit:
                error = unfit
        if code_of(error):
            why = problem(error, query, self.scope, self._settings.user or "", self._release)
        else:
            late = isinstance(error, TimeoutError)
            why = Problem("", clean(str(error)) or type(error).__name__, query.view_in(self.scope), late=late)
        return Section(at=now, seconds=seconds, problem=why)


def _statement(request: Request, scope: Scope, session: SessionClock, facts: AnswerFacts) -> BoundSelect:
    """Return the SELECT of a request; if it returned dates that Python cannot represent, they are left out."""
    query = request.query
    sql = _without_odd_dates(query, scope) if query.name in facts.odd_dates else query.sql(scope)
    session_binds = {"inst_id": session.instance, "own_inst_id": session.instance, "own_sid": session.sid}
    known = {**USUAL_BINDS, **request.binds, **session_binds}
    binds = {name: known[name] for name in bind_names(sql) if name in known}
    shorten = partial(shortened, query.record) if facts.is_huge(query) else None
    return BoundSelect(sql, binds, facts.rows(query), shorten)


def _patience(call_timeout: float, left: float) -> float:
    """Return the time limit of the next query, in seconds: it must leave time for the following ones."""
    return min(call_timeout, max(SHORTEST_CALL, left / 2))


def _round_trips(connection: ThinConnection | ThickConnection | None) -> int:
    return connection.round_trips if connection else 0


@cache
def _without_odd_dates(query: Query, scope: Scope) -> str:
    """Return the query with dates before the year 1 as NULL."""

    def field(name: str, kind: type[Any]) -> str:
        # Not from the first day on: in UTC it may be before the year 1.
        dated = f"CASE WHEN {name} >= DATE '0001-01-02' THEN {name} END AS {name}"
        return dated if kind is datetime else name

    names: Mapping[str, tuple[type[Any], bool]] = field_types(query.record)
    fields = ", ".join(field(name, kind) for name, (kind, _) in names.items())
    return f"SELECT {fields} FROM (\n{query.sql(scope)}\n)"
