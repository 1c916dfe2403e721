"""Figures: one definition of each, the tables made of them, and the measures that files contain."""
