"""Requests of a client: parses the bytes of a request into a Call. Parsing has no side effects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.oracle_server import services
from tests.oracle_server.wire import Dialect, Reader, decode_date, decode_number

PROTOCOL, DATA_TYPES, FUNCTION, PIGGYBACK, ONE_WAY, FAST_AUTH, ROW_DATA = 1, 2, 3, 17, 26, 34, 7
REEXECUTE, FETCH, LOGOFF, COMMIT, ROLLBACK, REEXECUTE_FETCH = 4, 5, 9, 14, 15, 78
EXECUTE, LOB, AUTH_TWO, AUTH_ONE, PING, RELEASE, PIPELINE_END = 94, 96, 115, 118, 147, 163, 200
VERSION = 59
SERVICES = services.FIRST_BYTE
CLOSE_CURSORS, END_TO_END, SET_SCHEMA, KEY_VALUE, SESSION_STATE, PIPELINE_BEGIN, ALTER = (
    105,
    135,
    152,
    154,
    176,
    199,
    204,
)

NAMES = {
    SERVICES: "network services",
    PROTOCOL: "protocol",
    DATA_TYPES: "data types",
    AUTH_ONE: "login one",
    AUTH_TWO: "login two",
    EXECUTE: "execute",
    REEXECUTE: "execute",
    REEXECUTE_FETCH: "execute",
    FETCH: "fetch",
    LOB: "lob",
    VERSION: "version",
    PING: "ping",
    COMMIT: "commit",
    ROLLBACK: "rollback",
    LOGOFF: "logoff",
    PIPELINE_END: "pipeline",
}

PRIVILEGES = {
    0x20: "SYSDBA",
    0x40: "SYSOPER",
    0x0040_0000: "SYSASM",
    0x0100_0000: "SYSBACKUP",
    0x0200_0000: "SYSDG",
    0x0400_0000: "SYSKM",
    0x0800_0000: "SYSRAC",
}
"""Bits of a login's mode: the privilege with which the user logs in."""

CHARACTER_SETS = 2000
"""All codes of data types are below this."""

VERSION_AT, ENDS_AT, ENDS = 7, 40, 0x20
"""Positions in a client's capabilities: the field version, and whether answers should end in a mark."""

UNKNOWN = Dialect()
TOKENS_SINCE = 18
COUNTED = 2
"""A flag of the client: its texts come after their length."""

TYPE_SMALL, UNIVERSAL = 27, 1
"""The type of the smallest signed integers, and the form in which they are sent like all others."""

TYPE_VARCHAR, TYPE_NUMBER, TYPE_LONG, TYPE_DATE, TYPE_RAW, TYPE_LONG_RAW, TYPE_CHAR = 1, 2, 8, 12, 23, 24, 96
TYPE_BINARY_FLOAT, TYPE_BINARY_DOUBLE, TYPE_CLOB, TYPE_BLOB = 100, 101, 112, 113
TYPE_TIMESTAMP, TYPE_TIMESTAMP_TZ, TYPE_TIMESTAMP_LTZ = 180, 181, 231
TYPE_LONG_VARCHAR = 94
OPTION_PARSE, OPTION_DEFINE, OPTION_EXECUTE, OPTION_FETCH, OPTION_DESCRIBE = 1, 0x10, 0x20, 0x40, 0x20000


class Unknown(Exception):  # noqa: N818 - answered as an Oracle error
    """A request that the server does not know; nothing after it can be parsed."""


class Bind(NamedTuple):
    """How one bind or defined column is sent; the first `prefetch` characters of a LOB come with its locator."""

    type: int
    size: int
    charset_form: int
    prefetch: int = 0


@dataclass(slots=True)
class Call:
    """One request. Which fields have values depends on `code`; `before` are the piggybacks that came with it.

    `phase` is the first step of a fast login: AUTH_ONE, or AUTH_TWO if no password is checked.
    """

    code: int
    token: int = 0
    sequence: int = 0
    cursor: int = 0
    count: int = 0
    prefetch: int = 0
    options: int = 0
    sql: str = ""
    user: str = ""
    mode: int = 0
    phase: int = 0
    certificate: bool = False
    dialect: Dialect = UNKNOWN
    operation: int = 0
    offset: int = 0
    locator: bytes = b""
    pairs: dict[str, str] = field(default_factory=dict)
    binds: tuple[Bind, ...] = ()
    defines: tuple[Bind, ...] | None = None
    values: tuple[Any, ...] = ()
    closed: tuple[int, ...] = ()
    before: tuple[Call, ...] = ()

    @property
    def privilege(self) -> str:
        """The privilege that a login asks for, "" for none."""
        return next((name for bit, name in PRIVILEGES.items() if self.mode & bit), "")

    @property
    def begins_a_round_trip(self) -> bool:
        """Whether the call begins a round trip: it is not in a pipeline, or it is the first call of one."""
        if self.token:
            return any(note.code == PIPELINE_BEGIN for note in self.before)
        return self.code != PIPELINE_END


