"""Answers of the server: builds messages with the fields of one release."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any, NamedTuple

from tests.oracle_server import requests as ask
from tests.oracle_server.backend import ResultColumn
from tests.oracle_server.profiles import Profile
from tests.oracle_server.wire import Dialect, Writer, encode_date, encode_number, encode_timestamp

ERROR, ROW_HEADER, ROW_DATA, PARAMETER, STATUS, LOB_DATA, WARNING, DESCRIBE = 4, 6, 7, 8, 9, 14, 15, 16
SERVER_PIGGYBACK, END_OF_RESPONSE, TOKEN = 23, 29, 33
SYNCHRONISE, LANGUAGE = 5, 16
UTF8, UTF16 = 873, 2000
NO_MORE_ROWS = 1403
LOCATOR = 40
ANY_SCALE = -127


class Form(NamedTuple):
    """How values of one type are sent: type code, character set form and buffer size."""

    type: int
    charset_form: int
    size: int


_FORMS = {
    "VARCHAR2": Form(ask.TYPE_VARCHAR, 1, 0),
    "CHAR": Form(ask.TYPE_CHAR, 1, 0),
    "NUMBER": Form(ask.TYPE_NUMBER, 0, 22),
    "DATE": Form(ask.TYPE_DATE, 0, 7),
    "TIMESTAMP": Form(ask.TYPE_TIMESTAMP, 0, 11),
    "TIMESTAMPUTC": Form(ask.TYPE_TIMESTAMP, 0, 11),
    "TIMESTAMPTZ": Form(ask.TYPE_TIMESTAMP_TZ, 0, 13),
    "CLOB": Form(ask.TYPE_CLOB, 1, 4000),
    "RAW": Form(ask.TYPE_RAW, 0, 2000),
}


def base_kind(kind: str) -> str:
    """Return the type's name without size: ``VARCHAR2`` for ``VARCHAR2(30)``."""
    name = re.split(r"[( ]", kind, maxsplit=1)[0]
    return "TIMESTAMPTZ" if kind.endswith("WITH TIME ZONE") else name


def form_of(kind: str) -> Form:
    """Return how a column of type `kind` is sent; unknown types are sent as text."""
    return _FORMS.get(base_kind(kind), _FORMS["VARCHAR2"])


