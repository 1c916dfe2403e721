"""Other protocols, recognised by the first bytes of an answer."""

from __future__ import annotations

from presman.base.text import clean, one_line

PREFIXES = (
    (b"HTTP/", "HTTP"),
    (b"SSH-", "SSH"),
    (b"\x15\x03", "TLS: write the address as tcps://host:port/service"),
    (b"\x16\x03", "TLS: write the address as tcps://host:port/service"),
    (b"-ERR", "Redis"),
    (b"-DENIED", "Redis"),
    (b"220 ", "SMTP or FTP"),
    (b"220-", "SMTP or FTP"),
    (b"+OK", "POP3"),
    (b"* OK", "IMAP"),
    (b"RFB ", "VNC"),
    (b"AMQP", "AMQP"),
)

FRAME = 8
"""The first bytes of an HTTP/2 frame: length (3), type, flags and most of the stream's number."""

SETTINGS, GOAWAY = 4, 7
"""The types of frames such a server begins with, on stream 0."""

SHOWN = 40


def looks_like(data: bytes) -> str:
    """Return what an answer that begins with `data` looks like; "" if nothing else than Oracle is known to."""
    for prefix, name in PREFIXES:
        if data.startswith(prefix):
            return name
    if len(data) >= FRAME and data[0] == 0 and data[3] in {SETTINGS, GOAWAY} and not any(data[5:FRAME]):
        return "HTTP/2"
    if len(data) >= 6 and data[3] == 0 and data[4] in {10, 255} and 0 < int.from_bytes(data[:3], "little") < 1024:
        return "MySQL"
    if data[:1] == b"E" and data[5:6] == b"S" and data[6:11] in {b"FATAL", b"ERROR"}:
        return "PostgreSQL"
    return ""


def describe(data: bytes) -> str:
    """Return the beginning of an answer for people: its first line if it is text, else its first bytes."""
    try:
        text = data[:SHOWN].decode("ascii").splitlines()[0]
    except (UnicodeDecodeError, IndexError):
        text = ""
    if text and text.isprintable():
        return f'"{one_line(clean(text), SHOWN)}"'
    return f"{len(data)} bytes: {data[:HEX].hex(' ').upper()}"


HEX = 8
"""How many bytes of an answer that is no text are shown."""