def parse(data: bytes, dialect: Dialect, known: Mapping[int, tuple[Bind, ...]]) -> tuple[Call, int]:
    """Return the first request in `data` and its length; `known` are the bind descriptions by cursor.

    Raises NeedMore if the request is not complete, Unknown if the server does not know it.
    """
    reader = Reader(data, dialect)
    before: list[Call] = []
    while True:
        kind = reader.u8()
        if kind == SERVICES:
            return Call(SERVICES, certificate=services.wants_certificate(services.parse(reader))), reader.at
        if kind == PROTOCOL:
            _protocol(reader)
            return Call(PROTOCOL), reader.at
        if kind == DATA_TYPES:
            return Call(DATA_TYPES, dialect=_data_types(reader)), reader.at
        if kind == FAST_AUTH:
            return _fast_auth(reader), reader.at
        if kind not in {FUNCTION, PIGGYBACK, ONE_WAY}:
            raise Unknown(f"message {kind}")
        code = reader.u8()
        sequence = reader.u8()
        token = reader.ub() if dialect.version >= TOKENS_SINCE else 0
        if kind == PIGGYBACK:
            before.append(_piggyback(reader, code))
            continue
        call = _function(reader, code, known)
        call.token, call.sequence, call.before = token, sequence, tuple(before)
        return call, reader.at


def _protocol(reader: Reader) -> None:
    while reader.u8():
        pass
    reader.until_nul()


def _data_types(reader: Reader) -> Dialect:
    """Derive from the client's data types how it encodes messages."""
    reader.raw(4)
    counted = bool(reader.u8() & COUNTED)
    compiled = reader.clr() or b""
    runtime = reader.clr() or b""
    if len(runtime) > 1 and runtime[1] & 1:  # the client's time zone follows
        reader.raw(15 if len(compiled) > 37 and compiled[37] & 2 else 11)
    packed = False
    while kind := reader.u16():
        if kind < CHARACTER_SETS and reader.u16():  # some clients send their national character set first
            form = reader.u16()
            reader.u16()
            packed |= kind == TYPE_SMALL and form == UNIVERSAL
    known = compiled.ljust(ENDS_AT + 1, b"\0")
    return Dialect(known[VERSION_AT], counted, packed, bool(known[ENDS_AT] & ENDS))


def _fast_auth(reader: Reader) -> Call:
    reader.raw(4)
    _protocol(reader)
    version = reader.raw(6)[-1]
    reader.u8()
    dialect = _data_types(reader)
    _, phase, sequence = reader.raw(3)
    if version >= TOKENS_SINCE:
        reader.ub()
    reader.dialect = dialect
    call = _auth(reader, phase)
    call.code, call.phase, call.dialect, call.sequence = FAST_AUTH, phase, dialect, sequence
    return call


def _auth(reader: Reader, code: int) -> Call:
    has_user = reader.u8()
    size = reader.ub()
    mode = reader.ub()
    reader.u8()
    pairs = reader.ub()
    reader.raw(2)
    user = reader.text(size) if has_user else ""
    found = {}
    for _ in range(pairs):
        key, value = reader.dlc(), reader.dlc()
        reader.ub()
        found[key.decode(errors="replace")] = value.decode(errors="replace")
    return Call(code, user=user, mode=mode, pairs=found)


def _piggyback(reader: Reader, code: int) -> Call:
    if code == CLOSE_CURSORS:
        reader.u8()
        return Call(code, closed=tuple(reader.ub() for _ in range(reader.ub())))
    if code == END_TO_END:
        return _end_to_end(reader)
    shapes = {SET_SCHEMA: "1d", SESSION_STATE: "u", PIPELINE_BEGIN: "u11"}
    if code in shapes:
        reader.shape(shapes[code])
    elif code == ALTER:
        reader.shape("1u")
        for _ in range(reader.ub()):
            reader.shape("ddu")
    elif code == KEY_VALUE:
        reader.shape("1u1")
        count = reader.ub()
        reader.shape("u1")
        reader.clr()
        for _ in range(count):
            reader.shape("ddu")
    else:
        raise Unknown(f"piggyback {code}")
    return Call(code)


