"""Facts: one snapshot with its deltas, and the lookups into it that several modules need."""
