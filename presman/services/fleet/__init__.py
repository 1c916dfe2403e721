"""Fleets: many databases in one process, from live connections or from a central store; knows no screen."""
