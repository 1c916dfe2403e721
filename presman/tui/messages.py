"""Messages of panels to the app: what is to be asked or read."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from presman.tui.pages.content import Content

_NONE: Mapping[str, str] = MappingProxyType({})


class QueryWanted(Message):
    """A query that runs on demand only is wanted: once, or (`lasting`) at each poll from now on."""

    def __init__(self, query: str, binds: Mapping[str, str] = _NONE, *, lasting: bool = False) -> None:
        super().__init__()
        self.query = query
        self.binds = binds
        self.lasting = lasting


class PageWanted(Message):
    """A page is to be read in place of the panel."""

    def __init__(self, content: Content) -> None:
        super().__init__()
        self.content = content
