"""Packets between a web server and the monitor that it runs: a letter, a length in four bytes, and that many bytes.

`D` is what a terminal sends or shows, `M` JSON about it (resize, focus, blur, quit; exit), `F` a file for the browser:
the length of a JSON header in four bytes, the header, the content. The letters D and M are Textual's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

HEAD = 5
"""Bytes before the content."""


def packet(kind: bytes, content: bytes) -> bytes:
    """Return a packet."""
    return kind + len(content).to_bytes(4, "big") + content


def meta_packet(content: Mapping[str, object]) -> bytes:
    """Return a packet about the terminal."""
    return packet(b"M", json.dumps(content).encode())


def file_packet(header: Mapping[str, str], content: bytes) -> bytes:
    """Return a packet with a file."""
    said = json.dumps(header).encode()
    return packet(b"F", len(said).to_bytes(4, "big") + said + content)


def file_of(content: bytes) -> tuple[dict[str, str], bytes]:
    """Return the header and the content of a file. Raises ValueError."""
    end = 4 + int.from_bytes(content[:4], "big")
    header = json.loads(content[4:end])
    return {str(name): str(value) for name, value in header.items()}, content[end:]


class PacketReader:
    """Packets out of what comes in pieces."""

    def __init__(self) -> None:
        self._came = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the letter and the content of each packet that is complete."""
        self._came += data
        while len(self._came) >= HEAD and len(self._came) >= (end := HEAD + int.from_bytes(self._came[1:HEAD], "big")):
            whole = bytes(self._came[:end])
            del self._came[:end]
            yield whole[:1], whole[HEAD:]
