"""Comparison of two periods of recordings: the differences, and whether they are more than noise."""
