"""Chain reader: the polls of one database by place, unpacked from the blocks of their chains."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, case, func, select

from presman.recording.chain_index import Chain
from presman.recording.codec.chain import FrameDecoder, is_old, unpack_block
from presman.recording.codec.old_formats import OldChain
from presman.recording.codec.values import DamagedError
from presman.recording.schema import BLOCKS, POLLS, TEXTS
from presman.recording.store import DamagedStoreError
from presman.records.snapshot import Snapshot

_CHAINS_KEPT = 3
"""Chains that are kept open: the one looked at and its neighbours."""

_ASKED = 500
"""Texts that are asked for at once: SQLite before 3.32 takes no more than 999 values."""

_LOST_TEXT = "(this text is damaged)"

_LONGEST_TEXT = 1 << 20
"""Characters of a text that is read; presman keeps 250,000."""

_LONGEST_BLOCK = 32 << 20
"""Bytes of a block that is read; one of 256 polls of a busy database has half a million."""

_LARGEST_CHAIN = 33 << 20
"""Bytes of the blocks of a chain that are read; real ones have 6 MB, unless a single poll is larger."""


class ChainReader:
    """Reads chains. Not thread safe."""

    def __init__(self) -> None:
        self._decoders: OrderedDict[tuple[str, int], FrameDecoder | OldChain] = OrderedDict()
        self._damaged: dict[tuple[str, int], str] = {}

    def forget(self) -> None:
        """Read everything anew: chains may have grown."""
        self._decoders.clear()
        self._damaged.clear()

    def snapshot(self, chain: Chain, place: int) -> Snapshot:
        """Return the poll at a place of a chain. Raises DamagedError, and StoreLostError if nobody can be asked."""
        key = (chain.store.name, chain.chain)
        if key in self._damaged:  # who looks for the next one that can be read asks for each
            raise DamagedError(self._damaged[key])
        try:
            decoder = self._decoder(chain)
        except DamagedStoreError as error:
            self._damaged[key] = "its store is damaged"
            raise DamagedError(self._damaged[key]) from error
        except DamagedError as error:
            self._damaged[key] = str(error)
            raise
        if place >= len(decoder):
            raise DamagedError("it is not there")
        return decoder.snapshot(place)

    def _decoder(self, chain: Chain) -> FrameDecoder | OldChain:
        key = (chain.store.name, chain.chain)
        found = self._decoders.get(key)
        if found is None:
            for other in [other for other, each in self._decoders.items() if each.is_large]:
                del self._decoders[other]
            found = self._decoders[key] = _opened(chain)
            if len(self._decoders) > _CHAINS_KEPT:
                self._decoders.popitem(last=False)
        self._decoders.move_to_end(key)
        return found


def _opened(chain: Chain) -> FrameDecoder | OldChain:
    """Return the polls of a chain; of one that still grows those before a damaged block."""
    frames: list[bytes] = []
    packed = 0
    with chain.store.reading() as connection:
        old = OldChain(lambda keys: _texts_of(keys, connection, old))
        try:
            with connection.execute(blocks_of(chain).order_by(BLOCKS.c.poll)) as blocks:
                for (content,) in blocks:
                    if not isinstance(content, bytes):
                        raise DamagedError("no bytes")
                    packed += len(content)
                    if packed > _LARGEST_CHAIN:
                        raise DamagedError("it has more bytes than a recorder writes")
                    if is_old(content):
                        old.add_block(content)
                    else:
                        frames += unpack_block(content)
        except DamagedError:
            if not frames and not len(old):
                raise
    return old if len(old) else FrameDecoder(frames)


def _texts_of(keys: Sequence[bytes], connection: Connection, chain: OldChain) -> dict[bytes, str]:
    """Return texts by their hashes."""
    found = dict.fromkeys(keys, _LOST_TEXT)
    for begin in range(0, len(keys), _ASKED):
        for key, text in connection.execute(_texts(keys[begin : begin + _ASKED])):
            if isinstance(key, bytes) and isinstance(text, str):
                chain.take(len(text), "bytes")
                found[key] = text
    return found


def _texts(keys: Sequence[bytes]) -> Any:
    """Return the SELECT of some texts; a longer one than presman keeps is not read."""
    c = TEXTS.c
    return select(c.hash, c.text).where(c.hash.in_(keys), func.length(c.text) <= _LONGEST_TEXT)


def instant_of(chain: Chain, place: int) -> int:
    """Return the instant of a chain's poll in microseconds; that of the last where it cannot be read."""
    c = POLLS.c
    statement = select(c.at).where(*_polls_of(chain)).order_by(c.poll).offset(place).limit(1)
    found = _one(chain, statement)
    return found if isinstance(found, int) and chain.first_at <= found <= chain.last_at else chain.last_at


def polls_until(chain: Chain, wanted: int, *, included: bool) -> int:
    """Return how many polls of a chain were before an instant in microseconds, or at it (`included`)."""
    at = POLLS.c.at
    is_before = at <= wanted if included else at < wanted
    return int(_one(chain, select(func.count()).where(*_polls_of(chain), is_before)) or 0)


def _polls_of(chain: Chain) -> tuple[Any, Any]:
    c = POLLS.c
    return c.database_id == chain.database_id, c.poll.between(chain.chain, chain.chain + chain.polls - 1)


def _one(chain: Chain, statement: Any) -> Any:
    """Return the one value of a statement about a chain, None where its store is damaged."""
    try:
        with chain.store.reading() as connection:
            return connection.execute(statement).scalar()
    except DamagedStoreError:
        return None


def blocks_of(chain: Chain) -> Any:
    """Return the SELECT of a chain's blocks: by their polls, which the key of the table has."""
    c = BLOCKS.c
    polls = c.poll.between(chain.chain, chain.chain + chain.polls - 1)
    content = case((func.length(c.content) <= _LONGEST_BLOCK, c.content))
    return select(content.label("content")).where(c.database_id == chain.database_id, polls, c.chain == chain.chain)