def _end_to_end(reader: Reader) -> Call:
    reader.shape("11u")
    sizes = {}
    for name, gap in (("client_identifier", ""), ("module", ""), ("action", "1u1u"), ("client_info", "1u1u"), ("", "")):
        reader.u8()
        sizes[name] = reader.ub()
        reader.shape(gap)
    texts = {name: reader.text(size) for name, size in sizes.items() if size}
    return Call(END_TO_END, pairs=texts)


def _function(reader: Reader, code: int, known: Mapping[int, tuple[Bind, ...]]) -> Call:
    if code in {AUTH_ONE, AUTH_TWO}:
        return _auth(reader, code)
    if code == EXECUTE:
        return _execute(reader, known)
    if code in {REEXECUTE, REEXECUTE_FETCH}:
        return _reexecute(reader, code, known)
    if code == FETCH:
        return Call(FETCH, cursor=reader.ub(), count=reader.ub())
    if code == LOB:
        return _lob(reader)
    if code == PIPELINE_END:
        reader.ub()
    elif code == VERSION:
        reader.shape("1u11u" if reader.version >= 11 else "1u11")
    elif code == RELEASE:
        reader.shape("11u")
    elif code not in {LOGOFF, COMMIT, ROLLBACK, PING}:
        raise Unknown(f"function {code}")
    return Call(code)


def _execute(reader: Reader, known: Mapping[int, tuple[Bind, ...]]) -> Call:
    call = Call(EXECUTE, options=reader.ub(), cursor=reader.ub())
    has_sql = reader.u8()
    size = reader.ub()
    reader.shape("1u11u")
    call.prefetch = reader.ub()
    reader.shape("u1")
    binds = reader.ub()
    reader.shape("111111")
    defines = reader.ub()
    reader.shape("u111u1uu1u1")
    if reader.version >= 8:
        reader.shape("1u1u1")
    if reader.version >= 9:
        reader.shape("1u")
    if has_sql:
        call.sql = reader.text(size)
    numbers = [reader.ub() for _ in range(13)]
    call.count = numbers[1]
    if call.options & OPTION_DEFINE:
        call.defines = _descriptions(reader, defines)
        call.binds = known.get(call.cursor, ())
    elif binds:
        call.binds = _descriptions(reader, binds)
        reader.u8()
        call.values = _values(reader, call.binds)
    return call


def _reexecute(reader: Reader, code: int, known: Mapping[int, tuple[Bind, ...]]) -> Call:
    call = Call(code, cursor=reader.ub(), count=reader.ub())
    reader.shape("uu")
    if call.cursor not in known:
        raise Unknown(f"cursor {call.cursor}")
    call.binds = known[call.cursor]
    if call.binds:
        reader.u8()
        call.values = _values(reader, call.binds)
    return call


def _descriptions(reader: Reader, count: int) -> tuple[Bind, ...]:
    found = []
    for _ in range(count):
        kind = reader.u8()
        reader.shape("111")
        size = reader.ub()
        reader.shape("uuduu")
        form = reader.u8()
        prefetch = reader.ub()
        if reader.version >= 8:
            reader.ub()
        found.append(Bind(kind, size, form, prefetch))
    return tuple(found)


def _values(reader: Reader, binds: tuple[Bind, ...]) -> tuple[Any, ...]:
    """Read one row of bind values; values with large buffers come last on the wire."""
    order = sorted(range(len(binds)), key=lambda index: binds[index].size > 32_767)
    values: dict[int, Any] = {index: _value(reader.clr(), binds[index]) for index in order}
    return tuple(values[index] for index in range(len(binds)))


def _value(data: bytes | None, bind: Bind) -> Any:
    if data is None:
        return None
    if bind.type == TYPE_NUMBER:
        return decode_number(data)
    if bind.type in {TYPE_DATE, TYPE_TIMESTAMP, TYPE_TIMESTAMP_TZ, TYPE_TIMESTAMP_LTZ}:
        return decode_date(data).strftime("%Y-%m-%d %H:%M:%S")
    if bind.type in {TYPE_VARCHAR, TYPE_CHAR, TYPE_LONG, TYPE_LONG_VARCHAR}:
        return data.decode("utf-16-be" if bind.charset_form == 2 else "utf-8", errors="replace")
    return data


def _lob(reader: Reader) -> Call:
    reader.u8()
    size = reader.ub()
    reader.shape("1uuu")
    has_charset = reader.u8()
    reader.shape("11")
    operation = reader.ub()
    reader.shape("11")
    offset = reader.ub()
    reader.ub()
    has_amount = reader.u8()
    reader.raw(6)
    locator = reader.raw(size)
    if has_charset:
        reader.ub()
    if operation == 0x40:
        reader.u8()
        reader.clr()
    amount = reader.ub() if has_amount else 0
    return Call(LOB, operation=operation, offset=offset, locator=locator, count=amount)
