"""Warm-ups shared by all tests: simulating the hour before the start takes a hundred times as long as copying it."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest import mock

from presman.base.release import Release
from presman.sources.simulator import simulation
from presman.sources.simulator.scenario import Scenario
from presman.sources.simulator.simulation import Simulation

played = simulation.warmed
"""The original function, which always simulates the warm-up."""


class Warmups:
    """Simulations after their warm-up, pickled in memory, and in a folder for the other test processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, bytes] = {}

    def warmed(
        self, scenario: Scenario, release: Release, seed: int, step: float, is_unwanted: object = None
    ) -> Simulation:
        """Return a copy of the simulation at the instant 0, which the same scenario and seed always reach alike.

        `is_unwanted` is ignored, because the result is there at once. Outages are left out of the key, because they
        only affect who reads the views, not the simulation.
        """
        del is_unwanted
        course = replace(scenario, outages=())
        key = hashlib.sha256(pickle.dumps((course, release, seed, step))).hexdigest()
        if key not in self._known:
            self._known[key] = self._shared(self._folder / key) or self._play(key, course, release, seed, step)
        copy: Simulation = pickle.loads(self._known[key])
        copy.scenario = replace(copy.scenario, outages=scenario.outages)
        return copy

    def _shared(self, path: Path) -> bytes:
        return path.read_bytes() if path.exists() else b""

    def _play(self, key: str, scenario: Scenario, release: Release, seed: int, step: float) -> bytes:
        made = pickle.dumps(played(scenario, release, seed, step), pickle.HIGHEST_PROTOCOL)
        part = self._folder / f"{key}.{os.getpid()}"
        part.write_bytes(made)
        part.rename(self._folder / key)
        return made


@contextmanager
def shared(folder: Path) -> Iterator[None]:
    """Let sources simulate each warm-up once, and keep it in `folder`."""
    with mock.patch.object(simulation, "warmed", Warmups(folder).warmed):
        yield


@contextmanager
def each_played() -> Iterator[None]:
    """Let sources simulate their own warm-ups, for tests of the simulation itself."""
    with mock.patch.object(simulation, "warmed", played):
        yield
