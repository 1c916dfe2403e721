"""The simulator as a source: for `demo` targets, tests and headless runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from presman.base.release import Release
from presman.base.text import clean
from presman.rows.queries import Scope
from presman.rows.snapshot import Problem, Section
from presman.sources import USUAL_BINDS, Answer, InvalidSourceError, Request, SourceError

if TYPE_CHECKING:
    from presman.sources.embedded import EmbeddedDatabase
    from presman.sources.simulator.simulation import Simulation
    from presman.sources.simulator.views import Publisher

_FAST = 10.0
"""Speed above which the simulation samples activity in longer steps."""

_NO_WAIT = "views that do not answer are simulated: presman did not wait for them"


@dataclass(eq=False)
class SimulatorSource:
    """A simulated database, read through the same SQL as a real one.

    `scenario` is a name (``mixed``) or a TOML file; `speed` is simulated seconds per second of `clock`; `size`
    multiplies the size of the machine and the workload; `start` is the simulated time at which it opens (by default
    now, so that the times on screen are today's).
    """

    kind = "simulator"
    instance = 1
    scenario: str | Path = "mixed"
    _: KW_ONLY
    seed: int | None = None
    speed: float = 1.0
    release: Release | None = None
    size: float | None = None
    clock: Callable[[], float] = time.monotonic
    start: datetime | None = None

    def __post_init__(self) -> None:
        """Name the source."""
        is_name = isinstance(self.scenario, str) and not self.scenario.endswith(".toml")
        self.name = clean(f"demo:{self.scenario if is_name else Path(self.scenario).name}")
        self.scope = Scope.CLUSTER
        self._opened = 0.0
        self._simulation: Simulation | None = None
        self._database: EmbeddedDatabase | None = None
        self._publisher: Publisher | None = None
        self._unwanted = Event()

    @property
    def simulation(self) -> Simulation:
        """The simulation behind the views. Raises SourceError before `open`."""
        if self._simulation is None:
            raise SourceError(f"{self.name} is not open")
        return self._simulation

    def open(self) -> Release:
        """Read the scenario, run its warm-up and create the views. Raises SourceError if the scenario is invalid."""
        from presman.sources.embedded import EmbeddedDatabase
        from presman.sources.simulator.fields import ScenarioError
        from presman.sources.simulator.loading import load_scenario
        from presman.sources.simulator.simulation import STEP, warmed
        from presman.sources.simulator.views import Publisher

        try:
            scenario = load_scenario(self.scenario)
            scenario = scenario.sized(scenario.header.size if self.size is None else self.size)
            release = self.release or Release.parse(scenario.header.release)
            if scenario.pdbs and release < Release(12, 1):
                raise ScenarioError(f"{self.name}: release {release} has no pluggable databases; use 12.1 or later")
        except ScenarioError as error:
            raise InvalidSourceError(str(error), retry=False) from error
        seed = scenario.header.seed if self.seed is None else self.seed
        start = (self.start or datetime.now(UTC)).astimezone(UTC)
        step = STEP * max(1.0, self.speed / _FAST)
        simulation = warmed(scenario, release, seed, step, is_unwanted=self._unwanted.is_set)
        if simulation.now < 0:
            raise SourceError(f"{self.name}: its warm-up was ended before it was over")
        simulation.origin = start
        self._simulation = simulation
        self._database = EmbeddedDatabase(release)
        self._publisher = Publisher(simulation, self._database)
        self._opened = self.clock()
        return release

    def advance(self) -> None:
        """Advance the simulation to the time that the clock requires."""
        self.simulation.advance((self.clock() - self._opened) * self.speed)

    def read(self, requests: Sequence[Request], within: float | None = None) -> Answer:  # noqa: ARG002 - quick
        """Run `requests` on the views at the current simulated time."""
        simulation = self.simulation
        if self._database is None or self._publisher is None:
            raise SourceError(f"{self.name} is closed")
        at = simulation.origin + timedelta(seconds=simulation.now)
        binds = {**USUAL_BINDS, "inst_id": 1, "own_inst_id": 1, "own_sid": simulation.own_sid}
        sections = []
        for request in requests:
            view = request.query.view_in(self.scope)
            if any(each.hits(view, simulation.now) for each in simulation.scenario.outages):
                problem = Problem("", "no answer in time", view, late=True)
                sections.append(Section(at=at, problem=problem))
                continue
            self._publisher.refresh(request.query.sql(self.scope))
            section = self._database.run(request.query, self.scope, {**binds, **request.binds})
            sections.append(replace(section, at=at))
        notes = (_NO_WAIT,) if any(each.problem and each.problem.late for each in sections) else ()
        return Answer(at, tuple(sections), notes=notes)

    def container(self) -> int | None:
        """Return the container that presman is connected to: 1 (the root), or 0 without containers."""
        return 1 if self.simulation.plans.cdb else 0

    def perform(self, statement: str, binds: Mapping[str, Any]) -> None:
        """Execute a statement that acts in the simulated instance. Raises SourceError if the instance refuses it."""
        from presman.sources.simulator.session_commands import Refusal, execute

        try:
            execute(self.simulation, statement, binds)
        except Refusal as refusal:
            raise SourceError(refusal.text, code=f"ORA-{refusal.code:05}", retry=False) from refusal

    def cancel(self) -> None:
        """End the warm-up, which may take long; a read takes only milliseconds."""
        self._unwanted.set()

    def close(self) -> None:
        """Drop the simulation and its database."""
        self._unwanted.clear()
        database, self._database, self._publisher, self._simulation = self._database, None, None, None
        if database is not None:
            database.close()
