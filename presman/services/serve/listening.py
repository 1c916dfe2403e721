"""Sockets that the web server listens on."""

from __future__ import annotations

import socket

from presman.base.errors import InputError


def listening_sockets(host: str, port: int) -> list[socket.socket]:
    """Return a socket for each address that `host` means, all with the same port; 0 takes a free one.

    Raises InputError if an address is not to be had.
    """
    made: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, (address, *_) in dict.fromkeys(found):
            made.append(_bound(socket.socket(family, socket.SOCK_STREAM), str(address), port))
            port = made[0].getsockname()[1]
    except (OSError, UnicodeError) as error:
        for each in made:
            each.close()
        why = getattr(error, "strerror", None) or "it is no address"
        raise InputError(f"cannot listen on {host}:{port}: {why}") from None
    return made


def _bound(made: socket.socket, address: str, port: int) -> socket.socket:
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if made.family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind((address, port))
    except OSError:
        made.close()
        raise
    return made
