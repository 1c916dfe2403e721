"""Figures: every figure said once, the tables made of them, and the measures that files have."""
