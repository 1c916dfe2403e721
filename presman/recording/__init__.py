"""Recordings: polls as SQL tables that any tool can query, and as snapshots that can be replayed exactly."""
