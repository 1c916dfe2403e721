"""Facts: one snapshot with its deltas and the lookups into it that more than one judgement needs."""
