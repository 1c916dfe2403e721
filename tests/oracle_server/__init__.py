"""A server that thin Oracle clients can log in to: the simulated V$ views behind Oracle's own protocol.

It tests the live source over the wire, faults included, and lets any thin client look at the simulation
(`python -m tests.oracle_server`). It is not a database: it answers SELECT, on the loopback interface only.
"""

from tests.oracle_server.backend import Backend
from tests.oracle_server.profiles import PROFILES, Profile, profile_of
from tests.oracle_server.server import OracleServer

__all__ = ["PROFILES", "Backend", "OracleServer", "Profile", "profile_of"]
