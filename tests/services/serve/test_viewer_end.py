"""End of a viewer's monitor together with its page."""

from __future__ import annotations

import asyncio
import socket
from types import SimpleNamespace
from typing import Any

import pytest

from presman.services.listener import Connections, _Connection
from presman.services.serve.viewer_slots import Viewer


@pytest.mark.parametrize(("code", "ends"), [(None, ["no more force later", "killed"]), (0, ["no more force later"])])
def test_a_monitor_is_ended_when_its_page_fails(code: int | None, ends: list[str]) -> None:
    done: list[str] = []

    async def read(_: object) -> None:
        raise OSError("the page has gone")

    async def listen(_: object) -> None:
        pass

    viewer: Any = SimpleNamespace(
        _process=SimpleNamespace(stdout=1, stderr=2, returncode=code), _read=read, _listen=listen,
        _ask=lambda: listen(0),
        _killing=SimpleNamespace(cancel=lambda: done.append("no more force later")),
        _kill=lambda: done.append("killed"),
    )  # fmt: skip
    with pytest.raises(OSError, match="the page has gone"):
        asyncio.run(Viewer.run(viewer))
    assert done == ends


def test_at_the_end_all_but_closing_connections_are_cut() -> None:
    cut: list[str] = []
    connections = Connections(8, 4, lambda _: None)
    for name in "abc":
        made = _Connection(socket.socket(), "127.0.0.1", asyncio.Protocol, 0.0)
        made.protocol, made.cut = name, lambda name=name: cut.append(name)  # type: ignore[assignment,method-assign,misc]
        connections._open.add(made)
    connections.cut_all_but({"b"})
    assert sorted(cut) == ["a", "c"]
    for made in connections._open:
        made.line.close()
