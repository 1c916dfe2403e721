"""Chain reader: the polls of one database by place, unpacked from the blocks of their chains."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from sqlalchemy import select

from presman.codec.decoder import FrameDecoder
from presman.codec.encoder import PackedFrame
from presman.codec.frame_blocks import unpack_block
from presman.codec.packing import DamagedError
from presman.recording.chain_index import Chain
from presman.recording.schema import BLOCKS, POLLS, TEXTS
from presman.recording.store import DamagedStoreError
from presman.records.snapshot import Snapshot

_CHAINS_KEPT = 3
"""Chains that are kept open: the one looked at and its neighbours."""

_LOST_TEXT = "(this text is damaged)"


class ChainReader:
    """Reads chains. Not thread safe."""

    def __init__(self) -> None:
        self._decoders: OrderedDict[tuple[str, int], FrameDecoder] = OrderedDict()

    def forget(self) -> None:
        """Read everything anew: chains may have grown."""
        self._decoders.clear()

    def snapshot(self, chain: Chain, place: int) -> Snapshot:
        """Return the poll at a place of a chain. Raises DamagedError, and StoreLostError if nobody can be asked."""
        try:
            decoder = self._decoder(chain)
        except DamagedStoreError as error:
            raise DamagedError("its store is damaged") from error
        if place >= len(decoder):
            raise DamagedError("it is not there")
        return decoder.snapshot(place)

    def _decoder(self, chain: Chain) -> FrameDecoder:
        key = (chain.store.name, chain.chain)
        found = self._decoders.get(key)
        if found is None:
            found = self._decoders[key] = FrameDecoder(_frames(chain))
            if len(self._decoders) > _CHAINS_KEPT:
                self._decoders.popitem(last=False)
        self._decoders.move_to_end(key)
        return found


def _frames(chain: Chain) -> list[PackedFrame]:
    """Return the frames of a chain; of one that is still growing those before the first damaged block."""
    statement = blocks_of(chain).order_by(BLOCKS.c.poll)
    frames: list[PackedFrame] = []
    with chain.store.saying(), chain.store.engine.connect() as connection:

        def text_of(key: bytes) -> str:
            found = connection.execute(select(TEXTS.c.text).where(TEXTS.c.hash == key)).scalar()
            return found if isinstance(found, str) else _LOST_TEXT

        try:
            for (content,) in connection.execute(statement).all():
                if not isinstance(content, bytes):
                    raise DamagedError("no bytes")
                frames += unpack_block(content, text_of)
        except DamagedError:
            if not frames:
                raise
    return frames


def instants(chain: Chain) -> list[int]:
    """Return the instants of a chain's polls in microseconds; none where they cannot be read."""
    c = POLLS.c
    last = chain.chain + chain.polls - 1
    statement = (
        select(c.at).where(c.database_id == chain.database_id, c.poll.between(chain.chain, last)).order_by(c.poll)
    )
    try:
        with chain.store.saying(), chain.store.engine.connect() as connection:
            return [at for (at,) in connection.execute(statement) if isinstance(at, int)]
    except DamagedStoreError:
        return []


def blocks_of(chain: Chain) -> Any:
    """Return the SELECT of a chain's blocks: by their polls, which the key of the table has."""
    c = BLOCKS.c
    polls = c.poll.between(chain.chain, chain.chain + chain.polls - 1)
    return select(c.content).where(c.database_id == chain.database_id, polls, c.chain == chain.chain)
