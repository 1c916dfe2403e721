"""Network services, which some clients negotiate before they log in: here, authentication by certificate.

A message is a head and a few services; each of these is a list of fields with a type and a length of their own.
Encryption and data integrity are offered as "none": TLS beneath sees to both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.oracle_server.wire import Reader, Writer

MAGIC = 0xDEADBEEF
FIRST_BYTE = MAGIC >> 24
HEAD = 13
AUTHENTICATION, ENCRYPTION, INTEGRITY, SUPERVISOR = 1, 2, 3, 4

_TEXT, _RAW, _U8, _U16, _VERSION, _STATUS = 0, 1, 2, 3, 5, 6
_RELEASE = (0x1300_0000).to_bytes(4, "big")
_SUPERVISED, _CERTIFIED, _PASSWORD = 0x001F, 0xFAFF, 0xFBFF
_BY_CERTIFICATE = (_U8, b"\x02"), (_TEXT, b"tcps")

Field = tuple[int, bytes]
"""A field's type and value."""

Services = Mapping[int, Sequence[Field]]
"""The fields of each service by its number."""


def parse(reader: Reader) -> Services:
    """Read a message whose first byte has been read. Raises NeedMore if it is not complete."""
    reader.raw(3)
    whole = Reader(reader.raw(reader.u16() - 6))
    whole.raw(4)
    count = whole.u16()
    whole.u8()
    found = {}
    for _ in range(count):
        number, fields = whole.u16(), whole.u16()
        whole.raw(4)
        found[number] = [_field(whole) for _ in range(fields)]
    return found


def _field(reader: Reader) -> Field:
    size, kind = reader.u16(), reader.u16()
    return kind, reader.raw(size)


def wants_certificate(asked: Services) -> bool:
    """Return whether a client offers to authenticate by its certificate."""
    return set(_BY_CERTIFICATE) <= set(asked.get(AUTHENTICATION, ()))


def answer(*, certified: bool) -> bytes:
    """Return the server's answer: authentication by certificate, no encryption and no data integrity."""
    version = (_VERSION, _RELEASE)
    known: list[Field] = [(_STATUS, (_CERTIFIED if certified else _PASSWORD).to_bytes(2, "big"))]
    active = SUPERVISOR, AUTHENTICATION
    supervised = Writer().raw(MAGIC.to_bytes(4, "big")).u16(_U16, 0, len(active)).u16(*active)
    services: Services = {
        SUPERVISOR: [version, (_STATUS, _SUPERVISED.to_bytes(2, "big")), (_RAW, bytes(supervised.data))],
        AUTHENTICATION: [version, *known, *(_BY_CERTIFICATE if certified else ())],
        ENCRYPTION: [version, (_U8, b"\0")],
        INTEGRITY: [version, (_U8, b"\0")],
    }
    body = Writer()
    for number, fields in services.items():
        body.u16(number, len(fields), 0, 0)
        for kind, value in fields:
            body.u16(len(value), kind).raw(value)
    head = Writer().raw(MAGIC.to_bytes(4, "big")).u16(HEAD + len(body.data)).raw(_RELEASE).u16(len(services)).u8(0)
    return bytes(head.data + body.data)
