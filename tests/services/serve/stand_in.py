"""Stand-in for a viewer's monitor: a small program that exchanges the same packets and obeys keys.

Its first line of input determines its behaviour. It shows that line and all further input.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from presman.base.child import PacketReader, file_packet, meta_packet, packet


def main() -> int:
    line = b""
    while not line.endswith(b"\n"):
        line += os.read(0, 1)
    orders = json.loads(line)
    if orders.get("fails"):
        sys.stderr.write("warning: something\npresman: no target of that name\n")
        return 2
    os.write(1, b"__GANGLION__\n")
    show(f"{orders['name']} {os.environ['COLUMNS']}x{os.environ['ROWS']} ")
    reader = PacketReader()
    while data := os.read(0, 4096):
        for kind, content in reader.feed(data):
            if kind == b"M" and json.loads(content)["type"] == "quit":
                if orders.get("stays"):
                    time.sleep(60)
                return 0
            if kind == b"M" and json.loads(content)["type"] == "alive":
                if orders.get("hangs"):
                    time.sleep(60)
                os.write(1, packet(b"M", content))
                continue
            if content == b"q":
                os.write(1, meta_packet({"type": "exit"}))
                return 0
            if content == b"e":
                os.write(1, file_packet({"name": 'a"/\r\n../b.csv', "type": "text/csv"}, b"time,x\n"))
            elif content == b"k":
                os.abort()
            else:
                show(f"{kind.decode()}:{content.decode('utf-8', 'replace')} ")
    return 0


def show(text: str) -> None:
    os.write(1, packet(b"D", text.encode()))


if __name__ == "__main__":
    sys.exit(main())
