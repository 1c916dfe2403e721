"""Comparison of two windows of recordings: what differs, by how much, and whether it is more than noise."""
