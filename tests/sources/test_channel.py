"""Channel between two processes: each value can be awaited, whatever came before it."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Iterator
from types import MappingProxyType

import pytest

from presman.base.release import Release
from presman.base.secret import Secret
from presman.rows.queries import load
from presman.sources import Request
from presman.sources.subprocess_source import Channel, ChannelEndedError

Ends = tuple[Channel, Channel]


@pytest.fixture
def ends() -> Iterator[Ends]:
    """Return two ends of a line."""
    here, there = map(Channel, socket.socketpair())
    yield here, there
    here.close()
    there.close()


def refuse() -> None:
    """Ignore a value."""
    raise ImportError("no such module")


class Refused:
    """A value that the other end cannot unpickle."""

    def __reduce__(self) -> tuple[object, tuple[()]]:
        return refuse, ()


def test_two_values_that_arrive_together_are_received_one_by_one(ends: Ends) -> None:
    here, there = ends
    here.send("opened")
    here.send({"looked": MappingProxyType({"by_class": 1})})
    assert there.comes(0)
    assert there.receive() == "opened"
    assert there.comes(0), "the second is not lost in what was read ahead"
    assert there.receive() == {"looked": {"by_class": 1}}
    assert not there.comes(0)


def test_an_unreadable_value_does_not_affect_others(ends: Ends) -> None:
    here, there = ends
    here.send(Refused())
    here.send("the next")
    with pytest.raises(ImportError, match="no such module"):
        there.receive()
    assert there.receive() == "the next"


def test_a_large_value_comes_whole(ends: Ends) -> None:
    here, there = ends
    here._end.settimeout(0)
    data = b"x" * 100_000
    here.send(data)
    assert there.receive() == data


def test_an_end_in_the_middle_of_a_value_is_the_end(ends: Ends) -> None:
    here, there = ends
    here._end.sendall((100).to_bytes(8, "big") + pickle.dumps(1))
    here.shut()
    with pytest.raises(ChannelEndedError):
        there.receive()
    with pytest.raises(ChannelEndedError):
        here.send(2)


def test_a_query_is_sent_in_full_only_once(ends: Ends) -> None:
    here, there = ends
    asked = [Request(query) for query in load(Release(19)).values()]
    sizes = []
    for _ in range(2):
        here.send(asked[:5])
        sizes.append(len(there._end.recv(100_000, socket.MSG_PEEK)))
        assert there.receive() == asked[:5]
    assert sizes[1] < sizes[0] / 5


def test_secrets_are_sent_only_on_request(ends: Ends) -> None:
    here, there = ends
    here.send_with_secrets(Secret("tiger"))
    assert there.receive().reveal() == "tiger"
    with pytest.raises(TypeError):
        here.send(Secret("tiger"))
