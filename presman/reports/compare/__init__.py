"""Comparison of what differs between two periods of recordings, by how much, and whether it is more than noise."""
