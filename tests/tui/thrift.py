"""What a test of the screen can save: counting parameters again, painting what no test reads."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any
from unittest import mock

from textual._compositor import Compositor


@cache
def _parameters(function: Callable[..., Any]) -> int:
    return len(inspect.signature(function).parameters)


def _count(function: Callable[..., Any]) -> int:
    """Return the number of parameters: Textual asks anew for each callback that is bound to something."""
    if inspect.ismethod(function):
        return _parameters(function.__func__) - 1
    return _parameters(function) if inspect.isfunction(function) else len(inspect.signature(function).parameters)


def _let_be(compositor: Compositor, *_: Any, **__: Any) -> None:
    """Stand in for painting what has changed: there is not a terminal, and `Stage.screen` draws all of it."""
    compositor._dirty_regions.clear()


@contextmanager
def thrifty(painted: bool) -> Iterator[None]:
    """Spare an app what does not depend on it; `painted` is for tests of painting."""
    with ExitStack() as stack:
        stack.enter_context(mock.patch("textual._callback._count_parameters", _count))
        if not painted:
            stack.enter_context(mock.patch.object(Compositor, "render_update", _let_be))
        yield
