"""Proof: what speaks for a command that is offered, in a closed list of words for screens, `why` and JSON alike."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum


class Proof(Enum):
    """What is proven of an end, or that nothing is and a person decides. The names are those of JSON.

    More than one may hold. `DBA_DECIDES` stands beside a proof where work would be lost, and alone where a command
    lets a statement pass others or cancels it.
    """

    HEAD_STARTS = "that lets the head start"
    HEAD_STARTS_TOGETHER = "together that lets the head start"
    SERVERS_FREED = "that frees servers that are wanted, and who gets them is not known"
    QUEUE_SOONER = "the queue empties sooner"
    DBA_DECIDES = "work would be lost, so a person decides"


def in_words(proven: Sequence[Proof]) -> str:
    """Return what is proven of an end that is offered, and whether a person has to decide about it."""
    return f"proven: {'; '.join(each.value for each in proven)}"
