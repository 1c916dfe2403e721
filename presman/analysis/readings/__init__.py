"""Readings: what a snapshot means, as plain values. They hold everything that a screen, CSV or JSON shows."""
