"""Target of a simulated database: `demo:SCENARIO[?seed=…&speed=…&size=…&release=…]`."""

from __future__ import annotations

from pathlib import Path

from presman.base.suggest import did_you_mean
from presman.config.config_file import Settings
from presman.config.target import Target, TargetError
from presman.config.target_options import number_of, options_of, release_of
from presman.sources.recipe import SourceRecipe

DEMO = "mixed"
"""The scenario of `presman demo`."""

SCENARIOS = Path(__file__).parents[1] / "sources" / "simulator" / "scenarios"


def scenarios() -> tuple[str, ...]:
    """Return the names of the scenarios that come with presman."""
    return tuple(sorted(path.stem for path in SCENARIOS.glob("*.toml")))


def demo_target(text: str, settings: Settings) -> Target:
    """Return the target of what stands behind `demo:`. Raises TargetError."""
    name, options = options_of(text, ("seed", "speed", "size", "release"), "demo")
    name = name or DEMO
    is_file = name.endswith(".toml") or "/" in name
    if not is_file and name not in scenarios():
        raise TargetError(f"no scenario {name!r}, {did_you_mean(name, scenarios())}")
    if is_file and not Path(name).is_file():
        raise TargetError(f"no such scenario file: {name}")
    seed = number_of(options, "seed", int)
    speed = number_of(options, "speed", float)
    if speed is not None and not 0 < speed <= 3600:
        raise TargetError(f"demo: speed={options['speed']} is not above 0 and at most 3600")
    size = number_of(options, "size", float)
    if size is not None and not 0 < size <= 100:
        raise TargetError(f"demo: size={options['size']} is not above 0 and at most 100")
    given = {
        "scenario": Path(name) if is_file else name,
        "seed": seed,
        "speed": 1.0 if speed is None else speed,
        "size": size,
        "release": release_of(options),
    }
    make = SourceRecipe("presman.sources.simulator_source", "SimulatorSource", given)
    return Target(f"demo:{text if name in text else name + text}", "simulator", settings, make)