class Answer(Writer):
    """An answer in the making: `token` is that of the call in a pipeline, `sequence` the client's number for it."""

    def __init__(
        self, profile: Profile, dialect: Dialect, *, token: int = 0, sequence: int = 0, zone: tzinfo = UTC
    ) -> None:
        super().__init__()
        self._profile = profile
        self._version = dialect.version
        self._counted = dialect.counted
        self._packed = dialect.packed
        self._sequence = sequence
        self._zone = zone
        if token:
            self.u8(TOKEN).ub(token)

    def protocol(self) -> Answer:
        """Send the server's protocol, character sets and capabilities."""
        profile = self._profile
        compiled = bytearray(60)
        for index, value in {
            0: 6,
            4: 0xEA,
            7: profile.field_version,
            15: 0x29,
            16: 1,
            23: 0xCF,
            26: 4,
            27: 1,
            37: 0xB8,
        }.items():
            compiled[index] = value
        compiled[40] = 0x20 if profile.end_of_response else 0
        compiled[44] = 0x1E if profile.end_of_response else 0
        runtime = bytearray(12)
        runtime[0], runtime[6] = 2, 0x04
        self.u8(ask.PROTOCOL, 6, 0).raw(b"presman simulator\0").raw(UTF8.to_bytes(2, "little")).u8(1)
        self.u16(0, 11).raw(bytes(9)).u16(UTF16)
        self.clr(bytes(compiled)).clr(bytes(runtime))
        return self

    def data_types(self) -> Answer:
        """Accept the client's data types as they are."""
        self.u8(ask.DATA_TYPES).u16(0)
        return self

    def parameters(self, pairs: Iterable[tuple[str, str, int]]) -> Answer:
        """Send pairs of key and value, with flags."""
        listed = list(pairs)
        self.u8(PARAMETER).ub(len(listed))
        for key, value, flags in listed:
            self.dlc(key.encode()).dlc(value.encode()).ub(flags)
        return self

    def language(self, name: str) -> Answer:
        """Send the session's language; some clients ask for it in PL/SQL if they do not get it."""
        self.u8(SERVER_PIGGYBACK, SYNCHRONISE).ub(0).u8(0).ub(1).u8(0)
        self.dlc(b"AUTH_NLS_LXLAN").dlc(name.encode()).ub(LANGUAGE, 0)
        return self

    def version(self) -> Answer:
        banner = f"presman simulator of Oracle {self._profile.version_text}".encode()
        self.u8(PARAMETER).ub(len(banner))
        self._text(banner).ub(self._profile.version_number)
        return self

    def _text(self, data: bytes) -> Writer:
        return self.clr(data) if self._counted else self.raw(data)

    def warning(self, code: int, text: str) -> Answer:
        data = f"ORA-{code:05}: {text}".encode()
        self.u8(WARNING).ub(code, len(data), 0).clr(data)
        return self

    def status(self) -> Answer:
        """End the answer to a call that returns nothing."""
        self.u8(STATUS).ub(0, 0)
        return self

    def error(self, code: int = 0, text: str = "", *, cursor: int = 0, rows: int = 0) -> Answer:
        """End the answer of any other call, with 0 for success."""
        self.u8(ERROR).ub(0, 0, rows, code & 0xFFFF, 0, 0, cursor).sb(0)
        self.u8(0, 0, 0, 0, 0, 0).ub(0, 0).u8(0).ub(0, 0)
        self.ub(0).u8(0, self._sequence).ub(0, 0).dlc(b"").ub(0, 0, 0).ub(code, rows)
        if self._version >= 14:
            self.ub(0, 0)
        if code:
            self.clr(f"ORA-{code:05}: {text}".encode())
        return self

    def describe(self, columns: Sequence[ResultColumn]) -> Answer:
        self.u8(DESCRIBE).clr(b"\1").ub(1, len(columns))
        if columns:
            self.u8(0)
        for position, column in enumerate(columns, 1):
            self._describe_column(position, column)
        self.dlc(b"").ub(0, 0, 0, 0).dlc(b"")
        return self

    def _describe_column(self, position: int, column: ResultColumn) -> None:
        form = form_of(column.kind)
        width = re.search(r"\((\d+)", column.kind)
        characters = int(width[1]) if width and not form.size else (0 if form.size else 4000)
        scale = {ask.TYPE_NUMBER: ANY_SCALE, ask.TYPE_TIMESTAMP: 6, ask.TYPE_TIMESTAMP_TZ: 6}.get(form.type, 0)
        size = form.size or characters * 4
        name = column.name.encode()
        self.u8(form.type, 0, 0)
        if self._packed:
            self.sb(scale)
        else:
            self.u8(scale & 0xFF)
        self.ub(size, 0, 0).dlc(b"").ub(0)
        self.ub(UTF8 if form.charset_form else 0).u8(form.charset_form).ub(characters)
        if self._version >= 8:
            self.ub(0)
        self.u8(1, len(name) & 0xFF).dlc(name).dlc(b"").dlc(b"").ub(position, 0)
        if self._version >= 17:
            self.dlc(b"").dlc(b"")
        if self._version >= 20:
            self.ub(0)
        if self._version >= 24:
            self.ub(0).u8(0, 0)

    def rows(
        self,
        columns: Sequence[ResultColumn],
        rows: Sequence[Sequence[Any]],
        defines: Sequence[ask.Bind] | None,
        lob: int,
    ) -> Answer:
        """Send rows; `lob` is the number of the first locator, for CLOBs that the client did not define as text."""
        if not rows:
            return self
        self.u8(ROW_HEADER, 0).ub(len(columns), 0, len(rows), 0, 0).dlc(b"")
        kinds = [base_kind(column.kind) for column in columns]
        for row in rows:
            self.u8(ROW_DATA)
            for index, value in enumerate(row):
                define = defines[index] if defines and index < len(defines) else None
                as_text = define is not None and define.type in {ask.TYPE_LONG, ask.TYPE_LONG_VARCHAR}
                if kinds[index] == "CLOB" and not as_text:
                    lob = self._locator(value, lob, define.prefetch if define else 0)
                    continue
                self.clr(self._value(kinds[index], value))
                if as_text:
                    self.sb(0).ub(0)
        return self

    def _locator(self, value: str | bytes | None, number: int, prefetch: int) -> int:
        if value is None:
            self.ub(0)
            return number
        locator = bytearray(LOCATOR)
        locator[-8:] = number.to_bytes(8, "big")
        self.ub(LOCATOR, len(value), 8060)
        if prefetch:
            head = value[:prefetch]
            self.u8(0, 1).clr(head if isinstance(head, bytes) else head.encode())
        self.clr(bytes(locator))
        return number + 1

    def _value(self, kind: str, value: Any) -> bytes | None:
        if value is None or isinstance(value, bytes):
            return value
        if kind == "NUMBER":
            return encode_number(value)
        if kind in {"DATE", "TIMESTAMP", "TIMESTAMPUTC", "TIMESTAMPTZ"}:
            return self._instant(kind, str(value))
        return bytes.fromhex(str(value)) if kind == "RAW" else str(value).encode("utf-8", errors="surrogateescape")

    def _instant(self, kind: str, text: str) -> bytes:
        if text.startswith("-"):
            return _before_christ(text)
        when = datetime.fromisoformat(text).replace(tzinfo=UTC)
        if kind == "TIMESTAMPTZ":
            offset = int((when.astimezone(self._zone).utcoffset() or when - when).total_seconds()) // 60
            hours, minutes = divmod(abs(offset), 60)
            sign = -1 if offset < 0 else 1
            return encode_timestamp(when) + bytes([20 + sign * hours, 60 + sign * minutes])
        if kind == "TIMESTAMPUTC":
            return encode_timestamp(when)
        local = when.astimezone(self._zone)
        return encode_date(local) if kind == "DATE" else encode_timestamp(local)

    def lob(self, locator: bytes, data: bytes | None, amount: int | None) -> Answer:
        """Answer a read of a LOB (`data`) or a request for its size (`amount`)."""
        if data is not None:
            self.u8(LOB_DATA).clr(data)
        self.u8(PARAMETER).raw(locator)
        if amount is not None:
            self.sb(amount)
        return self

    def done(self, *, marked: bool) -> bytes:
        """Return the bytes, with the mark that ends the answer if client and server agreed on one."""
        if marked:
            self.u8(END_OF_RESPONSE)
        return bytes(self.data)


def _before_christ(text: str) -> bytes:
    """Encode a date before Christ, ``-4711-01-01 …``: century and year count down from 100."""
    year, month, day = (int(part) for part in text[1:].split(" ", maxsplit=1)[0].split("-"))
    return bytes([100 - year // 100, 100 - year % 100, month, day, 1, 1, 1])
