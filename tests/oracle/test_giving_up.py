"""Abandoned calls: they are ended or left alone, and their errors are ignored."""

from __future__ import annotations

import asyncio
import gc
from typing import Any, cast

import pytest

from presman.sources.oracle import thin_connection
from presman.sources.oracle.thin_connection import ThinConnection


def given_up(stubborn: int, fails: bool = False) -> tuple[bool, list[str]]:
    """Give up a call that survives `stubborn` attempts to end it; return whether it ended, and asyncio's complaints."""
    attempts, messages = 0, list[str]()

    async def call() -> None:
        nonlocal attempts
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                attempts += 1
                if fails:
                    raise ValueError("broken") from None
                if attempts > stubborn:
                    raise

    async def main() -> bool:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: messages.append(context["message"]))
        task = asyncio.ensure_future(call())
        await asyncio.sleep(0)
        await ThinConnection._give_up(cast("Any", None), task)
        ended = task.done()
        while not task.done():
            task.cancel()
            await asyncio.sleep(0)
        del task
        gc.collect()
        return ended

    return asyncio.run(main()), messages


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thin_connection, "AFTERMATH", 0.001)


def test_a_call_is_ended_each_time_it_waits_for_something_else() -> None:
    assert given_up(thin_connection.ROUNDS - 1)[0]


def test_a_call_that_does_not_end_is_left() -> None:
    assert not given_up(thin_connection.ROUNDS)[0]


def test_errors_of_abandoned_calls_are_ignored() -> None:
    assert given_up(0, fails=True) == (True, [])
