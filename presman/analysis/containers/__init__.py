"""Pluggable databases side by side, and their I/O limits."""
