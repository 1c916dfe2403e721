"""Savings for tests of screens: cached counts of parameters, no painting that no test reads."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any
from unittest import mock

from textual._compositor import Compositor
from textual.message import Message
from textual.message_pump import MessagePump


@cache
def _parameters(function: Callable[..., Any]) -> int:
    return len(inspect.signature(function).parameters)


def _count(function: Callable[..., Any]) -> int:
    """Return the number of parameters: Textual asks anew for each callback that is bound to something."""
    if inspect.ismethod(function):
        return _parameters(function.__func__) - 1
    return _parameters(function) if inspect.isfunction(function) else len(inspect.signature(function).parameters)


def _let_be(compositor: Compositor, *_: Any, **__: Any) -> None:
    """Replace partial painting: there is no terminal, and `Stage.screen` draws everything."""
    compositor._dirty_regions.clear()


def _dispatching() -> Callable[[MessagePump, str, Message], Iterator[tuple[type, Any]]]:
    """Return a function that finds the handlers of a message and caches them by the classes of both."""
    known: dict[tuple[type, str, type], list[tuple[type, Any]]] = {}
    find = MessagePump._get_dispatch_methods

    def found(pump: MessagePump, name: str, message: Message) -> Iterator[tuple[type, Any]]:
        key = type(pump), name, type(message)
        if key not in known:
            kinds = [kind.__dict__.get("_decorated_handlers") or {} for kind in key[0].__mro__]
            if any(isinstance(message, each) for handlers in kinds for each in handlers):
                yield from find(pump, name, message)  # which of them may depend on the message
                return
            known[key] = [(kind, method.__func__) for kind, method in find(pump, name, message)]  # type: ignore[attr-defined]
        for kind, method in known[key]:
            if message._no_default_action:
                break
            yield kind, method.__get__(pump, kind)

    return found


@contextmanager
def thrifty(painted: bool) -> Iterator[None]:
    """Spare an app work that does not depend on it; `painted` is for tests of painting."""
    with ExitStack() as stack:
        stack.enter_context(mock.patch("textual._callback._count_parameters", _count))
        stack.enter_context(mock.patch.object(MessagePump, "_get_dispatch_methods", _dispatching()))
        if not painted:
            stack.enter_context(mock.patch.object(Compositor, "render_update", _let_be))
        yield
