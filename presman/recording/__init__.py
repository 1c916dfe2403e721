"""Recordings: what was polled, in SQL tables that any tool can ask and as snapshots that can be replayed exactly."""
