"""Consumer groups: use, waits, entitlement and verdict of each."""
