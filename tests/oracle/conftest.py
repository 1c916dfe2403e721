from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from presman.base.release import Release
from presman.sources.embedded import EmbeddedDatabase
from tests.oracle.bench import NOW, USUAL, Bench, fill
from tests.oracle_server import Backend, OracleServer, profile_of


@pytest.fixture(scope="module")
def make_server() -> Iterator[Callable[[Release], OracleServer]]:
    servers: dict[Release, OracleServer] = {}

    def make(release: Release) -> OracleServer:
        if release not in servers:
            backend = Backend(EmbeddedDatabase(release), now=lambda: NOW)
            servers[release] = OracleServer(backend, profile_of(release), services=["presman"]).start()
        return servers[release]

    yield make
    for server in servers.values():
        server.stop()
        server.backend.database.close()


@pytest.fixture
def make_bench(make_server: Callable[[Release], OracleServer]) -> Iterator[Callable[[Release], Bench]]:
    benches: list[Bench] = []

    def make(release: Release) -> Bench:
        server = make_server(release)
        server.faults.clear()
        server.drop_sessions()
        server.call(lambda: fill(server.backend.database))
        server.counters.reset()
        bench = Bench(server, release)
        benches.append(bench)
        return bench

    yield make
    for bench in benches:
        for source in bench.sources:
            source.close()
        bench.server.faults.clear()


@pytest.fixture(params=USUAL, ids=str)
def bench(request: pytest.FixtureRequest, make_bench: Callable[[Release], Bench]) -> Bench:
    return make_bench(request.param)


@pytest.fixture
def bench19(make_bench: Callable[[Release], Bench]) -> Bench:
    return make_bench(Release(19))


@pytest.fixture
def bench23(make_bench: Callable[[Release], Bench]) -> Bench:
    return make_bench(Release(23))
