"""Simulator of an Oracle database: plans, CPU, parallel queue, sessions and waits, driven by a scenario."""
