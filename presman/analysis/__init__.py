"""What snapshots mean: pure functions from (previous, current) to a Reading. No I/O, no clock."""
