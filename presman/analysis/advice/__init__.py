"""Advice: which sessions to end so that a head starts, and the exact commands."""
