"""Advice: who would let a head start, and the exact commands."""
