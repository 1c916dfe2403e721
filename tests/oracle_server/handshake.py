"""The first packets of a connection: CONNECT, and ACCEPT or REFUSE."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import NoReturn, Protocol

from tests.oracle_server.backend import Backend
from tests.oracle_server.counters import Counters
from tests.oracle_server.faults import Action, Cut, Faults, Garbage, Mute, Redirect, Refuse, Resend, Stage
from tests.oracle_server.packets import HEADER, SDU, Gone, Packet, Packets
from tests.oracle_server.profiles import Profile
from tests.oracle_server.wire import Writer

NO_SERVICES = 4
"""No negotiation of network services: the login follows at once."""

FLAGS_SINCE = 319
NO_SUCH_SERVICE = 12514
DATABASE = bytes(16)
"""Unique id of the database, which the tests do not use."""


class House(Protocol):
    """The parts of the server that a session uses."""

    profile: Profile
    backend: Backend
    faults: Faults
    counters: Counters
    accounts: Mapping[str, str]
    certificates: Mapping[str, str]
    services: frozenset[str] | None
    latency: float


async def shake_hands(house: House, packets: Packets) -> Profile:
    """Accept a client and return the agreed dialect. Raises Gone if the client is refused."""
    action = house.faults.next(Stage.CONNECT)
    if isinstance(action, Garbage):
        await packets.write_bytes(action.data)
    if isinstance(action, Mute | Garbage):
        while True:  # until the client leaves
            await packets.read()
    kind, body = await packets.read()
    if kind != Packet.CONNECT:
        raise Gone
    house.counters.round_trips += 1
    if isinstance(action, Refuse):
        await _refuse(packets, action.code)
    wanted = await _connect_data(packets, body)
    if isinstance(action, Redirect):
        await _redirect(packets, action.port, wanted)
    if isinstance(action, Resend):
        await packets.write(Packet.RESEND, b"")
        await _connect_data(packets, (await packets.read())[1])
    if not _serves(house, wanted):
        await _refuse(packets, NO_SUCH_SERVICE)
    apply_cut(packets, action)
    version = min(int.from_bytes(body[:2], "big"), house.profile.tns_version)
    agreed = replace(house.profile, tns_version=version, flags=house.profile.flags if version >= FLAGS_SINCE else 0)
    services = 0 if packets.certificate in house.certificates else NO_SERVICES
    accept = Writer().u16(version, 0, SDU, 0xFFFF, 1, 0, 45).u8(services, services).raw(bytes(8))
    accept.raw(SDU.to_bytes(4, "big") + (0xFFFF).to_bytes(4, "big")).u8(0).raw(agreed.flags.to_bytes(4, "big"))
    if version >= FLAGS_SINCE:
        accept.raw(DATABASE)
    await asyncio.sleep(2 * house.latency)
    await packets.write(Packet.ACCEPT, bytes(accept.data))
    packets.wide = True
    return agreed


def apply_cut(packets: Packets, action: Action | None) -> None:
    """Set where the connection ends, if the fault is a cut."""
    if isinstance(action, Cut):
        packets.closing_after = action.after


async def _connect_data(packets: Packets, body: bytes) -> bytes:
    """Return the connect descriptor, which is in the CONNECT packet or, if it is long, in the packet after it."""
    size, start = int.from_bytes(body[16:18], "big"), int.from_bytes(body[18:20], "big") - HEADER
    if len(body) >= start + size:
        return body[start : start + size]
    return (await packets.read())[1][2:]


def _serves(house: House, text: bytes) -> bool:
    service = re.search(rb"\b(?:SERVICE_NAME|SID)\s*=\s*([^)]*)", text, re.IGNORECASE)
    name = service[1].decode(errors="replace").strip().lower() if service else ""
    return house.services is None or name in house.services


async def _redirect(packets: Packets, port: int, wanted: bytes) -> NoReturn:
    text = f"(ADDRESS=(PROTOCOL=tcp)(HOST=127.0.0.1)(PORT={port}))".encode() + b"\0" + wanted
    await packets.write(Packet.REDIRECT, len(text).to_bytes(2, "big"))
    await packets.write(Packet.DATA, b"\0\0" + text)
    raise Gone


async def _refuse(packets: Packets, code: int) -> NoReturn:
    text = f"(DESCRIPTION=(TMP=)(VSNNUM=0)(ERR={code})(ERROR_STACK=(ERROR=(CODE={code})(EMFI=4))))".encode()
    await packets.write(Packet.REFUSE, b"\x22\0" + len(text).to_bytes(2, "big") + text)
    raise Gone
