"""`python -m tests.oracle_server [SCENARIO] [--release R] [--port N]`: a simulated database for any thin client."""

from __future__ import annotations

import argparse
import threading

from presman.base.release import Release
from presman.sources.simulator_source import SimulatorSource
from tests.oracle_server.simulated import simulated_server


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle_server", description=__doc__)
    parser.add_argument("scenario", nargs="?", default="mixed")
    parser.add_argument("--release", type=Release.parse, default=None)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    source = SimulatorSource(options.scenario, release=options.release)
    server = simulated_server(source, source.open(), port=options.port)
    server.start()
    print(
        f"The simulated views of Oracle {server.profile.version_text}, read only, for this machine alone; no Oracle "
        f"database.\n\n  user presman, password presman, {server.dsn}\n  presman presman/presman@{server.dsn}\n\n"
        "Ctrl-C ends it.",
        flush=True,
    )
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        pass
    finally:
        server.stop()
        source.close()


if __name__ == "__main__":
    main()
