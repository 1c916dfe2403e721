"""Fixtures of tests with real servers: one PostgreSQL for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.real.postgresql import Missing, PostgresServer


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    # Not in pytest's own folder, which it closes again to the server's user.
    with TemporaryDirectory(prefix="presman-postgresql-") as folder:
        try:
            made = PostgresServer(Path(folder))
        except Missing as missing:
            pytest.skip(str(missing))
        made.start()
        yield made
        made.stop("immediate")
